# SPDX-License-Identifier: GPL-2.0
"""A client whose memory is full of dirty pages of its disk loses all paths, and goes on when they are back."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import folder

BY_HAND = True  # memory is filled and written for minutes; matrix[memory-short] is its short form
SLOW = True
OURS = ("client",)
KINDS = ("stock", "debug")
LEFT = 256  # MiB of memory
DISK = 320  # MiB
# As much as the disk has: a pattern over and over, whose length is no multiple of any block's.
STREAM = f"while cat /run/pattern; do :; done 2>/dev/null | head -c {DISK}M"
AVAILABLE = "$(($(sed -n 's/^MemAvailable: *\\([0-9]*\\) .*/\\1/p' /proc/meminfo) / 1024))"


def shrink(lab: Lab) -> None:
    """All but so much memory is taken, by what can't be reclaimed."""
    lab.client.run("swapoff -a 2>/dev/null || true\nmkdir -p /run/hog\nmount -t tmpfs -o size=100% none /run/hog\n"
                   f"dd if=/dev/zero of=/run/hog/memory bs=1M count=$(({AVAILABLE} - {LEFT})) 2>/dev/null\n"
                   # What is written stays in memory for as long as it may.
                   "cd /proc/sys/vm\necho 80 >dirty_background_ratio\necho 90 >dirty_ratio\n"
                   "echo 60000 >dirty_expire_centisecs", 120)


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server, megabytes=DISK)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, no_path_timeout=-1)
    lab.client.run("head -c 3000017 /dev/urandom >/run/pattern")
    settings = lab.client.run("cd /proc/sys/vm\ncat dirty_background_ratio dirty_ratio dirty_expire_centisecs").split()
    shrink(lab)
    try:
        pressure(lab, name)
    finally:
        lab.client.try_run("umount /run/hog\ncd /proc/sys/vm\n" + "\n".join(
            f"echo {v} >{f}" for f, v in zip(("dirty_background_ratio", "dirty_ratio", "dirty_expire_centisecs"),
                                             settings)))
    rnbd.unmap(lab, name, limit=120)
    rnbd.unload_client(lab)


def pressure(lab: Lab, name: str) -> None:
    """Written through the page cache: more than there is memory for."""
    writer = lab.client.spawn(f"{STREAM} | dd of=/dev/{name} bs=64k iflag=fullblock conv=nocreat 2>/tmp/dd.out", 900)
    rnbd.wait_until(lab.client, "[ $(sed -n 's/^Dirty: *\\([0-9]*\\) .*/\\1/p' /proc/meminfo) -gt 65536 ]", 120,
                    "dirty pages")
    rnbd.write(lab.client, f"{folder(lab, 0)}/disconnect", "1", 120)
    lab.client.run("sleep 20", 120)
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/rnbd/state"), "closed", "state without a path")
    rnbd.check(writer.running, "the writer has ended")
    rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1", 120)
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 120, "the disk is back")
    result = lab.client.wait(writer)
    rnbd.check(result.ok, f"the writer met an error: {result.out} {lab.client.try_run('cat /tmp/dd.out').out}")
    lab.client.run(f"sync /dev/{name}\necho 1 >/proc/sys/vm/drop_caches\n{STREAM} | cmp - /dev/{name}", 600)
