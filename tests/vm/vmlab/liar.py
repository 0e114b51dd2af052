# SPDX-License-Identifier: GPL-2.0
"""A server that lies (tests/peer/lie), and the user of the kernel's client who visits each lie (tests/peer/visit)."""

from __future__ import annotations

import os
import signal

from . import make, rnbd
from .channel import scale
from .lab import Lab

ALL = 1500  # seconds


def visit(lab: Lab, limit: int, options: str = "", server_options: str = "") -> None:
    """Visit them, each within this many seconds; the client's module is loaded. LIES names some of them, for who looks
    for the reason of a failure."""
    programs = make.programs()
    lie, visitor = lab.server.put(programs / "rtrs-lie"), lab.client.put(programs / "rtrs-visit")
    lab.server.run("modprobe -a ib_uverbs rdma_ucm")
    # /etc, which names the providers of libibverbs, is not the host's.
    server = lab.server.spawn(f"echo $$ >/tmp/lie.pid\nIBV_DRIVERS=rxe exec {lie} {server_options} >/tmp/lie.out 2>&1",
                              2 * ALL)
    rnbd.wait_until(lab.server, "grep -q ready /tmp/lie.out", 20, "the lying server's start")
    names = os.environ.get("LIES", "")
    result = lab.client.try_run(f"{visitor} --client {lab.client.address()} --server {lab.server.address()} "
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
