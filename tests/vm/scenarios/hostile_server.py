# SPDX-License-Identifier: GPL-2.0
"""Lies of a server that breaks the protocol: each ends as it must, and an honest session works after it."""

import os
import signal

from vmlab import make, rnbd
from vmlab.channel import scale
from vmlab.lab import Lab

SLOW = True
# Lies that a client notices by a timeout of 30 s are told side by side. The limit is that of one lie: how many of them
# a machine manages in a minute is not what is tested.
VARIANTS = {"quick": {"options": "", "limit": 40}, "slow": {"options": "--slow", "limit": 200}}
ALL = 1500  # seconds
OURS = ("client",)


def run(lab: Lab, options: str, limit: int) -> None:
    programs = make.programs()
    lie, visit = lab.server.put(programs / "rtrs-lie"), lab.client.put(programs / "rtrs-visit")
    lab.server.run("modprobe -a ib_uverbs rdma_ucm")
    # /etc, which names the providers of libibverbs, is not the host's.
    server = lab.server.spawn(f"echo $$ >/tmp/lie.pid\nIBV_DRIVERS=rxe exec {lie} >/tmp/lie.out 2>&1", 2 * ALL)
    rnbd.wait_until(lab.server, "grep -q ready /tmp/lie.out", 20, "the lying server's start")
    rnbd.load_client(lab)
    # LIES names some of them, for who looks for the reason of a failure.
    names = os.environ.get("LIES", "")
    result = lab.client.try_run(f"{visit} --client {lab.client.address()} --server {lab.server.address()} "
                                f"{options} --limit {int(limit * scale())} {names}", ALL)
    if result.timed_out or result.rc == 128 + signal.SIGALRM:
        raise AssertionError(f"a client's step does not end, behind:\n{result.out[-2000:]}")
    # One that has ended by itself says why below.
    lab.server.run("kill -TERM $(cat /tmp/lie.pid) || true")
    ended = lab.server.wait(server)
    said = lab.server.run("cat /tmp/lie.out")
    bad = [line for line in (result.out + said).splitlines() if line.startswith("not ok")]
    rnbd.check(ended.ok, f"the lying server ended with {ended.rc}: {said[-1000:]}")
    rnbd.check(result.ok, "\n".join(bad) or f"{result.out[-1000:]}\n{said[-1000:]}")
    rnbd.unload_client(lab)
