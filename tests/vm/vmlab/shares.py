# SPDX-License-Identifier: GPL-2.0
"""Several laboratories at once: the same command, each time with the scenarios that it claims first, and their sum."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

COUNT = re.compile(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?")


class Claims:
    """What one of several runs takes for itself: nobody else has it then. Without a folder it has all."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def take(self, name: str) -> bool:
        if not self._folder:
            return True
        try:
            (self._folder / name).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def add(lines: list[str]) -> tuple[str, bool]:
    """The sum of closing lines; a share without one has failed."""
    total = [0, 0, 0]
    for line in lines:
        match = COUNT.fullmatch(line.strip())
        for n, value in enumerate(match.groups(default="0") if match else ("0", "1", "0")):
            total[n] += int(value)
    text = f"{total[0]} passed, {total[1]} failed"
    if total[2]:
        text += f", {total[2]} skipped"
    return text, total[1] == 0 and total[0] > 0


def run(count: int, logs: Path) -> tuple[str, bool]:
    """This very command line as `count` processes, which have our turn; the closing line and the verdict."""
    environment = {**os.environ, "RNBD_VM_TURN": "taken"}
    with tempfile.TemporaryDirectory() as folder:
        results = [Path(folder) / str(n) for n in range(count)]
        claims = Path(folder) / "claims"
        claims.mkdir()
        running = [subprocess.Popen([sys.executable, *sys.argv, "--claims", str(claims), "--share", str(n),
                                     "--result", str(result), "--logs", str(logs / f"share-{n + 1}")],
                                    env=environment)
                   for n, result in enumerate(results)]
        try:
            for process in running:
                process.wait()
        finally:
            for process in running:
                process.terminate()
        return add([r.read_text(encoding="utf-8") if r.exists() else "" for r in results])
