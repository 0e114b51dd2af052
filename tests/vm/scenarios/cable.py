# SPDX-License-Identifier: GPL-2.0
"""A cable of two is pulled under I/O, the client's and then the server's. The client's own port tells of it at once:
the longest request takes less than a second. Of the other end heartbeats tell, within six. The path is back three
seconds after its cable, and no neighbour is known beforehand."""

import json

from vmlab import fio, rnbd
from vmlab.channel import Job, scale
from vmlab.lab import Lab
from vmlab.machine import Machine
from vmlab.multipath import SESSION, connects, folder, wait_back, wait_lost

OURS = ("client", "server")
OWN_GAP = 1.0
FAR_GAP = 6.0 + 1.0  # and the server's end of the dead path is ended before requests move
BACK = 3.0


def set_cable(lab: Lab, machine: Machine, nic: int, is_in: bool) -> None:
    """A machine of user-mode Linux has no carrier: there the client's card is switched off."""
    if lab.kernel.kind == "uml" and machine is lab.client:
        machine.run(f"ip link set dev {machine.netdev(nic)} {'up' if is_in else 'down'}")
    else:
        machine.set_link(nic, is_in)


def load(lab: Lab, name: str, seconds: int) -> Job:
    return lab.client.spawn(fio.command("gap", f"/dev/{name}", rw="randread", bs="4k", iodepth=4, rate_iops=40,
                                        size="8m", time_based=1, runtime=seconds, **{"output-format": "json"}),
                            seconds + 60)


def longest(lab: Lab, job: Job) -> float:
    """Seconds of the slowest request."""
    result = lab.client.wait(job)
    rnbd.check(result.ok, f"the I/O met errors:\n{result.out[-1000:]}")
    return float(json.loads(result.out[result.out.index("{"):])["jobs"][0]["read"]["lat_ns"]["max"]) / 1e9


def lose_and_find(lab: Lab, machine: Machine, nic: int, out: float, loss: float) -> float:
    """Pulls a cable for that many seconds at least; how long after it the path is connected again."""
    before = connects(lab, nic)
    set_cable(lab, machine, nic, False)
    lab.client.run(f"sleep {out}")
    wait_lost(lab, nic, before, loss)
    # An attempt may have failed since.
    why = rnbd.read(lab.client, f"'{folder(lab, nic)}/last_reason'")
    first = "port down" if machine is lab.client else "no heartbeat"
    rnbd.check(why in (first, "no answer"), f"the reason of the loss is {why!r}, not {first!r}")
    set_cable(lab, machine, nic, True)
    return wait_back(lab, nic, before, 60)


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    rnbd.write(lab.client, f"{SESSION}/mp_policy", "round-robin")
    figures = {}
    for what, machine, nic, out, loss, gap in (("own", lab.client, 0, 2, 2, OWN_GAP),
                                               ("far", lab.server, 1, 14, 6, FAR_GAP)):
        job = load(lab, name, out + 12)
        lab.client.run("sleep 3")
        back = lose_and_find(lab, machine, nic, out, loss)
        slowest = longest(lab, job)
        figures[what] = f"slowest request {slowest:.2f} s, path back after {back:.2f} s"
        rnbd.check(slowest <= gap * scale(), f"{what}: {figures[what]}")
        rnbd.check(back <= BACK * scale(), f"{what}: {figures[what]}")
    lab.client.run(f"cat >/dev/null <<'END'\n{figures}\nEND")
    rnbd.unmap(lab, name)
