# SPDX-License-Identifier: GPL-2.0
"""One of two paths flaps every few seconds under verified I/O: no request fails and no byte is wrong.

It is ended in each way in turn: by the client, by the server, by its cable. RNBD_FLAP_SECONDS says for how long. One of
the variants proves who it is each time.
"""

import os
import time

from vmlab import rnbd
from vmlab.keys import add_key, fresh_secret
from vmlab.lab import Lab
from vmlab.multipath import (SESSION, at_client, at_server, back, carries, connects, end_load, folder, verified_load,
                             wait_lost)

SLOW = True
OURS = ("client", "server")
VARIANTS = {"Y": {"invalidate": "Y", "auth": "off"}, "N": {"invalidate": "N", "auth": "required"}}
SECONDS = float(os.environ.get("RNBD_FLAP_SECONDS", "15"))


def run(lab: Lab, invalidate: str, auth: str) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab, always_invalidate=invalidate, auth=auth)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, nics=(0, 1), **proof(lab, auth))
    rnbd.write(lab.client, f"{SESSION}/mp_policy", "round-robin")
    # A pulled cable shows in seconds.
    rnbd.write(lab.client, f"{SESSION}/heartbeat_interval_ms", "500")
    load = verified_load(lab, name)
    ways = (at_client, at_server, by_cable)
    began, flaps = time.monotonic(), 0
    while flaps < len(ways) or time.monotonic() - began < SECONDS:
        nic = flaps % 2
        carries(lab, nic, "is at work before it goes")
        ways[flaps % len(ways)](lab, nic)
        rnbd.equal(rnbd.read(lab.client, f"'{folder(lab, nic)}/state'"), "connected", "state of the path")
        flaps += 1
    for nic in (0, 1):
        carries(lab, nic, "is at work at the end")
        rnbd.equal(rnbd.read(lab.client, f"'{folder(lab, nic)}/proven'"), "none" if auth == "off" else "vm:1", "proven")
    end_load(lab, load)
    counts = [rnbd.read(lab.client, f"'{folder(lab, nic)}/stats/rdma'").split() for nic in (0, 1)]
    rnbd.check(all(words[4] == "0" for words in counts), f"in flight at the end: {counts}")
    rnbd.unmap(lab, name)


def proof(lab: Lab, auth: str) -> dict[str, str]:
    """What a map is asked for; the key for it is on both machines then."""
    if auth == "off":
        return {}
    secret = fresh_secret()
    for machine in (lab.client, lab.server):
        add_key(machine, "vm", 1, secret)
    return {"key": "vm", "auth": auth}


def by_cable(lab: Lab, nic: int) -> None:
    before = connects(lab, nic)
    lab.client.set_link(nic, False)
    wait_lost(lab, nic, before, 40)
    lab.client.set_link(nic, True)
    back(lab, nic)
