# SPDX-License-Identifier: GPL-2.0
"""What a key opens (protocol J.3): names of sessions, exports, and a folder of one's own; changes hold at once."""

from vmlab import rnbd
from vmlab.keys import add_key, fresh_secret
from vmlab.lab import Lab
from vmlab.multipath import connects, end_load, folder, gentle_load, wait_back, wait_lost

OURS = ("client", "server")
KEYS = "/sys/kernel/config/rtrs/keys"
EXPORTS = "/sys/kernel/config/rnbd/exports"
FOLDERS = "/tmp/exports"
KEPT_OUT = "EKEYREJECTED"  # whoever has proven a key is told no more than that


def refuses(lab: Lab, want: str, device: str, session: str, **options: object) -> None:
    text = rnbd.map_text(lab, device, session, **options)
    rnbd.equal(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text, 90), want, text)


def works(lab: Lab, device: str, session: str, **options: object) -> None:
    rnbd.unmap(lab, rnbd.map_device(lab, device, session, **options))


def lists(lab: Lab) -> None:
    for bad in ("-a", "a:1", "a b", "k" * 64):
        rnbd.check(not lab.server.try_run(f"mkdir '{KEYS}/{bad}'").ok, f"a rule for a key {bad!r}, which no key can be")
    lab.server.run(f"mkdir {KEYS}/owner {KEYS}/guest")
    rnbd.equal(rnbd.read(lab.server, f"{KEYS}/owner/allowed_sessions"), "", "list of a new folder")
    for bad in ("a/b", "ctl", "x" * 1024, "a .*"):
        rnbd.equal(rnbd.write_error(lab.server, f"{KEYS}/owner/allowed_sessions", bad), "EINVAL", f"list {bad[:20]!r}")
    rnbd.check(not lab.server.try_run("rmmod rnbd_server && rmmod rtrs_server").ok, "the rules do not hold the module")
    rnbd.load_server(lab)


def names(lab: Lab, disk: str) -> None:
    allow(lab, "owner", "vm web-*")
    works(lab, disk, "vm", key="owner")
    works(lab, disk, "web-1", key="owner")
    refuses(lab, KEPT_OUT, disk, "web", key="owner")
    # Others have what is nobody's.
    refuses(lab, KEPT_OUT, disk, "vm", key="guest")
    works(lab, disk, "web", key="guest")
    # Without a proof as well, where the server lets such clients in.
    rnbd.check(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", rnbd.map_text(lab, disk, "web-2"), 90),
               "somebody without a proof got a name that is a key's")
    works(lab, disk, "web")
    lines = rnbd.read(lab.server, "/sys/kernel/debug/rtrs-server/refusals").splitlines()
    rnbd.check(int(dict(line.split() for line in lines)["name_denied"]) >= 3, f"the server has counted {lines}")


def changes(lab: Lab, disk: str, **options: object) -> None:
    """A list that changes ends the sessions that it no longer allows, and no other one."""
    allow(lab, "owner", "")
    name = rnbd.map_device(lab, disk, no_path_timeout=-1, **options)
    load = gentle_load(lab, name, 300)
    other = rnbd.map_device(lab, disk, "other", key="guest", access_mode="ro", no_path_timeout=0)
    beside = lab.client.spawn(f"while [ ! -e /tmp/go ]; do dd if=/dev/{other} of=/dev/null bs=4k count=1 iflag=direct "
                              "2>/dev/null; sleep 0.2; done; rm /tmp/go", 120)
    before = connects(lab, 0)
    allow(lab, "owner" if "key" in options else "guest", "web-*" if "key" in options else "vm other")
    wait_lost(lab, 0, before, 10)
    # It tries on, in vain.
    rnbd.wait_until(lab.client, f"set -- $(cat '{folder(lab, 0)}/stats/reconnects'); "
                    f"[ $2 -gt {before.split()[1]} ]", 30, "the client has tried again")
    rnbd.equal(rnbd.sessions(lab.server, "server"), ["other"], "sessions of the server")
    allow(lab, "owner", "")
    allow(lab, "guest", "")
    wait_back(lab, 0, before, 60)
    lab.client.run("touch /tmp/go")
    rnbd.check(lab.client.wait(beside).ok, "the other session met an error")
    end_load(lab, load)
    rnbd.unmap(lab, other)
    rnbd.unmap(lab, name)


