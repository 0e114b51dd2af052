# SPDX-License-Identifier: GPL-2.0
"""A client that says another host's address in its requests to connect does not get what is for that host (protocol
A.2): over RoCE v2 the server compares it with the GID that its answer goes to."""

from vmlab import rnbd
from vmlab.lab import Lab

OURS = ("client", "server")
KINDS = ("stock", "debug", "kcsan")  # with kprobes
REFUSALS = "/sys/kernel/debug/rtrs-server/refusals"
EXPORT = f"{rnbd.CONFIGURED}/one"


def run(lab: Lab) -> None:
    forge = lab.client.put(lab.modules_of("client") / "tests/misdeeds/forge_address.ko")
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    rnbd.make_export(lab.server, "one", disk)
    try:
        for family, victim, own in ((4, "10.10.0.77", lab.client.address()),
                                    (6, "fd00:10:0::77", lab.client.address6())):
            attack(lab, forge, family, victim, own)
    finally:
        lab.server.run(f"rmdir {EXPORT}")
    rnbd.unload_client(lab)
    rnbd.unload_server(lab)


def attack(lab: Lab, forge: str, family: int, victim: str, own: str) -> None:
    text = f"sessname=vm {rnbd.path_option(lab, 0, family)} device_path=one"
    rnbd.write(lab.server, f"{EXPORT}/allowed_addresses", victim)
    own_word = rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text, 90)
    rnbd.equal(own_word, "EACCES", f"IPv{family}, its own address")
    before = refused(lab)
    lab.client.run(f"insmod {forge} address={victim}")
    try:
        rnbd.check(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text, 90),
                   f"IPv{family}: a client got the disk of {victim} by saying so")
        rnbd.check(refused(lab) > before, f"IPv{family}: the server has counted no forged address")
    finally:
        lab.client.try_run("for d in /sys/block/rnbd*/rnbd; do echo force >$d/unmap_device; done")
        lab.client.run("rmmod forge_address")
    # What it says of itself is true again, and an honest client of that address gets in.
    rnbd.write(lab.server, f"{EXPORT}/allowed_addresses", own)
    rnbd.write(lab.client, f"{rnbd.CTL}/map_device", text)
    rnbd.unmap(lab, rnbd.mapped_name(lab, "one"))


def refused(lab: Lab) -> int:
    lines = rnbd.read(lab.server, REFUSALS).splitlines()
    return int(dict(line.split() for line in lines).get("address_forged", 0))
