# SPDX-License-Identifier: GPL-2.0
"""bench/run: the full run with its report, and the check."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from vmlab import debian
from vmlab.lab import Lab

from . import (TOP, cachelines, connecting, cpus, fairness, flood, goals, keep, memory, plan, quick as check, recovery,
               report, rounds, session, stacks)
from .counting import select, to_json
from .measure import Measured
from .plan import Section
from .stacks import Stack
from .workload import grid

EXTRA = ("cpus", "lines", "fairness", "recovery", "memory", "connecting", "flood")


def _stacks(lab: Lab, wanted: list[str]) -> list[Stack]:
    known = {s.name: s for s in stacks.all_stacks(lab)}
    return [known[name] for name in select(wanted, list(known), "stack")]


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=TOP).stdout.strip()


def head(lab: Lab, count: int) -> list[str]:
    processor = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text(encoding="utf-8")
                      .splitlines() if line.startswith("model name")), "?")
    return ["# Measurements", "", f"- Commit {_output('git', 'describe', '--always', '--dirty')}",
            f"- Machines: Linux {lab.kernel.release}, 1 CPU each, {lab.accel}; "
            f"{_output('qemu-system-x86_64', '--version').partition(chr(10))[0]}; {_output('fio', '--version')}",
            f"- Host: {os.cpu_count()} CPUs, {processor}; load {os.getloadavg()[0]:.1f} at the start",
            f"- {count} rounds, all stacks in each; figures are medians, with the least and the most",
            "- Emulated CPUs and network: instructions compare, times do so only within a table and roughly"]


class Raw:
    """raw.jsonl: every measurement, as soon as it is made."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        path.write_text("", encoding="utf-8")

    def add(self, entry: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")

    def measured(self, number: int, stack: str, load: str, m: Measured) -> None:
        self.add({"round": number, "stack": stack, "load": load, **to_json({"": {"": [m]}})[""][""][0]})


def main(args: argparse.Namespace) -> int:
    count = args.rounds or 3
    tested = keep.commit() if args.record else ""
    wanted = [name for name in args.section if name not in EXTRA]
    sections: list[Section] = plan.pick(wanted, args.ios) if wanted or not args.section else []
    folder = (args.out or session.OUT / "report").resolve()
    raw = Raw(folder / "raw.jsonl")
    lab = Lab(session.options(args.modules))
    problems: list[str] = []
    tail: list[str] = []
    try:
        chosen = _stacks(lab, args.stack)
        lines = head(lab, count)
        figures = rounds.run(lab, chosen, sections, count, raw.measured, boot_each=True) if sections else {}
        for name, module in (("cpus", cpus), ("lines", cachelines), ("fairness", fairness), ("memory", memory),
                             ("recovery", recovery), ("connecting", connecting), ("flood", flood)):
            if not args.section or name in args.section:
                if lab.machines:
                    problems += session.judge(lab)
                    lab.shutdown()
                tail += module.run(lab, chosen, count, raw.add)
        problems += session.judge(lab)
    finally:
        lab.close()
    path = report.write(folder, lines, sections, chosen, figures, tail)
    print(f"report: {path}")
    if tested and not problems:
        keep.write(lab.kernel.release, tested, count, chosen, figures)
    for problem in problems:
        print(f"bench: {problem}")
    return 1 if problems else 0


def quick(args: argparse.Namespace) -> int:
    judged_depths = (check.DEPTH,) if args.modules_only else (32, 1)
    loads = tuple(grid((*judged_depths, check.SLOPE_DEPTH) if args.update else judged_depths))
    wanted = args.stack or (check.STACKS if args.modules_only else [])

    def judged(ratios: Any) -> Any:
        return check.of_modules(ratios) if args.modules_only else ratios

    def chosen(ratios: list[goals.Ratio]) -> list[goals.Ratio]:
        return [r for r in ratios if int(r.load.rpartition("-")[2]) in judged_depths
                and (not args.modules_only or r.goal.title in check.MODULES)]

    lab = Lab(session.options(args.modules))
    series = debian.series(lab.kernel.release)
    try:
        stored = judged(check.stored_ratios(series, not args.update))
        least = args.rounds or (3 if args.update else 2)
        figures = rounds.run(lab, _stacks(lab, wanted), [Section("random", "", loads)], least,
                             most=0 if args.rounds or args.update else check.MOST_ROUNDS,
                             more=lambda so_far: check.undecided(chosen(goals.ratios(so_far)), stored))
        problems = session.judge(lab)
    finally:
        lab.close()
    found = goals.ratios(figures)
    print("\n".join(goals.table(found)))
    found = chosen(found)
    if args.update:
        check.update(found, figures, series)
        stored = judged(check.stored_ratios(series))
    lines, passed, failed = check.compare(found, stored, problems)
    text = f"{passed} passed, {failed} failed"
    print("\n".join(["", *lines, text]))
    if args.result:
        args.result.parent.mkdir(parents=True, exist_ok=True)
        args.result.write_text(text + "\n", encoding="utf-8")
    return 0 if failed == 0 and passed else 1
