# SPDX-License-Identifier: GPL-2.0
"""What a flood of clients without a key costs the server (protocol J.3, rule 5), by its instructions, beyond a flood of
requests to a port where nobody listens, which the kernel refuses by itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from vmlab import make, rnbd
from vmlab.channel import CommandFailed, Job
from vmlab.lab import Lab

from . import session
from .measure import Measured, Meter
from .report import spread
from .stacks import Stack
from .workload import Workload

NIC = 1  # of the flood: the limit is by address, and the honest client has the other one
KEY = "bench"
RATE = 30  # attempts a second, at most
PROOFS = 14  # that an address may do wrong at once, and two more
REFUSED = 60  # attempts in one figure
CLOSED_PORT = 1235
LOAD = Workload("4k-randread-32", "randread", depth=32, count=3000, warm=600)
PROOFS_A_SECOND = 0.5  # of one address, by rule 5
GOAL = 0.1  # of the server's work for an honest client


@dataclass(frozen=True)
class Costs:
    """Instructions of the server for one attempt."""

    proof: float  # that is challenged, and sends a wrong proof
    refused: float  # of an address that has failed too often
    control: float  # to a port where nobody listens

    def beyond(self, proofs: float, refused: float) -> float:
        """What so many cost more than if nobody had listened."""
        return proofs * (self.proof - self.control) + refused * (self.refused - self.control)


def part(costs: Costs, attempts: float, honest: float, ios: float) -> float:
    """What a flood takes of the server's work for an honest client; attempts and I/Os a second, instructions an I/O."""
    proofs = min(attempts, PROOFS_A_SECOND)
    return costs.beyond(proofs, attempts - proofs) / (honest * ios)


class Flood:
    """The program on the client, and what it does to the server."""

    def __init__(self, lab: Lab, meter: Meter) -> None:
        self._lab = lab
        self._meter = meter
        self._program = lab.client.put(make.programs() / "rtrs-flood")
        self._idle = 0.0

    def move(self, host: int) -> None:
        """The flood comes from another address, which has all its failures left."""
        there, device = self._lab.server.address(NIC), self._lab.client.netdev(NIC)
        self._lab.client.run(f"ip addr add 10.10.{NIC}.{host}/32 dev {device}\n"
                             f"ip route replace {there}/32 dev {device} src 10.10.{NIC}.{host}\nsleep 2")

    def _command(self, *options: str) -> str:
        return f"IBV_DRIVERS=rxe {self._program} --server {self._lab.server.address(NIC)} {' '.join(options)}"

    def _worked(self, action: Callable[[], str]) -> tuple[float, float, str]:
        """Instructions of the server without its timer's, seconds, and what the action said."""
        before, begin = self._meter.snapshot(), time.monotonic()
        out = action()
        seconds = time.monotonic() - begin
        return self._meter.without_timer("server", *self._meter.since(before)["server"]), seconds, out

    def _attempts(self, count: int, *options: str) -> tuple[float, dict[str, int]]:
        command = self._command(f"--count {count} --rate {RATE}", *options)
        work, seconds, out = self._worked(lambda: self._lab.client.run(command, 120))
        return work - self._idle * seconds, make.counts(out)

    def costs(self) -> Costs:
        """Of single attempts, while nobody else is there."""
        self._lab.client.run(self._command("--count 2"), 60)  # what is done for the first time costs more
        work, seconds, _ = self._worked(lambda: self._lab.client.run("sleep 3"))
        self._idle = work / seconds
        work, seen = self._attempts(PROOFS)
        if seen["challenged"] != PROOFS:
            raise CommandFailed(f"the server refused somebody too early: {seen}")
        proof = work / PROOFS
        self._lab.client.run(self._command("--count 20 --rate 50"), 60)
        work, seen = self._attempts(REFUSED)
        refused = (work - seen["challenged"] * proof) / seen["refused"]
        work, seen = self._attempts(REFUSED, f"--port {CLOSED_PORT}")
        return Costs(proof, refused, work / seen["refused"])

    def beside(self, nodes: list[str], *options: str) -> tuple[Measured, dict[str, int], float]:
        """An honest load beside a flood; with what the flood says at its end, after so many seconds."""
        begin = time.monotonic()
        command = self._command(f"--rate {RATE}", *options)
        job: Job = self._lab.client.spawn(f"echo $$ >/tmp/flood.pid\nexec env {command}", 300)
        got = self._meter.run(LOAD, nodes, 300)
        self._lab.client.run("kill -TERM $(cat /tmp/flood.pid)")
        result = self._lab.client.wait(job)
        if not result.ok:
            raise CommandFailed(f"the flood ended with {result.rc}: {result.out}")
        return got, make.counts(result.out), time.monotonic() - begin


