# SPDX-License-Identifier: GPL-2.0
"""A disk takes a reservation and never says that it has. Beside it nothing waits: not the other disks of the session,
nor who serves, unmaps, or gives up; and what another disk holds is given back all the same.

The disks are of Linux's SCSI target, which keeps registrations in a file; that of the victim has no room. A disk of
that kind does nothing else meanwhile.
"""

from vmlab import lio, rnbd
from vmlab.lab import Lab
from vmlab.member import LIST, Member

OURS = ("client", "server")
TREE = rnbd.CONFIGURED
CTL = "/sys/class/rnbd-server/ctl"
CLEAR = f"{CTL}/clear_reservations"
EXCLUSIVE = 2
QUICK = 8.0  # seconds of the machine; a disk that hangs does so for longer
GONE = 35 + 15
DEATH = "kill -9 $(cat /tmp/pid)\nwhile [ -e /proc/$(cat /tmp/pid)/fd/0 ]; do sleep 0.1; done"


def quick(machine, script: str, what: str) -> None:
    seconds = rnbd.timed(machine, script, 60)
    rnbd.check(seconds < QUICK, f"{what} took {seconds:.1f} s")


def beside(lab: Lab, a: Member, n: Member, victim: lio.Pair) -> None:
    """A client's command hangs."""
    lio.hang_commands(victim)
    reserve = lab.client.spawn(a.text_of("reserve", a.key, EXCLUSIVE), 120)
    lio.wait_hanging(victim)
    quick(lab.client, f"{n.text_of('reserve', n.key, EXCLUSIVE)}\n{n.text_of('release', n.key, EXCLUSIVE)}\n"
          f"dd if=/dev/{n.disk} of=/dev/null bs=4k count=8 iflag=direct", "the neighbour's")
    third = Member(lab, lab.client, "a", tool=a.tool)
    third.map("plain", "rw")
    quick(lab.client, f"echo normal >/sys/block/{third.disk}/rnbd/unmap_device", "an unmap beside it")
    quick(lab.server, f"cat {LIST}", "the list")
    rnbd.equal(rnbd.write_error(lab.server, CLEAR, victim.mine.removeprefix("/dev/")), "EBUSY", "a clear meanwhile")
    rnbd.check(reserve.running, "the victim did not hang")
    # Its path is lost, and comes back.
    rnbd.write(lab.client, f"/sys/block/{a.disk}/rnbd/no_path_timeout", "-1")
    rnbd.write(lab.client, f"/sys/block/{n.disk}/rnbd/no_path_timeout", "-1")
    lab.client.run("for f in disconnect reconnect; do echo 1 >$(echo /sys/class/rtrs-client/a/paths/*/$f); done", 90)
    quick(lab.client, f"{n.text_of('reserve', n.key, EXCLUSIVE)}\n{n.text_of('release', n.key, EXCLUSIVE)}",
          "the neighbour's on a path that has come back")
    rnbd.check(reserve.running, "the victim did not hang")
    # The disk is taken away from who has asked.
    quick(lab.client, f"echo force >/sys/block/{a.disk}/rnbd/unmap_device", "the unmap of the victim")
    rnbd.equal(lab.client.wait(reserve).out.strip(), "No such device", "the question of a disk that was unmapped")
    lio.let_go(victim)
    a.map("victim", "shared")
    # It was done, and is found done by who asks the same.
    rnbd.wait_until(lab.server, f"grep -q holder {LIST}", 30, "what was asked is done")
    lio.hang_commands(victim)
    release = lab.client.spawn(a.text_of("release", a.key, EXCLUSIVE), 120)
    lio.wait_hanging(victim)
    lab.client.run("sleep 3")
    rnbd.check(release.running, "the question was answered while the disk hangs")
    lio.let_go(victim)
    rnbd.equal(lab.client.wait(release).out.strip(), "ok", "the question, when the disk answers")


def gives_up(lab: Lab, a: Member, victim: lio.Pair) -> None:
    """Who has asked is killed; what was asked is done when the disk is ready."""
    lio.hang_commands(victim)
    tool = a.text_of("reserve", a.key, EXCLUSIVE)
    lab.client.run(f"{tool} >/dev/null 2>&1 &\necho $! >/tmp/pid")
    lio.wait_hanging(victim)
    quick(lab.client, DEATH, "its death")
    lio.let_go(victim)
    rnbd.wait_until(lab.server, f"grep -q holder {LIST}", 30, "what was asked is done")
    a.must("ok", "reserve", a.key, EXCLUSIVE)


