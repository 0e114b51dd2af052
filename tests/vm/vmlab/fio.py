# SPDX-License-Identifier: GPL-2.0
"""fio inside a machine: small verified jobs, and figures for tables."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .channel import CommandFailed, Job
from .machine import Machine


def _may_create(path: str) -> int:
    """Of a disk that has gone fio would make a file, and be content with it."""
    return int(not path.startswith("/dev/"))


def command(name: str, device: str, **options: object) -> str:
    values: dict[str, object] = {"ioengine": "libaio", "direct": 1, "thread": 1, "group_reporting": 1,
                                 "randrepeat": 1, "filename": device, "allow_file_create": _may_create(device),
                                 **options}
    return " ".join([f"fio --name={name}", *(f"--{k}={v}" for k, v in values.items())])


@dataclass(frozen=True)
class Verify:
    """Random blocks written, then all read back and compared; each job has its own part of the disk."""

    block: str
    depth: int = 16
    size: str = "1m"
    jobs: int = 1
    extra: str = ""  # further options, one a line

    def section(self, name: str) -> str:
        spread = f"numjobs={self.jobs}\noffset_increment={self.size}\n" if self.jobs > 1 else ""
        return f"[{name}]\nstonewall\nbs={self.block}\niodepth={self.depth}\nsize={self.size}\n{spread}{self.extra}\n"


def verify(machine: Machine, device: str, *jobs: Verify, limit: float = 120) -> None:
    """Run jobs one after the other in a single fio, which starts slowly on an emulated CPU."""
    text = (f"[global]\nfilename={device}\nallow_file_create={_may_create(device)}\n"
            "ioengine=libaio\ndirect=1\nthread=1\nrw=randwrite\n"
            "verify=crc32c\nverify_fatal=1\ndo_verify=1\nrandrepeat=1\n")
    text += "".join(job.section(f"job{n}") for n, job in enumerate(jobs or (Verify("4k"),)))
    machine.run(f"cat >/tmp/verify.fio <<'END'\n{text}END\nfio --output-format=terse /tmp/verify.fio >/tmp/verify.out "
                "|| { rc=$?; cat /tmp/verify.out; exit $rc; }", limit)


def verify_command(device: str, block: str, depth: int, size: str, **options: object) -> str:
    """The same as one command line, for scripts that loop over it."""
    values: dict[str, object] = {"rw": "randwrite", "bs": block, "iodepth": depth, "size": size, "verify": "crc32c",
                                 "verify_fatal": 1, "do_verify": 1, "output-format": "terse", **options}
    return command(f"verify-{block}-{depth}", device, **values) + " >/dev/null"


def background(machine: Machine, device: str, seconds: int, rw: str = "randrw", block: str = "4k",
               depth: int = 16, **options: object) -> Job:
    """Load that runs for a time, or until its first error."""
    return machine.spawn(command("load", device, rw=rw, bs=block, iodepth=depth, time_based=1,
                                 runtime=seconds, size="8m", **options), seconds + 60)


@dataclass(frozen=True)
class Figures:
    iops: float
    mib_per_s: float
    mean_us: float
    p99_us: float


def measure(machine: Machine, device: str, rw: str, block: str, depth: int, seconds: int = 2) -> Figures:
    out = machine.run(command("measure", device, rw=rw, bs=block, iodepth=depth, time_based=1, runtime=seconds,
                              size="16m", **{"output-format": "json"}), seconds + 60)
    try:
        job = json.loads(out[out.index("{"):])["jobs"][0]
    except (ValueError, KeyError, IndexError) as e:
        raise CommandFailed(f"{machine.name}: fio printed no figures: {out[-500:]}") from e
    side = job["read" if "read" in rw else "write"]
    latency = side["clat_ns"]
    return Figures(side["iops"], side["bw_bytes"] / (1 << 20), latency["mean"] / 1000,
                   latency.get("percentile", {}).get("99.000000", 0) / 1000)
