# SPDX-License-Identifier: GPL-2.0
"""Thirty times map, one write and read, unmap: no session, disk, link or memory region is left."""

import time

from vmlab import rnbd
from vmlab.lab import Lab

ROUNDS = 30


def resources(lab: Lab) -> dict[str, str]:
    """RDMA objects of each machine, as the RDMA core counts them."""
    return {m.name: m.run("rdma resource show | sed 's/ctx [0-9]* *//'") for m in (lab.server, lab.client)}


def settled(lab: Lab) -> None:
    """The server lets go of a session a moment after the client."""
    rnbd.equal(rnbd.sessions(lab.client, "client"), [], "sessions at the client")
    rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rtrs-server | grep -v ctl)\" ]", 15, "sessions gone")


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    # The RDMA core keeps completion queues in a pool once they were used.
    rnbd.unmap(lab, rnbd.map_device(lab, disk))
    settled(lab)
    time.sleep(2)
    before = resources(lab)
    text = rnbd.map_text(lab, disk)
    link = f"{rnbd.CTL}/devices/{disk.replace('/', '!')}@vm"
    lab.client.run(f"""n=0
while [ $n -lt {ROUNDS} ]; do
	echo '{text}' >{rnbd.CTL}/map_device
	name=$(basename $(readlink -f '{link}'))
	dd if=/usr/bin/bash of=/dev/$name bs=16k count=2 seek=$n oflag=direct 2>/dev/null
	dd if=/dev/$name bs=16k count=2 skip=$n iflag=direct 2>/dev/null | cmp -n 32768 - /usr/bin/bash
	echo normal >/sys/block/$name/rnbd/unmap_device
	n=$((n + 1))
done""", 240)
    settled(lab)
    for _ in range(20):  # the last queue pair of the server goes in a work item
        after = resources(lab)
        if after == before:
            break
        lab.client.run("sleep 0.5")
    rnbd.equal(after, before, "RDMA resources")
