# SPDX-License-Identifier: GPL-2.0
"""Modules load and unload in every legal order, many times, and refuse the illegal ones."""

from vmlab import rnbd
from vmlab.lab import Lab

# Each line: modules to load, then the order in which they can be removed.
ORDERS = (
    ("rtrs_core", "rtrs_core"),
    ("rtrs_client", "rtrs_client rtrs_core"),
    ("rtrs_server", "rtrs_server rtrs_core"),
    ("rnbd_client", "rnbd_client rtrs_client rtrs_core"),
    ("rnbd_server", "rnbd_server rtrs_server rtrs_core"),
    ("rnbd_client rnbd_server", "rnbd_client rtrs_client rnbd_server rtrs_server rtrs_core"),
    ("rnbd_server rnbd_client", "rnbd_server rtrs_server rnbd_client rtrs_client rtrs_core"),
    ("rnbd_client rnbd_server", "rnbd_server rnbd_client rtrs_server rtrs_client rtrs_core"),
    ("rtrs_server rnbd_client rnbd_server", "rnbd_client rnbd_server rtrs_client rtrs_server rtrs_core"),
)
ROUNDS = 3

# Parameters that a module must refuse: module, others, parameter.
REFUSED = (
    "rtrs_server max_chunk_size=4096", "rtrs_server max_chunk_size=100000", "rtrs_server max_chunk_size=-1",
    "rtrs_server sess_queue_depth=0", "rtrs_server sess_queue_depth=65536", "rtrs_server sess_queue_depth=-5",
    "rtrs_server always_invalidate=perhaps",
    "rtrs_server max_chunk_size=1048576 sess_queue_depth=1024",  # 20 + 11 bits do not fit the immediate
    "rnbd_server port_nr=65536", "rnbd_server port_nr=port",
)


def run(lab: Lab) -> None:
    for load, unload in ORDERS:
        script = "\n".join([*(f"modprobe {m}" for m in load.split()), *(f"rmmod {m}" for m in unload.split())])
        lab.client.run(f"n=0\nwhile [ $n -lt {ROUNDS} ]; do\n{script}\nn=$((n+1))\ndone", 90)
    left = lab.client.run("cut -d' ' -f1 /proc/modules | grep -E '^(rtrs|rnbd)_' || true").split()
    rnbd.equal(left, [], "modules that are still loaded")

    lab.client.run("modprobe rnbd_client\nmodprobe rnbd_server")
    for module in ("rtrs_core", "rtrs_client", "rtrs_server"):
        rnbd.check(not lab.client.try_run(f"rmmod {module}").ok, f"{module} could be removed while in use")
    rnbd.check(lab.client.try_run("modprobe rnbd_client").ok, "loading twice must do nothing")
    lab.client.run("rmmod rnbd_client rnbd_server rtrs_client rtrs_server rtrs_core")

    lab.client.run("modprobe rtrs_core")
    for words in REFUSED:
        needs = "modprobe rtrs_server\n" if words.startswith("rnbd") else ""
        lab.client.run(needs or "true")
        result = lab.client.try_run(f"modprobe {words}")
        rnbd.check(not result.ok, f"modprobe {words} was accepted")
        if needs:
            lab.client.run("rmmod rtrs_server")

    # The largest legal geometry, and the smallest.
    for words in ("max_chunk_size=8192 sess_queue_depth=1", "max_chunk_size=1048576 sess_queue_depth=128",
                  "max_chunk_size=8192 sess_queue_depth=32767"):
        lab.client.run(f"modprobe rtrs_server {words}\nrmmod rtrs_server", 90)
