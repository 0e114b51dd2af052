# SPDX-License-Identifier: GPL-2.0
"""What the full run measures: sections of loads that share the way in which the disks are attached."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .workload import Workload, grid

# Published for these modules: small and large blocks together, some parts of the disk used far more than others.
MIX = {"bssplit": "512/20:1k/16:2k/9:4k/12:8k/19:16k/12:32k/8:64k/4", "random_distribution": "zipf:1.2"}


@dataclass(frozen=True)
class Section:
    name: str
    title: str
    loads: tuple[Workload, ...]
    disks: int = 1
    nics: tuple[int, ...] = (0,)


def sections() -> list[Section]:
    mixed = tuple(Workload(f"mix-{rw}-129", rw, depth=129, count=3000, more=MIX) for rw in ("randread", "randwrite"))
    sequential = tuple(Workload(f"{bs}-{rw}-8", rw, bs=bs, depth=8, count=count, warm=count // 5)
                       for bs, count in (("128k", 600), ("1m", 150)) for rw in ("read", "write"))
    # Warm is what has all queues full.
    jobs = tuple(Workload(f"{n}-jobs-{rw}", rw, depth=16, jobs=n, count=3000, warm=max(800, 32 * n))
                 for rw in ("randread", "randwrite") for n in (1, 2, 4, 8, 16, 32, 64))
    devices = tuple(Workload(f"{n}-devices-{rw}", rw, depth=8, jobs=n, devices=n, count=3000, warm=800)
                    for rw in ("randread", "randwrite") for n in (1, 2, 4, 8, 16))
    paths = tuple(Workload(f"{load.name}-2-paths", load.rw, bs=load.bs, depth=load.depth, count=load.count,
                           warm=load.warm)
                  for load in (*grid((32,)), *sequential[:2]))
    return [
        Section("random", "4 KiB at random", tuple(grid((1, 32, 128)))),
        Section("sequential", "Large blocks one after the other", sequential),
        Section("mixed", "Blocks of 512 bytes to 64 KiB, zipf", mixed),
        Section("jobs", "Jobs on one device, 4 KiB at random, depth 16 each", jobs),
        Section("devices", "Devices of one session, 4 KiB at random, a job of depth 8 for each", devices, disks=16),
        Section("paths", "Two paths", paths, nics=(0, 1)),
    ]


def shorter(load: Workload, part: float) -> Workload:
    return replace(load, count=max(10, int(load.count * part)), warm=max(10, int(load.warm * part)))


def pick(wanted: list[str], part: float = 1) -> list[Section]:
    """The sections of these names, or all, with so much of their I/Os."""
    known = {s.name: s for s in sections()}
    for name in wanted:
        if name not in known:
            raise ValueError(f"no section {name}: {', '.join(known)}")
    return [replace(s, loads=tuple(shorter(load, part) for load in s.loads)) for s in known.values()
            if not wanted or s.name in wanted]
