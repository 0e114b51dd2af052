# SPDX-License-Identifier: GPL-2.0
"""Disks made of others that sleep when they are given a request: a neighbour on the same connection works, a path whose
cable is pulled ends and is fenced, and each disk goes on, with every write, when what it is made of does."""

import time
from pathlib import Path

from vmlab import fio, rnbd
from vmlab.channel import Job, scale
from vmlab.lab import Lab
from vmlab.machine import Machine
from vmlab.multipath import folder
from vmlab.pulse import Pulse

SLOW = True
OURS = ("client", "server")
KINDS = ("stock", "debug", "uml")  # the other has no md
ALONE = "export DM_DISABLE_UDEV=1 MDADM_NO_UDEV=1\n"  # there is no udev in the machines
NBD = Path(__file__).resolve().parents[1] / "guest/nbd"
MEGABYTES = 16
GAP = 2.5  # seconds, as all limits those of an idle host: the disks hang for longer
HANG = 6.0
MISSED = 9.0  # until a path that has fallen silent is missed and fenced (protocol B.3)


class Disk:
    """One of the server's; hang() makes whoever gives it a request sleep, or what it is made of."""

    def __init__(self, server: Machine, number: int) -> None:
        self.server = server
        self.below = f"nullb{number}"
        self.leg = f"leg{number}"
        self.name = f"top{number}"
        self.node = ""

    def linear(self, name: str, below: str) -> str:
        self.server.run(f"{ALONE}modprobe dm_mod\ndmsetup create --noudevsync {name} "
                        f"--table \"0 $(blockdev --getsz {below}) linear {below} 0\"\ndmsetup mknodes {name}")
        return f"/dev/mapper/{name}"

    def make_leg(self) -> str:
        return self.linear(self.leg, rnbd.null_disk(self.server, self.below, MEGABYTES))

    def make(self) -> str:
        raise NotImplementedError

    def hang(self) -> None:
        self.server.run(f"dmsetup suspend --nolockfs --noflush --noudevsync {self.leg}")

    def go_on(self) -> None:
        self.server.try_run(f"dmsetup resume --noudevsync {self.leg}")

    def check(self) -> None:
        """It is as it was before."""

    def remove(self) -> None:
        self.server.try_run(f"set +e\ndmsetup remove --noudevsync --retry {self.name}\n"
                            f"dmsetup remove --noudevsync --retry {self.leg}")


class Linear(Disk):
    """A map of a map that hangs."""

    def make(self) -> str:
        return self.linear(self.name, self.make_leg())


class Mirror(Disk):
    """md says that it never sleeps, and waits for its superblock."""

    def make(self) -> str:
        other = rnbd.null_disk(self.server, f"{self.below}b", MEGABYTES)
        leg = self.make_leg()
        self.array = f"/dev/md{self.below[5:]}"
        self.server.run(f"{ALONE}modprobe raid1\nmdadm -q --create {self.array} --run --level 1 --raid-devices 2 "
                        f"--assume-clean --bitmap internal --metadata 1.2 {other} {leg}", 60)
        return self.array

    def check(self) -> None:
        rnbd.equal(rnbd.read(self.server, f"/sys/block/{self.array[5:]}/md/degraded"), "0", "missing halves")

    def remove(self) -> None:
        self.server.try_run(f"set +e\ndmsetup remove --noudevsync --retry {self.name}\n"
                            f"{ALONE}mdadm -q --stop {self.array}")
        super().remove()


class LinearOnMirror(Mirror):
    """A logical volume of a mirror."""

    def make(self) -> str:
        return self.linear(self.name, super().make())


class Loop(Disk):
    """Of a driver that has threads of its own."""

    def make(self) -> str:
        self.node = f"/dev/loop{self.below[5:]}"
        self.server.run(f"modprobe loop\n[ -b {self.node} ] || mknod {self.node} b 7 {self.below[5:]}\n"
                        f"losetup --direct-io=on {self.node} {self.make_leg()}")
        return self.node

    def remove(self) -> None:
        self.server.try_run(f"losetup -d {self.node}")
        super().remove()


class Network(Disk):
    """Its driver says that it sleeps."""

    def make(self) -> str:
        number = self.below[5:]
        self.state = f"/tmp/nbd{number}.state"
        program = self.server.put(NBD)
        self.job = self.server.spawn(f"modprobe nbd\nuntil [ -b /dev/nbd{number} ]; do sleep 0.1; done\n"
                                     f"echo none >/sys/block/nbd{number}/queue/scheduler\n"
                                     f"exec python3 {program} /dev/nbd{number} {MEGABYTES} {self.state}", 1200)
        rnbd.wait_until(self.server, f"[ -s {self.state} ]", 60, "the network's disk is there")
        return f"/dev/nbd{number}"

    def hang(self) -> None:
        self.server.run(f"kill -STOP $(cat {self.state})")

    def go_on(self) -> None:
        self.server.try_run(f"kill -CONT $(cat {self.state})")

    def remove(self) -> None:
        self.server.try_run(f"set +e\ndmsetup remove --noudevsync --retry {self.name}\nkill $(cat {self.state})")


