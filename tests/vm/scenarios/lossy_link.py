# SPDX-License-Identifier: GPL-2.0
"""Frames get lost on the cable: RDMA sends them again, and no request fails and no path breaks.

`unguarded` sees whether a kernel's soft-RoCE still needs the guards of registrations (Documentation/design.md): without
them it breaks paths. Where it no longer does that, `replays_local_wrs` has to learn to tell such a kernel.
"""

from vmlab import rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab
from vmlab.machine import Machine

# The in-tree modules register memory in a way that soft-RoCE does not survive when it sends again.
OURS = ("client", "server")
VARIANTS = {"Y": {"invalidate": "Y"}, "N": {"invalidate": "N"}, "unguarded": {"invalidate": "N", "guards": "N"}}
# One frame in a hundred: some requests of each job meet it. Each loss that nothing follows costs the
# sender's timeout of one to two seconds.
LOSS = "loss 1%"
ROUNDS = 100  # one of the first few breaks a path, as a rule; on a host that is busy less goes together


def retransmissions(machine: Machine) -> int:
    words = machine.run("rdma statistic show link rxe0/1").split()
    return sum(int(words[words.index(name) + 1]) for name in ("completer_retry_err", "rcvd_seq_err"))


def reconnects(lab: Lab) -> str:
    return rnbd.read(lab.client, "/sys/class/rtrs-client/vm/paths/*/stats/reconnects")


def run(lab: Lab, invalidate: str, guards: str = "Y") -> None:
    disk = rnbd.null_disk(lab.server)
    for machine in (lab.server, lab.client):
        machine.run(f"modprobe rtrs_core guard_registrations={guards}")
    rnbd.load_server(lab, always_invalidate=invalidate)
    rnbd.load_client(lab)
    # Only without guards anything waits for a path, or for an answer that never comes.
    rest = {"no_path_timeout": 120, "request_timeout": 5} if guards == "N" else {}
    name = rnbd.map_device(lab, disk, **rest)
    before = [retransmissions(m) for m in (lab.server, lab.client)]
    for machine in (lab.server, lab.client):
        machine.run(f"tc qdisc replace dev {machine.netdev()} root netem {LOSS} limit 10000")
    try:
        if guards == "Y":
            verify(lab.client, f"/dev/{name}", Verify("4k", 8, "512k"), Verify("64k", 8, "2m"), limit=240)
        for _ in range(ROUNDS if guards == "N" else 0):
            verify(lab.client, f"/dev/{name}", Verify("64k", 8, "512k"), limit=240)
            if reconnects(lab) != "0 0":
                break
    finally:
        for machine in (lab.server, lab.client):
            machine.run(f"tc qdisc del dev {machine.netdev()} root")
    after = [retransmissions(m) for m in (lab.server, lab.client)]
    rnbd.check(all(b > a for a, b in zip(before, after)), f"nothing was sent again: {before}, {after}")
    if guards == "Y":
        rnbd.equal(reconnects(lab), "0 0", "reconnects")
    else:
        rnbd.check(reconnects(lab) != "0 0", "no path breaks without guards: does this kernel need them?")
    rnbd.unmap(lab, name)
