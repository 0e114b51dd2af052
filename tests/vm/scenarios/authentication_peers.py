# SPDX-License-Identifier: GPL-2.0
"""Peers that know nothing of proofs: as before where the policy allows that, refused in words where it does not."""

from vmlab import fio, rnbd
from vmlab.keys import add_key, fresh_secret
from vmlab.lab import Lab
from vmlab.multipath import folder

INTEROP = True
SERVER_AUTH = "/sys/module/rtrs_server/parameters/auth"


def works(lab: Lab, disk: str, **options: object) -> None:
    name = rnbd.map_device(lab, disk, **options, **rnbd.patience(lab))
    fio.verify(lab.client, f"/dev/{name}")
    for role in ("client", "server"):
        if lab.ours(role):
            path = folder(lab, 0).replace("rtrs-client", f"rtrs-{role}")
            rnbd.equal(rnbd.read(lab.machines[role], f"'{path}/proven'"), "none", f"what the {role} says is proven")
    rnbd.unmap(lab, name)


def of_server(lab: Lab, disk: str) -> None:
    """The client may know nothing of it."""
    works(lab, disk)
    rnbd.write(lab.server, SERVER_AUTH, "required")
    rnbd.check(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", rnbd.map_text(lab, disk), 90),
               "a client came in without a proof")
    lab.server.run("dmesg | grep -q 'refused: proof_needed'")
    rnbd.equal(rnbd.sessions(lab.server, "server"), [], "sessions")
    rnbd.write(lab.server, SERVER_AUTH, "optional")
    works(lab, disk)


def of_client(lab: Lab, disk: str) -> None:
    """The server may know nothing of it."""
    works(lab, disk, key="vm", auth="optional")
    for options in ({"key": "vm", "auth": "required"}, {"key": "vm"}):
        text = rnbd.map_text(lab, disk, **options)
        rnbd.equal(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text, 90), "EPROTONOSUPPORT", text)
    lab.client.run("dmesg | grep -q 'the server proves nothing, and auth is required'")
    works(lab, disk, key="vm", auth="optional")


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    for role in ("client", "server"):
        if lab.ours(role):
            add_key(lab.machines[role], "vm", 1, fresh_secret())
    if lab.ours("server"):
        of_server(lab, disk)
    else:
        of_client(lab, disk)
    rnbd.unload_client(lab)
    rnbd.unload_server(lab)
