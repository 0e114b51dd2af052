# SPDX-License-Identifier: GPL-2.0
"""Stains the free memory of a machine, so that what leaks out of it is recognized at its peer."""

from __future__ import annotations

from . import make
from .machine import Machine


def fill(machine: Machine) -> int:
    """MiB that were filled; the kernel must not clear memory by itself (machine.CHECKS)."""
    program = machine.put(make.programs() / "rtrs-stain")
    filled = int(machine.run(program, 120))
    if filled < 200:
        raise AssertionError(f"{machine.name}: only {filled} MiB of its memory could be stained")
    return filled
