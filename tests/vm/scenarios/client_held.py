# SPDX-License-Identifier: GPL-2.0
"""A client that stands still, as a virtual machine does for a snapshot, is not taken for one whose path loses large
packets: nothing that is sent to it is acknowledged, but it is not heard, either."""

import time

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.pulse import Pulse

SLOW = True
INTEROP = True
OURS = ("server",)
KINDS = ("stock", "debug")  # user-mode Linux has no monitor
HELD = 14  # seconds: more than a path is given, and half of what an in-tree peer may be silent
REFUSALS = "/sys/kernel/debug/rtrs-server/refusals"


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    options = {"no_path_timeout": -1} if lab.ours("client") else {}
    name = rnbd.map_device(lab, disk, **options)
    pulse = Pulse(lab.client, name)
    # So that some answer is on its way at each moment.
    read = f"dd if=/dev/{name} of=/dev/null bs=64k count=64 iflag=direct 2>&1"
    reader = lab.client.spawn(f"rm -f /tmp/stop\nwhile [ ! -e /tmp/stop ]; do {read} || exit; done", 600)
    # Its heartbeats come at other times of the five seconds between the server's each time.
    for n in range(3):
        rounds = pulse.read().rounds
        rnbd.wait_until(lab.client, f"[ $(cut -d' ' -f1 /tmp/pulse.{name}) -gt {rounds + 3} ]", 60, "I/O goes on")
        lab.client.set_running(False)
        time.sleep(HELD + 0.7 * n)
        lab.client.set_running(True)
    rounds = pulse.read().rounds
    rnbd.wait_until(lab.client, f"[ $(cut -d' ' -f1 /tmp/pulse.{name}) -gt {rounds + 3} ]", 60, "I/O goes on")
    beat = pulse.read()
    rnbd.check(not beat.errors and not beat.wrong, f"{beat}")
    pulse.stop()
    lab.client.run("touch /tmp/stop")
    ended = lab.client.wait(reader)
    rnbd.check(ended.ok, f"a read failed: {ended.out[-300:]}")
    starved = lab.server.run(f"sed -n 's/^path_starved //p' {REFUSALS}").strip()
    rnbd.equal(starved, "0", "paths taken for such")
    rnbd.unmap(lab, name)
