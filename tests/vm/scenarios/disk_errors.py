# SPDX-License-Identifier: GPL-2.0
"""What the server's disk says keeps its meaning up to the client's errno and log, and no path ends by it.

A medium error, a thin pool without room in both of its modes and after an extension, a disk with protection
information and what it finds wrong, blocks of 4096 bytes. Zones and blocks larger than a page are refused in words.
"""

from __future__ import annotations

from vmlab import fio, rnbd
from vmlab.disk_kinds import Scsi, Thin
from vmlab.lab import Lab
from vmlab.multipath import connects, folder

SLOW = True
OURS = ("client", "server")
KINDS = ("stock",)  # the others have not all of these disks
BLOCK = 4096
DEBUG = "/sys/bus/pseudo/drivers/scsi_debug"
DIF, DIX = 32, 64  # what it injects: wrong information of its own, and of the host


def direct(lab: Lab, name: str, verb: str, block: int, size: int = BLOCK) -> str:
    """The errno's name of one read or write, empty if it works."""
    ends = {"read": f"if=/dev/{name} of=/dev/null skip={block} iflag=direct",
            "write": f"if=/dev/zero of=/dev/{name} seek={block} oflag=direct conv=notrunc"}
    dd = f"/usr/bin/dd {ends[verb]} bs={size} count=1 2>&1 >/dev/null"
    result = lab.client.try_run(f"{dd} | grep error && exit 1 || :")
    words = result.out.strip().rpartition(": ")[2]
    return "" if result.ok else rnbd.errno_name(words)


def says(lab: Lab, *lines: str) -> None:
    """At the client: what failed, by the number of the protocol and in the block layer's words."""
    log = lab.client.log()
    for line in lines:
        rnbd.check(line in log, f"the client's log has no {line!r}")


def scsi_debug(lab: Lab, **options: object) -> str:
    words = " ".join(f"{k}={v}" for k, v in options.items())
    name = lab.server.run("modprobe sd_mod\nls /sys/block >/tmp/before\n"
                          f"modprobe scsi_debug delay=0 {words}\n"
                          "until ls /sys/block | grep -vxFf /tmp/before; do sleep 0.1; done", 60).split()[0]
    return f"/dev/{name}"


def medium(lab: Lab) -> None:
    disk = Scsi(lab, "medium-error")
    name = rnbd.map_device(lab, disk.make())
    rnbd.equal(direct(lab, name, "write", 0), "", "a write before")
    disk.medium_error()
    rnbd.equal(direct(lab, name, "read", 0), "ENODATA", "a direct read of a bad sector")
    rnbd.equal(direct(lab, name, "read", 1000), "", "a read of a good one")
    result = lab.client.try_run(f"/usr/bin/dd if=/dev/{name} of=/dev/null bs=4k count=1 2>&1")
    rnbd.check(not result.ok and "Input/output error" in result.out, f"a buffered read: {result.out}")
    says(lab, "at sector 0 failed: -61", f"critical medium error, dev {name}, sector 0")
    disk.mended()
    rnbd.equal(direct(lab, name, "read", 0), "", "a read afterwards")
    rnbd.unmap(lab, name)
    disk.remove()


def thin(lab: Lab, when_full: str) -> None:
    disk = Thin(lab, "full")
    disk.when_full = when_full
    name = rnbd.map_device(lab, disk.make())
    disk.user = name
    disk.full()
    rnbd.equal(direct(lab, name, "read", 0), "", "a read from a pool that is full")
    if when_full:
        rnbd.equal(direct(lab, name, "write", 0), "ENOSPC", "a write to a pool that is full")
        says(lab, "at sector 0 failed: -28", f"critical space allocation error, dev {name}, sector 0")
        disk.mended()
    else:
        waits = lab.client.spawn(f"/usr/bin/dd if=/dev/zero of=/dev/{name} bs=4k count=1 oflag=direct 2>&1", 60)
        rnbd.wait_until(lab.server, f"dmsetup status {disk.POOL} | grep -q out_of_data_space", 30, "the pool is full")
        rnbd.check(waits.running, "a write to a full pool that queues has ended")
        disk.mended()
        result = lab.client.wait(waits)
        rnbd.check(result.ok, f"a write that waited for the pool's extension: {result.out}")
    rnbd.equal(direct(lab, name, "write", 0), "", "a write after the pool's extension")
    rnbd.unmap(lab, name)
    disk.remove()


