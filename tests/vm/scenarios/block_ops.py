# SPDX-License-Identifier: GPL-2.0
"""Flush, FUA, discard, write zeroes and secure erase reach the server's disk, or are refused cleanly."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.machine import Machine

PATTERN = "fio --name=fill --filename={0} --rw=write --bs=64k --size=4m --direct=1 --ioengine=libaio " \
          "--iodepth=4 --buffer_pattern=0xa5 --thread=1 >/dev/null"


def stat(machine: Machine, disk: str) -> list[int]:
    """Counters of Documentation/block/stat.rst: 4 writes, 11 discards, 13 discarded sectors, 15 flushes."""
    return [int(word) for word in rnbd.read(machine, f"/sys/block/{disk}/stat").split()]


def zero(machine: Machine, device: str, offset_kib: int, kib: int) -> bool:
    return machine.run(f"dd if={device} iflag=direct bs=4k skip={offset_kib // 4} count={kib // 4} 2>/dev/null | "
                       f"cmp -s -n {kib << 10} - /dev/zero && echo zero || echo other").strip() == "zero"


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    plain = rnbd.ram_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    with_cache(lab, disk.removeprefix("/dev/"), name)
    discard(lab, disk.removeprefix("/dev/"), name)
    rnbd.unmap(lab, name)

    # A disk without a volatile cache: nothing to flush, and O_SYNC writes still work.
    name = rnbd.map_device(lab, plain)
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/queue/write_cache"), "write through", "write_cache")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/queue/fua"), "0", "fua")
    lab.client.run(f"dd if=/dev/zero of=/dev/{name} bs=4k count=16 oflag=direct,sync 2>&1\n"
                   f"blockdev --flushbufs /dev/{name}")
    rnbd.unmap(lab, name)


def with_cache(lab: Lab, server_disk: str, name: str) -> None:
    queue = f"/sys/block/{name}/queue"
    rnbd.equal(rnbd.read(lab.client, f"{queue}/write_cache"), "write back", "write_cache")
    rnbd.equal(rnbd.read(lab.client, f"{queue}/fua"), "1", "fua")
    before = stat(lab.server, server_disk)
    lab.client.run(f"fio --name=sync --filename=/dev/{name} --rw=randwrite --bs=4k --size=256k --fsync=4 "
                   "--ioengine=psync --thread=1 >/dev/null")
    after = stat(lab.server, server_disk)
    rnbd.check(after[15] - before[15] >= 15, f"flushes at the server: {after[15] - before[15]}, want at least 15")
    # O_DIRECT with O_DSYNC writes with FUA: no flush may be lost, and the data must arrive.
    lab.client.run(f"dd if=/usr/bin/bash of=/dev/{name} bs=4k count=64 oflag=direct,dsync 2>/dev/null\n"
                   f"dd if=/dev/{name} bs=4k count=64 iflag=direct 2>/dev/null | cmp -n 262144 - /usr/bin/bash")


def discard(lab: Lab, server_disk: str, name: str) -> None:
    client, device = lab.client, f"/dev/{name}"
    rnbd.check(int(rnbd.read(client, f"/sys/block/{name}/queue/discard_max_bytes")) > 0, "no discard at the client")
    client.run(PATTERN.format(device))
    rnbd.check(not zero(client, device, 1024, 4), "the pattern is not on the disk")
    before = stat(lab.server, server_disk)
    client.run(f"blkdiscard -o 1M -l 1M {device}")
    after = stat(lab.server, server_disk)
    rnbd.equal(after[13] - before[13], 2048, "sectors discarded at the server")
    rnbd.check(zero(client, device, 1024, 1024), "discarded blocks are not zero")
    rnbd.check(not zero(client, device, 1020, 4) and not zero(client, device, 2048, 4), "discard hit its neighbours")
    # Write zeroes: by the operation where both sides have it, else the block layer writes pages of zeroes.
    client.run(f"blkdiscard -z -o 2560K -l 512K {device}")
    rnbd.check(zero(client, device, 2560, 512), "zeroed blocks are not zero")
    rnbd.check(not zero(client, device, 2556, 4) and not zero(client, device, 3072, 4), "zeroing hit its neighbours")
    # The whole disk in one call is split by the limits.
    client.run(f"blkdiscard {device}")
    rnbd.check(zero(client, device, 0, 4096), "the disk is not empty after discarding all of it")
    result = client.try_run(f"blkdiscard -s -o 0 -l 64K {device}")
    rnbd.check(not result.ok and "not supported" in result.out, f"secure erase on a disk without it: {result.out}")
