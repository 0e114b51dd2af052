# SPDX-License-Identifier: GPL-2.0
"""Requests that are submitted together leave together: one doorbell of the client for many, over one path and over two,
whatever their size and kind; one alone leaves at once. Batches in which a path dies lose nothing."""

from vmlab import fio, rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, folder

OURS = ("client",)
VARIANTS = {"Y": {"invalidate": "Y"}, "N": {"invalidate": "N"}}
COUNT = 2048
TOGETHER = 32
BATCHES = {"iodepth": TOGETHER, "iodepth_batch_submit": TOGETHER, "iodepth_batch_complete_min": TOGETHER,
           "iodepth_batch_complete_max": TOGETHER}


def cost(lab: Lab, name: str, rw: str, block: str = "4k", **options: object) -> dict[str, int]:
    values: dict[str, object] = {"rw": rw, "bs": block, "size": "16m", **options}
    return rnbd.work_during(lab, "client", fio.command("together", f"/dev/{name}", **values) + " >/dev/null", 180)


def measure(lab: Lab, name: str, paths: int) -> list[str]:
    report = []
    for rw, block in (("randwrite", "4k"), ("randread", "4k"), ("randrw", "4k"), ("randwrite", "64k")):
        count = COUNT if block == "4k" else COUNT // 8
        got = cost(lab, name, rw, block, number_ios=count, **BATCHES)
        what = f"{paths} path(s), {rw} {block}, {TOGETHER} together"
        report.append(f"{what}: {got}")
        rnbd.check(got["requests"] >= count, f"{what}: only {got['requests']} requests")
        # A batch is at most two chains on each path, and as many again where reads wait for their turn; 64 KiB need so
        # many entries of the gather list that a chain takes few of them.
        most = count // 4 if block == "4k" else count // 2
        rnbd.check(got["doorbells"] <= most + 50, f"{what}: too many doorbells: {got}")
        rnbd.check(got["signaled"] <= got["doorbells"], f"{what}: too many completions: {got}")
    return report


def run(lab: Lab, invalidate: str) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab, always_invalidate=invalidate)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    quiet = f"echo none >/sys/block/{name}/queue/scheduler\necho 2 >/sys/block/{name}/queue/nomerges"
    lab.client.run(quiet)
    report = measure(lab, name, 1)
    for rw in ("randwrite", "randread"):
        got = cost(lab, name, rw, iodepth=1, number_ios=256)
        report.append(f"{rw}, one by one: {got}")
        rnbd.check(got["doorbells"] >= got["requests"], f"{rw}, one by one: requests waited for each other: {got}")
    rnbd.unmap(lab, name)

    name = rnbd.map_device(lab, disk, nics=(0, 1))
    lab.client.run(quiet)
    rnbd.write(lab.client, f"{SESSION}/mp_policy", "round-robin")
    report += measure(lab, name, 2)
    lab.client.run("cat >/dev/null <<'END'\n" + "\n".join(report) + "\nEND")

    options = {**BATCHES, "iodepth_batch_complete_min": 1, "time_based": 1, "runtime": 12}
    job = lab.client.spawn(fio.verify_command(f"/dev/{name}", "4k", TOGETHER, "4m", **options), 180)
    for turn in range(6):
        path = folder(lab, turn % 2)
        rnbd.write(lab.client, f"{path}/disconnect", "1", limit=60)
        rnbd.write(lab.client, f"{path}/reconnect", "1", limit=60)
    result = lab.client.wait(job)
    rnbd.check(result.ok, f"fio failed: {result.out[-800:]}")
    rnbd.unmap(lab, name)
