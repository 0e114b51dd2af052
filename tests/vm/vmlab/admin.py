# SPDX-License-Identifier: GPL-2.0
"""The administration tool inside a machine."""

from __future__ import annotations

import json
import shlex

from .lab import ROOT
from .machine import Machine
from .rnbd import check, equal

PROGRAM = ROOT / "build/rnbdadm/rnbdadm"


class Admin:
    """rnbdadm of one machine; `words` are those of the command line, as one string."""

    def __init__(self, machine: Machine, installed: str = "") -> None:
        """The program of this tree, or the one that is installed there."""
        check(PROGRAM.is_file(), f"{PROGRAM} is missing: run make rnbdadm")
        self.machine = machine
        self.program = installed or machine.put(PROGRAM)

    def run(self, words: str, code: int = 0, limit: float = 60) -> str:
        """Output of a command that must end with this exit code."""
        result = self.machine.try_run(f"{self.program} {words}", limit)
        equal(result.rc, code, f"exit code of rnbdadm {words} (output: {result.out.strip()!r})")
        return result.out

    def json(self, words: str, key: str, code: int = 0) -> list[dict]:
        document = json.loads(self.run(f"{words} -o json", code))
        equal((document["schema"], document["version"]), ("rnbdadm", 1), "schema")
        return document[key]

    def configure(self, text: str) -> None:
        self.machine.run(f"mkdir -p /etc/rnbd\nprintf %s {shlex.quote(text)} >/etc/rnbd/rnbd.conf")
