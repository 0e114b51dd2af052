# SPDX-License-Identifier: GPL-2.0
"""What it takes to connect a path again, by instructions of both machines, with a proof of who it is and without."""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from typing import Any

from vmlab import rnbd
from vmlab.lab import ROLES, Lab

from . import session
from .measure import Meter
from .report import spread
from .stacks import Stack

RECONNECTS = 10  # in one figure
KEY = "bench"
OWN = ("rtrs_core", "rtrs_client", "rtrs_server", "rnbd_client", "rnbd_server")


def _path(lab: Lab, name: str) -> str:
    return f"/sys/class/rtrs-client/{name}/paths/ip:{lab.client.address()}@ip:{lab.server.address()}"


def _measure(lab: Lab, meter: Meter, name: str) -> dict[str, float]:
    """Thousands of instructions for each reconnect, without the timer's."""
    path = _path(lab, name)
    # Once in vain: what is allocated for the first time costs more.
    again = f"echo 1 >{path}/disconnect; echo 1 >{path}/reconnect"
    lab.client.run(again, 60)
    before = meter.snapshot()
    lab.client.run(f"for n in $(seq {RECONNECTS}); do {again}; done", 300)
    found = {}
    for role, (delta, symbols) in meter.since(before).items():
        modules: dict[str, int] = {}
        for (module, _), count in delta.functions(symbols).items():
            modules[module] = modules.get(module, 0) + count
        own = sum(modules.get(module, 0) for module in OWN)
        found[f"{role}: all"] = meter.without_timer(role, delta, symbols) / RECONNECTS / 1000
        found[f"{role}: modules of RNBD"] = own / RECONNECTS / 1000
    found["both"] = sum(found[f"{role}: all"] for role in ROLES)
    return found


def run(lab: Lab, chosen: list[Stack], rounds: int, add: Callable[[dict[str, Any]], None]) -> list[str]:
    """The section of the report: of this project only, since nobody else proves anything."""
    stack = session.with_key(lab, chosen, KEY)
    if not stack:
        return []
    disk = session.disks(lab)[0]
    kinds: dict[str, dict[str, object]] = {"plain": {}, "proven": {"key": KEY}}
    for name, options in kinds.items():
        rnbd.map_device(lab, disk, name, access_mode="ro", no_path_timeout=-1, **options)
        rnbd.equal(rnbd.read(lab.client, f"'{_path(lab, name)}/proven'"), f"{KEY}:1" if options else "none", name)
    meter = Meter(lab)
    meter.learn()
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in kinds}
    for n in range(rounds):
        for name in kinds:
            got = _measure(lab, meter, name)
            figures[name].append(got)
            add({"round": n + 1, "session": name, "connecting": got})
        print(f"# connecting: round {n + 1} of {rounds}", file=sys.stderr, flush=True)
    meter.close()
    stack.detach(lab)
    stack.unload(lab)
    lines = ["", "## To connect a path again", "",
             f"Thousands of instructions, the timer's left out; {RECONNECTS} reconnects in one figure.", "",
             "| | without a proof | with one | more |", "|---|---|---|---|"]
    for name in figures["plain"][0]:
        plain, proven = ([got[name] for got in figures[kind]] for kind in kinds)
        lines.append(f"| {name} | {spread(plain, 0)} | {spread(proven, 0)} | {median(proven) - median(plain):.0f} |")
    return lines
