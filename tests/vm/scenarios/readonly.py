# SPDX-License-Identifier: GPL-2.0
"""A read-only mapping: reads work, writers are refused, the server says so; several readers at once."""

from vmlab import rnbd
from vmlab.lab import Lab


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    lab.server.run(f"dd if=/usr/bin/bash of={disk} bs=64k count=8 oflag=direct 2>/dev/null")
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, access_mode="ro")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/ro"), "1", "ro of the disk")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/rnbd/access_mode"), "ro", "access_mode")
    lab.client.run(f"dd if=/dev/{name} bs=64k count=8 iflag=direct 2>/dev/null | cmp -n 524288 - /usr/bin/bash")
    result = lab.client.try_run(f"dd if=/dev/zero of=/dev/{name} bs=4k count=1 oflag=direct")
    rnbd.check(not result.ok and "Read-only file system" in result.out, f"opening for write: {result.out!r}")
    result = lab.client.try_run(f"blockdev --setrw /dev/{name}")
    rnbd.check(not result.ok and "Read-only file system" in result.out, f"setrw: {result.out!r}")
    result = lab.client.try_run(f"blkdiscard {'/dev/' + name}")
    rnbd.check(not result.ok, "discard on a read-only disk worked")

    entry = f"/sys/class/rnbd-server/ctl/devices/{disk.removeprefix('/dev/')}/sessions/vm"
    rnbd.equal(rnbd.read(lab.server, f"{entry}/access_mode"), "ro", "access_mode at the server")
    rnbd.equal(rnbd.read(lab.server, f"{entry}/read_only"), "1", "read_only at the server")

    # Another session may read too, and one may write: ro is always allowed, rw once.
    second = rnbd.map_device(lab, disk, session="vm2", access_mode="ro")
    writer = rnbd.map_device(lab, disk, session="vm3", access_mode="rw")
    text = rnbd.map_text(lab, disk, session="vm4", access_mode="rw")
    rnbd.equal(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text), "EPERM", "a second writer")
    lab.client.run(f"dd if=/usr/bin/env of=/dev/{writer} bs=4k count=4 oflag=direct 2>/dev/null\n"
                   f"dd if=/dev/{second} bs=4k count=4 iflag=direct 2>/dev/null | cmp -n 16384 - /usr/bin/env")
    for disk_name in (name, second, writer):
        rnbd.unmap(lab, disk_name)
