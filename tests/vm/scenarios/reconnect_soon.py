# SPDX-License-Identifier: GPL-2.0
"""A lost path comes back by itself soon after its server does, and waits longer the longer it takes; who asks for it
while it tries shares that attempt."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, folder

OURS = ("client",)
# Pauses of 1 to 2 s, 2 to 4 s, 4 to 8 s before attempts that are refused at once; another one would be 8 to 16 s.
AWAY = 8
SOON = 20


def failures(lab: Lab) -> int:
    return int(rnbd.read(lab.client, f"'{folder(lab, 0)}/stats/reconnects'").split()[1])


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    state = f"'{folder(lab, 0)}/state'"
    device = f"grep -qx open /sys/block/{name}/rnbd/state"
    read = f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct"

    rnbd.unload_server(lab)
    rnbd.wait_until(lab.client, f"grep -qx disconnected {state}", 10, "the path is lost")
    lab.client.run(f"sleep {AWAY}")
    tries = failures(lab)
    rnbd.check(1 <= tries <= 4, f"{tries} attempts within {AWAY} s")
    rnbd.load_server(lab)
    took = rnbd.wait_until(lab.client, device, SOON, "the disk comes back by itself")
    lab.client.run(f"{read}\ncat >/dev/null <<'END'\nback after {took:.1f} s, {tries} attempts before\nEND", 30)

    # With the cable out an attempt takes its time; whoever asks meanwhile is not turned away.
    rnbd.write(lab.client, f"{SESSION}/heartbeat_interval_ms", "500")
    lab.client.set_link(0, False)
    rnbd.wait_until(lab.client, f"grep -qx disconnected {state}", 20, "the path is lost")
    asked = lab.client.spawn(f"for n in 1 2 3; do sleep 1; echo 1 >'{folder(lab, 0)}/reconnect' || true; done", 300)
    lab.client.run("sleep 5")
    lab.client.set_link(0, True)
    rnbd.wait_until(lab.client, device, 120, "the disk is back")
    said = lab.client.wait(asked)
    rnbd.check("busy" not in said.out, f"a path that tries to connect was busy: {said.out}")
    rnbd.wait_until(lab.client, device, 60, "the disk is still there")
    lab.client.run(read, 30)
    rnbd.unmap(lab, name)
