# SPDX-License-Identifier: GPL-2.0
"""Answers to requests that come together leave together: doorbells of the server for each answer are well below one.

The disk ends its I/O while it is submitted, so every answer comes in the batch of completions that brought the
request. A request alone is answered alone, at once."""

from vmlab import fio, rnbd
from vmlab.lab import Lab

OURS = ("server",)
VARIANTS = {"Y": {"invalidate": "Y"}, "N": {"invalidate": "N"}}
COUNT = 2048
TOGETHER = 32


def cost(lab: Lab, name: str, rw: str, **options: object) -> dict[str, int]:
    script = fio.command("together", f"/dev/{name}", rw=rw, bs="4k", size="16m", number_ios=COUNT, **options)
    return rnbd.work_during(lab, "server", script + " >/dev/null", 120)


def run(lab: Lab, invalidate: str) -> None:
    # One with memory sleeps while it is given a request, which is a worker's business.
    disk = rnbd.null_disk(lab.server, irqmode=0, memory_backed=0)
    with_data = rnbd.null_disk(lab.server, "nullb8", irqmode=0)
    rnbd.load_server(lab, always_invalidate=invalidate)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    lab.client.run(f"echo none >/sys/block/{name}/queue/scheduler\necho 2 >/sys/block/{name}/queue/nomerges")
    report = []
    for rw in ("randwrite", "randread"):
        got = cost(lab, name, rw, iodepth=TOGETHER, iodepth_batch_submit=TOGETHER,
                   iodepth_batch_complete_min=TOGETHER, iodepth_batch_complete_max=TOGETHER)
        report.append(f"{rw} depth {TOGETHER}: {got}")
        rnbd.check(got["requests"] >= COUNT, f"{rw}: {got['requests']} answers to {COUNT} requests")
        # With always_invalidate a write has two posts: the invalidation before it begins, and its answer.
        rnbd.check(got["doorbells"] <= got["requests"] // 2, f"{rw}: too many doorbells: {got}")
        got = cost(lab, name, rw, iodepth=1)
        report.append(f"{rw} depth 1: {got}")
        rnbd.check(got["doorbells"] >= got["requests"], f"{rw}, one by one: answers waited for each other: {got}")
    verify = fio.Verify("4k", depth=TOGETHER, size="4m",
                        extra=f"iodepth_batch_submit={TOGETHER}\niodepth_batch_complete_min=1")
    rnbd.unmap(lab, name)
    name = rnbd.map_device(lab, with_data)
    fio.verify(lab.client, f"/dev/{name}", verify)
    rnbd.unmap(lab, name)
    lab.client.run("cat >/dev/null <<'END'\n" + "\n".join(report) + "\nEND")
