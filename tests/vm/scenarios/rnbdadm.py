# SPDX-License-Identifier: GPL-2.0
"""The administration tool maps, shows, counts, changes paths, explains and unmaps."""

import ipaddress
import json
import re

from vmlab import fio, rnbd
from vmlab.admin import Admin
from vmlab.lab import ROOT, Lab


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    client, server = Admin(lab.client), Admin(lab.server)
    rnbd.check("modprobe rnbd_client" in client.run("map /dev/x -s vm -p 10.10.0.1", 9), "the missing module is named")
    rnbd.load_server(lab)
    rnbd.load_client(lab)

    first = f"{lab.client.address()}@{lab.server.address()}"
    rnbd.equal(client.run(f"map {disk} --session vm --path {first}"), "/dev/rnbd0\n", "output of map")
    device = client.json("list", "devices")[0]
    rnbd.equal([device[k] for k in ("name", "session", "device_path", "state", "size", "owner")],
               ["rnbd0", "vm", disk, "open", 64 << 20, "-"], "the mapped device")
    rnbd.equal(client.json("list sessions", "sessions")[0]["state"], "connected", "state of the session")
    refusals(client, disk)

    lab.client.run("dd if=/dev/zero of=/dev/rnbd0 bs=64k count=16 oflag=direct 2>/dev/null")
    path = client.json("stats", "paths")[0]
    rnbd.check(path["written_bytes"] >= 1 << 20, f"bytes written on the path: {path['written_bytes']}")
    rnbd.check("rnbd_device_written_bytes_total{device=\"rnbd0\"" in client.run("metrics"), "metrics of the device")
    client.run("stats --watch --count 1")
    client.run("stats --reset")
    rnbd.equal(client.json("stats", "paths")[0]["written_bytes"], 0, "bytes written after a reset")

    paths(lab, client)
    hcas = client.json("hca list", "hcas")
    rnbd.check(f"ip:{lab.client.address()}" in [a for h in hcas for a in h["addresses"]], f"addresses of {hcas}")
    rnbd.check("problem" not in client.run("explain rnbd0"), "explain finds no problem")
    client.run("doctor")

    opened = server.json("server list", "opened")[0]
    rnbd.equal([opened[k] for k in ("session", "access", "client_path")], ["vm", "rw", disk], "what the server serves")
    server.run(f"server close {disk}")
    read = "dd if=/dev/rnbd0 of=/dev/null bs=4k count=1 iflag=direct"
    rnbd.check(not lab.client.try_run(read).ok, "a read works after server close")
    client.run("remap rnbd0 --force")
    lab.client.run(read)
    server.run("server disconnect vm")
    rnbd.wait_until(lab.client, "grep -qx open /sys/block/rnbd0/rnbd/state", 60, "the device comes back")
    server.run("server pause")
    rnbd.wait_until(lab.client, "grep -qx closed /sys/block/rnbd0/rnbd/state", 30, "the client is told")
    rnbd.check("server resume" in server.run("doctor", 12), "doctor says nothing of a paused server")
    server.run("server resume")
    rnbd.wait_until(lab.client, "grep -qx open /sys/block/rnbd0/rnbd/state", 90, "the device comes back")
    lab.client.run(read)

    unmapping(lab, client, disk)
    interrupted(lab, client, disk, first)
    discovering(lab, client, server, disk)
    telling(lab, client, server, disk)
    between(lab, client, disk)
    upgraded(lab, client, server, disk)


