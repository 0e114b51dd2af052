# SPDX-License-Identifier: GPL-2.0
"""The client follows what becomes of its device at the server, and refuses to go on where that would lose data."""

from vmlab import fio, rnbd
from vmlab.lab import Lab
from vmlab.multipath import folder

SLOW = True
OURS = ("client", "server")
READ = "dd of=/dev/null bs=4k count=1 iflag=direct"
NOTICE = 20  # the client looks every 5 s


def entry(name: str, what: str) -> str:
    return f"/sys/block/{name}/rnbd/{what}"


def state(lab: Lab, name: str, want: str, limit: float = 30) -> None:
    rnbd.wait_until(lab.client, f"grep -qx {want} {entry(name, 'state')}", limit, f"state {want}")


def grown(lab: Lab) -> None:
    lab.server.run("truncate -s 8M /run/file\nmodprobe loop\nlosetup /dev/loop7 /run/file")
    name = rnbd.map_device(lab, "/dev/loop7")
    size = f"/sys/block/{name}/size"
    # A size that somebody wrote here stays until the server has news.
    rnbd.write(lab.client, entry(name, "resize"), "8192")
    events = lab.client.spawn("timeout 100 udevadm monitor --kernel --property || true", 130)
    lab.client.run("sleep 7")
    rnbd.equal(rnbd.read(lab.client, size), "8192", "size that was written into resize")
    lab.server.run("truncate -s 16M /run/file\nlosetup -c /dev/loop7")
    rnbd.wait_until(lab.client, f"[ $(cat {size}) = {16 << 11} ]", NOTICE, "the disk grows")
    lab.client.run(f"dd if=/usr/bin/bash of=/dev/{name} bs=64k seek=200 count=8 oflag=direct 2>/dev/null\n"
                   f"dd if=/dev/{name} bs=64k skip=200 count=8 iflag=direct 2>/dev/null |\n"
                   "cmp -n 524288 - /usr/bin/bash")
    lab.client.run("sleep 1\npkill -x udevadm")
    seen = lab.client.wait(events).out
    rnbd.check("RESIZE=1" in seen and f"DEVNAME=/dev/{name}" in seen, f"no resize event: {seen[-600:]}")
    rnbd.unmap(lab, name)
    lab.server.run("losetup -d /dev/loop7\nrm /run/file")


def read_only(lab: Lab, disk: str) -> None:
    name = rnbd.map_device(lab, disk)
    ro, sent = f"$(cat /sys/block/{name}/ro)", f"cat {folder(lab, 0)}/stats/rdma"
    # What was written before is dirty memory: its writeback passes the block layer, and the client sends none of it.
    # A new disk has no share of what may be dirty, so all of it would be written at once.
    lab.client.run("rm -f /run/dirty")
    writer = lab.client.spawn("trap 'echo 500 >/proc/sys/vm/dirty_writeback_centisecs' EXIT TERM\n"
                              f"echo 50 >/sys/block/{name}/bdi/min_ratio\n"
                              "echo 0 >/proc/sys/vm/dirty_writeback_centisecs\n"
                              f"exec 3<>/dev/{name}\ndd if=/dev/zero bs=4k count=1 conv=notrunc >&3\ntouch /run/dirty\n"
                              f"until [ {ro} = 1 ]; do sleep 0.2; done\nsleep 1\n{sent}\n"
                              f"dd if=/dev/null count=0 conv=fsync,notrunc >&3 || true\n{sent}", 60)
    rnbd.wait_until(lab.client, "[ -e /run/dirty ]", NOTICE, "a writer has written")
    lab.server.run(f"blockdev --setro {disk}")
    rnbd.wait_until(lab.client, f"[ {ro} = 1 ]", NOTICE, "ro becomes 1")
    rows = lab.client.wait(writer).out.strip().split("\n")
    before, after = (row.split() for row in rows if row.replace(" ", "").isdigit())
    rnbd.check("Input/output error" in " ".join(rows), f"writeback to a disk that became read-only: {rows}")
    rnbd.equal(after[2], before[2], "writes that were sent to a disk that is read-only")
    lab.server.run(f"blockdev --setrw {disk}")
    rnbd.wait_until(lab.client, f"[ {ro} = 0 ]", NOTICE, "ro becomes 0")
    fio.verify(lab.client, f"/dev/{name}")
    rnbd.unmap(lab, name)


