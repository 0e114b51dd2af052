#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The main job, told step by step: a disk of one machine is used on another, and everything is checked."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from vmlab import fio, lab, machine, rnbd, turn  # noqa: E402
from vmlab.channel import MachineError  # noqa: E402
from vmlab.kernel import KernelError  # noqa: E402

MEGABYTES = 256
BLOCKS = (("512", "64k"), ("1k", "128k"), ("2k", "256k"), ("4k", "1m"), ("8k", "1m"), ("16k", "2m"), ("32k", "2m"),
          ("64k", "4m"), ("128k", "4m"), ("256k", "8m"), ("512k", "8m"), ("1m", "16m"))
TABLE = (("4 KiB random read", "randread", "4k", 1), ("4 KiB random read", "randread", "4k", 32),
         ("4 KiB random write", "randwrite", "4k", 1), ("4 KiB random write", "randwrite", "4k", 32),
         ("64 KiB random read", "randread", "64k", 8), ("64 KiB random write", "randwrite", "64k", 8),
         ("1 MiB sequential read", "read", "1m", 4), ("1 MiB sequential write", "write", "1m", 4))


class Story:
    """Prints each step with the time since the beginning."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def step(self, text: str) -> None:
        print(f"\n[{time.monotonic() - self._begin:5.1f} s] {text}", flush=True)

    @staticmethod
    def command(where: str, text: str) -> None:
        print(f"    {where}# {text}", flush=True)

    @staticmethod
    def note(text: str) -> None:
        print(f"    {text}", flush=True)


def connect(story: Story, world: lab.Lab) -> str:
    """Export and map; the name of the new disk."""
    story.step(f"The server gets a disk of {MEGABYTES} MiB and exports it")
    disk = rnbd.null_disk(world.server, megabytes=MEGABYTES)
    story.command("server", "modprobe rnbd_server")
    rnbd.load_server(world)
    story.note(f"every block device of the server can be mapped now, for example {disk}")

    story.step("The client maps it")
    story.command("client", "modprobe rnbd_client")
    rnbd.load_client(world)
    text = f"sessname=demo path=ip:{world.server.address()} device_path={disk}"
    story.command("client", f"echo '{text}' \\\n            > {rnbd.CTL}/map_device")
    rnbd.write(world.client, f"{rnbd.CTL}/map_device", text)
    name = rnbd.mapped_name(world, disk, "demo")
    size = int(rnbd.read(world.client, f"/sys/block/{name}/size")) >> 11
    rnbd.equal(size, MEGABYTES, "size of the mapped disk in MiB")
    path = rnbd.read(world.client, "/sys/class/rtrs-client/demo/paths/*/state")
    story.note(f"/dev/{name} is there: {size} MiB, path {path}, over soft-RoCE")
    return name


def file_system(story: Story, world: lab.Lab, name: str) -> None:
    story.step("The client puts a file system on it, copies files, mounts it again and compares")
    for line in (f"mkfs.ext4 -q /dev/{name}", f"mount /dev/{name} /mnt",
                 "cp -r /usr/include/linux/netfilter /usr/bin/git /mnt",
                 "umount /mnt; echo 3 > /proc/sys/vm/drop_caches", f"mount /dev/{name} /mnt"):
        story.command("client", line)
        world.client.run("modprobe -q ext4 || true\n" + line, 180)
    world.client.run("diff -r /usr/include/linux/netfilter /mnt/netfilter\ncmp /usr/bin/git /mnt/git", 180)
    count, size = world.client.run("find /mnt -type f | wc -l\ndu -sm /mnt | cut -f1").split()
    story.note(f"{count} files, {size} MiB: all equal")
    story.command("client", f"umount /mnt; e2fsck -fn /dev/{name}")
    world.client.run(f"umount /mnt\ne2fsck -fn /dev/{name}", 60)
    story.note("the file system is clean")


def verified(story: Story, world: lab.Lab, name: str) -> None:
    story.step("fio writes random blocks of every size, reads them back and compares checksums")
    for block, size in BLOCKS:
        fio.verify(world.client, f"/dev/{name}", fio.Verify(block, 32, size))
        story.note(f"{block:>4} blocks, {size:>4}: verified")


def table(story: Story, world: lab.Lab, name: str) -> None:
    story.step("Throughput and latency of this pair (emulated CPUs and network: shape, not speed)")
    story.note(f"{'':24}{'depth':>6}{'IOPS':>9}{'MiB/s':>8}{'mean':>11}{'99 %':>11}")
    for title, rw, block, depth in TABLE:
        got = fio.measure(world.client, f"/dev/{name}", rw, block, depth)
        story.note(f"{title:24}{depth:6}{got.iops:9.0f}{got.mib_per_s:8.1f}{got.mean_us:8.0f} us{got.p99_us:8.0f} us")


def leave(story: Story, world: lab.Lab, name: str) -> None:
    story.step("Unmap and unload")
    story.command("client", f"echo normal > /sys/block/{name}/rnbd/unmap_device")
    rnbd.unmap(world, name)
    story.command("client", "rmmod rnbd_client rtrs_client rtrs_core")
    rnbd.unload_client(world)
    story.command("server", "rmmod rnbd_server rtrs_server rtrs_core")
    rnbd.unload_server(world)


def verdict(story: Story, world: lab.Lab) -> bool:
    story.step("The kernel logs, from the moment the machines were up")
    good = True
    for role, vm in world.machines.items():
        bad = vm.judge()
        story.note(f"{role}: kernel log clean" if not bad else f"{role}: kernel log has " + "; ".join(bad[:5]))
        good = good and not bad
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=Path, help="folder that our modules are searched below")
    parser.add_argument("--peer", action="append", default=[], metavar="ROLE=intree")
    args = parser.parse_args()
    turn.take()
    machine.guard()
    story = Story()
    options = lab.Options(modules=args.modules, logs=lab.ROOT / "build/demo")
    options.peers |= dict(word.split("=", 1) for word in args.peer)
    try:
        world = lab.Lab(options)
    except KernelError as e:
        print(f"demo: {e}", file=sys.stderr)
        return 2
    try:
        story.step(f"Two machines boot Debian's kernel {world.kernel.release} "
                   f"({'KVM' if world.accel == 'kvm' else 'emulated'}), joined by two network cables")
        world.boot()
        story.note(f"up after {max(m.booted for m in world.machines.values()):.0f} s: "
                   f"server {world.server.address()}, client {world.client.address()}, each with soft-RoCE")
        name = connect(story, world)
        file_system(story, world, name)
        verified(story, world, name)
        table(story, world, name)
        leave(story, world, name)
        good = verdict(story, world)
    except (MachineError, AssertionError) as e:
        print(f"\ndemo: FAILED: {e}\nlogs: {options.logs}", flush=True)
        return 1
    finally:
        world.close()
    print("\ndemo: all of it worked" if good else f"\ndemo: FAILED, logs: {options.logs}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
