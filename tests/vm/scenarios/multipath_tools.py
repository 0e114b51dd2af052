# SPDX-License-Identifier: GPL-2.0
"""One disk of two servers under multipath-tools, as in the guide: the nearer server is used, it loses its power, and
no I/O meets an error; when it is back, so is the I/O."""

import os
import tempfile
from pathlib import Path

from vmlab import programs, rnbd
from vmlab.guide import Guide
from vmlab.lab import Lab
from vmlab.machine import Machine
from vmlab.multipath import end_load, verified_load

OURS = ("client", "server")
KINDS = ("stock",)
MORE = ("server2",)
SLOW = True
BY_HAND = True  # minutes: `make cluster`
MEGABYTES = 64
FAR = "tc qdisc add dev {} root netem delay 100ms"  # ten times and more of what a busy machine takes
TRIES = 8  # multipathd looks every 5 s, or as seldom as every 20 s
LOST = 35 + 20  # seconds until the heartbeats are missed, and for what an emulated machine does then


def serve(lab: Lab, machine: Machine) -> None:
    disk, = machine.find_disks()
    machine.run("modprobe rnbd_server", 90)
    rnbd.make_export(machine, "san", disk)


def writes(lab: Lab, name: str) -> int:
    """What looks whether a disk is there reads only."""
    return int(lab.client.run(f"cat /sys/block/{name}/stat").split()[4])


def used(lab: Lab, name: str, other: str) -> None:
    """I/O goes to this one of the two, and none to the other, once multipathd has looked at both anew."""
    beside = 1
    for _ in range(TRIES):
        before = [writes(lab, n) for n in (name, other)]
        rnbd.wait_until(lab.client, f"set -- $(cat /sys/block/{name}/stat); [ $5 -gt {before[0] + 100} ]", 60,
                        f"{name} is used")
        beside = writes(lab, other) - before[1]
        if not beside:
            return
    rnbd.equal(beside, 0, f"writes of {other}, which is not the one to use")


def run(lab: Lab) -> None:
    with tempfile.TemporaryDirectory() as folder:
        disk = Path(folder) / "disk"
        disk.touch()
        os.truncate(disk, MEGABYTES << 20)
        servers = [lab.server, lab.server2]
        try:
            for machine in servers:
                machine.disks = [disk]
                lab.reboot(machine.name)
                serve(lab, machine)
            fail_over(lab)
        finally:
            for machine in servers:
                machine.disks = []
                machine.kill()


def fail_over(lab: Lab) -> None:
    guide = Guide("Two servers and one disk", {"10.0.0.1": lab.server.address(), "10.0.0.9": lab.server2.address()})
    programs.install(lab, lab.client, ["multipath-tools"])
    lab.server2.run(FAR.format(lab.server2.netdev()))
    lab.client.run("modprobe rnbd_client\nmodprobe dm_multipath\nmkdir -p /etc/multipath/conf.d\n"
                   "cat >/etc/multipath/conf.d/rnbd.conf <<'END'\n" + "\n".join(guide.block("In its place,")) + "\nEND")
    lab.client.spawn("multipathd -d -v2 >/tmp/multipathd.log 2>&1", 900)
    rnbd.wait_until(lab.client, "multipathd show status", 60, "multipathd is there")
    *maps, show, look = guide.commands("Then\n")
    lab.client.run("\n".join(maps), 60)
    rows = [line.split(",") for line in lab.client.run(f"{show} -o csv --no-header").split()]
    rnbd.equal(len({wwid for _, _, wwid in rows}), 1, f"wwids of the disk ({rows})")
    near, far = (name for name, _, _ in rows)
    joined = f"/dev/mapper/{rows[0][2]}"
    try:
        rnbd.wait_until(lab.client, f"[ -b {joined} ] && [ $({look} | grep -c 'active ready') = 2 ]", 60,
                        "both are paths")
        load = verified_load(lab, joined.removeprefix("/dev/"), depth=16)
        used(lab, near, far)
        lab.server.kill()
        rnbd.wait_until(lab.client, f"{look} | grep -q '{near} .*failed'", LOST, "the path has failed")
        used(lab, far, near)
        lab.reboot("server")
        serve(lab, lab.server)
        rnbd.wait_until(lab.client, f"{look} | grep -q '{near} .*active ready'", 60, "the path is back")
        used(lab, near, far)
        end_load(lab, load)
        # "In use" for as long as udev looks at the disk, or multipathd at its paths.
        lab.client.run(f"for t in $(seq 30); do multipath -f {rows[0][2]} && break; sleep 1; done\n"
                       f"[ ! -b {joined} ] || {{ dmsetup info; cat /tmp/multipathd.log; exit 1; }}", 120)
    finally:
        lab.client.try_run("multipathd shutdown\nudevadm control --exit", 60)
    lab.client.run("rnbdadm unmap --all")
