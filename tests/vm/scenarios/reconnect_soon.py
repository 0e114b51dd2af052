# SPDX-License-Identifier: GPL-2.0
"""A lost path comes back by itself soon after its server does, and waits longer the longer it takes; who asks for it
while it tries shares that attempt."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, connects, folder, wait_lost

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
    device = f"grep -qx open /sys/block/{name}/rnbd/state"
    read = f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct"

    before = connects(lab, 0)
    rnbd.unload_server(lab)
    wait_lost(lab, 0, before, 10)
    lab.client.run(f"sleep {AWAY}")
    tries = failures(lab)
    rnbd.check(1 <= tries <= 4, f"{tries} attempts within {AWAY} s")
    rnbd.load_server(lab)
    took = rnbd.wait_until(lab.client, device, SOON, "the disk comes back by itself")
    lab.client.run(f"{read}\ncat >/dev/null <<'END'\nback after {took:.1f} s, {tries} attempts before\nEND", 30)

    # With the server's cable out an attempt takes its time: the first one who asks is in the midst of it when the
    # second one comes, who is not turned away.
    rnbd.write(lab.client, f"{SESSION}/heartbeat_interval_ms", "500")
    before = connects(lab, 0)
    lab.server.set_link(0, False)
    wait_lost(lab, 0, before, 20)
    ask = f"/usr/bin/printf '1\\n' >'{folder(lab, 0)}/reconnect'"
    first = lab.client.spawn(ask, 200)
    lab.client.run("sleep 3")
    rnbd.check(first.running, "the first attempt is over already")
    second = lab.client.spawn(ask, 200)
    lab.client.run("sleep 2")
    lab.server.set_link(0, True)
    # The first attempt may end in vain; the second one asked for another one then.
    lab.client.wait(first)
    said = lab.client.wait(second)
    rnbd.check(said.ok, f"who asked while the path tried to connect: {said.out}")
    rnbd.wait_until(lab.client, device, 60, "the disk is back")
    lab.client.run(read, 30)
    rnbd.unmap(lab, name)
