# SPDX-License-Identifier: GPL-2.0
"""Whatever kind of disk a server has - partition, linear, thin, crypt, multipath, raid1, raid5, loop, nbd, SCSI - and
whatever befalls it, nobody else has an error or a gap, and paths end. Each cell counts as a test."""

from vmlab import disk_matrix
from vmlab.lab import Lab
from vmlab.scenario import Skip

NICS = 3
SLOW = True
KINDS = ("stock", "uml")  # the others have fewer kinds of disks
OF_UML = ("linear", "crypt", "raid1", "loop", "nbd")
# At once, in one session.
TELLING = ("raid1-hangs", "thin-full", "scsi-medium-error")
VARIANTS = {"telling": {"rows": TELLING}, **{name: {"rows": (name,)} for name in disk_matrix.ROWS}}
BY_HAND = tuple(disk_matrix.ROWS)  # the plan has time for the telling ones: `make matrix`


def run(lab: Lab, rows: tuple[str, ...]) -> int:
    missing = [row for row in rows if lab.kernel.kind == "uml" and disk_matrix.ROWS[row][0] not in OF_UML]
    if missing:
        raise Skip(f"user-mode Linux has no {' '.join(missing)}")
    return disk_matrix.run(lab, *rows)
