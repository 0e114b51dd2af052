# SPDX-License-Identifier: GPL-2.0
"""A path has as many connections as the client is told to make, or the server has room for; neighbours share them."""

from vmlab import rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab
from vmlab.multipath import SESSION, folder as path_folder

INTEROP = True
CPUS = 4
LIMIT = "/sys/module/rtrs_server/parameters/max_connections_per_path"


def folder(lab: Lab) -> str:
    return path_folder(lab, 0)


def queue_pairs(lab: Lab) -> int:
    return int(lab.client.run("rdma resource show qp | grep -c 'type RC' || :"))


def has(lab: Lab, name: str, connections: int, cpus: list[str], polled: int = 0) -> None:
    """That path 0 has so many beside the service connection, and which CPUs share a queue; then I/O on each CPU."""
    shown = rnbd.read(lab.client, f"{folder(lab)}/nr_connections")
    rnbd.equal(shown, str(connections + polled), "connections of the path")
    rnbd.equal(queue_pairs(lab), 1 + connections + polled, "queue pairs of the client")
    lists = lab.client.run(f"cat /sys/block/{name}/mq/*/cpu_list").splitlines()
    rnbd.equal(lists[:len(cpus)], cpus, "CPUs by queue")
    works(lab, name)


def works(lab: Lab, name: str) -> None:
    each = f"numjobs={CPUS}\noffset_increment=64k\ncpus_allowed=0-{CPUS - 1}\ncpus_allowed_policy=split"
    verify(lab.client, f"/dev/{name}", Verify("4k", 8, "64k", extra=each))


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    other = rnbd.null_disk(lab.server, "nullb8", 16)
    # With Y the in-tree modules are at the mercy of soft-RoCE (Documentation/testing.md).
    rnbd.load_server(lab, **({} if lab.ours("client") and lab.ours("server") else {"always_invalidate": "N"}))
    rnbd.load_client(lab)
    if not lab.ours("client"):
        cannot_do_with_fewer(lab, disk)
        return
    name = rnbd.map_device(lab, disk, nr_connections=2)
    rnbd.equal(rnbd.read(lab.client, f"{SESSION}/nr_connections"), "2", "nr_connections")
    has(lab, name, 2, ["0, 1", "2, 3"])
    if not lab.ours("server"):
        rnbd.unmap(lab, name)
        return
    # It is the session's: a further disk can't have it otherwise.
    for wrong in ("3", "0", "-1", "1025", "x"):
        error = rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device",
                                 f"sessname=vm device_path={other} nr_connections={wrong}")
        rnbd.equal(error, "EINVAL", f"map with nr_connections={wrong}")
    for option in ("", " nr_connections=2"):
        rnbd.write(lab.client, f"{rnbd.CTL}/map_device", f"sessname=vm device_path={other}{option}")
        rnbd.unmap(lab, rnbd.mapped_name(lab, other))
    rnbd.unmap(lab, name)

    # More than CPUs is of no use, and does no harm; polled ones come on top.
    name = rnbd.map_device(lab, disk, nr_connections=20)
    has(lab, name, 20, ["0", "1", "2", "3"])
    rnbd.unmap(lab, name)
    name = rnbd.map_device(lab, disk, nr_connections=1, nr_poll_queues=2)
    has(lab, name, 1, ["0, 1, 2, 3"], polled=2)
    rnbd.unmap(lab, name)
    limited(lab, disk)
    half_of_them_offline(lab, disk)


def half_of_them_offline(lab: Lab, disk: str) -> None:
    """As without the second threads of all cores: who is online has a queue of his own."""
    states = "/sys/devices/system/cpu/cpu[23]/online"
    lab.client.run(f"for f in {states}; do echo 0 >$f; done")
    name = rnbd.map_device(lab, disk)
    rnbd.equal(queue_pairs(lab), 3, "queue pairs of the client")
    lists = lab.client.run(f"cat /sys/block/{name}/mq/*/cpu_list").splitlines()
    rnbd.equal(lists, ["0, 2", "1, 3"], "CPUs by queue, of which 2 and 3 are offline")
    lab.client.run(f"for f in {states}; do echo 1 >$f; done")
    works(lab, name)
    rnbd.unmap(lab, name)


def limited(lab: Lab, disk: str) -> None:
    """A server that has room for fewer, from the start or later."""
    rnbd.write(lab.server, LIMIT, "3")
    name = rnbd.map_device(lab, disk)
    rnbd.equal(rnbd.read(lab.client, f"{SESSION}/nr_connections"), "0", "nr_connections is what the client was told")
    has(lab, name, 2, ["0, 1", "2, 3"])
    # What the disk's queues were made for stays when there is more room, and goes when there is less.
    for limit, connections in (("0", 2), ("1", 1), ("3", 2)):
        rnbd.write(lab.server, LIMIT, limit)
        rnbd.write(lab.client, f"{folder(lab)}/reconnect", "1")
        rnbd.wait_until(lab.client, f"grep -q ^connected {folder(lab)}/state", 60, "connected again")
        has(lab, name, connections, ["0, 1", "2, 3"])
    rnbd.unmap(lab, name)
    name = rnbd.map_device(lab, disk, nr_poll_queues=2)
    has(lab, name, 1, ["0, 1, 2, 3"], polled=1)
    rnbd.unmap(lab, name)
    rnbd.write(lab.server, LIMIT, "0")
    name = rnbd.map_device(lab, disk)
    has(lab, name, CPUS, ["0", "1", "2", "3"])
    rnbd.unmap(lab, name)


def cannot_do_with_fewer(lab: Lab, disk: str) -> None:
    rnbd.write(lab.server, LIMIT, "3")
    error = rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", rnbd.map_text(lab, disk))
    rnbd.equal(error, "ECONNRESET", "map beyond the limit")
    rnbd.check("a client wants 5 connections for a path, at most 3 are taken" in lab.server.log(),
               "the log does not say why")
    rnbd.write(lab.server, LIMIT, "0")
    name = rnbd.map_device(lab, disk)
    works(lab, name)
    rnbd.unmap(lab, name)
