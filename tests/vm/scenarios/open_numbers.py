# SPDX-License-Identifier: GPL-2.0
"""A CLOSE closes what its own OPEN has opened: not the next disk, whose number at the server is new or used again,
however late it comes; and a map that was killed takes nothing from the next one."""

from vmlab import rnbd
from vmlab.hang import opening_hangs, remove
from vmlab.lab import Lab
from vmlab.multipath import at_client

OURS = ("client", "server")
FLUSH = 8.0  # seconds that the flush at close takes
READING = "dd of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null"


def works(lab: Lab, name: str, what: str) -> None:
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/rnbd/state"), "open", f"state of {what}")
    lab.client.run(f"{READING} if=/dev/{name}", 30)


def slow_flush(lab: Lab, disk: str) -> str:
    lab.server.run("modprobe dm-delay\n"
                   f"dmsetup create --noudevsync late --table \"0 $(blockdev --getsz {disk}) delay {disk} 0 0 "
                   f"{disk} 0 0 {disk} 0 {FLUSH * 1000:.0f}\"\n[ -e /dev/mapper/late ] || dmsetup mknodes late")
    return lab.server.run("readlink -f /dev/mapper/late").strip()


def close_that_takes_long(lab: Lab, below: str, other: str) -> None:
    """The paths go one after the other while a CLOSE is under way, and another disk has been mapped since."""
    slow = slow_flush(lab, below)
    nics = (0, 1)
    victim = rnbd.map_device(lab, slow, nics=nics)
    lab.client.run(f"dd if=/dev/zero of=/dev/{victim} bs=4k count=1 oflag=direct 2>/dev/null")
    unmap = lab.client.spawn(f"echo normal >/sys/block/{victim}/rnbd/unmap_device", 120)
    lab.client.run("sleep 1")
    name = rnbd.map_device(lab, other, nics=nics)
    rnbd.check(unmap.running, "the CLOSE had been answered: that proves nothing")
    for nic in nics:
        at_client(lab, nic)
        works(lab, name, f"the other disk after path {nic} was connected anew")
    rnbd.check(lab.client.wait(unmap).ok, "the disk whose flush is slow was not unmapped")
    works(lab, name, "the other disk at the end")
    rnbd.wait_until(lab.server, f"[ ! -e /sys/class/rnbd-server/ctl/devices/{slow.removeprefix('/dev/')} ]", 60,
                    "the disk is closed at the server")
    rnbd.unmap(lab, name)
    lab.server.run("dmsetup remove --noudevsync --retry late", 30)


def killed_map(lab: Lab, text: str) -> None:
    lab.client.run(f"/usr/bin/printf '%s\\n' '{text}' >{rnbd.CTL}/map_device &\n"
                   "sleep 1\nkill -9 $!\n! wait $!", 60)


def map_that_is_killed(lab: Lab, below: str, other: str) -> None:
    """Its OPEN is under way, and the next map of the same device in the same session gets the disk."""
    keeper = rnbd.map_device(lab, other)
    with opening_hangs(lab.server, below) as slow:
        text = rnbd.map_text(lab, slow)
        killed_map(lab, text)
        second = lab.client.spawn(f"echo '{text}' >{rnbd.CTL}/map_device", 120)
        lab.client.run("sleep 1")
        rnbd.check(second.running, "the second map had ended: that proves nothing")
    result = lab.client.wait(second)
    rnbd.check(result.ok, f"the second map ended with {result.out[-200:]}")
    name = rnbd.mapped_name(lab, slow)
    works(lab, name, "the disk that the second map got")
    # The client looks for closed devices every few seconds.
    lab.client.run("sleep 6")
    works(lab, name, "the disk that the second map got, some seconds later")
    rnbd.unmap(lab, name)
    rnbd.wait_until(lab.server, f"[ ! -e /sys/class/rnbd-server/ctl/devices/{slow.removeprefix('/dev/')} ]", 30,
                    "the disk is closed at the server")
    # A map that nobody waits for leaves nothing open either.
    with opening_hangs(lab.server, below, again=True):
        killed_map(lab, text)
    lab.server.run("sleep 2")
    rnbd.wait_until(lab.server, f"[ ! -e /sys/class/rnbd-server/ctl/devices/{slow.removeprefix('/dev/')} ]", 30,
                    "what the killed map asked for is closed at the server")
    rnbd.unmap(lab, keeper)
    remove(lab.server)


def run(lab: Lab) -> None:
    below = rnbd.null_disk(lab.server)
    other = rnbd.null_disk(lab.server, "nullb8")
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    map_that_is_killed(lab, below, other)
    close_that_takes_long(lab, below, other)
