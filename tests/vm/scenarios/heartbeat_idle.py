# SPDX-License-Identifier: GPL-2.0
"""A session that carries only heartbeats for 65 s lives, is measured, and works at once afterwards."""

import time

from vmlab import rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab

SLOW = True
IDLE = 65  # longer than any loss limit: 30 s, and 35 s from the last traffic (protocol B.3)


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    time.sleep(IDLE)
    path = "/sys/class/rtrs-client/vm/paths/*"
    rnbd.equal(rnbd.read(lab.client, f"{path}/state"), "connected", "state of the path")
    rnbd.equal(rnbd.read(lab.client, f"{path}/stats/reconnects"), "0 0", "reconnects")
    latency = rnbd.read(lab.client, f"{path}/cur_latency").split()
    rnbd.check(len(latency) == 2 and latency[1] == "ns" and int(latency[0]) > 0, f"cur_latency: {latency}")
    for machine in (lab.client, lab.server):
        rnbd.check("HB missed" not in machine.log(), f"{machine.name} missed heartbeats")
    verify(lab.client, f"/dev/{name}", Verify("4k", 16, "512k"))
    rnbd.unmap(lab, name)
