# SPDX-License-Identifier: GPL-2.0
"""What both machines send over a cable, by kind of frame, and whether the text of a disk is in it."""

from __future__ import annotations

from collections.abc import Callable

from . import fio, make, rnbd
from .channel import Job
from .lab import Lab
from .machine import Machine

TEXT = "what-a-disk-holds-is-nobodys-business"


def seen_during(lab: Lab, nic: int, map_disk: Callable[[], str], tos: int | None = None) -> list[dict[str, int]]:
    """What either machine sends over a cable while a disk is mapped, filled with the text, read back and unmapped;
    with a type of service also how much of it has that (`marked`), and has not."""
    machines = (lab.client, lab.server)
    jobs = [_watch(machine, nic, tos) for machine in machines]
    name = map_disk()
    lab.client.run(fio.verify_command(f"/dev/{name}", "4k", 8, "1m", verify="pattern",
                                      verify_pattern=f"'\"{TEXT}\"'"), 120)
    rnbd.unmap(lab, name)
    return [_seen_by(machine, job) for machine, job in zip(machines, jobs, strict=True)]


def in_clear(seen: list[dict[str, int]]) -> None:
    """The watcher sees what is there."""
    for clear in seen:
        rnbd.check(clear["text"] > 10 and clear["roce"] > 10, f"the watcher does not see what is there: {clear}")
        rnbd.equal((clear["esp"], clear["macsec"]), (0, 0), "encrypted frames of those who do not encrypt")


def hidden(seen: list[dict[str, int]], kind: str, also: tuple[str, ...] = ()) -> None:
    """There are frames of this kind alone, and those of `also`."""
    for frames in seen:
        rnbd.check(frames[kind] > 10, f"nothing went over the cable: {frames}")
        rnbd.equal({name: count for name, count in frames.items() if count and name not in (kind, *also)}, {},
                   f"frames other than {kind}")


def answers(machine: Machine, address: str) -> bool:
    """Whether this machine gets an answer from there."""
    result = machine.try_run(f"/bb/busybox ping -c 2 -W 2 {address}")
    rnbd.check(result.rc in (0, 1), f"there was no ping: {result.out}")
    return result.ok


def _watch(machine: Machine, nic: int, tos: int | None) -> Job:
    program = machine.put(make.programs() / "rtrs-wire")
    words = f"{machine.netdev(nic)} {TEXT} {'' if tos is None else tos}"
    job = machine.spawn(f"echo $$ >/tmp/wire.pid\nexec {program} {words} >/tmp/wire.out", 300)
    rnbd.wait_until(machine, "grep -q ready /tmp/wire.out", 20, "the watcher's start")
    return job


def _seen_by(machine: Machine, job: Job) -> dict[str, int]:
    machine.run("kill -TERM $(cat /tmp/wire.pid)")
    rnbd.check(machine.wait(job).ok, f"{machine.name}: the watcher failed")
    seen = make.counts(machine.run("cat /tmp/wire.out"))
    rnbd.equal(seen["lost"], 0, f"{machine.name}: frames that the watcher missed")
    return seen
