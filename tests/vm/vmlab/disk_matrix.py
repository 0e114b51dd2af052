# SPDX-License-Identifier: GPL-2.0
"""Every kind of disk with every trouble, against all that has no part in it: the rule of matrix.py."""

from __future__ import annotations

import time

from . import matrix, rnbd
from .channel import MachineError, scale
from .disk_kinds import KINDS
from .faults import Fault
from .lab import Lab
from .matrix import DONE, GAP, Matrix
from .multipath import connects, folder, wait_back

# What a trouble is to the disk's user: nothing but time, errors, or errors of flushes.
PATIENCE, ERRORS, FLUSHES = range(3)
TROUBLES = {"hangs": PATIENCE, "medium-error": ERRORS, "full": ERRORS, "gone": ERRORS, "resized": PATIENCE,
            "read-only": ERRORS, "flush-fails": FLUSHES}
NO_ROOM_OF_ITS_OWN = "it has all of its room from the beginning; a thin volume below it is the row thin-full"
LEFT_OUT = {
    **{(kind, "full"): NO_ROOM_OF_ITS_OWN
       for kind in ("partition", "linear", "crypt", "multipath", "raid1", "raid5", "scsi")},
    ("loop", "gone"): "it stays until its last user has closed it",
    ("raid1", "flush-fails"): "md does not look at how a leg's flush ended",
    ("raid5", "flush-fails"): "md does not look at how a leg's flush ended",
}
ROWS = {f"{kind}-{trouble}": (kind, trouble)
        for kind in KINDS for trouble in TROUBLES if (kind, trouble) not in LEFT_OUT}


class DiskTrouble(Fault):
    """One trouble of one kind of disk."""

    in_turn = False

    def __init__(self, lab: Lab, kind: str, trouble: str, number: int = 0) -> None:
        super().__init__(lab)
        self.kind = KINDS[kind](lab, trouble, number)
        self.trouble = trouble
        noticed = PATIENCE if trouble in self.kind.survives else TROUBLES[trouble]
        self.victim_fails, self.fsync_fails = noticed == ERRORS, noticed == FLUSHES
        self.busy = noticed == PATIENCE
        self.returns = self.kind.returns or trouble != "gone" or trouble in self.kind.survives
        # Longer than what a neighbour may notice of it.
        self.seconds = GAP * scale() + 3

    def make_disk(self) -> str:
        return self.kind.make()

    def remove_disk(self) -> None:
        self.kind.remove()

    def begin(self, name: str) -> None:
        self.kind.user = name
        self.begun = True
        getattr(self.kind, self.trouble.replace("-", "_"))()

    def end(self) -> None:
        if self.begun:
            self.begun = False
            self.kind.mended()

    begun = False


class DiskMatrix(Matrix):
    """One row, or several at once. A path ends, too, with what is under way on it."""

    ENDS = 2  # the cable of that path

    def __init__(self, lab: Lab, names: tuple[str, ...]) -> None:
        troubles = {name: DiskTrouble(lab, *ROWS[name], number) for number, name in enumerate(names)}
        super().__init__(lab, "+".join(names), {**troubles} if len(names) > 1 else {"victim": troubles[names[0]]})

    def operations(self) -> None:
        before = connects(self.lab, self.ENDS)
        super().operations()
        began = time.monotonic()
        limit = DONE * scale()
        try:
            at_server = folder(self.lab, self.ENDS).replace("rtrs-client", "rtrs-server")
            rnbd.write(self.lab.server, f"{at_server}/disconnect", "1", limit)
            wait_back(self.lab, self.ENDS, before, limit)
        except (AssertionError, MachineError) as e:
            self.cells.put("end of a path", False, str(e))
            return
        self.cells.put("end of a path", True, f"{time.monotonic() - began:.1f} s until it is back")

    def afterwards(self, column: str, fault: Fault, trouble: float) -> None:
        assert isinstance(fault, DiskTrouble)
        if fault.returns:
            super().afterwards(column, fault, trouble)
            return
        beat = self.pulses[column].read()
        self.end_load()
        self.pulses[column].stop()
        took = rnbd.timed(self.lab.client, f"echo normal >/sys/block/{self.names[column]}/rnbd/unmap_device", 120)
        self.cells.put(column, beat.errors > 0 and not beat.wrong and took < DONE * scale(),
                       f"{beat}, and is unmapped within {took:.1f} s")


def run(lab: Lab, *names: str) -> int:
    return matrix.judge(DiskMatrix(lab, names))
