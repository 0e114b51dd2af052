# SPDX-License-Identifier: GPL-2.0
"""For an hour, random failures in part under verified I/O of two disks over three paths: no error, no wrong byte.

`make soak`; SOAK_SECONDS for how long, SEED= repeats a run, FAULTS="name name" chooses among those of the matrix.
`soak[lvm]`, `make soak SOAK_DISK=lvm`: the server is set up as the guide says, with LVM on a mirror of two SCSI disks,
which hang and return at random beside that.
"""

from vmlab import soak
from vmlab.lab import Lab

NICS = 3
SLOW = True
BY_HAND = True  # an hour
OURS = ("client", "server")
VARIANTS = {"null": {"disk": "null"}, "lvm": {"disk": "lvm"}}


def run(lab: Lab, disk: str) -> int:
    return soak.run(lab, disk)