def telling(lab: Lab, client: Admin, server: Admin, disk: str) -> None:
    """Each loss of a path, its end, and the session's, with reason and time, as it happens."""
    paths = [f"{lab.client.address(n)}@{lab.server.address(n)}" for n in (0, 1)]
    # By names of both families; the source says which address of the first it is.
    lab.client.run(f"printf '%s\\n' '{lab.server.address6()} store1' '{lab.server.address()} store1' "
                   f"'{lab.server.address(1)} store2' >>/etc/hosts")
    said = client.run(f"map {disk} -s told -p {lab.client.address()}@store1 -p {lab.client.address(1)}@store2 "
                      "--no-path-timeout 120 --verbose 2>&1")
    rnbd.check(f"@store1 is ip:{lab.client.address()}@ip:{lab.server.address()}\n" in said, f"what map says: {said}")
    rnbd.check("no address" in client.run("map x -s other -p store3 2>&1", 3), "a name that nobody knows")
    monitor = lab.client.spawn(f"{client.program} monitor -o json >/tmp/events || true", 300)
    rnbd.wait_until(lab.client, "pgrep -f 'rnbdadm monitor' >/dev/null", 20, "monitor runs")
    folders = ["/sys/class/rtrs-client/told/paths/" + "@".join(f"ip:{a}" for a in path.split("@")) for path in paths]

    def reason(nic: int, *words: str) -> None:
        options = " || ".join(f"grep -qx '{word}' '{folders[nic]}/last_reason'" for word in words)
        rnbd.wait_until(lab.client, options, 90, f"the reason of path {nic} is {words}")

    lab.server.set_link(1, False)
    told(lab, "path-lost", "no heartbeat", paths[1])
    reason(1, "no answer")
    lab.server.set_link(1, True)
    told(lab, "path-back", None, paths[1])
    client.run("session set told reconnect-attempts=1")
    server.run("server pause")
    for path in paths:
        told(lab, "path-lost", "disconnected", path)
    told(lab, "session-lost", None)
    for nic, path in enumerate(paths):
        reason(nic, "nobody listens")
        told(lab, "path-gave-up", "nobody listens", path)
    told(lab, "disk-offline", None)
    shown = client.json(f"path show {paths[0]}", "path")
    rnbd.equal((shown["last_reason"], shown["attempts"], shown["next_attempt_ms"]), ("nobody listens", 1, None),
               "what the path says")
    rnbd.check("nobody listens" in client.run("explain rnbd0", 12), "explain says the reason")
    server.run("server resume")
    client.run("recover told")
    told(lab, "path-back", None, paths[0], 1)
    told(lab, "path-back", None, paths[1], 2)
    told(lab, "session-back", None)
    client.run(f"path disconnect {paths[1]}")
    told(lab, "path-lost", "asked for", paths[1])
    client.run("unmap --all")
    told(lab, "session-remove", None)
    lab.client.run("pkill -f 'rnbdadm monitor'")
    lab.client.wait(monitor)
    for line in lab.client.run("cat /tmp/events").splitlines():
        row = json.loads(line)
        rnbd.check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d", row["time"]), f"time of {row}")


