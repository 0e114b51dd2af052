# SPDX-License-Identifier: GPL-2.0
"""A request that the server does not answer ends in time, though heartbeats go on; the disk is usable afterwards."""

import time

from vmlab import rnbd
from vmlab.lab import Lab

OURS = ("client",)
TIMEOUT = 4  # seconds


def run(lab: Lab) -> None:
    below = rnbd.null_disk(lab.server)
    # A disk that can be stopped: requests to it wait until it goes on.
    lab.server.run(f"modprobe dm_mod\nsize=$(blockdev --getsz {below})\n"
                   f"dmsetup create --noudevsync slow --table \"0 $size linear {below} 0\"\ndmsetup mknodes slow")
    try:
        stopped_disk(lab)
    finally:
        lab.server.try_run("dmsetup resume --noudevsync slow; rmmod rnbd_server; dmsetup remove --noudevsync slow")


def stopped_disk(lab: Lab) -> None:
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, "/dev/mapper/slow")
    session = "/sys/class/rtrs-client/vm"
    rnbd.write(lab.client, f"{session}/request_timeout", str(TIMEOUT))
    # What is in order is left alone: an idle path, and one at work.
    lab.client.run(f"dd if=/dev/{name} of=/dev/null bs=64k count=64 iflag=direct 2>/dev/null\nsleep {2 * TIMEOUT}", 60)
    rnbd.equal(rnbd.read(lab.client, f"{session}/paths/*/stats/reconnects"), "0 0", "reconnects before")

    lab.server.run("dmsetup suspend --nolockfs --noflush --noudevsync slow")
    began = time.monotonic()
    read = lab.client.try_run(f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct", 60)
    took = time.monotonic() - began
    rnbd.check(not read.ok and not read.timed_out, f"a read of a stopped disk ended with {read.rc}: {read.out}")
    rnbd.check(TIMEOUT - 1 < took < 3 * TIMEOUT + 5, f"it took {took:.1f} s, limit {TIMEOUT} s")
    rnbd.check("was not answered within" in lab.client.log(), "the reason is not in the log")
    errors = rnbd.read(lab.client, f"{session}/paths/*/stats/errors").split("\n")
    rnbd.check("timeout 1" in errors and "lost 1" in errors, f"it was not counted: {errors}")

    lab.server.run("dmsetup resume --noudevsync slow")
    rnbd.wait_until(lab.client, f"grep -qx connected {session}/paths/*/state", 60, "the path is back")
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 30, "the disk is back")
    lab.client.run(f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct", 60)
    rnbd.unmap(lab, name)
    rnbd.unload_client(lab)
