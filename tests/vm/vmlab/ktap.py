# SPDX-License-Identifier: GPL-2.0
"""Reads what KUnit writes to the kernel log: KTAP, with lines of others between."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_STAMP = re.compile(r"^(<\d+>)?\[ *\d+\.\d+\](\[[^]]*\])? ")
_SUBTEST = re.compile(r"^    # Subtest: (\S+)$")
_PLAN = re.compile(r"^    1\.\.(\d+)$")
_CASE = re.compile(r"^    (ok|not ok) (\d+) (?:- )?(\S+)(?: # SKIP ?(.*))?$")
_SUITE = re.compile(r"^(ok|not ok) \d+ (?:- )?(\S+)")


@dataclass
class Case:
    name: str
    passed: bool
    skipped: str | None = None  # why
    said: list[str] = field(default_factory=list)  # lines before its verdict


@dataclass
class Suite:
    name: str
    planned: int = -1  # no plan was seen
    cases: list[Case] = field(default_factory=list)
    ended: bool = False

    def problems(self) -> list[str]:
        """Failed cases with what they said, and whatever did not run as planned."""
        found = ["\n".join([f"not ok: {self.name}: {c.name}", *c.said[-8:]]) for c in self.cases if not c.passed]
        if not self.ended:
            found.append(f"{self.name} did not come to its end; last: {self.cases[-1].name if self.cases else '-'}")
        if self.planned < 1 or self.planned != len(self.cases):
            found.append(f"{self.name}: {len(self.cases)} cases ran of {self.planned} planned")
        return found


def parse(log: str) -> list[Suite]:
    """The suites in a piece of a kernel log, in their order. What is no KTAP is taken for what a case said."""
    suites: list[Suite] = []
    said: list[str] = []
    for raw in log.splitlines():
        line = _STAMP.sub("", raw).rstrip()
        begun = suites[-1] if suites and not suites[-1].ended else None
        if found := _SUBTEST.match(line):
            suites.append(Suite(found[1]))
            said = []
        elif begun and (found := _PLAN.match(line)):
            begun.planned = int(found[1])
        elif begun and (found := _CASE.match(line)):
            skipped = None if found[4] is None else found[4] or "no reason given"
            # A number out of order is a case whose verdict is missing.
            while len(begun.cases) + 1 < int(found[2]):
                begun.cases.append(Case(f"number {len(begun.cases) + 1}", False, said=["its verdict is missing"]))
            begun.cases.append(Case(found[3], found[1] == "ok", skipped, said))
            said = []
        elif begun and (found := _SUITE.match(line)) and found[2] == begun.name:
            begun.ended = True
            if found[1] != "ok" and all(c.passed for c in begun.cases):
                begun.cases.append(Case("the suite itself", False, said=said))
        elif begun and line.strip():
            said.append(line.strip())
    return suites


def summary(suites: list[Suite]) -> str:
    """One line: how many cases ran."""
    cases = [c for s in suites for c in s.cases]
    skipped = sum(c.skipped is not None for c in cases)
    passed = sum(c.passed for c in cases) - skipped
    return (f"{len(suites)} suites, {len(cases)} cases: {passed} passed, "
            f"{sum(not c.passed for c in cases)} failed, {skipped} skipped")
