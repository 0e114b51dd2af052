# SPDX-License-Identifier: GPL-2.0
"""Random troubles of the matrix, one after the other, under the I/O of two disks that must meet neither an error nor a
wrong byte. A seed decides them, their order and their length."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

from . import make, matrix, rnbd
from .channel import Job, scale
from .disk_kinds import Guided
from .faults import DISK, VICTIM, Fault
from .faults_path import PARAMETERS
from .lab import Lab
from .multipath import SESSION, verified_load

SECONDS = float(os.environ.get("SOAK_SECONDS", "3600"))
SHORTEST, LONGEST = 3, 40  # seconds of one trouble
CALM = 15  # seconds between two at the most
BACK = 60.0  # until all paths are there again
MOUNT = "/tmp/soak"
FSX = Path(__file__).resolve().parents[1] / "guest/fsx"


class Guides(Fault):
    """The disk of a server that was set up as the guide says: LVM on a mirror of SCSI disks, which hang one by one or
    together, and return."""

    HANGS = (5, 5, 20, 40)  # seconds at the most, of which the last is longer than SCSI waits for an answer
    RESTS = 10.0
    STOP = "/tmp/legs-stay"

    def __init__(self, lab: Lab, chance: random.Random) -> None:
        super().__init__(lab)
        self._kind = Guided(lab, "hangs")
        self._chance = chance
        self._job: Job | None = None

    def make_disk(self) -> str:
        path = self._kind.make()
        # By this name the troubles know it.
        self.lab.server.run(f"rm -f {self.STOP}\nln -sfn {path} /dev/mapper/{VICTIM}")
        return path

    def begin(self, name: str) -> None:
        """For as long as the run lasts."""
        self._job = self.lab.server.spawn("\n".join(self._lines(SECONDS + 600)), SECONDS + 1200)

    def _lines(self, seconds: float) -> Iterator[str]:
        passed = 0.0
        while passed < seconds:
            rests = self._chance.uniform(1, self.RESTS)
            hangs = self._chance.uniform(0.5, self._chance.choice(self.HANGS))
            legs = self._chance.choice((("leg0",), ("leg1",), ("leg0", "leg1")))
            yield f"sleep {rests:.1f}\n[ ! -e {self.STOP} ] || exit 0"
            yield from (f"dmsetup suspend --nolockfs --noflush --noudevsync {leg}" for leg in legs)
            yield f"sleep {hangs:.1f}"
            yield from (f"dmsetup resume --noudevsync {leg}" for leg in legs)
            passed += rests + hangs

    def end(self) -> None:
        self.lab.server.run(f"touch {self.STOP}")
        if self._job:
            result, self._job = self.lab.server.wait(self._job), None
            rnbd.check(result.ok, f"the legs' troubles ended: {result.out.strip()[-300:]}")

    def remove_disk(self) -> None:
        self.lab.server.run(f"rm -f /dev/mapper/{VICTIM}")
        self._kind.remove()


class Soak:
    """The victim has raw blocks, the other disk a file system; both have three paths."""

    def __init__(self, lab: Lab, seed: int, disk: str) -> None:
        self.lab = lab
        self.seed = seed
        self.chance = random.Random(seed)
        self.guides = disk == "lvm"
        chosen = os.environ.get("FAULTS", "").split()
        self.names = [name for name, kind in matrix.FAULTS.items()
                      if self.fits(kind) and not (self.guides and name in DISK) and (not chosen or name in chosen)]
        rnbd.check(self.names, "no trouble is left to choose from")
        self.loads: list[Job] = []
        self.base = Guides(lab, random.Random(seed + 1)) if self.guides else Fault(lab)
        self.now: Fault | None = None

    @staticmethod
    def fits(kind: type[Fault]) -> bool:
        """Troubles that a disk goes through without an error."""
        return not (kind.victim_fails or kind.fsync_fails) and kind.in_turn

    def set_up(self) -> None:
        lab = self.lab
        make.programs()  # of one of the troubles: a compiler on a busy host takes minutes, in which there would be none
        rnbd.load_server(lab, **PARAMETERS)
        rnbd.load_client(lab)
        nics = (0, 1, 2)
        self.victim = rnbd.map_device(lab, self.base.make_disk(), nics=nics, no_path_timeout=-1)
        self.other = rnbd.map_device(lab, rnbd.null_disk(lab.server, "nullb2", 64), nics=nics, no_path_timeout=-1)
        rnbd.write(lab.client, f"{SESSION}/mpath_policy", "round-robin")
        lab.client.run(f"modprobe ext4\nmkfs.ext4 -q /dev/{self.other}\nmkdir -p {MOUNT}\n"
                       f"mount -t ext4 /dev/{self.other} {MOUNT}", 90)
        if self.guides:
            self.base.begin(self.victim)
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
        if self.guides:
            self.base.end()
        self.lab.client.run("touch /tmp/stop /tmp/calm")
        for load in self.loads:
            result = load.wait(120 * scale())
            rnbd.check(result.ok, f"a load met errors: {result.out.strip()[-1000:]}")
        self.lab.client.run(f"umount {MOUNT}\n"
                            f"e2fsck -fn /dev/{self.other} >/tmp/check 2>&1 || {{ cat /tmp/check; exit 1; }}", 120)

    def undo(self) -> None:
        if self.now:
            self.now.end()
        if self.guides:
            self.base.end()
        self.lab.client.try_run(f"touch /tmp/stop /tmp/calm; pkill -KILL fio; sleep 1; umount -f {MOUNT}\n"
                                "for d in /sys/block/rnbd*/rnbd/unmap_device; do echo force >$d || :; done", 120)
        self.lab.server.try_run("rmmod rnbd_server", 60)
        self.base.remove_disk()


def run(lab: Lab, disk: str) -> int:
    """How many troubles it was. `disk`: the victim's, "null" or "lvm"."""
    seed = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
    print(f"     SEED={seed} SOAK_SECONDS={SECONDS:.0f}", flush=True)
    soak = Soak(lab, seed, disk)
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
