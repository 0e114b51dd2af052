# SPDX-License-Identifier: GPL-2.0
"""Machines with the plugin, and stacks one after the other in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vmlab import machine, make, rnbd, turn
from vmlab.keys import add_key, fresh_secret
from vmlab.lab import Lab, Options
from vmlab.channel import MachineError

from . import TOP, counts, selftest, trace
from .measure import Meter
from .stacks import Rnbd, Stack

OUT = TOP / "build/bench"


class BenchError(Exception):
    pass


def begin() -> None:
    """Before anything else: the harness is sound, and it is this run's turn."""
    complaints = selftest.run()
    if complaints:
        raise BenchError("the harness itself is broken:\n" + "\n".join(complaints))
    machine.guard()
    turn.take()


def plugin(name: str) -> Path:
    """Where a plugin is; all are built if need be."""
    log = OUT / "plugin.log"
    OUT.mkdir(parents=True, exist_ok=True)
    if not make.run("-s", "-C", str(TOP / "bench/plugin"), f"OUT={OUT}", log=log):
        raise BenchError(f"the plugins do not build:\n{log.read_text(encoding='utf-8')}")
    return OUT / f"{name}.so"


@contextmanager
def traced(lab: Lab) -> Iterator[None]:
    """Machines that are switched on meanwhile also trace; none may be on before."""
    assert not lab.machines
    before = lab.options.plugins
    lab.options.plugins = (*before, plugin(trace.PLUGIN))
    try:
        yield
    finally:
        lab.options.plugins = before


def options(modules: Path | None = None, cpus: int = 1) -> Options:
    return Options(modules=modules, logs=OUT / "lab", cpus=cpus, plugins=(plugin(counts.PLUGIN),))


def disks(lab: Lab, count: int = 1, megabytes: int = 16384, linear: bool = False, later: bool = False) -> list[str]:
    """Disks of the server that complete each request at once and keep no data: what is measured is the way there.
    `later`: by an interrupt after 20 us, as adapters do; `linear`: with a map of the device mapper over each."""
    answers = {"irqmode": 2, "completion_nsec": 20000} if later else {"irqmode": 0}
    nodes = [rnbd.null_disk(lab.server, f"nullb{n}", megabytes, memory_backed=0, cache_size=0, discard=0,
                            queue_mode=2, submit_queues=1, hw_queue_depth=256, blocksize=512, **answers)
             for n in range(1, count + 1)]
    if not linear:
        return nodes
    return [rnbd.named_disk(lab.server, node, f"linear{n}", f"BENCH-{n}") for n, node in enumerate(nodes)]


def with_key(lab: Lab, chosen: list[Stack], key: str) -> Stack | None:
    """This project's stack with always_invalidate, loaded in machines that were just switched on and have a key of that
    name; null if it is not chosen. Nobody else proves anything."""
    stack = next((s for s in chosen if isinstance(s, Rnbd) and s.build == "ours" and s.invalidate), None)
    if not stack:
        return None
    lab.boot()
    stack.prepare(lab)
    stack.load(lab)
    secret = fresh_secret()
    for one in (lab.client, lab.server):
        add_key(one, key, 1, secret)
    return stack


@contextmanager
def attached(lab: Lab, meter: Meter, stack: Stack, backing: list[str],
             nics: tuple[int, ...] = (0,)) -> Iterator[list[str]]:
    """The nodes of the disks on the client, through this stack."""
    stack.load(lab)
    nodes = stack.attach(lab, backing, nics)
    for node in nodes:
        # Some would get a scheduler where it is a module that can be loaded, others never do.
        lab.client.run(f"echo none >/sys/block/{node.removeprefix('/dev/')}/queue/scheduler")
    meter.learn()
    yield nodes
    stack.detach(lab)
    stack.unload(lab)


def judge(lab: Lab) -> list[str]:
    """What the kernel logs complain of."""
    problems = []
    for role, vm in lab.machines.items():
        try:
            problems += [f"{role}: {line}" for line in vm.judge()]
        except MachineError as e:
            problems.append(str(e))
    return problems
