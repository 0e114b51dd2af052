# SPDX-License-Identifier: GPL-2.0
"""Disks as servers have them, each over disks of the laboratory that can be made to hang, fail, grow and vanish."""

from __future__ import annotations

import re
from pathlib import Path

from . import lio, rnbd
from .faults import MEGABYTES, change, create
from .guide import Guide
from .lab import Lab
from .machine import Machine

NAME = "disk"  # of the device that is exported and its number, where its kind gives it a name
MORE = 8  # MiB by which a disk grows
BEATS = 64 * 4096 >> 9  # sectors at a disk's beginning that the pulse writes
PROGRAMS = Path(__file__).resolve().parents[1] / "guest"
LIFE = 1800  # seconds after which a program that nobody has ended ends
ALONE = "export DM_DISABLE_UDEV=1 MDADM_NO_UDEV=1\n"  # there is no udev in the machines


class Leg:
    """A disk in memory behind a device of the mapper, whose table makes its trouble."""

    def __init__(self, machine: Machine, number: int) -> None:
        self.machine = machine
        self.name = f"leg{number}"
        self.path = f"/dev/mapper/{self.name}"
        self._disk = f"nullb1{number}"
        self._below = rnbd.null_disk(machine, self._disk, MEGABYTES + MORE)
        self._sectors = MEGABYTES << 11
        create(machine, self.name, self._whole())

    def _whole(self) -> str:
        return self._part(0, self._sectors)

    def _part(self, first: int, count: int) -> str:
        return f"{first} {count} linear {self._below} {first}"

    def hang(self) -> None:
        self.machine.run(f"dmsetup suspend --nolockfs --noflush --noudevsync {self.name}")

    def go_on(self) -> None:
        self.machine.run(f"dmsetup resume --noudevsync {self.name}")

    def spoil(self, first: int, count: int) -> None:
        """Sectors that can neither be read nor written."""
        parts = [self._part(0, first)] if first else []
        end = first + count
        parts += [f"{first} {count} error", self._part(end, self._sectors - end)]
        change(self.machine, self.name, "\n".join(parts))

    def fail(self) -> None:
        change(self.machine, self.name, f"0 {self._sectors} error")

    def fail_flushes(self) -> None:
        """A flush goes to each target of a table: the last one, which is small, fails what is no read."""
        rest = self._sectors - 8
        change(self.machine, self.name, f"{self._part(0, rest)}\n"
                                        f"{rest} 8 flakey {self._below} {rest} 0 3600 1 error_writes")

    def mend(self) -> None:
        change(self.machine, self.name, self._whole())

    def grow(self) -> None:
        self._sectors = MEGABYTES + MORE << 11
        self.mend()

    def remove(self) -> None:
        self.machine.try_run(f"dmsetup remove --noudevsync --retry {self.name}")
        folder = f"/sys/kernel/config/nullb/{self._disk}"
        self.machine.try_run(f"echo 0 >{folder}/power\nrmdir {folder}")


