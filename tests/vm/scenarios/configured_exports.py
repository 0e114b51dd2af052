# SPDX-License-Identifier: GPL-2.0
"""Exports in configfs: only what is listed, only for whom it is listed; changes close out who has it open."""

from vmlab import fio, rnbd
from vmlab.lab import Lab
from vmlab.multipath import connects, folder, wait_back

SLOW = True
OURS = ("client", "server")
TREE = rnbd.CONFIGURED


def refused(lab: Lab, device: str, want: str, session: str = "vm", **options: object) -> None:
    got = rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", rnbd.map_text(lab, device, session, **options))
    rnbd.equal(got, want, f"mapping {device} in session {session} {options}")


def closed_out(lab: Lab, name: str) -> None:
    rnbd.wait_until(lab.client, f"grep -qx closed /sys/block/{name}/rnbd/state", 20, "the client is closed out")
    lab.client.run(f"! dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct")
    rnbd.equal(rnbd.write_error(lab.client, f"/sys/block/{name}/rnbd/remap_device", "1"), "EACCES", "remap")


def served_at_last(lab: Lab) -> None:
    """Loaded with serving=N it lets exports be made, and no client in."""
    serving = "/sys/class/rnbd-server/ctl/serving"
    rnbd.equal(rnbd.read(lab.server, serving), "0", "serving")
    error = rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", rnbd.map_text(lab, "one", "vm"))
    rnbd.check(error not in ("", "EACCES"), f"a server that does not serve yet answered: {error or 'mapped'}")
    rnbd.write(lab.server, serving, "1")


def inputs(lab: Lab) -> None:
    rows = [("device_path", "", "EINVAL"), ("device_path", "nullb7", "EINVAL"), ("access", "wo", "EINVAL"),
            ("enable", "2", "EINVAL"), ("enable", "1", "EINVAL"), ("allowed_addresses", "10.10.0.300", "EINVAL"),
            ("allowed_addresses", "10.10.0.0/33", "EINVAL"), ("allowed_addresses", "host", "EINVAL"),
            ("allowed_sessions", "x" * 1024, "EINVAL")]
    errors = rnbd.write_errors(lab.server, [(f"{TREE}/one/{entry}", text) for entry, text, _ in rows])
    for (entry, text, want), got in zip(rows, errors, strict=True):
        rnbd.equal(got, want, f"{text[:20]!r} to {entry}")


def rules(lab: Lab, disk: str) -> None:
    one = f"{TREE}/one"
    refused(lab, "one", "EACCES")
    rnbd.write(lab.server, f"{one}/enable", "1")
    rnbd.equal(rnbd.write_error(lab.server, f"{one}/device_path", disk), "EBUSY", "device_path of an enabled export")
    unlisted = (disk, "two", "/one", "one/")
    for nothing in unlisted:
        refused(lab, nothing, "EACCES")
    rnbd.equal(rnbd.read(lab.server, f"{TREE}/../denied_unlisted"), str(len(unlisted)), "denied_unlisted")

    name = rnbd.map_device(lab, "one")
    fio.verify(lab.client, f"/dev/{name}")
    rnbd.equal(rnbd.read(lab.server, f"{one}/users"), "1", "users")
    rnbd.check(not lab.server.try_run(f"rmdir {one}").ok, "rmdir of an export in use worked")
    for entry, bad, good in (("access", "ro", "rw"), ("allowed_sessions", "other vn*", "other v*"),
                             ("allowed_addresses", "10.10.0.1 fd00::/8", "10.10.0.0/30"), ("enable", "0", "1")):
        load = fio.background(lab.client, f"/dev/{name}", 60)
        lab.client.run("sleep 1")
        rnbd.write(lab.server, f"{one}/{entry}", bad)
        rnbd.check(not lab.client.wait(load).ok, f"I/O went on after {entry} became {bad}")
        closed_out(lab, name)
        rnbd.equal(rnbd.read(lab.server, f"{one}/users"), "0", "users")
        rnbd.write(lab.server, f"{one}/{entry}", good)
        rnbd.write(lab.client, f"/sys/block/{name}/rnbd/remap_device", "1")
        rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/rnbd/state"), "open", "state after the remap")
    refused(lab, "one", "EACCES", session="wm")
    refused(lab, "one", "EACCES", session="vm2", access_mode="migration")
    # A path from a host that is not allowed is no path for this session.
    text = f"ip:{lab.client.address(1)}@ip:{lab.server.address(1)}"
    rnbd.check(rnbd.write_error(lab.client, "/sys/class/rtrs-client/vm/add_path", text), "a path from elsewhere worked")
    rnbd.check(int(rnbd.read(lab.server, f"{one}/denied")) >= 6, "refusals are not counted")
    fio.verify(lab.client, f"/dev/{name}")
    rnbd.unmap(lab, name)
    lab.client.run("[ -z \"$(ls /sys/class/rtrs-client/vm 2>/dev/null)\" ]")


