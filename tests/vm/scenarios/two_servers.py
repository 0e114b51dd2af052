# SPDX-License-Identifier: GPL-2.0
"""A mirror over two servers as in the guide: both are upgraded, one after the other, and then one loses its power. No
I/O meets an error, what was written meanwhile is all that is copied, and both halves are equal at the end."""

from vmlab import fio, rnbd
from vmlab.admin import Admin
from vmlab.guide import Guide
from vmlab.lab import ROOT, Lab
from vmlab.machine import Machine

OURS = ("client", "server")
KINDS = ("stock",)
MORE = ("server2",)
SLOW = True
MEGABYTES = 256  # four pieces of which the bitmap knows
WRITTEN = 8  # MiB of the mirror that are written meanwhile
BACK = "the server is back, also"
# Lets a command of the guide be what its unit is.
SYSTEMCTL = r"""case "$1 $2" in
'start rnbd-server') sh /tmp/rnbd-server start ;;
'stop rnbd-server')
    rnbdadm server export remove --all --force
    sh /tmp/rnbd-server stop
    modprobe -r rnbd_server rtrs_server
    modprobe -qr rtrs_core ;;
*) exit 1 ;;
esac"""


def prepare(machine: Machine) -> Admin:
    """The program is found by its name, and a disk by the names that udev makes."""
    admin = Admin(machine)
    machine.put(ROOT / "packaging/etc/60-rnbd.rules")
    machine.run("mkdir -p /tmp/bin /etc/udev/rules.d\ncp /share/60-rnbd.rules /etc/udev/rules.d\n"
                f"ln -sf {admin.program} /tmp/bin/rnbdadm")
    return admin


def server(machine: Machine, export: list[str]) -> None:
    admin = prepare(machine)
    machine.put(ROOT / "packaging/systemd/rnbd-server")
    machine.run(f"sed 's,/usr/sbin/rnbdadm,{admin.program},' /share/rnbd-server >/tmp/rnbd-server\n"
                f"cat >/tmp/bin/systemctl <<'END'\n#!/bin/sh\n{SYSTEMCTL}\nEND\nchmod +x /tmp/bin/systemctl")
    rnbd.null_disk(machine, "nullb8", MEGABYTES)
    admin.configure("\n".join(export) + "\n")
    sh(machine, "systemctl start rnbd-server")


def sh(machine: Machine, *commands: str, limit: float = 120) -> str:
    return machine.run("\n".join(("PATH=/tmp/bin:$PATH", *commands)), limit)


def written(machine: Machine) -> int:
    """Sectors of the disk of a server."""
    return int(machine.run("cat /sys/block/nullb8/stat").split()[6])


def degraded(lab: Lab, number: int, limit: float) -> None:
    rnbd.wait_until(lab.client, f"[ $(cat /sys/block/md0/md/degraded) = {number} ]", limit,
                    f"{number} halves of the mirror are missing")


def synced(lab: Lab) -> None:
    degraded(lab, 0, 180)
    rnbd.wait_until(lab.client, "[ $(cat /sys/block/md0/md/sync_action) = idle ]", 60, "the mirror is idle")


def whole_again(lab: Lab, machine: Machine, guide: Guide) -> None:
    """By the guide's commands. More than the copies of what was written is the load, which goes on."""
    before, load = written(machine), written_by_load(lab)
    sh(lab.client, *guide.commands(BACK))
    synced(lab)
    copied = (written(machine) - before - (written_by_load(lab) - load)) >> 11
    rnbd.check(copied < MEGABYTES / 2, f"{copied} MiB were copied, of {MEGABYTES}")


def written_by_load(lab: Lab) -> int:
    return int(lab.client.run("cat /sys/block/md0/stat").split()[6])


def upgrade(lab: Lab, machine: Machine, commands: list[str], mirror: Guide) -> None:
    for command in commands:
        if command == "lsmod | grep rtrs":
            rnbd.equal(sh(machine, f"{command} || true"), "", "modules that are left")
        elif not command.startswith("apt "):
            sh(machine, command)
    degraded(lab, 1, 60)
    whole_again(lab, machine, mirror)


def lose(lab: Lab, machine: Machine, export: list[str], mirror: Guide) -> None:
    """Its power, and with that all that its disk holds: another one is put in."""
    machine.kill()
    degraded(lab, 1, 90)
    lab.reboot(machine.name)
    server(machine, export)
    rnbd.wait_until(lab.client, "[ $(cat /sys/block/rnbd*/rnbd/state | grep -c open) = 2 ]", 60, "the disk is back")
    recover, remove, *_ = mirror.commands(BACK)
    sh(lab.client, recover, remove, "mdadm /dev/md0 --add /dev/rnbd/by-session/client7-two/half")
    synced(lab)


def run(lab: Lab) -> None:
    disk = "/dev/nullb8"
    servers = [lab.server, lab.server2]
    export = ["[export half]", f"device = {disk}", "client = client7-*"]
    mirror = Guide("Two servers and RAID 1", {
        "10.0.0.1": lab.server.address(), "10.0.0.9": lab.server2.address(),
        "map /dev/vg0/a": "map half", "dev/vg0/a": "half"})
    for machine in servers:
        server(machine, export)
    prepare(lab.client)
    lab.client.run("/usr/lib/systemd/systemd-udevd --daemon\nmodprobe raid1\nmodprobe rnbd_client")
    try:
        first, second, create = mirror.commands("A device of each server")
        sh(lab.client, first, second, "udevadm settle", f"{create} --run")
        synced(lab)
        load = lab.client.spawn("rm -f /tmp/stop\nwhile [ ! -e /tmp/stop ]; do "
                                + fio.verify_command("/dev/md0", "4k", 8, f"{WRITTEN}m", rate_iops=200) + "; done", 900)
        upgrading = Guide("Upgrading", {})
        for machine in servers:
            upgrade(lab, machine, upgrading.commands("One server at a time:"), mirror)
            rnbd.check(load.running, "the I/O ended by itself")
        lose(lab, lab.server2, export, mirror)
        lab.client.run("touch /tmp/stop")
        rnbd.check(lab.client.wait(load).ok, "I/O met an error")
        sh(lab.client, "echo check >/sys/block/md0/md/sync_action")
        synced(lab)
        rnbd.equal(rnbd.read(lab.client, "/sys/block/md0/md/mismatch_cnt"), "0", "sectors in which the halves differ")
    finally:
        lab.client.try_run("mdadm -q --stop /dev/md0\nudevadm control --exit", 60)
    sh(lab.client, "rnbdadm unmap --all")
    for machine in servers:
        sh(machine, "rnbdadm server export remove --all --force")
