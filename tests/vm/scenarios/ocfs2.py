# SPDX-License-Identifier: GPL-2.0
"""OCFS2 on a shared disk, as in the guide: two machines write to one file in turn and make files in one folder, one of
them loses its power, the other goes on, and what either was told is on the disk is there."""

from vmlab import in_turn, programs, rnbd
from vmlab.guide import Guide
from vmlab.lab import Lab
from vmlab.machine import Machine

OURS = ("client", "server")
KINDS = ("stock",)
MORE = ("client2",)
SLOW = True
BY_HAND = True  # minutes: `make cluster`
TREE = rnbd.CONFIGURED
MEGABYTES = 256
# As the guide has it, until the heartbeats on the disk count as missed, and what an emulated machine does then.
DEAD = 60 + 90


def join(lab: Lab, guide: Guide, machine: Machine) -> str:
    """Everything up to the mapped disk; how to mount what is on it."""
    programs.install(lab, machine, ["ocfs2-tools"])
    config = "\n".join(line if line.endswith(":") else f"\t{line}" for line in guide.block("On every node"))
    machine.run(f"mkdir -p /etc/ocfs2\ncat >/etc/ocfs2/cluster.conf <<'END'\n{config}\nEND\n"
                "modprobe -a rnbd_client ocfs2 ocfs2_stack_o2cb")
    # What the package's unit does, with its default.
    machine.run("o2cb register-cluster pool\n"
                "[ $(cat /sys/kernel/config/cluster/pool/heartbeat/dead_threshold) = 31 ]")
    order, = guide.block("and on each client, with a session")
    machine.run(order.replace("node1", machine.name), 60)
    machine.run("udevadm settle")
    mount, = guide.block("and on each\n")
    return f"mkdir -p /srv\n{mount}"


def run(lab: Lab) -> None:
    nodes = [lab.client, lab.client2]
    null = rnbd.null_disk(lab.server, megabytes=MEGABYTES)
    disk = rnbd.named_disk(lab.server, null, "shared", "TEST-32")
    rnbd.load_server(lab)
    rnbd.make_export(lab.server, "gfs", disk, access="shared")
    guide = Guide("Shared disks", {"10.0.0.1": lab.server.address(), "192.0.2.21": nodes[0].address(),
                                   "192.0.2.22": nodes[1].address(), "name = node1": f"name = {nodes[0].name}",
                                   "name = node2": f"name = {nodes[1].name}"})
    mount = [join(lab, guide, node) for node in nodes]
    make, = (line for line in guide.block("The disk is mapped on each") if line.startswith("mkfs"))
    nodes[0].run(make.replace("node1", nodes[0].name), 120)
    nodes[1].run("udevadm trigger --settle /dev/rnbd0")
    for node, command in zip(nodes, mount):
        node.run(command, 120)

    def rejoin(node: Machine) -> None:
        node.run(join(lab, guide, node), 120)

    in_turn.work(lab, nodes, DEAD, rejoin)
    for node in nodes:
        node.run("umount /srv", 120)
    told = nodes[0].run("fsck.ocfs2 -fn /dev/rnbd0", 120)
    rnbd.check("All passes succeeded" in told, f"fsck:\n{told}")
    for node in nodes:
        node.run("o2cb unregister-cluster pool\nrnbdadm unmap --all\nudevadm control --exit")
    lab.server.run(f"echo 0 >{TREE}/gfs/enable\nrmdir {TREE}/gfs\ndmsetup remove --noudevsync shared")