def no_other_name(lab: Lab, below: str) -> None:
    """Who is kept out of an export is kept out of its disk: he does not get it back by its wwid under another name."""
    disk = rnbd.named_disk(lab.server, below, "thing", "TEST-21")
    for export in ("mine", "other"):
        lab.server.run(f"mkdir {TREE}/{export}")
        rnbd.write(lab.server, f"{TREE}/{export}/device_path", disk)
        rnbd.write(lab.server, f"{TREE}/{export}/enable", "1")
    try:
        name = rnbd.map_device(lab, "mine")
        rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/wwid"), "dm.TEST-21", "wwid")
        rnbd.write(lab.server, f"{TREE}/mine/allowed_sessions", "none")
        closed_out(lab, name)
        rnbd.equal(rnbd.read(lab.server, f"{TREE}/other/users"), "0", "users of the other export")
        # It is to be had by who asks for it: what keeps him from it is the refusal.
        rnbd.unmap(lab, rnbd.map_device(lab, "wwid:dm.TEST-21"))
    finally:
        lab.client.try_run("for d in /sys/block/rnbd*/rnbd; do echo force >$d/unmap_device; done")
        lab.server.run(f"sleep 0.5\nrmdir {TREE}/mine {TREE}/other\ndmsetup remove --noudevsync --retry thing")


def removed(lab: Lab, below: str) -> None:
    """What was removed is closed, also when the client connects anew and the search path leads to the disk."""
    disk, mine = rnbd.named_disk(lab.server, below, "thing", "TEST-23"), f"{TREE}/mine"
    make = f"mkdir {mine}\necho {disk} >{mine}/device_path\necho 1 >{mine}/enable"
    lab.server.run(make)
    try:
        name = rnbd.map_device(lab, "mine")
        rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/wwid"), "dm.TEST-23", "wwid")
        rnbd.write(lab.server, f"{mine}/enable", "0")
        closed_out(lab, name)
        lab.server.run(f"rmdir {mine}")
        before = connects(lab, 0)
        lab.client.run(f"p={folder(lab, 0)}\necho 1 >$p/disconnect\necho 1 >$p/reconnect")
        wait_back(lab, 0, before, 30)
        # The reconnect does not ask for what the server has closed; whoever does so finds nothing.
        rnbd.equal(rnbd.write_error(lab.client, f"/sys/block/{name}/rnbd/remap_device", "1"), "ENOENT", "remap")
        rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/rnbd/state"), "closed", "state of a removed export")
        rnbd.equal(lab.server.run("ls /sys/class/rnbd-server/ctl/devices"), "", "what the server has open")
        lab.server.run(make)
        rnbd.write(lab.client, f"/sys/block/{name}/rnbd/remap_device", "1")
        rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/rnbd/state"), "open", "state after it was made again")
        rnbd.unmap(lab, name)
    finally:
        lab.client.try_run("for d in /sys/block/rnbd*/rnbd; do echo force >$d/unmap_device; done")
        lab.server.run(f"sleep 0.5\n[ ! -e {mine} ] || rmdir {mine}\ndmsetup remove --noudevsync --retry thing")


def discover(lab: Lab, session: str = "ask", paths: bool = True, **options: object) -> tuple[list[list[str]], str]:
    """The lines of ctl/discovered, split, and what the last one says; the question is asked anew."""
    question = " ".join([f"sessname={session}", *([rnbd.path_option(lab)] if paths else []),
                         *(f"{key}={value}" for key, value in options.items())])
    rnbd.write(lab.client, f"{rnbd.CTL}/discover", question)
    lines = lab.client.run(f"cat {rnbd.CTL}/discovered").splitlines()
    number, asked = lines[0].split(" ", 1)
    rnbd.equal(asked, question, "the question that was answered")
    last = lines[-1].split(" ")
    rnbd.equal(last[:2], ["end", number], "the end of the answer")
    return [line.split(" ", 3) for line in lines[1:-1]], last[2]


