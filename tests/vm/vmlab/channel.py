# SPDX-License-Identifier: GPL-2.0
"""The control channel: shell scripts run inside a machine, each with a deadline.

A request and its answer are single lines over one byte stream; script and output are files in a folder
that host and machine share. Several scripts may run at the same time.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path

GRACE = 25.0  # seconds that a script may be late beyond its own deadline before the machine counts as hung


# A debug kernel whose every instruction is emulated, and every memory access checked besides.
SLOW_KERNELS = {"debug": 4.0, "kcsan": 4.0}
_slowness = 1.0


def set_kernel(kind: str) -> None:
    """All machines of this process run this kind of kernel."""
    global _slowness
    _slowness = SLOW_KERNELS.get(kind, 1.0)


def scale() -> float:
    """How much longer than on an idle host with the stock kernel things may take now: others may be busy on
    the same CPUs. Limits are multiplied by this, and delays that outlast other things; nothing else by anything."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(max(busy / 1.5, 1.0), 6.0) * _slowness


class MachineError(Exception):
    """Something that a scenario can't go on after: a failed command, a hang, a dead machine."""


class CommandFailed(MachineError):
    pass


class Hang(MachineError):
    pass


class Dead(MachineError):
    pass


@dataclass(frozen=True)
class Result:
    rc: int
    out: str
    seconds: float

    @property
    def ok(self) -> bool:
        return self.rc == 0

    @property
    def timed_out(self) -> bool:
        return self.rc in (124, 137)


class Job:
    """A script that was started in a machine."""

    def __init__(self, channel: Channel, ident: str, script: str, limit: float) -> None:
        self.script = script
        self.limit = limit
        self._channel = channel
        self._ident = ident
        self._done = threading.Event()
        self._started = time.monotonic()
        self._result: Result | None = None
        self._error: MachineError | None = None

    def finish(self, rc: int) -> None:
        try:
            out = (self._channel.share / f"{self._ident}.out").read_text(encoding="utf-8", errors="replace")
        except OSError:
            out = ""
        self._result = Result(rc, out, time.monotonic() - self._started)
        self._done.set()

    def fail(self, error: MachineError) -> None:
        self._error = error
        self._done.set()

    @property
    def running(self) -> bool:
        return not self._done.is_set()

    def wait(self, seconds: float | None = None) -> Result:
        """The result; raises Hang when it is late, Dead when the machine has gone."""
        if seconds is None:
            seconds = self._started + self.limit + GRACE - time.monotonic()
        if not self._done.wait(max(seconds, 0.1)):
            raise Hang(f"{self._channel.name}: no answer after {time.monotonic() - self._started:.0f} s: "
                       f"{self.summary()}")
        if self._error:
            raise self._error
        assert self._result
        return self._result

    def summary(self) -> str:
        text = " ".join(self.script.split())
        return text if len(text) < 160 else text[:157] + "..."


class Channel:
    """One end of the stream; the socket is owned by the channel from now on."""

    def __init__(self, name: str, sock: socket.socket, share: Path, transcript: Path) -> None:
        self.name = name
        self.share = share
        self.ready = threading.Event()
        self._sock = sock
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._next = 0
        self._dead = False
        self._transcript = transcript.open("a", encoding="utf-8")
        self._reader = threading.Thread(target=self._read, name=f"channel {name}", daemon=True)
        self._reader.start()

    def submit(self, script: str, limit: float) -> Job:
        with self._lock:
            self._next += 1
            ident = f"{self._next:05}"
            job = Job(self, ident, script, limit)
            if self._dead:
                raise Dead(f"{self.name}: the machine is gone")
            self._jobs[ident] = job
        (self.share / f"{ident}.sh").write_text(f"set -e\n{script}\n", encoding="utf-8")
        self._note(f"--- {ident} ({limit:.0f} s)\n{script}\n")
        try:
            self._sock.sendall(f"RUN {ident} {limit:.0f}\n".encode())
        except OSError as e:
            raise Dead(f"{self.name}: control channel: {e}") from e
        return job

    def _note(self, text: str) -> None:
        with self._lock:
            if not self._transcript.closed:
                self._transcript.write(text)
                self._transcript.flush()

    def _read(self) -> None:
        buffer = b""
        while True:
            try:
                data = self._sock.recv(4096)
            except OSError:
                data = b""
            if not data:
                break
            buffer += data
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                self._line(line.decode(errors="replace").strip())
        with self._lock:
            self._dead = True
            jobs = list(self._jobs.values())
            self._jobs.clear()
        for job in jobs:
            job.fail(Dead(f"{self.name}: the machine went away during: {job.summary()}"))

    def _line(self, line: str) -> None:
        words = line.split()
        if words[:1] == ["READY"]:
            self.ready.set()
        elif len(words) == 3 and words[0] == "DONE" and words[2].isdigit():
            with self._lock:
                job = self._jobs.pop(words[1], None)
            if job:
                job.finish(int(words[2]))
                result = job.wait()
                self._note(f"--- {words[1]} ended with {result.rc} after {result.seconds:.1f} s\n{result.out}\n")

    def close(self) -> None:
        with self._lock:
            self._dead = True
            self._transcript.close()
        # The reader ends before its descriptor's number can be given to another file.
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._reader.join()
        self._sock.close()
