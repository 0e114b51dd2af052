# SPDX-License-Identifier: GPL-2.0
"""Two hundred devices on one session: each is its own, I/O goes to all of them, names of one device count as one.

MANY_DEVICES=N chooses another number.
"""

import os
import time

from vmlab import fio, rnbd
from vmlab.lab import Lab

SLOW = True
OURS = ("client", "server")
EXPORTS = "/sys/class/rnbd-server/ctl/devices"
SHELLS = 4
# Each disk gets its own name at its begin and its end; all are read back when all have been written.
SIGN = """
import mmap, os, sys
block = mmap.mmap(-1, 4096)
for reading in (False, True):
    for name in os.listdir("/sys/block"):
        if not name.startswith("rnbd"):
            continue
        mine = (os.readlink(f"/sys/block/{name}") + open(f"/sys/block/{name}/rnbd/mapping_path").read()).encode()
        fd = os.open(f"/dev/{name}", os.O_RDWR | os.O_DIRECT)
        end = int(open(f"/sys/block/{name}/size").read()) * 512
        for place in (0, end - 4096):
            if reading:
                os.preadv(fd, [block], place)
                if block[:len(mine)] != mine:
                    sys.exit(f"{name} at {place}: {block[:len(mine)]!r} is not {mine!r}")
            else:
                block[:] = mine.ljust(4096, b".")
                os.pwritev(fd, [block], place)
        os.close(fd)
"""


def in_shells(lab: Lab, count: int, script: str, limit: float) -> None:
    """The script, which uses $n and $name, for each device: several at once, every shell has some of them."""
    jobs = [lab.client.spawn(f"n={shell}\nwhile [ $n -lt {count} ]; do\n{script}\nn=$((n + {SHELLS}))\ndone", limit)
            for shell in range(SHELLS)]
    for job in jobs:
        result = lab.client.wait(job)
        rnbd.check(result.ok, f"a shell failed: {result.out[-400:]}")


def map_all(lab: Lab, count: int) -> list[str]:
    text = rnbd.map_text(lab, "/dev/ram$n")
    in_shells(lab, count, f"echo \"{text}\" >{rnbd.CTL}/map_device", 240)
    names = lab.client.run("ls /sys/block | grep '^rnbd'").split()
    rnbd.equal(len(names), count, "disks at the client")
    rnbd.equal(len(lab.server.run(f"ls {EXPORTS}").split()), count, "exports at the server")
    rnbd.equal(rnbd.sessions(lab.client, "client"), ["vm"], "sessions")
    return names


def unmap_all(lab: Lab, count: int, load: str) -> None:
    """Half of them as usual, the others by force, under I/O."""
    lab.client.run(f"cat >/tmp/unmap <<'END'\nname=$(readlink {rnbd.CTL}/devices/!dev!ram$1@vm)\n"
                   "echo $2 >/sys/block/${name##*/}/rnbd/unmap_device\nEND")
    in_shells(lab, count // 2, "sh /tmp/unmap $n normal", 240)
    job = lab.client.spawn(fio.command("load", f"/dev/{load}", rw="randrw", bs="4k", iodepth=4, size="512k",
                                       time_based=1, runtime=300), 360)
    lab.client.run("sleep 1\nfor d in /sys/block/rnbd*/rnbd; do echo force >$d/unmap_device; done", 240)
    rnbd.check(not lab.client.wait(job).ok, "I/O went on after the unmap")
    rnbd.equal(lab.client.run("ls /sys/block | grep '^rnbd' || true").split(), [], "disks after unmap")
    rnbd.equal(lab.server.run(f"ls {EXPORTS}").split(), [], "exports after unmap")
    rnbd.wait_until(lab.server, "[ -z \"$(ls /sys/class/rtrs-server | grep -v ctl)\" ]", 30, "sessions gone")


def aliases(lab: Lab) -> None:
    """A device that is mapped is not mapped again by any other name of it, in this session or another one."""
    lab.server.run("mkdir -p /dev/disk/by-id\nln -s ../../ram0 /dev/disk/by-id/brd-0\n"
                   "ln -s by-id /dev/disk/by-other\nmknod /dev/node-of-ram0 b $(stat -c '0x%t 0x%T' /dev/ram0)")
    names = ("/dev/disk/by-id/brd-0", "/dev/disk/by-other/brd-0", "/dev/node-of-ram0")
    writes = [(f"{rnbd.CTL}/map_device", rnbd.map_text(lab, name)) for name in names]
    writes += [(f"{rnbd.CTL}/map_device", rnbd.map_text(lab, names[0], "vm2"))]
    got = rnbd.write_errors(lab.client, writes, 120)
    rnbd.equal(got, ["EEXIST"] * len(names) + ["EPERM"], "other names of a device that is mapped")
    lab.server.run("rm -r /dev/disk /dev/node-of-ram0")


def run(lab: Lab) -> None:
    count = int(os.environ.get("MANY_DEVICES", "200"))
    lab.server.run(f"modprobe brd rd_nr={count} rd_size=1024 max_part=1")
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    began = time.monotonic()
    names = map_all(lab, count)
    mapped = time.monotonic()
    lab.client.run(f"cat >/tmp/sign.py <<'END'\n{SIGN}END\n/usr/bin/python3 /tmp/sign.py", 120)
    several = names[::count // 4]
    loads = "\n".join(fio.verify_command(f"/dev/{name}", "4k", 4, "128k") + " &\njobs=\"$jobs $!\"" for name in several)
    lab.client.run(f"jobs=\n{loads}\nfor job in $jobs; do wait $job; done", 120)
    aliases(lab)
    unmapping = time.monotonic()
    unmap_all(lab, count, rnbd.mapped_name(lab, f"/dev/ram{count - 1}"))
    print(f"     {count} devices: mapped in {mapped - began:.1f} s, unmapped in {time.monotonic() - unmapping:.1f} s",
          flush=True)
    rnbd.unload_client(lab)
