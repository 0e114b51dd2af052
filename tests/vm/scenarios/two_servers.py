# SPDX-License-Identifier: GPL-2.0
"""A mirror over two servers as in the guide: both are upgraded, one after the other, and then one loses its power. No
I/O meets an error, what was written meanwhile is all that is copied, and both halves are equal at the end.

OLDER=FOLDER: all machines begin with the modules below it, of an earlier commit, and the servers are upgraded to this
one's; the client keeps the old ones till the end."""

import os
from pathlib import Path

from vmlab import fio, mirror, programs, rnbd
from vmlab.guide import Guide
from vmlab.lab import Lab
from vmlab.machine import Machine

OURS = ("client", "server")
KINDS = ("stock",)
MORE = ("server2",)
SLOW = True
BY_HAND = True  # minutes: `make cluster`
MEGABYTES = 192  # three pieces of which the bitmap knows
WRITTEN = 8  # MiB of the mirror that are written meanwhile
BACK = "the server is back, also"
OLDER = os.environ.get("OLDER", "")
CONFIGURATION = "[export half]\ndevice = /dev/nullb8\nclient = client7-*"
# What the unit does.
UNIT = {
    "systemctl start rnbd-server": "sh /share/rnbd-server start",
    "systemctl stop rnbd-server": "rnbdadm server export remove --all --force\nsh /share/rnbd-server stop\n"
                                  "modprobe -r rnbd_server rtrs_server\nmodprobe -qr rtrs_core",
}


def load_older(machine: Machine, side: str) -> None:
    """What they need is loaded by this commit's, which go again."""
    names = ["rtrs-core", f"rtrs-{side}", f"rnbd-{side}"]
    for name in names:
        machine.put(next(Path(OLDER).rglob(f"{name}.ko")))
    machine.run(f"modprobe rnbd_{side}\nrmmod rnbd_{side} rtrs_{side} rtrs_core\n"
                + "".join(f"insmod /share/{name}.ko\n" for name in names), 60)


def build_of(machine: Machine) -> str:
    """Which build of the server's modules is loaded."""
    return machine.run("for m in rtrs_core rtrs_server rnbd_server; do\n"
                       "cksum </sys/module/$m/notes/.note.gnu.build-id\ndone")


def serve(lab: Lab, machine: Machine, older: str = "") -> None:
    programs.install(lab, machine)
    if older:
        load_older(machine, "server")
    rnbd.null_disk(machine, "nullb8", MEGABYTES)
    machine.run(f"mkdir -p /etc/rnbd\nprintf '%s\\n' '{CONFIGURATION}' >/etc/rnbd/rnbd.conf\n"
                + UNIT["systemctl start rnbd-server"])


def sectors(machine: Machine, disk: str) -> int:
    """That were written."""
    return int(machine.run(f"cat /sys/block/{disk}/stat").split()[6])


def upgrade(lab: Lab, machine: Machine, guide: Guide) -> int:
    """By the guide's commands, which apt would come before; how many MiB the mirror then had to copy."""
    build = build_of(machine)
    for command in Guide("Upgrading", {}).commands("One server at a time:"):
        if command == "lsmod | grep rtrs":
            rnbd.equal(machine.run(f"{command} || true"), "", "modules that are left")
        elif not command.startswith("apt "):
            machine.run(UNIT.get(command, command), 120)
    rnbd.equal(build_of(machine) != build, bool(OLDER), "another build is loaded")
    mirror.degraded(lab.client, 1, 60)
    before = sectors(machine, "nullb8") - sectors(lab.client, "md0")
    lab.client.run("\n".join(guide.commands(BACK)), 60)
    mirror.synced(lab.client)
    return (sectors(machine, "nullb8") - sectors(lab.client, "md0") - before) >> 11


def lose(lab: Lab, machine: Machine, guide: Guide) -> None:
    """Its power, and with that all that its disk held."""
    machine.kill()
    mirror.degraded(lab.client, 1, 90)
    lab.reboot(machine.name)
    serve(lab, machine)
    rnbd.wait_until(lab.client, "[ $(cat /sys/block/rnbd*/rnbd/state | grep -c open) = 2 ]", 60, "the disk is back")
    recover, remove, settle, *_ = guide.commands(BACK)
    lab.client.run(f"{recover}\n{remove}\n{settle}\nmdadm /dev/md0 --add /dev/rnbd/by-session/client7-two/half", 60)
    mirror.synced(lab.client)


def run(lab: Lab) -> None:
    servers = [lab.server, lab.server2]
    for machine in servers:
        serve(lab, machine, OLDER)
    programs.install(lab, lab.client)
    if OLDER:
        load_older(lab.client, "client")
    lab.client.run("modprobe raid1\nmodprobe rnbd_client")
    guide = Guide("Two servers and RAID 1", {"10.0.0.1": lab.server.address(), "10.0.0.9": lab.server2.address(),
                                             "map /dev/vg0/a": "map half", "dev/vg0/a": "half"})
    try:
        first, second, create = guide.commands("A device of each server")
        lab.client.run(f"{first}\n{second}\nudevadm settle\n{create} --run", 60)
        mirror.hurry(lab.client)
        mirror.synced(lab.client)
        load = lab.client.spawn("rm -f /tmp/stop\nwhile [ ! -e /tmp/stop ]; do "
                                + fio.verify_command("/dev/md0", "4k", 8, f"{WRITTEN}m", rate_iops=200) + "; done", 900)
        for machine in servers:
            copied = upgrade(lab, machine, guide)
            rnbd.check(copied < MEGABYTES / 2, f"{copied} MiB were copied, of {MEGABYTES}")
            rnbd.check(load.running, "the I/O ended by itself")
        lose(lab, lab.server2, guide)
        lab.client.run("touch /tmp/stop")
        rnbd.check(lab.client.wait(load).ok, "I/O met an error")
        mirror.equal_halves(lab.client)
    finally:
        lab.client.try_run("mdadm -q --stop /dev/md0\nudevadm control --exit", 60)
    lab.client.run("rnbdadm unmap --all")
    for machine in servers:
        machine.run("udevadm control --exit\nrnbdadm server export remove --all --force")
