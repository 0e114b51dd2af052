# SPDX-License-Identifier: GPL-2.0
"""Two paths carry one disk: they share the load, come and go under verified I/O, and no request fails with either."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, carries, end_load, folder, verified_load

OURS = ("client", "server")
VARIANTS = {"Y": {"invalidate": "Y"}, "N": {"invalidate": "N"}}


def run(lab: Lab, invalidate: str) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab, always_invalidate=invalidate)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    rnbd.equal(sorted(lab.client.run(f"cat {SESSION}/paths/*/state").split()), ["connected"] * 2, "states")
    rnbd.equal(len(lab.server.run("ls /sys/class/rtrs-server/vm/paths").split()), 2, "paths at the server")

    load = verified_load(lab, name)
    for policy in ("round-robin", "min-inflight", "min-latency", "round-robin"):
        rnbd.write(lab.client, f"{SESSION}/mp_policy", policy)
        if policy == "round-robin":
            for nic in (0, 1):
                carries(lab, nic, "has its share")
    for nic in (1, 0):
        gone = folder(lab, nic)
        rnbd.write(lab.client, f"{gone}/disconnect", "1")
        rnbd.equal(rnbd.read(lab.client, f"{gone}/state"), "disconnected", "state after disconnect")
        carries(lab, 1 - nic, "goes on alone")
        rnbd.write(lab.client, f"{gone}/reconnect", "1")
        carries(lab, nic, "is back after reconnect")

        rnbd.write(lab.client, f"{gone}/remove_path", "1")
        rnbd.check(not lab.client.try_run(f"[ -e '{gone}' ]").ok, "a removed path is still there")
        carries(lab, 1 - nic, "goes on alone")
        rnbd.write(lab.client, f"{SESSION}/add_path", rnbd.path_option(lab, nic).removeprefix("path="))
        carries(lab, nic, "is back after add_path")
    rnbd.equal(rnbd.write_error(lab.client, f"{SESSION}/add_path", rnbd.path_option(lab, 0).removeprefix("path=")),
               "EEXIST", "add_path of a path that is there")
    end_load(lab, load)
    rnbd.unmap(lab, name)
    rnbd.unload_client(lab)
    rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rtrs-server)\" ]", 60, "sessions gone")
    rnbd.unload_server(lab)
