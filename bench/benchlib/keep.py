# SPDX-License-Identifier: GPL-2.0
"""What a run came to, kept in results/ for the table of instructions in README.

A report is a few lines of `word value`: kernel, system, commit, day and rounds, and a line `figure STACK LOAD` with the
medians of instructions for each I/O, without the timer's: of both machines, of the client's modules and of the
server's. tools/tables reads them.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable
from statistics import median

from vmlab import debian, record

from . import TOP, goals
from .goals import Figures
from .measure import Measured
from .stacks import Stack
from .workload import grid

FOLDER = "bench/results"
LOADS = tuple(load.name for load in grid((32, 1)))


def commit() -> str:
    return record.commit(TOP)


def figures_of(stack: Stack, got: list[Measured]) -> str:
    """Of one stack under one load; what counts as the modules of NVMe is the stack's, too."""
    sides = [[m.sides[role].of(modules) for m in got] for role, modules in (("client", stack.client),
                                                                           ("server", stack.server))]
    values = ([goals.both_machines(m) for m in got], *sides)
    return " ".join(f"{median(each):.1f}" for each in values)


def text(release: str, tested: str, rounds: int, stacks: Iterable[Stack], figures: Figures) -> str:
    lines = [f"release {release}", f"system {record.system()}", f"commit {tested}",
             f"day {time.strftime('%Y-%m-%d', time.gmtime())}", f"rounds {rounds}"]
    lines += [f"figure {stack.name} {load} {figures_of(stack, figures[stack.name][load])}"
              for stack in stacks for load in LOADS]
    return "\n".join(lines) + "\n"


def write(release: str, tested: str, rounds: int, stacks: Iterable[Stack], figures: Figures) -> None:
    """Keeps the report, one for each series of kernels, and brings README's table up to date."""
    path = TOP / FOLDER / f"{debian.series(release)}.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text(release, tested, rounds, stacks, figures), encoding="utf-8")
    subprocess.run([str(TOP / "tools/tables")], check=True)
