# SPDX-License-Identifier: GPL-2.0
"""Failures in part: what goes wrong, for a while, with one disk, one path, one server. Faults of the disk are here."""

from __future__ import annotations

from . import rnbd
from .lab import Lab
from .machine import Machine

VICTIM = "victim"  # the device of the mapper that disk faults befall
BELOW = "nullb1"
MEGABYTES = 32


class Fault:
    """One trouble of the laboratory: nothing, begin(), trouble, end(), nothing.

    The victim is a disk with the session `vm` over all three cables. Class attributes say what is known of it:
    """

    title = ""
    victim_fails = False  # its I/O meets errors while the trouble lasts, as it should
    fsync_fails = False  # only its flushes do
    depth = 64
    busy = False  # the victim's user has many requests in flight
    is_load = False  # it is that user, and over when its last request is
    mean_matters = False  # the neighbour's mean time is bounded, too
    seconds = 20.0  # that it lasts at least
    in_turn = True  # after and before others, on one disk
    # Cables of the sessions that are no victims.
    others: tuple[int, ...] = (0, 1, 2)
    # What cannot be, or not as soon as the rule says, and why.
    impossible: dict[str, str] = {}
    allowance: dict[str, tuple[float, str]] = {}

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.outage = 0.0  # seconds in which the server as a whole was away by our own doing

    def make_disk(self) -> str:
        """The victim at the server; the path of its node."""
        disk = rnbd.null_disk(self.lab.server, BELOW, MEGABYTES)
        create(self.lab.server, VICTIM, f"0 {sectors()} linear {disk} 0")
        return f"/dev/mapper/{VICTIM}"

    def remove_disk(self) -> None:
        """Also when it is in trouble; after the server's modules have gone."""
        self.lab.server.try_run(f"dmsetup remove --noudevsync {VICTIM}")

    def begin(self, name: str) -> None:
        """Trouble; `name` is the victim's disk at the client."""
        raise NotImplementedError

    def end(self) -> None:
        """No more trouble. It may be called when there is none."""
        raise NotImplementedError


def sectors() -> int:
    return MEGABYTES << 11


# --- the device mapper

def create(machine: Machine, name: str, table: str) -> None:
    machine.run(f"modprobe -a dm_mod dm_delay dm_flakey\ndmsetup create --noudevsync {name} --table '{table}'\n"
                "dmsetup mknodes")


def change(machine: Machine, name: str, table: str) -> None:
    """Another table under a device in use; one line is one target."""
    machine.run(f"dmsetup load {name} <<'END'\n{table}\nEND\n"
                f"dmsetup suspend --nolockfs --noflush --noudevsync {name}\ndmsetup resume --noudevsync {name}")


def healthy() -> str:
    return f"0 {sectors()} linear /dev/{BELOW} 0"


class Table(Fault):
    """Trouble that a table of the device mapper makes."""

    def table(self) -> str:
        raise NotImplementedError

    def begin(self, name: str) -> None:
        change(self.lab.server, VICTIM, self.table())

    def end(self) -> None:
        change(self.lab.server, VICTIM, healthy())


# --- each one

class Hangs(Fault):
    title = "the disk answers nothing"
    busy = True

    def begin(self, name: str) -> None:
        self.lab.server.run(f"dmsetup suspend --nolockfs --noflush --noudevsync {VICTIM}")

    def end(self) -> None:
        self.lab.server.run(f"dmsetup resume --noudevsync {VICTIM}")


class Full(Fault):
    """It works, but takes four requests at a time, 100 ms each: who submits more waits for a place."""

    title = "the disk has more requests than places for them"
    busy = is_load = mean_matters = True
    in_turn = False
    depth = 192

    def make_disk(self) -> str:
        return rnbd.null_disk(self.lab.server, BELOW, MEGABYTES, irqmode=2, completion_nsec=100_000_000,
                              hw_queue_depth=4, submit_queues=1)

    def remove_disk(self) -> None:
        pass

    def begin(self, name: str) -> None:
        pass  # is_load

    def end(self) -> None:
        pass


class Slow(Table):
    title = "the disk takes a second for each request"
    busy = True

    def table(self) -> str:
        return f"0 {sectors()} delay /dev/{BELOW} 0 1000"


class Fails(Table):
    title = "the disk fails each request"
    victim_fails = True

    def table(self) -> str:
        return f"0 {sectors()} error"


class FlushFails(Table):
    """A flush goes to each target of a table: the last one, which is small, fails what is no read."""

    title = "the disk fails its flushes"
    fsync_fails = True

    def table(self) -> str:
        rest = sectors() - 8
        return (f"0 {rest} linear /dev/{BELOW} 0\n"
                f"{rest} 8 flakey /dev/{BELOW} {rest} 0 3600 1 error_writes")


class FlushHangs(Table):
    """And one session over one cable ends at its beginning, whose writes the server then flushes for as long."""

    title = "the disk hangs in its flushes"
    SESSION = "gone"
    seconds = 25.0
    _gone = ""

    def table(self) -> str:
        below = f"/dev/{BELOW} 0"
        return f"0 {sectors()} delay {below} 0 {below} 0 {below} 60000"

    def begin(self, name: str) -> None:
        options = {"no_path_timeout": 120} if self.lab.ours("client") else {}
        self._gone = rnbd.map_device(self.lab, f"/dev/mapper/{VICTIM}", self.SESSION, (1,), access_mode="migration",
                                     **options)
        self.lab.client.run(f"dd if=/dev/zero of=/dev/{self._gone} bs=64k seek=448 count=16 oflag=direct conv=notrunc "
                            "2>/dev/null")
        super().begin(name)
        self.lab.server.run(f"for p in /sys/class/rtrs-server/{self.SESSION}/paths/*/disconnect; do echo 1 >$p; done")

    def end(self) -> None:
        super().end()
        if self._gone:
            rnbd.unmap(self.lab, self._gone, "force")
            self._gone = ""


DISK: dict[str, type[Fault]] = {
    "disk-hangs": Hangs, "disk-full": Full, "disk-slow": Slow, "disk-fails": Fails, "flush-fails": FlushFails,
    "flush-hangs": FlushHangs,
}