def closed(lab: Lab, disk: str) -> None:
    """force_close shows at the client, without I/O and with it, and only a remap opens the disk again."""
    name = rnbd.map_device(lab, disk, no_path_timeout=-1)
    force = f"/sys/class/rnbd-server/ctl/devices/{disk.removeprefix('/dev/')}/sessions/vm/force_close"
    rnbd.write(lab.server, force, "1")
    state(lab, name, "closed", NOTICE)
    lab.client.run(f"! {READ} if=/dev/{name}", 20)
    lab.client.run("sleep 7")
    rnbd.equal(rnbd.read(lab.client, entry(name, "state")), "closed", "nobody asked for a remap")
    # Nor does the loss of all paths, which opens others again.
    rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1")
    lab.client.run("sleep 3")
    rnbd.equal(rnbd.read(lab.client, entry(name, "state")), "closed", "the path is back, nobody asked for a remap")
    rnbd.write(lab.client, entry(name, "remap_device"), "1")
    state(lab, name, "open")
    load = fio.background(lab.client, f"/dev/{name}", 60)
    lab.client.run("sleep 1")
    rnbd.write(lab.server, force, "1")
    state(lab, name, "closed", 4)  # by the error, not by the look
    rnbd.check(not lab.client.wait(load).ok, "I/O went on after force_close")
    rnbd.write(lab.client, entry(name, "remap_device"), "1")
    fio.verify(lab.client, f"/dev/{name}")
    rnbd.unmap(lab, name)


def wwid(lab: Lab, name: str) -> str:
    return lab.client.run(f"cat /sys/block/{name}/wwid 2>/dev/null || true").strip()


def identity(lab: Lab, disk: str, other: str) -> None:
    """The same in each session; a digest of what is too long; none of a disk that has none, whatever its name is."""
    long = "LVM-" + "x" * 123
    one, two = rnbd.named_disk(lab.server, disk, "one", "TEST-17"), rnbd.named_disk(lab.server, other, "two", long)
    names = [rnbd.map_device(lab, one, access_mode="migration"),
             rnbd.map_device(lab, one, session="vm2", access_mode="migration"), rnbd.map_device(lab, two)]
    wwids = [wwid(lab, n) for n in names]
    rnbd.equal(wwids[:2], ["dm.TEST-17"] * 2, "wwid of a device-mapper device in two sessions")
    rnbd.check(wwids[2].startswith("digest.") and len(wwids[2]) == len("digest.") + 64, f"wwid: {wwids[2]}")
    for n in names:
        rnbd.unmap(lab, n)
    lab.server.run("dmsetup remove --noudevsync --retry one\ndmsetup remove --noudevsync --retry two")
    name = rnbd.map_device(lab, disk)
    rnbd.equal(wwid(lab, name), "", "wwid of a disk without an identity")
    rnbd.unmap(lab, name)


def exchanged(lab: Lab, below: str, beside: str) -> None:
    """Another device under the same name after a reconnect is refused; the right one is taken under any name."""
    disk = rnbd.named_disk(lab.server, below, "one", "TEST-18")
    other = rnbd.named_disk(lab.server, beside, "two", "TEST-19")
    lab.server.run(f"ln -s {disk} /dev/thing")
    name = rnbd.map_device(lab, "/dev/thing", no_path_timeout=-1)
    lab.client.run(f"dd if=/usr/bin/bash of=/dev/{name} bs=64k count=8 oflag=direct conv=fsync 2>/dev/null")
    rnbd.write(lab.client, f"{folder(lab, 0)}/disconnect", "1")
    rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rnbd-server/ctl/devices)\" ]", 30, "exports closed")
    lab.server.run(f"ln -sf {other} /dev/thing\ndmsetup remove --noudevsync --retry one")
    reader = lab.client.spawn(f"dd if=/dev/{name} bs=64k count=8 iflag=direct 2>/dev/null |\n"
                              "cmp -n 524288 - /usr/bin/bash", 120)
    rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1")
    lab.client.run("sleep 7")
    rnbd.equal(rnbd.read(lab.client, entry(name, "state")), "closed", "state with another device")
    rnbd.check("The server has another device of that name" in lab.client.log(), "no word of the other device")
    rnbd.named_disk(lab.server, below, "one", "TEST-18")
    state(lab, name, "open", NOTICE)
    rnbd.check("under another name now: wwid:dm.TEST-18" in lab.client.log(), "no word of the other name")
    rnbd.check(lab.client.wait(reader).ok, "the reader that waited failed")
    rnbd.unmap(lab, name)
    lab.server.run("rm /dev/thing\ndmsetup remove --noudevsync --retry one\ndmsetup remove --noudevsync --retry two")


