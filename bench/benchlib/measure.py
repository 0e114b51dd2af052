# SPDX-License-Identifier: GPL-2.0
"""One measurement: what both machines executed for a number of I/Os in the midst of a longer run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from vmlab.channel import CommandFailed
from vmlab.lab import ROLES, Lab

from . import workload
from .counts import KERNEL, PLUGIN, USER, Counts, Delta, Snapshot, Symbols
from .workload import Workload

# Entered once for each I/O of fio (libaio) that is complete.
COMPLETED = "aio_complete_rw"

# What happened, by functions that are entered once each time: soft-RoCE's, the network's, the scheduler's.
EVENTS = {
    "sends posted": ("rdma_rxe:do_complete",),  # each ends there, whether it makes a completion or not
    "doorbells": ("rxe_post_send",),
    "registrations": ("rxe_reg_fast_mr",),
    "invalidations": ("rxe_invalidate_mr",),
    "receives posted": ("rdma_rxe:post_one_recv",),
    "completions": ("rxe_cq_post",),
    "completion calls": ("rxe_send_complete",),
    "polls": ("rxe_poll_cq",),
    "packets sent": ("rxe_xmit_packet",),
    "frames sent": ("start_xmit",),
    "device interrupts": ("common_interrupt",),
    "timer interrupts": ("sysvec_apic_timer_interrupt",),
    "context switches": ("finish_task_switch",),
    "work items": ("process_one_work",),
    "allocations": ("kmem_cache_alloc", "kmem_cache_alloc_node", "__kmalloc", "__kmalloc_node", "kmalloc_trace",
                    "kmem_cache_alloc_trace"),
}

TIMER = "timer interrupts"
# Each is a queue that is told of completions, however many there are then.
BATCHES = "completion calls"


@dataclass
class Side:
    """One machine's part, all by I/O."""

    instructions: float
    timer: float  # of them for the timer's interrupts, whose number depends on time alone
    modules: dict[str, float]
    functions: dict[tuple[str, str], float]
    events: dict[str, float]
    # Executions by (module, function), and by (offset, instructions) of the block, of modules only.
    blocks: dict[tuple[str, str], dict[tuple[int, int], float]] = field(default_factory=dict)

    @property
    def work(self) -> float:
        """Instructions without those of the timer."""
        return self.instructions - self.timer

    def of(self, modules: tuple[str, ...]) -> float:
        return sum(self.modules.get(m, 0.0) for m in modules)


@dataclass
class Measured:
    ios: int
    seconds: float
    sides: dict[str, Side]
    fio: dict[str, object] = field(default_factory=dict)

    @property
    def work(self) -> float:
        return sum(side.work for side in self.sides.values())


def side_of(delta: Delta, symbols: Symbols, ios: float, tick: float) -> Side:
    functions = {key: count / ios for key, count in delta.functions(symbols).items()}
    modules: dict[str, float] = {}
    for (module, _), count in functions.items():
        modules[module] = modules.get(module, 0.0) + count
    events = {event: sum(delta.executions(symbols, name) for name in names) / ios for event, names in EVENTS.items()}
    return Side(delta.instructions / ios, events[TIMER] * tick, modules, functions, events,
                _blocks(delta, symbols, ios))


def _blocks(delta: Delta, symbols: Symbols,
            ios: float) -> dict[tuple[str, str], dict[tuple[int, int], float]]:
    found: dict[tuple[str, str], dict[tuple[int, int], float]] = {}
    for address, length, count in delta.blocks:
        symbol = symbols.at(address)
        if symbol.module not in (KERNEL, USER):
            block = found.setdefault((symbol.module, symbol.name), {})
            key = (address - symbol.address, length)
            block[key] = block.get(key, 0.0) + count / ios
    return found


