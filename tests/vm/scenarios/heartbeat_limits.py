# SPDX-License-Identifier: GPL-2.0
"""Heartbeats at another interval and with another limit, set on a session that runs: both hold from then on."""

import time

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, connects, folder, wait_lost

OURS = ("client",)
MISSED = "HB missed max reached."


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    path = folder(lab, 0)
    # Else the kernel may tell first that it misses the server's answer to ARP.
    neighbour = f"ip neigh change {lab.server.address()} dev {lab.client.netdev()} nud"
    lab.client.run(f"{neighbour} permanent")
    # What both sides of this project agree on, or what in-tree servers do.
    defaults = ("1000", "4") if lab.ours("server") else ("5000", "5")
    for entry, default in zip(("heartbeat_interval_ms", "heartbeat_missed_max"), defaults):
        rnbd.equal(rnbd.read(lab.client, f"{SESSION}/{entry}"), default, entry)

    # A minute before the next heartbeat: none comes soon.
    rnbd.write(lab.client, f"{SESSION}/heartbeat_interval_ms", "60000")
    before = rnbd.read(lab.client, f"{path}/cur_latency")
    time.sleep(7)
    rnbd.equal(rnbd.read(lab.client, f"{path}/cur_latency"), before, "latency while no heartbeat is due")
    # The minute does not have to pass.
    rnbd.write(lab.client, f"{SESSION}/heartbeat_interval_ms", "500")
    rnbd.wait_until(lab.client, f"[ '{before}' != \"$(cat '{path}/cur_latency')\" ]", 10, "a heartbeat at once")

    # A dead link shows after 500 ms times missed + 1; with the defaults of in-tree peers it takes 30 s and more.
    rnbd.write(lab.client, f"{SESSION}/heartbeat_missed_max", "7")
    before = connects(lab, 0)
    lab.client.set_link(0, False)
    took = wait_lost(lab, 0, before, 20)
    rnbd.check(2 < took < 15, f"the loss showed after {took:.1f} s")
    rnbd.check(MISSED in lab.client.log(), "the reason is not in the log")
    lab.client.set_link(0, True)
    rnbd.write(lab.client, f"{path}/reconnect", "1")
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 60, "the disk is back")
    if lab.ours("server"):
        told_by_a_request(lab, name, path)
    rnbd.unmap(lab, name)
    lab.client.run(f"{neighbour} reachable")


def told_by_a_request(lab: Lab, name: str, path: str) -> None:
    """With heartbeats far apart it is I/O that finds out; that the server was heard a while ago says nothing then."""
    rnbd.write(lab.client, f"{SESSION}/heartbeat_interval_ms", "60000")
    lab.client.set_link(0, False)
    reader = lab.client.spawn(f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct", 120)
    rnbd.wait_until(lab.client, f"! grep -qx connected '{path}/state'", 40, "the path is lost")
    log = lab.client.log()
    rnbd.check("shows no life, the path starts again" in log and "large packets" not in log,
               "the reason is another one")
    lab.client.set_link(0, True)
    lab.client.wait(reader)
    rnbd.write(lab.client, f"{path}/reconnect", "1")
