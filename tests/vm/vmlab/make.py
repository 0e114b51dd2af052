# SPDX-License-Identifier: GPL-2.0
"""make, as if nobody else had called make: a harness that a make runs hands nothing of it down."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .arch import AMD64, Arch

# Flags and jobs of an outer make, and the variables that this project's and the kernel's Makefiles take.
OUTER = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "MAKEFILES", "GNUMAKEFLAGS",
         "KDIR", "BUILD", "ARCH", "SUBARCH", "M", "O", "KBUILD_OUTPUT", "KBUILD_EXTMOD")
TOP = Path(__file__).resolve().parents[3]


def environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in OUTER}


def run(*args: str, log: Path | None = None, within: Sequence[str] = (), **variables: str) -> bool:
    """Whether `make args` succeeded; `variables` go into its environment. What it says is added to `log`. `within`: the
    command that runs it, elsewhere (debian_root.py)."""
    with (log or Path(os.devnull)).open("ab") as out:
        where = {"stdout": out, "stderr": subprocess.STDOUT} if log else {}
        return subprocess.run([*within, "make", *args], env={**environment(), **variables}, check=False,
                              **where).returncode == 0


def programs(folder: str = "peer", arch: Arch = AMD64) -> Path:
    """Where the programs for machines are that tests/<folder> builds; peer: those that speak the protocol.
    Laboratories beside each other ask at the same moment: one of them builds, the others wait for it."""
    built = TOP / "build" / (folder if arch is AMD64 else f"{folder}-{arch.name}")
    cross = (f"OUT={built}", f"CXX={arch.cross}g++") if arch.cross else ()
    built.mkdir(parents=True, exist_ok=True)
    log = built / "make.log"
    with (built / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        log.unlink(missing_ok=True)
        if not run("-s", "-C", str(TOP / "tests" / folder), *cross, log=log):
            raise AssertionError(f"tests/{folder} does not build:\n{log.read_text(errors='replace')[-2000:]}")
    return built


def counts(out: str) -> dict[str, int]:
    """What a program of tests/peer has counted: its last line, which may follow warnings, has names and numbers in
    turn."""
    words = out.splitlines()[-1].split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))
