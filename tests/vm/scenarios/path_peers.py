# SPDX-License-Identifier: GPL-2.0
"""Two paths end in turn, by the client and by the server, under verified I/O; also with in-tree modules on a side."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, at_client, at_server, carries, end_load, verified_load

INTEROP = True


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    # With Y the in-tree modules are at the mercy of soft-RoCE (Documentation/testing.md).
    rnbd.load_server(lab, always_invalidate="N")
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, nics=(0, 1), **rnbd.patience(lab))
    rnbd.write(lab.client, f"{SESSION}/mpath_policy", "round-robin")
    load = verified_load(lab, name)
    for end in (at_client, at_server):
        for nic in (0, 1):
            carries(lab, nic, "is at work before it goes")
            end(lab, nic)
    for nic in (0, 1):
        carries(lab, nic, "is at work at the end")
    end_load(lab, load)
    rnbd.unmap(lab, name)
