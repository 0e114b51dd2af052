# SPDX-License-Identifier: GPL-2.0
"""What a plan's run came to, kept in results/ for the table of kernels in README.

A report is a few lines of `word value`: the plan and the make target that runs it, the kernel's release, the system
whose programs it ran with, the commit, the day, and the closing line. tools/tables reads them.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from . import debian

TOP = Path(__file__).resolve().parents[3]
FOLDER = "tests/vm/results"
# Records themselves are no part of what was tested.
WRITTEN = (FOLDER + "/", "bench/results/", "README.md")


def git(*words: str, top: Path = TOP) -> str:
    return subprocess.run(["git", "-C", str(top), *words], check=True, capture_output=True, text=True).stdout


def commit(top: Path = TOP) -> str:
    """The commit that is tested; ValueError if files differ from it, for nobody could say then what was."""
    changed = [line[3:] for line in git("status", "--porcelain", "--untracked-files=no", top=top).splitlines()]
    other = [path for path in changed if not path.startswith(WRITTEN)]
    if other:
        raise ValueError(f"--record wants the tree as it is committed, these differ: {' '.join(other[:5])}")
    return git("rev-parse", "--short=12", "HEAD", top=top).strip()


def system(release: Path = Path("/etc/os-release")) -> str:
    """"Debian 12"."""
    fields = dict(line.split("=", 1) for line in release.read_text(encoding="utf-8").splitlines() if "=" in line)
    return " ".join(fields.get(key, "").strip('"') for key in ("NAME", "VERSION_ID")).replace(" GNU/Linux", "").strip()


def name(plan: str, release: str) -> str:
    """The file of a report: one for each series of kernels that a plan runs on."""
    series = debian.series(release)
    if plan == "kernels":
        return "kernels.txt"
    return f"{plan}.txt" if plan.endswith(series) else f"{plan}-{series}.txt"


def text(plan: str, release: str, tested: str, closing: str) -> str:
    target = {"stock": "vm", "stock-full": "vm-full", "kernels": "kernels"}.get(plan, f"vm-{plan}")
    day = time.strftime("%Y-%m-%d", time.gmtime())
    return (f"plan {plan}\ntarget {target}\nrelease {release}\nsystem {system()}\ncommit {tested}\nday {day}\n"
            f"result {closing}\n")


def write(plan: str, release: str, tested: str, closing: str) -> None:
    """Keeps the report and brings README's table up to date."""
    path = TOP / FOLDER / name(plan, release)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text(plan, release, tested, closing), encoding="utf-8")
    subprocess.run([str(TOP / "tools/tables")], check=True)
