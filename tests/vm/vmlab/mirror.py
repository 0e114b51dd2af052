# SPDX-License-Identifier: GPL-2.0
"""/dev/md0 of a machine: a mirror over disks of two servers."""

from __future__ import annotations

from . import rnbd
from .machine import Machine

SYNC = "/sys/block/md0/md"


def degraded(machine: Machine, number: int, limit: float) -> None:
    rnbd.wait_until(machine, f"[ $(cat {SYNC}/degraded) = {number} ]", limit,
                    f"{number} halves of the mirror are missing")


def hurry(machine: Machine) -> None:
    """Else a copy waits for the I/O beside it."""
    rnbd.write(machine, f"{SYNC}/sync_speed_min", "200000")


def synced(machine: Machine) -> None:
    degraded(machine, 0, 180)
    rnbd.wait_until(machine, f"[ $(cat {SYNC}/sync_action) = idle ]", 180, "the mirror is idle")


def equal_halves(machine: Machine) -> None:
    """md compares them, which it may begin only a while after it is told to."""
    synced(machine)
    rnbd.write(machine, f"{SYNC}/sync_action", "check")
    rnbd.wait_until(machine, f"[ $(cat {SYNC}/last_sync_action) = check ]", 60, "md compares the halves")
    synced(machine)
    rnbd.equal(rnbd.read(machine, f"{SYNC}/mismatch_cnt"), "0", "sectors in which the halves differ")
