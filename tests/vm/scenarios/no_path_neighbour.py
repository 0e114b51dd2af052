# SPDX-License-Identifier: GPL-2.0
"""While requests of one disk wait for a path, for ever if need be, nobody waits for them: unmap, map, CPUs."""

import time

from vmlab import rnbd
from vmlab.lab import Lab

SLOW = True
OURS = ("client",)
CPUS = 2
KINDS = ("stock", "debug")
LOSS = 35 + 15  # protocol B.3
SOON = 10  # seconds
CPU1 = "/sys/devices/system/cpu/cpu1/online"


def within(lab: Lab, what: str, script: str) -> None:
    began = time.monotonic()
    result = lab.client.try_run(script, 60)
    took = time.monotonic() - began
    rnbd.check(result.ok and not result.timed_out, f"{what} ended with {result.rc}: {result.out[-300:]}")
    rnbd.check(took < SOON, f"{what} took {took:.1f} s")


def unmap_is_killable(lab: Lab, name: str) -> None:
    """Whoever reads the partitions holds the disk's lock; a normal unmap, which wants it, can be given up."""
    reader = lab.client.spawn(f"blockdev --rereadpt /dev/{name}", 300)
    rnbd.wait_until(lab.client, f"[ $(cat /sys/block/{name}/rnbd/waiting_requests) -ge 3 ]", 20, "partitions are read")
    within(lab, "a normal unmap and its end", f"sh -c 'echo normal >/sys/block/{name}/rnbd/unmap_device' & sleep 2\n"
           "kill -9 $!\n! wait $!")
    return reader


def run(lab: Lab) -> None:
    disks = [rnbd.null_disk(lab.server, f"nullb{n}") for n in (6, 7, 8)]
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    waiting, idle, third = (rnbd.map_device(lab, disk, no_path_timeout=-1) for disk in disks)
    entry = f"/sys/block/{waiting}/rnbd"
    lab.client.set_link(0, False)
    rnbd.wait_until(lab.client, f"grep -qx closed {entry}/state", LOSS, "the loss shows")
    # On the hardware queue of each CPU.
    readers = [lab.client.spawn(f"taskset -c {cpu} dd if=/dev/{waiting} of=/dev/null bs=4k count=1 skip={cpu} "
                                "iflag=direct", 300) for cpu in range(CPUS)]
    rnbd.wait_until(lab.client, f"[ $(cat {entry}/waiting_requests) -ge 2 ]", 20, "requests wait")
    text = rnbd.map_text(lab, disks[1], no_path_timeout=-1)
    for name in (third, idle):
        within(lab, f"unmap of {name}", f"echo normal >/sys/block/{name}/rnbd/unmap_device")
    within(lab, "an attempt to map", f"! echo {text} >{rnbd.CTL}/map_device")
    for state in "01":
        within(lab, f"CPU 1 online: {state}", f"echo {state} >{CPU1}")
    reader = unmap_is_killable(lab, waiting)
    # With its CPU gone for good, a request goes on all the same.
    within(lab, "CPU 1 goes offline", f"echo 0 >{CPU1}")
    lab.client.set_link(0, True)
    for job in (*readers, reader):
        result = lab.client.wait(job)
        rnbd.check(result.ok, f"a request that waited ended with {result.rc}: {result.out}")
    within(lab, "CPU 1 is back", f"echo 1 >{CPU1}")
    again = rnbd.map_device(lab, disks[1])
    lab.client.run(f"dd if=/dev/{again} of=/dev/null bs=64k count=16 iflag=direct")
    for name in (again, waiting):
        rnbd.unmap(lab, name)
    rnbd.unload_client(lab)
