# SPDX-License-Identifier: GPL-2.0
"""The example of cxxrt, built against an installed copy of it, works, refuses bad parameters and leaves nothing."""

import fcntl
import re
import shutil
from pathlib import Path

from vmlab import make, rnbd
from vmlab.kernel import Kernel
from vmlab.kernel_build import RECIPES
from vmlab.lab import Lab

KINDS = ("stock", "uml")
OURS = ("client",)
FILES = "/sys/kernel/debug/cxxrt-example"


def build(kernel: Kernel) -> Path:
    """The module, made as a user of cxxrt makes it: outside of this tree."""
    folder = make.TOP / "build/cxxrt-example" / kernel.release
    folder.mkdir(parents=True, exist_ok=True)
    share, doc = (folder / f"root/share/{name}" for name in ("cxxrt", "doc/cxxrt"))
    log = folder / "make.log"
    log.unlink(missing_ok=True)
    with (folder / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        rnbd.check(make.run("-s", "-C", str(make.TOP / "cxxrt"), f"PREFIX={folder}/root", "install", log=log),
                   f"cxxrt can't be installed: see {log}")
        shutil.copytree(doc / "example", folder / "project", dirs_exist_ok=True)
        arch = RECIPES[kernel.kind].arch if kernel.kind in RECIPES else ()
        rnbd.check(make.run("-s", "-C", str(folder / "project"), f"KDIR={kernel.kdir}", f"CXXRT={share}", *arch,
                            "BUILD=out", "modules", log=log, within=kernel.root.enter if kernel.root else ()),
                   f"the example does not build: see {log}")
    return folder / "project/out/cxxrt-example.ko"


def run(lab: Lab) -> None:
    path = lab.client.put(build(lab.kernel))
    for words, refused in (("interval_ms=0", "interval_ms: 0"), ("keep=4097", "keep: 4097"),
                           ("interval_ms=60001", "interval_ms: 60001")):
        result = lab.client.try_run(f"insmod {path} {words}")
        rnbd.check(not result.ok, f"insmod with {words} was accepted")
        said = lab.client.run(f"dmesg | grep 'cxxrt_example {refused} is not in the range' | tail -n 1")
        rnbd.check(said.strip() != "", f"{words} was refused without a word of why")
    lab.client.run(f"[ ! -e {FILES} ]\nif grep cxxrt_example /proc/modules; then exit 1; fi")

    # Read while it measures, and removed while it does; a full history of two.
    for _ in range(3):
        text = lab.client.run(f"insmod {path} interval_ms=5 keep=2\nn=0\n"
                              f"while [ $n -lt 50 ]; do cat {FILES}/lateness > /tmp/lateness; n=$((n+1)); done\n"
                              "cat /tmp/lateness\nrmmod cxxrt_example")
        lines = text.strip().splitlines()
        first = re.fullmatch(r"(\d+) measurements, at most (\d+) us late", lines[0])
        rnbd.check(first is not None and int(first[1]) > 2, f"unexpected: {lines[0]}")
        rnbd.equal(len(lines), 3, "lines of a history of two")
        for line in lines[1:]:
            each = re.fullmatch(r"(\d+) us late, load \d+\.\d\d", line)
            rnbd.check(each is not None and int(each[1]) <= int(first[2]), f"unexpected: {line}")
        lab.client.run(f"[ ! -e {FILES} ]")
