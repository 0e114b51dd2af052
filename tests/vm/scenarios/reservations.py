# SPDX-License-Identifier: GPL-2.0
"""Persistent reservations: clients keep each other out of a disk, and others than their server, too.

The disk is one of Linux's own SCSI target, whose reservations are real; another initiator looks at what the server
holds of it. A third client runs on the server's own machine. What a fenced client wrote late never lands: not what
waits in the server's disk, nor what waits at the client for a path, nor after its machine lost its power.
"""

from vmlab import fio, lio, rnbd
from vmlab.lab import Lab
from vmlab.member import CONFLICT, LIST, Member, registered
from vmlab.shared import BLOCKS

SLOW = True
OURS = ("client", "server")
TREE = rnbd.CONFIGURED
GONE = 35 + 15
WRITE_EXCLUSIVE, EXCLUSIVE_ACCESS, WRITE_REG, ACCESS_REG, WRITE_ALL, ACCESS_ALL = range(1, 7)


def rules(lab: Lab, pair: lio.Pair, a: Member, b: Member, c: Member) -> int:
    """Who may do what; the server's own key."""
    stranger = Member(lab, lab.client, "d", tool=a.tool)
    stranger.map("gfs", "shared")
    a.must("conflict", "reserve", a.key, WRITE_REG)
    a.must("Operation not supported", "reserve", a.key, 9)
    for member in (a, b, c):
        member.enrol()
    a.must("conflict", "register", 0, 99)
    rnbd.equal(len(pair.keys()), 1, "registrations at the disk")
    server = pair.keys()[0]
    for kind, holder, registrant, other, held in (
            (WRITE_EXCLUSIVE, (True, True), (True, False), (True, False), "Write Exclusive, registrants only"),
            (EXCLUSIVE_ACCESS, (True, True), (False, False), (False, False), "Exclusive Access, registrants only"),
            (WRITE_REG, (True, True), (True, True), (True, False), "Write Exclusive, registrants only"),
            (ACCESS_REG, (True, True), (True, True), (False, False), "Exclusive Access, registrants only"),
            (WRITE_ALL, (True, True), (True, True), (True, False), "Write Exclusive, registrants only"),
            (ACCESS_ALL, (True, True), (True, True), (False, False), "Exclusive Access, registrants only")):
        a.must("ok", "reserve", a.key, kind)
        b.must("ok" if kind >= WRITE_ALL else "conflict", "reserve", b.key, kind)
        a.may(*holder)
        for member in (b, c):
            member.may(*registrant)
        stranger.may(*other)
        rnbd.equal(pair.held(), held, "what the server holds of the disk")
        result = lab.server.try_run(f"dd if=/dev/zero of={pair.other} bs=4k count=1 oflag=direct 2>&1")
        rnbd.check(not result.ok and CONFLICT in result.out, f"another initiator wrote: {result.out}")
        a.must("ok", "release", a.key, kind)
        rnbd.equal(pair.held(), "", "what is left at the disk")
        stranger.may(True, True)
    # A holder changes the type.
    a.must("ok", "reserve", a.key, WRITE_EXCLUSIVE)
    a.must("ok", "preempt", a.key, a.key, ACCESS_REG)
    rnbd.equal(pair.held(), "Exclusive Access, registrants only", "after a change of type")
    rnbd.equal(registered(lab)[1:], [f"{m.session} - {m.key:#x}{' holder' if m is a else ''}" for m in (a, b, c)],
               "who is registered")
    b.must("ok", "clear", b.key)
    rnbd.equal((registered(lab), pair.keys(), pair.held()), ([], [], ""), "after a clear")
    stranger.may(True, True)
    stranger.unmap()
    return server


def reconnect(lab: Lab, a: Member, c: Member) -> None:
    """Key and holder outlive the session."""
    for member in (a, c):
        member.enrol()
    a.must("ok", "reserve", a.key, WRITE_EXCLUSIVE)
    before = registered(lab)
    rnbd.write(lab.client, f"/sys/block/{a.disk}/rnbd/no_path_timeout", "-1")
    lab.client.set_link(0, False)
    rnbd.wait_until(lab.server, "! ls -d /sys/class/rnbd-server/ctl/devices/*/sessions/a", GONE, "the session is gone")
    c.may(True, False)
    rnbd.equal(registered(lab), before, "who is registered, while one is away")
    lab.client.set_link(0, True)
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{a.disk}/rnbd/state", GONE, "it is back")
    a.may(True, True)
    c.may(True, False)
    a.unmap()
    a.map("gfs", "shared")
    a.may(True, True)
    rnbd.equal(registered(lab), before, "who is registered, after a reconnect and another map")
    a.must("ok", "clear", a.key)


