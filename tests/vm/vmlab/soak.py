# SPDX-License-Identifier: GPL-2.0
"""Random troubles of the matrix, one after the other, under the I/O of two disks that must meet neither an error nor a
wrong byte. A seed decides them, their order and their length."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from . import matrix, rnbd
from .channel import Job, scale
from .faults import Fault
from .faults_path import PARAMETERS
from .lab import Lab
from .multipath import SESSION, verified_load

SECONDS = float(os.environ.get("SOAK_SECONDS", "3600"))
SHORTEST, LONGEST = 3, 40  # seconds of one trouble
CALM = 15  # seconds between two at the most
BACK = 60.0  # until all paths are there again
MOUNT = "/tmp/soak"
FSX = Path(__file__).resolve().parents[1] / "guest/fsx"


class Soak:
    """The victim has raw blocks, the other disk a file system; both have three paths."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.lab = lab
        self.seed = seed
        self.chance = random.Random(seed)
        chosen = os.environ.get("FAULTS", "").split()
        self.names = [name for name, kind in matrix.FAULTS.items()
                      if self.fits(kind) and (not chosen or name in chosen)]
        rnbd.check(self.names, "no trouble is left to choose from")
        self.loads: list[Job] = []
        self.base = Fault(lab)
        self.now: Fault | None = None

    @staticmethod
    def fits(kind: type[Fault]) -> bool:
        """Troubles that a disk goes through without an error."""
        return not (kind.victim_fails or kind.fsync_fails) and kind.in_turn

    def set_up(self) -> None:
        lab = self.lab
        rnbd.load_server(lab, **PARAMETERS)
        rnbd.load_client(lab)
        nics = (0, 1, 2)
        self.victim = rnbd.map_device(lab, self.base.make_disk(), nics=nics, no_path_timeout=-1)
        self.other = rnbd.map_device(lab, rnbd.null_disk(lab.server, "nullb2", 64), nics=nics, no_path_timeout=-1)
        rnbd.write(lab.client, f"{SESSION}/mpath_policy", "round-robin")
        lab.client.run(f"modprobe ext4\nmkfs.ext4 -q /dev/{self.other}\nmkdir -p {MOUNT}\n"
                       f"mount -t ext4 /dev/{self.other} {MOUNT}", 90)
        self.loads = [verified_load(lab, self.victim, SECONDS + 1200, 16, "2m", offset="4m", rate_iops=150, fsync=32),
                      lab.client.spawn(f"python3 {lab.client.put(FSX)} {MOUNT} {self.seed} /tmp/calm", SECONDS + 1200)]

    def still_fine(self) -> None:
        for load in self.loads:
            if not load.running:
                result = load.wait()
                raise AssertionError(f"a load ended with {result.rc}: {result.out.strip()[-600:]}")

    def recover(self) -> None:
        """Everything is back, and both disks' I/O goes on."""
        client = self.lab.client
        rnbd.wait_until(client, f"[ $(cat {SESSION}/paths/*/state | grep -cx connected) = 3 ] && "
                        "! grep -Lx open /sys/block/rnbd*/rnbd/state | grep -q .", BACK, "all paths are back")
        before = rnbd.read(client, f"/sys/block/{self.victim}/stat").split()[4]
        rnbd.wait_until(client, f"set -- $(cat /sys/block/{self.victim}/stat); [ $5 -gt {int(before) + 20} ]", BACK,
                        "the victim's I/O goes on")

    def trouble(self, elapsed: float) -> None:
        name = self.chance.choice(self.names)
        lasts = self.chance.uniform(SHORTEST, LONGEST)
        calm = self.chance.uniform(0, CALM)
        print(f"     {elapsed:5.0f} s: {name} for {lasts:.0f} s", flush=True)
        self.now = matrix.FAULTS[name](self.lab)
        self.now.begin(self.victim)
        self.rest(lasts)
        self.now.end()
        self.now = None
        self.recover()
        self.rest(calm)

    def rest(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.still_fine()
            time.sleep(min(1.0, max(0.0, end - time.monotonic())))

    def finish(self) -> None:
        self.lab.client.run("touch /tmp/stop /tmp/calm")
        for load in self.loads:
            result = load.wait(120 * scale())
            rnbd.check(result.ok, f"a load met errors: {result.out.strip()[-1000:]}")
        self.lab.client.run(f"umount {MOUNT}\n"
                            f"e2fsck -fn /dev/{self.other} >/tmp/check 2>&1 || {{ cat /tmp/check; exit 1; }}", 120)

    def undo(self) -> None:
        if self.now:
            self.now.end()
        self.lab.client.try_run(f"touch /tmp/stop /tmp/calm; pkill -KILL fio; sleep 1; umount -f {MOUNT}\n"
                                "for d in /sys/block/rnbd*/rnbd/unmap_device; do echo force >$d || :; done", 120)
        self.lab.server.try_run("rmmod rnbd_server", 60)
        self.base.remove_disk()


def run(lab: Lab) -> int:
    """How many troubles it was."""
    seed = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
    print(f"     SEED={seed} SOAK_SECONDS={SECONDS:.0f}", flush=True)
    soak = Soak(lab, seed)
    began, count = time.monotonic(), 0
    try:
        soak.set_up()
        while time.monotonic() - began < SECONDS or not count:
            soak.trouble(time.monotonic() - began)
            count += 1
        soak.finish()
    except AssertionError as e:
        raise AssertionError(f"SEED={seed}, after {time.monotonic() - began:.0f} s: {e}") from e
    finally:
        soak.undo()
    return count
