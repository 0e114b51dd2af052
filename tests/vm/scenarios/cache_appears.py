# SPDX-License-Identifier: GPL-2.0
"""A disk gets a write cache while it is mapped: while the client drops flushes, the server makes writes durable."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import folder

OURS = ("server",)
NOTICE = 20  # the client looks every 5 s
BELOW = "/dev/loop5"  # without FUA, too


def flushes(lab: Lab, disk: str) -> int:
    return int(rnbd.read(lab.server, f"/sys/block/{disk.removeprefix('/dev/')}/stat").split()[15])


def write(lab: Lab, name: str, block: int, script: str = "") -> None:
    lab.client.run(f"dd if=/dev/zero of=/dev/{name} bs=4k count=1 seek={block} oflag=direct conv=notrunc\n{script}")


def learns(lab: Lab, disk: str, cache: str, name: str) -> None:
    """The client flushes when it has learnt of the cache; then the server does it no longer for each write."""
    at_client = f"/sys/block/{name}/queue/write_cache"
    rnbd.wait_until(lab.client, f"grep -qx 'write back' {at_client}", NOTICE, "the client knows of the cache")
    for _ in range(NOTICE):  # its next question says so
        before = flushes(lab, disk)
        write(lab, name, 20, "sleep 1")
        if flushes(lab, disk) == before:
            break
    else:
        raise AssertionError("the server still flushes for each write of a client that flushes")
    lab.client.run(f"sync /dev/{name}")
    rnbd.check(flushes(lab, disk) > before, "the client's flush did not come to the disk")
    rnbd.write(lab.server, cache, "write through")
    rnbd.wait_until(lab.client, f"grep -qx 'write through' {at_client}", NOTICE, "the client knows there is none")


def late_writes(lab: Lab, disk: str, cache: str, name: str, meanwhile: str = "true") -> None:
    """What waited for a path when the cache came may have lost its FUA in the client's block layer. Who writes into
    queue/ `meanwhile` may wait for that write, with the disk's limits locked: the disk still gets its new ones."""
    path, queue = folder(lab, 0), f"/sys/block/{name}/queue"
    rnbd.write(lab.client, f"/sys/block/{name}/rnbd/no_path_timeout", "-1")
    rnbd.write(lab.client, f"{path}/disconnect", "1")
    late = lab.client.spawn(f"dd if=/dev/zero of=/dev/{name} bs=4k count=1 seek=30 oflag=direct conv=notrunc", 60)
    rnbd.wait_until(lab.client, f"[ $(cat /sys/block/{name}/rnbd/waiting_requests) -ge 1 ]", 20, "a write waits")
    other = lab.client.spawn(f"cd {queue}\n{meanwhile}", 60)
    rnbd.write(lab.server, cache, "write back")
    before = flushes(lab, disk)
    rnbd.write(lab.client, f"{path}/reconnect", "1")
    rnbd.check(lab.client.wait(late).ok, "the write that waited failed")
    rnbd.check(flushes(lab, disk) > before, "the write that waited came out of the cache")
    rnbd.check(lab.client.wait(other).ok, f"{meanwhile} failed")
    rnbd.wait_until(lab.client, f"grep -qx 'write back' {queue}/write_cache", NOTICE, "the disk has a cache")
    before = flushes(lab, disk)
    lab.client.run(f"sync /dev/{name}")
    rnbd.check(flushes(lab, disk) > before, "the flush did not come to the disk")
    rnbd.write(lab.server, cache, "write through")
    rnbd.wait_until(lab.client, f"grep -qx 'write through' {queue}/write_cache", NOTICE, "the disk has no cache")


def ask_known(lab: Lab, name: str) -> None:
    """The client's block layer knows of the cache, and the server that it does, as far as it is ever told so."""
    at_client = f"/sys/block/{name}/queue/write_cache"
    rnbd.wait_until(lab.client, f"grep -qx 'write back' {at_client}", NOTICE, "the client knows of the cache")
    lab.client.run("sleep 6")


