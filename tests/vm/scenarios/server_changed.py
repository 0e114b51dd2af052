# SPDX-License-Identifier: GPL-2.0
"""The server comes back with another queue depth or chunk size: refused with the reason, and two ways back."""

from vmlab import rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab
from vmlab.multipath import SESSION, connects, folder, wait_lost

OURS = ("client", "server")
VARIANTS = {"depth": {"change": {"sess_queue_depth": 128}}, "chunk": {"change": {"max_chunk_size": 65536}}}
REASON = "refused: the server now has queue depth"


def restart(lab: Lab, **parameters: object) -> None:
    before = connects(lab, 0)
    rnbd.unload_server(lab)
    wait_lost(lab, 0, before, 60)
    rnbd.load_server(lab, **parameters)


def run(lab: Lab, change: dict[str, object]) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    verify(lab.client, f"/dev/{name}", Verify("4k", 8, "256k"))

    restart(lab, **change)
    rnbd.equal(rnbd.write_error(lab.client, f"{folder(lab, 0)}/reconnect", "1"), "ENOTCONN", "reconnect")
    rnbd.check(REASON in lab.client.log(), "the reason is not in the log")
    rnbd.equal(rnbd.read(lab.client, f"'{folder(lab, 0)}/state'"), "disconnected", "state of the path")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/rnbd/state"), "closed", "state of the disk")
    rnbd.check(not lab.client.try_run(f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct", 30).ok,
               "a read of a closed disk worked")
    # It does not try again by itself, and another path is told the same.
    rnbd.equal(rnbd.write_error(lab.client, f"{SESSION}/add_path", rnbd.path_option(lab, 1).removeprefix("path=")),
               "EINVAL", "add_path")

    # One way back: the server as it was. A path that is new opens the session there as well as the old one.
    restart(lab)
    rnbd.write(lab.client, f"{SESSION}/add_path", rnbd.path_option(lab, 1).removeprefix("path="))
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 60, "the disk is back")
    rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1")
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", 60, "the disk is back")
    verify(lab.client, f"/dev/{name}", Verify("4k", 8, "256k"))

    # The other: mapped anew, with the server's new numbers.
    restart(lab, **change)
    rnbd.equal(rnbd.write_error(lab.client, f"{folder(lab, 0)}/reconnect", "1"), "ENOTCONN", "reconnect")
    rnbd.unmap(lab, name)
    name = rnbd.map_device(lab, disk)
    verify(lab.client, f"/dev/{name}", Verify("4k", 8, "256k"), Verify("64k", 4, "1m"))
    rnbd.unmap(lab, name)
