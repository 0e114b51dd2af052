# SPDX-License-Identifier: GPL-2.0
"""From a network namespace other than init's no path can be made: EOPNOTSUPP, with the reason in the log."""

import errno
import os

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.machine import Machine
from vmlab.multipath import SESSION

OURS = ("client",)
SAID = "network namespaces other than init's are not supported"


def write_error(machine: Machine, path: str, text: str) -> str:
    """What a write from a new namespace ends with."""
    result = machine.try_run(f"unshare --net /usr/bin/sh -c \"/usr/bin/printf '%s\\n' '{text}' >{path}\"", 60)
    return "" if result.ok else result.out.strip().rpartition("error: ")[2]


def run(lab: Lab) -> None:
    wanted = os.strerror(errno.EOPNOTSUPP)
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    rnbd.equal(write_error(lab.client, f"{rnbd.CTL}/map_device", rnbd.map_text(lab, disk)), wanted, "map_device")
    rnbd.check(SAID in lab.client.log(), "the log does not say why")
    rnbd.equal(rnbd.sessions(lab.client, "client"), [], "sessions afterwards")

    name = rnbd.map_device(lab, disk)
    path = rnbd.path_option(lab, 1).removeprefix("path=")
    rnbd.equal(write_error(lab.client, f"{SESSION}/add_path", path), wanted, "add_path")
    rnbd.equal(len(lab.client.run(f"ls {SESSION}/paths").split()), 1, "paths afterwards")
    # What needs no address works.
    rnbd.equal(write_error(lab.client, f"{SESSION}/mp_policy", "rr"), "", "mp_policy")
    lab.client.run(f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct", 30)
    rnbd.unmap(lab, name)