def exports(lab: Lab, disk: str) -> None:
    one = f"{EXPORTS}/one"
    lab.server.run(f"mkdir {one}\necho {disk} >{one}/device_path\necho 'owner adm*' >{one}/allowed_keys\n"
                   f"echo 1 >{one}/enable")
    try:
        rnbd.equal(rnbd.read(lab.server, f"{one}/allowed_keys"), "owner adm*", "allowed_keys")
        rnbd.equal(rnbd.write_error(lab.server, f"{one}/allowed_keys", "k" * 1024), "EINVAL", "a list that is too long")
        refuses(lab, "EACCES", "one", "vm")
        refuses(lab, "EACCES", "one", "vm", key="guest")
        name = rnbd.map_device(lab, "one", key="owner")
        rnbd.write(lab.server, f"{one}/allowed_keys", "guest")
        rnbd.wait_until(lab.client, f"grep -qx closed /sys/block/{name}/rnbd/state", 20, "the client is closed out")
        rnbd.unmap(lab, name)
        works(lab, "one", "vm", key="guest")
        # An asterisk is any key, and not none.
        rnbd.write(lab.server, f"{one}/allowed_keys", "*")
        works(lab, "one", "vm", key="owner")
        refuses(lab, "EACCES", "one", "vm")
        readers(lab, one)
    finally:
        lab.server.run(f"rmdir {one}")


def readers(lab: Lab, one: str) -> None:
    """Of one export some keys have all, others may read: beside a writer, and also what was opened to write before."""
    rnbd.write(lab.server, f"{one}/allowed_keys", "owner guest:ro")
    refuses(lab, "EACCES", "one", "other", key="guest")
    reader = rnbd.map_device(lab, "one", "other", key="guest", access_mode="ro")
    writer = rnbd.map_device(lab, "one", key="owner")
    lab.client.run(f"dd if=/dev/zero of=/dev/{writer} bs=4k count=4 oflag=direct\n"
                   f"dd if=/dev/{reader} of=/dev/null bs=4k count=4 iflag=direct\n"
                   f"! dd if=/dev/zero of=/dev/{reader} bs=4k count=1 oflag=direct")
    rnbd.write(lab.server, f"{one}/allowed_keys", "* owner:ro guest:ro")
    rnbd.wait_until(lab.client, f"grep -qx closed /sys/block/{writer}/rnbd/state", 20, "who may no longer write")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{reader}/rnbd/state"), "open", "state of who reads")
    for name in (writer, reader):
        rnbd.unmap(lab, name)


def folders(lab: Lab, disk: str) -> None:
    """Where each session has a folder of its own, a server that requires proofs gives it to who is it."""
    lab.server.run(f"mkdir -p {FOLDERS}/vm {FOLDERS}/owner\nln -s {disk} {FOLDERS}/vm/disk\n"
                   f"ln -s {disk} {FOLDERS}/owner/disk")
    lab.server.run(f"rmmod rnbd_server\nmodprobe rnbd_server dev_search_path={FOLDERS}/%SESSNAME%", 90)
    works(lab, "disk", "vm", key="guest")  # in whose word nobody has an interest
    rnbd.write(lab.server, "/sys/module/rtrs_server/parameters/auth", "required")
    refuses(lab, "EACCES", "disk", "vm", key="guest")
    refuses(lab, "EACCES", "disk", "vm", key="owner")
    works(lab, "disk", "owner", key="owner")
    lab.server.run(f"mkdir {KEYS}/owner")
    allow(lab, "owner", "vm")
    works(lab, "disk", "vm", key="owner")
    refuses(lab, KEPT_OUT, "disk", "owner", key="owner")


def allow(lab: Lab, key: str, names_: str) -> None:
    rnbd.write(lab.server, f"{KEYS}/{key}/allowed_sessions", names_)


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    for key in ("owner", "guest"):
        secret = fresh_secret()
        for machine in (lab.client, lab.server):
            add_key(machine, key, 1, secret)
    try:
        lists(lab)
        names(lab, disk)
        changes(lab, disk, key="owner")
        changes(lab, disk)
        exports(lab, disk)
        lab.server.run(f"rmdir {KEYS}/owner {KEYS}/guest")
        folders(lab, disk)
    finally:
        lab.server.try_run(f"rmdir {KEYS}/owner; rmdir {KEYS}/guest; rm -rf {FOLDERS}")
    rnbd.unload_client(lab)
    rnbd.unload_server(lab)
