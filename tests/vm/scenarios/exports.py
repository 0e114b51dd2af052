# SPDX-License-Identifier: GPL-2.0
"""Rules of the server: who may open what, names of one device, 4096-byte blocks, force_close under I/O, a resize."""

from vmlab import fio, rnbd
from vmlab.lab import Lab

INTEROP = True
SLOW = True
EXPORTS = "/sys/class/rnbd-server/ctl/devices"


def refuse(lab: Lab, device: str, session: str, mode: str, *wanted: str) -> None:
    text = rnbd.map_text(lab, device, session, access_mode=mode)
    got = rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text)
    rnbd.check(got in wanted, f"{device} {mode} in session {session}: got {got!r}, want {' or '.join(wanted)}")


def exports(lab: Lab) -> list[str]:
    return sorted(lab.server.run(f"ls {EXPORTS}").split())


def modes(lab: Lab, disk: str) -> None:
    """rw excludes writers, migration joins one, readers always come in."""
    here = f"{EXPORTS}/{disk.removeprefix('/dev/')}/sessions"
    writer = rnbd.map_device(lab, disk, "a", access_mode="rw")
    refuse(lab, disk, "b", "rw", "EPERM")
    target = rnbd.map_device(lab, disk, "b", access_mode="migration")
    refuse(lab, disk, "c", "migration", "EPERM")
    reader = rnbd.map_device(lab, disk, "c", access_mode="ro")
    got = lab.server.run(f"cd {here}\ngrep . */access_mode */read_only").split()
    rnbd.equal(got, ["a/access_mode:rw", "b/access_mode:migration", "c/access_mode:ro", "a/read_only:0",
                     "b/read_only:0", "c/read_only:1"], "exports")
    rnbd.unmap(lab, writer)
    refuse(lab, disk, "a", "rw", "EPERM")
    rnbd.unmap(lab, target)
    writer = rnbd.map_device(lab, disk, "a", access_mode="rw")
    rnbd.unmap(lab, writer)
    rnbd.unmap(lab, reader)
    rnbd.equal(exports(lab), [], "exports after unmap")
    # Ours asks no server that does not know it; in-tree does not know it itself.
    want = "EINVAL" if not lab.ours("client") else "EACCES" if lab.ours("server") else "ENOTSUP"
    refuse(lab, disk, "a", "shared", want)


def names(lab: Lab, disk: str, other: str) -> None:
    """One device by other names, within one session: refused at once, and the session works on."""
    lab.server.run(f"ln -sf {disk} /run/alias")
    for mode in ("ro", "migration", "rw"):
        name = rnbd.map_device(lab, disk, "a", access_mode=mode)
        for alias in (disk[1:], f"/{disk}", "/run/alias"):
            refuse(lab, alias, "a", mode, "EEXIST")
        second = rnbd.map_device(lab, other, "a")
        lab.client.run(f"dd if=/dev/{name} bs=64k count=4 iflag=direct of=/dev/null 2>/dev/null")
        rnbd.unmap(lab, second)
        rnbd.unmap(lab, name)
    rnbd.equal(exports(lab), [], "exports after aliases")


def big_blocks(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server, "nullb9", 32, blocksize=4096)
    name = rnbd.map_device(lab, disk, "a")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/queue/logical_block_size"), "4096", "logical_block_size")
    fio.verify(lab.client, f"/dev/{name}", fio.Verify("4k"), fio.Verify("64k", depth=4))
    rnbd.unmap(lab, name)


def force_close(lab: Lab, disk: str, other: str) -> None:
    """Under I/O: that disk fails, the other one does not notice, and the device can be mapped again."""
    name = rnbd.map_device(lab, disk, "a")
    neighbour = rnbd.map_device(lab, other, "a")
    load = fio.background(lab.client, f"/dev/{name}", 30)
    calm = lab.client.spawn(fio.verify_command(f"/dev/{neighbour}", "4k", 8, "1m"), 120)
    lab.client.run("sleep 2")
    entry = f"{EXPORTS}/{disk.removeprefix('/dev/')}/sessions/a/force_close"
    for bad in ("0", "2", "yes", ""):
        rnbd.equal(rnbd.write_error(lab.server, entry, bad), "EINVAL", f"force_close with {bad!r}")
    rnbd.write(lab.server, entry, "1")
    rnbd.equal(exports(lab), [other.removeprefix("/dev/")], "exports after force_close")
    rnbd.check(not lab.client.wait(load).ok, "I/O went on after force_close")
    result = lab.client.wait(calm)
    rnbd.check(result.ok, f"the other disk saw errors: {result.out[-800:]}")
    result = lab.client.try_run(f"dd if=/dev/{name} bs=4k count=1 iflag=direct of=/dev/null")
    rnbd.check(not result.ok, "a read succeeded after force_close")
    if lab.ours("server"):  # in-tree lets the closed disk read the next device that is mapped
        third = rnbd.map_device(lab, "/dev/nullb6", "a")
        result = lab.client.try_run(f"dd if=/dev/{name} bs=4k count=1 iflag=direct of=/dev/null")
        rnbd.check(not result.ok, "the closed disk reads another device")
        rnbd.unmap(lab, third)
    rnbd.unmap(lab, name)
    name = rnbd.map_device(lab, disk, "a")
    fio.verify(lab.client, f"/dev/{name}")
    rnbd.unmap(lab, name)
    rnbd.unmap(lab, neighbour)


def grown(lab: Lab) -> None:
    """A device that grows while it is open is served to its new end."""
    lab.server.run("truncate -s 8M /run/file\nmodprobe loop\nlosetup /dev/loop7 /run/file")
    name = rnbd.map_device(lab, "/dev/loop7", "a")
    lab.server.run("truncate -s 16M /run/file\nlosetup -c /dev/loop7")
    rnbd.write(lab.client, f"/sys/block/{name}/rnbd/resize", str(16 << 11))
    lab.client.run(f"dd if=/usr/bin/bash of=/dev/{name} bs=64k seek=200 count=8 oflag=direct 2>/dev/null\n"
                   f"dd if=/dev/{name} bs=64k skip=200 count=8 iflag=direct 2>/dev/null |\n"
                   "cmp -n 524288 - /usr/bin/bash")
    rnbd.unmap(lab, name)
    lab.server.run("losetup -d /dev/loop7\nrm /run/file")


def run(lab: Lab) -> None:
    disk, other = rnbd.null_disk(lab.server), rnbd.null_disk(lab.server, "nullb8")
    rnbd.null_disk(lab.server, "nullb6")
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    modes(lab, disk)
    force_close(lab, disk, other)
    if lab.ours("server"):  # in-tree may hang on aliases (protocol G.3-1), and keeps the first size
        names(lab, disk, other)
        grown(lab)
    big_blocks(lab)
    rnbd.unload_client(lab)
    rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rtrs-server)\" ]", 60, "sessions gone")
    rnbd.unload_server(lab)
