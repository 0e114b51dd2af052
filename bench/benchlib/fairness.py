# SPDX-License-Identifier: GPL-2.0
"""How devices share a session: a hundred that all want the same, and a modest one beside one that wants everything."""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from typing import Any

from vmlab import rnbd
from vmlab.lab import Lab

from .report import spread
from .stacks import SESSION, Rnbd, Stack
from .workload import parse

DEVICES = 128
SECONDS = 10
# fio would look through all of /sys for each of the hundred disks, which takes minutes here (disk_util).
GLOBAL = ["[global]", "ioengine=libaio", "direct=1", "thread=1", "rw=randread", "bs=4k", "norandommap=1",
          "disk_util=0", "time_based=1", "ramp_time=3", f"runtime={SECONDS}"]

NAMES = {
    "together": f"{DEVICES} devices, a job of depth 4 each: I/O per second of all together",
    "least": "the slowest device's share of what a device gets on average",
    "most": "the fastest device's",
    "index": "Jain's index (1: all get the same)",
    "alone": "A device at depth 1: half of its reads take less than so many microseconds",
    "beside": "the same, while another device has 512 in flight",
}


def job(name: str, node: str, **options: object) -> list[str]:
    return [f"[{name}]", f"filename={node}", *(f"{k}={v}" for k, v in options.items())]


def fio_jobs(lab: Lab, lines: list[str]) -> dict[str, list[dict[str, Any]]]:
    """What fio says of reads, by name of the job."""
    text = "\n".join([*GLOBAL, *lines])
    out = lab.client.run(f"cat >/tmp/fair.fio <<'END'\n{text}\nEND\n"
                         "fio --output-format=json --output=/tmp/fair.json /tmp/fair.fio >&2\n"
                         # Of hundred reports no more than what is used.
                         "python3 -c 'import json; t = open(\"/tmp/fair.json\").read()\n"
                         "print(json.dumps([[j[\"jobname\"], j[\"read\"][\"iops\"], "
                         "j[\"read\"][\"clat_ns\"].get(\"percentile\", {}).get(\"50.000000\", 0)] "
                         "for j in json.loads(t[t.index(\"{\"):])[\"jobs\"]]))'", SECONDS + 120)
    found: dict[str, list[dict[str, Any]]] = {}
    for name, iops, half in parse_list(out):
        found.setdefault(name, []).append({"iops": iops, "half": half / 1000})
    return found


def parse_list(text: str) -> list[tuple[str, float, float]]:
    """The last line, after whatever else was printed."""
    wrapped = parse('{"jobs": ' + text.strip().rpartition("\n")[2] + "}")
    jobs: Any = wrapped["jobs"]
    return [(str(name), float(iops), float(half)) for name, iops, half in jobs]


def shares(rates: list[float]) -> dict[str, float]:
    average = sum(rates) / len(rates)
    return {"together": sum(rates), "least": min(rates) / average, "most": max(rates) / average,
            "index": sum(rates) ** 2 / (len(rates) * sum(r * r for r in rates))}


def _attach(lab: Lab, stack: Stack, disks: list[str]) -> list[str]:
    """All in one go: each trip into a machine takes its time."""
    if not isinstance(stack, Rnbd):
        return stack.attach(lab, disks)
    lab.client.run("\n".join(f"echo '{rnbd.map_text(lab, disk, SESSION)}' >{rnbd.CTL}/map_device" for disk in disks),
                   180)
    return [f"/dev/{name}" for name in lab.client.run("cd /sys/block; echo rnbd*").split()]


def _disks(lab: Lab) -> list[str]:
    """In memory, where so many are made at once; nothing was written, so reads find nothing to copy."""
    lab.server.run(f"modprobe brd rd_nr={DEVICES} rd_size={64 << 10}", 60)
    return [f"/dev/ram{n}" for n in range(DEVICES)]


def _one(lab: Lab, stack: Stack, disks: list[str]) -> dict[str, float]:
    stack.load(lab)
    nodes = _attach(lab, stack, disks)
    # The kernel gives some of them mq-deadline, which shares by itself.
    lab.client.run("\n".join(f"echo none >/sys/block/{node.rpartition('/')[2]}/queue/scheduler" for node in nodes), 60)
    equal = fio_jobs(lab, [line for n, node in enumerate(nodes) for line in job(f"d{n}", node, iodepth=4)])
    found = shares([got["iops"] for jobs in equal.values() for got in jobs])
    modest = job("modest", nodes[0], iodepth=1)
    found["alone"] = fio_jobs(lab, modest)["modest"][0]["half"]
    greedy = job("greedy", nodes[1], iodepth=128, numjobs=4)
    found["beside"] = fio_jobs(lab, [*modest, *greedy])["modest"][0]["half"]
    stack.detach(lab)
    stack.unload(lab)
    return found


def run(lab: Lab, chosen: list[Stack], rounds: int, add: Callable[[dict[str, Any]], None]) -> list[str]:
    """The section of the report."""
    figures: dict[str, list[dict[str, float]]] = {stack.name: [] for stack in chosen}
    lab.boot()
    disks = _disks(lab)
    for stack in chosen:
        stack.prepare(lab)
    for n in range(rounds):
        for stack in chosen:
            got = _one(lab, stack, disks)
            figures[stack.name].append(got)
            add({"round": n + 1, "stack": stack.name, "fairness": got})
            print(f"# fairness: round {n + 1} of {rounds}: {stack.name}", file=sys.stderr, flush=True)
    lines = ["", "## Fairness", "", "Devices of one session, random reads of 4 KiB.", "",
             "| | " + " | ".join(s.name for s in chosen) + " |", "|---|" + "---|" * len(chosen)]
    for name, title in NAMES.items():
        values = {s.name: [got[name] for got in figures[s.name]] for s in chosen}
        digits = 2 if median(next(iter(values.values()))) < 10 else 0
        lines.append(f"| {title} | " + " | ".join(spread(values[s.name], digits) for s in chosen) + " |")
    return lines
