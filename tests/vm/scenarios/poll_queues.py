# SPDX-License-Identifier: GPL-2.0
"""Polled I/O goes out on connections that nothing but polling empties, on a path that was added later too."""

import re

from vmlab import fio, rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, carries, end_load, folder, requests

OURS = ("client", "server")
EVENTS = "/sys/kernel/tracing/events/rtrs_clt/rtrs_clt_request_submit/enable"
TRACE = "/sys/kernel/tracing/trace"
SHOWN_BY_INTERRUPT = 2  # the service connection, and one for the machine's CPU


def polled(name: str, device: str, **options: object) -> str:
    return fio.command(name, f"/dev/{device}", **{"ioengine": "io_uring", "hipri": 1, "iodepth": 4, "bs": "4k",
                                                 "size": "512k", "output-format": "terse", **options}) + " >/dev/null"


def connections(lab: Lab, script: str, limit: float) -> dict[int, int]:
    """How many requests went out on each connection meanwhile, whatever the path."""
    lab.client.run(f"echo 1 >{EVENTS}\n: >{TRACE}")
    try:
        lab.client.run(script, limit)
    finally:
        lab.client.try_run(f"echo 0 >{EVENTS}")
    found: dict[int, int] = {}
    for con in re.findall(r" con=(\d+)", lab.client.run(f"grep rtrs_clt_request_submit: {TRACE} || true")):
        found[int(con)] = found.get(int(con), 0) + 1
    return found


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    lab.client.run("echo 8192 >/sys/kernel/tracing/buffer_size_kb\necho 1 >/sys/kernel/tracing/tracing_on")
    name = rnbd.map_device(lab, disk, nr_poll_queues=1)
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/queue/io_poll"), "1", "io_poll")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/rnbd/nr_poll_queues"), "1", "nr_poll_queues")

    # 128 blocks written and read back, all of them by polling.
    both = polled("write", name, rw="randwrite", verify="crc32c", do_verify=1, verify_fatal=1)
    used = connections(lab, both, 180)
    rnbd.check(sum(n for con, n in used.items() if con >= SHOWN_BY_INTERRUPT) >= 256, f"requests by connection: {used}")
    # I/O that is not polled takes the others.
    used = connections(lab, f"dd if=/dev/{name} of=/dev/null bs=4k count=64 iflag=direct 2>/dev/null", 60)
    rnbd.check(sum(used.values()) >= 64 and max(used) < SHOWN_BY_INTERRUPT, f"requests by connection: {used}")

    # A path that comes later has such connections as well, and takes its part.
    rnbd.write(lab.client, f"{SESSION}/add_path", rnbd.path_option(lab, 1).removeprefix("path="))
    rnbd.write(lab.client, f"{SESSION}/mp_policy", "round-robin")
    before = [requests(lab, nic) for nic in (0, 1)]
    used = connections(lab, both, 180)
    rnbd.check(sum(n for con, n in used.items() if con >= SHOWN_BY_INTERRUPT) >= 256, f"requests by connection: {used}")
    rnbd.check(all(requests(lab, nic) > before[nic] + 50 for nic in (0, 1)), "one path carried all of it")

    # A path goes and comes under polled I/O.
    some = polled("load", name, rw="randrw", time_based=1, runtime=2, size="4m")
    load = lab.client.spawn(f"while [ ! -e /tmp/stop ]; do {some} || exit; done; rm /tmp/stop", 300)
    carries(lab, 1, "carries polled I/O")
    rnbd.write(lab.client, f"{folder(lab, 1)}/remove_path", "1")
    carries(lab, 0, "carries all")
    rnbd.write(lab.client, f"{SESSION}/add_path", rnbd.path_option(lab, 1).removeprefix("path="))
    carries(lab, 1, "is back")
    end_load(lab, load)
    rnbd.unmap(lab, name)
