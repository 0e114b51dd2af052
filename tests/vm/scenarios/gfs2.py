# SPDX-License-Identifier: GPL-2.0
"""GFS2 on a volume of a shared disk, with lvmlockd, dlm, Pacemaker and sbd of Debian, as in the guide: two machines
write to one file in turn and make files in one folder, one of them loses its power or all of its networks, the other
goes on, and what either was told is on the disk is there. So it is when the server is away for a minute, and nothing
else comes of that. A volume that a machine has for itself is refused to the other until it is lost."""

from pathlib import Path

from vmlab import cluster, in_turn, rnbd
from vmlab.guide import Guide
from vmlab.lab import Lab
from vmlab.machine import Machine, MachineError

OURS = ("client", "server")
KINDS = ("stock",)
MORE = ("client2",)
SLOW = True
VARIANTS: dict[str, dict[str, object]] = {what: {"lost": what} for what in ("power", "networks")}
BY_HAND = True  # minutes: `make cluster`
# Until Corosync misses the machine and agrees on that, sbd's message counts as read, dlm and GFS2 have repaired what it
# had, and for all that an emulated machine does then.
DEAD = 10 + 12 + 20 + 120
AWAY = 60
# Its sbd has neither disk nor cluster: Corosync agrees on that, and the watchdog ends.
SEES_NOTHING = 10 + 12 + 10 + 30


def join(lab: Lab, guide: Guide, pool: Guide, node: Machine) -> None:
    """Everything up to the cluster's daemons."""
    packages = pool.block("On each machine of the cluster")[0].removeprefix("apt install ").split()
    cluster.prepare(lab, node, packages)
    conf = node.put(Path("/etc/lvm/lvm.conf"))
    lines = "\n".join(pool.block("and at the end of `/etc/lvm/lvm.conf`"))
    node.run(f"mkdir -p /etc/lvm /run/lvm\ncp {conf} /etc/lvm/lvm.conf\ncat >>/etc/lvm/lvm.conf <<'END'\n{lines}\nEND\n"
             "modprobe -a dm_mod dlm gfs2")
    cluster.equip(node, guide)


def mounted(node: Machine) -> float:
    return rnbd.wait_until(node, "grep -q ' /srv gfs2 ' /proc/mounts", 300, f"{node.name} has mounted")


def alone(nodes: list[Machine]) -> None:
    """A volume of one machine."""
    one, other = nodes
    one.run("lvcreate --yes --activate n --size 16M --name alone pool", 60)
    other.run("lvchange --activate ey pool/alone", 60)
    told = one.try_run("lvchange --activate ey pool/alone 2>&1", 60)
    rnbd.check(not told.ok and "locked by other host" in told.out, f"a second machine has it: {told.out}")


def service(lab: Lab, guide: Guide, pool: Guide, nodes: list[Machine], lost: str) -> None:
    for begin in ("The disk and the locks", "Then, when they have started", "and the file system, mounted"):
        for command in pool.block(begin):
            nodes[0].run(command.replace("node1", nodes[0].name), 180)
        nodes[0].run("crm_resource --wait --timeout=240s", 250)
    for node in nodes:
        mounted(node)
    alone(nodes)

    def rejoin(node: Machine) -> None:
        join(lab, guide, pool, node)
        cluster.join(node, nodes)
        mounted(node)

    def lose(node: Machine) -> None:
        if lost == "power":
            node.kill()
            return
        for nic in (0, cluster.NIC):
            node.set_link(nic, False)
        cluster.was_reset(node, nodes[0], SEES_NOTHING)

    # For longer than monitors have patience by themselves.
    in_turn.work(lab, nodes, DEAD, rejoin, lambda: cluster.away(lab, AWAY), lose)
    nodes[0].run("lvchange --activate ey pool/alone\nlvchange --activate n pool/alone", 60)
    nodes[0].run("pcs resource disable files-fs --wait=180", 200)
    nodes[0].run("fsck.gfs2 -n /dev/pool/files", 120)
    for node in nodes:
        cluster.stop(node)
        node.run("rnbdadm unmap --all")


def run(lab: Lab, lost: str) -> None:
    nodes = [lab.client, lab.client2]
    guide = Guide("Pacemaker", cluster.places(lab))
    pool = Guide("GFS2 and shared LVM", {**cluster.places(lab), "/dev/vg0/pool": "/dev/mapper/pool", "400G": "320M"})
    rnbd.named_disk(lab.server, rnbd.null_disk(lab.server, "nullb6", megabytes=400), "pool", "LVM-pool")
    cluster.serve(lab, guide, *pool.block("On the server an export"))
    for node in nodes:
        join(lab, guide, pool, node)
    cluster.start_first(nodes, guide)
    for command in guide.block("Fencing by that disk"):
        nodes[0].run(command, 120)
    try:
        service(lab, guide, pool, nodes, lost)
    except (MachineError, AssertionError) as e:
        told = "".join(f"{node.name}:\n{cluster.story(node)}" for node in nodes if node.alive)
        raise AssertionError(f"{e}\n{told}") from e
    lab.server.run("".join(f"echo 0 >{rnbd.CONFIGURED}/{name}/enable\nrmdir {rnbd.CONFIGURED}/{name}\n"
                           f"dmsetup remove --noudevsync {name}\n" for name in ("pool", "sbd")))
