# SPDX-License-Identifier: GPL-2.0
"""Scenarios: small python files with a docstring, found in a folder, expanded to their variants.

A scenario file has
    run(lab, **variant)   raises to fail; everything it mapped or loaded is undone by the laboratory;
                          it may return how many tests it was, which count one by one
and may have
    VARIANTS              {"name": {keyword: value}}: run once for each
    OURS                  roles ("server", "client") that must be this project's modules, else it is skipped
    CPUS                  CPUs of each machine
    POSSIBLE              CPUs that their kernels are ready for, if not these
    NICS                  cables between the machines
    MORE                  "client2", "server2": machines besides the two, lab.client2 and lab.server2
    KINDS                 kernels that it makes sense on; stock: all of Debian's
    INTEROP               True: also run against the in-tree modules, in both directions
    SLOW                  takes a minute or more
    INSTALLED             True: its machines are installed systems, with systemd and a disk of their own (system.py)
    BY_HAND               True, or names of variants: in no plan, with the reason beside it
    SPOILS                True: it makes the kernel complain, and judges the logs itself; its machines are its own

A plan names the scenarios that a kernel runs with every change: a file in plans/, named like the kernel, `series` for
every other series of Debian's kernels than the host's, or `pairs` (pairs.py). One that has too many for that has those
in a file `KERNEL-rest`, by hand: the whole plan is both.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parent.parent / "scenarios"
PLANS = FOLDER.parent / "plans"
REST = "-rest"


class Skip(Exception):
    """Raised by a scenario that does not apply to these machines; the text says why."""


@dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    module: ModuleType
    variant: dict[str, object] = field(default_factory=dict)
    ours: tuple[str, ...] = ()
    cpus: int = 0
    possible: int = 0
    nics: int = 0
    kinds: tuple[str, ...] = ("stock", "debug", "uml", "kcsan")
    slow: bool = False
    interop: bool = False
    spoils: bool = False
    installed: bool = False
    by_hand: bool = False
    more: tuple[str, ...] = ()


def load(path: Path) -> list[Scenario]:
    """The variants of one file."""
    spec = importlib.util.spec_from_file_location(f"scenario_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lines = (module.__doc__ or "").strip().splitlines()
    if not lines:
        raise ValueError(f"{path} has no docstring: say what it proves")
    name = path.stem.replace("_", "-")
    variants: dict[str, dict[str, object]] = getattr(module, "VARIANTS", {"": {}})
    by_hand: bool | tuple[str, ...] = getattr(module, "BY_HAND", False)
    return [Scenario(f"{name}[{key}]" if key else name, lines[0], module, variant,
                     tuple(getattr(module, "OURS", ())), getattr(module, "CPUS", 0),
                     getattr(module, "POSSIBLE", 0), getattr(module, "NICS", 0),
                     tuple(getattr(module, "KINDS", Scenario.kinds)), getattr(module, "SLOW", False),
                     getattr(module, "INTEROP", False), getattr(module, "SPOILS", False),
                     getattr(module, "INSTALLED", False),
                     by_hand if isinstance(by_hand, bool) else key in by_hand, tuple(getattr(module, "MORE", ())))
            for key, variant in variants.items()]


def find(words: list[str], with_slow: bool = True) -> list[Scenario]:
    """Scenarios by name, name with variant, or path of a file; all when no word is given."""
    every = [s for path in sorted(FOLDER.glob("*.py")) for s in load(path)]
    if not words:
        return [s for s in every if with_slow or not s.slow]
    chosen: list[Scenario] = []
    for word in words:
        found = [s for s in every if word in (s.name, s.name.partition("[")[0])]
        if not found and Path(word).is_file():
            found = load(Path(word))
        if not found:
            raise ValueError(f"no scenario {word}: see --list")
        chosen += [s for s in found if s not in chosen]
    return chosen


def planned(kind: str, with_peers: bool = False, whole: bool = False) -> list[Scenario]:
    """What the plan of a kernel names, in its order; the whole has its rest, too. `name*`: with in-tree peers only."""
    files = [PLANS / kind, PLANS / (kind + REST)] if whole else [PLANS / kind]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    words = [word for line in lines for word in line.partition("#")[0].split()]
    return find([word.rstrip("*") for word in words if with_peers or not word.endswith("*")])
