# SPDX-License-Identifier: GPL-2.0
"""Disks of 512, 1024, 2048 and 4096-byte blocks, and read-only ones, are at the client what they are at the server.

Limits are those of the server's disk, what is not a whole block is refused, and vectors of every shape and alignment
that a disk can take, and bytes of any number through the page cache, come back as they were written. Zoned disks,
which no client could write by their rules, are refused.
"""

from vmlab import fio, rnbd
from vmlab.lab import Lab

SLOW = True
OURS = ("client", "server")
SIZES = (512, 1024, 2048, 4096)
MEGABYTES = 16
LIMITS = ("queue/logical_block_size", "queue/physical_block_size", "queue/discard_granularity", "queue/write_cache",
          "queue/fua", "queue/rotational", "size", "ro")
# Vectors begin anywhere in a page where the disk's alignment allows, and have lengths that fill no page.
VECTORS = """
import mmap, os, random, sys
device, block, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
memory = mmap.mmap(-1, 1 << 20)
view = memoryview(memory)
fd = os.open(device, os.O_RDWR | os.O_DIRECT)

def vectors(total):
    found, left, place = [], total, 0
    while left:
        size = min(left, block * chance.choice((1, 1, 1, 2, 3, 5, 7, 9, 17)))
        place += 512 * chance.randrange(4)
        found.append(view[place:place + size])
        place += size
        left -= size
    return found

def fill(parts, data):
    done = 0
    for part in parts:
        part[:] = data[done:done + len(part)]
        done += len(part)

for turn in range(60):
    total, at = block * chance.randrange(1, 65), block * chance.randrange(512)
    data = chance.randbytes(total)
    parts = vectors(total)
    fill(parts, data)
    assert os.pwritev(fd, parts, at) == total
    fill(parts, bytes(total))
    parts = vectors(total)
    assert os.preadv(fd, parts, at) == total
    assert b"".join(parts) == data, f"turn {turn}: {total} bytes at {at} differ"

# Not a whole block, or not at one: refused. 256 is no disk's block.
for size, at in ((block // 2, 0), (block, block // 2), (block + 256, block)):
    try:
        os.pwritev(fd, [view[:size]], at)
    except OSError as e:
        assert e.errno == 22, e
    else:
        sys.exit(f"{size} bytes at {at} were written")

buffered = os.open(device, os.O_RDWR)
whole = bytearray(os.pread(buffered, 1 << 18, 0))
for turn in range(40):
    at, size = chance.randrange(1 << 17), chance.randrange(1, 9000)
    data = chance.randbytes(size)
    os.pwrite(buffered, data, at)
    whole[at:at + size] = data
os.fsync(buffered)
assert os.preadv(fd, [view[:1 << 18]], 0) == 1 << 18 and view[:1 << 18] == whole, "odd bytes differ"
"""


def limits(lab: Lab, machine_disk: str, name: str) -> None:
    script = "cat " + " ".join(f"/sys/block/{{0}}/{entry}" for entry in LIMITS)
    theirs = lab.server.run(script.format(machine_disk)).splitlines()
    ours = lab.client.run(script.format(name)).splitlines()
    rnbd.equal(dict(zip(LIMITS, ours, strict=True)), dict(zip(LIMITS, theirs, strict=True)),
               f"limits of {machine_disk}")


def read_only(lab: Lab) -> None:
    """A disk that the server can't write is refused to writers and is read-only for readers."""
    lab.server.run("truncate -s 4M /run/file\ncp /usr/bin/env /run/begin\ndd if=/run/begin of=/run/file conv=notrunc "
                   "2>/dev/null\nmodprobe loop\nlosetup -r -b 4096 /dev/loop6 /run/file")
    for mode in ("rw", "migration"):
        text = rnbd.map_text(lab, "/dev/loop6", access_mode=mode)
        got = rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text)
        rnbd.equal(got, "EACCES", f"{mode} of a read-only disk")
    name = rnbd.map_device(lab, "/dev/loop6", access_mode="ro")
    limits(lab, "loop6", name)
    lab.client.run(f"dd if=/dev/{name} bs=4k count=8 iflag=direct 2>/dev/null | cmp -n 32768 - /usr/bin/env\n"
                   f"dd if=/dev/zero of=/dev/{name} bs=4k count=1 oflag=direct 2>/dev/null && exit 1\n"
                   f"! blkdiscard {'/dev/' + name} 2>/dev/null")
    rnbd.unmap(lab, name)
    lab.server.run("losetup -d /dev/loop6\nrm /run/file /run/begin")


def zoned(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server, "nullbz", cache_size=0, discard=0, zoned=1, zone_size=4)
    rnbd.equal(rnbd.read(lab.server, f"/sys/block/{disk.removeprefix('/dev/')}/queue/zoned"), "host-managed", "zoned")
    for mode in ("ro", "rw"):
        text = rnbd.map_text(lab, disk, access_mode=mode)
        rnbd.equal(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text), "ENOTSUP", f"{mode} of a zoned disk")
    rnbd.check("it is a zoned device" in lab.server.log(), "the server does not say why")


def run(lab: Lab) -> None:
    disks = {size: rnbd.null_disk(lab.server, f"nullb{size}", MEGABYTES, blocksize=size) for size in SIZES}
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    lab.client.run(f"cat >/tmp/vectors.py <<'END'\n{VECTORS}END")
    for size, disk in disks.items():
        name = rnbd.map_device(lab, disk)
        limits(lab, disk.removeprefix("/dev/"), name)
        lab.client.run(f"/usr/bin/python3 /tmp/vectors.py /dev/{name} {size} {size}", 120)
        fio.verify(lab.client, f"/dev/{name}", fio.Verify(str(size), 16, "128k"), fio.Verify("64k", 4, "1m"))
        rnbd.unmap(lab, name)
    read_only(lab)
    zoned(lab)
