# SPDX-License-Identifier: GPL-2.0
"""The longest pause between attempts is the one that was asked for, and another one from the pause after a write on."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, folder

OURS = ("client",)
MANY = 6  # attempts in a row, after which a pause has 32 s, or the most that is allowed


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, reconnect_delay=1)
    path = folder(lab, 0)
    # The machine answers that nobody listens: attempts without an answer do not wait longer each time.
    rnbd.unload_server(lab)
    rnbd.wait_until(lab.client, f"[ $(cat '{path}/attempts') -ge {MANY} ]", 60, "the client has tried many times")
    pauses = [int(rnbd.read(lab.client, f"{path}/next_attempt_ms")) for _ in range(5)]
    rnbd.check(max(pauses) <= 2000, f"pauses of a second, and as much by chance: {pauses} ms")
    rnbd.write(lab.client, f"{SESSION}/reconnect_delay", "3600")
    rnbd.wait_until(lab.client, f"[ $(cat '{path}/next_attempt_ms') -gt 10000 ]", 60, "a pause is as long as it may be")
    rnbd.load_server(lab)
    rnbd.write(lab.client, f"{path}/reconnect", "1")
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 30, "the disk is back")
    rnbd.unmap(lab, name)
