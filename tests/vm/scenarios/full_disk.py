# SPDX-License-Identifier: GPL-2.0
"""A disk that is full, or takes nothing at all, slows no other one of its session: I/O, map, unmap, a new path."""

from vmlab import fio, rnbd
from vmlab.channel import Job
from vmlab.lab import Lab
from vmlab.multipath import folder

OURS = ("server",)
DEPTH = 4  # requests that the slow disk takes
MOST_ROUNDS = 5
PAUSE, STOP = "/tmp/pause", "/tmp/enough"


def latency(lab: Lab, name: str) -> float:
    """Milliseconds of a read."""
    return fio.measure(lab.client, f"/dev/{name}", "randread", "4k", 4).mean_us / 1000


def load_until_stopped(lab: Lab, name: str, **options: object) -> Job:
    once = fio.command("full", f"/dev/{name}", bs="4k", iodepth=64, time_based=1, runtime=2, size="8m", **options)
    return lab.client.spawn(f"while [ ! -e {STOP} ]; do\n[ ! -e {PAUSE} ] || {{ sleep 0.1; continue; }}\n"
                            f"{once} >/dev/null\ndone", 900)


def full(lab: Lab, disk: str, neighbour: str) -> None:
    """Reads and writes, which the disk has no room for, and flushes with them. Each round compares what it is beside
    them with what it is without at the same time: a busy host adds to either, but a neighbour that waits for the disk
    does so in each round."""
    name = rnbd.map_device(lab, disk)
    loads = [load_until_stopped(lab, name, rw="randrw"), load_until_stopped(lab, name, rw="randwrite", fsync=4)]
    under_way = f"set -- $(cat /sys/block/{name}/inflight); [ $(($1 + $2))"
    rounds: list[tuple[float, float]] = []
    while not any(beside <= 2 * alone for alone, beside in rounds):
        rnbd.check(len(rounds) < MOST_ROUNDS, "ms of a read (alone, beside a disk that is full): "
                   + ", ".join(f"({alone:.1f}, {beside:.1f})" for alone, beside in rounds))
        rnbd.wait_until(lab.client, f"{under_way} -gt 32 ]", 60, "load")
        beside = latency(lab, neighbour)
        lab.client.run(f"touch {PAUSE}")
        rnbd.wait_until(lab.client, f"{under_way} -eq 0 ]", 60, "no load")
        rounds.append((latency(lab, neighbour), beside))
        lab.client.run(f"rm {PAUSE}")
    lab.client.run(f"touch {STOP}")
    for load in loads:
        rnbd.check(lab.client.wait(load).ok, "I/O to the disk that is full failed")
    fio.verify(lab.client, f"/dev/{name}", fio.Verify("4k", depth=32, size="128k"))
    rnbd.unmap(lab, name)


def hung(lab: Lab, under: str, neighbour: str, another: str) -> None:
    """The disk takes nothing: its neighbour works, others come and go, and its own I/O goes on when it is back."""
    lab.server.run("modprobe dm_mod\n"
                   f"dmsetup create --noudevsync hangs --table \"0 $(blockdev --getsz {under}) linear {under} 0\"\n"
                   "dmsetup mknodes hangs")
    name = rnbd.map_device(lab, "/dev/mapper/hangs", nics=(0,))
    lab.server.run("dmsetup suspend --noflush --nolockfs --noudevsync hangs")
    try:
        writes = lab.client.spawn(fio.command("hung", f"/dev/{name}", rw="randwrite", bs="4k", iodepth=32, size="1m",
                                              verify="crc32c", do_verify=1), 300)
        rnbd.wait_until(lab.client, f"set -- $(cat /sys/block/{name}/inflight); [ $(($1 + $2)) -gt 8 ]", 60, "I/O")
        fio.verify(lab.client, f"/dev/{neighbour}")
        third = rnbd.map_device(lab, another, limit=20)
        fio.verify(lab.client, f"/dev/{third}")
        rnbd.unmap(lab, third, limit=20)
    finally:
        lab.server.run("dmsetup resume --noudevsync hangs")
    result = lab.client.wait(writes)
    rnbd.check(result.ok, f"I/O to the disk that was back failed:\n{result.out[-800:]}")
    rnbd.unmap(lab, name)
    lab.server.run("dmsetup remove --noudevsync --retry hangs")


def run(lab: Lab) -> None:
    fast = rnbd.null_disk(lab.server)
    slow = rnbd.null_disk(lab.server, "nullb8", irqmode=2, completion_nsec=100_000_000, hw_queue_depth=DEPTH,
                          submit_queues=1)
    others = [rnbd.null_disk(lab.server, f"nullb{n}", 16) for n in (9, 10)]
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    neighbour = rnbd.map_device(lab, fast)
    full(lab, slow, neighbour)
    hung(lab, others[0], neighbour, others[1])
    rnbd.check("connected" in rnbd.read(lab.client, f"{folder(lab, 0)}/state"), "the path is gone")
    rnbd.unmap(lab, neighbour)