class Kind:
    """One disk over its legs. What befalls it befalls the first of them, if its kind does not say otherwise.

    Troubles are methods: `hangs`, `medium_error`, `full`, `gone`, `resized`, `read_only`, `flush_fails`. The end of
    each is mended().
    """

    legs = 1
    survives: tuple[str, ...] = ()  # troubles that its user may not notice, as the disk has another leg
    returns = True  # from `gone`

    def __init__(self, lab: Lab, trouble: str, number: int = 0) -> None:
        self.number = number  # of those that are there at a time, three at the most
        self.name = f"{NAME}{number}"
        self.server = lab.server
        self.client = lab.client
        self.trouble = trouble
        self.leg: list[Leg] = []
        self.path = f"/dev/mapper/{self.name}"
        self.user = ""  # its name at the client, once there is trouble

    def make(self) -> str:
        """The path of its node."""
        self.leg = [Leg(self.server, 3 * self.number + n) for n in range(self.legs)]
        self.assemble()
        return self.path

    def remove(self) -> None:
        """Also of half a one; when it is out of use."""
        self.dismantle()
        for leg in self.leg:
            leg.remove()

    def assemble(self) -> None:
        raise NotImplementedError

    def dismantle(self) -> None:
        self.server.try_run(f"dmsetup remove --noudevsync {self.name}")

    # --- troubles

    def hangs(self) -> None:
        self.leg[0].hang()

    def medium_error(self) -> None:
        self.leg[0].spoil(0, BEATS)

    def full(self) -> None:
        raise NotImplementedError

    def gone(self) -> None:
        self.leg[0].fail()

    def resized(self) -> None:
        for leg in self.leg:
            leg.grow()

    def read_only(self) -> None:
        self.server.run(f"blockdev --setro {self.path}")

    def flush_fails(self) -> None:
        self.leg[0].fail_flushes()

    def mended(self) -> None:
        if self.trouble == "read-only":
            self.server.run(f"blockdev --setrw {self.path}")
            # Its client asks every few seconds, and refuses writes by itself until then.
            rnbd.wait_until(self.client, f"! grep -qx 1 /sys/block/{self.user}/ro", 15, "it may write again")
        elif self.trouble == "hangs":
            self.leg[0].go_on()
        elif self.trouble != "resized":
            self.leg[0].mend()


# --- of the device mapper

class Mapped(Kind):
    """One device of the mapper."""

    modules = ""

    def table(self, megabytes: int) -> str:
        raise NotImplementedError

    def assemble(self) -> None:
        self.server.run(f"modprobe -a dm_mod {self.modules}")
        create(self.server, self.name, self.table(MEGABYTES))

    def resized(self) -> None:
        super().resized()
        change(self.server, self.name, self.table(MEGABYTES + MORE))


class Linear(Mapped):
    def table(self, megabytes: int) -> str:
        return f"0 {megabytes << 11} linear {self.leg[0].path} 0"


class Crypt(Mapped):
    modules = "dm_crypt xts aes_generic ecb"

    def table(self, megabytes: int) -> str:
        return f"0 {megabytes << 11} crypt aes-xts-plain64 {'5a' * 32}{'c3' * 32} 0 {self.leg[0].path} 0"


class Thin(Mapped):
    """A volume of a pool that has room for it until others take what it lacks."""

    legs = 2  # the data's, the metadata's
    modules = "dm_thin_pool"
    POOL = "pool"
    BLOCK = 128  # sectors
    USED = 6  # MiB that its users write
    ROOM = 8  # MiB of the pool
    when_full = "error_if_no_space"

    def pool(self, megabytes: int) -> str:
        features = ["skip_block_zeroing", *self.when_full.split()]
        return (f"0 {megabytes << 11} thin-pool {self.leg[1].path} {self.leg[0].path} {self.BLOCK} 0 "
                f"{len(features)} {' '.join(features)}")

    def table(self, megabytes: int) -> str:
        return f"0 {megabytes << 11} thin /dev/mapper/{self.POOL} 0"

    def assemble(self) -> None:
        self.server.run(f"dd if=/dev/zero of={self.leg[1].path} bs=4k count=1 2>/dev/null\nmodprobe {self.modules}")
        create(self.server, self.POOL, self.pool(self.ROOM))
        self.server.run(f"dmsetup message {self.POOL} 0 'create_thin 0'")
        super().assemble()
        self.server.run(f"dd if=/dev/zero of={self.path} bs=1M count={self.USED} oflag=direct 2>/dev/null")

    def dismantle(self) -> None:
        super().dismantle()
        self.server.try_run(f"dmsetup remove --noudevsync {self.POOL}")

    def full(self) -> None:
        """Its users write the rest of the pool, and what they had written before is kept in a snapshot: each write
        needs a block now."""
        self.client.try_run(f"dd if=/dev/zero of=/dev/{self.user} bs=1M seek={self.USED} count={self.ROOM - self.USED} "
                            "oflag=direct conv=notrunc 2>/dev/null")
        self.server.run(f"dmsetup suspend --noudevsync {self.name}\ndmsetup message {self.POOL} 0 'create_snap 1 0'\n"
                        f"dmsetup resume --noudevsync {self.name}")

    def mended(self) -> None:
        if self.trouble == "full":
            change(self.server, self.POOL, self.pool(MEGABYTES))
        else:
            super().mended()


