# SPDX-License-Identifier: GPL-2.0
"""Pacemaker and sbd of Debian, as in the guide: the machine that has a disk dies, or loses the network of the disks,
and the other one takes disk, file system and address over; or both lose each other, and all stays where it is. Nothing
that was acknowledged is lost."""

from vmlab import cluster, rnbd
from vmlab.guide import Guide
from vmlab.lab import Lab
from vmlab.machine import Machine, MachineError

OURS = ("client", "server")
KINDS = ("stock",)
MORE = ("client2",)
SLOW = True
VARIANTS: dict[str, dict[str, object]] = {what: {"lost": what} for what in ("power", "disks", "each-other")}
BY_HAND = ("disks", "each-other")  # minutes: `make cluster`
ADDRESS = "10.10.1.77"
# Until Corosync misses the machine and agrees on that (1.2 times as long), sbd's message counts as read, and the server
# misses its session; and for all that is done then, by an emulated machine.
TAKEN_OVER = 10 + 12 + 20 + 6 + 60 + 15  # the last is how long a machine without the service waits before it fences
# Until the agent's patience and no-path-timeout end, what the file system writes fails, and it is unmounted; or it is
# not, and its machine is reset.
NO_DISK = 20 + 15 + 60 + 60
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
    cluster.found(nodes, guide)
    try:
        fail_over(lab, lost, guide.block("Fencing by that disk") + guide.block("A disk that moves"))
    except (MachineError, AssertionError) as e:
        told = "".join(f"{node.name}:\n{cluster.story(node)}" for node in nodes if node.alive)
        raise AssertionError(f"{e}\n{told}") from e


def was_reset(machine: Machine, other: Machine, limit: float) -> None:
    """Within seconds of the other one's clock."""
    seconds = 0
    while machine.alive and seconds < limit:
        other.run("sleep 1")
        seconds += 1
    rnbd.check(not machine.alive, f"{machine.name} was not reset within {limit:.0f} s")
    print(f"# {machine.name} was reset after {seconds} s of the other one's clock", flush=True)
    machine.kill()


def lose(active: Machine, other: Machine, lost: str) -> Machine:
    """The machine that is left."""
    if lost == "power":
        active.kill()
    elif lost == "disks":
        active.set_link(0, False)
    else:
        active.set_link(cluster.NIC, False)
        was_reset(other, active, TAKEN_OVER)
        active.set_link(cluster.NIC, True)
        return active
    return other


def fail_over(lab: Lab, lost: str, commands: list[str]) -> None:
    for command in commands:
        lab.client.run(command, 120)
    nodes = [lab.client, lab.client2]
    active, _ = cluster.active(nodes, "data-address", 120)
    other, = (node for node in nodes if node is not active)
    writer = active.spawn(cluster.WRITER, 600)
    rnbd.wait_until(active, "[ $(cat /share/acknowledged) -gt 50 ]", 60, "the service is at work")
    acknowledged = int(rnbd.read(active, "/share/acknowledged"))
    left = lose(active, other, lost)
    _, took = cluster.active([left], "data-address", TAKEN_OVER + (NO_DISK if lost == "disks" else 0))
    print(f"# it is at work after {took:.0f} s of the machine's clock", flush=True)
    if left is active:
        now = int(rnbd.read(left, "/share/acknowledged"))
        rnbd.check(now > acknowledged, "it wrote nothing meanwhile")
        rnbd.wait_until(left, f"[ $(cat /share/acknowledged) -gt {now + 50} ]", 60, "it goes on")
        left.run("touch /share/enough")
        rnbd.check(left.wait(writer).ok, "the writer met an error")
        acknowledged = int(rnbd.read(left, "/share/acknowledged"))
    cluster.written(left, acknowledged)
    left.run(f"ip addr | grep -q {ADDRESS}")
    if lost == "disks" and active.alive:
        active.set_link(0, True)
        cluster.stop(active)
        active.run("rnbdadm unmap --all")
    cluster.stop(left)
    left.run("[ ! -e /dev/rnbd/by-session/data-$(uname -n) ]\nrnbdadm unmap --all")
    lab.server.run("".join(f"echo 0 >{rnbd.CONFIGURED}/{name}/enable\nrmdir {rnbd.CONFIGURED}/{name}\n"
                           for name in ("vm1", "sbd"))
                   + "dmsetup remove --noudevsync data\ndmsetup remove --noudevsync sbd")