def between(lab: Lab, client: Admin, disk: str) -> None:
    """What lies between two machines, by the kernel's own routes, neighbours, queue pairs and devices."""
    for nobody in (lab.server.address().rsplit(".", 1)[0] + ".77", lab.server.address6().rsplit(":", 1)[0] + ":77"):
        said = client.run(f"map {disk} -s way -p {nobody} 2>&1", 1)
        # Said in the shortest spelling, however it was written.
        shortest = str(ipaddress.ip_address(nobody))
        rnbd.check(re.search(rf"neighbour {re.escape(shortest)} on \S+: (failed|incomplete), nobody there", said),
                   f"what map says: {said}")
    said = client.run(f"map {disk} -s way -p 203.0.113.1 2>&1", 1)
    rnbd.check("no way to 203.0.113.1" in said or "has no RDMA device" in said, f"what map says: {said}")

    paths = [f"{lab.client.address(n)}@{lab.server.address(n)}" for n in (0, 1)]
    client.run(f"map {disk} -s way " + " ".join(f"-p {path}" for path in paths) + " --no-path-timeout 60")
    said = client.run("explain rnbd0")
    pairs = [int(n) for n in re.findall(r"connected, .* (\d+) queue pairs: rts", said)]
    rnbd.check(len(pairs) == 2 and min(pairs) >= 2, f"queue pairs of both paths: {said}")
    hcas = client.json("hca list", "hcas")
    for hca in hcas:
        rnbd.check(hca["queue_pairs"] >= min(pairs) and hca["memory_regions"] > 0, f"what {hca} holds")

    # A device that goes takes its path; one with its address brings it back.
    second = next(h for h in hcas if f"ip:{lab.client.address(1)}" in h["addresses"])
    rnbd.check(second["hca"] in client.run(f"hca remove {second['hca']} 2>&1", 6), "a device in use stays")
    client.run(f"hca remove {second['hca']} --force")
    state = f"/sys/class/rtrs-client/way/paths/*{lab.client.address(1)}@*/state"
    rnbd.wait_until(lab.client, f"! grep -qx connected {state}", 30, "the path is lost")
    rnbd.check(f"RDMA device {second['hca']} port 1 is gone" in client.run("explain rnbd0", 12), "explain knows why")
    client.run(f"hca add {second['hca']} {second['netdev']}")
    client.run(f"hca add {second['hca']} {second['netdev']}", 5)
    rnbd.check("has a soft-RoCE device" in client.run(f"hca add rxe99 {second['netdev']} 2>&1", 5), "one is enough")
    rnbd.wait_until(lab.client, f"grep -qx connected {state}", 60, "the path is back")

    # The server's cable: nobody answers on this side of it.
    lab.server.set_link(1, False)
    away = f"neighbour {lab.server.address(1)} on .*nobody there"
    rnbd.wait_until(lab.client, f"{client.program} explain rnbd0 | grep -q '{away}'", 60, "the neighbour is away")
    lab.server.set_link(1, True)
    client.run("unmap --all")


def discovering(lab: Lab, client: Admin, server: Admin, disk: str) -> None:
    """What the server exports is asked by its name, and mapped at once; the configuration has names, too."""
    other = rnbd.null_disk(lab.server, "nullb9", 16)
    server.run(f"server export add one {disk} --client asks")
    server.run(f"server export add two {other} --client 'as*' --access ro")
    server.run(f"server export add hers {other} --client hers")
    lab.client.run(f"echo '{lab.server.address()} stores' >>/etc/hosts")
    lab.server.run(f"echo '{lab.client.address()} askers' >>/etc/hosts")
    server.run("server export set two --address askers")
    shown = server.json("server export show two", "export")
    rnbd.equal(shown["addresses"], lab.client.address(), "the address of askers in a rule")
    try:
        rows = [{"name": "one", "size": 64 << 20, "access": "rw", "here": False, "elsewhere": None, "session": "asks"},
                {"name": "two", "size": 16 << 20, "access": "ro", "here": False, "elsewhere": None, "session": "asks"}]
        rnbd.equal(client.json("discover stores -s asks", "discovered"), rows, "what is exported to asks")
        rnbd.equal([row["name"] for row in client.json("discover stores -s hers", "discovered")], ["hers"], "to hers")
        rnbd.check("asking as session" in client.run("discover stores 2>&1"), "asked in the name of the machine")
        rnbd.equal(client.json("list sessions", "sessions"), [], "sessions after the questions")
        rnbd.equal(client.run("map --all -s asks -p stores"), "/dev/rnbd0\n/dev/rnbd1\n", "output of map --all")
        rnbd.equal([row["here"] for row in client.json("discover asks", "discovered")], [True, True], "what asks has")
        rnbd.equal([d["access"] for d in client.json("list", "devices")], ["rw", "ro"], "access of both")
        rnbd.equal(client.json("session show stores", "session")["name"], "asks", "the session that leads to stores")
        # This server serves paths, too, which is a problem of its own.
        said = server.run(f"server export explain two --session asks --from {lab.client.address()}", 12)
        rnbd.check("it may ask for ro at the most" in said and "session asks: has it open, ro" in said, said)
        client.run("path disconnect stores --force")
        client.run("recover stores")
        rnbd.equal([p["state"] for p in client.json("path list stores", "paths")], ["connected"], "its path")
        client.run("remap stores")
        client.configure("[session asks]\npath = stores\n[device one]\nsession = asks\ndevice = one\n")
        rnbd.check("session" not in client.run("diff --missing-only"), "the path by its name is the one that runs")
        client.run("unmap --all")
        rnbd.equal(client.run("apply"), "device one: mapped\n", "apply of a path by name")
        client.run("unmap --all")
        lab.client.run("rm /etc/rnbd/rnbd.conf")
    finally:
        lab.client.try_run("for d in /sys/block/rnbd*/rnbd; do echo force >$d/unmap_device; done")
        rnbd.wait_until(lab.server, "! grep -qv '^0$' /sys/kernel/config/rnbd/exports/*/users", 30, "nobody has them")
        server.run("server export remove --all")


