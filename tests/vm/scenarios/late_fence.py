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
VARIANTS = {"server": {"side": "server"}, "client": {"side": "client"}}
# Each stops a connection.
LOST = 3
ROUNDS = 40


def run(lab: Lab, side: str) -> None:
    machine = lab.server if side == "server" else lab.client
    if debian.series(lab.kernels[machine.name].release) != "6.1":
        raise Skip("soft-RoCE of newer kernels asks and waits in one task")
    soft_roce.exchange(lab, machine, "rxe-late-fence.patch")
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    # What asks an old request's connection for life would wake the client's own queue, too, after a minute.
    name = rnbd.map_device(lab, disk, request_timeout=0)
    rnbd.write(machine, "/sys/module/rdma_rxe/parameters/late_fence", "40")
    for _ in range(ROUNDS):
        verify(lab.client, f"/dev/{name}", Verify("4k", 16, "2m", extra="bssplit=512/20:4k/40:64k/40", jobs=2))
        lost = int(machine.run("dmesg | grep -c 'rdma_rxe: qp .* late fence' || true"))
        if lost >= LOST:
            break
    else:
        raise AssertionError(f"soft-RoCE was late {lost} times only: nothing was tested")
    rnbd.unmap(lab, name)
    rnbd.unload_client(lab)
    rnbd.unload_server(lab)
    soft_roce.restore(machine)
