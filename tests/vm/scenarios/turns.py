# SPDX-License-Identifier: GPL-2.0
"""A modest disk beside a greedy one of its session, on a device whose registrations wait for each other.

Counted, not timed: how many reads of the greedy disk end while one of the modest disk is under way. First come,
first served would be all that the greedy one has in flight, 256. Turns and short chains make it a tenth. And two
greedy ones get about the same."""

from vmlab import fio, rnbd
from vmlab.channel import Job
from vmlab.lab import Lab

OURS = ("client",)
VARIANTS = {"Y": {"invalidate": "Y"}, "N": {"invalidate": "N"}}
IN_FLIGHT = 512
# A short chain, one to wait for and one to be in, on its way there and on its way back; and as much again.
MOST = 128
READS = {1: 50, 4: 200}


def begin(lab: Lab, name: str) -> Job:
    """The greedy load; it has most of its share of the slots in flight."""
    job = lab.client.spawn(fio.command("greedy", f"/dev/{name}", rw="randread", bs="4k", iodepth=IN_FLIGHT // 4,
                                       numjobs=4, norandommap=1, time_based=1, runtime=600), 660)
    lab.client.run(f"until set -- $(cat /sys/block/{name}/stat); [ $9 -gt 200 ]; do sleep 0.1; done", 120)
    return job


def ended(lab: Lab, name: str) -> int:
    return int(lab.client.run(f"cat /sys/block/{name}/stat").split()[0])


def modest(lab: Lab, name: str, depth: int, other: str) -> float:
    """Reads of `other` for each of its own, of which `depth` are under way."""
    script = fio.command("modest", f"/dev/{name}", rw="randread", bs="4k", iodepth=depth, norandommap=1,
                         number_ios=READS[depth])
    # Between the first and the last read, not while fio starts.
    out = lab.client.run(
        f"cd /tmp\n{script} --exec_prerun='cat /sys/block/{other}/stat' --exec_postrun='cat /sys/block/{other}/stat' "
        ">/dev/null\ncat modest.prerun.txt modest.postrun.txt; rm modest.prerun.txt modest.postrun.txt", 300)
    before, after = (line.split()[0] for line in out.splitlines() if len(line.split()) > 10)
    return (int(after) - int(before)) * depth / READS[depth]


def run(lab: Lab, invalidate: str) -> None:
    disks = [rnbd.null_disk(lab.server, f"nullb{n}", irqmode=0, memory_backed=0) for n in (7, 8)]
    rnbd.load_server(lab, always_invalidate=invalidate)
    rnbd.load_client(lab)
    first, second = (rnbd.map_device(lab, disk) for disk in disks)
    lab.client.run(f"echo none | tee /sys/block/{first}/queue/scheduler /sys/block/{second}/queue/scheduler")
    load = begin(lab, first)
    report = []
    for depth in READS:
        beside = modest(lab, second, depth, first)
        report.append(f"depth {depth}: {beside:.0f} reads of the greedy disk for the time of one")
        rnbd.check(beside <= MOST, report[-1])
    other = begin(lab, second)
    before = [ended(lab, name) for name in (first, second)]
    lab.client.run("sleep 10")
    got = [ended(lab, name) - was for name, was in zip((first, second), before, strict=True)]
    report.append(f"two greedy: {got}")
    rnbd.check(max(got) < 2 * min(got), report[-1])
    lab.client.run("pkill -INT fio")
    for job in (load, other):
        job.wait(60)
    for name in (first, second):
        rnbd.unmap(lab, name)
    lab.client.run("cat >/dev/null <<'END'\n" + "\n".join(report) + "\nEND")