def upgraded(lab: Lab, client: Admin, server: Admin, disk: str) -> None:
    """A server gets other modules as the guide has it, by what its unit does: clients wait, and meet no error."""
    script = lab.server.put(ROOT / "packaging/systemd/rnbd-server")
    lab.server.run(f"sed 's,/usr/sbin/rnbdadm,{server.program},' {script} >/tmp/rnbd-server")
    unit = "sh /tmp/rnbd-server"
    server.run(f"server export add up {disk}")
    path = f"{lab.client.address()}@{lab.server.address()}"
    name = client.run(f"map up -s up -p {path} --no-path-timeout 300").strip().removeprefix("/dev/")
    load = fio.background(lab.client, f"/dev/{name}", 25)
    before = rnbd.read(lab.client, "/sys/class/rtrs-client/up/paths/*/stats/reconnects")
    server.run("server pause")
    server.run("server export remove --all --force")
    lab.server.run(f"{unit} stop\nmodprobe -r rnbd_server rtrs_server\n{unit} start", 90)
    # The client is back before there is an export, and is refused: that is no end for its disk.
    rnbd.wait_until(lab.client, f"! grep -qx '{before}' /sys/class/rtrs-client/up/paths/*/stats/reconnects", 60,
                    "the client is back")
    server.run(f"server export add up {disk}")
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 60, "the disk is open again")
    rnbd.check(lab.client.wait(load).ok, "I/O met the upgrade")
    client.run("unmap --all")
    server.run("server export remove --all")


def told(lab: Lab, event: str, reason: str | None, path: str = "", count: int = 1) -> None:
    """monitor has printed that so often, for that path of two addresses."""
    name = "@".join(f"ip:{a}" for a in path.split("@")) if path else None
    wanted = "".join(f'.*"{key}":{json.dumps(value)}' for key, value in
                     (("event", event), ("path", name), ("reason", reason)))
    rnbd.wait_until(lab.client, f"[ $(grep -c '{wanted}' /tmp/events) -ge {count} ]", 60,
                    f"{event} of {path}: {reason}")


def interrupted(lab: Lab, client: Admin, disk: str, path: str) -> None:
    """Killed when the kernel has the line, or before that: a disk with all that was asked for, or none."""
    words = (f"map {disk} -s safe -p {path} --no-path-timeout 120 --policy round-robin --reconnect-attempts 50 "
             "--request-timeout 20 --heartbeat-interval 700 --heartbeat-missed-max 9")
    lines = client.run(f"{words} --dry-run").splitlines()
    rnbd.equal(len(lines), 1, f"number of writes of a map ({lines})")
    line = lines[0].removeprefix("write '").partition("' to ")[0]
    rnbd.write(lab.client, f"{rnbd.CTL}/map_device", line)
    protected(client)
    client.run("unmap --all")

    program = lab.client.spawn(f"{client.program} {words} || true")
    rnbd.wait_until(lab.client, "ls /sys/block | grep rnbd", 60, "the disk appears")
    lab.client.run(f"pkill -KILL -f '{client.program} map' || true")
    lab.client.wait(program)
    protected(client)
    client.run("unmap --all")

    # The server's other cable is there, and nobody answers on this one: the kernel gives up with the program.
    lab.client.set_link(0, False)
    program = lab.client.spawn(f"{client.program} {words} || true")
    rnbd.wait_until(lab.client, "ls -d /sys/class/rtrs-client/safe", 20, "the kernel tries to connect")
    lab.client.run(f"pkill -KILL -f '{client.program} map'")
    lab.client.wait(program)
    rnbd.wait_until(lab.client, "! ls -d /sys/class/rtrs-client/safe", 30, "the attempt ends")
    lab.client.set_link(0, True)
    rnbd.equal(client.json("list", "devices"), [], "disks after a map that was killed before its session was open")


