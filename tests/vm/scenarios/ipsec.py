# SPDX-License-Identifier: GPL-2.0
"""What stands on a disk is seen on the cable, and with IPsec, as Documentation/secrecy.md has it, never: all that the
two machines say to each other is encrypted then, and neither takes anything else."""

import secrets

from vmlab import rnbd, wire
from vmlab.lab import Lab
from vmlab.machine import Machine

OURS = ("client", "server")
KINDS = ("stock",)  # the others have no IPsec
VARIANTS = {"4": {"family": 4}, "6": {"family": 6}}


def run(lab: Lab, family: int) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)

    def map_disk() -> str:
        path = rnbd.path_option(lab, family=family)
        rnbd.write(lab.client, f"{rnbd.CTL}/map_device", f"sessname=vm {path} device_path={disk}")
        return rnbd.mapped_name(lab, disk)

    wire.in_clear(wire.seen_during(lab, 0, map_disk))
    try:
        encrypt(lab, family)
        wire.hidden(wire.seen_during(lab, 0, map_disk), "esp", ("neighbours",))
        there = address(lab.server, family)
        rnbd.check(wire.answers(lab.client, there), "no answer by IPsec")
        # What comes in clear is not for the one who wants it encrypted.
        flush(lab.client)
        rnbd.check(not wire.answers(lab.client, there), "the server answers what comes in clear")
    finally:
        for machine in (lab.client, lab.server):
            flush(machine)
    rnbd.check(wire.answers(lab.client, there), "no answer without IPsec")


def address(machine: Machine, family: int) -> str:
    return machine.address6() if family == 6 else machine.address()


def encrypt(lab: Lab, family: int) -> None:
    """The commands of secrecy.md, on both machines."""
    ends = (address(lab.client, family), address(lab.server, family))
    keys = [secrets.token_hex(20), secrets.token_hex(20)]
    for machine in (lab.client, lab.server):
        lines = []
        for number, (source, target, key) in enumerate(zip(ends, reversed(ends), keys, strict=True), 1):
            way = "out" if source == address(machine, family) else "in"
            lines += [f"ip xfrm state add src {source} dst {target} proto esp spi 0x{number + 0x1000:x} reqid {number} "
                      f"mode transport aead 'rfc4106(gcm(aes))' 0x{key} 128 flag esn replay-window 128",
                      f"ip xfrm policy add src {source} dst {target} dir {way} "
                      f"tmpl src {source} dst {target} proto esp reqid {number} mode transport"]
        machine.run("\n".join(lines))


def flush(machine: Machine) -> None:
    machine.run("ip xfrm policy flush\nip xfrm state flush")
