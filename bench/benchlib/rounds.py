# SPDX-License-Identifier: GPL-2.0
"""All stacks one after the other, again and again: A B C A B C ..., so that what changes with time meets all."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from vmlab.lab import NICS, Lab

from . import session
from .goals import Figures
from .measure import Measured, Meter
from .plan import Section
from .stacks import Stack

# Told of each measurement: round, stack, load, figures.
Listener = Callable[[int, str, str, Measured], None]


def run(lab: Lab, chosen: list[Stack], sections: list[Section], count: int, listener: Listener | None = None,
        boot_each: bool = False, most: int = 0, more: Callable[[Figures], bool] | None = None,
        make_disks: Callable[[Lab, int], list[str]] = session.disks) -> Figures:
    """The figures of `count` rounds; `boot_each`: in machines that were just switched on. `most`: rounds go on up to
    this many while `more` says so of the figures."""
    figures: Figures = {stack.name: {load.name: [] for s in sections for load in s.loads} for stack in chosen}
    meter = None
    for n in range(max(count, most)):
        if n >= count and not (more and more(figures)):
            break
        if boot_each and meter:
            meter.close()
            meter = None
            lab.shutdown()
        if not meter:
            lab.boot(nics=max(NICS, *(len(s.nics) for s in sections)))
            meter = Meter(lab)
            backing = make_disks(lab, max(s.disks for s in sections))
            for stack in chosen:
                stack.prepare(lab)
        for stack in chosen:
            begin = time.monotonic()
            for section in sections:
                with session.attached(lab, meter, stack, backing[:section.disks], section.nics) as nodes:
                    for load in section.loads:
                        got = meter.run(load, nodes)
                        figures[stack.name][load.name].append(got)
                        if listener:
                            listener(n + 1, stack.name, load.name, got)
            print(f"# round {n + 1} of {count}: {stack.name}, {time.monotonic() - begin:.0f} s", file=sys.stderr,
                  flush=True)
    if meter:
        meter.close()
    return figures