def restarted(lab: Lab, disk: str) -> None:
    """A server that boots anew may have lost what was not flushed: no flush succeeds before the disk was closed."""
    name = rnbd.map_device(lab, disk, no_path_timeout=-1)
    holder = lab.client.spawn(f"exec 4<>/dev/{name}\ntouch /tmp/open\nwhile [ ! -e /tmp/go ]; do sleep 0.1; done\n"
                              "rm /tmp/go /tmp/open", 300)
    rnbd.wait_until(lab.client, "[ -e /tmp/open ]", 10, "the opener")
    write = f"dd if=/usr/bin/env of=/dev/{name} bs=4k count=4 oflag=direct 2>/dev/null"
    for boot, flushed in enumerate((True, False), 1):
        lab.client.run(f"{write}\n" + (f"sync /dev/{name}" if flushed else ""))
        rnbd.write(lab.client, f"{folder(lab, 0)}/disconnect", "1")
        # A new load of the modules loses nothing and is told by nothing; the number is as that of another boot.
        lab.server.run(f"rmmod rnbd_server\nmodprobe rnbd_server instance={boot}", 90)
        rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1")
        state(lab, name, "open")
        if flushed:
            lab.client.run(f"sync /dev/{name}")
    for _ in range(2):
        rnbd.check(not lab.client.try_run(f"sync /dev/{name}").ok, "a flush after the loss of unflushed writes worked")
    rnbd.check("flushes fail until nobody has the disk open" in lab.client.log(), "the log does not say why")
    lab.client.run("touch /tmp/go")
    lab.client.wait(holder)
    lab.client.run(f"{write}\nsync /dev/{name}")
    rnbd.unmap(lab, name)


def layout(lab: Lab, disk: str, other: str) -> None:
    """How the disk likes to be used is what it is at the server; a stripe has something to say."""
    lab.server.run(f"echo 1 >/sys/block/{other.removeprefix('/dev/')}/queue/rotational\nmodprobe dm_mod\n"
                   f"dmsetup create --noudevsync stripe --table '0 65536 striped 2 64 {disk} 0 {other} 0'\n"
                   "dmsetup mknodes stripe")
    stripe = lab.server.run("dmsetup info -c --noheadings -o blkdevname stripe").strip()
    name = rnbd.map_device(lab, "/dev/mapper/stripe")
    for what, want in {"minimum_io_size": "32768", "optimal_io_size": "65536", "physical_block_size": "512",
                       "rotational": "1"}.items():
        rnbd.equal(rnbd.read(lab.server, f"/sys/block/{stripe}/queue/{what}"), want,
                   f"{what} at the server")
        rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/queue/{what}"), want, f"{what} at the client")
    rnbd.unmap(lab, name)
    lab.server.run("dmsetup remove --noudevsync --retry stripe")


def limits_of_user(lab: Lab, disk: str) -> None:
    """What was set in queue/ here survives a reconnect."""
    name = rnbd.map_device(lab, disk, no_path_timeout=-1)
    queue = f"/sys/block/{name}/queue"
    wanted = {"max_sectors_kb": "64", "discard_max_bytes": "65536", "write_cache": "write through",
              "rotational": "1", "read_ahead_kb": "32"}
    for entry_name, value in wanted.items():
        rnbd.write(lab.client, f"{queue}/{entry_name}", value)
    rnbd.write(lab.client, f"{folder(lab, 0)}/disconnect", "1")
    state(lab, name, "closed")
    rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1")
    state(lab, name, "open")
    for entry_name, value in wanted.items():
        rnbd.equal(rnbd.read(lab.client, f"{queue}/{entry_name}"), value, f"{entry_name} after a reconnect")
    rnbd.unmap(lab, name)


def run(lab: Lab) -> None:
    disk, other = rnbd.null_disk(lab.server), rnbd.null_disk(lab.server, "nullb8")
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    grown(lab)
    read_only(lab, disk)
    limits_of_user(lab, disk)
    closed(lab, disk)
    identity(lab, disk, other)
    exchanged(lab, disk, other)
    layout(lab, disk, other)
    restarted(lab, disk)
    rnbd.unload_client(lab)
