# SPDX-License-Identifier: GPL-2.0
"""A server that moves between two machines with one disk, under Pacemaker and sbd as in the guide: its machine dies,
and later it is moved in order. The client's I/O waits, meets no error, and goes on."""

import os
import tempfile
from pathlib import Path

from vmlab import cluster, rnbd
from vmlab.admin import Admin
from vmlab.guide import Guide
from vmlab.lab import Lab
from vmlab.machine import Machine, MachineError
from vmlab.multipath import end_load, verified_load

OURS = ("client", "server")
KINDS = ("stock",)
MORE = ("server2",)
SLOW = True
BY_HAND = True  # five minutes: `make cluster`
ADDRESS = "10.10.0.77"
SIZES = {"data": 64, "sbd": 16}  # MiB
# Until Corosync misses the machine and agrees on that (1.2 times as long) and sbd's message counts as read; and for all
# that is done then, by an emulated machine.
TAKEN_OVER = 10 + 12 + 20 + 60


def prepare(lab: Lab, machine: Machine, guide: Guide) -> None:
    """With the disks in it, of which the first has no cache that a server could lose."""
    lab.reboot(machine.name)
    disk, _ = machine.find_disks()
    cluster.prepare(lab, machine)
    machine.run(f"udevadm trigger\nudevadm settle\nmkdir -p /etc/rnbd\n"
                f"for f in /sys/block/$(basename $(readlink -f {disk}))/device/scsi_disk/*/cache_type; do\n"
                "echo 'write through' >$f\ndone\nmodprobe rnbd_server exports_only=Y\n"
                "cat >/etc/default/sbd <<'END'\n" + "\n".join(guide.block("and in `/etc/default/sbd`")) + "\nEND", 60)


def served(lab: Lab, name: str, limit: float, what: str) -> None:
    """More reads end."""
    before = int(rnbd.read(lab.client, f"/sys/block/{name}/stat").split()[0])
    rnbd.wait_until(lab.client, f"set -- $(cat /sys/block/{name}/stat); [ $1 -gt {before + 100} ]", limit, what)


def run(lab: Lab) -> None:
    nodes = [lab.server, lab.server2]
    with tempfile.TemporaryDirectory() as folder:
        disks = []
        for name, size in SIZES.items():
            disks.append(Path(folder) / name)
            disks[-1].touch()
            os.truncate(disks[-1], size << 20)
        guide = Guide("Pacemaker", {"rnbd-WWID": "wwn-0x5000c500a0000001", "/dev/vg0/vm1": "/dev/cached0",
                                    "192.0.2.10": ADDRESS, " keys=hosts": ""})
        try:
            for node in nodes:
                node.disks = disks
                prepare(lab, node, guide)
            nodes[0].run(guide.commands("Once, and then on each machine")[0])
            cluster.start(nodes)
            for command in guide.block("Fencing by that disk") + guide.block("clients outside of the cluster"):
                nodes[0].run(command, 120)
            move(lab, nodes, guide)
        except (MachineError, AssertionError) as e:
            told = "".join(f"{node.name}:\n{cluster.story(node)}" for node in nodes if node.alive)
            raise AssertionError(f"{e}\n{told}") from e
        finally:
            for node in nodes:
                node.disks = []
                node.kill()


def move(lab: Lab, nodes: list[Machine], guide: Guide) -> None:
    first, _ = cluster.active(nodes, "vm1-address", 120)
    second, = (node for node in nodes if node is not first)
    client = Admin(lab.client)
    lab.client.run("modprobe rnbd_client")
    name = client.run(f"map vm1 --session app --path {ADDRESS} --no-path-timeout 300").strip().removeprefix("/dev/")
    load = verified_load(lab, name, 900, depth=4, size="256k")
    served(lab, name, 60, "the first server serves")
    first.kill()
    cluster.active([second], "vm1-address", TAKEN_OVER)
    served(lab, name, 60, "the second server serves")
    prepare(lab, first, guide)
    cluster.join(first, nodes)
    second.run(f"pcs resource move vm1 {first.name}", 120)
    cluster.active([first], "vm1-address", 120)
    served(lab, name, 60, "the first server serves again")
    end_load(lab, load)
    client.run("unmap --all")
