# SPDX-License-Identifier: GPL-2.0
"""fio writes and verifies: block sizes 512 B to 1 MiB, queue depths 1 to 128, several jobs, both modes."""

from vmlab import rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab

VARIANTS = {"Y": {"invalidate": "Y"}, "N": {"invalidate": "N"}}
INTEROP = True

# Every size and every depth; the block layer has to split the large ones.
JOBS = (
    Verify("512", 16, "64k"), Verify("1k", 128, "256k"), Verify("2k", 64, "256k"), Verify("4k", 1, "256k"),
    Verify("4k", 128, "2m"), Verify("8k", 32, "1m", jobs=2), Verify("16k", 8, "1m"), Verify("32k", 64, "2m"),
    Verify("64k", 4, "2m", jobs=4), Verify("128k", 16, "4m"), Verify("256k", 2, "4m"),
    Verify("512k", 8, "4m", jobs=2), Verify("1m", 16, "8m"),
    # Requests of every shape in one queue.
    Verify("4k", 32, "4m", extra="bssplit=512/10:4k/40:12k/10:64k/30:1m/10"),
)


def run(lab: Lab, invalidate: str) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab, always_invalidate=invalidate)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, **rnbd.patience(lab))
    verify(lab.client, f"/dev/{name}", *JOBS)
    rnbd.unmap(lab, name)
