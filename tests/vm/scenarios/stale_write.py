# SPDX-License-Identifier: GPL-2.0
"""A write that was on a path when it died never lands on a newer one: neither from a slow disk nor from the network."""

import re

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, folder

SLOW = True
OURS = ("client", "server")
VARIANTS = {
    "disk": {"case": "disk"},      # the only path starts again while the server's disk still works on the write
    "unseen": {"case": "unseen"},  # the same, and another path comes up while the server still believes in the dead one
    "wire": {"case": "wire"},      # the network keeps the write back, and another path goes on
}
TRIES = 5
MISSED = "HB missed max reached."
DESTINATION = 20 + 8 + 4  # of the queue pair's number and the byte before it, behind the headers of IP, UDP
HELD = 600  # seconds for which the disk would keep a write; it is let go before
APART = 4  # seconds in which a write that comes too early would show
OLD, NEW = "o", "n"


def write(device: str, letter: str) -> str:
    return f"head -c 4096 /dev/zero | tr '\\0' {letter} | dd of={device} bs=4096 count=1 oflag=direct conv=notrunc"


def first_letter(lab: Lab, device: str) -> str:
    return lab.client.run(f"dd if={device} bs=4096 count=1 iflag=direct 2>/dev/null | head -c 1")


def holding_view(lab: Lab, disk: str) -> str:
    """A second device over the same disk that keeps each write until LET_GO."""
    lab.server.run("modprobe dm-delay\n"
                   f"size=$(blockdev --getsz {disk})\n"
                   "dmsetup create --noudevsync slow "
                   f"--table \"0 $size delay {disk} 0 0 {disk} 0 {HELD * 1000}\"\n"
                   "[ -e /dev/mapper/slow ] || dmsetup mknodes slow")
    return lab.server.run("readlink -f /dev/mapper/slow").strip()


# A suspended dm-delay keeps nothing, and keeps again what comes when it is resumed.
LET_GO = "dmsetup suspend --nolockfs --noudevsync slow; dmsetup resume --noudevsync slow"


def kept(lab: Lab) -> int:
    """How many writes the holding device has now; dm-delay tells in its status."""
    return int(lab.server.run("dmsetup status slow").split()[4])


def in_flight(lab: Lab, name: str) -> None:
    rnbd.wait_until(lab.client, f"read -r reads writes </sys/block/{name}/inflight; [ $((reads + writes)) -gt 0 ]", 30,
                    "in flight")


def run(lab: Lab, case: str) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    try:
        if case == "wire":
            on_the_wire(lab, disk)
        else:
            in_the_disk(lab, disk, unseen=case == "unseen")
    finally:
        lab.client.set_link(0, True)
        lab.client.try_run(f"tc qdisc del dev {lab.client.netdev(0)} root")
        lab.client.try_run("for d in /sys/block/rnbd*/rnbd/unmap_device; do echo force >$d || :; done")
        # A session is gone before the disk has ended what it had, and with it the mapping.
        rnbd.wait_until(lab.server, f"{LET_GO}; [ -z \"$(ls /sys/class/rtrs-server /sys/class/rnbd-server/ctl/devices "
                        "| grep -v :)\" ]", 60, "sessions and devices gone")
        lab.server.try_run("dmsetup remove --noudevsync slow")


def in_the_disk(lab: Lab, disk: str, unseen: bool) -> None:
    """The disk keeps whatever it is given, so a new write that came too early would be there beside the old one."""
    slow = rnbd.map_device(lab, holding_view(lab, disk), nics=(0, 1) if unseen else (0,))
    if unseen:
        rnbd.write(lab.client, f"{folder(lab, 1)}/disconnect", "1")
    old = lab.client.spawn(write(f"/dev/{slow}", OLD), 300)
    rnbd.wait_until(lab.server, "set -- $(dmsetup status slow); [ $5 = 1 ]", 30, "the disk has the old write")
    if unseen:
        lab.client.set_link(0, False)
    rnbd.write(lab.client, f"{folder(lab, 0)}/disconnect", "1", limit=90)
    rnbd.check(not lab.client.wait(old).ok, "the old write ended well without a path")
    rnbd.equal(kept(lab), 1, "writes that the disk keeps when the path is gone")
    back = lab.client.spawn(f"until echo 1 >{folder(lab, 1 if unseen else 0)}/reconnect; do sleep 1; done", 300)
    new = lab.client.spawn(f"until {write(f'/dev/{slow}', NEW)}; do sleep 0.2; done", 300)
    rnbd.check(lab.client.wait(back).ok, "no path came back")
    for _ in range(2 * APART):
        lab.server.run("sleep 0.5")
        rnbd.equal(kept(lab), 1, "writes that the disk has at the same time")
    rnbd.check(new.running, "the new write ended while the disk had the old one")
    # First the old one, then the new one, as often as that needs.
    release = lab.server.spawn(f"until [ -e /tmp/enough ]; do {LET_GO}; sleep 0.5; done; rm /tmp/enough", 300)
    result = lab.client.wait(new)
    lab.server.run("touch /tmp/enough")
    rnbd.check(result.ok and lab.server.wait(release).ok, f"the new write failed: {result.out}")
    rnbd.equal(first_letter(lab, f"/dev/{slow}"), NEW, "what the disk holds")


