# SPDX-License-Identifier: GPL-2.0
"""What fio does on the client: a pattern of I/O, and so many of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from vmlab import fio


@dataclass(frozen=True)
class Workload:
    name: str
    rw: str
    bs: str = "4k"
    depth: int = 1
    jobs: int = 1
    devices: int = 1  # each job uses all of them in turn
    count: int = 3000  # I/Os that are measured, of all jobs together
    warm: int = 600  # before them
    more: dict[str, object] = field(default_factory=dict, compare=False)

    @property
    def kind(self) -> str:
        return "read" if "read" in self.rw else "write"

    def command(self, devices: list[str]) -> str:
        """Ends by itself: what comes after the measured part keeps the queue full until it is over, and until this
        program, on a host that may be busy, has looked."""
        total = self.warm + self.count + self.depth * self.jobs + self.count // 2
        options: dict[str, object] = {"rw": self.rw, "iodepth": self.depth, "numjobs": self.jobs,
                                      "number_ios": -(-total // self.jobs),
                                      "norandommap": 1, "output-format": "json", "percentile_list": "50:99:99.9"}
        if "bs" not in self.more and "bssplit" not in self.more and "bsrange" not in self.more:
            options["bs"] = self.bs
        return fio.command(self.name, ":".join(devices[:self.devices]), **options, **self.more)


def parse(text: str) -> dict[str, object]:
    """The report of fio, which may follow warnings."""
    found = json.loads(text[text.index("{"):])
    assert isinstance(found, dict)
    return found


def grid(depths: tuple[int, ...]) -> list[Workload]:
    """4 KiB random I/O; one at a time repeats better, and takes longer."""
    return [Workload(f"4k-{rw}-{depth}", rw, depth=depth, count=800 if depth == 1 else 3000,
                     warm=150 if depth == 1 else 600) for depth in depths for rw in ("randread", "randwrite")]
