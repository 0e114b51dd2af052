# SPDX-License-Identifier: GPL-2.0
"""wpa_supplicant as secrecy.md has it agrees on the keys of MACsec: a disk's text is never on the cable, and who has
another secret gets no answer."""

import secrets

from vmlab import programs, rnbd, wire
from vmlab.guide import Guide
from vmlab.lab import Lab
from vmlab.machine import Machine

OURS = ("client", "server")
KINDS = ("stock",)  # the others have no MACsec
BY_HAND = True  # packages from the archive
NIC = 1
HOSTS = {"server": 1, "client": 2}


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    machines = (lab.client, lab.server)
    cak, ckn = secrets.token_hex(16), secrets.token_hex(32)
    for machine in machines:
        programs.install(lab, machine, ["wpasupplicant"])
        # It reads a disk after each writer, and an unmap finds it busy.
        machine.run("udevadm control --exit")
    try:
        start(machines, cak, ckn)
        there = address(lab.server)
        rnbd.wait_until(lab.client, f"/bb/busybox ping -c 1 -W 2 {there}", 60, "an answer by MACsec")
        wire.hidden(wire.seen_during(lab, NIC, lambda: map_disk(lab, disk)), "macsec")
        # The client comes again: the server goes on with it by new keys, and with nobody who has another secret.
        stop(lab.client)
        start((lab.client,), cak, ckn)
        rnbd.wait_until(lab.client, f"/bb/busybox ping -c 1 -W 2 {there}", 60, "an answer by new keys")
        stop(lab.client)
        start((lab.client,), secrets.token_hex(16), ckn)
        lab.client.run("sleep 10")
        rnbd.check(not wire.answers(lab.client, there), "the server answers who has another secret")
    finally:
        for machine in machines:
            stop(machine)
            restore(machine)


def address(machine: Machine) -> str:
    return f"10.20.0.{HOSTS[machine.name]}"


def map_disk(lab: Lab, disk: str) -> str:
    path = f"ip:{address(lab.client)}@ip:{address(lab.server)}"
    rnbd.write(lab.client, f"{rnbd.CTL}/map_device", f"sessname=vm path={path} device_path={disk}")
    return rnbd.mapped_name(lab, disk)


def start(machines: tuple[Machine, ...], cak: str, ckn: str) -> None:
    """The file on each, then the commands on all of them, since each waits for the other one."""
    waiting = []
    for machine in machines:
        nic = machine.netdev(NIC)
        guide = Guide("MACsec", {"eth1": nic, "$cak": cak, "$ckn": ckn, "10.20.0.2": address(machine),
                                 "rxe1 type": "rxe9 type"})
        machine.run(f"[ ! -e /sys/class/infiniband/rxe{NIC} ] || rdma link del rxe{NIC}\n"
                    f"ip addr flush dev {nic} scope global\n"
                    "mkdir -p /etc/wpa_supplicant\n"
                    f"cat >/etc/wpa_supplicant/wpa_supplicant-wired-{nic}.conf <<'END'\n" +
                    "\n".join(guide.block("On both machines, as `/etc/wpa_supplicant")) + "\nEND")
        waiting.append((machine, machine.spawn("\n".join(["set -e", *guide.block("The daemon makes `macsec0` itself")]),
                                               120)))
    for machine, job in waiting:
        result = machine.wait(job)
        rnbd.check(result.ok, f"{machine.name}: {result.out}")


def stop(machine: Machine) -> None:
    machine.run("rdma link del rxe9 2>/dev/null || :\n"
                "pkill -x wpa_supplicant || :\n"
                "while pgrep -x wpa_supplicant; do sleep 0.2; done\n"
                "ip link del macsec0 2>/dev/null || :", 60)


def restore(machine: Machine) -> None:
    nic = machine.netdev(NIC)
    machine.run(f"ip addr replace {machine.address(NIC)}/24 dev {nic}\n"
                f"ip -6 addr replace {machine.address6(NIC)}/64 dev {nic} nodad\n"
                f"[ -e /sys/class/infiniband/rxe{NIC} ] || rdma link add rxe{NIC} type rxe netdev {nic}")