class Meter:
    """The counters of both machines of a booted lab."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._counts = {role: Counts(lab.machines[role].written_by(PLUGIN)) for role in ROLES}
        self._symbols: dict[str, Symbols] = {}
        self._kernel: dict[str, str] = {}
        self.tick: dict[str, float] = {}  # instructions of a timer interrupt, with what it sets off

    def learn(self) -> None:
        """Modules were loaded: read the symbols anew."""
        machines = self._lab.machines
        for role in ROLES:
            # Two million bytes: once is enough.
            if role not in self._kernel:
                self._kernel[role] = Symbols.kernel_text(machines[role])
        self._symbols = {role: Symbols.of(machines[role], self._kernel[role]) for role in ROLES}
        if not self.tick:
            self._learn_tick()

    def _learn_tick(self) -> None:
        """What the kernel executes while a program keeps the CPU busy is the timer's."""
        jobs = {role: self._lab.machines[role].spawn("timeout 4 sh -c 'while :; do :; done' || true") for role in ROLES}
        time.sleep(1.0)
        before = {role: self._counts[role].snapshot() for role in ROLES}
        time.sleep(2.0)
        for role in ROLES:
            delta = self._counts[role].snapshot().since(before[role])
            ticks = sum(delta.executions(self._symbols[role], name) for name in EVENTS[TIMER])
            kernel = sum(length * count for address, length, count in delta.blocks if address)
            self.tick[role] = kernel / ticks if ticks else 0.0
        for role, job in jobs.items():
            self._lab.machines[role].wait(job)

    def snapshot(self) -> dict[str, Snapshot]:
        return {role: self._counts[role].snapshot() for role in ROLES}

    def since(self, before: dict[str, Snapshot]) -> dict[str, tuple[Delta, Symbols]]:
        """What each machine has executed since, and the names for it."""
        return {role: (now.since(before[role]), self._symbols[role]) for role, now in self.snapshot().items()}

    def without_timer(self, role: str, delta: Delta, symbols: Symbols) -> float:
        """Instructions, less those of the timer's interrupts."""
        ticks = sum(delta.executions(symbols, function) for function in EVENTS[TIMER])
        return delta.instructions - ticks * self.tick[role]

    @property
    def symbols(self) -> dict[str, Symbols]:
        """Of each machine, as they were learned."""
        return self._symbols

    def run(self, load: Workload, devices: list[str], limit: float = 120,
            during: Callable[[], None] | None = None) -> Measured:
        """One load. `during` is called in the midst of what is measured, which lasts until it is back at least."""
        wanted = self._symbols["client"].addresses(COMPLETED)
        if not wanted:
            raise CommandFailed(f"client: the kernel has no {COMPLETED}")
        done = self._counts["client"].watch(wanted)
        base = done.read()
        job = self._lab.client.spawn(f"{load.command(devices)} >/tmp/fio.out 2>&1 || {{ cat /tmp/fio.out; exit 1; }}\n"
                                     "cat /tmp/fio.out", limit)
        snapshots = []
        moments = []
        for target in (load.warm, load.warm + load.count):
            while done.read() - base < target and job.running:
                time.sleep(0.002)
            client = self._counts["client"].snapshot()
            before = done.read()
            server = self._counts["server"].snapshot()
            # The server's moment is in the midst of what the client completed meanwhile.
            moments.append((time.monotonic(), (before + done.read()) / 2))
            snapshots.append({"client": client, "server": server})
            if during and len(snapshots) == 1:
                during()
        running = job.running
        result = self._lab.client.wait(job)
        if not result.ok or not running:
            raise CommandFailed(f"client: fio ended with {result.rc}, too early: {job.summary()}\n{result.out[-800:]}")
        deltas = {role: snapshots[1][role].since(snapshots[0][role]) for role in ROLES}
        ios = {"client": float(deltas["client"].executions(self._symbols["client"], COMPLETED)),
               "server": moments[1][1] - moments[0][1]}
        return Measured(int(ios["client"]), moments[1][0] - moments[0][0],
                        {role: side_of(deltas[role], self._symbols[role], ios[role], self.tick[role])
                         for role in ROLES},
                        workload.parse(result.out))

    def close(self) -> None:
        for counts in self._counts.values():
            counts.close()
