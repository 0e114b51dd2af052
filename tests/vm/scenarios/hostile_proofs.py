# SPDX-License-Identifier: GPL-2.0
"""Clients that pretend to be somebody (protocol J.3): none gets in, and an honest one beside them never notices.

ATTACKS="name name" runs only these.
"""

import os

from vmlab import make, rnbd, stain
from vmlab.keys import add_key, fresh_secret
from vmlab.lab import Lab
from vmlab.multipath import connects, end_load, gentle_load

OURS = ("client", "server")


def run(lab: Lab) -> None:
    attack = lab.client.put(make.programs() / "rtrs-attack")
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab, sess_queue_depth=60)
    rnbd.load_client(lab)
    rnbd.limit_work(lab.server, rnbd.SERVER_WORK)
    lab.client.run("modprobe -a ib_uverbs rdma_ucm")
    honest, known = fresh_secret(), fresh_secret()
    for machine in (lab.client, lab.server):
        add_key(machine, "honest", 1, honest)
    add_key(lab.server, "peer", 1, known)
    name = rnbd.map_device(lab, disk, access_mode="migration", key="honest", auth="required")
    before = connects(lab, 0)
    load = gentle_load(lab, name, 900)

    stain.fill(lab.server)
    names = os.environ.get("ATTACKS") or " ".join(
        line.split()[0] for line in lab.client.run(f"{attack} --list").splitlines() if line.startswith("proof-"))
    result = lab.client.try_run(f"IBV_DRIVERS=rxe {attack} --server {lab.server.address()} --device {disk} --stain "
                                f"--key peer:1:{known.hex()} {names}", 600)
    failed = [line for line in result.out.splitlines() if line.startswith("not ok")]
    rnbd.check(result.ok, "attacks that worked:\n" + "\n".join(failed[:20] or [result.out[-2000:]]))

    end_load(lab, load)
    rnbd.equal(connects(lab, 0), before, "reconnects of the honest client")
    rnbd.unmap(lab, name)
    rnbd.unload_client(lab)
    # Nobody who was refused holds the server.
    rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rtrs-server)\" ]", 60, "sessions gone")
    rnbd.unload_server(lab)
