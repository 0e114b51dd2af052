# SPDX-License-Identifier: GPL-2.0
"""Partitions of a mapped disk: made, seen as rnbd0p1, used, still there after a remount; export of a partition."""

from vmlab import rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab

TABLE = "label: gpt\nsize=16MiB\nsize=8MiB\nsize=+\n"


def run(lab: Lab) -> None:
    disk = rnbd.ram_disk(lab.server, 48)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    lab.client.run(f"printf '{TABLE}' | sfdisk -q /dev/{name}\nblockdev --rereadpt /dev/{name}\n"
                   f"[ -b /dev/{name}p1 ] && [ -b /dev/{name}p2 ] && [ -b /dev/{name}p3 ]")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/{name}p2/size"), str(8 << 11), "size of partition 2")
    verify(lab.client, f"/dev/{name}p2", Verify("4k", 8, "1m"), Verify("64k", 4, "2m"))
    # A partition that is in use keeps the disk.
    job = lab.client.spawn(f"exec 4</dev/{name}p1\nsleep 6", 30)
    lab.client.run("sleep 1")
    rnbd.equal(rnbd.write_error(lab.client, f"/sys/block/{name}/rnbd/unmap_device", "normal"), "EBUSY",
               "unmap while a partition is open")
    lab.client.wait(job)
    rnbd.unmap(lab, name)

    name = rnbd.map_device(lab, disk)
    parts = lab.client.run(f"ls /sys/block/{name} | grep {name}p || true").split()
    rnbd.equal(parts, [f"{name}p1", f"{name}p2", f"{name}p3"], "partitions found when mapping again")
    rnbd.unmap(lab, name)

    # The server exports its own partition; what it holds must show through the whole disk too.
    lab.server.run(f"blockdev --rereadpt {disk} || true\n[ -b {disk}p2 ]")
    name = rnbd.map_device(lab, f"{disk}p2")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/size"), str(8 << 11), "size of an exported partition")
    lab.client.run(f"dd if=/usr/bin/bash of=/dev/{name} bs=64k count=8 oflag=direct 2>/dev/null")
    lab.server.run(f"blockdev --flushbufs {disk}\nblockdev --flushbufs {disk}p2\n"
                   f"dd if={disk}p2 bs=64k count=8 iflag=direct 2>/dev/null | cmp -n 524288 - /usr/bin/bash")
    rnbd.unmap(lab, name)
