# SPDX-License-Identifier: GPL-2.0
"""Whichever allocation of a command or an I/O fails: a clean error, no leak, and the next try works."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from pathlib import Path

from vmlab import klog, rnbd
from vmlab.lab import Lab
from vmlab.machine import Machine
from vmlab.scenario import Skip

KINDS = ("debug", "uml")
OURS = ("server", "client")

SLOW = True
VARIANTS = {"map": {"part": "map"}, "commands": {"part": "commands"}, "server": {"part": "server"}}

PROGRAM = Path(__file__).resolve().parents[1] / "guest/failnth"
FAULTS = "/sys/kernel/debug/failslab /sys/kernel/debug/fail_page_alloc"

# device_add_disk() takes no notice of a lack of memory for the disk's name, and then finds that it has none.
MAPPING = ["ENOMEM", "EINVAL"]
# What the owner of a path, or the other machine, may make of a lack of memory. ENFILE: soft-RoCE gives each queue
# pair a socket, and that is what the kernel says when it can't have one.
CONNECTING = ["ENOMEM", "ENFILE", "ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "ETIMEDOUT", "EHOSTUNREACH"]
IO = ["ENOMEM", "EIO", "EAGAIN"]

# What others print when they are denied memory. All else in the log counts, as in every scenario.
EXPECTED = [re.compile(p) for p in (
    r"kobject_add_internal failed for \S+ \(error: -12 ",
    # The detector's own note about an area of vmalloc(): it looks at more than it has to.
    r"kmemleak: Cannot allocate a scan area, scanning the full object",
)]

# Who says with a trace that he was denied memory: the block layer's caches for a disk's bios, and vmalloc(), which
# soft-RoCE takes for its queues.
TRACED = re.compile(r"^.*(?:(?:kmem_cache_create_usercopy|__kmem_cache_create_args)\([\w-]+\) failed with error -12|"
                    r"vmalloc error: size \d+, .*failed.*)\n(?:.*\n){2,7}?.*Call Trace:\n", re.MULTILINE)

# rdma_cm gives up a new id below its listener's mutex, which is of the same class: lockdep says so, and goes off.
NESTED = re.compile(r"^.*WARNING: possible recursive locking detected\n(?:.*\n){2}.* is trying to acquire lock:\n"
                    r".*handler_mutex.*at: cma_ib_req_handler\+.*\n.*\n.*already holding lock:\n"
                    r".*handler_mutex.*at: cma_ib_req_handler\+.*\n(?:.*\n){1,80}?.*Call Trace:\n", re.MULTILINE)

SECOND = "/dev/nullb8"

# Each sweep ends by its time; this many times as long: SWEEP=20 goes on to the last allocation of most.
SWEEP = float(os.environ.get("SWEEP", "1"))


def command(job: dict[str, object]) -> str:
    return f"/share/{PROGRAM.name} {shlex.quote(json.dumps(job))}"


class Sweeps:
    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.lines: list[str] = []
        self.points = 0
        self.renewed = 0  # machines that lockdep was off on
        self.problems: list[str] = []
        self.log = {m.name: "" for m in (lab.server, lab.client)}

    def collect(self) -> None:
        """The kernel logs so far, which the console does not show meanwhile."""
        for machine in (self.lab.server, self.lab.client):
            self.log[machine.name] += machine.run("dmesg --read-clear", 30)

    def client(self, title: str, budget: float, **job: object) -> dict[str, object]:
        budget *= SWEEP
        out = self.lab.client.run(command({"who": "self", "allowed": ["ENOMEM"], **job, "budget": budget}), budget + 90)
        result = json.loads(out.splitlines()[-1])
        self.count(title, result)
        return result

    def count(self, title: str, result: dict) -> None:
        self.points += result["points"]
        errors = " ".join(f"{name}:{n}" for name, n in sorted(result["errors"].items())) or "none"
        end = "to the end" if result["complete"] else f"stopped before allocation {result['last']}"
        self.lines.append(f"{title:<28} {result['points']:4} points, {end}; errors {errors}")
        self.problems += [f"{title}: {p}" for p in result["problems"]]
        self.collect()


def prepare(machine: Machine) -> None:
    machine.put(PROGRAM)
    machine.run(f"""for d in {FAULTS}; do
	[ -d $d ] || continue
	echo 0 >$d/probability; echo 0 >$d/verbose; echo -1 >$d/times; echo N >$d/ignore-gfp-wait
	[ ! -e $d/min-order ] || echo 0 >$d/min-order
done
# The console is judged line by line; this log is read by the scenario instead.
dmesg --clear
echo 1 >/proc/sys/kernel/printk""")


def restore(machine: Machine) -> None:
    machine.run(f"""echo 7 >/proc/sys/kernel/printk
for d in {FAULTS}; do
	[ ! -d $d ] || echo Y >$d/ignore-gfp-wait
