# SPDX-License-Identifier: GPL-2.0
"""What grows with the CPUs that a machine has or could have, and with paths: instructions of RNBD's modules for an I/O,
one at a time, so that nothing depends on what comes together; and what it takes to connect."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from vmlab import rnbd
from vmlab.lab import ROLES, Lab

from . import session
from .measure import Measured, Meter
from .report import spread
from .stacks import SESSION, Rnbd, Stack
from .workload import grid

PATHS = ((0,), (0, 1, 2, 3))
FLAT = 0.03  # what may be between the least and the most


@dataclass(frozen=True)
class Size:
    """CPUs of both machines, and how many their kernels are ready for."""

    cpus: int
    possible: int = 0

    def __str__(self) -> str:
        return f"{self.cpus} of {self.possible}" if self.possible else str(self.cpus)


SIZES = (Size(1), Size(2), Size(4), Size(8), Size(2, 240))


def own(stack: Stack, m: Measured) -> dict[str, float]:
    return {"client": m.sides["client"].of(stack.client), "server": m.sides["server"].of(stack.server)}


def _connect(lab: Lab, disk: str) -> dict[str, float]:
    """A first map: milliseconds on the client's clock, and queue pairs that it leaves there."""
    seconds = rnbd.timed(lab.client, f"echo '{rnbd.map_text(lab, disk, SESSION)}' >{rnbd.CTL}/map_device")
    pairs = int(lab.client.run("rdma resource show qp | grep -c 'type RC' || true"))
    return {"map, ms": seconds * 1000, "queue pairs": pairs}


def run(lab: Lab, chosen: list[Stack], rounds: int, add: Callable[[dict[str, Any]], None]) -> list[str]:
    """The section of the report."""
    stacks = [stack for stack in chosen if isinstance(stack, Rnbd)]
    figures: dict[tuple[str, str, Size], list[float]] = {}
    for n in range(rounds):
        for size in SIZES:
            lab.boot(cpus=size.cpus, possible=size.possible, nics=max(map(len, PATHS)))
            meter = Meter(lab)
            disks = session.disks(lab)
            for stack in stacks:
                stack.prepare(lab)
                for what, value in _one(lab, meter, stack, disks).items():
                    figures.setdefault((stack.name, what, size), []).append(value)
                    add({"round": n + 1, "stack": stack.name, "cpus": str(size), "what": what, "value": value})
            meter.close()
            complaints = session.judge(lab)
            if complaints:
                raise session.BenchError("\n".join(complaints))
            lab.shutdown()
            print(f"# cpus: round {n + 1} of {rounds}, {size}", file=sys.stderr, flush=True)
    return _table(stacks, figures)


def _one(lab: Lab, meter: Meter, stack: Stack, disks: list[str]) -> dict[str, float]:
    found = {}
    stack.load(lab)
    found.update(_connect(lab, disks[0]))
    stack.detach(lab)
    stack.unload(lab)
    for nics in PATHS:
        with session.attached(lab, meter, stack, disks, nics) as nodes:
            for load in grid((1,)):
                for role, value in own(stack, meter.run(load, nodes)).items():
                    found[f"{role}, {load.kind}, {len(nics)} path{'s'[:len(nics) - 1]}"] = value
    return found


def _table(stacks: list[Rnbd], figures: dict[tuple[str, str, Size], list[float]]) -> list[str]:
    lines = ["", "## CPUs and paths", "",
             "Instructions of the stack's modules for an I/O of 4 KiB, one at a time, on machines of so many CPUs, and "
             "on two CPUs with a kernel that is ready for 240; and a first map.", "",
             "| stack | | " + " | ".join(map(str, SIZES)) + " | most / least |",
             "|---|---|" + "---|" * (len(SIZES) + 1)]
    for stack in stacks:
        for what in dict.fromkeys(what for name, what, _ in figures if name == stack.name):
            values = [figures[(stack.name, what, size)] for size in SIZES]
            middles = [median(v) for v in values]
            ratio = ""
            if what.startswith(ROLES):
                most = max(middles) / min(middles)
                ratio = f"{most:.3f}" + (" not flat" if most > 1 + FLAT else "")
            lines.append(f"| {stack.name} | {what} | " + " | ".join(spread(v) for v in values) + f" | {ratio} |")
    return lines