def digest(client: Member, area: int) -> str:
    return client.machine.run(f"dd if=/dev/{client.disk} bs=64k count={BLOCKS} skip={area * BLOCKS} iflag=direct "
                              "2>/dev/null | md5sum", 120).split()[0]


def stays(client: Member, area: int, text: str) -> None:
    before = digest(client, area)
    client.machine.run("sleep 3")
    rnbd.equal(digest(client, area), before, text)


def fenced_in_the_disk(lab: Lab, b: Member, c: Member) -> None:
    """The victim's writes are in a disk that hangs: the preemption is said to be done when they have ended."""
    for member in (b, c):
        member.enrol()
    b.must("ok", "reserve", b.key, WRITE_REG)
    load = fio.background(b.machine, f"/dev/{b.disk}", 120, rw="randwrite", depth=32, offset=1 * BLOCKS << 16)
    busy = f"[ $(tr -s ' ' </sys/block/{b.disk}/stat | sed 's/^ //' | cut -d' ' -f5) -gt 200 ]"
    rnbd.wait_until(b.machine, busy, 60, "load")
    lab.server.run("dmsetup suspend --nolockfs --noflush --noudevsync shared")
    waiting = f"$(tr -s ' ' </sys/block/{b.disk}/inflight | cut -d' ' -f3)"
    rnbd.wait_until(b.machine, f"[ {waiting} -ge 32 ]", 60, "writes wait for the disk")
    preempt = lab.server.spawn(c.text_of("abort", c.key, b.key, WRITE_REG), 120)
    rnbd.wait_until(lab.server, f"! grep -q ' b ' {LIST}", 30, "the victim is registered no more")
    lab.server.run("sleep 3")
    rnbd.check(preempt.running, "the preemption was said to be done while the victim's writes were under way")
    # Others wait for nothing of it.
    lab.server.run("dmsetup resume --noudevsync shared")
    result = lab.server.wait(preempt)
    rnbd.equal(result.out.strip(), "ok", "the preemption")
    stays(c, 1, "what the victim had written, after the preemption")
    rnbd.check(not b.machine.wait(load).ok, "the victim's writes went on")
    b.may(True, False)
    c.may(True, True)
    c.must("ok", "clear", c.key)


def fenced_on_its_way(lab: Lab, b: Member, c: Member) -> None:
    """The victim's writes wait at its machine for a path, and arrive when it has been preempted."""
    for member in (b, c):
        member.enrol()
    b.must("ok", "reserve", b.key, WRITE_REG)
    c.machine.run(c.put("/usr/bin/bash", 1, 16))
    rnbd.write(lab.client, f"/sys/block/{b.disk}/rnbd/no_path_timeout", "-1")
    lab.client.set_link(0, False)
    write = lab.client.spawn(f"LC_ALL=C {b.put('/usr/bin/git', 1, 16).replace('2>/dev/null', '2>&1')}", 180)
    release = lab.client.spawn(b.text_of("release", b.key, WRITE_REG), 180)
    rnbd.wait_until(lab.server, "! ls -d /sys/class/rnbd-server/ctl/devices/*/sessions/b", GONE, "the session is gone")
    c.must("ok", "preempt", c.key, b.key, WRITE_REG)
    rnbd.check(write.running and release.running, "the victim waits for a path")
    lab.client.set_link(0, True)
    late = lab.client.wait(write)
    rnbd.check(not late.ok and CONFLICT in late.out, f"the late write: {late.out}")
    rnbd.equal(lab.client.wait(release).out.strip(), "conflict", "the late release")
    c.same("/usr/bin/bash", 1, 16)
    c.must("ok", "clear", c.key)
    b.may(True, True)


def ends_with_the_path(lab: Lab, a: Member, b: Member) -> None:
    """A question that finds no path ends as a request would, and with the disk."""
    rnbd.write(lab.client, f"/sys/block/{b.disk}/rnbd/no_path_timeout", "-1")
    lab.client.set_link(0, False)
    rnbd.wait_until(lab.client, f"! grep -qx open /sys/block/{b.disk}/rnbd/state", GONE, "no path")
    question = lab.client.spawn(b.text_of("register", 0, b.key), 120)
    lab.client.run("sleep 1")
    rnbd.check(question.running, "the question waits for a path")
    rnbd.write(lab.client, f"/sys/block/{b.disk}/rnbd/no_path_timeout", "1")
    rnbd.equal(lab.client.wait(question).out.strip(), "Input/output error", "no path for its time")
    rnbd.write(lab.client, f"/sys/block/{b.disk}/rnbd/no_path_timeout", "-1")
    question = lab.client.spawn(b.text_of("register", 0, b.key), 120)
    lab.client.run("sleep 1")
    b.unmap("force")
    rnbd.equal(lab.client.wait(question).out.strip(), "No such device", "the disk is unmapped")
    lab.client.set_link(0, True)
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{a.disk}/rnbd/state", GONE, "another session is back")
    b.map("gfs", "shared")


