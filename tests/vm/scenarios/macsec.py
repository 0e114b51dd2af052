# SPDX-License-Identifier: GPL-2.0
"""With MACsec, as Documentation/secrecy.md has it, every frame of both machines is encrypted: soft-RoCE on a macsec
device carries the disk, its text is never on the cable, and who speaks in clear gets no answer."""

import secrets

from vmlab import make, rnbd, wire
from vmlab.lab import Lab
from vmlab.machine import Machine

OURS = ("client", "server")
KINDS = ("stock",)  # the others have no MACsec
NIC = 1
HOSTS = {"server": 1, "client": 2}


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    wire.in_clear(wire.seen_during(lab, NIC, lambda: rnbd.map_device(lab, disk, nics=(NIC,))))
    try:
        encrypt(lab)
        for family in (4, 6):
            wire.hidden(wire.seen_during(lab, NIC, lambda ip=family: map_over(lab, disk, ip)), "macsec")
        there = address(lab.server)
        rnbd.check(wire.answers(lab.client, there), "no answer by MACsec")
        # Who is on the cable and does not have the key.
        lab.client.run(f"ip link del macsec0\nip addr add {address(lab.client)}/24 dev {lab.client.netdev(NIC)}")
        counted = refused(lab.server)
        rnbd.check(not wire.answers(lab.client, there), "the server answers what comes in clear")
        rnbd.check(counted["InPktsNoTag"] < refused(lab.server)["InPktsNoTag"], "nothing came in clear")
        rdma_in_clear(lab)
        # Somebody with keys that he has thought of.
        lab.client.run(f"ip addr del {address(lab.client)}/24 dev {lab.client.netdev(NIC)}")
        # His frames would be too old otherwise, whatever their key.
        secure(lab.client, lab.server, [secrets.token_hex(16), secrets.token_hex(16)], first=1000000)
        rnbd.check(not wire.answers(lab.client, there), "the server answers who does not have the key")
        rnbd.check(counted["InPktsNotValid"] < refused(lab.server)["InPktsNotValid"], "nothing came by a wrong key")
    finally:
        for machine in (lab.client, lab.server):
            undo(machine)


def rdma_in_clear(lab: Lab) -> None:
    """A connection request in clear, as of a client without MACsec, comes to no device of the server."""
    packets = "/sys/class/infiniband/rxe9/ports/1/hw_counters/rcvd_pkts"
    before = rnbd.read(lab.server, packets)
    lab.client.run(f"modprobe -a ib_uverbs rdma_ucm\nrdma link add rxe{NIC} type rxe netdev {lab.client.netdev(NIC)}")
    program = lab.client.put(make.programs() / "rtrs-flood")
    out = lab.client.run(f"IBV_DRIVERS=rxe {program} --count 1 --server {address(lab.server)}", 60)
    rnbd.equal(out.splitlines()[-1], "attempts 1 refused 0 challenged 0 failed 1", "what becomes of it")
    rnbd.equal(rnbd.read(lab.server, packets), before, "packets of RDMA in clear")


def address(machine: Machine, family: int = 4) -> str:
    host = HOSTS[machine.name]
    return f"fd00:20::{host}" if family == 6 else f"10.20.0.{host}"


def map_over(lab: Lab, disk: str, family: int) -> str:
    path = f"ip:{address(lab.client, family)}@ip:{address(lab.server, family)}"
    rnbd.write(lab.client, f"{rnbd.CTL}/map_device", f"sessname=vm path={path} device_path={disk}")
    return rnbd.mapped_name(lab, disk)


def encrypt(lab: Lab) -> None:
    keys = [secrets.token_hex(16), secrets.token_hex(16)]
    secure(lab.client, lab.server, keys)
    secure(lab.server, lab.client, keys[::-1])


def secure(machine: Machine, peer: Machine, keys: list[str], first: int = 1) -> None:
    """The commands of secrecy.md; `keys`: the machine's own, the peer's; `first`: number of its first frame."""
    card = machine.netdev(NIC)
    other = peer.run(f"cat /sys/class/net/{peer.netdev(NIC)}/address").strip()
    machine.run(f"""
[ ! -e /sys/class/infiniband/rxe{NIC} ] || rdma link del rxe{NIC}
ip addr flush dev {card} scope global
ip link add link {card} macsec0 type macsec port 1 encrypt on validate strict replay on window 128
ip macsec add macsec0 tx sa 0 pn {first} on key 01 {keys[0]}
ip macsec add macsec0 rx port 1 address {other}
ip macsec add macsec0 rx port 1 address {other} sa 0 pn 1 on key 02 {keys[1]}
ip link set macsec0 up
ip addr add {address(machine)}/24 dev macsec0
ip addr add {address(machine, 6)}/64 dev macsec0 nodad
[ -e /sys/class/infiniband/rxe9 ] || rdma link add rxe9 type rxe netdev macsec0
""")


def refused(machine: Machine) -> dict[str, int]:
    """What `ip` counts: lines of names, each with a line of numbers behind it."""
    rows = [line.split() for line in machine.run("ip -s macsec show macsec0").splitlines()]
    found: dict[str, int] = {}
    for names, counts in zip(rows, rows[1:], strict=False):
        if names[:1] == ["stats:"]:
            found.update(zip(names[1:], map(int, counts), strict=True))
    return found


def undo(machine: Machine) -> None:
    nic = machine.netdev(NIC)
    machine.run(f"""set +e
rdma link del rxe9 2>/dev/null
ip link del macsec0 2>/dev/null
ip addr replace {machine.address(NIC)}/24 dev {nic}
ip -6 addr replace {machine.address6(NIC)}/64 dev {nic} nodad
[ -e /sys/class/infiniband/rxe{NIC} ] || rdma link add rxe{NIC} type rxe netdev {nic}
""")
