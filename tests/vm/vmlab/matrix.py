# SPDX-License-Identifier: GPL-2.0
"""One failure in part against everything that has no part in it: the rule, and how each cell is measured.

The rule: a neighbour has no error and no gap over 5 s; a map, an unmap, a connect takes less than 10 s; the victim
goes on without an error when its trouble ends. A cell that can't be says why.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from . import faults, faults_path, rnbd
from .channel import Job, MachineError, scale
from .faults import Fault
from .lab import Lab
from .machine import UPTIME
from .multipath import SESSION, folder, verified_load
from .pulse import Beat, Pulse

FAULTS: dict[str, type[Fault]] = {**faults.DISK, **faults_path.REST}
COLUMNS = ("disk", "session", "map", "unmap", "connect", "reconnect", "victim")
GAP = 5.0  # seconds, as all limits those of an idle host
DONE = 10.0
GOES_ON = 15.0  # until the victim's I/O is answered when its trouble is over
WAIT = 120  # no_path_timeout of every disk: what waits for a path may meet no error
CTL = rnbd.CTL


@dataclass
class Cells:
    """What came out, and why it is wrong."""

    fault: str
    lines: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def put(self, column: str, good: bool, text: str) -> None:
        line = f"{self.fault} x {column}: {text}"
        self.lines.append(f"{'ok  ' if good else 'FAIL'} {line}")
        if not good:
            self.wrong.append(line)


class Matrix:
    """One row: everything is mapped, then trouble begins, lasts, and ends. Of troubles of several victims the first
    one says what neighbours may notice."""

    def __init__(self, lab: Lab, name: str, victims: dict[str, Fault]) -> None:
        self.lab = lab
        self.victims = victims
        self.fault = next(iter(victims.values()))
        self.cells = Cells(name)
        self.options: dict[str, object] = {"no_path_timeout": WAIT} if lab.ours("client") else {}
        self.pulses: dict[str, Pulse] = {}
        self.load: Job | None = None
        self.load_errors = ""

    # --- what is there before

    def set_up(self) -> None:
        lab = self.lab
        rnbd.load_server(lab, **faults_path.PARAMETERS)
        rnbd.load_client(lab)
        disks = {column: fault.make_disk() for column, fault in self.victims.items()}
        self.healthy = {what: rnbd.null_disk(lab.server, f"nullb{n}", 16)
                        for n, what in enumerate(("disk", "session", "map", "unmap", "connect"), 2)}
        self.names = {column: self.map(disk) for column, disk in disks.items()}
        names = {**self.names, "disk": self.map(self.healthy["disk"]),
                 "session": self.map(self.healthy["session"], "other", self.fault.others)}
        self.idle = self.map(self.healthy["unmap"])
        for session in ("vm", "other"):
            rnbd.write(lab.client, f"/sys/class/rtrs-client/{session}/mpath_policy", "round-robin")
        if lab.ours("client"):
            # Six seconds are soon over: a disk may take longer than a request's age.
            rnbd.write(lab.client, f"{SESSION}/request_timeout", "6")
        self.pulses = {what: Pulse(lab.client, name, 10 if what in self.victims else 0) for what, name in names.items()}
        if self.fault.busy and not self.fault.victim_fails:
            self.load = self.user()

    def map(self, disk: str, session: str = "vm", nics: tuple[int, ...] = (0, 1, 2)) -> str:
        return rnbd.map_device(self.lab, disk, session, nics, **self.options)

    def user(self) -> Job:
        """The first victim's own, beside its pulse: blocks that it verifies, many at a time."""
        first = next(iter(self.names.values()))
        return verified_load(self.lab, first, 900, self.fault.depth, "1m", offset="4m", rate_iops=150)

    # --- while it lasts

    def run(self) -> None:
        self.set_up()
        time.sleep(2)
        alone = self.pulses["disk"].read()
        for pulse in self.pulses.values():
            pulse.begin()
        began = time.monotonic()
        for column, fault in self.victims.items():
            fault.begin(self.names[column])
        self.operations()
        time.sleep(max(0.0, began + self.fault.seconds - time.monotonic()))
        self.neighbours(alone)
        for fault in self.victims.values():
            fault.end()
        if self.fault.is_load:
            self.end_load()
        for column, fault in self.victims.items():
            self.afterwards(column, fault, time.monotonic() - began)
        self.tear_down()

    def operations(self) -> None:
        new, other = self.healthy["map"], self.healthy["connect"]
        path = rnbd.map_text(self.lab, new, nics=(0, 1, 2), **self.options)
        self.operation("map", f"echo '{path}' >{CTL}/map_device")
        self.operation("unmap", f"echo normal >/sys/block/{self.idle}/rnbd/unmap_device")
        text = rnbd.map_text(self.lab, other, "new", (2,), **self.options)
        self.operation("connect", f"echo '{text}' >{CTL}/map_device")
        self.operation("reconnect", f"echo 1 >'{folder(self.lab, 1)}/reconnect'")

    def operation(self, column: str, script: str) -> None:
        """One that must be over in time, whether or not it is: the next one does not wait for it for ever."""
        if self.cannot(column):
            return
        limit = DONE * scale()
        # It tells its own time: the way into the machine does not count.
        job = self.lab.client.spawn(f"{UPTIME}; {script}; {UPTIME}", 300)
        began = time.monotonic()
        while job.running and time.monotonic() < began + limit + 5:
            time.sleep(0.1)
        if job.running:
            self.cells.put(column, False, f"not done within {limit:.0f} s")
            return
        result = job.wait()
        words = result.out.split()
        if not result.ok:
            self.cells.put(column, False, f"failed after {result.seconds:.1f} s: {result.out.strip()[-200:]}")
            return
        took = float(words[-1]) - float(words[0])
        self.cells.put(column, took < limit, f"{took:.1f} s")

    def cannot(self, column: str) -> bool:
        reason = self.fault.impossible.get(column)
        if reason:
            self.cells.lines.append(f"--   {self.cells.fault} x {column}: cannot be: {reason}")
        return bool(reason)

    def neighbours(self, alone: Beat) -> None:
        for column in ("disk", "session"):
            if self.cannot(column):
                continue
            beat = self.pulses[column].read()
            limit, reason = self.fault.allowance.get(column, (GAP, ""))
            limit = limit * scale() + self.fault.outage
            good = not beat.errors and not beat.wrong and beat.gap <= limit
            text = f"{beat} (limit {limit:.0f} s{': ' + reason if reason else ''})"
            if self.fault.mean_matters:
                # Twice its own, and what two machines on few CPUs take besides.
                most = 2 * alone.mean + 0.05 * scale()
                good = good and beat.mean <= most
                text += f", mean at most {most * 1000:.0f} ms"
            self.cells.put(column, good, text)

    # --- and then

    def afterwards(self, column: str, fault: Fault, trouble: float) -> None:
        """The victim goes on; what it met while the trouble lasted is as it should be."""
        pulse = self.pulses[column]
        before = pulse.read()
        rounds, limit = before.rounds, time.monotonic() + GOES_ON * scale()
        beat = before
        while beat.rounds < rounds + 10 and time.monotonic() < limit:
            time.sleep(0.3)
            beat = pulse.read()
        goes_on = beat.rounds >= rounds + 10
        errors = beat.errors - before.errors if fault.victim_fails or fault.fsync_fails else beat.errors
        # What was under way when the trouble ended may still have met it.
        met = errors <= (1 if fault.victim_fails or fault.fsync_fails else 0)
        text = f"{beat}, after {trouble:.0f} s of trouble"
        good = goes_on and met and not beat.wrong
        if (fault.victim_fails or fault.fsync_fails) and not before.errors:
            good, text = False, text + ", and met no error meanwhile"
        if not goes_on:
            text += ", and does not go on"
        self.end_load()
        if self.load_errors:
            good, text = False, f"{text}; its I/O met errors: {self.load_errors}"
        self.cells.put(column, good, text)

    def end_load(self) -> None:
        """The victim's user stops when the round of now is over. Once is enough."""
        if not self.load:
            return
        self.lab.client.run("touch /tmp/stop")
        result, self.load = self.lab.client.wait(self.load), None
        if not result.ok:
            self.load_errors = result.out.strip()[-300:] or "of which it says nothing"

    def tear_down(self) -> None:
        for what, pulse in self.pulses.items():
            pulse.ask_to_stop()
        for pulse in self.pulses.values():
            pulse.stop()

    def undo(self) -> None:
        """Whatever happened: no trouble is left for those who clean up."""
        for fault in self.victims.values():
            fault.end()
        self.lab.client.try_run("touch /tmp/stop; pkill -KILL -f /share/pulse; pkill -KILL fio; sleep 0.5; "
                                "rm -f /tmp/stop\n"
                                "for d in /sys/block/rnbd*/rnbd/unmap_device; do echo force >$d || :; done", 90)
        self.lab.server.try_run("rmmod rnbd_server", 60)
        for fault in self.victims.values():
            fault.remove_disk()


def judge(row: Matrix) -> int:
    """How many cells were good; raises if one was not."""
    name, logs = row.cells.fault, row.lab.options.logs
    try:
        row.run()
    finally:
        try:
            row.undo()
        except MachineError as e:
            row.cells.wrong.append(f"{name}: can't undo it: {e}")
        text = "\n".join(row.cells.lines)
        logs.mkdir(parents=True, exist_ok=True)
        (logs / f"matrix-{name}.cells").write_text(text + "\n", encoding="utf-8")
    rnbd.check(not row.cells.wrong, "\n".join(row.cells.wrong))
    return sum(line.startswith("ok") for line in row.cells.lines)


def run(lab: Lab, name: str) -> int:
    return judge(Matrix(lab, name, {"victim": FAULTS[name](lab)}))