def holder_without_power(lab: Lab, a: Member, b: Member, c: Member) -> None:
    """The holder's machine goes off under load; another one takes over, and it comes back as a stranger."""
    for member in (a, c):
        member.enrol()
    a.must("ok", "reserve", a.key, EXCLUSIVE_ACCESS)
    fio.background(a.machine, f"/dev/{a.disk}", 300, rw="randwrite", depth=32)
    c.may(False, False)
    lab.client.kill()
    rnbd.wait_until(lab.server, "! ls -d /sys/class/rnbd-server/ctl/devices/*/sessions/[ab]", GONE, "they are gone")
    # Nobody takes it from a dead one but who wants to.
    c.may(False, False)
    c.must("ok", "preempt", c.key, a.key, EXCLUSIVE_ACCESS)
    c.machine.run(c.put("/usr/bin/bash", 0, 16))
    lab.reboot("client")
    rnbd.load_client(lab)
    for member in (a, b):
        member.tool.pop(lab.client.name, None)
    a.map("gfs", "shared")
    a.may(False, False)
    a.must("conflict", "reserve", a.key, EXCLUSIVE_ACCESS)
    c.same("/usr/bin/bash", 0, 16)
    # The server's administrator has the last word.
    disk = rnbd.read(lab.server, LIST).split()[0]
    rnbd.write(lab.server, "/sys/class/rnbd-server/ctl/clear_reservations", disk)
    a.may(True, True)
    a.same("/usr/bin/bash", 0, 16)
    rnbd.equal(rnbd.write_error(lab.server, "/sys/class/rnbd-server/ctl/clear_reservations", disk), "ENOENT",
               "a second clear")


def only_to_read(lab: Lab, a: Member, c: Member) -> None:
    """Who may not write keeps nobody from it; and a disk that knows no reservations has none."""
    c.unmap()
    c.map("gfs", "ro")
    c.must("Permission denied", "register", 0, c.key)
    c.unmap()
    c.map("gfs", "shared")
    plain = Member(lab, lab.client, "a", key=1, tool=a.tool)
    plain.map("plain", "rw")
    plain.must("Operation not supported", "register", 0, 1)
    plain.unmap()


def slices(lab: Lab, pair: lio.Pair, a: Member, plain: str) -> None:
    """Two parts of one disk have no reservations, since what device mapper makes of them is one of the whole disk: if
    the second one registers, what the first has reserved is gone. Both are told so, and nothing is left at the disk."""
    words = "can have no reservations"
    exports = ["half0", "half1", "part"]
    lab.server.run("".join(f"dmsetup create --noudevsync {name} --table '0 8192 linear {pair.mine} {8192 * i}'\n"
                           f"dmsetup mknodes {name}\n" for i, name in enumerate(exports[:2]))
                   + f"printf 'label: gpt\nsize=8MiB\n' | sfdisk -q {plain}\nblockdev --rereadpt {plain} || true\n"
                   f"[ -b {plain}p1 ]", 60)
    members = [Member(lab, lab.client, name, key=0xe1 + i, tool=a.tool) for i, name in enumerate(exports)]
    try:
        for member, disk in zip(members, ("/dev/mapper/half0", "/dev/mapper/half1", f"{plain}p1"), strict=True):
            rnbd.make_export(lab.server, member.session, disk, access="shared")
            member.map(member.session, "shared")
        for member in members:
            member.must("Operation not supported", "register", 0, member.key)
            member.must("Operation not supported", "reserve", member.key, WRITE_REG)
            lab.server.run(f"dmesg | grep -q '{member.session} {words}: it is a '")
        rnbd.equal((pair.keys(), pair.held(), registered(lab)), ([], "", []), "what two parts leave at the disk")
        for member in members:
            lab.client.run(f"dd if=/dev/zero of=/dev/{member.disk} bs=4k count=1 oflag=direct 2>/dev/null")
    finally:
        for member in members:
            member.unmap("force")
        rnbd.wait_until(lab.server, f"! grep -hv '^0$' {' '.join(f'{TREE}/{name}/users' for name in exports)}", GONE,
                        "no users")
        lab.server.run("".join(f"rmdir {TREE}/{name}\n" for name in exports)
                       + "".join(f"dmsetup remove --noudevsync --retry {name}\n" for name in exports[:2]))


