# SPDX-License-Identifier: GPL-2.0
"""Failures in part of the network and of whole machines: see faults.py."""

from __future__ import annotations

import threading
import time

from . import make, rnbd
from .channel import Job
from .faults import VICTIM, Fault
from .lab import Lab
from .machine import Machine
from .multipath import connects, wait_lost

BAD = 0  # the cable that has trouble
SILENT = (9.0, "who falls silent without a port's event is missed after 6 s (protocol B.3)")
HEARD = (17.0, "a connection that is heard is asked for life after 5 s, and has 10 s for it (pure/liveness_probe.hh)")


class OfPath(Fault):
    """Trouble of one cable of three; other sessions do not use it."""

    others = (1, 2)
    busy = True

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        if lab.kernel.kind == "uml":
            self.allowance = {"disk": SILENT}  # its ports never know of their cable

    def pull(self, up: bool) -> None:
        """Both ports, where the machine can see its port; frames are lost in both directions anyhow."""
        for machine in (self.lab.client, self.lab.server):
            machine.set_link(BAD, up)


class Cut(OfPath):
    title = "one of three cables is pulled at the client"

    def begin(self, name: str) -> None:
        self.pull(False)

    def end(self) -> None:
        self.pull(True)


class Flaps(OfPath):
    """Down for as long as it is up: too short to be quiet about, too long to be overlooked."""

    title = "one of three cables flaps every few seconds"
    PHASE = 3.0

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        if lab.kernel.kind == "uml":
            self.allowance = {"disk": HEARD}  # nor is the peer ever silent for long
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, name: str) -> None:
        self._stop.clear()
        self._thread = threading.Thread(target=self._flap, daemon=True)
        self._thread.start()

    def _flap(self) -> None:
        up = True
        while not self._stop.is_set():
            up = not up
            self.pull(up)
            self._stop.wait(self.PHASE)

    def end(self) -> None:
        self._stop.set()
        if self._thread:
            self._thread.join()
            self._thread = None
        self.pull(True)


class BlackHole(OfPath):
    """Frames of one machine are lost, its peer's arrive."""

    seconds = 30.0
    allowance = {"disk": SILENT}

    def machine(self) -> Machine:
        raise NotImplementedError

    def begin(self, name: str) -> None:
        self.machine().run(f"tc qdisc replace dev {self.machine().netdev(BAD)} root netem loss 100%")

    def end(self) -> None:
        self.machine().try_run(f"tc qdisc del dev {self.machine().netdev(BAD)} root")


class Mute(BlackHole):
    title = "what the client sends over one of three cables is lost"

    def machine(self) -> Machine:
        return self.lab.client


class Deaf(BlackHole):
    title = "what the server sends over one of three cables is lost"

    def machine(self) -> Machine:
        return self.lab.server


class Reloaded(OfPath):
    """The path that stays cut knows the server's instance of before; nothing of what it knows holds any more."""

    title = "the server is loaded anew while one of three cables is out"
    busy = False

    def begin(self, name: str) -> None:
        lost = connects(self.lab, BAD)
        self.pull(False)
        wait_lost(self.lab, BAD, lost, 60)
        began = time.monotonic()
        rnbd.unload_server(self.lab)
        self.load()
        self.outage = time.monotonic() - began

    def load(self) -> None:
        rnbd.load_server(self.lab, **PARAMETERS)

    def end(self) -> None:
        self.pull(True)


class MemoryShort(Fault):
    """Both machines live on what they reclaim; the client's dirty pages are the victim's."""

    title = "both machines are short of memory, and the victim's pages are dirty"
    LEFT = {"client": 64, "server": 96}  # MiB
    HOG = "/run/hog"

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self._jobs: list[tuple[Machine, Job]] = []

    def begin(self, name: str) -> None:
        # What is left fills with the pages of programs, which are dropped again, and with the victim's.
        work = {"server": ["cat /usr/lib/x86_64-linux-gnu/*.so* >/dev/null 2>&1"]}
        work["client"] = [*work["server"], f"dd if=/dev/zero of=/dev/{name} bs=64k seek=128 count=320 conv=notrunc "
                                           "2>/dev/null"]
        for role, left in self.LEFT.items():
            machine = self.lab.machines[role]
            machine.run(f"mkdir -p {self.HOG}\nmount -t tmpfs -o size=100% hog {self.HOG}\nrm -f /tmp/relief\n"
                        "set -- $(grep MemAvailable /proc/meminfo)\n"
                        f"head -c $((($2 >> 10) - {left}))M /dev/zero >{self.HOG}/all", 90)
            self._jobs += [(machine, machine.spawn(f"while [ ! -e /tmp/relief ]; do {once} || :; done", 900))
                           for once in work[role]]

    def end(self) -> None:
        for machine in (self.lab.client, self.lab.server):
            machine.run(f"touch /tmp/relief\nif mountpoint -q {self.HOG}; then umount {self.HOG}; fi")
        for machine, job in self._jobs:
            machine.wait(job)
        self._jobs.clear()


class QueueFull(Fault):
    """The server's work has one place, which clients that nobody asked for keep busy: sessions that vanish, floods of
    fences."""

    title = "the server's queue of work is full"
    ATTACKS = "fence-flood vanish-after-info-req vanish-with-requests epoch-goes-on"

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self._job: Job | None = None

    def begin(self, name: str) -> None:
        self.lab.client.run("modprobe -a ib_uverbs rdma_ucm\nrm -f /tmp/peace /tmp/attacks", 30)
        attack = self.lab.client.put(make.programs() / "rtrs-attack")
        if self.lab.ours("server"):
            rnbd.limit_work(self.lab.server, rnbd.SERVER_WORK)
        self._job = self.lab.client.spawn(
            f"while [ ! -e /tmp/peace ]; do\nIBV_DRIVERS=rxe {attack} --server {self.lab.server.address()} "
            f"--device /dev/mapper/{VICTIM} {self.ATTACKS} >>/tmp/attacks 2>&1 || :\ndone", 900)
        rnbd.wait_until(self.lab.client, "grep -q '^ok' /tmp/attacks", 60, "attacks are under way")

    def end(self) -> None:
        self.lab.client.run("touch /tmp/peace")
        if self._job:
            self.lab.client.wait(self._job)
            self._job = None
        if self.lab.ours("server"):
            rnbd.limit_work(self.lab.server, rnbd.SERVER_WORK, 256)


# A path's memory is this product; twelve paths fit into a machine.
PARAMETERS = {"sess_queue_depth": 128, "max_chunk_size": 65536}

REST: dict[str, type[Fault]] = {
    "path-cut": Cut, "path-flaps": Flaps, "path-mute": Mute, "path-deaf": Deaf, "server-reloaded": Reloaded,
    "memory-short": MemoryShort, "queue-full": QueueFull,
}
