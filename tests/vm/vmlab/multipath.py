# SPDX-License-Identifier: GPL-2.0
"""Sessions of several paths, one for each cable: their state, their share of the load, I/O that may meet no error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import fio, rnbd
from .channel import Job
from .lab import Lab
from .machine import Machine

SESSION = "/sys/class/rtrs-client/vm"


def folder(lab: Lab, nic: int | str) -> str:
    """Of the path over a cable, or of the one with that name."""
    if isinstance(nic, str):
        return f"{SESSION}/paths/{nic}"
    return f"{SESSION}/paths/ip:{lab.client.address(nic)}@ip:{lab.server.address(nic)}"


def requests(lab: Lab, nic: int) -> int:
    """Reads and writes that a path has carried."""
    words = rnbd.read(lab.client, f"{folder(lab, nic)}/stats/rdma").split()
    return int(words[0]) + int(words[2])


def verified_load(lab: Lab, name: str, limit: float = 600, depth: int = 8, size: str = "1m",
                  **options: object) -> Job:
    """I/O that is verified round by round; its end is end_load()."""
    once = fio.verify_command(f"/dev/{name}", "4k", depth, size, **options)
    # A load of before that met an error has left its end behind.
    return lab.client.spawn(f"rm -f /tmp/stop\nwhile [ ! -e /tmp/stop ]; do {once}; done\nrm /tmp/stop", limit)


def gentle_load(lab: Lab, name: str, limit: float) -> Job:
    """The same, slow enough to leave most of an emulated CPU to others."""
    return verified_load(lab, name, limit, 4, "256k", rate_iops=40)


def both_ends(text: str) -> str:
    """What went wrong first and what came of it, without what lies between."""
    return text if len(text) <= 3000 else f"{text[:1500]}\n[...]\n{text[-1500:]}"


def end_load(lab: Lab, load: Job) -> None:
    rnbd.check(load.running, "the I/O ended by itself")
    lab.client.run("touch /tmp/stop")
    result = lab.client.wait(load)
    rnbd.check(result.ok, f"the I/O met errors:\n{both_ends(result.out)}")


def carries(lab: Lab, nic: int, what: str) -> None:
    """The path works: its count of requests goes up."""
    before = requests(lab, nic)
    rnbd.wait_until(lab.client, f"set -- $(cat {folder(lab, nic)}/stats/rdma); [ $(($1 + $3)) -gt {before + 20} ]", 60,
                    f"path {nic} {what}")


# --- ways to end a path, and to have it back

def back(lab: Lab, nic: int) -> None:
    rnbd.write(lab.client, f"{folder(lab, nic)}/reconnect", "1", 120)


def at_client(lab: Lab, nic: int) -> None:
    rnbd.write(lab.client, f"{folder(lab, nic)}/disconnect", "1", 120)
    back(lab, nic)


def at_server(lab: Lab, nic: int) -> None:
    before = connects(lab, nic)
    rnbd.write(lab.server, f"{folder(lab, nic)}/disconnect".replace("rtrs-client", "rtrs-server"), "1")
    wait_lost(lab, nic, before, 30)
    back(lab, nic)


@contextmanager
def more_addresses(machine: Machine, nic: int, count: int) -> Iterator[list[str]]:
    """So many more of a network card, for as long as this lasts: machines are used by several scenarios."""
    those = [f"10.10.{nic}.{100 + n}" for n in range(count)]
    dev = machine.netdev(nic)
    machine.run("\n".join([":", *(f"ip addr add {address}/24 dev {dev}" for address in those)]))
    try:
        yield those
    finally:
        machine.try_run("\n".join([":", *(f"ip addr del {address}/24 dev {dev}" for address in those)]))


# --- what has happened to a path. It may be back a second after its loss, so its state alone tells nothing.

def connects(lab: Lab, nic: int | str) -> str:
    """How often a path has connected again, and tried in vain: "3 0"."""
    return rnbd.read(lab.client, f"'{folder(lab, nic)}/stats/reconnects'")


def wait_lost(lab: Lab, nic: int | str, before: str, limit: float) -> float:
    """Seconds until a path is lost, or has been since connects() said `before`."""
    path = folder(lab, nic)
    return rnbd.wait_until(lab.client, f"grep -qx disconnected '{path}/state' || "
                           f"[ \"$(cat '{path}/stats/reconnects')\" != '{before}' ]", limit, "the loss shows")


def wait_back(lab: Lab, nic: int | str, before: str, limit: float) -> float:
    """Seconds until a path that was lost since connects() said `before` is connected again, by itself."""
    path = folder(lab, nic)
    return rnbd.wait_until(lab.client, f"set -- $(cat '{path}/stats/reconnects'); [ $1 -gt {before.split()[0]} ] && "
                           f"grep -qx connected '{path}/state'", limit, "the path comes back")
