# SPDX-License-Identifier: GPL-2.0
"""Clients that reserve a shared disk, by the key that each of them has."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import make, rnbd
from .lab import Lab
from .shared import Client

LIST = "/sys/class/rnbd-server/ctl/reservations"
CONFLICT = "Invalid exchange"  # EBADE


@dataclass
class Member(Client):
    """A client of the cluster, which has a key."""

    key: int = 0
    tool: dict[str, str] = field(default_factory=dict)  # of each machine

    def text_of(self, *words: object) -> str:
        name = self.machine.name
        if name not in self.tool:
            self.tool[name] = self.machine.put(make.programs("storage") / "reserve")
        return f"{self.tool[name]} /dev/{self.disk} {' '.join(map(str, words))}"

    def ask(self, *words: object) -> str:
        return self.machine.run(self.text_of(*words)).strip()

    def must(self, want: str, *words: object) -> None:
        rnbd.equal(self.ask(*words), want, f"{self.session}: {' '.join(map(str, words))}")

    def enrol(self) -> None:
        self.must("ok", "register", 0, self.key)

    def may(self, reads: bool, writes: bool) -> None:
        """Both are tried; who may not, is told why."""
        for command, allowed in ((f"dd if=/dev/{self.disk} of=/dev/null bs=4k count=1 iflag=direct", reads),
                                 (f"dd if=/dev/zero of=/dev/{self.disk} bs=4k count=1 seek=9000 oflag=direct", writes)):
            result = self.machine.try_run(f"LC_ALL=C {command} 2>&1")
            rnbd.check(result.ok == allowed and (allowed or CONFLICT in result.out),
                       f"{self.session}: {command}: {result.out[-300:]}")


def registered(lab: Lab) -> list[str]:
    """What the server tells, without the name of the disk."""
    return [line.partition(" ")[2] for line in rnbd.read(lab.server, LIST).splitlines()]