def left_behind(lab: Lab, pair: lio.Pair, a: Member, server: int) -> None:
    """What an earlier life of the server holds of the disk is taken over; what others of its machine hold is not."""
    for export in ("gfs", "raw"):
        a.unmap()
        a.map(export, "shared")
        for kind, held in ((5, "Write Exclusive, registrants only"), (6, "Exclusive Access, registrants only")):
            lab.server.run(f"sg_persist --no-inquiry --out --register --param-sark={server:x} {pair.mine}\n"
                           f"sg_persist --no-inquiry --out --reserve --param-rk={server:x} --prout-type={kind} "
                           f"{pair.mine}")
            rnbd.equal(pair.held(), held, "what is left behind")
            a.enrol()
            rnbd.equal((pair.keys(), pair.held()), ([server], ""), "what was taken over")
            a.must("ok", "register", a.key, 0)
            rnbd.equal(pair.keys(), [], "registrations at the disk")
    lab.server.run(f"sg_persist --no-inquiry --out --register --param-sark=77 {pair.mine}")
    a.must("conflict", "register", 0, a.key)
    rnbd.equal((pair.keys(), registered(lab)), ([0x77], []), "what belongs to another program of the server")
    lab.server.run(f"sg_persist --no-inquiry --out --register --param-rk=77 --param-sark=0 {pair.mine}")
    # Another initiator holds the disk.
    a.enrol()
    lab.server.run(f"sg_persist --no-inquiry --out --register --param-sark=88 {pair.other}\n"
                   f"sg_persist --no-inquiry --out --reserve --param-rk=88 --prout-type=1 {pair.other}")
    a.must("conflict", "reserve", a.key, WRITE_REG)
    lab.server.run(f"sg_persist --no-inquiry --out --release --param-rk=88 --prout-type=1 {pair.other}\n"
                   f"sg_persist --no-inquiry --out --register --param-rk=88 --param-sark=0 {pair.other}")
    a.may(True, True)
    a.must("ok", "reserve", a.key, WRITE_REG)
    a.must("ok", "clear", a.key)
    a.unmap()
    a.map("gfs", "shared")


def run(lab: Lab) -> None:
    pair = lio.make_disk(lab.server)
    # By its uuid a multipath map; the kernels of some tests have no dm-multipath.
    disk = rnbd.named_disk(lab.server, pair.mine, "shared", "mpath-TEST-31")
    plain = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    lab.server.run("modprobe rnbd_client", 90)
    tool: dict[str, str] = {}
    a, b = (Member(lab, lab.client, name, key=key, tool=tool) for name, key in (("a", 0xa1), ("b", 0xb2)))
    c = Member(lab, lab.server, "c", key=0xc3, tool=tool)
    rnbd.make_export(lab.server, "gfs", disk, access="shared")
    rnbd.make_export(lab.server, "raw", pair.mine, access="shared", local_use="shared")  # the map has it, too
    rnbd.make_export(lab.server, "plain", plain)
    try:
        for client in (a, b, c):
            client.map("gfs", "shared")
        server = rules(lab, pair, a, b, c)
        reconnect(lab, a, c)
        fenced_in_the_disk(lab, b, c)
        fenced_on_its_way(lab, b, c)
        ends_with_the_path(lab, a, b)
        holder_without_power(lab, a, b, c)
        only_to_read(lab, a, c)
        slices(lab, pair, a, plain)
        left_behind(lab, pair, a, server)
        # With the module goes what the server holds.
        a.must("ok", "ignore", a.key)
        a.must("ok", "reserve", a.key, WRITE_REG)
        rnbd.equal((pair.keys(), pair.held()), ([server], "Write Exclusive, registrants only"), "before the unload")
        for client in (a, c):
            client.unmap()
        rnbd.wait_until(lab.server, f"[ $(cat {TREE}/gfs/users) = 0 ]", GONE, "no users")
        lab.server.run(f"rmmod rnbd_client rtrs_client\nrmdir {TREE}/gfs {TREE}/raw {TREE}/plain", 90)
        rnbd.unload_client(lab)
        rnbd.unload_server(lab)
        rnbd.equal((pair.keys(), pair.held()), ([], ""), "after the unload")
    finally:
        lab.server.try_run("dmsetup resume --noudevsync shared")
        for machine in (lab.client, lab.server):
            if machine.alive:
                machine.try_run("for d in /sys/block/rnbd*/rnbd; do [ ! -e $d ] || echo force >$d/unmap_device; done")
        lab.server.try_run("rmmod rnbd_client rtrs_client", 90)
        lab.server.try_run(f"for i in $(seq 50); do\n[ ! -d {TREE} ] || rmdir {TREE}/* 2>/dev/null || {{ sleep 0.2; "
                           "continue; }\nbreak\ndone\n"
                           "rmmod rnbd_server rtrs_server rtrs_core", 90)
        lab.server.try_run("dmsetup remove --noudevsync --retry shared")
        lio.remove_disk(lab.server)
        lio.remove(lab.server)
