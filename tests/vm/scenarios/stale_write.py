# SPDX-License-Identifier: GPL-2.0
"""A write that was on a path when it died never lands on a newer one: neither from a slow disk nor from the network."""

from vmlab import rnbd
from vmlab.channel import Job, scale
from vmlab.lab import Lab
from vmlab.multipath import SESSION, folder

SLOW = True
OURS = ("client", "server")
VARIANTS = {
    "disk": {"case": "disk"},      # the only path starts again while the server's disk still works on the write
    "unseen": {"case": "unseen"},  # the same, and another path comes up while the server still believes in the dead one
    "wire": {"case": "wire"},      # the write is late in the network, and another path goes on
}
DELAY = 12.0  # seconds that the old write takes, where things take no longer than on an idle host
OLD, NEW = "o", "n"


def write(device: str, letter: str) -> str:
    return f"head -c 4096 /dev/zero | tr '\\0' {letter} | dd of={device} bs=4096 count=1 oflag=direct conv=notrunc"


def first_letter(lab: Lab, device: str) -> str:
    return lab.client.run(f"dd if={device} bs=4096 count=1 iflag=direct 2>/dev/null | head -c 1")


def slow_view(lab: Lab, disk: str, delay: float) -> str:
    """A second device over the same disk, whose writes reach it late."""
    lab.server.run("modprobe dm-delay\n"
                   f"size=$(blockdev --getsz {disk})\n"
                   "dmsetup create --noudevsync slow "
                   f"--table \"0 $size delay {disk} 0 0 {disk} 0 {delay * 1000:.0f}\"\n"
                   "[ -e /dev/mapper/slow ] || dmsetup mknodes slow")
    return lab.server.run("readlink -f /dev/mapper/slow").strip()


def watch(lab: Lab) -> Job:
    """Prints, after /tmp/enough is there, how many writes the slow device has had at the same time.

    dm-delay tells in its status; the block layer begins to count a write when its delay is over.
    """
    return lab.server.spawn("most=0\n"
                            "while [ ! -e /tmp/enough ]; do\n"
                            "    set -- $(dmsetup status slow)\n"
                            "    [ $5 -le $most ] || most=$5\n"
                            "    sleep 0.1\n"
                            "done\n"
                            "rm /tmp/enough\n"
                            "echo $most", 600)


def in_flight(lab: Lab, name: str) -> None:
    rnbd.wait_until(lab.client, f"set -- $(cat /sys/block/{name}/inflight); [ $(($1 + $2)) -gt 0 ]", 30, "in flight")


def wait_old(lab: Lab, old: Job, may_fail: bool) -> None:
    result = lab.client.wait(old)
    rnbd.check(result.ok or may_fail, f"the old write failed: {result.out}")


def run(lab: Lab, case: str) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    delay = DELAY * min(scale(), 8.0)
    try:
        if case == "wire":
            on_the_wire(lab, disk, delay)
        else:
            in_the_disk(lab, disk, delay, unseen=case == "unseen")
    finally:
        lab.client.set_link(0, True)
        lab.client.try_run(f"tc qdisc del dev {lab.client.netdev(0)} root")
        lab.client.try_run("for d in /sys/block/rnbd*/rnbd/unmap_device; do echo force >$d; done")
        # A session is gone before the disk has ended what it had, and with it the mapping.
        rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rtrs-server /sys/class/rnbd-server/ctl/devices | "
                        "grep -v :)\" ]", 60 + 2 * delay, "sessions and devices gone")
        lab.server.try_run("dmsetup remove slow")


def in_the_disk(lab: Lab, disk: str, delay: float, unseen: bool) -> None:
    """Each write takes as long, so a new one that came too early would not land first: but it would be there beside
    the old one."""
    slow = rnbd.map_device(lab, slow_view(lab, disk, delay), nics=(0, 1) if unseen else (0,))
    if unseen:
        rnbd.write(lab.client, f"{folder(lab, 1)}/disconnect", "1")
    watcher = watch(lab)
    begin = lab.client.uptime()
    old = lab.client.spawn(write(f"/dev/{slow}", OLD), 120)
    in_flight(lab, slow)
    lab.server.run("sleep 1")  # what the client has sent has arrived
    if unseen:
        lab.client.set_link(0, False)
        rnbd.write(lab.client, f"{folder(lab, 0)}/disconnect", "1", limit=90)
    back = lab.client.spawn(f"until echo 1 >{folder(lab, 1 if unseen else 0)}/reconnect; do sleep 1; done", 120)
    wait_old(lab, old, may_fail=True)  # there was no other path
    rnbd.check(lab.client.uptime() < begin + delay - 3, "the old write ended by itself: that proves nothing")
    lab.client.run(f"until {write(f'/dev/{slow}', NEW)}; do sleep 0.2; done", 120 + 2 * delay)
    rnbd.check(lab.client.wait(back).ok, "no path came back")
    lab.client.run(f"sleep {max(0.0, begin + delay + 4 - lab.client.uptime())}", 120)
    lab.server.run("touch /tmp/enough")
    rnbd.equal(lab.server.wait(watcher).out.strip(), "1", "writes that the disk had at the same time")
    rnbd.equal(first_letter(lab, f"/dev/{slow}"), NEW, "what the disk holds")


def on_the_wire(lab: Lab, disk: str, delay: float) -> None:
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    rnbd.write(lab.client, f"{folder(lab, 1)}/disconnect", "1")
    rnbd.write(lab.client, f"{SESSION}/mp_policy", "round-robin")
    lab.client.run(f"tc qdisc replace dev {lab.client.netdev(0)} root netem delay {delay}s limit 10000")
    begin = lab.client.uptime()
    old = lab.client.spawn(write(f"/dev/{name}", OLD), 120)
    in_flight(lab, name)
    rnbd.write(lab.client, f"{folder(lab, 1)}/reconnect", "1")
    gone = lab.client.spawn(f"echo 1 >{folder(lab, 0)}/disconnect", 120)
    wait_old(lab, old, may_fail=False)  # it has gone over the other path
    lab.client.run(write(f"/dev/{name}", NEW))
    rnbd.check(lab.client.uptime() < begin + delay - 1, "the old write was not late enough to prove anything")
    lab.client.run(f"sleep {begin + delay + 4 - lab.client.uptime()}", 120)
    rnbd.equal(first_letter(lab, f"/dev/{name}"), NEW, "what the disk holds")
    rnbd.check(lab.client.wait(gone).ok, "disconnect failed")
