# SPDX-License-Identifier: GPL-2.0
"""Frames get lost on the cable: RDMA sends them again, and no request fails and no path breaks."""

from vmlab import rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab
from vmlab.machine import Machine

# The in-tree modules register memory in a way that soft-RoCE does not survive when it sends again.
OURS = ("client", "server")
VARIANTS = {"Y": {"invalidate": "Y"}, "N": {"invalidate": "N"}}
# One frame in a hundred: some requests of each job meet it. Each loss that nothing follows costs the
# sender's timeout of one to two seconds.
LOSS = "loss 1%"


def retransmissions(machine: Machine) -> int:
    words = machine.run("rdma statistic show link rxe0/1").split()
    return sum(int(words[words.index(name) + 1]) for name in ("completer_retry_err", "rcvd_seq_err"))


def run(lab: Lab, invalidate: str) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab, always_invalidate=invalidate)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    before = [retransmissions(m) for m in (lab.server, lab.client)]
    for machine in (lab.server, lab.client):
        machine.run(f"tc qdisc replace dev {machine.netdev()} root netem {LOSS} limit 10000")
    try:
        verify(lab.client, f"/dev/{name}", Verify("4k", 8, "512k"), Verify("64k", 8, "2m"),
               limit=240)
    finally:
        for machine in (lab.server, lab.client):
            machine.run(f"tc qdisc del dev {machine.netdev()} root")
    after = [retransmissions(m) for m in (lab.server, lab.client)]
    rnbd.check(all(b > a for a, b in zip(before, after)), f"nothing was sent again: {before}, {after}")
    reconnects = rnbd.read(lab.client, "/sys/class/rtrs-client/vm/paths/*/stats/reconnects")
    rnbd.equal(reconnects, "0 0", "reconnects")
    rnbd.unmap(lab, name)
