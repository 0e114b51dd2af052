# SPDX-License-Identifier: GPL-2.0
"""Pacemaker and sbd of Debian, as in the guide: the machine that has a disk dies, or loses the network of the disks,
and the other one takes disk, file system and address over; or both lose each other, and all stays where it is; or both
lose the server, and all comes back with it. Nothing that was acknowledged is lost."""

from vmlab import cluster, rnbd
from vmlab.guide import Guide
from vmlab.lab import Lab
from vmlab.machine import Machine, MachineError

OURS = ("client", "server")
KINDS = ("stock",)
MORE = ("client2",)
SLOW = True
VARIANTS: dict[str, dict[str, object]] = {what: {"lost": what} for what in ("power", "disks", "each-other", "server")}
BY_HAND = ("disks", "each-other", "server")  # minutes: `make cluster`
ADDRESS = "10.10.1.77"
# Until Corosync misses the machine and agrees on that (1.2 times as long), sbd's message counts as read, and the server
# misses its session; and for all that is done then, by an emulated machine.
TAKEN_OVER = 10 + 12 + 20 + 6 + 60 + 15  # the last is how long a machine without the service waits before it fences
# Until the agent's patience and no-path-timeout end, what the file system writes fails, and it is unmounted; or it is
# not, and its machine is reset.
NO_DISK = 20 + 15 + 60 + 60
# Longer than no-path-timeout and a stop that waits for it take, so that the service is started in vain.
AWAY = 100
FAILURE = 60  # its timeout, after which the cluster tries again
DATA = "/dev/disk/by-id/rnbd-dm.LVM-data"


def make_disks(lab: Lab, guide: Guide) -> str:
    """Exports of the server, a file system on one of them; its UUID."""
    rnbd.named_disk(lab.server, rnbd.null_disk(lab.server, "nullb6", megabytes=64), "data", "LVM-data")
    cluster.serve(lab, guide, "[export vm1]", "device = /dev/mapper/data")
    return lab.client.run(f"""modprobe rnbd_client
rnbdadm map vm1 --session first --path {lab.server.address()}
udevadm settle
mkfs.ext4 -q {DATA}
blkid -o value -s UUID {DATA}
rnbdadm unmap first:vm1""", 120).strip().splitlines()[-1]


def run(lab: Lab, lost: str) -> None:
    nodes = [lab.client, lab.client2]
    guide = Guide("Pacemaker", {**cluster.places(lab), "192.0.2.77": ADDRESS})
    for node in nodes:
        cluster.prepare(lab, node)
    guide.places["by-uuid/UUID"] = f"by-uuid/{make_disks(lab, guide)}"
    for node in nodes:
        cluster.equip(node, guide)
    cluster.start_first(nodes, guide)
    try:
        fail_over(lab, lost, guide.block("Fencing by that disk") + guide.block("A disk that moves"))
    except (MachineError, AssertionError) as e:
        told = "".join(f"{node.name}:\n{cluster.story(node)}" for node in nodes if node.alive)
        raise AssertionError(f"{e}\n{told}") from e


def lose(lab: Lab, active: Machine, other: Machine, lost: str) -> list[Machine]:
    """The machines of which one has the service then."""
    if lost == "power":
        active.kill()
    elif lost == "disks":
        active.set_link(0, False)
    elif lost == "server":
        cluster.away(lab, AWAY)
        return [active, other]
    else:
        active.set_link(cluster.NIC, False)
        cluster.was_reset(other, active, TAKEN_OVER)
        active.set_link(cluster.NIC, True)
        return [active]
    return [other]


def fences(node: Machine) -> None:
    """Its cluster can still switch a machine off."""
    node.run("crm_mon -1 | grep -q 'fence-sbd.*Started'")


def fail_over(lab: Lab, lost: str, commands: list[str]) -> None:
    for command in commands:
        lab.client.run(command, 120)
    nodes = [lab.client, lab.client2]
    active, _ = cluster.active(nodes, "data-address", 120)
    other, = (node for node in nodes if node is not active)
    writer = active.spawn(cluster.WRITER, 600)
    rnbd.wait_until(active, "[ $(cat /share/acknowledged) -gt 50 ]", 60, "the service is at work")
    acknowledged = int(rnbd.read(active, "/share/acknowledged"))
    left = lose(lab, active, other, lost)
    more = {"disks": NO_DISK, "server": FAILURE + NO_DISK}.get(lost, 0)
    has, took = cluster.active(left, "data-address", TAKEN_OVER + more)
    print(f"# it is at work after {took:.0f} s of the machine's clock", flush=True)
    if lost == "each-other":
        now = int(rnbd.read(has, "/share/acknowledged"))
        rnbd.check(now > acknowledged, "it wrote nothing meanwhile")
        rnbd.wait_until(has, f"[ $(cat /share/acknowledged) -gt {now + 50} ]", 60, "it goes on")
        has.run("touch /share/enough")
        rnbd.check(has.wait(writer).ok, "the writer met an error")
        acknowledged = int(rnbd.read(has, "/share/acknowledged"))
    cluster.written(has, acknowledged)
    has.run(f"ip addr | grep -q {ADDRESS}\ntouch /srv/new\nsync /srv/new")
    if lost == "server":
        for node in nodes:
            fences(node)
    for node in nodes:
        if node.alive:
            node.set_link(0, True)
            cluster.stop(node)
            node.run("[ ! -e /dev/rnbd/by-session/data-$(uname -n) ]\nrnbdadm unmap --all")
    lab.server.run("".join(f"echo 0 >{rnbd.CONFIGURED}/{name}/enable\nrmdir {rnbd.CONFIGURED}/{name}\n"
                           for name in ("vm1", "sbd"))
                   + "dmsetup remove --noudevsync data\ndmsetup remove --noudevsync sbd")
