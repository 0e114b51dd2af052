# SPDX-License-Identifier: GPL-2.0
"""Memory that a session and each of its devices takes, on both machines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from typing import Any

from vmlab.lab import ROLES, Lab

from . import session
from .stacks import Stack

DEVICES = 16
# Without caches and empty slabs: KiB that are free, and then how many pages each CPU keeps at hand, which are free,
# too, and can be megabytes.
FREE = """sync
sleep 0.5
for n in 1 2; do
	echo 3 >/proc/sys/vm/drop_caches
	for cache in /sys/kernel/slab/*/shrink; do echo 1 >$cache; done
	echo 1 >/proc/sys/vm/compact_memory
	cat /proc/sys/vm/stat_refresh
done
sed -n 's/^MemFree: *\\([0-9]*\\).*/\\1/p' /proc/meminfo
sed -n 's/^ *count: *//p' /proc/zoneinfo
"""
PAGE = 4


def _free(lab: Lab) -> dict[str, int]:
    """KiB that are free, with nothing in caches."""
    found = {}
    for role in ROLES:
        free, *kept = map(int, lab.machines[role].run(FREE).split())
        found[role] = free + PAGE * sum(kept)
    return found


def _one(lab: Lab, stack: Stack, disks: list[str]) -> dict[str, float]:
    """KiB by what takes them."""
    stack.load(lab)
    # The first session also fills pools that stay.
    stack.attach(lab, disks)
    stack.detach(lab)
    empty = _free(lab)
    stack.attach(lab, disks[:1])
    one = _free(lab)
    stack.detach(lab)
    stack.attach(lab, disks)
    many = _free(lab)
    stack.detach(lab)
    left = _free(lab)
    stack.unload(lab)
    found = {}
    for role in ROLES:
        device = (one[role] - many[role]) / (len(disks) - 1)
        found[f"{role}: session"] = empty[role] - one[role] - device
        found[f"{role}: device"] = device
        found[f"{role}: not given back at the end"] = empty[role] - left[role]
    return found


def run(lab: Lab, chosen: list[Stack], rounds: int, add: Callable[[dict[str, Any]], None]) -> list[str]:
    """The section of the report."""
    figures: dict[str, list[dict[str, float]]] = {stack.name: [] for stack in chosen}
    lab.boot()
    disks = session.disks(lab, DEVICES)
    for stack in chosen:
        stack.prepare(lab)
    for n in range(rounds):
        for stack in chosen:
            got = _one(lab, stack, disks)
            figures[stack.name].append(got)
            add({"round": n + 1, "stack": stack.name, "memory": got})
        print(f"# memory: round {n + 1} of {rounds}", file=sys.stderr, flush=True)
    names = list(figures[chosen[0].name][0])
    lines = ["", "## Memory in KiB", "",
             f"A session without a disk, and each of {DEVICES} disks; from what is free with empty caches, which "
             "wavers by some dozens of KiB.", "",
             "| | " + " | ".join(s.name for s in chosen) + " |", "|---|" + "---|" * len(chosen)]
    for name in names:
        cells = [f"{median([got[name] for got in figures[s.name]]):.0f}" for s in chosen]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines
