# SPDX-License-Identifier: GPL-2.0
"""Few runs at a time on a host: more would slow each other down until their deadlines pass."""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO

PATIENCE = 2400.0  # seconds
_lock: TextIO | None = None  # held until this process ends


def take() -> None:
    """Wait until this run has its turn; not for ever, as the others may be stuck.

    One run goes on at a time, or as many as RNBD_VM_AT_ONCE says.
    """
    if os.environ.get("RNBD_VM_TURN") == "taken":
        return  # by the process that started this one
    places = max(1, int(os.environ.get("RNBD_VM_AT_ONCE", "1")))
    if _try(places):
        return
    print("other runs of virtual machines are going on here; waiting for the end of one", file=sys.stderr, flush=True)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        time.sleep(1)
        if _try(places):
            return
    print("going on beside them", file=sys.stderr, flush=True)


def _try(places: int) -> bool:
    global _lock
    for place in range(places):
        suffix = f"-{place}" if place else ""
        path = Path(tempfile.gettempdir()) / f"rnbd-vm-{os.getuid()}{suffix}.lock"
        lock = path.open("w", encoding="ascii")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        _lock = lock
        return True
    return False