class LinearOnNetwork(Network):
    """A map of such a disk does not say so."""

    def make(self) -> str:
        return self.linear(self.name, super().make())


DISKS: dict[str, type[Disk]] = {"linear": Linear, "mirror": Mirror, "linear-on-mirror": LinearOnMirror, "loop": Loop,
                                "network": Network, "linear-on-network": LinearOnNetwork}
VARIANTS = {"all": {"names": tuple(DISKS)}, **{name: {"names": (name,)} for name in DISKS}}
BY_HAND = tuple(DISKS)  # each alone, to see which it is; the other one has all of them


def writer(lab: Lab, name: str) -> Job:
    """Eight writes at once that are read back."""
    return lab.client.spawn(fio.verify_command(f"/dev/{name}", "64k", 8, "512k"), 300)


def ends_at_server(lab: Lab, limit: float) -> None:
    rnbd.wait_until(lab.server, "[ $(ls /sys/class/rtrs-server/vm/paths | wc -l) = 1 ]", limit,
                    "the server's end of the path that is silent has ended")


def hanging(lab: Lab, pulse: Pulse, disks: list[Disk], names: list[str]) -> list[Job]:
    """What a neighbour notices of disks that hang, first with two paths, then of the loss of one."""
    busy = min(scale(), 4.0)
    for disk in disks:
        disk.hang()
    pulse.begin()
    writers = [writer(lab, name) for name in names]
    for name in names:
        rnbd.wait_until(lab.client, f"read -r reads writes </sys/block/{name}/inflight; [ $writes -ge 4 ]", 60,
                        f"writes to {name} are under way")
    time.sleep(HANG * busy)
    beat = pulse.read()
    rnbd.check(not beat.errors and not beat.wrong and beat.gap < GAP * busy, f"while they hang, the neighbour: {beat}")
    for machine in (lab.client, lab.server):
        machine.set_link(0, False)
    ends_at_server(lab, 30 * busy)
    time.sleep(2 * busy)
    beat = pulse.read()
    rnbd.check(not beat.errors and not beat.wrong and beat.gap < MISSED * scale(),
               f"without a cable, the neighbour: {beat}")
    rnbd.check(beat.since < GAP * busy, f"the neighbour did not go on: {beat}")
    for name, job in zip(names, writers):
        rnbd.check(job.running, f"the writes to {name} were over while it hung: that proves nothing")
    return writers


def run(lab: Lab, names: tuple[str, ...]) -> None:
    neighbour = rnbd.null_disk(lab.server)
    disks = [DISKS[name](lab.server, number) for number, name in enumerate(names)]
    pulse = None
    try:
        nodes = [disk.make() for disk in disks]
        rnbd.load_server(lab)
        rnbd.load_client(lab)
        options = {"nics": (0, 1), "no_path_timeout": 300}
        pulse = Pulse(lab.client, rnbd.map_device(lab, neighbour, **options))
        mapped = [rnbd.map_device(lab, node, **options) for node in nodes]
        time.sleep(1)  # md takes its arrays for clean, until they are written to
        writers = hanging(lab, pulse, disks, mapped)
        for disk in disks:
            disk.go_on()
        for name, job in zip(names, writers):
            result = lab.client.wait(job)
            rnbd.check(result.ok, f"the writes to {name} failed: {result.out[-600:]}")
        for machine in (lab.client, lab.server):
            machine.set_link(0, True)
        lab.client.run(f"until grep -qx connected '{folder(lab, 0)}/state'; do sleep 0.2; done", 120)
        for disk in disks:
            disk.check()
        beat = pulse.read()
        rnbd.check(not beat.errors and not beat.wrong, f"the neighbour: {beat}")
    finally:
        for machine in (lab.client, lab.server):
            machine.set_link(0, True)
        for disk in disks:
            disk.go_on()
        if pulse:
            pulse.stop()
        lab.client.try_run("for d in /sys/block/rnbd*/rnbd/unmap_device; do echo force >$d || :; done", 90)
        lab.server.try_run("rmmod rnbd_server", 90)
        for disk in disks:
            disk.remove()
