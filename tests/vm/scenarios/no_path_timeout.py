# SPDX-License-Identifier: GPL-2.0
"""With no_path_timeout I/O waits for a path and goes on without an error, or ends by time or by force."""

import re
import time

from vmlab import fio, rnbd
from vmlab.lab import Lab
from vmlab.multipath import end_load, folder, verified_load

SLOW = True
OURS = ("client",)
LOSS = 35 + 15  # protocol B.3
READ = "dd of=/dev/null bs=4k count=1 iflag=direct"


def lose(lab: Lab) -> None:
    rnbd.write(lab.client, f"{folder(lab, 0)}/disconnect", "1")


def find(lab: Lab) -> None:
    rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1")


def entry(name: str, what: str) -> str:
    return f"/sys/block/{name}/rnbd/{what}"


def waits(lab: Lab, name: str, at_least: int = 1) -> None:
    rnbd.wait_until(lab.client, f"[ $(cat {entry(name, 'waiting_requests')}) -ge {at_least} ]", 20, "requests wait")


def short_losses(lab: Lab, name: str) -> None:
    """Losses under verified I/O and flushes; new requests, flushes and those in flight all survive."""
    load = verified_load(lab, name)
    flusher = fio.background(lab.client, f"/dev/{name}", 600, rw="randwrite", depth=4, fdatasync=2, offset="16m")
    for _ in range(3):
        lab.client.run("sleep 1")
        lose(lab)
        waits(lab, name, 2)
        rnbd.equal(rnbd.read(lab.client, entry(name, "state")), "closed", "state while it waits")
        lab.client.run("sleep 2")
        age = int(rnbd.read(lab.client, entry(name, "oldest_request_ms")))
        rnbd.check(age >= 1500, f"the oldest request says {age} ms")
        find(lab)
        rnbd.wait_until(lab.client, f"[ $(cat {entry(name, 'waiting_requests')}) = 0 ]", 30, "requests go on")
    end_load(lab, load)
    rnbd.check(flusher.running, "fio with flushes ended by itself")
    lab.client.run("pkill -INT fio")
    result = lab.client.wait(flusher)
    rnbd.check("error" not in result.out.lower().replace("errors=0", ""), f"flushes met errors: {result.out[-800:]}")
    rnbd.wait_until(lab.client, f"[ $(cat {entry(name, 'oldest_request_ms')}) = 0 ]", 10, "an idle disk has no age")


def oldest_first(lab: Lab, name: str) -> None:
    """What has waited goes on in the order in which it came."""
    if lab.kernel.kind == "uml":
        return  # it has no events of the block layer
    count = 16
    events = "/sys/kernel/tracing/events/block/block_rq_issue/enable"
    lab.client.run(f"echo none >/sys/block/{name}/queue/scheduler\necho 2 >/sys/block/{name}/queue/nomerges")
    lose(lab)
    writer = lab.client.spawn("taskset 1 " + fio.command("order", f"/dev/{name}", rw="write", bs="4k", iodepth=count,
                                                         number_ios=count, size="1m"), 90)
    waits(lab, name, count)
    lab.client.run(f"echo >/sys/kernel/tracing/trace\necho 1 >{events}")
    find(lab)
    result = lab.client.wait(writer)
    rnbd.check(result.ok, f"writes that waited: {result.out}")
    # Lines end in: block_rq_issue: 252,0 WS 4096 () 8 + 8 [task]
    trace = lab.client.run(f"echo 0 >{events}\ncat /sys/kernel/tracing/trace")
    sectors = [int(sector) for sector in re.findall(r"block_rq_issue: .* W\S* .* (\d+) \+ 8 ", trace)]
    rnbd.equal(sectors, [8 * n for n in range(count)], "sectors of what had waited, as they were issued")


def time_is_over(lab: Lab, name: str) -> None:
    rnbd.write(lab.client, entry(name, "no_path_timeout"), "4")
    lose(lab)
    began = time.monotonic()
    result = lab.client.try_run(f"{READ} if=/dev/{name}", 60)
    took = time.monotonic() - began
    rnbd.check(not result.ok and "Input/output error" in result.out, f"read ended with {result.out!r}")
    rnbd.check(2 < took < 20, f"a read with 4 s to wait took {took:.1f} s")
    # The time counts from the loss: the next request fails at once.
    lab.client.run(f"begin=$(date +%s)\n{READ} if=/dev/{name} && exit 1\n[ $(($(date +%s) - begin)) -lt 3 ]")
    # More time lets new requests wait again.
    rnbd.write(lab.client, entry(name, "no_path_timeout"), "-1")
    reader = lab.client.spawn(f"{READ} if=/dev/{name}", 90)
    waits(lab, name)
    # None at all fails what waits.
    rnbd.write(lab.client, entry(name, "no_path_timeout"), "0")
    rnbd.check(not lab.client.wait(reader).ok, "a read survived no_path_timeout=0 without a path")
    find(lab)
    rnbd.wait_until(lab.client, f"grep -qx open {entry(name, 'state')}", 30, "the disk is back")
    lab.client.run(f"{READ} if=/dev/{name}")


def by_force(lab: Lab, name: str) -> None:
    """Force unmap ends the wait of every request at once."""
    rnbd.write(lab.client, entry(name, "no_path_timeout"), "-1")
    load = fio.background(lab.client, f"/dev/{name}", 300)
    lab.client.run("sleep 1")
    lose(lab)
    waits(lab, name, 2)
    rnbd.equal(rnbd.write_error(lab.client, entry(name, "unmap_device"), "normal"), "EBUSY", "unmap of a waiting disk")
    began = time.monotonic()
    rnbd.unmap(lab, name, "force", limit=60)
    result = lab.client.wait(load)
    rnbd.check(not result.ok and not result.timed_out, f"fio on an unmapped disk ended with {result.rc}")
    rnbd.check(time.monotonic() - began < 40, "force unmap waited")


def cable(lab: Lab, disk: str) -> None:
    name = rnbd.map_device(lab, disk, no_path_timeout=-1)
    load = verified_load(lab, name)
    lab.client.run("sleep 1")
    lab.client.set_link(0, False)
    rnbd.wait_until(lab.client, f"grep -qx closed {entry(name, 'state')}", LOSS, "the loss shows")
    waits(lab, name)
    lab.client.set_link(0, True)
    rnbd.wait_until(lab.client, f"grep -qx open {entry(name, 'state')}", 120, "the disk is back")
    end_load(lab, load)
    rnbd.unmap(lab, name)


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk, no_path_timeout=120)
    rnbd.equal(rnbd.read(lab.client, entry(name, "no_path_timeout")), "120", "no_path_timeout")
    for bad, error in (("-2", "EINVAL"), ("soon", "EINVAL"), ("", "EINVAL"), ("99999999999", "ERANGE")):
        rnbd.equal(rnbd.write_error(lab.client, entry(name, "no_path_timeout"), bad), error, f"no_path_timeout {bad!r}")
    short_losses(lab, name)
    oldest_first(lab, name)
    time_is_over(lab, name)
    by_force(lab, name)
    cable(lab, disk)
    rnbd.unload_client(lab)
