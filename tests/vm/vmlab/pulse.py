# SPDX-License-Identifier: GPL-2.0
"""A small steady load in a machine that tells what its disk's user would notice: errors, wrong data, gaps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .channel import Result
from .machine import UPTIME, Machine

PROGRAM = Path(__file__).resolve().parents[1] / "guest/pulse"
LIFE = 1800.0  # seconds after which one that nobody has stopped ends


@dataclass(frozen=True)
class Beat:
    """What happened since the last begin()."""

    rounds: int
    errors: int
    wrong: int
    gap: float  # the longest one, in seconds; that which still lasts counts
    mean: float  # seconds that a round takes
    since: float  # seconds since the last round that worked
    error: str

    def __str__(self) -> str:
        text = f"{self.rounds} rounds, {self.errors} errors, gap {self.gap:.1f} s, mean {self.mean * 1000:.0f} ms"
        if self.wrong:
            text += f", {self.wrong} blocks with wrong bytes"
        return text + (f", first error: {self.error}" if self.errors else "")


class Pulse:
    """The load on one disk; `flush`: rounds between two flushes, 0 for none."""

    def __init__(self, machine: Machine, name: str, flush: int = 0) -> None:
        self.name = name
        self._machine = machine
        self._state = f"/tmp/pulse.{name}"
        program = machine.put(PROGRAM)
        machine.run(f"rm -f {self._state}")  # of one before; whoever waits below must not take it for this one's
        self._job = machine.spawn(f"python3 {program} /dev/{name} {self._state} {flush} &\n"
                                  f"echo $! >{self._state}.pid\nwait", LIFE)
        machine.run(f"until [ -s {self._state} ]; do sleep 0.1; done")

    def begin(self) -> None:
        """Count anew from here; the last request has to be over."""
        self._machine.run(f"kill -USR1 $(cat {self._state}.pid)")

    def read(self) -> Beat:
        text, _, clock = self._machine.run(f"cat {self._state}\n{UPTIME}").rstrip().rpartition("\n")
        rounds, errors, wrong, gap, mean, last, error = text.split(maxsplit=6)
        since = max(float(clock) - float(last), 0.0)
        return Beat(int(rounds), int(errors), int(wrong), max(float(gap), since), float(mean), since, error.strip())

    def ask_to_stop(self) -> None:
        self._machine.run(f"kill $(cat {self._state}.pid) 2>/dev/null || true")

    def stop(self) -> Result:
        self.ask_to_stop()
        return self._job.wait(60)