# --- SCSI

class Scsi(Kind):
    """A disk of Linux's SCSI target over the leg. For medium errors it is scsi_debug's, which can say so."""

    returns = False
    START = 0  # of what is exported, in sectors of the disk

    def assemble(self) -> None:
        self.disks = self.scsi()
        self.path = f"/dev/{self.disks[0]}"

    def scsi(self) -> tuple[str, str]:
        """Two names of one disk."""
        if self.trouble != "medium-error":
            pair = lio.make_disk(self.server, below=self.leg[0].path)
            return pair.mine.removeprefix("/dev/"), pair.other.removeprefix("/dev/")
        mine, other = self.server.run(
            "modprobe sd_mod\nls /sys/block >/tmp/before\n"
            "fresh() { ls /sys/block | grep -vxFf /tmp/before | grep ^sd; }\n"
            f"modprobe scsi_debug dev_size_mb={MEGABYTES} num_tgts=2 delay=0\n"
            "until [ $(fresh | wc -l) = 2 ]; do sleep 0.1; done\nfresh", 60).split()
        return mine, other

    def dismantle(self) -> None:
        if self.trouble == "medium-error":
            self.server.try_run("rmmod scsi_debug")
        else:
            lio.remove_disk(self.server, kind=lio.DEVICE)
            lio.remove(self.server, lio.DEVICE)

    def medium_error(self) -> None:
        self.server.run("cd /sys/bus/pseudo/drivers/scsi_debug\n"
                        f"echo {self.START} >/sys/module/scsi_debug/parameters/medium_error_start\n"
                        f"echo {BEATS} >/sys/module/scsi_debug/parameters/medium_error_count\necho 2 >opts")

    def gone(self) -> None:
        self.server.run(f"echo 1 >/sys/block/{self.disks[0]}/device/delete")

    def resized(self) -> None:
        super().resized()
        self.server.run("\n".join(f"echo 1 >/sys/block/{name}/device/rescan" for name in self.disks))

    def mended(self) -> None:
        if self.trouble == "medium-error":
            self.server.run("echo 0 >/sys/bus/pseudo/drivers/scsi_debug/opts")
        elif self.trouble != "gone":
            super().mended()


class Partition(Scsi):
    START = 2048

    def assemble(self) -> None:
        super().assemble()
        self.disk, self.path = self.path, f"{self.path}1"
        self.server.run(f"echo 'size={MEGABYTES - 2}MiB' | sfdisk -q {self.disk}\n"
                        f"blockdev --rereadpt {self.disk} || :\n[ -b {self.path} ]")

    def resized(self) -> None:
        super().resized()
        self.server.run(f"resizepart {self.disk} 1 {MEGABYTES + MORE - 2 << 11}")


class Multipath(Scsi):
    """Both names of the disk; what is gone is one of them."""

    survives = ("gone",)

    def table(self, megabytes: int) -> str:
        numbers = self.server.run("cat " + " ".join(f"/sys/block/{name}/dev" for name in self.disks)).split()
        return f"0 {megabytes << 11} multipath 0 0 1 1 service-time 0 2 1 {numbers[0]} 1 {numbers[1]} 1"

    def assemble(self) -> None:
        self.disks = self.scsi()
        self.server.run("modprobe -a dm_multipath dm_service_time")
        create(self.server, self.name, self.table(MEGABYTES))

    def dismantle(self) -> None:
        Kind.dismantle(self)
        super().dismantle()

    def resized(self) -> None:
        super().resized()
        change(self.server, self.name, self.table(MEGABYTES + MORE))

    def mended(self) -> None:
        super().mended()
        if self.trouble == "flush-fails":
            # It takes what it can't tell from a path's trouble for that.
            change(self.server, self.name, self.table(MEGABYTES))


