# SPDX-License-Identifier: GPL-2.0
"""The administration tool on the in-tree modules, which have fewer files: what they lack is missing, nothing fails."""

from vmlab import rnbd
from vmlab.admin import Admin
from vmlab.lab import Lab

INTEROP = True
SLOW = True

READERS = ("list tree", "list -o csv", "show rnbd0", "show vm", "session show vm", "path list vm", "stats", "metrics",
           "explain rnbd0", "dump", "save", "stats --watch --count 1", "hca list")


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    client, server = Admin(lab.client), Admin(lab.server)
    for admin in (client, server):
        admin.run("doctor")
    first, second = (f"{lab.client.address(n)}@{lab.server.address(n)}" for n in (0, 1))

    rnbd.equal(client.run(f"map {disk} -s vm -p {first}"), "/dev/rnbd0\n", "output of map")
    device = client.json("list", "devices")[0]
    rnbd.equal([device[k] for k in ("session", "device_path", "state", "access", "size", "owner")],
               ["vm", disk, "open", "rw", 64 << 20, "-"], "the mapped device")
    rnbd.equal(device["no_path_timeout"] is None, not lab.ours("client"), "no-path-timeout is missing")
    for words in READERS:
        client.run(words)
    lab.client.run("dd if=/dev/zero of=/dev/rnbd0 bs=64k count=16 oflag=direct 2>/dev/null")
    path = client.json("stats", "paths")[0]
    rnbd.check(path["written_bytes"] >= 1 << 20, f"bytes written on the path: {path['written_bytes']}")
    client.run("stats --reset")
    # Neither in-tree side knows the question, and our own does not put it to one that has not agreed.
    said, code = ("does not tell what it exports", 1) if lab.ours("client") else ("does not ask servers", 9)
    if not (lab.ours("client") and lab.ours("server")):
        rnbd.check(said in client.run("discover vm 2>&1", code), "discover says who does not know it")
    settings(lab, client, disk)
    paths(client, first, second)
    serving(lab, client, server, disk)
    client.run("unmap rnbd0")
    rnbd.equal(client.json("list", "devices") + client.json("list sessions", "sessions"), [], "what is left")


def settings(lab: Lab, client: Admin, disk: str) -> None:
    client.run("session set vm policy=round-robin reconnect-attempts=100")
    session = client.json("session list", "sessions")[0]
    rnbd.equal((session["policy"], session["reconnect_attempts"]), ("round-robin", 100), "settings")
    # What a module cannot do is refused with a reason, not passed over.
    client.run("session set vm request-timeout=20", 0 if lab.ours("client") else 9)
    client.configure(f"[session vm]\npath = {lab.client.address()}@{lab.server.address()}\n"
                     f"policy = min-inflight\n[device data]\nsession = vm\ndevice = {disk}\n")
    client.run("diff", 12)
    rnbd.equal(client.run("apply"), "device data: changed\n", "apply")
    client.run("diff")
    client.run("resize rnbd0 32M --shrink")
    rnbd.equal(client.json("list", "devices")[0]["size"], 32 << 20, "size after resize")
    client.run("resize rnbd0 64M")


def paths(client: Admin, first: str, second: str) -> None:
    client.run(f"path add vm {second}")
    rnbd.equal([p["state"] for p in client.json("path list vm", "paths")], ["connected"] * 2, "states of two paths")
    client.run(f"path disconnect {second}")
    rnbd.equal(client.json("session list", "sessions")[0]["state"], "degraded", "state with one path")
    client.run(f"path reconnect {second}")
    rnbd.equal(client.json("session list", "sessions")[0]["state"], "connected", "state after reconnect")
    client.run(f"path remove {second}")
    rnbd.equal([p["name"] for p in client.json("path list vm", "paths")],
               ["ip:" + first.replace("@", "@ip:")], "what is left")


def serving(lab: Lab, client: Admin, server: Admin, disk: str) -> None:
    opened = server.json("server list", "opened")[0]
    rnbd.equal([opened[k] for k in ("session", "access", "client_path")], ["vm", "rw", disk], "what the server serves")
    for words in ("server show vm", f"server show {disk}", "list", "stats", "metrics", "dump", "server export list",
                  "path list"):
        server.run(words)
    server.run("server disconnect vm")
    rnbd.wait_until(lab.client, "grep -qx open /sys/block/rnbd0/rnbd/state", 90, "the device comes back")
    read = "dd if=/dev/rnbd0 of=/dev/null bs=4k count=1 iflag=direct"
    rnbd.wait_until(lab.client, read, 60, "the device can be read again")
    server.run(f"server close {disk}")
    rnbd.check(not lab.client.try_run(read).ok, "a read works after server close")
    client.run("remap rnbd0 --force")
    lab.client.run(read)
