# SPDX-License-Identifier: GPL-2.0
"""A failure in part - of a disk, a path, a server, of memory - costs its victim alone: no neighbour has an error or a
gap, maps, unmaps and connects are quick, and the victim goes on when its trouble ends. Each cell counts as a test."""

from vmlab import matrix
from vmlab.lab import Lab

NICS = 3
SLOW = True
VARIANTS = {name: {"fault": name} for name in matrix.FAULTS}
# `make matrix` runs all rows; the plans have time for those that met what was wrong.
BY_HAND = ("disk-slow", "disk-fails", "flush-fails", "path-mute", "path-deaf")


def run(lab: Lab, fault: str) -> int:
    return matrix.run(lab, fault)
