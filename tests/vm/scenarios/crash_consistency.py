# SPDX-License-Identifier: GPL-2.0
"""The server loses power with a full disk cache, again and again: no write that was acknowledged as durable is lost.

The server's disks have a cache that is lost with the power (vmlab/volatile_disk.py). A checker writes blocks and
makes them durable by flushes, another one by FUA, and a file system syncs files, until the server's machine dies.
What then must be there, is; the record of it is kept by the client, which lives on. In every other round the client
fails nothing and waits for the server. One more disk forgets its flushes: there the checker has to notice.
CRASH_ROUNDS=N and SEED=N choose, SEED=0 any.
"""

import os
import random
import tempfile
import time
from pathlib import Path

from vmlab import make, rnbd
from vmlab.lab import Lab
from vmlab.multipath import folder
from vmlab.volatile_disk import VolatileDisk

SLOW = True
KINDS = ("stock", "debug")  # others have no driver for such disks
MEGABYTES = 32
LIMIT = 300.0  # of a writer; the crash comes before
BLOCKS = {"flushes": "flush", "fua": "fua", "forgets": "flush"}  # disks of the checker, and what it does there
RECORDS = "/tmp/crash"
FILES = "/usr/bin/python3 /share/files.py"


class Crash:
    """A client and its disks on a server that dies."""

    def __init__(self, lab: Lab, seed: int, sockets: Path) -> None:
        self.lab = lab
        self.chance = random.Random(seed)
        self.disks = {what: VolatileDisk(sockets / what, MEGABYTES, random.Random(self.chance.random()))
                      for what in ("files", *BLOCKS)}
        self.names: dict[str, str] = {}
        self.said: list[str] = []

    def start(self) -> None:
        lab = self.lab
        self.disks["forgets"].forgets_flushes = True
        lab.server.disks = [disk.path for disk in self.disks.values()]
        paths = self.boot_server()
        lab.client.put(make.programs("storage") / "write-order")
        lab.client.put(make.TOP / "tests/storage/files.py")
        rnbd.load_client(lab)
        self.names = {what: rnbd.map_device(lab, path) for what, path in zip(self.disks, paths, strict=True)}
        lab.client.run(f"rm -rf {RECORDS}; mkdir -p {RECORDS}/mnt\nmodprobe ext4\n"
                       f"mkfs.ext4 -q -F /dev/{self.names['files']}", 120)

    def boot_server(self) -> list[str]:
        self.lab.reboot("server")
        paths = self.lab.server.find_disks()
        rnbd.load_server(self.lab)
        return paths

    def forget(self, what: str) -> None:
        rnbd.unmap(self.lab, self.names.pop(what))

    def round(self, wait: bool) -> None:
        """Write until the server dies, and let it come back."""
        lab, client = self.lab, self.lab.client
        timeout = -1 if wait else 0
        mounted = f"{RECORDS}/mnt"
        script = "\n".join(f"echo {timeout} >/sys/block/{name}/rnbd/no_path_timeout" for name in self.names.values())
        client.run(f"{script}\nmount /dev/{self.names['files']} {mounted}\n"
                   f"touch {RECORDS}/files\nwc -l <{RECORDS}/files >{RECORDS}/before")
        seed = self.chance.getrandbits(31)
        jobs = {what: client.spawn(f"/share/write-order write /dev/{name} {RECORDS}/{what} {seed} {BLOCKS[what]} "
                                   f"{LIMIT:.0f}", LIMIT + 60)
                for what, name in self.names.items() if what in BLOCKS}
        jobs["files"] = client.spawn(f"{FILES} write {mounted} {RECORDS}/files {seed} {LIMIT:.0f}", LIMIT + 60)
        rnbd.wait_until(client, f"[ $(wc -l <{RECORDS}/files) -ge $(($(cat {RECORDS}/before) + 4)) ]", 60,
                        "files are synced")
        time.sleep(self.chance.uniform(0, 2))
        for what, job in jobs.items():
            rnbd.check(job.running, f"{what}: the writer ended before the crash")
        lab.server.kill()
        lost = {what: disk.power_loss() for what, disk in self.disks.items()}
        self.said.append(f"sectors lost: {lost}")
        if not wait:
            rnbd.write(client, f"{folder(lab, 0)}/disconnect", "1")
        self.boot_server()
        condition = "\n".join(f"until grep -qx open /sys/block/{name}/rnbd/state; do sleep 0.1; done"
                              for name in self.names.values())
        client.run(f"until echo 1 >{folder(lab, 0)}/reconnect; do sleep 0.5; done\n{condition}", 120)
        if wait:
            # Writers go on, until a flush says that it can't cover what was written before the crash.
            client.run("sleep 2\npkill -INT write-order || true\npkill -f 'files.py write' || true")
        for what, job in jobs.items():
            self.said.append(f"{what}: {client.wait(job).out.strip()[-200:]}")
        client.run(f"umount {mounted}", 60)

    def verify(self) -> dict[str, bool]:
        """Of each disk, whether all is there that has to be."""
        client = self.lab.client
        scripts = {what: f"/share/write-order verify /dev/{name} {RECORDS}/{what}"
                   for what, name in self.names.items() if what in BLOCKS}
        disk, mounted = f"/dev/{self.names['files']}", f"{RECORDS}/mnt"
        scripts["files"] = (f"mount {disk} {mounted}\n{FILES} verify {mounted} {RECORDS}/files || bad=1\n"
                            f"umount {mounted}\ne2fsck -fn {disk} >/tmp/fsck 2>&1 || {{ cat /tmp/fsck; bad=1; }}\n"
                            "[ -z \"$bad\" ]")
        results = {what: client.try_run(script, 90) for what, script in scripts.items()}
        self.said += [f"{what}: {result.out.strip()[-600:]}" for what, result in results.items()]
        return {what: result.ok for what, result in results.items()}

    def close(self) -> None:
        self.lab.server.disks = []
        self.lab.server.kill()
        for disk in self.disks.values():
            disk.close()


def run(lab: Lab) -> None:
    seed = int(os.environ.get("SEED", "1837004471")) or random.SystemRandom().getrandbits(32)
    with tempfile.TemporaryDirectory() as sockets:
        crash = Crash(lab, seed, Path(sockets))
        try:
            crash.start()
            for n in range(int(os.environ.get("CRASH_ROUNDS", "2"))):
                crash.round(wait=n % 2 == 1)
                kept = crash.verify()
                rnbd.check(kept.pop("forgets", None) is not True, "the checker does not see that flushes are forgotten")
                rnbd.check(all(kept.values()), "something durable was lost")
                if n == 0:
                    crash.forget("forgets")
            if "CRASH_ROUNDS" in os.environ:
                print("     " + "\n     ".join(crash.said), flush=True)
        except Exception as e:
            raise AssertionError(f"seed {seed}: {e}\n" + "\n".join(crash.said)) from e
        finally:
            crash.close()