def administrator(lab: Lab, victim: lio.Pair) -> None:
    """The server's own administrator asks, serves meanwhile, and is killed."""
    name = victim.mine.removeprefix("/dev/")
    lio.hang_commands(victim)
    lab.server.run(f"(echo {name} >{CLEAR}) >/dev/null 2>&1 &\necho $! >/tmp/pid")
    lio.wait_hanging(victim)
    quick(lab.server, f"cat {CTL}/serving\n[ $(cat {CTL}/serving) = 1 ]", "to see whether it serves")
    quick(lab.server, f"echo 0 >{CTL}/serving\necho 1 >{CTL}/serving", "to stop serving, and start")
    quick(lab.server, DEATH, "his death")
    lio.let_go(victim)
    rnbd.wait_until(lab.server, f"! grep -q ^{name} {LIST}", 30, "it is clear")
    rnbd.equal((victim.keys(), victim.held()), ([], ""), "at the disk")


def unload(lab: Lab, a: Member, n: Member, victim: lio.Pair, neighbour: lio.Pair) -> None:
    """The module waits for the victim, but not with the neighbour, and not for ever."""
    for member in (a, n):
        rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{member.disk}/rnbd/state", GONE, "the disk is back")
        member.must("ok", "ignore", member.key)
        member.must("ok", "reserve", member.key, EXCLUSIVE)
        member.unmap()
    rnbd.unload_client(lab)
    lab.server.run(f"rmdir {TREE}/victim {TREE}/neighbour {TREE}/plain")
    lio.hang_commands(victim)
    gone = lab.server.spawn("rmmod rnbd_server", 120)
    rnbd.wait_until(lab.server, f"! sg_persist --no-inquiry --in --read-keys {neighbour.other} | grep -q '^ *0x'", 30,
                    "the neighbour is given back")
    rnbd.check(gone.running, "the victim did not hang")
    lio.let_go(victim)
    rnbd.check(lab.server.wait(gone).ok, "the module stays")
    for pair in (victim, neighbour):
        rnbd.equal((pair.keys(), pair.held()), ([], ""), "after the unload")
    lab.server.run("rmmod rtrs_server rtrs_core")


def left_at_the_disk(lab: Lab, a: Member, n: Member, victim: lio.Pair, neighbour: lio.Pair) -> None:
    """A client leaves while the disk has its question, and the module is unloaded: what comes of it goes, too."""
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    for name, pair in (("victim", victim), ("neighbour", neighbour)):
        rnbd.make_export(lab.server, name, pair.mine, access="shared")
    for member, name in ((a, "victim"), (n, "neighbour")):
        member.map(name, "shared")
    n.enrol()
    lio.hang_commands(victim)
    question = lab.client.spawn(a.text_of("register", 0, a.key), 120)
    lio.wait_hanging(victim)
    lab.client.run("sleep 2")  # the server waits for a second
    a.unmap("force")
    rnbd.equal(lab.client.wait(question).out.strip(), "No such device", "the question of a disk that was unmapped")
    n.unmap()
    for name in ("victim", "neighbour"):
        rnbd.wait_until(lab.server, f"[ $(cat {TREE}/{name}/users) = 0 ]", GONE, "no users")
    rnbd.unload_client(lab)
    lab.server.run(f"rmdir {TREE}/victim {TREE}/neighbour")
    gone = lab.server.spawn("rmmod rnbd_server", 120)
    rnbd.wait_until(lab.server, f"! sg_persist --no-inquiry --in --read-keys {neighbour.other} | grep -q '^ *0x'", 30,
                    "the neighbour is given back")
    rnbd.check(gone.running, "the victim did not hang")
    lio.let_go(victim)
    rnbd.check(lab.server.wait(gone).ok, "the module stays")
    for pair in (victim, neighbour):
        rnbd.equal((pair.keys(), pair.held()), ([], ""), "after the unload")
    lab.server.run("rmmod rtrs_server rtrs_core")


def run(lab: Lab) -> None:
    # The victim is the first in every list.
    victim, neighbour = (lio.make_disk(lab.server, number) for number in (1, 2))
    plain = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    for name, device in (("victim", victim.mine), ("neighbour", neighbour.mine), ("plain", plain)):
        rnbd.make_export(lab.server, name, device, access="shared" if device != plain else "rw")
    a = Member(lab, lab.client, "a", key=0xa1)
    n = Member(lab, lab.client, "a", key=0xa2, tool=a.tool)
    try:
        for member, name in ((a, "victim"), (n, "neighbour")):
            member.map(name, "shared")
            member.enrol()
        beside(lab, a, n, victim)
        gives_up(lab, a, victim)
        administrator(lab, victim)
        unload(lab, a, n, victim, neighbour)
        left_at_the_disk(lab, a, n, victim, neighbour)
    finally:
        lio.let_go(victim)
    for number in (1, 2):
        lio.remove_disk(lab.server, number)
    lio.remove(lab.server)
