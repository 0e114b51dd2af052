# SPDX-License-Identifier: GPL-2.0
"""Limits on what clients hold of a server: each refuses with its name in the log, and changes at once."""

from vmlab import rnbd
from vmlab.lab import Lab

OURS = ("server",)
PARAMETERS = "/sys/module/rtrs_server/parameters"
# Limit, value that leaves no room beside one mapped session, what a client is told.
CASES = (
    ("max_sessions", 1, "EUSERS"),
    ("max_sessions_per_host", 1, "EUSERS"),
    ("max_paths", 1, "EUSERS"),
    ("max_paths_per_host", 1, "EUSERS"),
    ("max_connections", 3, "EUSERS"),
    ("max_connections_per_host", 3, "EUSERS"),
    ("max_pinned_mb", 65, "ENOMEM"),  # a session has 512 chunks of 128 KiB
    ("max_memory_mb", 100, "ENOMEM"),
    ("max_memory_per_host_mb", 100, "ENOMEM"),
)
NAMED = {"max_memory_mb": "max_memory_per_host_mb"}  # three quarters of it, which one host reaches first


def refusals(lab: Lab) -> int:
    text = rnbd.read(lab.server, "/sys/kernel/debug/rtrs-server/refusals")
    return int(dict(line.split() for line in text.splitlines())["connect_quota"])


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    first = rnbd.map_device(lab, disk, session="first", access_mode="migration")
    second_map = rnbd.map_text(lab, disk, session="second", access_mode="migration")
    for name, value, error in CASES:
        usual = rnbd.read(lab.server, f"{PARAMETERS}/{name}")
        rnbd.write(lab.server, f"{PARAMETERS}/{name}", str(value))
        before = refusals(lab)
        rnbd.equal(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", second_map), error, f"map beyond {name}")
        rnbd.check(refusals(lab) > before, f"a refusal by {name} was not counted")
        named = NAMED.get(name, name)
        rnbd.check(f"a limit is reached: {named}\n" in lab.server.log() + "\n", f"the log does not name {named}")
        # What is there goes on.
        lab.client.run(f"dd if=/dev/{first} of=/dev/null bs=4k count=1 iflag=direct")
        rnbd.write(lab.server, f"{PARAMETERS}/{name}", usual)
    second = rnbd.map_device(lab, disk, session="second", access_mode="migration")
    rnbd.unmap(lab, second)
    rnbd.unmap(lab, first)
    # What has gone counts no more.
    rnbd.write(lab.server, f"{PARAMETERS}/max_paths", "1")
    for _ in range(3):
        rnbd.unmap(lab, rnbd.map_device(lab, disk, session="first", limit=90))
