# SPDX-License-Identifier: GPL-2.0
"""bench/count: stacks in turn, and tables of what an I/O costs on each."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from vmlab.lab import Lab

from . import goals, listing, rounds, session, stacks, workload
from .counts import readable
from .goals import Figures
from .measure import EVENTS, Measured, Side
from .plan import Section
from .stacks import Stack
from .workload import Workload

# Columns of modules that are not the stack's own.
OTHERS = (("rxe", ("rdma_rxe",)), ("ib", ("ib_core", "rdma_cm", "ib_cm", "iw_cm")), ("kernel", ("vmlinux",)),
          ("programs", ("programs",)))


def overview(figures: Figures, chosen: list[Stack], loads: list[Workload]) -> list[str]:
    """Instructions for each I/O by machine, and on it by module."""
    lines = []
    heads = "".join(f"{name:>9}" for name, _ in OTHERS)
    for load in loads:
        lines += ["", f"{load.name}: instructions for each I/O",
                  f"{'':<12}{'both':>9}  {'':<7}{'all':>8}{'own':>7}{heads}{'other':>9}{'timer':>9}   own modules"]
        for stack in chosen:
            got = figures[stack.name][load.name]
            both = median([m.work for m in got])
            for role, own in (("client", stack.client), ("server", stack.server)):
                sides = [m.sides[role] for m in got]
                name, total = (stack.name, f"{both:9.0f}") if role == "client" else ("", " " * 9)
                lines.append(f"{name:<12}{total}  {role:<7}{_row(sides, own)}")
    return lines


def _row(sides: list[Side], own: tuple[str, ...]) -> str:
    total = median([s.work for s in sides])
    mine = median([s.of(own) for s in sides])
    others = [median([s.of(modules) for s in sides]) for _, modules in OTHERS]
    rest = median([s.instructions - s.of(own) - sum(s.of(modules) for _, modules in OTHERS) for s in sides])
    timer = median([s.timer for s in sides])
    parts = " ".join(f"{m} {median([s.of((m,)) for s in sides]):.0f}" for m in own)
    return f"{total:8.0f}{mine:7.0f}" + "".join(f"{v:9.0f}" for v in others) + f"{rest:9.0f}{timer:9.0f}   {parts}"


def events(figures: Figures, chosen: list[Stack], loads: list[Workload]) -> list[str]:
    """What happened for each I/O, stacks side by side."""
    lines = []
    for load in loads:
        lines += ["", f"{load.name}: events for each I/O, client + server",
                  f"{'':<20}" + "".join(f"{s.name:>15}" for s in chosen)]
        for event in EVENTS:
            cells = []
            for stack in chosen:
                got = figures[stack.name][load.name]
                cells.append(" + ".join(f"{median([m.sides[r].events[event] for m in got]):.2f}"
                                        for r in ("client", "server")))
            lines.append(f"{event:<20}" + "".join(f"{c:>15}" for c in cells))
    return lines


def profile(figures: Figures, chosen: list[Stack], loads: list[Workload], modules: list[str], top: int) -> list[str]:
    """Instructions for each I/O by function, for each module and stack that has it."""
    lines = []
    for load in loads:
        for module in modules:
            for role in ("client", "server"):
                for stack in chosen:
                    lines += _profile(figures[stack.name][load.name], f"{load.name}: {stack.name}: {role}: {module}",
                                      role, module, top)
    return lines


def _profile(got: list[Measured], title: str, role: str, module: str, top: int) -> list[str]:
    names = {name for m in got for mod, name in m.sides[role].functions if mod == module}
    rows = sorted(((median([m.sides[role].functions.get((module, name), 0.0) for m in got]), name) for name in names),
                  reverse=True)
    total = sum(count for count, _ in rows)
    if not total:
        return []
    return ["", f"{title}: {total:.0f} instructions for each I/O"] + [f"{count:10.1f}  {name}" for count, name in
                                                                     rows[:top] if count >= 0.05]


def to_json(figures: Figures) -> Any:
    def one(m: Measured) -> Any:
        got = asdict(m)
        for role, side in m.sides.items():
            del got["sides"][role]["blocks"]
            got["sides"][role]["functions"] = {f"{mod}:{name}": v for (mod, name), v in side.functions.items()}
        return got

    return {stack: {load: [one(m) for m in got] for load, got in loads.items()} for stack, loads in figures.items()}


def select(wanted: list[str], known: list[str], what: str) -> list[str]:
    for name in wanted:
        if name not in known:
            raise ValueError(f"no {what} {name}: {', '.join(known)}")
    return [name for name in known if not wanted or name in wanted]


def main(args: argparse.Namespace) -> int:
    lab = Lab(session.options(args.modules))
    try:
        others = {name: Path(folder).resolve() for name, _, folder in (word.partition("=") for word in args.also)}
        known = {s.name: s for s in stacks.all_stacks(lab, others)}
        chosen = [known[name] for name in select(args.stack, list(known), "stack")]
        grid = {load.name: load for load in workload.grid(tuple(args.depth) or (32, 1))}
        loads = [grid[name] for name in select(args.load, list(grid), "load")]
        section = Section("random", "", tuple(loads), nics=tuple(range(args.paths)))
        figures = rounds.run(lab, chosen, [section], args.rounds,
                             make_disks=partial(session.disks, linear=args.linear, later=args.later))
        problems = session.judge(lab)
    finally:
        lab.close()
    modules = [m.replace("-", "_") for m in args.profile.split(",") if m]
    text = [*overview(figures, chosen, loads), *events(figures, chosen, loads),
            *readable(profile(figures, chosen, loads, modules, args.top))]
    if args.listing:
        text += listing.listing(figures, chosen, loads, args.listing)
    found = [r for build in ("ours", *others) for r in goals.ratios(figures, build)]
    if found:
        text += ["", *goals.table(found)]
    print("\n".join(text))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(to_json(figures)), encoding="utf-8")
    for problem in problems:
        print(f"count: {problem}", file=sys.stderr)
    return 1 if problems else 0