def protected(client: Admin) -> None:
    device = client.json("list", "devices")[0]
    rnbd.equal((device["no_path_timeout"], device["owner"]), (120, "-"), "what the disk has")
    session = client.json("list sessions", "sessions")[0]
    keys = ("policy", "reconnect_attempts", "request_timeout", "heartbeat_interval_ms", "heartbeat_missed_max")
    rnbd.equal([session[k] for k in keys], ["round-robin", 50, 20, 700, 9], "settings of its session")


def refusals(client: Admin, disk: str) -> None:
    rnbd.check("rnbd0" in client.run(f"map {disk} -s vm", 5), "the present mapping is named")
    rnbd.check("no such block device" in client.run("map /dev/none -s vm", 1), "the reason is in words")
    rnbd.check("did you mean 'rnbd0'" in client.run("show rnbd00", 3), "the nearest name is offered")
    client.run("map x -s vm --access wr", 2)


def paths(lab: Lab, client: Admin) -> None:
    second = f"{lab.client.address(1)}@{lab.server.address(1)}"
    client.run(f"path add vm {second}")
    client.run(f"path add vm {second}", 5)
    rnbd.equal([p["state"] for p in client.json("path list vm", "paths")], ["connected"] * 2, "states of two paths")
    client.run("path reconnect vm", 3)
    client.run(f"path disconnect {second}")
    client.run(f"path disconnect {lab.server.address()}", 6)
    rnbd.equal(client.json("session list", "sessions")[0]["state"], "degraded", "state with one path")
    client.run("recover rnbd0")
    rnbd.equal(client.json("session list", "sessions")[0]["state"], "connected", "state after recover")
    client.run("session set vm policy=round-robin reconnect-attempts=100")
    session = client.json("session list", "sessions")[0]
    rnbd.equal((session["policy"], session["reconnect_attempts"]), ("round-robin", 100), "settings")
    client.run("session reconnect vm")
    client.run(f"path remove {second}")
    rnbd.equal(len(client.json("path list vm", "paths")), 1, "number of paths")


def unmapping(lab: Lab, client: Admin, disk: str) -> None:
    other = rnbd.null_disk(lab.server, "nullb8", 16)
    events = lab.client.spawn(f"{client.program} monitor --count 1 --for 60 -o json")
    rnbd.wait_until(lab.client, "pgrep -f 'rnbdadm monitor' >/dev/null", 20, "monitor runs")
    rnbd.write(lab.client, f"{rnbd.CTL}/map_device", f"sessname=vm device_path={other}")
    holder = lab.client.spawn("exec sleep 60 </dev/rnbd0")
    rnbd.wait_until(lab.client, "ls -l /proc/[0-9]*/fd | grep -q /dev/rnbd0", 20, "the disk is open")
    client.run("unmap rnbd0", 6)
    lab.client.run("pkill -x sleep")
    lab.client.wait(holder)
    # What was mapped without the tool is spared.
    client.run("unmap --all")
    rnbd.equal([d["name"] for d in client.json("list", "devices")], ["rnbd1"], "what is left")
    client.run(f"unmap vm:{other}")
    rnbd.equal(client.json("list", "devices") + client.json("list sessions", "sessions"), [], "what is left")
    rnbd.check('"subsystem"' in lab.client.wait(events).out, "an event was seen")