done""")


def set_up_server(lab: Lab) -> str:
    """The first of its two disks."""
    disk = rnbd.null_disk(lab.server)
    lab.server.run("d=/sys/kernel/config/nullb/nullb8\nmkdir $d\n"
                   "echo 64 >$d/size; echo 1 >$d/memory_backed; echo 1 >$d/power")
    rnbd.load_server(lab, sess_queue_depth=32)  # its memory is allocated and zeroed for every session
    return disk


def renew_blind_server(sweeps: Sweeps) -> None:
    """Lockdep is off after its first report, which also makes the console loud: the server starts anew."""
    lab = sweeps.lab
    sweeps.collect()
    if not NESTED.search(sweeps.log["server"]):
        return
    sweeps.log["server"] = NESTED.sub("", sweeps.log["server"])
    lab.reboot("server")
    lab.past["server"] = NESTED.sub("", lab.past["server"])
    set_up_server(lab)
    prepare(lab.server)
    sweeps.renewed += 1


def device_link(disk: str) -> str:
    return f"{rnbd.CTL}/devices/{disk.replace('/', '!')}@vm"


def mapping(sweeps: Sweeps, disk: str) -> None:
    """With a session of its own each time: the writer's own allocations, then those of the path's owner."""
    job = {
        "attempt": [f"{rnbd.CTL}/map_device", rnbd.map_text(sweeps.lab, disk)],
        "undo": f"echo normal >'{device_link(disk)}/rnbd/unmap_device'",
        "intact": '[ -z "$(ls -d /sys/block/rnbd* /sys/class/rtrs-client/vm 2>/dev/null)" ]',
    }
    sweeps.client("map, session and disk", 40, dense=24, allowed=MAPPING, **job)
    sweeps.client("map, workers", 20, **{**job, "who": "workers", "allowed": CONNECTING, "dense": 16})


def second_disk(sweeps: Sweeps) -> None:
    """Map in a session that stays."""
    map_it = [f"{rnbd.CTL}/map_device", f"sessname=vm device_path={SECOND}"]
    sweeps.client("map, disk alone", 40, attempt=map_it, allowed=MAPPING, dense=24,
                  undo=f"echo normal >'{device_link(SECOND)}/rnbd/unmap_device'",
                  intact=f"[ ! -e '{device_link(SECOND)}' ]")


def unmapping(sweeps: Sweeps) -> None:
    map_it = [f"{rnbd.CTL}/map_device", f"sessname=vm device_path={SECOND}"]
    unmap_it = [f"{device_link(SECOND)}/rnbd/unmap_device", "normal"]
    sweeps.lab.client.run(f"echo '{map_it[1]}' >{map_it[0]}")
    sweeps.client("unmap", 15, attempt=unmap_it, undo=f"echo '{map_it[1]}' >{map_it[0]}", dense=24,
                  intact=f"[ $(cat '{device_link(SECOND)}/rnbd/state') = open ]")
    sweeps.lab.client.run(f"echo normal >'{unmap_it[0]}'")


def path_commands(sweeps: Sweeps, disk: str) -> None:
    folder = sweeps.lab.client.run("ls -d /sys/class/rtrs-client/vm/paths/*").strip()
    # After one that failed another comes by itself: the try without a fault may find it running.
    job = {"attempt": [f"{folder}/reconnect", "1"], "allowed": ["ENOMEM", "ENOTCONN"], "busy": 10}
    sweeps.client("reconnect", 12, **job)
    sweeps.client("reconnect, workers", 20, **{**job, "who": "workers", "dense": 12})
    rnbd.wait_until(sweeps.lab.client, f"[ $(cat '{folder}/state') = connected ]", 60, "the path is connected again")
    rnbd.wait_until(sweeps.lab.client, f"[ $(cat '{device_link(disk)}/rnbd/state') = open ]", 20, "the disk is open")


def disk_commands(sweeps: Sweeps, disk: str) -> None:
    link = device_link(disk)
    sectors = int(sweeps.lab.client.run(f"cat {link}/size"))
    sweeps.client("resize", 5, attempt=[f"{link}/rnbd/resize", str(sectors - 8)],
                  undo=f"[ $(cat '{link}/size') = {sectors - 8} ] && echo {sectors} >'{link}/rnbd/resize'",
                  intact=f"[ $(cat '{link}/size') = {sectors} ]")


def remap(sweeps: Sweeps, first: str) -> None:
    """A disk that the server did not open again stays closed, until remap_device asks once more; or the client does,
    which it tries every 5 s."""
    lab = sweeps.lab
    link, paths = device_link(SECOND), "/sys/class/rtrs-client/vm/paths/*"
    lab.client.run(f"echo 'sessname=vm device_path={SECOND}' >{rnbd.CTL}/map_device")
    total = {"points": 0, "complete": False, "errors": {}, "problems": [], "last": 1}
    for _ in range(6):
        lab.client.run(f"echo 1 >$(echo {paths})/disconnect")
        lab.server.run("echo 0 >/sys/kernel/config/nullb/nullb8/power")
        lab.client.run(f"echo 1 >$(echo {paths})/reconnect")
        # Both disks are asked for at the same time.
        rnbd.wait_until(lab.client, f"[ $(cat /sys/block/{first}/rnbd/state) = open ]", 20, "the other disk is open")
        lab.client.run("sleep 0.5")
        rnbd.equal(rnbd.read(lab.client, f"'{link}/rnbd/state'"), "closed", "state of the disk that the server refused")
        lab.server.run("echo 1 >/sys/kernel/config/nullb/nullb8/power")
        job = {"who": "self", "allowed": ["ENOMEM"], "attempt": [f"{link}/rnbd/remap_device", "1"],
               "first": total["last"], "once": True, "overtaken": "EALREADY", "budget": 10,
               "intact": f"case $(cat '{link}/rnbd/state') in closed|open) ;; *) false ;; esac"}
        part = json.loads(lab.client.run(command(job), 60).splitlines()[-1])
        rnbd.equal(rnbd.read(lab.client, f"'{link}/rnbd/state'"), "open", "state of the disk after remap_device")
        total["points"] += part["points"]
        total["last"], total["complete"] = part["last"], part["complete"]
        total["problems"] += part["problems"]
        for name, n in part["errors"].items():
            total["errors"][name] = total["errors"].get(name, 0) + n
        if part["complete"]:
            break
    sweeps.count("remap", total)
    lab.client.run(f"echo normal >'{link}/rnbd/unmap_device'")


def data(sweeps: Sweeps, name: str) -> None:
    for kind, size in (("write", 4096), ("read", 4096), ("write", 1 << 20), ("read", 1 << 20)):
        sweeps.client(f"{kind} {size >> 10}k", 6, attempt=[kind, f"/dev/{name}"], size=size, allowed=IO)


def server_workers(sweeps: Sweeps, title: str, attempt: list[str], undo: str, allowed: list[str],
                   points: list[int]) -> None:
    """The client asks without a fault, the server's workers have one."""
    lab = sweeps.lab
    result = {"points": 0, "complete": False, "errors": {}, "problems": [], "last": points[-1] + 1}
    end = time.monotonic() + 40 * SWEEP
    for n in points:
        if time.monotonic() > end:
            result["last"] = n
            break
        lab.server.run(command({"who": "all workers", "arm": n}))
        out = rnbd.write_error(lab.client, attempt[0], attempt[1], 60)
        reached = "true" in lab.server.run(command({"disarm": True}))
        result["points"] += reached
        again = ""
        if out:
            result["errors"][out] = result["errors"].get(out, 0) + 1
            if out not in allowed:
                result["problems"].append(f"allocation {n} of the server's workers: {out}")
            again = rnbd.write_error(lab.client, attempt[0], attempt[1], 60)
            if again:
                result["problems"].append(f"allocation {n} of the server's workers: {out}, then {again}")
        if undo and not (out and again):
            lab.client.run(undo)
        renew_blind_server(sweeps)
    sweeps.count(title, result)


