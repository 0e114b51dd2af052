# SPDX-License-Identifier: GPL-2.0
"""Soft-RoCE forgets a guard that it was about to wait for: the queue is woken, and no request waits for ever."""

from vmlab import debian, rnbd, soft_roce
from vmlab.fio import Verify, verify
from vmlab.lab import Lab
from vmlab.scenario import Skip

CPUS = 2
OURS = ("client", "server")
# UML has one CPU.
KINDS = ("stock",)
# A client guards less often.
VARIANTS = {"server": {"side": "server", "one_in": 20}, "client": {"side": "client", "one_in": 4}}
PARAMETERS = "/sys/module/rdma_rxe/parameters"
# Each stops a connection.
LOST = 3
ROUNDS = 40


def run(lab: Lab, side: str, one_in: int) -> None:
    machine = lab.server if side == "server" else lab.client
    if debian.series(lab.kernels[machine.name].release) != "6.1":
        raise Skip("soft-RoCE of newer kernels asks and waits in one task")
    soft_roce.exchange(lab, machine, "rxe-late-fence.patch")
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    # What asks an old request's connection for life would wake the client's own queue, too, after a minute.
    name = rnbd.map_device(lab, disk, request_timeout=0)
    rnbd.write(machine, f"{PARAMETERS}/late_fence", str(one_in))
    for _ in range(ROUNDS):
        verify(lab.client, f"/dev/{name}", Verify("4k", 16, "2m", extra="bssplit=512/20:4k/40:64k/40", jobs=2))
        lost = int(rnbd.read(machine, f"{PARAMETERS}/fences_lost"))
        if lost >= LOST:
            break
    else:
        seen = rnbd.read(machine, f"{PARAMETERS}/fences_seen")
        raise AssertionError(f"soft-RoCE was late {lost} times only, with {seen} guards: nothing was tested")
    rnbd.unmap(lab, name)
    rnbd.unload_client(lab)
    rnbd.unload_server(lab)
    soft_roce.restore(machine)
