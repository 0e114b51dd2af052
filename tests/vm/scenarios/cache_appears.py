# SPDX-License-Identifier: GPL-2.0
"""A disk gets a write cache while it is mapped: while the client drops flushes, the server makes writes durable."""

from vmlab import rnbd
from vmlab.lab import Lab

BY_HAND = True  # 6.1 refuses to switch on a cache that null_blk did not have from the start: it needs another disk
OURS = ("server",)


def flushes(lab: Lab, disk: str) -> int:
    return int(rnbd.read(lab.server, f"/sys/block/{disk.removeprefix('/dev/')}/stat").split()[15])


def write(lab: Lab, name: str, block: int, script: str = "") -> None:
    lab.client.run(f"dd if=/dev/zero of=/dev/{name} bs=4k count=1 seek={block} oflag=direct conv=notrunc\n{script}")


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server, "nullb8", cache_size=0)
    cache = f"/sys/block/{disk.removeprefix('/dev/')}/queue/write_cache"
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    at_client = f"/sys/block/{name}/queue/write_cache"
    rnbd.equal(rnbd.read(lab.client, at_client), "write through", "cache as OPEN told it")
    write(lab, name, 0, f"blkdiscard -o 65536 -l 65536 /dev/{name}")
    rnbd.equal(flushes(lab, disk), 0, "flushes of a disk without a cache")
    rnbd.write(lab.server, cache, "write back")
    for block in range(1, 9):
        # Whoever knows of the cache flushes by himself.
        known = rnbd.read(lab.client, at_client) == "write back"
        before = flushes(lab, disk)
        change = "" if block % 2 else f"\nblkdiscard -o 65536 -l 65536 /dev/{name}"
        write(lab, name, block, (f"sync /dev/{name}" if known else "") + change)
        rnbd.check(flushes(lab, disk) > before, f"write {block} came out of the cache, client knows: {known}")
    rnbd.write(lab.server, cache, "write through")
    rnbd.unmap(lab, name)