def throttled_write(lab: Lab, disk: str, cache: str, name: str) -> None:
    """What a control group's limit holds up for as long as it likes has lost its FUA before, as in late_writes()."""
    group = "/run/groups/slow"
    lab.client.run("mkdir -p /run/groups\nmount -t cgroup2 none /run/groups\n"
                   f"echo +io >/run/groups/cgroup.subtree_control\nmkdir {group}\n"
                   f"echo \"$(cat /sys/block/{name}/dev) wbps=2\" >{group}/io.max")
    late = lab.client.spawn(f"echo $$ >{group}/cgroup.procs\ntouch /tmp/begun\n"
                            f"dd if=/dev/zero of=/dev/{name} bs=4k count=1 seek=31 oflag=direct conv=notrunc", 120)
    rnbd.wait_until(lab.client, "[ -e /tmp/begun ]", 20, "the writer has begun")
    lab.client.run("sleep 1")
    rnbd.write(lab.server, cache, "write back")
    ask_known(lab, name)
    rnbd.check(late.running, "the write was not held up")
    before = flushes(lab, disk)
    lab.client.run(f"echo \"$(cat /sys/block/{name}/dev) wbps=max\" >{group}/io.max")
    rnbd.check(lab.client.wait(late).ok, "the write that was held up failed")
    rnbd.check(flushes(lab, disk) > before, "the write that was held up came out of the cache")
    rnbd.write(lab.server, cache, "write through")
    rnbd.wait_until(lab.client, f"grep -qx 'write through' /sys/block/{name}/queue/write_cache", NOTICE, "no cache")
    lab.client.run(f"rmdir {group}\numount /run/groups\nrm /tmp/begun")


def write_under_way(lab: Lab, moves: bool) -> None:
    """A write is at a disk that hangs while the cache comes and the client learns of it; its path may end meanwhile."""
    # Newer kernels change a queue's cache when its requests have ended. The mapper has no requests: it keeps the
    # write itself while it is suspended, and its queue is idle.
    disk = rnbd.named_disk(lab.server, BELOW, "hangs", "TEST-30")
    node = lab.server.run("dmsetup info -c --noheadings -o blkdevname hangs").strip()
    cache = f"/sys/block/{node}/queue/write_cache"
    rnbd.write(lab.server, cache, "write through")
    name = rnbd.map_device(lab, disk, nics=(0, 1))
    lab.server.run("dmsetup suspend --nolockfs --noflush --noudevsync hangs")
    came = writes_received(lab)
    late = lab.client.spawn(f"dd if=/dev/zero of=/dev/{name} bs=4k count=1 seek=32 oflag=direct conv=notrunc", 120)
    try:
        while writes_received(lab) == came:
            rnbd.check(late.running, "the write did not wait for its disk")
        lab.server.run("sleep 1")  # on its way through the server
        rnbd.write(lab.server, cache, "write back")
        ask_known(lab, name)
        if moves:
            stats = [rnbd.read(lab.client, f"{folder(lab, nic)}/stats/rdma").split() for nic in (0, 1)]
            busy = 0 if stats[0][4] != "0" else 1
            rnbd.write(lab.client, f"{folder(lab, busy)}/disconnect", "1")
        rnbd.check(late.running, "the write did not wait for its disk")
        before = flushes(lab, BELOW)
    finally:
        lab.server.run("dmsetup resume --noudevsync hangs")
    rnbd.check(lab.client.wait(late).ok, "the write failed")
    rnbd.check(flushes(lab, BELOW) > before, f"the write came out of the cache, moves: {moves}")
    lab.client.run("sleep 6")
    rnbd.unmap(lab, name)
    lab.server.run("dmsetup remove --noudevsync --retry hangs")


def writes_received(lab: Lab) -> int:
    return sum(int(line.split()[2]) for line in lab.server.run(
        "cat /sys/class/rtrs-server/*/paths/*/stats/rdma").splitlines())


def run(lab: Lab) -> None:
    # 6.1 switches on only what the driver has from the start. This one has no FUA: each durable write flushes.
    disk = "/dev/loop6"
    lab.server.run(f"modprobe loop\ntruncate -s 64M /run/cached\nlosetup {disk} /run/cached")
    cache = f"/sys/block/{disk.removeprefix('/dev/')}/queue/write_cache"
    rnbd.write(lab.server, cache, "write through")
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
    if lab.ours("client"):
        learns(lab, disk, cache, name)
        late_writes(lab, disk, cache, name)
        late_writes(lab, disk, cache, name, "echo 32 >max_sectors_kb")
        if lab.kernel.kind != "uml":  # which has no control groups
            throttled_write(lab, disk, cache, name)
    else:
        rnbd.write(lab.server, cache, "write through")
    rnbd.unmap(lab, name)
    lab.server.run(f"losetup -d {disk}\nrm /run/cached")
    if lab.ours("client"):
        lab.server.run(f"truncate -s 64M /run/below\nlosetup {BELOW} /run/below")
        for moves in (False, True):
            write_under_way(lab, moves)
        lab.server.run(f"losetup -d {BELOW}\nrm /run/below")
