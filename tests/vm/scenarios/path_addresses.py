# SPDX-License-Identifier: GPL-2.0
"""Addresses of paths: IPv4 and IPv6 in one session, a source or none, GIDs where they are none; and 128 paths."""

import re

from vmlab import rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab
from vmlab.multipath import SESSION, more_addresses

OURS = ("client", "server")
SLOW = True
VARIANTS = {"families": {"what": "families"}, "many": {"what": "many"}}
MOST = 128


def add(lab: Lab, address: str) -> str:
    return rnbd.write_error(lab.client, f"{SESSION}/add_path", address)


def names(lab: Lab) -> list[str]:
    return sorted(lab.client.run(f"ls {SESSION}/paths").split())


def run(lab: Lab, what: str) -> None:
    disk = rnbd.null_disk(lab.server)
    if what == "many":
        rnbd.load_server(lab, sess_queue_depth=16, max_chunk_size=16384)
    else:
        rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    rnbd.write(lab.client, f"{SESSION}/mp_policy", "round-robin")
    {"families": families, "many": many}[what](lab, name)


def families(lab: Lab, name: str) -> None:
    first = rnbd.path_option(lab, 0).removeprefix("path=")
    other = rnbd.path_option(lab, 1, family=6).removeprefix("path=")
    # Both families in one session; both separators.
    rnbd.equal(add(lab, other.replace("@", ",")), "", "a path with IPv6")
    rnbd.equal(names(lab), sorted([first, other]), "paths")
    # Without a source, which the routes decide: the directory has it.
    rnbd.equal(add(lab, f"ip:{lab.server.address(1)}"), "", "a path without a source")
    third = f"ip:{lab.client.address(1)}@ip:{lab.server.address(1)}"
    rnbd.equal(names(lab), sorted([first, other, third]), "paths")
    # Whichever way a pair is written, it is there once.
    for twice in (first, f"ip:{lab.server.address(1)}", other.replace("fd00:10:1::", "fd00:10:1:0::")):
        rnbd.equal(add(lab, twice), "EEXIST", f"{twice} again")
    # No device here has the address family, the address, or the source.
    log = lab.client.log()
    for wrong in ("gid:fe80::1", "gid:fe80::2@gid:fe80::1", f"ip:10.99.0.9@ip:{lab.server.address(0)}"):
        rnbd.check(add(lab, wrong) in ("ENODEV", "EHOSTUNREACH", "EADDRNOTAVAIL", "ENETUNREACH"), f"{wrong} was taken")
    rnbd.check("gid: is for InfiniBand" in lab.client.log()[len(log):], "the log does not say why")
    rnbd.equal(names(lab), sorted([first, other, third]), "paths after wrong addresses")
    verify(lab.client, f"/dev/{name}", Verify("4k", 8, "512k"))
    for path in (first, other, third):
        rdma = rnbd.read(lab.client, f"'{SESSION}/paths/{path}/stats/rdma'").split()
        rnbd.check(int(rdma[0]) > 20 and int(rdma[2]) > 20, f"{path} carried {rdma}")
        server = f"/sys/class/rtrs-server/vm/paths/{path}"
        rnbd.equal(rnbd.read(lab.server, f"'{server}/src_addr'"), path.partition("@")[0], "src_addr at the server")
    # Each family can be the last one.
    for path in (first, third):
        rnbd.write(lab.client, f"{SESSION}/paths/{path}/remove_path", "1")
    verify(lab.client, f"/dev/{name}", Verify("4k", 8, "256k"))
    rnbd.equal(names(lab), [other], "paths")
    link_local(lab, name, other)
    rnbd.unmap(lab, name)


def link_local(lab: Lab, name: str, other: str) -> None:
    """Its name says on which network it is: it is there once, and that name leads there again."""
    machines = (lab.client, lab.server)
    shown = "ip -6 addr show dev {} scope link"
    client, server = (re.findall(r"inet6 (fe80:[^/]+)/", m.run(shown.format(m.netdev(1))))[0] for m in machines)
    zone = lab.client.netdev(1)
    path = f"ip:{client}%{zone}@ip:{server}%{zone}"
    for first in (path, f"ip:{server}%{zone}"):
        rnbd.equal(add(lab, first), "", f"{first}, a path of one link")
        rnbd.equal(names(lab), sorted([other, path]), "paths")
        for twice in (path, f"ip:{server}%{zone}"):
            rnbd.equal(add(lab, twice), "EEXIST", f"{twice} again")
        verify(lab.client, f"/dev/{name}", Verify("4k", 8, "256k"))
        rdma = rnbd.read(lab.client, f"'{SESSION}/paths/{path}/stats/rdma'").split()
        rnbd.check(int(rdma[0]) > 20 and int(rdma[2]) > 20, f"{path} carried {rdma}")
        rnbd.equal(rnbd.read(lab.client, f"'{SESSION}/paths/{path}/dst_addr'"), f"ip:{server}%{zone}", "dst_addr")
        rnbd.write(lab.client, f"{SESSION}/paths/{path}/remove_path", "1")
    rnbd.check(add(lab, f"ip:{client}@ip:{server}") != "", "a link-local path of no link was taken")


def many(lab: Lab, name: str) -> None:
    """As many as the protocol allows, then one more."""
    with more_addresses(lab.client, 0, MOST):
        script = (f"for n in $(seq 100 {98 + MOST}); do\n"
                  f"echo ip:10.10.0.$n@ip:{lab.server.address()} >{SESSION}/add_path || exit 1\ndone")
        lab.client.run(script, 600)
        rnbd.equal(len(names(lab)), MOST, "paths")
        rnbd.equal(set(lab.client.run(f"cat {SESSION}/paths/*/state").split()), {"connected"}, "states")
        rnbd.equal(add(lab, f"ip:10.10.0.{99 + MOST}@ip:{lab.server.address()}"), "ENOSPC", "one more")
        verify(lab.client, f"/dev/{name}", Verify("4k", 16, "2m"), limit=240)
        used = lab.client.run(f"cat {SESSION}/paths/*/stats/rdma").splitlines()
        idle = sum(line.startswith("0 0 0 0 ") for line in used)
        rnbd.equal(idle, 0, "paths that carried nothing")
        # Room again for another.
        some = names(lab)[5]
        rnbd.write(lab.client, f"{SESSION}/paths/{some}/remove_path", "1")
        rnbd.equal(add(lab, f"ip:10.10.0.{99 + MOST}@ip:{lab.server.address()}"), "", "one for another")
        rnbd.unmap(lab, name, limit=300)
        rnbd.wait_until(lab.server, "[ ! -e /sys/class/rtrs-server/vm ]", 300, "the server's session is gone")
