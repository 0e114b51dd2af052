# SPDX-License-Identifier: GPL-2.0
"""Attacks of a client that breaks the protocol: each is refused and gets no memory; an honest client never notices.

ATTACKS="name name" runs only these.
"""

import os

from vmlab import make, rnbd, stain
from vmlab.lab import Lab
from vmlab.multipath import end_load, gentle_load

SLOW = True
VARIANTS = {"Y": {"invalidate": "Y"}, "N": {"invalidate": "N"}}


def run(lab: Lab, invalidate: str) -> None:
    attack = lab.client.put(make.programs() / "rtrs-attack")
    disk = rnbd.null_disk(lab.server)
    # Each attack has a session of its own, whose memory is made and cleared anew. With a depth that is no power of two
    # an immediate can name slots that are not there.
    rnbd.load_server(lab, always_invalidate=invalidate, sess_queue_depth=60)
    rnbd.load_client(lab)
    # What waits in a queue of the server, waits for nothing of the same queue: one item at a time has to do.
    rnbd.limit_work(lab.server, rnbd.SERVER_WORK)
    lab.client.run("modprobe -a ib_uverbs rdma_ucm")
    name = rnbd.map_device(lab, disk, access_mode="migration")
    honest = gentle_load(lab, name, 900)

    stain.fill(lab.server)
    # /etc, which names the providers of libibverbs, is not the host's.
    result = lab.client.try_run(f"IBV_DRIVERS=rxe {attack} --server {lab.server.address()} --device {disk} "
                                f"--stain {os.environ.get('ATTACKS', '')}", 900)
    failed = [line for line in result.out.splitlines() if line.startswith("not ok")]
    rnbd.check(result.ok, "attacks that worked:\n" + "\n".join(failed[:20] or [result.out[-2000:]]))

    end_load(lab, honest)
    rnbd.unmap(lab, name)
    rnbd.unload_client(lab)
    # Nothing of the hostile sessions may hold the server.
    rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rtrs-server)\" ]", 60, "sessions gone")
    rnbd.unload_server(lab)
