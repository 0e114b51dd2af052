# SPDX-License-Identifier: GPL-2.0
"""One run at a time on a host: two would slow each other down until their deadlines pass."""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO

PATIENCE = 1200.0  # seconds
_lock: TextIO | None = None  # held until this process ends


def take() -> None:
    """Wait until no other run is going on; not for ever, as that one may be stuck."""
    global _lock
    path = Path(tempfile.gettempdir()) / f"rnbd-vm-{os.getuid()}.lock"
    _lock = path.open("w", encoding="ascii")
    try:
        fcntl.flock(_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("another run of virtual machines is going on here; waiting for its end", file=sys.stderr, flush=True)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            time.sleep(1)
            try:
                fcntl.flock(_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                pass
        print("going on beside it", file=sys.stderr, flush=True)
