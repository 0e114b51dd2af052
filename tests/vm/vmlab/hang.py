# SPDX-License-Identifier: GPL-2.0
"""A disk of the server that hangs while it is opened, for as long as a scenario likes."""

from __future__ import annotations

import contextlib
from typing import Iterator

from . import rnbd
from .machine import Machine

LOOP = "/dev/loop5"


@contextlib.contextmanager
def opening_hangs(machine: Machine, below: str, again: bool = False) -> Iterator[str]:
    """Who reads the partitions of a loop device over a suspended disk holds up all who open it. Gives its node."""
    if not again:
        lower = rnbd.named_disk(machine, below, "hang", "TEST-HANG")
        machine.run(f"modprobe loop\nlosetup -P --direct-io=on {LOOP} {lower}")
    machine.run("dmsetup suspend --nolockfs --noflush --noudevsync hang")
    reader = machine.spawn(f"blockdev --rereadpt {LOOP}", 600)
    try:
        machine.run("sleep 0.5")
        rnbd.check(reader.running, "nobody holds the disk up")
        yield LOOP
    finally:
        go_on(machine)
        machine.wait(reader)


def go_on(machine: Machine) -> None:
    machine.run("dmsetup resume --noudevsync hang")


def remove(machine: Machine) -> None:
    """Once nobody has it open."""
    machine.run(f"losetup -d {LOOP}\nwhile losetup {LOOP} 2>/dev/null; do sleep 0.1; done\n"
                "dmsetup remove --noudevsync --retry hang", 60)
