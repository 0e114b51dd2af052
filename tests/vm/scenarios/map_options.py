# SPDX-License-Identifier: GPL-2.0
"""map_device takes its options in any order, both address separators, IPv6, another port, several disks a session."""

import itertools

from vmlab import rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab

PORT = 1444


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    other = rnbd.null_disk(lab.server, "nullb8", 16, blocksize=4096)
    rnbd.load_server(lab, port=PORT)
    rnbd.load_client(lab)
    path = rnbd.path_option(lab)
    options = ["sessname=vm", f"dest_port={PORT}", path, f"device_path={disk}", "access_mode=rw"]
    # In-tree resolves each path while it reads it, so that the port must come before.
    orders = [o for o in itertools.permutations(options)
              if lab.ours("client") or o.index(f"dest_port={PORT}") < o.index(path)]
    for order in orders[::11]:
        map_once(lab, " ".join(order), disk)
    for text in (f"sessname=vm dest_port={PORT} path=ip:10.10.0.2,ip:10.10.0.1 device_path={disk}",
                 f"sessname=vm dest_port={PORT} path=ip:10.10.0.1 device_path={disk}",
                 f"sessname=vm dest_port={PORT} {rnbd.path_option(lab, family=6)} device_path={disk}",
                 f"  sessname=vm   dest_port={PORT}  {path}  device_path={disk} access_mode=migration ",
                 f"sessname=gone sessname=vm dest_port={PORT} {path} device_path=/x device_path={disk}"):
        map_once(lab, text, disk)

    # The second disk needs no path, joins the session, and has its own block size.
    first = map_text(lab, disk, path)
    rnbd.write(lab.client, f"{rnbd.CTL}/map_device", f"sessname=vm device_path={other}")
    second = rnbd.mapped_name(lab, other)
    rnbd.equal(rnbd.sessions(lab.client, "client"), ["vm"], "sessions at the client")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{second}/queue/logical_block_size"), "4096", "block size")
    for name in (first, second):
        verify(lab.client, f"/dev/{name}", Verify("4k", 16, "512k"))
    rnbd.unmap(lab, first)
    verify(lab.client, f"/dev/{second}", Verify("8k", 4, "256k"))
    rnbd.unmap(lab, second)
    rnbd.equal(rnbd.sessions(lab.client, "client"), [], "sessions after the last unmap")


def map_text(lab: Lab, disk: str, path: str) -> str:
    rnbd.write(lab.client, f"{rnbd.CTL}/map_device", f"sessname=vm dest_port={PORT} {path} device_path={disk}")
    return rnbd.mapped_name(lab, disk)


def map_once(lab: Lab, text: str, disk: str) -> None:
    rnbd.write(lab.client, f"{rnbd.CTL}/map_device", text)
    rnbd.unmap(lab, rnbd.mapped_name(lab, disk))