def _round(flood: Flood, meter: Meter, nodes: list[str], number: int) -> dict[str, float]:
    flood.move(10 + number)
    costs = flood.costs()
    alone = meter.run(LOAD, nodes, 300)
    control, _, _ = flood.beside(nodes, f"--port {CLOSED_PORT}")
    flooded, seen, seconds = flood.beside(nodes)
    ios = alone.ios / alone.seconds
    attempts = seen["attempts"] / seconds
    honest = alone.sides["server"].work
    return {
        "a wrong proof": costs.proof / 1000, "an attempt that is refused": costs.refused / 1000,
        "an attempt where nobody listens": costs.control / 1000,
        "an honest I/O, server": honest / 1000, "an honest I/O, both machines": alone.work / 1000,
        "the server for each honest I/O, beside the other flood": control.sides["server"].work / 1000,
        "the server for each honest I/O, beside the flood": flooded.sides["server"].work / 1000,
        "the flood: attempts a second": attempts, "honest I/Os a second, alone": ios,
        "honest I/Os a second, beside the other flood": control.ios / control.seconds,
        "honest I/Os a second, beside the flood": flooded.ios / flooded.seconds,
        "the flood beyond the other, % of the server's work": 100 * part(costs, attempts, honest, ios),
        "a refused attempt beyond one of the other, % of it":
            100 * (costs.refused - costs.control) / costs.refused,
        "attempts a second that would take a tenth":
            (GOAL * honest * ios - costs.beyond(PROOFS_A_SECOND, -PROOFS_A_SECOND))
            / max(costs.refused - costs.control, 1),
    }


def run(lab: Lab, chosen: list[Stack], rounds: int, add: Callable[[dict[str, Any]], None]) -> list[str]:
    """The section of the report: of this project only, since nobody else proves anything."""
    stack = session.with_key(lab, chosen, KEY)
    if not stack:
        return []
    disk = session.disks(lab)[0]
    lab.client.run("modprobe -a ib_uverbs rdma_ucm")
    node = rnbd.map_device(lab, disk, key=KEY, auth="required")
    lab.client.run(f"echo none >/sys/block/{node}/queue/scheduler")
    meter = Meter(lab)
    meter.learn()
    flood = Flood(lab, meter)
    figures = []
    for n in range(rounds):
        got = _round(flood, meter, [f"/dev/{node}"], n)
        figures.append(got)
        add({"round": n + 1, "flood": got})
        print(f"# flood: round {n + 1} of {rounds}", file=sys.stderr, flush=True)
    meter.close()
    stack.detach(lab)
    stack.unload(lab)
    lines = ["", "## A flood of wrong proofs", "",
             "Thousands of instructions, or what the row says; of the server if nothing else is said, the timer's left "
             "out. The other flood asks a port where nobody listens.", "",
             "| | |", "|---|---|"]
    for name in figures[0]:
        values = [got[name] for got in figures]
        lines.append(f"| {name} | {spread(values, 1 if median(values) < 100 else 0)} |")
    return lines