# --- md

class Raid(Kind):
    """Of md, as the guide makes it. It grows in what its legs have had from the beginning."""

    survives = ("medium-error", "gone")
    level = ""

    def assemble(self) -> None:
        self.path = "/dev/md7"
        legs = " ".join(leg.path for leg in self.leg)
        # The metadata's place is the end, so that the beginning of a leg has data.
        self.server.run(f"{ALONE}modprobe {self.level}\nmdadm -q --create {self.path} --run --level {self.level} "
                        f"--raid-devices {self.legs} --metadata 1.0 --size {MEGABYTES - MORE}M --assume-clean "
                        f"--bitmap internal {legs} 2>&1", 60)

    def dismantle(self) -> None:
        self.server.try_run(f"{ALONE}mdadm -q --stop {self.path}")

    def resized(self) -> None:
        self.server.run(f"{ALONE}mdadm -q --grow {self.path} --size max --assume-clean 2>&1", 60)


class Raid1(Raid):
    legs = 2
    level = "raid1"


class Raid5(Raid):
    legs = 3
    level = "raid5"


class Guided(Kind):
    """LVM on a mirror of md on two SCSI disks, as the guide says."""

    CHAPTER = "Put your disks together on the server"
    legs = 2
    VOLUME = MEGABYTES - 8

    def assemble(self) -> None:
        self.path = "/dev/mapper/vg0-data"
        disks = [lio.make_disk(self.server, n, below=leg.path).mine for n, leg in enumerate(self.leg, 1)]
        guide = Guide(self.CHAPTER, {"/dev/sda /dev/sdb": " ".join(disks), "100G": f"{self.VOLUME}M"})
        commands = guide.commands("Two disks as a mirror")
        alone = "activation { udev_sync = 0 udev_rules = 0 verify_udev_operations = 0 }"
        made = "\n".join(f"{c} 2>&1" for c in commands if not c.startswith(("apt", "rnbdadm")))
        filtered = guide.block("The server has to look")[0]
        self.server.run(f"mkdir -p /etc/lvm\ncat >/etc/lvm/lvm.conf <<'END'\n{filtered}\n{alone}\nEND\n"
                        f"{ALONE}modprobe -a raid1 dm_mod\n{made}\ndmsetup mknodes", 180)

    def dismantle(self) -> None:
        self.server.try_run(f"{ALONE}vgchange -an vg0\nmdadm -q --stop /dev/md0\nrm -rf /etc/lvm", 60)
        for n in range(1, self.legs + 1):
            lio.remove_disk(self.server, n, lio.DEVICE)
        lio.remove(self.server, lio.DEVICE)


# --- and others

