# SPDX-License-Identifier: GPL-2.0
"""A cache of built things outside the tree.

An entry is a folder named by what it is and by a digest of everything that determines its content, so
that an entry is never stale: when an input changes, another name is looked up. A half-built entry never
shows, since it is built beside its place and renamed when complete.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

KEEP = 5  # entries of one name that survive, the most recently used first


def default_root() -> Path:
    base = os.environ.get("RNBD_CACHE")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rnbd"


def digest(parts: Iterable[str]) -> str:
    h = hashlib.sha256()
    for part in parts:
        h.update(part.encode())
        h.update(b"\0")
    return h.hexdigest()[:16]


def file_digest(path: Path) -> str:
    h = hashlib.sha256()
    with path.open("rb") as f:
        while block := f.read(1 << 20):
            h.update(block)
    return h.hexdigest()[:16]


class Cache:
    """The folder of all entries; safe for several harnesses at once."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or default_root()
        self.root.mkdir(parents=True, exist_ok=True)

    def entry(self, name: str, key: Iterable[str], build: Callable[[Path], None]) -> Path:
        """The folder `name` with this key; `build(folder)` fills it when it is not there yet."""
        path = self.root / f"{name}-{digest(key)}"
        if path.is_dir():  # complete, as it has its name: no need to wait for another that is being built
            os.utime(path)
            return path
        with open(self.root / f".{name}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.is_dir():
                new = Path(tempfile.mkdtemp(prefix=f".{name}-new-", dir=self.root))
                new.chmod(0o755)
                try:
                    build(new)
                    new.rename(path)
                finally:
                    shutil.rmtree(new, ignore_errors=True)
            os.utime(path)
            self._prune(name)
        return path

    def _prune(self, name: str) -> None:
        width = len(name) + 1 + 16
        old = [p for p in self.root.glob(f"{name}-*") if p.is_dir() and len(p.name) == width]
        old.sort(key=lambda p: p.stat().st_mtime, reverse=True)
        for path in old[KEEP:]:
            shutil.rmtree(path, ignore_errors=True)
