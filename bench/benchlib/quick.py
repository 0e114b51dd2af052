# SPDX-License-Identifier: GPL-2.0
"""The check: ratios of instructions for each I/O, against those that are stored in baseline.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import goals
from .goals import Figures, Ratio

BASELINE = Path(__file__).resolve().parents[1] / "baseline.json"


# What repeats on a busy host, and the part of the measurements that it needs.
MODULES = ("client modules", "server modules")
STACKS = ["ours-Y", "ours-N", "intree-Y", "intree-N"]
DEPTH = 32
MOST_ROUNDS = 6


def stored_ratios() -> Any:
    return json.loads(BASELINE.read_text(encoding="utf-8"))


def of_modules(stored: Any) -> Any:
    """The same without what the check of modules alone does not measure."""
    return {**stored, "ratios": {key: value for key, value in stored["ratios"].items()
                                 if key.startswith(MODULES) and key.endswith(f"-{DEPTH}")}}


def limit_of(key: str, stored: Any) -> float:
    return float(stored["ratios"][key] * (1 + stored["tolerance"][key.partition(":")[0]]))


def undecided(found: list[Ratio], stored: Any) -> bool:
    """Whether a ratio was worse in every round so far. A busy host makes batches smaller, and so I/Os dearer, and no
    host makes them cheaper: one round that is as good as stored is enough."""
    return any(r.key in stored["ratios"] and min(r.rounds) > limit_of(r.key, stored) for r in found)


def compare(found: list[Ratio], stored: Any, problems: list[str]) -> tuple[list[str], int, int]:
    """Lines to print, how many ratios are no worse than stored, and how many are; the kernel logs count as one more."""
    lines = [f"     {'ratio':<62} {'is':>7} {'stored':>7}"]
    passed = failed = 0
    known = {r.key: r for r in found}
    for key, before in stored["ratios"].items():
        ratio = known.get(key)
        limit = limit_of(key, stored)
        # What became dearer is so in every round; what happened on the host meanwhile is not.
        good = ratio is not None and min(ratio.rounds) <= limit
        passed, failed = passed + good, failed + (not good)
        value = f"{ratio.value:7.3f}" if ratio else "missing"
        note = "" if good else f"  more than {limit:.3f} in every round"
        if ratio and ratio.value < before * 2 - limit:
            note = "  better: store it with --update"
        lines.append(f"{'ok  ' if good else 'FAIL'} {key:<62} {value} {before:7.3f}{note}")
    for key in known.keys() - stored["ratios"].keys():
        failed += 1
        lines.append(f"FAIL {key:<62} {known[key].value:7.3f}  not stored: --update")
    good = not problems
    passed, failed = passed + good, failed + (not good)
    lines.append(f"{'ok  ' if good else 'FAIL'} kernel logs")
    lines += [f"     {problem}" for problem in problems]
    return lines, passed, failed


def update(figures: Figures) -> None:
    """Store the ratios that were found; how much worse they may become stays as it is."""
    stored = stored_ratios()
    stored["ratios"] = {r.key: round(r.value, 3) for r in goals.ratios(figures)}
    BASELINE.write_text(json.dumps(stored, indent=2) + "\n", encoding="utf-8")