class Loop(Kind):
    """A file on ext4 without a journal: one that has a journal cannot go on after a flush that failed."""

    FOLDER = "/run/files"
    BEGIN = MEGABYTES - MORE - 4  # MiB of the file

    def assemble(self) -> None:
        self.path = "/dev/loop5"
        self.file = f"{self.FOLDER}/disk"
        self.server.run(f"modprobe -a ext4 loop\nmkfs.ext4 -q -O ^has_journal {self.leg[0].path}\n"
                        f"mkdir -p {self.FOLDER}\nmount -t ext4 -o noatime {self.leg[0].path} {self.FOLDER}\n"
                        f"fallocate -l {self.BEGIN}M {self.file}\n"
                        f"dd if=/dev/zero of={self.file} bs=1M count={self.BEGIN} conv=notrunc,fsync 2>/dev/null\n"
                        f"losetup --direct-io=on {self.path} {self.file}", 60)

    def dismantle(self) -> None:
        self.server.try_run(f"losetup -d {self.path}\nsleep 0.5\numount {self.FOLDER}")

    def medium_error(self) -> None:
        # Lines of filefrag: number of the extent, first and last block in the file, first one on the disk.
        extents = self.server.run(f"filefrag -v {self.file}")
        place = re.search(r"^ *0: +0\.\. +\d+: +(\d+)\.\.", extents, re.M)
        block = re.search(r"blocks of (\d+) bytes", extents)
        rnbd.check(place and block, f"filefrag says something else: {extents}")
        assert place and block
        self.leg[0].spoil(int(place[1]) * int(block[1]) >> 9, BEATS)

    def full(self) -> None:
        """What the pulse writes has to find new blocks, and others have taken them."""
        self.server.run(f"dd if=/dev/zero of={self.FOLDER}/rest bs=64k oflag=direct 2>/dev/null || :\n"
                        f"fallocate -p -o 0 -l {BEATS << 9} {self.file}\n"
                        f"dd if=/dev/zero of={self.FOLDER}/more bs=4k oflag=direct 2>/dev/null || :")

    def resized(self) -> None:
        self.server.run(f"fallocate -l {self.BEGIN + 4}M {self.file}\nlosetup -c {self.path}")

    def mended(self) -> None:
        if self.trouble == "full":
            self.server.run(f"rm {self.FOLDER}/rest {self.FOLDER}/more")
        else:
            super().mended()


class Nbd(Kind):
    """Its server (guest/nbd-faulty) makes its troubles."""

    legs = 0
    returns = False
    ORDERS = "/run/nbd.orders"
    FILE = "/run/nbd.disk"
    _SET_SIZE_BLOCKS = 0xAB07
    WORDS = {"hangs": "hang", "medium-error": "medium", "full": "full", "gone": "gone", "flush-fails": "flush"}

    def assemble(self) -> None:
        self.path = "/dev/nbd0"
        program = self.server.put(PROGRAMS / "nbd-faulty")
        self.server.run(f"modprobe nbd nbds_max=1\nrm -f {self.ORDERS} {self.FILE}\n"
                        f"truncate -s {MEGABYTES}M {self.FILE}")
        self.server.spawn(f"python3 {program} {self.path} {self.FILE} {self.ORDERS}", LIFE)
        rnbd.wait_until(self.server, f"[ -s {self.ORDERS} ] && [ $(cat /sys/block/nbd0/size) = {MEGABYTES << 11} ]", 30,
                        "the disk is there")

    def dismantle(self) -> None:
        self.order("work")
        self.server.try_run(f"pkill -KILL -f /share/nbd-faulty\nsleep 0.5\nrmmod nbd\nrm -f {self.ORDERS} {self.FILE}")

    def order(self, word: str) -> None:
        self.server.run(f"echo {word} >{self.ORDERS}.new\nmv {self.ORDERS}.new {self.ORDERS}")

    def tell(self) -> None:
        self.order(self.WORDS[self.trouble])

    hangs = medium_error = full = gone = flush_fails = tell

    def resized(self) -> None:
        blocks = MEGABYTES + MORE << 8
        self.server.run(f"truncate -s {blocks << 12} {self.FILE}\n/usr/bin/python3 -c \"import fcntl\n"
                        f"fcntl.ioctl(open('{self.path}'), {self._SET_SIZE_BLOCKS}, {blocks})\"")

    def mended(self) -> None:
        if self.trouble in self.WORDS:
            self.order("work")
        else:
            super().mended()


# Of the matrix.
KINDS: dict[str, type[Kind]] = {
    "partition": Partition, "linear": Linear, "thin": Thin, "crypt": Crypt, "multipath": Multipath, "raid1": Raid1,
    "raid5": Raid5, "loop": Loop, "nbd": Nbd, "scsi": Scsi,
}
