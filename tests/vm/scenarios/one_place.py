# SPDX-License-Identifier: GPL-2.0
"""With one place in each of the client's work queues paths still end, move their requests, and come back: no item waits
for another one of its queue."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, at_client, at_server, carries, end_load, folder, verified_load

OURS = ("client", "server")
QUEUES = ("rtrs_client_wq", "rtrs_client_connect", "rtrs_client_tick")


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    rnbd.limit_work(lab.client, QUEUES)
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    third = rnbd.path_option(lab, 1, family=6).removeprefix("path=")
    rnbd.write(lab.client, f"{SESSION}/add_path", third)
    rnbd.write(lab.client, f"{SESSION}/mp_policy", "round-robin")
    load = verified_load(lab, name)
    for way in (at_client, at_server):
        carries(lab, 0, "is at work before it goes")
        way(lab, 0)
    # A path that nobody answers takes the one place for attempts, for half a minute, and one after the other.
    lonely = lab.client.spawn(f"! echo ip:{lab.client.address(0)}@ip:10.10.0.77 >{SESSION}/add_path", 120)
    lab.client.run("sleep 1")
    rnbd.check(lonely.running, "a path to nobody ended at once")
    rnbd.write(lab.client, f"{SESSION}/paths/{third}/disconnect", "1", 60)
    carries(lab, 0, "is at work without the third path")
    end_load(lab, load)
    rnbd.unload_server(lab)
    rnbd.load_server(lab)
    states = " && ".join(f"grep -qx connected '{folder(lab, nic)}/state'" for nic in (0, 1))
    rnbd.wait_until(lab.client, states, 90, "two paths are back")
    result = lab.client.wait(lonely)
    rnbd.check(result.ok, f"a path to nobody ended with {result.rc}")
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 20, "the disk is back")
    rnbd.unmap(lab, name)
