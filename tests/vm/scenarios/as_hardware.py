# SPDX-License-Identifier: GPL-2.0
"""What RDMA hardware would see, on soft-RoCE: registrations without guards, nothing is held, each one has a new key.

Soft-RoCE breaks a queue pair when it repeats such a registration, which is rare: requests wait for the path then.
"""

from collections.abc import Callable

from vmlab import fio, rnbd
from vmlab.channel import CommandFailed
from vmlab.lab import Lab
from vmlab.multipath import (SESSION, at_client, at_server, carries, connects, end_load, folder, verified_load,
                             wait_lost)

OURS = ("client", "server")
SLOW = True
VARIANTS = {"Y": {"invalidate": "Y"}, "N": {"invalidate": "N"}}
BATCH = {"iodepth_batch_submit": 32, "iodepth_batch_complete_min": 8, "iodepth_batch_complete_max": 32}


def run(lab: Lab, invalidate: str) -> None:
    for machine in (lab.server, lab.client):
        machine.run("modprobe rtrs_core guard_registrations=N")
    # One ends its I/O while that is submitted, the other one later and elsewhere.
    disks = [rnbd.null_disk(lab.server, "nullb7", irqmode=0),
             rnbd.null_disk(lab.server, "nullb8", irqmode=2, completion_nsec=100000)]
    rnbd.load_server(lab, always_invalidate=invalidate)
    rnbd.load_client(lab)
    names = [rnbd.map_device(lab, disk, nics=(0, 1), no_path_timeout=120) for disk in disks]
    rnbd.write(lab.client, f"{SESSION}/mp_policy", "round-robin")
    for name in names:
        fio.verify(lab.client, f"/dev/{name}", fio.Verify("4k", 1, "256k"), fio.Verify("64k", 16, "4m"),
                   fio.Verify("4k", 128, "2m", extra="bssplit=512/10:4k/60:64k/30"))
        load = verified_load(lab, name, depth=32, **BATCH)
        for nic in (0, 1):
            for end in (at_client, at_server):
                carries(lab, nic, "is at work before it goes")
                gone_and_back(lab, nic, end)
        for nic in (0, 1):
            carries(lab, nic, "is at work at the end")
        end_load(lab, load)
    count(lab, invalidate)
    # The server goes away under load, as from any other device.
    load = lab.client.spawn(fio.verify_command(f"/dev/{names[0]}", "4k", 32, "8m", **BATCH), 300)
    for name in names:
        rnbd.write(lab.client, f"/sys/block/{name}/rnbd/no_path_timeout", "0")
    rnbd.unload_server(lab)
    lab.client.wait(load)
    for name in names:
        rnbd.unmap(lab, name, "force")


def gone_and_back(lab: Lab, nic: int, end: Callable[[Lab, int], None]) -> None:
    """A path ends and comes back. If soft-RoCE has broken the other one meanwhile, nothing is left of the session on
    the client, and the server, which does not know yet, refuses to begin it anew; later it does not."""
    other = 1 - nic
    before = connects(lab, other)
    try:
        end(lab, nic)
    except CommandFailed:
        wait_lost(lab, other, before, 1)
        rnbd.wait_until(lab.client, f"grep -qx connected {folder(lab, nic)}/state", 60, "the path comes back")


def count(lab: Lab, invalidate: str) -> None:
    for machine, side in ((lab.client, "client"), (lab.server, "server")):
        total = rnbd.work_counters(machine, side)
        rnbd.equal(total["guards"], 0, f"{side}: guards")
        # Besides those of the handshake.
        registers = side == "client" or invalidate == "Y"
        rnbd.equal(total["registrations"] > total["requests"] // 4, registers, f"{side}: registers: {total}")
