# SPDX-License-Identifier: GPL-2.0
"""The cable of one of two paths is pulled under verified I/O: the other carries on, and the path comes back."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, carries, connects, end_load, folder, verified_load, wait_back, wait_lost

SLOW = True
OURS = ("client", "server")
# Loss shows 35 s after the last word of the peer at the latest (protocol B.3); emulated machines are late.
LOSS = 35 + 15


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    rnbd.write(lab.client, f"{SESSION}/mp_policy", "round-robin")
    load = verified_load(lab, name)
    for nic in (0, 1):
        carries(lab, nic, "has its share")
    for nic in (0, 1):
        before = connects(lab, nic)
        lab.client.set_link(nic, False)
        wait_lost(lab, nic, before, LOSS)
        carries(lab, 1 - nic, "carries all")
        rnbd.check(int(rnbd.read(lab.client, f"{folder(lab, nic)}/last_error")) < 0, "last_error of a lost path")
        rnbd.wait_until(lab.client, f"[ $(cat {folder(lab, nic)}/next_attempt_ms) -ge 0 ]", 90, "an attempt is due")
        lab.client.set_link(nic, True)
        wait_back(lab, nic, before, 90)
        carries(lab, nic, "is at work again")
    end_load(lab, load)
    rnbd.unmap(lab, name)