def protected(lab: Lab) -> None:
    """The server's block layer makes and checks the information. A wrong one, at either end of the wire to the disk."""
    name = rnbd.map_device(lab, scsi_debug(lab, dev_size_mb=32, dif=1, dix=1))
    fio.verify(lab.client, f"/dev/{name}", fio.Verify("4k", 8, "256k"), fio.Verify("64k", 4, "1m"))
    for what in (DIF, DIX):
        lab.server.run(f"echo 1 >{DEBUG}/every_nth\necho {what} >{DEBUG}/opts")
        for verb in ("read", "write"):
            rnbd.equal(direct(lab, name, verb, 7), "EILSEQ", f"a {verb} with wrong information ({what})")
        lab.server.run(f"echo 0 >{DEBUG}/opts\necho 0 >{DEBUG}/every_nth")
    says(lab, "at sector 56 failed: -84", f"protection error, dev {name}, sector 56")
    rnbd.equal(direct(lab, name, "read", 7), "", "a read afterwards")
    rnbd.unmap(lab, name)
    lab.server.run("rmmod scsi_debug")


def large_blocks(lab: Lab) -> None:
    name = rnbd.map_device(lab, scsi_debug(lab, dev_size_mb=32, sector_size=4096))
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/queue/logical_block_size"), "4096", "size of a block")
    rnbd.equal(direct(lab, name, "write", 1, 512), "EINVAL", "a write of an eighth of a block")
    fio.verify(lab.client, f"/dev/{name}", fio.Verify("4k", 8, "256k"), fio.Verify("64k", 4, "1m"))
    rnbd.unmap(lab, name)
    lab.server.run("rmmod scsi_debug")


def refused(lab: Lab, disk: str, words: str) -> None:
    for mode in ("ro", "rw"):
        text = rnbd.map_text(lab, disk, access_mode=mode)
        rnbd.equal(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text), "ENOTSUP", f"{mode} of {disk}")
    rnbd.check(words in lab.server.log(), f"the server's log has no {words!r}")
    says(lab, "Cannot open the device at the server: -95")


def zones(lab: Lab) -> None:
    refused(lab, scsi_debug(lab, dev_size_mb=32, zbc="managed", zone_size_mb=4), "it is a zoned device")
    lab.server.run("rmmod scsi_debug")


def larger_than_a_page(lab: Lab) -> None:
    """Where the server's kernel has them at all."""
    lab.server.run("modprobe loop\ntruncate -s 8M /run/file")
    if lab.server.try_run("losetup -b 16384 /dev/loop6 /run/file && [ $(blockdev --getss /dev/loop6) = 16384 ]").ok:
        refused(lab, "/dev/loop6", "its blocks of 16384 bytes are larger than a page")
    lab.server.run("losetup -d /dev/loop6 || :\nrm /run/file")


def run(lab: Lab) -> None:
    for invalidate in ("N", "Y"):
        rnbd.load_server(lab, always_invalidate=invalidate)
        rnbd.load_client(lab)
        beside = rnbd.map_device(lab, rnbd.null_disk(lab.server, f"nullb{invalidate}", 16))
        before = connects(lab, 0)
        thin(lab, "error_if_no_space")
        if invalidate == "Y":
            thin(lab, "")
            for part in (medium, protected, large_blocks, zones, larger_than_a_page):
                part(lab)
        fio.verify(lab.client, f"/dev/{beside}", fio.Verify("4k", 8, "256k"))
        state = rnbd.read(lab.client, f"{folder(lab, 0)}/state")
        rnbd.equal((connects(lab, 0), state), (before, "connected"), "the path")
        rnbd.unmap(lab, beside)
        rnbd.unload_client(lab)
        rnbd.unload_server(lab)
