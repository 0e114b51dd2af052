# SPDX-License-Identifier: GPL-2.0
"""For an hour, random failures in part under verified I/O of two disks over three paths: no error, no wrong byte.

`make soak`; SOAK_SECONDS for how long, SEED= repeats a run, FAULTS="name name" chooses among those of the matrix.
"""

from vmlab import soak
from vmlab.lab import Lab

NICS = 3
SLOW = True
BY_HAND = True  # an hour
OURS = ("client", "server")


def run(lab: Lab) -> int:
    return soak.run(lab)
