# SPDX-License-Identifier: GPL-2.0
"""How long things take that a user waits for: to map and unmap, to go on after a path died or the server came back."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from vmlab import fio, rnbd
from vmlab.channel import CommandFailed
from vmlab.lab import Lab

from . import session, workload
from .counts import PLUGIN, Counts, Symbols
from .measure import COMPLETED
from .report import spread
from .stacks import SESSION, Rnbd, Stack

QUIET = 20.0  # seconds without a longer gap after which it is over
PATIENCE = 90.0
AFTER_RESTART = 150.0

NAMES = {
    "map first": "Map a disk with a new session",
    "map": "Map a further disk",
    "unmap": "Unmap a disk",
    "unmap last": "Unmap the last disk, which ends the session",
    "gap before": "Longest gap between completions at depth 1, two paths, nothing happens",
    "gap": "Longest gap between completions when a cable is pulled",
    "failed": "I/Os that failed meanwhile",
    "restart": "First I/O after the server is back (power cut, boot, modules loaded)",
}


def _mapping(lab: Lab, disks: list[str]) -> dict[str, float]:
    """Seconds on the client's own clock."""
    found = {}
    for name, disk in (("map first", disks[0]), ("map", disks[1])):
        text = rnbd.map_text(lab, disk, SESSION)
        found[name] = rnbd.timed(lab.client, f"echo '{text}' >{rnbd.CTL}/map_device")
    for name, disk in (("unmap", disks[1]), ("unmap last", disks[0])):
        node = rnbd.mapped_name(lab, disk, SESSION)
        found[name] = rnbd.timed(lab.client, f"echo normal >/sys/block/{node}/rnbd/unmap_device\n"
                                             f"while [ -e /sys/block/{node} ]; do sleep 0.01; done")
    return found


def _longest_gap(counts: Counts, symbols: Symbols, quiet: float, patience: float) -> float:
    """Seconds between two completions; until `quiet` seconds bring no longer one."""
    watch = counts.watch(symbols.addresses(COMPLETED))
    begin = last = found_at = time.monotonic()
    done = watch.read()
    longest = 0.0
    while True:
        time.sleep(0.001)
        now = time.monotonic()
        read = watch.read()
        if read != done or now - last > longest:
            if now - last > longest:
                longest, found_at = now - last, now
            if read != done:
                done, last = read, now
        if now - begin > patience or now - found_at > quiet:
            return longest


def _failover(lab: Lab, node: str) -> dict[str, float]:
    """One I/O at a time, until all is as calm as before; the cable stays out, so that no I/O is saved by its return."""
    counts = Counts(lab.client.written_by(PLUGIN))
    symbols = Symbols.of(lab.client)
    command = fio.command("load", node, rw="randread", bs="4k", iodepth=1, time_based=1, runtime=600,
                          continue_on_error="all", **{"output-format": "json"})
    job = lab.client.spawn(f"{command} >/tmp/load.out 2>&1 || true\ncat /tmp/load.out", 700)
    watch = counts.watch(symbols.addresses(COMPLETED))
    first = watch.read()
    while watch.read() < first + 100 and job.running:
        time.sleep(0.05)
    found = {"gap before": _longest_gap(counts, symbols, 3, 10)}
    lab.client.set_link(0, False)
    found["gap"] = _longest_gap(counts, symbols, QUIET, PATIENCE)
    counts.close()
    lab.client.run("pkill -INT fio")
    report: Any = workload.parse(lab.client.wait(job).out)
    lab.client.set_link(0, True)
    found["failed"] = report["jobs"][0].get("total_err", 0)
    return found


def _restart(lab: Lab, stack: Rnbd, node: str) -> float:
    """Seconds from the end of loading the server's modules to the end of a read that was tried all the time."""
    lab.reboot("server")
    session.disks(lab, 2)
    stack.put(lab.server)
    stack.load_server(lab)
    begin = time.monotonic()
    read = f"dd if={node} of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null"
    result = lab.client.try_run(f"until {read}; do sleep 0.1; done", AFTER_RESTART)
    if not result.ok:
        raise CommandFailed(f"{stack.name}: no I/O within {AFTER_RESTART:.0f} s after the server was back")
    return time.monotonic() - begin


def _one(lab: Lab, stack: Rnbd) -> dict[str, float]:
    lab.boot()
    disks = session.disks(lab, 2)
    stack.prepare(lab)
    stack.load(lab)
    found = _mapping(lab, disks)
    node = stack.attach(lab, disks[:1], (0, 1))[0]
    found |= _failover(lab, node)
    # The rest begins anew: a path may be on its way back for long.
    lab.shutdown()
    lab.boot()
    disks = session.disks(lab, 2)
    stack.prepare(lab)
    stack.load(lab)
    node = stack.attach(lab, disks[:1])[0]
    found["restart"] = _restart(lab, stack, node)
    return found


def run(lab: Lab, chosen: list[Stack], rounds: int, add: Callable[[dict[str, Any]], None]) -> list[str]:
    """The section of the report; machines that were just switched on for each stack."""
    mine = [s for s in chosen if isinstance(s, Rnbd) and s.invalidate]
    figures: dict[str, list[dict[str, float]]] = {stack.name: [] for stack in mine}
    for n in range(rounds):
        for stack in mine:
            got = _one(lab, stack)
            lab.shutdown()
            figures[stack.name].append(got)
            add({"round": n + 1, "stack": stack.name, "recovery": got})
            print(f"# recovery: round {n + 1} of {rounds}: {stack.name}", file=sys.stderr, flush=True)
    lines = ["", "## Failover and recovery", "", "Seconds; with default options of each side.", "",
             "| | " + " | ".join(s.name for s in mine) + " |", "|---|" + "---|" * len(mine)]
    for name, title in NAMES.items():
        cells = [spread([got[name] for got in figures[s.name]], 0 if name == "failed" else 2) for s in mine]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines
