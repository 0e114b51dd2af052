# SPDX-License-Identifier: GPL-2.0
"""A disk that hangs for longer than request_timeout ends no path, for the connection lives: its neighbour in the
session goes on without a gap, and its own I/O ends well when it goes on. The log tells of it."""

import time

from vmlab import rnbd
from vmlab.lab import Lab

OURS = ("client",)
TIMEOUT = 4  # seconds
HANG = 4 * TIMEOUT  # longer than it takes to ask, and to miss an answer
SESSION = "/sys/class/rtrs-client/vm"


def run(lab: Lab) -> None:
    below = rnbd.null_disk(lab.server)
    # A disk that can be stopped: requests to it wait until it goes on.
    lab.server.run(f"modprobe dm_mod\nsize=$(blockdev --getsz {below})\n"
                   f"dmsetup create --noudevsync slow --table \"0 $size linear {below} 0\"\ndmsetup mknodes slow")
    try:
        stopped_disk(lab, rnbd.null_disk(lab.server, "nullb1"))
    finally:
        lab.server.try_run("dmsetup resume --noudevsync slow; rmmod rnbd_server; dmsetup remove --noudevsync slow")


def stopped_disk(lab: Lab, beside: str) -> None:
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    slow = rnbd.map_device(lab, "/dev/mapper/slow")
    neighbour = rnbd.map_device(lab, beside)
    rnbd.write(lab.client, f"{SESSION}/request_timeout", str(TIMEOUT))
    # What is in order is left alone: an idle path, and one at work.
    lab.client.run(f"dd if=/dev/{slow} of=/dev/null bs=64k count=64 iflag=direct 2>/dev/null\nsleep {2 * TIMEOUT}", 60)
    rnbd.check("a request has waited" not in lab.client.log(), "a request waits, it seems")

    lab.server.run("dmsetup suspend --nolockfs --noflush --noudevsync slow")
    reading = lab.client.spawn(f"dd if=/dev/{slow} of=/dev/null bs=4k count=1 iflag=direct", 120)
    writing = lab.client.spawn(f"dd if=/dev/zero of=/dev/{slow} bs=4k count=1 seek=8 oflag=direct", 120)
    began = time.monotonic()
    reads = 0
    while time.monotonic() - began < HANG:
        lab.client.run(f"dd if=/dev/{neighbour} of=/dev/null bs=4k count=8 iflag=direct 2>/dev/null", 10)
        reads += 1
    rnbd.check(reading.running and writing.running, "I/O of a stopped disk has ended")
    rnbd.wait_until(lab.client, "dmesg | grep -q 'but the connection lives'", 30, "a line in the log")

    lab.server.run("dmsetup resume --noudevsync slow")
    for job, what in ((reading, "read"), (writing, "write")):
        ended = lab.client.wait(job)
        rnbd.check(ended.ok, f"the {what} of the stopped disk failed: {ended.out}")
    rnbd.equal(rnbd.read(lab.client, f"{SESSION}/paths/*/stats/reconnects"), "0 0", "reconnects")
    errors = rnbd.read(lab.client, f"{SESSION}/paths/*/stats/errors").split("\n")
    rnbd.check("timeout 0" in errors and "lost 0" in errors, f"errors of the path: {errors}")
    rnbd.check(reads > 2, f"only {reads} rounds of reads of the neighbour")
    rnbd.unmap(lab, slow)
    rnbd.unmap(lab, neighbour)
    rnbd.unload_client(lab)
