# SPDX-License-Identifier: GPL-2.0
"""A server without power: no request fails before no_path_timeout has passed since the loss, however old; then all."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.machine import UPTIME

SLOW = True
OURS = ("client",)
TIMEOUT = 20  # seconds, of no_path_timeout
LOSS = 35 + 15  # until the loss shows, protocol B.3


def attempt(lab: Lab, name: str, what: str, tag: str):
    """A request that notes when it has failed, or that it has not."""
    disk = f"/dev/{name}"
    files = f"if={disk} of=/dev/null iflag=direct" if what == "read" else f"if=/dev/zero of={disk} oflag=direct"
    return lab.client.spawn(f"! dd {files} bs=4k count=1 2>/tmp/error.{tag}\n{UPTIME} >/tmp/failed.{tag}", 200)


def run(lab: Lab) -> None:
    below = rnbd.null_disk(lab.server)
    # A disk that can be stopped, so that requests get older than the time they may wait.
    lab.server.run(f"modprobe dm_mod\nsize=$(blockdev --getsz {below})\n"
                   f"dmsetup create --noudevsync slow --table \"0 $size linear {below} 0\"\ndmsetup mknodes slow")
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, "/dev/mapper/slow", no_path_timeout=TIMEOUT)
    lab.server.run("dmsetup suspend --nolockfs --noflush --noudevsync slow")
    jobs = [attempt(lab, name, what, f"old.{what}") for what in ("read", "write")]
    entry = f"/sys/block/{name}/rnbd"
    old = f"[ $(cat {entry}/oldest_request_ms) -gt {TIMEOUT * 1000} ]"
    rnbd.wait_until(lab.client, old, TIMEOUT + 30, "requests age")
    lab.server.kill()
    lost = float(lab.client.run(f"while ! grep -qx closed {entry}/state; do sleep 0.05; done\n{UPTIME}", LOSS))
    # One that begins later has no more time than the others.
    lab.client.run(f"sleep {TIMEOUT // 2}")
    jobs.append(attempt(lab, name, "read", "new"))
    for job in jobs:
        result = lab.client.wait(job)
        rnbd.check(result.ok, f"a request without a server ended with {result.rc}: {result.out}")
    for line in lab.client.run("grep -H . /tmp/failed.*").splitlines():
        tag, _, when = line.partition(":")
        waited = float(when) - lost
        # The state is looked at a moment after it changes.
        rnbd.check(TIMEOUT - 0.5 < waited < TIMEOUT + 10, f"{tag}: failed {waited:.2f} s after the loss")
    rnbd.unmap(lab, name, "force")
    rnbd.unload_client(lab)
