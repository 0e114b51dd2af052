# SPDX-License-Identifier: GPL-2.0
"""A fuzzer repeats valid exchanges with mutations for a time: the server lives, and serves an honest client."""

import os
import random

from vmlab import fio, make, rnbd, stain
from vmlab.lab import Lab
from vmlab.multipath import end_load, gentle_load

VARIANTS = {"Y": {"invalidate": "Y"}, "N": {"invalidate": "N"}}
OURS = ("server",)


def run(lab: Lab, invalidate: str) -> None:
    # The same mutations in each run of all tests; SEED=0 draws others. A round of a seed can be repeated:
    # rtrs-replay --seed N --from ROUND --rounds 1.
    seed = int(os.environ.get("SEED", "2989440646")) or random.SystemRandom().getrandbits(32)
    seconds = int(os.environ.get("SECONDS", "30"))
    replay = lab.client.put(make.programs() / "rtrs-replay")
    # The honest client's disk is its own; the other one is written to at will.
    honest_disk = rnbd.null_disk(lab.server)
    disk = rnbd.null_disk(lab.server, "nullbfuzz")
    rnbd.load_server(lab, always_invalidate=invalidate, sess_queue_depth=32)
    rnbd.load_client(lab)
    lab.client.run("modprobe -a ib_uverbs rdma_ucm")
    name = rnbd.map_device(lab, honest_disk)
    honest = gentle_load(lab, name, seconds + 300)

    stain.fill(lab.server)
    # /etc, which names the providers of libibverbs, is not the host's.
    result = lab.client.try_run(f"IBV_DRIVERS=rxe {replay} --server {lab.server.address()} --device {disk} "
                                f"--seed {seed} --seconds {seconds} --stain", seconds + 120)
    print(f"     seed {seed}: {(result.out.strip().splitlines() or ['no output'])[-1]}", flush=True)
    rnbd.check(result.ok, f"seed {seed}: the fuzzer failed:\n{result.out[-1500:]}")

    end_load(lab, honest)
    rnbd.unmap(lab, name)
    # A session that begins now works as well.
    name = rnbd.map_device(lab, honest_disk)
    fio.verify(lab.client, f"/dev/{name}", fio.Verify("16k", depth=4, size="256k"))
    rnbd.unmap(lab, name)
    rnbd.unload_client(lab)
    rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rtrs-server)\" ]", 60, "sessions gone")
    rnbd.unload_server(lab)
