# SPDX-License-Identifier: GPL-2.0
"""What the server could not flush when it closed a disk is known to be lost: no later flush of that disk succeeds until
its user has closed it, also after the server's modules were loaded anew, and after it was unplugged. Its neighbour's
flushes do."""

from vmlab import faults, rnbd
from vmlab.channel import Job
from vmlab.lab import Lab
from vmlab.multipath import folder

OURS = ("client", "server")
WORD = "The server could not flush the device when it closed it"


def hold(lab: Lab, name: str) -> Job:
    """A user who has the disk open."""
    job = lab.client.spawn(f"exec 4<>/dev/{name}\ntouch /tmp/open.{name}\n"
                           f"while [ ! -e /tmp/go.{name} ]; do sleep 0.1; done\n"
                           f"rm /tmp/go.{name} /tmp/open.{name}", 600)
    rnbd.wait_until(lab.client, f"[ -e /tmp/open.{name} ]", 10, "the opener")
    return job


def let_go(lab: Lab, name: str, job: Job) -> None:
    lab.client.run(f"touch /tmp/go.{name}")
    rnbd.check(lab.client.wait(job).ok, f"the user of {name} failed")


def closed_without_a_flush(lab: Lab, fault: faults.FlushFails, name: str, reload: bool) -> None:
    """The disk fails the flush at the end of its session, and is in order again when the client is back."""
    fault.begin(name)
    rnbd.write(lab.client, f"{folder(lab, 0)}/disconnect", "1")
    rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rnbd-server/ctl/devices)\" ]", 30, "exports closed")
    fault.end()
    if reload:
        lab.server.run("rmmod rnbd_server\nmodprobe rnbd_server", 90)
    rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1")


def unplugged(lab: Lab, neighbour: str) -> None:
    """The disk is pulled out with writes that no flush covered, and is back when the module is loaded anew."""
    disk = rnbd.null_disk(lab.server, "nullb9")
    power = f"/sys/kernel/config/nullb/{disk.removeprefix('/dev/')}/power"
    victim = rnbd.map_device(lab, disk, no_path_timeout=-1)
    users = {name: hold(lab, name) for name in (victim, neighbour)}
    write = "dd if=/usr/bin/env bs=4k count=4 oflag=direct 2>/dev/null of=/dev/"
    lab.client.run(f"{write}{victim}\n{write}{neighbour}")
    rnbd.write(lab.server, power, "0")
    rnbd.write(lab.client, f"{folder(lab, 0)}/disconnect", "1")
    rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rnbd-server/ctl/devices)\" ]", 30, "exports closed")
    lab.server.run(f"rmmod rnbd_server\necho 1 >{power}\nmodprobe rnbd_server", 90)
    rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1")
    for name in users:
        rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 30, "the disk is back")
    lab.client.run(f"sync /dev/{neighbour}")
    rnbd.check(not lab.client.try_run(f"sync /dev/{victim}").ok, "a flush over what was lost with a disk worked")
    for name, user in users.items():
        let_go(lab, name, user)
    lab.client.run(f"{write}{victim}\nsync /dev/{victim}")
    # Nor may the next start of the machine pass for one that has lost nothing.
    rnbd.write(lab.server, "/sys/class/rnbd-server/ctl/serving", "0")
    rnbd.equal(rnbd.read(lab.server, "/sys/class/rnbd-server/ctl/instance"), "0", "instance after a loss")
    rnbd.write(lab.server, "/sys/class/rnbd-server/ctl/serving", "1")


def run(lab: Lab) -> None:
    fault = faults.FlushFails(lab)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    disks = fault.make_disk(), rnbd.null_disk(lab.server, "nullb8")
    victim, neighbour = (rnbd.map_device(lab, disk, no_path_timeout=-1) for disk in disks)
    write = "dd if=/usr/bin/env bs=4k count=4 oflag=direct 2>/dev/null of=/dev/"
    try:
        for reload in (False, True):
            users = {name: hold(lab, name) for name in (victim, neighbour)}
            lab.client.run(f"{write}{victim}\n{write}{neighbour}")
            closed_without_a_flush(lab, fault, victim, reload)
            for name in users:
                rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 30, "the disk is back")
            lab.client.run(f"sync /dev/{neighbour}")
            for _ in range(2):
                rnbd.check(not lab.client.try_run(f"sync /dev/{victim}").ok, "a flush over lost writes worked")
            for name, user in users.items():
                let_go(lab, name, user)
            lab.client.run(f"{write}{victim}\nsync /dev/{victim}")
        unplugged(lab, neighbour)
        rnbd.equal(lab.client.log().count(WORD), 3, "lines that say why")
    finally:
        fault.end()
        lab.client.try_run("touch /tmp/go.rnbd0 /tmp/go.rnbd1 /tmp/go.rnbd2; sleep 1; rm -f /tmp/go.*\n"
                           "for d in /sys/block/rnbd*/rnbd/unmap_device; do echo force >$d; done", 60)
        rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rnbd-server/ctl/devices)\" ]", 60, "exports closed")
        fault.remove_disk()
