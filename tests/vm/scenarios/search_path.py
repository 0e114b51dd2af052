# SPDX-License-Identifier: GPL-2.0
"""dev_search_path with and without %SESSNAME%: what clients can name, and what they can not reach."""

from vmlab import rnbd
from vmlab.lab import Lab


def refuse(lab: Lab, device: str, session: str, wanted: tuple[str, ...] = ("ENOENT",)) -> None:
    text = rnbd.map_text(lab, device, session)
    got = rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text)
    rnbd.check(got in wanted, f"{device} in session {session}: got {got!r}, want {wanted}")


def once(lab: Lab, device: str, session: str, sectors: int) -> None:
    name = rnbd.map_device(lab, device, session)
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/size"), str(sectors), f"size of {device} in {session}")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/rnbd/mapping_path"), device, "mapping_path")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/rnbd/session"), session, "session")
    rnbd.unmap(lab, name)


def many(lab: Lab, below: str) -> None:
    """A disk is found by its wwid among thousands of nodes; among more than are looked at it cannot be told. Nobody
    waits long for one that is not there, and who may make entries in a folder below has no say."""
    one = rnbd.named_disk(lab.server, below, "one", "TEST-33")
    # Nodes of no devices, on both sides of the one that is looked for, in whatever order they are listed.
    make = ("python3 -c 'import os, sys\nfor n in range(int(sys.argv[1]), int(sys.argv[2])):\n"
            " os.mknod(f\"/dev/many/{n}\", 0o60600, os.makedev(300, n))'")
    lab.server.run(f"mkdir /dev/many\n{make} 0 1500\ncp -aL {one} /dev/many/it\n{make} 1500 3000", 60)
    rnbd.load_server(lab, search="/dev/many")
    rnbd.unmap(lab, rnbd.map_device(lab, "wwid:dm.TEST-33", "alice"))
    # The kernel asks for a module for each of these.
    refuse(lab, "wwid:dm.NOT-THERE", "alice")
    more = make.replace("/dev/many/", "/dev/many/anybody/")
    lab.server.run(f"mkdir -m 1777 /dev/many/anybody\n{more} 3000 17000", 60)
    rnbd.unmap(lab, rnbd.map_device(lab, "wwid:dm.TEST-33", "alice"))
    told = "grep -c 'more devices than are looked at' || true"
    before = int(lab.server.run(f"dmesg | {told}"))
    lab.server.run("chmod 755 /dev/many/anybody")
    refuse(lab, "wwid:dm.TEST-33", "alice")
    rnbd.equal(int(lab.server.run(f"dmesg | {told}")), before + 1, "words of why in the server's log")
    # As many bytes of names, of one device.
    links = make.replace("os.mknod", "os.symlink").replace('f\"/dev/many/{n}\", 0o60600, os.makedev(300, n)',
                                                           '\"it\", f\"/dev/many/{n:0200}\"')
    lab.server.run(f"rm -r /dev/many/anybody\n{links} 0 5500", 60)
    refuse(lab, "wwid:dm.TEST-33", "alice")
    rnbd.unload_server(lab)
    lab.server.run("rm -r /dev/many\ndmsetup remove --noudevsync --retry one")


def run(lab: Lab) -> None:
    one = rnbd.null_disk(lab.server, "nullb7", 16)
    two = rnbd.null_disk(lab.server, "nullb8", 24)
    lab.server.run(f"mkdir -p /run/x/alice/deep /run/x/bob/end\nln -s {one} /run/x/alice/disk\n"
                   f"ln -s {two} /run/x/bob/disk\nln -s {two} /run/x/alice/deep/disk\n"
                   f"ln -s {one} /run/x/bob/end/disk\nln -s {two} /run/x/a..b || true")
    rnbd.load_client(lab)

    rnbd.load_server(lab, search="/run/x/%SESSNAME%")
    once(lab, "disk", "alice", 16 << 11)
    once(lab, "/disk", "alice", 16 << 11)
    once(lab, "deep//disk", "alice", 24 << 11)
    once(lab, "disk", "bob", 24 << 11)
    refuse(lab, "disk", "carol")
    refuse(lab, one, "alice")
    refuse(lab, "../bob/disk", "alice", ("EINVAL",))
    refuse(lab, "deep/../../bob/disk", "alice", ("EINVAL",))
    rnbd.unload_server(lab)

    rnbd.load_server(lab, search="/run/x/bob/")
    once(lab, "disk", "alice", 24 << 11)
    rnbd.unload_server(lab)

    if lab.ours("server") and lab.ours("client"):
        many(lab, one)
    if lab.ours("server"):  # in-tree loses what follows the token
        rnbd.load_server(lab, search="/run/x/%SESSNAME%/end")
        once(lab, "disk", "bob", 16 << 11)
        refuse(lab, "disk", "alice")
        rnbd.unload_server(lab)
    result = lab.server.try_run(f"modprobe rtrs_server\nmodprobe rnbd_server dev_search_path={'/x' * 2048}")
    rnbd.check(not result.ok, "a search path of 4096 bytes was accepted")