def discovered(lab: Lab, disk: str) -> None:
    """A session is told of what it could open, and of nothing else; it is there for the question only."""
    sectors = rnbd.read(lab.server, f"/sys/block/{disk.removeprefix('/dev/')}/size")
    ask = f"{rnbd.CTL}/discover"
    rnbd.equal(rnbd.write_error(lab.client, ask, "sessname=ask"), "ENXIO", "no session, no path")
    rnbd.equal(rnbd.write_error(lab.client, ask, "sessname=ask owner=x"), "EINVAL", "an option of map")

    def told(session: str = "ask", paths: bool = True) -> list[list[str]]:
        return [row for row in discover(lab, session, paths)[0] if row[3] != "one"]

    rnbd.make_export(lab.server, "all", disk)
    rnbd.make_export(lab.server, "for vm", disk, allowed_sessions="vm", access="ro")
    rnbd.make_export(lab.server, "hers", disk, allowed_keys="hers")
    rnbd.make_export(lab.server, "there", disk, allowed_addresses="10.10.1.0/24")
    rnbd.make_export(lab.server, "gone", "/dev/none", access="migration")
    rnbd.make_export(lab.server, "off", disk)
    rnbd.write(lab.server, f"{TREE}/off/enable", "0")
    names = ["all", "for vm", "hers", "there", "gone", "off"]
    try:
        gone, free = ["0", "migration", "missing", "gone"], [sectors, "rw", "-", "all"]
        rnbd.equal(told(), [free, gone], "what ask is told")
        hers = [sectors, "ro", "-", "for vm"]
        rnbd.equal(told("vm"), [free, hers, gone], "what vm is told")
        rnbd.equal((rnbd.sessions(lab.client, "client"), rnbd.read(lab.server, f"{TREE}/all/denied")), ([], "0"),
                   "what is left of a question")
        disk_of_vm = rnbd.map_device(lab, "all")
        rnbd.equal([row[2] for row in told("vm", False)], ["here", "here", "missing"], "what vm has itself")
        rnbd.equal([row[2] for row in told()], ["written", "missing"], "of what vm has")
        rnbd.equal(rnbd.read(lab.client, f"/sys/block/{disk_of_vm}/rnbd/state"), "open", "the disk after that")
        rnbd.unmap(lab, disk_of_vm)
        # More than an answer of one page has, and more than a page of the file.
        many = [f"{number:03}-{'n' * 200}" for number in range(40)]
        names += many
        lab.server.run("".join(f"mkdir {TREE}/{name}\necho {disk} >{TREE}/{name}/device_path\n"
                               f"echo 1 >{TREE}/{name}/enable\n" for name in many), 60)
        rnbd.equal([row[3] for row in told()], ["all", "gone", *many], "many names")
        rnbd.write(lab.server, "/sys/class/rnbd-server/ctl/serving", "0")
        rnbd.check(rnbd.write_error(lab.client, ask, f"sessname=ask {rnbd.path_option(lab)}"),
                   "a server that does not serve was asked")
        rnbd.write(lab.server, "/sys/class/rnbd-server/ctl/serving", "1")
    finally:
        lab.client.try_run("for d in /sys/block/rnbd*/rnbd; do echo force >$d/unmap_device; done")
        lab.server.run("sleep 0.5\n" + "".join(f"rmdir '{TREE}/{name}'\n" for name in names))


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    lab.server.run("modprobe rtrs_server\nmodprobe rnbd_server exports_only=Y serving=N\n"
                   f"mkdir {TREE}/one\n! mkdir {TREE}/one 2>/dev/null", 90)
    try:
        rnbd.load_client(lab)
        served_at_last(lab)
        inputs(lab)
        rnbd.write(lab.server, f"{TREE}/one/device_path", disk)
        rules(lab, disk)
        rnbd.write(lab.server, f"{TREE}/one/enable", "1")
        discovered(lab, disk)
        rnbd.equal(discover(lab, "vm")[1], "exports", "what else may be opened")
        rnbd.check(not lab.server.try_run("rmmod rnbd_server").ok, "the module went away below its exports")
    finally:
        lab.client.try_run("for d in /sys/block/rnbd*/rnbd; do echo force >$d/unmap_device; done")
        rnbd.wait_until(lab.server, f"[ $(cat {TREE}/one/users) = 0 ]", 30, "no users")
        lab.server.run(f"rmdir {TREE}/one")
    rnbd.unload_client(lab)
    # Without exports_only a name that is no export is a path, as ever.
    rnbd.unload_server(lab)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    rnbd.unmap(lab, rnbd.map_device(lab, disk))
    rnbd.equal(discover(lab), ([], "paths"), "what a server tells that exports nothing by name")
    no_other_name(lab, disk)
    removed(lab, disk)