def judge(sweeps: Sweeps, lab: Lab, part: str) -> None:
    for name, text in sweeps.log.items():
        (lab.options.logs / f"alloc-failure-{part}" / f"{name}.dmesg").write_text(text, encoding="utf-8")
        bad = [line for line in klog.findings(TRACED.sub("", text)) if not any(p.search(line) for p in EXPECTED)]
        sweeps.problems += [f"{name}: {line}" for line in bad[:6]]


def run(lab: Lab, part: str) -> None:
    if "fail-nth" not in lab.client.run("ls /proc/self /sys/kernel/debug/failslab 2>/dev/null || true"):
        raise Skip("a kernel without fault injection")
    disk = set_up_server(lab)
    rnbd.load_client(lab)
    rnbd.unmap(lab, rnbd.map_device(lab, disk))
    sweeps = Sweeps(lab)
    for machine in (lab.server, lab.client):
        prepare(machine)
    try:
        sweep(sweeps, disk, part)
    finally:
        for machine in (lab.server, lab.client):
            if machine.alive:
                restore(machine)
    sweeps.collect()
    judge(sweeps, lab, part)
    sweeps.lines.append(f"{sweeps.points} allocations failed, {sweeps.renewed} times with a new server after it")
    print("\n".join("     " + line for line in sweeps.lines), flush=True)
    rnbd.check(not sweeps.problems, "\n".join(sweeps.problems))
    leaks = lab.leaks()
    rnbd.check(not leaks, "\n".join(leaks or []))


def sweep(sweeps: Sweeps, disk: str, part: str) -> None:
    lab = sweeps.lab
    if part == "server":
        server_workers(sweeps, "map, server's workers", [f"{rnbd.CTL}/map_device", rnbd.map_text(lab, disk)],
                       f"echo normal >'{device_link(disk)}/rnbd/unmap_device'", CONNECTING,
                       [*range(1, 12), 14, 18, 24, 32, 48])
        return
    if part == "map":
        mapping(sweeps, disk)
    name = rnbd.map_device(lab, disk)
    if part == "map":
        second_disk(sweeps)
    else:
        unmapping(sweeps)
        path_commands(sweeps, disk)
        disk_commands(sweeps, disk)
        data(sweeps, name)
        remap(sweeps, name)
    rnbd.unmap(lab, name)
