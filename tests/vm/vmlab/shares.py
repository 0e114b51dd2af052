# SPDX-License-Identifier: GPL-2.0
"""Several laboratories at once: the same command, each time with a share of the scenarios, and their sum."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

COUNT = re.compile(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?")


def parse(text: str) -> tuple[int, int]:
    """"2/3", the second of three shares, as (1, 3)."""
    number, _, of = text.partition("/")
    if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
        raise ValueError(f"--share {text}: want NUMBER/OF")
    return int(number) - 1, int(of)


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
        running = [subprocess.Popen([sys.executable, *sys.argv, "--share", f"{n + 1}/{count}",
                                     "--result", str(result), "--logs", str(logs / f"share-{n + 1}")], env=environment)
                   for n, result in enumerate(results)]
        try:
            for process in running:
                process.wait()
        finally:
            for process in running:
                process.terminate()
        return add([r.read_text(encoding="utf-8") if r.exists() else "" for r in results])
