# SPDX-License-Identifier: GPL-2.0
"""The report in Markdown, with its plots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from . import goals, plots
from .goals import Figures
from .measure import EVENTS, Measured
from .plan import Section
from .stacks import Stack


def fio_side(m: Measured, kind: str) -> dict[str, Any]:
    jobs: Any = m.fio["jobs"]
    found: dict[str, Any] = jobs[0][kind]
    return found


def iops(m: Measured, kind: str) -> float:
    return float(fio_side(m, kind)["iops"])


def percentile(m: Measured, kind: str, which: str) -> float:
    """Microseconds."""
    return float(fio_side(m, kind)["clat_ns"].get("percentile", {}).get(which, 0)) / 1000


def spread(values: list[float], digits: int = 0) -> str:
    """Median, then least and most where there are several."""
    text = f"{median(values):.{digits}f}"
    if len(values) > 1:
        text += f" ({min(values):.{digits}f}–{max(values):.{digits}f})"
    return text


def _table(title: str, stacks: list[Stack], rows: list[tuple[str, list[str]]]) -> list[str]:
    lines = ["", f"**{title}**", "", "| | " + " | ".join(s.name for s in stacks) + " |",
             "|---|" + "---|" * len(stacks)]
    return lines + [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows]


def _rows(section: Section, stacks: list[Stack], figures: Figures,
          cell: Callable[[list[Measured], str], str]) -> list[tuple[str, list[str]]]:
    return [(load.name, [cell(got, load.kind) if (got := figures[s.name][load.name]) else "-" for s in stacks])
            for load in section.loads]


def section_text(section: Section, stacks: list[Stack], figures: Figures) -> list[str]:
    lines = ["", f"## {section.title}"]

    def latency(got: list[Measured], kind: str) -> str:
        return " / ".join(f"{median([percentile(m, kind, p) for m in got]):.0f}"
                          for p in ("50.000000", "99.000000", "99.900000"))

    def own(got: list[Measured], role: str, modules: dict[str, tuple[str, ...]], stack: str) -> str:
        return spread([m.sides[role].of(modules[stack]) for m in got])

    lines += _table("Instructions for each I/O, both machines, without the timer's", stacks,
                    _rows(section, stacks, figures, lambda got, _: spread([m.work for m in got])))
    for role in ("client", "server"):
        modules = {s.name: s.client if role == "client" else s.server for s in stacks}
        rows = [(load.name, [own(got, role, modules, s.name) if (got := figures[s.name][load.name]) else "-"
                             for s in stacks]) for load in section.loads]
        lines += _table(f"Instructions of the stack's own modules, {role}", stacks, rows)
    lines += _table("I/O per second", stacks,
                    _rows(section, stacks, figures, lambda got, kind: spread([iops(m, kind) for m in got])))
    lines += _table("Latency in microseconds: half, 99 % and 99.9 % of all are faster", stacks,
                    _rows(section, stacks, figures, latency))
    return lines


def events_text(load: str, stacks: list[Stack], figures: Figures) -> list[str]:
    def cell(stack: Stack, event: str) -> str:
        got = figures[stack.name][load]
        return " + ".join(f"{median([m.sides[r].events[event] for m in got]):.2f}" for r in ("client", "server"))

    return _table(f"{load}: events for each I/O, client + server", stacks,
                  [(event, [cell(s, event) for s in stacks]) for event in EVENTS])


def modules_text(load: str, stacks: list[Stack], figures: Figures) -> list[str]:
    rows = []
    for role in ("client", "server"):
        names = {name for s in stacks for m in figures[s.name][load] for name, v in m.sides[role].modules.items()
                 if v >= 1}
        for name in sorted(names):
            rows.append((f"{role}: {name}",
                         [f"{median([m.sides[role].modules.get(name, 0.0) for m in figures[s.name][load]]):.0f}"
                          for s in stacks]))
    return _table(f"{load}: instructions for each I/O by module", stacks, rows)


def scaling_text(section: Section, stacks: list[Stack], figures: Figures) -> list[str]:
    """What is left of the best throughput where it is least, and how much more an I/O costs where it costs most."""
    rows = []
    for kind in ("read", "write"):
        loads = [load for load in section.loads if load.kind == kind]
        rates = [[median([iops(m, kind) for m in figures[s.name][load.name]]) for load in loads] for s in stacks]
        costs = [[median([m.work for m in figures[s.name][load.name]]) for load in loads] for s in stacks]
        rows += [(f"{kind}: least / best I/O per second", [f"{min(r) / max(r):.2f}" for r in rates]),
                 (f"{kind}: most / least instructions for each I/O", [f"{max(c) / min(c):.2f}" for c in costs])]
    return _table("Over all of these", stacks, rows)


def ratio_text(figures: Figures) -> list[str]:
    lines = ["", "## Ratios", "", "| what | of | to | load | is | goal | |", "|---|---|---|---|---|---|---|"]
    for r in goals.ratios(figures):
        lines.append(f"| {r.goal.title} | {r.goal.stack} | {r.goal.other} | {r.load} | {r.value:.3f} | "
                     f"{r.limit:.2f} | {'reached' if r.reached else 'not reached'} |")
    return lines


def write(folder: Path, head: list[str], sections: list[Section], stacks: list[Stack], figures: Figures,
          tail: list[str]) -> Path:
    """report.md and its pictures in `folder`."""
    lines = [*head, *ratio_text(figures)]
    for section in sections:
        lines += section_text(section, stacks, figures)
        for name, title in plots.draw(folder, section, stacks, figures):
            lines += ["", f"![{title}]({name})"]
        if section.name in ("jobs", "devices"):
            lines += scaling_text(section, stacks, figures)
        if section.name == "random":
            for load in section.loads:
                lines += events_text(load.name, stacks, figures) + modules_text(load.name, stacks, figures)
    lines += ["", "## Commands", "", "On the client, for each stack and round; every script that ran in a machine, "
              "with what it printed, is in build/bench/lab/machines.", ""]
    for section in sections:
        nodes = [f"/dev/DISK{n}" for n in range(1, section.disks + 1)]
        lines += [f"    {load.command(nodes)}" for load in section.loads]
    path = folder / "report.md"
    path.write_text("\n".join([*lines, *tail]) + "\n", encoding="utf-8")
    return path
