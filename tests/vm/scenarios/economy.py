# SPDX-License-Identifier: GPL-2.0
"""Work requests for each I/O: a write costs one, unregistered; one doorbell, one answer; one completion for each
doorbell with writes, which end when the device has let go of their pages (design.md), and few others. What completes
a write's own sending interrupts nobody: it is found when the answer comes.

Requests that register memory are several to a doorbell here: on soft-RoCE they wait for each other (design.md)."""

import time

from vmlab import fio, rnbd
from vmlab.lab import Lab

OURS = ("client",)
VARIANTS = {"Y": {"invalidate": "Y"}, "N": {"invalidate": "N"},
            "no-capsules": {"invalidate": "Y", "capsules": "N"}}  # as with a server that does not know them
COUNT = 256


def cost(lab: Lab, name: str, rw: str, block: str, depth: int, huge: bool) -> dict[str, int]:
    """What COUNT requests of one kind add to the counters."""
    options: dict[str, object] = {"number_ios": COUNT, "size": "16m", "mem": "shmhuge" if huge else "malloc"}
    began = time.monotonic()
    script = fio.command("cost", f"/dev/{name}", rw=rw, bs=block, iodepth=depth, **options)
    got = rnbd.work_during(lab, "client", script + " >/dev/null", 90)
    # Every 5 s each side sends a heartbeat and answers one (protocol B.3), between peers that know them every second
    # (protocol J.4).
    took = time.monotonic() - began
    interval = 1 if lab.ours("server") and lab.ours("client") else 5
    got["heartbeats"] = 2 * (int(took / interval) + 2)
    got["looks"] = int(took / 5) + 2
    return got


def run(lab: Lab, invalidate: str, capsules: str = "Y") -> None:
    disk = rnbd.null_disk(lab.server)
    ours = {"capsules": capsules} if lab.ours("server") else {}
    rnbd.load_server(lab, always_invalidate=invalidate, **ours)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    # Nothing else may read the disk, and no request may be merged or split.
    lab.client.run(f"echo none >/sys/block/{name}/queue/scheduler\necho 2 >/sys/block/{name}/queue/nomerges")
    huge = lab.client.try_run("echo 16 >/proc/sys/vm/nr_hugepages && [ $(cat /proc/sys/vm/nr_hugepages) -gt 7 ]").ok
    report = []
    one_answer = lab.ours("server") and capsules == "Y"
    for block, depth in (("4k", 1), ("4k", 16), ("64k", 1), ("64k", 8)):
        for rw in ("randwrite", "randread"):
            got = cost(lab, name, rw, block, depth, huge)
            report.append(f"{rw} {block} depth {depth}: {got}")
            judge(got, rw, depth, one_answer, f"{rw} {block} depth {depth}")
    # Pages that lie apart, but fit the gather list: still one.
    judge(cost(lab, name, "randwrite", "64k", 4, huge=False), "randwrite", 4, one_answer, "randwrite 64k, scattered")
    rnbd.unmap(lab, name)
    lab.client.run("echo 0 >/proc/sys/vm/nr_hugepages || true\ncat >/dev/null <<'END'\n" + "\n".join(report) + "\nEND")


def judge(got: dict[str, int], rw: str, depth: int, one_answer: bool, what: str) -> None:
    read = rw == "randread"
    each = 2 if read else 1
    extra = got["requests"] - COUNT
    beside = got["heartbeats"] + got["wakes"]
    # Every 5 s the client asks for the states of its devices.
    rnbd.check(0 <= extra <= 2 + got["looks"], f"{what}: {got['requests']} requests for {COUNT} I/Os: {got}")
    rnbd.check(0 <= got["work_requests"] - each * COUNT <= 2 * extra + beside,
               f"{what}: want {each} work request(s) each: {got}")
    # Of many requests two go at once, and the others together when these are acknowledged.
    most = COUNT * 3 // 4 if read and depth >= 16 else COUNT
    rnbd.check(got["doorbells"] <= most + extra + beside, f"{what}: too many doorbells: {got}")
    rnbd.check(read or got["doorbells"] >= COUNT, f"{what}: want one doorbell each: {got}")
    rnbd.check(got["registrations"] <= read * COUNT + extra, f"{what}: too many registrations: {got}")
    rnbd.equal(got["invalidations"], 0, f"{what}: local invalidations")
    answers = 2 if read and not one_answer else 1
    rnbd.check(got["recv_completions"] <= answers * (COUNT + extra) + got["heartbeats"],
               f"{what}: want {answers} message(s) for an answer: {got}")
    # The price of soft-RoCE, beside the work requests that hardware has: one for each chain of registrations, of which
    # at most every other one has a completion unless requests are held.
    rnbd.check(got["guards"] <= min(got["registrations"], got["doorbells"]), f"{what}: guards of registrations: {got}")
    chains = got["guards"] if depth > 1 else got["guards"] // 2
    # Pages that go by the local key cost one for each doorbell.
    writes = 0 if read else got["doorbells"]
    rnbd.check(got["signaled"] <= got["work_requests"] // 16 + chains + writes + beside + 1,
               f"{what}: want at most one signaled in 16, and one for each chain of writes: {got}")
    rnbd.check(read or got["signaled"] >= COUNT, f"{what}: a write that ends without its device: {got}")
    # Heartbeats interrupt too; and so does, rightly, what completes a send whose answer was found before that: one in
    # five where 7.3, whose soft-RoCE does both side by side, sends much from many pages. With an interrupt for all it
    # were 1.7 to 1.9 at depth 1.
    interrupts = COUNT * 11 // 10 if depth == 1 else COUNT * 3 // 2
    rnbd.check(read or got["runs"] <= interrupts + extra + 2 * beside, f"{what}: want one interrupt each: {got}")
    rnbd.check(got["send_completions"] <= got["signaled"] + 1, f"{what}: more completions than were asked for: {got}")