def on_the_wire(lab: Lab, disk: str) -> None:
    """The server hears heartbeats of the path until the client gives it up, so that nothing but a fence ends it there
    before the network lets go of the old write. Where the host is too busy for that, it comes again."""
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    rnbd.write(lab.client, f"{SESSION}/mp_policy", "round-robin")
    for _ in range(TRIES):
        before = missed(lab)
        late_write(lab, name)
        if missed(lab) == before:
            return
        lab.client.run(f"tc qdisc del dev {lab.client.netdev(0)} root")
        rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1", limit=90)
    rnbd.check(False, f"the server missed heartbeats before the end of the scenario in each of {TRIES} tries")


def missed(lab: Lab) -> int:
    """How often the server has ended a path by itself."""
    return lab.server.log().count(MISSED)


def late_write(lab: Lab, name: str) -> None:
    device, dev = f"/dev/{name}", lab.client.netdev(0)
    rnbd.write(lab.client, f"{folder(lab, 1)}/disconnect", "1")
    keep_back(lab, dev)
    lab.client.run("rm -f /tmp/old")
    old = lab.client.spawn(f"{write(device, OLD)} && : >/tmp/old", 120)
    in_flight(lab, name)
    rnbd.write(lab.client, f"{folder(lab, 1)}/reconnect", "1")
    rnbd.equal(lab.server.run("ls -d /sys/class/rtrs-server/*/paths/* | wc -l").strip(), "2", "paths at the server")
    # At once, by one process: the server misses heartbeats after some seconds.
    lab.client.run(f"echo 1 >{folder(lab, 0)}/disconnect &\n"
                   "until [ -e /tmp/old ]; do sleep 0.1; done\n"
                   f"{write(device, NEW)}\n"
                   f"tc qdisc change dev {dev} handle 40: plug release_indefinite\n"
                   "wait", 120)
    rnbd.check(lab.client.wait(old).ok, "the old write failed: it did not go over the other path")
    lab.client.run(f"sleep {APART}")
    sent = re.search(r"qdisc plug 40:.*\n *Sent (\d+) bytes", lab.client.run(f"tc -s qdisc show dev {dev}"))
    rnbd.check(sent and int(sent[1]) > 4096, "the network had no old write that it could let go")
    rnbd.equal(first_letter(lab, device), NEW, "what the disk holds")


def keep_back(lab: Lab, dev: str) -> None:
    """The network keeps what goes to the queue pair of I/O, and loses what the connection manager says: an end, or a
    new beginning. Heartbeats have a queue pair of their own, which was made before the other one."""
    shown = lab.server.run("rdma resource show qp link rxe0/1")
    numbers = sorted(int(n) for n in re.findall(r"lqpn (\d+) .*type RC", shown))
    rnbd.equal(len(numbers), 2, f"connected queue pairs of the server: {shown}")
    lab.client.run(f"tc qdisc replace dev {dev} root handle 1: prio bands 5\n"
                   f"tc qdisc add dev {dev} parent 1:4 handle 40: plug\n"
                   f"tc qdisc add dev {dev} parent 1:5 handle 50: netem loss 100%\n" +
                   "\n".join(f"tc filter add dev {dev} parent 1: protocol ip u32 match ip dport 4791 0xffff "
                             f"match u32 {number} 0xffffff at {DESTINATION} flowid 1:{band}"
                             for number, band in ((numbers[1], 4), (1, 5))))
