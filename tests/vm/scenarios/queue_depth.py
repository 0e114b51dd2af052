# SPDX-License-Identifier: GPL-2.0
"""A session that was told to have few requests under way has no more, of all its disks, on all its paths or on one."""

from vmlab import fio, rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, folder

OURS = ("client",)
INTEROP = True
CPUS = 1  # a number in flight is a sum over CPUs, no snapshot
TOLD = 8
MESSAGES = 3  # of that depth these are not for disks
SAMPLES = 25
LOAD = 400  # seconds, at most


def run(lab: Lab) -> None:
    disks = rnbd.null_disk(lab.server), rnbd.null_disk(lab.server, "nullb8", 16)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    names = [rnbd.map_device(lab, disk, nics=(0, 1), queue_depth=TOLD) for disk in disks]
    rnbd.equal(rnbd.read(lab.client, f"{SESSION}/queue_depth"), str(TOLD), "queue_depth")
    error = rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device",
                             f"sessname=vm device_path=/dev/nullb9 queue_depth={TOLD + 1}")
    rnbd.equal(error, "EINVAL", "another depth of a session that is open")
    for name in names:
        fio.verify(lab.client, f"/dev/{name}", fio.Verify("4k", 32, "1m"))
    loads = [fio.background(lab.client, f"/dev/{name}", LOAD, depth=32) for name in names]
    lab.client.run("sleep 3")
    under_way(lab, "both paths")
    rnbd.write(lab.client, f"{folder(lab, 1)}/disconnect", "1")
    under_way(lab, "one path", exact=True)
    rnbd.write(lab.client, f"{folder(lab, 1)}/reconnect", "1")
    under_way(lab, "both again")
    lab.client.run("pkill -INT fio || true")
    for load in loads:
        lab.client.wait(load)
    for name in names:
        rnbd.unmap(lab, name)


def under_way(lab: Lab, when: str, exact: bool = False) -> None:
    """All places for disks are used, and no more. Two paths are read one after the other: a request may count twice."""
    files = " ".join(f"{folder(lab, nic)}/stats/rdma" for nic in (0, 1))
    words = lab.client.run(f"for i in $(seq {SAMPLES}); do cut -d' ' -f5 {files}; sleep 0.05; done", 120).split()
    together = sorted(int(a) + int(b) for a, b in zip(words[::2], words[1::2], strict=True))
    rnbd.check(together[-1] >= TOLD - MESSAGES, f"places are left with {when}: {together}")
    rnbd.check(together[SAMPLES // 2] <= TOLD - MESSAGES, f"too many under way with {when}: {together}")
    if exact:
        rnbd.check(together[-1] <= TOLD, f"too many under way with {when}: {together}")
