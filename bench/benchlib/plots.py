# SPDX-License-Identifier: GPL-2.0
"""Pictures of a section, by gnuplot."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median

from .goals import Figures
from .measure import Measured
from .plan import Section
from .stacks import Stack

SIZE = "900,420"


def draw(folder: Path, section: Section, stacks: list[Stack], figures: Figures) -> list[tuple[str, str]]:
    """(file, title) of each picture; none without gnuplot."""
    if not shutil.which("gnuplot"):
        return []
    found = []
    for name, title, value in (("work", "instructions for each I/O, both machines", _work),
                               ("iops", "I/O per second", _iops)):
        file = f"{section.name}-{name}.svg"
        _histogram(folder / file, f"{section.title}: {title}", section, stacks, figures, value)
        found.append((file, title))
    return found


def _work(m: Measured, _kind: str) -> float:
    return m.work


def _iops(m: Measured, kind: str) -> float:
    jobs = m.fio["jobs"]
    assert isinstance(jobs, list)
    return float(jobs[0][kind]["iops"])


def _histogram(path: Path, title: str, section: Section, stacks: list[Stack], figures: Figures,
               value: Callable[[Measured, str], float]) -> None:
    """Loads beside each other, a bar for each stack with least and most."""
    rows = []
    for load in section.loads:
        cells = [f'"{load.name}"']
        for stack in stacks:
            got = [value(m, load.kind) for m in figures[stack.name][load.name]]
            cells += [f"{median(got):.1f} {min(got):.1f} {max(got):.1f}" if got else "NaN NaN NaN"]
        rows.append(" ".join(cells))
    bars = ", ".join(f"$data using {3 * n + 2}:{3 * n + 3}:{3 * n + 4}:xtic(1) title '{stack.name}'"
                     for n, stack in enumerate(stacks))
    script = "\n".join([
        f"set terminal svg size {SIZE} background rgb 'white' font 'sans,11'", f"set output '{path}'",
        f"set title '{title}' noenhanced", "set style data histograms", "set style histogram errorbars gap 2 lw 1",
        "set style fill solid 0.8 border", "set yrange [0:*]", "set grid ytics", "set key outside right",
        "set xtics rotate by -25 noenhanced", "set key noenhanced",
        "$data << END", *rows, "END", f"plot {bars}", ""])
    subprocess.run(["gnuplot"], input=script, text=True, check=True, capture_output=True)
