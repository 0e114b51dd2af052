# SPDX-License-Identifier: GPL-2.0
"""What a cache and a branch predictor see of an I/O: accesses to memory by the stack's modules, distinct lines, those
that pass from one CPU to another, and blocks of code."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from vmlab.channel import CommandFailed
from vmlab.lab import ROLES, Lab
from vmlab.machine import Machine

from . import session, trace
from .counts import Symbol, readable
from .measure import COMPLETED, Measured, Meter
from .report import spread
from .stacks import Stack
from .trace import Access, Trace
from .workload import Workload, grid

LINE = 64  # bytes
PAGE = 4096
IOS = 200  # that are traced of each load
MARKS = {"client": COMPLETED, "server": "null_blk:null_queue_rq"}  # entered once for each I/O
LIMIT = 60.0  # seconds for them
# Kernel stacks: those of threads, and those of interrupts.
STACKS = "grep -E 'kernel_clone|fork_idle|copy_process|dup_task_struct|irq_?stack' /proc/vmallocinfo"
ONE_CPU = tuple(grid((32, 1)))
TWO_CPUS = tuple(Workload(f"2-jobs-{rw}", rw, depth=16, jobs=2) for rw in ("randread", "randwrite"))
SHOWN = 8  # lines that pass between CPUs, in a list
SHARED = 0.05  # so often for each I/O, and a line is not a request's own

Range = tuple[int, int]


@dataclass
class Lines:
    """Of one machine, all but `ios` for each I/O."""

    ios: int
    accesses: float = 0.0
    on_stack: float = 0.0  # of them
    # Distinct lines within an I/O, without those of the stack.
    touched: float = 0.0
    written: float = 0.0
    # Of all I/Os, by line and address of the code.
    moved: Counter[tuple[int, int]] = field(default_factory=Counter)

    def moves(self) -> dict[int, float]:
        """For each I/O, by line."""
        found: dict[int, float] = {}
        for (line, _), count in self.moved.items():
            found[line] = found.get(line, 0.0) + count / self.ios
        return found


def analyse(recorded: Iterable[Access | None], stacks: list[Range]) -> Lines:
    """From the first mark to the last. A line has moved when a CPU accesses what another one has written, or writes
    what another one has."""
    found = Lines(-1)
    pages = {page for begin, end in stacks for page in range(begin // PAGE, end // PAGE)}
    holders: dict[int, set[int]] = {}
    writers: dict[int, int] = {}
    accesses, on_stack = 0, 0
    touched: set[int] = set()
    written: set[int] = set()
    for access in recorded:
        if access is None:
            if found.ios >= 0:
                found.accesses += accesses
                found.on_stack += on_stack
                found.touched += len(touched)
                found.written += len(written)
            found.ios += 1
            accesses = on_stack = 0
            touched.clear()
            written.clear()
            continue
        accesses += 1
        if access.address // PAGE in pages:
            on_stack += 1
            continue
        line = access.address // LINE
        touched.add(line)
        have = holders.setdefault(line, set())
        foreign = writers.get(line, access.cpu) != access.cpu and access.cpu not in have
        if access.store:
            written.add(line)
            foreign = foreign or bool(have - {access.cpu})
            have.clear()
            writers[line] = access.cpu
        have.add(access.cpu)
        if foreign:
            found.moved[line, access.code] += 1
    if found.ios < 1:
        raise CommandFailed("nothing was traced")
    for name in ("accesses", "on_stack", "touched", "written"):
        setattr(found, name, getattr(found, name) / found.ios)
    return found


def stacks_of(machine: Machine) -> list[Range]:
    """Where they are now; the kernel hides it from nobody who asks so."""
    text = machine.run(f"echo 1 >/proc/sys/kernel/kptr_restrict\n{STACKS}", 30)
    found = [(int(begin, 16), int(end, 16)) for begin, end in
             re.findall(r"^0x([0-9a-f]+)-0x([0-9a-f]+)", text, re.M)]
    if not found or found[0][0] >> 63 == 0:
        raise CommandFailed(f"{machine.name}: no kernel stack in /proc/vmallocinfo:\n{text[:300]}")
    return found


@dataclass
class Traced:
    measured: Measured
    lines: dict[str, Lines]  # by role
    names: dict[str, Callable[[int], Symbol]]  # of code, by role

    def blocks(self, role: str, modules: tuple[str, ...]) -> float:
        """Executed for each I/O; a branch, a call or a return ends each."""
        return sum(sum(found.values()) for (module, _), found in self.measured.sides[role].blocks.items()
                   if module in modules)


def measure(lab: Lab, meter: Meter, stack: Stack, load: Workload, nodes: list[str]) -> Traced:
    """One load, a part of which is traced."""
    symbols = meter.symbols
    traces = {role: Trace(lab.machines[role].written_by(trace.PLUGIN)) for role in ROLES}
    stacks: dict[str, list[Range]] = {}

    def record() -> None:
        for role, modules in (("client", stack.client), ("server", stack.server)):
            mark, = symbols[role].addresses(MARKS[role])
            traces[role].record([symbols[role].text(module) for module in modules], mark, IOS + 1)
        end = time.monotonic() + LIMIT
        while any(t.recording for t in traces.values()):
            if time.monotonic() > end:
                raise CommandFailed(f"{load.name}: {IOS} I/Os took longer than {LIMIT:.0f} s")
            time.sleep(0.01)
        stacks.update({role: stacks_of(lab.machines[role]) for role in ROLES})

    measured = meter.run(load, nodes, during=record)
    lines = {role: analyse(traces[role].read(), stacks[role]) for role in ROLES}
    for t in traces.values():
        t.close()
    return Traced(measured, lines, {role: symbols[role].at for role in ROLES})


BETWEEN_CPUS = ("lines from another CPU", "of them of many I/Os")
Figures = dict[tuple[str, str], list[Traced]]  # by stack and load


def run(lab: Lab, chosen: list[Stack], rounds: int, add: Callable[[dict[str, Any]], None]) -> list[str]:
    """The section of the report."""
    figures: Figures = {}
    with session.traced(lab):
        for n in range(rounds):
            for cpus, loads in ((1, ONE_CPU), (2, TWO_CPUS)):
                lab.boot(cpus=cpus)
                meter = Meter(lab)
                disks = session.disks(lab)
                for stack in chosen:
                    stack.prepare(lab)
                    with session.attached(lab, meter, stack, disks) as nodes:
                        for load in loads:
                            got = measure(lab, meter, stack, load, nodes)
                            figures.setdefault((stack.name, load.name), []).append(got)
                            add({"round": n + 1, "stack": stack.name, "load": load.name,
                                 "lines": {role: _numbers(got, role, stack) for role in ROLES}})
                meter.close()
                complaints = session.judge(lab)
                if complaints:
                    raise session.BenchError("\n".join(complaints))
                lab.shutdown()
            print(f"# lines: round {n + 1} of {rounds}", file=sys.stderr, flush=True)
    return _text(chosen, figures)


def _numbers(got: Traced, role: str, stack: Stack) -> dict[str, float]:
    lines = got.lines[role]
    return {"memory accesses": lines.accesses, "of them on the stack": lines.on_stack,
            "lines touched": lines.touched, "lines written": lines.written,
            "lines from another CPU": sum(moves := list(lines.moves().values())),
            "of them of many I/Os": sum(count for count in moves if count > SHARED),
            "blocks of code": got.blocks(role, stack.client if role == "client" else stack.server)}


def _text(chosen: list[Stack], figures: Figures) -> list[str]:
    lines = ["", "## Memory, lines and branches", "",
             f"What the stack's own modules do for an I/O, of {IOS} in the midst of each load: accesses to memory, "
             "distinct lines of 64 bytes (from one completion to the next, without those of the stack), and blocks of "
             "code, each of which ends in a branch, a call or a return. What they have the kernel do, such as to copy "
             "or to take a lock, is not in it. `2-jobs` is on two CPUs: lines that one of them writes, and the other "
             f"one touches; those that did so in more than {SHARED:.0%} of the I/Os are no request's own, and come "
             "with the functions that met them."]
    for load in (*ONE_CPU, *TWO_CPUS):
        lines += ["", f"**{load.name}**", "", "| | " + " | ".join(s.name for s in chosen) + " |",
                  "|---|" + "---|" * len(chosen)]
        for role in ROLES:
            numbers = {s.name: [_numbers(t, role, s) for t in figures[s.name, load.name]] for s in chosen}
            for what in numbers[chosen[0].name][0]:
                if load in TWO_CPUS or what not in BETWEEN_CPUS:
                    cells = (spread([got[what] for got in numbers[s.name]], 1) for s in chosen)
                    lines.append(f"| {role}: {what} | " + " | ".join(cells) + " |")
    for load in TWO_CPUS:
        for stack in chosen:
            for role in ROLES:
                lines += _moved(figures[stack.name, load.name], f"{load.name}: {stack.name}: {role}", role)
    return lines


def _moved(got: list[Traced], title: str, role: str) -> list[str]:
    """The lines of the last round that passed most often, and whose code met them there."""
    last = got[-1]
    lines = last.lines[role]
    rows = sorted(((count, line) for line, count in lines.moves().items() if count > SHARED), reverse=True)[:SHOWN]
    text = []
    for count, line in rows:
        by: Counter[str] = Counter()
        for (at, code), times in lines.moved.items():
            if at == line:
                by[last.names[role](code).name] += times
        text.append(f"    {count:6.2f}  {line * LINE:#x}  " + ", ".join(f"{name} {times / lines.ios:.2f}"
                                                                       for name, times in by.most_common()))
    return ["", f"{title}: lines that pass between CPUs, times for each I/O", "", *readable(text)] if text else []
