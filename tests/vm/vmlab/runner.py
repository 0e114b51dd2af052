# SPDX-License-Identifier: GPL-2.0
"""Runs scenarios one after another in one laboratory, and judges each by its result and the kernel logs."""

from __future__ import annotations

import os
import shutil
import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import klog
from .channel import MachineError
from .lab import NICS, ROLES, Lab, Options
from .scenario import Scenario, Skip


@dataclass
class Outcome:
    name: str
    verdict: str  # passed, failed, skipped
    seconds: float
    reasons: list[str]
    count: int = 1  # tests that this stands for, if passed
    report: list[str] = field(default_factory=list)  # what a kernel said of it


def in_order(scenarios: list[Scenario], options: Options) -> list[Scenario]:
    """The longest first, so that several laboratories end together; those that need the same machines, which they
    share, side by side; last what leaves no machine behind."""
    return sorted(scenarios, key=lambda s: (s.spoils, not s.installed, s.cpus or options.cpus, s.possible, s.nics,
                                            s.more, not s.slow))


def run_all(lab: Lab, scenarios: Iterable[Scenario]) -> list[Outcome]:
    """Each as it comes, in a laboratory that has booted nothing yet."""
    outcomes: list[Outcome] = []
    leaks: list[str] | None = None
    for scenario in scenarios:
        wanted = (scenario.cpus or lab.options.cpus, scenario.possible, scenario.nics or NICS, scenario.more)
        if lab.machines and (scenario.spoils or scenario.installed or lab.installed or lab.shape != wanted):
            leaks = _more(leaks, lab.leaks())  # what these machines leaked ends with them
            lab.shutdown()
        outcome = run_one(lab, scenario)
        if outcome.verdict == "failed" and executed_twice(theirs(lab, scenario)):
            print(f"# {scenario.name} once more: soft-RoCE has executed a registration of the in-tree module twice",
                  flush=True)
            outcome = run_one(lab, scenario)
        if scenario.spoils:
            lab.shutdown()
        outcomes.append(outcome)
        word = {"passed": "ok  ", "failed": "FAIL", "skipped": "skip"}[outcome.verdict]
        note = f"  ({outcome.reasons[0]})" if outcome.verdict == "skipped" else ""
        note = f"  ({outcome.count} tests)" if outcome.count != 1 else note
        lines = [f"{word} {outcome.name:<36} {outcome.seconds:6.1f} s{note}"]
        if outcome.verdict == "failed":
            reasons = [reason.strip().replace("\n", "\n     ") for reason in outcome.reasons[:12]]
            lines += [f"     {line}" for line in (*reasons, *outcome.report, f"logs: {folder(lab, scenario)}")]
        # At once: other laboratories write to the same place.
        print("\n".join(lines), flush=True)
    leaks = _more(leaks, lab.leaks())
    if leaks is not None:
        outcomes.append(Outcome("kmemleak", "failed" if leaks else "passed", 0, leaks))
        print(f"{'FAIL' if leaks else 'ok  '} kmemleak")
        for leak in leaks:
            print("     " + leak.replace("\n", "\n     "), flush=True)
    return outcomes


def _more(first: list[str] | None, second: list[str] | None) -> list[str] | None:
    return second if first is None else first + (second or [])


def folder(lab: Lab, scenario: Scenario) -> Path:
    return lab.options.logs / scenario.name.replace("[", "-").replace("]", "")


def theirs(lab: Lab, scenario: Scenario) -> list[str]:
    """Logs of machines with in-tree modules."""
    files = [folder(lab, scenario) / f"{role}.log" for role in ROLES if not lab.ours(role)]
    return [file.read_text(encoding="utf-8") for file in files if file.exists()]


def executed_twice(logs: list[str]) -> bool:
    """Soft-RoCE of 6.1 executes local work requests again when it retransmits, which it does on a busy host. This
    project guards its own (design.md, "Registrations that are executed twice"); in-tree modules lose the request."""
    return any("rxe_reg_fast_mr: " in log for log in logs)


def run_one(lab: Lab, scenario: Scenario) -> Outcome:
    begin = time.monotonic()
    reason = _not_for(lab, scenario) or no_time_left(os.environ, time.time())
    if reason:
        return Outcome(scenario.name, "skipped", 0, [reason])
    reasons: list[str] = []
    report: list[str] = []
    out = folder(lab, scenario)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    verdict = "passed"
    count = 1
    try:
        lab.boot(scenario.cpus, scenario.installed, scenario.nics, scenario.possible, scenario.more)
        lab.mark(scenario.name)
        try:
            count = scenario.module.run(lab, **scenario.variant) or 1
        except Skip as e:
            verdict = "skipped"
            reasons.append(str(e))
        except (MachineError, AssertionError) as e:
            verdict = "failed"
            reasons.append(f"{_where(e)}{e}")
            for role, machine in lab.machines.items():
                (out / f"{role}.state").write_text(machine.state(), encoding="utf-8")
        problems = lab.cleanup()
        for role, machine in lab.machines.items():
            if not scenario.spoils:
                problems += [f"{role}: {line}" for line in [*klog.findings(lab.past[role]), *machine.judge()]]
                report = report or klog.first_report(lab.past[role] + machine.log(sync=False))
            if verdict == "failed" or problems:
                machine.dump_blocked()
            (out / f"{role}.log").write_text(lab.past[role] + machine.log(sync=False), encoding="utf-8")
            (out / f"{role}.commands").write_text(machine.transcript(), encoding="utf-8")
        if problems:
            verdict = "failed"
            reasons += problems
    except MachineError as e:
        verdict = "failed"
        reasons.append(str(e))
    except Exception:  # a mistake in a scenario fails that one, not the run
        verdict = "failed"
        reasons.append(traceback.format_exc())
    if verdict == "failed":
        (out / "reasons").write_text("\n".join(reasons) + "\n", encoding="utf-8")
        lab.shutdown()
    if verdict != "passed":
        count = 1
    return Outcome(scenario.name, verdict, time.monotonic() - begin, reasons, count, report)


def _not_for(lab: Lab, scenario: Scenario) -> str:
    if lab.kernel.kind not in scenario.kinds:
        return f"not on a {lab.kernel.kind} kernel"
    theirs = [role for role in scenario.ours if not lab.ours(role)]
    return f"{' and '.join(theirs)} is the in-tree module" if theirs else ""


def no_time_left(environment: Mapping[str, str], now: float) -> str:
    """Nothing begins after RNBD_VM_UNTIL, seconds since the epoch: who waits for so long has all verdicts by then, and
    the names of those that are missing."""
    until = environment.get("RNBD_VM_UNTIL")
    return "no time left" if until and now > int(until) else ""


def _where(error: BaseException) -> str:
    """The line of the scenario file that failed."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/scenarios/" in f.filename]
    frame = frames[-1] if frames else None
    return f"{Path(frame.filename).name}:{frame.lineno}: " if frame else ""


def summary(outcomes: list[Outcome]) -> tuple[str, bool]:
    counts = {v: sum(o.count for o in outcomes if o.verdict == v) for v in ("passed", "failed", "skipped")}
    text = f"{counts['passed']} passed, {counts['failed']} failed"
    if counts["skipped"]:
        text += f", {counts['skipped']} skipped"
    return text, counts["failed"] == 0 and counts["passed"] > 0
