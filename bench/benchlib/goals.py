# SPDX-License-Identifier: GPL-2.0
"""The figures to reach, as ratios of instructions for each I/O in the same run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from .measure import BATCHES, Measured

# figures[stack][load]: one for each round.
Figures = dict[str, dict[str, list[Measured]]]


def client_modules(m: Measured) -> float:
    return m.sides["client"].of(("rnbd_client", "rtrs_client", "rtrs_core"))


def server_modules(m: Measured) -> float:
    return m.sides["server"].of(("rnbd_server", "rtrs_server", "rtrs_core"))


def both_machines(m: Measured) -> float:
    return m.work


# What is a part of one machine, by title; the rest is of both.
SIDES = {"client modules": "client", "server modules": "server"}


@dataclass(frozen=True)
class Goal:
    """`what` of `stack` is at most `limit` times that of `other`, under loads of a kind ("read", "write" or both), and
    `alone` times with one request at a time."""

    title: str
    what: Callable[[Measured], float]
    stack: str
    other: str
    kinds: tuple[str, ...]
    limit: float
    alone: float


def goals(build: str = "ours") -> list[Goal]:
    found = []
    for value in "YN":
        ours, intree = f"{build}-{value}", f"intree-{value}"
        found += [
            Goal("client modules", client_modules, ours, intree, ("read", "write"), 0.9, 0.9),
            Goal("server modules", server_modules, ours, intree, ("read", "write"), 1.0, 1.0),
            Goal("both machines", both_machines, ours, intree, ("write",), 0.7, 0.95),
            Goal("both machines", both_machines, ours, "nvme", ("read", "write"), 0.95, 0.95),
        ]
    return [*found, Goal("both machines", both_machines, f"{build}-Y", f"{build}-N", ("read", "write"), 1.15, 1.15)]


@dataclass(frozen=True)
class Ratio:
    goal: Goal
    load: str
    rounds: tuple[float, ...]  # the ratio within each
    batches: tuple[float, ...] = ()  # of completions for each I/O, of the same rounds, if it is a part of one machine

    @property
    def value(self) -> float:
        return median(self.rounds)

    @property
    def limit(self) -> float:
        return self.goal.alone if self.load.endswith("-1") else self.goal.limit

    @property
    def reached(self) -> bool:
        return self.value <= self.limit

    @property
    def key(self) -> str:
        return f"{self.goal.title}: {self.goal.stack} / {self.goal.other}: {self.load}"


def ratios(figures: Figures, build: str = "ours") -> list[Ratio]:
    """All that these figures allow to say."""
    found = []
    for goal in goals(build):
        ours, other = figures.get(goal.stack, {}), figures.get(goal.other, {})
        for load in ours:
            kind = "read" if "read" in load else "write"
            if load.startswith("4k-") and kind in goal.kinds and load in other:
                pairs = list(zip(ours[load], other[load]))
                side = SIDES.get(goal.title)
                found.append(Ratio(goal, load, tuple(goal.what(a) / goal.what(b) for a, b in pairs),
                                   tuple(a.sides[side].events[BATCHES] for a, _ in pairs) if side else ()))
    return found


def table(found: list[Ratio]) -> list[str]:
    lines = [f"{'ratio':<16} {'of':<10} {'to':<10} {'load':<16} {'is':>7} {'goal':>7}"]
    for r in found:
        lines.append(f"{r.goal.title:<16} {r.goal.stack:<10} {r.goal.other:<10} {r.load:<16} {r.value:7.3f} "
                     f"{r.limit:7.2f}{'' if r.reached else '  not reached'}")
    return lines
