# SPDX-License-Identifier: GPL-2.0
"""The check: ratios of instructions for each I/O, against those that are stored in baseline.json."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from .goals import SIDES, Figures, Ratio
from .measure import BATCHES

BASELINE = Path(__file__).resolve().parents[1] / "baseline.json"


# What repeats on a busy host, and the part of the measurements that it needs.
MODULES = ("client modules", "server modules")
STACKS = ["ours-Y", "ours-N", "intree-Y", "intree-N"]
DEPTH = 32
MOST_ROUNDS = 6


def stored_ratios(series: str, needed: bool = True) -> Any:
    """Those of a series of kernels, whose code and whose distribution's compiler are part of them. None that are
    needed: there is nothing to judge by."""
    stored = json.loads(BASELINE.read_text(encoding="utf-8"))
    if needed and series not in stored["series"]:
        raise ValueError(f"no ratios are stored for kernels {series}: --update")
    return {"tolerance": stored["tolerance"], **stored["series"].get(series, {"ratios": {}, "lines": {}})}


def of_modules(stored: Any) -> Any:
    """The same without what the check of modules alone does not measure."""
    return {**stored, "ratios": {key: value for key, value in stored["ratios"].items()
                                 if key.startswith(MODULES) and key.endswith(f"-{DEPTH}")}}


def tolerance_of(key: str, stored: Any) -> float:
    return float(stored["tolerance"][key.partition(":")[0]])


def expected(key: str, stored: Any, batches: float | None) -> float:
    """What is stored, for so many batches of completions for each I/O. How many come together depends on how fast host
    and machines are; what an I/O costs is a line of it, since a batch costs something, whatever is in it."""
    line = stored["lines"].get(key)
    ratio = float(stored["ratios"][key])
    return ratio + line["slope"] * (batches - line["batches"]) if line and batches is not None else ratio


def worse_by(r: Ratio, stored: Any) -> list[float]:
    """Of each round: 0.02 is two percent worse than expected."""
    batches = r.batches or (None,) * len(r.rounds)
    return [ratio / expected(r.key, stored, n) - 1 for ratio, n in zip(r.rounds, batches)]


def undecided(found: list[Ratio], stored: Any) -> bool:
    """Whether a ratio was worse in every round so far. What happens on the host meanwhile makes I/Os dearer, and
    nothing there makes them cheaper: one round that is as good as stored is enough."""
    return any(r.key in stored["ratios"] and min(worse_by(r, stored)) > tolerance_of(r.key, stored) for r in found)


def compare(found: list[Ratio], stored: Any, problems: list[str]) -> tuple[list[str], int, int]:
    """Lines to print, how many ratios are no worse than stored, and how many are; the kernel logs count as one more."""
    lines = [f"     {'ratio':<62} {'is':>7} {'stored':>7}"]
    passed = failed = 0
    known = {r.key: r for r in found}
    for key, before in stored["ratios"].items():
        ratio = known.get(key)
        tolerance = tolerance_of(key, stored)
        value, note, good = "missing", "", False
        if ratio:
            worse = worse_by(ratio, stored)
            # What became dearer is so in every round; what happened on the host meanwhile is not.
            good = min(worse) <= tolerance
            value, before = f"{ratio.value:7.3f}", ratio.value / (1 + median(worse))
            if not good:
                note = f"  more than {tolerance:.0%} worse in every round, at least {min(worse):.1%}"
            elif median(worse) < -tolerance:
                note = "  better: store it with --update"
        passed, failed = passed + good, failed + (not good)
        lines.append(f"{'ok  ' if good else 'FAIL'} {key:<62} {value} {before:7.3f}{note}")
    for key in known.keys() - stored["ratios"].keys():
        failed += 1
        lines.append(f"FAIL {key:<62} {known[key].value:7.3f}  not stored: --update")
    good = not problems
    passed, failed = passed + good, failed + (not good)
    lines.append(f"{'ok  ' if good else 'FAIL'} kernel logs")
    lines += [f"     {problem}" for problem in problems]
    return lines, passed, failed


# Another depth of the queue has fewer completions together, on every host: two depths make a line.
SLOPE_DEPTH = 16
# Below that two points are no line.
LEAST_SPREAD = 0.03


def line_of(r: Ratio, figures: Figures) -> dict[str, float] | None:
    """Of a ratio of modules at DEPTH: completions of how many batches there are for each I/O, and how the ratio changes
    with them. None for other ratios, or where nothing changes."""
    side = SIDES.get(r.goal.title)
    name, _, depth = r.load.rpartition("-")
    ours = figures[r.goal.stack]
    other = f"{name}-{SLOPE_DEPTH}"
    if not side or depth != str(DEPTH) or other not in ours:
        return None
    (here, cost), (there, more) = ((median([m.sides[side].events[BATCHES] for m in ours[load]]),
                                    median([r.goal.what(m) for m in ours[load]])) for load in (r.load, other))
    if abs(there - here) < LEAST_SPREAD:
        return None
    peer = median([r.goal.what(m) for m in figures[r.goal.other][r.load]])
    return {"batches": round(here, 3), "slope": round((more - cost) / (there - here) / peer, 3)}


def update(found: list[Ratio], figures: Figures, series: str) -> None:
    """Store these ratios; others, and how much worse one may become, stay as they are."""
    stored = json.loads(BASELINE.read_text(encoding="utf-8"))
    here = stored["series"].setdefault(series, {"ratios": {}, "lines": {}})
    for r in found:
        here["ratios"][r.key] = round(r.value, 3)
        here["lines"].pop(r.key, None)
        line = line_of(r, figures)
        if line:
            here["lines"][r.key] = line
    BASELINE.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")
