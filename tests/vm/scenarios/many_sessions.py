# SPDX-License-Identifier: GPL-2.0
"""Hundreds of sessions of one server: what each costs, who comes beyond the limit, and how long after a loss of power
the last one is back, when all of them come at once.

They are those of one machine here, with small chunks and few requests each. MANY_SESSIONS=N chooses another number.
"""

import os

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.machine import Machine

OURS = ("client", "server")
KINDS = ("stock",)
SLOW = True
BY_HAND = True  # minutes: `make cluster`
COUNT = int(os.environ.get("MANY_SESSIONS", "200"))
DEPTH, CHUNK = 16, 8192
# Seconds that a session may take when all come, and those that the first attempts take, which nobody answers.
EACH, AWAY = 0.5, 60


def load(lab: Lab) -> None:
    rnbd.load_server(lab, sess_queue_depth=DEPTH, max_chunk_size=CHUNK, max_sessions_per_host=0, max_paths_per_host=0)


def used(machine: Machine) -> tuple[int, int]:
    """KiB of memory, and queue pairs."""
    words = machine.run("sed -n 's/MemAvailable: *//p' /proc/meminfo\nrdma resource show rxe0").split()
    return -int(words[0]), int(words[words.index("qp") + 1])


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    load(lab)
    rnbd.load_client(lab)
    lines = "\n".join(f"echo 'sessname=s{n} {rnbd.path_option(lab)} device_path={disk} access_mode=ro "
                      f"no_path_timeout=-1' >{rnbd.CTL}/map_device" for n in range(COUNT))
    machines = [lab.client, lab.server]
    before = [used(machine) for machine in machines]
    took = rnbd.timed(lab.client, lines, 60 + COUNT * EACH)
    print(f"# {COUNT} sessions one after the other: {1000 * took / COUNT:.0f} ms each", flush=True)
    for machine, (kib, pairs) in zip(machines, before, strict=True):
        more, most = used(machine)
        print(f"# {machine.name}: {(more - kib) / COUNT:.0f} KiB and {(most - pairs) / COUNT:.1f} queue pairs each",
              flush=True)
    limits(lab, disk)
    storm(lab)
    lab.client.run("for d in /dev/rnbd*; do dd if=$d of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null; done",
                   60 + COUNT * EACH)
    lab.client.run("for d in /sys/block/rnbd*/rnbd/unmap_device; do echo normal >$d; done", 60 + COUNT * EACH)


def limits(lab: Lab, disk: str) -> None:
    """One more is refused, and nobody else notices."""
    limit = "/sys/module/rtrs_server/parameters/max_sessions"
    was = rnbd.read(lab.server, limit)
    rnbd.write(lab.server, limit, str(COUNT))
    line = rnbd.map_text(lab, disk, "beyond", access_mode="ro")
    rnbd.equal(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", line), "EUSERS", "one session beyond the limit")
    rnbd.write(lab.server, limit, was)
    rnbd.equal(opened(lab), COUNT, "disks that are open")


def opened(lab: Lab) -> int:
    return int(lab.client.run("cat /sys/block/rnbd*/rnbd/state | grep -cx open || true"))


def storm(lab: Lab) -> None:
    lab.server.kill()
    rnbd.wait_until(lab.client, "! cat /sys/block/rnbd*/rnbd/state | grep -qx open", 120, "all have noticed")
    lab.reboot("server")
    rnbd.null_disk(lab.server)
    load(lab)
    took = rnbd.wait_until(lab.client, f"[ $(cat /sys/block/rnbd*/rnbd/state | grep -cx open) = {COUNT} ]",
                           AWAY + COUNT * EACH, "all are back")
    print(f"# all at once after a loss of power: the last is back after {took:.0f} s", flush=True)
