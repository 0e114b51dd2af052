# SPDX-License-Identifier: GPL-2.0
"""Pacemaker and sbd of Debian, as in the guide: the machine that has a disk dies, and the other one takes disk, file
system and address over; nothing that was acknowledged is lost."""

from vmlab import cluster, rnbd
from vmlab.admin import Admin
from vmlab.guide import Guide
from vmlab.lab import Lab
from vmlab.machine import MachineError

OURS = ("client", "server")
KINDS = ("stock",)
MORE = ("client2",)
SLOW = True
ADDRESS = "10.10.1.77"
# Until Corosync misses the machine and agrees on that (1.2 times as long), sbd's message counts as read, and the server
# misses its session; and for all that is done then, by an emulated machine.
TAKEN_OVER = 10 + 12 + 20 + 6 + 60
WWID = {"data": "LVM-data", "sbd": "LVM-sbd"}


def by_id(name: str) -> str:
    return f"/dev/disk/by-id/rnbd-dm.{WWID[name]}"


def configure(admin: Admin, *lines: str) -> None:
    admin.configure("\n".join(lines) + "\n")
    admin.run("check")
    admin.run("apply", limit=120)


def make_disks(lab: Lab, guide: Guide) -> str:
    """Exports of the server, a file system on one of them; its UUID."""
    for n, name in enumerate(WWID):
        null = rnbd.null_disk(lab.server, f"nullb{n + 6}", megabytes=64)
        rnbd.named_disk(lab.server, null, name, WWID[name])
    rnbd.load_server(lab)
    configure(Admin(lab.server), "[export vm1]", "device = /dev/mapper/data", *guide.block("On the server an export"))
    return lab.client.run(f"""modprobe rnbd_client
rnbdadm map vm1 --session first --path {lab.server.address()}
udevadm settle
mkfs.ext4 -q {by_id("data")}
blkid -o value -s UUID {by_id("data")}
rnbdadm unmap first:vm1""", 120).strip().splitlines()[-1]


def run(lab: Lab) -> None:
    nodes = [lab.client, lab.client2]
    for node in nodes:
        cluster.prepare(lab, node)
    guide = Guide("Pacemaker", {"rnbd-WWID": f"rnbd-dm.{WWID['sbd']}", "/dev/vg0/sbd": "/dev/mapper/sbd",
                                "192.0.2.10": lab.server.address(), "192.0.2.77": ADDRESS})
    guide.places["by-uuid/UUID"] = f"by-uuid/{make_disks(lab, guide)}"
    for node in nodes:
        node.run("modprobe rnbd_client")
        configure(Admin(node, "/usr/sbin/rnbdadm"),
                  *(line.replace("node1", node.name) for line in guide.block("On each machine of the cluster")))
        node.run("udevadm settle")
        rnbd.equal(node.run("rnbdadm list devices -o csv --no-header -c wwid").strip(), f"dm.{WWID['sbd']}", "wwid")
        node.run("cat >/etc/default/sbd <<'END'\n" + "\n".join(guide.block("and in `/etc/default/sbd`")) + "\nEND")
    create, enable = guide.block("Once, and then on each machine")
    nodes[0].run(create)
    rnbd.equal(enable, "systemctl enable sbd", "what cluster.start() does")
    cluster.start(nodes)
    try:
        fail_over(lab, guide.block("Fencing by that disk") + guide.block("A disk that moves"))
    except (MachineError, AssertionError) as e:
        told = "".join(f"{node.name}:\n{cluster.story(node)}" for node in nodes if node.alive)
        raise AssertionError(f"{e}\n{told}") from e


def fail_over(lab: Lab, commands: list[str]) -> None:
    for command in commands:
        lab.client.run(command, 120)
    nodes = [lab.client, lab.client2]
    active, _ = cluster.active(nodes, "data-address", 120)
    other, = (node for node in nodes if node is not active)
    active.spawn(cluster.WRITER, 600)
    rnbd.wait_until(active, "[ $(cat /share/acknowledged) -gt 50 ]", 60, "the service is at work")
    acknowledged = int(rnbd.read(active, "/share/acknowledged"))
    active.kill()
    _, took = cluster.active([other], "data-address", TAKEN_OVER)
    cluster.written(other, acknowledged)
    other.run(f"ip addr | grep -q {ADDRESS}")
    print(f"# taken over after {took:.0f} s of the machine's clock", flush=True)
    cluster.stop(other)
    other.run("[ ! -e /dev/rnbd/by-session/data-$(uname -n) ]\nrnbdadm unmap --all")
    lab.server.run("".join(f"echo 0 >{rnbd.CONFIGURED}/{name}/enable\nrmdir {rnbd.CONFIGURED}/{name}\n"
                           for name in ("vm1", "sbd"))
                   + "dmsetup remove --noudevsync data\ndmsetup remove --noudevsync sbd")
