# SPDX-License-Identifier: GPL-2.0
"""strongSwan as secrecy.md has it: nothing passes in clear before there are keys, and new ones come below I/O."""

import re
import secrets
from base64 import b64encode

from vmlab import fio, programs, rnbd, wire
from vmlab.guide import Guide
from vmlab.lab import Lab
from vmlab.machine import Machine

OURS = ("client", "server")
KINDS = ("stock",)  # the others have no IPsec
BY_HAND = True  # minutes, and packages from the archive
VARIANTS = {"4": {"family": 4}, "6": {"family": 6}}
PACKAGES = ["charon-systemd", "strongswan-swanctl", "libstrongswan-standard-plugins"]
# Of those that the packages load; bypass-lan, which would let everything pass, is not among them.
PLUGINS = "aes sha2 hmac gcm kdf nonce random openssl kernel-netlink socket-default vici".split()
RENEWALS = 4  # of each kind of key


def run(lab: Lab, family: int) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    machines = (lab.client, lab.server)
    secret = b64encode(secrets.token_bytes(32)).decode()
    for machine in machines:
        programs.install(lab, machine, PACKAGES)
        # It reads a disk after each writer, and an unmap finds it busy.
        machine.run("udevadm control --exit")
        start(lab, machine, family, secret)
    try:
        wire.hidden(wire.seen_during(lab, 0, lambda: map_disk(lab, disk, family)), "esp", ("neighbours", "ike"))
        renewed(lab, disk, family)
        # Without the other one's daemon there are no keys, and in clear nothing goes.
        stop(lab.server)
        lab.client.run("swanctl --terminate --force --ike rnbd || :")
        rnbd.check(not wire.answers(lab.client, address(lab.server, family)), "the server answers what comes in clear")
    finally:
        for machine in machines:
            stop(machine)
            machine.run("ip xfrm policy flush\nip xfrm state flush")


def address(machine: Machine, family: int) -> str:
    return machine.address6() if family == 6 else machine.address()


def map_disk(lab: Lab, disk: str, family: int) -> str:
    # The two agree when something is to be sent, which takes emulated machines longer than a map waits.
    rnbd.wait_until(lab.client, f"/bb/busybox ping -c 1 -W 2 {address(lab.server, family)}", 120, "the daemons agree")
    path = rnbd.path_option(lab, family=family)
    rnbd.write(lab.client, f"{rnbd.CTL}/map_device", f"sessname=vm {path} device_path={disk}", limit=90)
    return rnbd.mapped_name(lab, disk)


def start(lab: Lab, machine: Machine, family: int, secret: str) -> None:
    """No systemd runs there: the daemon is started as its unit does it."""
    ends = {"10.10.0.2": address(lab.client, family), "10.10.0.1": address(lab.server, family), "SECRET": secret}
    guide = Guide("IPsec", ends)
    lines = guide.block("On the client as `/etc/swanctl/conf.d/rnbd.conf`")
    if machine is lab.server:
        swapped = {"local_addrs": "remote_addrs", "remote_addrs": "local_addrs"}
        lines = [re.sub("^(local|remote)_addrs", lambda m: swapped[m[0]], line) for line in lines]
    if family == 6:
        lines += guide.block("Between addresses of IPv6")
    enable, load = guide.block("what follows, the secret's line, is base64")
    rnbd.equal(enable, "systemctl enable --now strongswan", "what this does instead")
    plugins = "\n".join(f"{name} {{\nload = yes\n}}" for name in PLUGINS)
    machine.run("mkdir -p /etc/swanctl/conf.d\n"
                f"cat >/etc/strongswan.conf <<'END'\ncharon {{\nload_modular = yes\nplugins {{\n{plugins}\n}}\n}}\n"
                "END\n"
                "echo 'include conf.d/*.conf' >/etc/swanctl/swanctl.conf\n"
                "cat >/etc/swanctl/conf.d/rnbd.conf <<'END'\n" + "\n".join(lines) + "\nEND\n"
                "/usr/sbin/charon-systemd >/tmp/charon.out 2>&1 </dev/null & echo $! >/run/charon-here.pid\n"
                f"for try in 1 2 3 4 5 6 7 8 9 10; do {load} && exit 0; sleep 1; done\n"
                "cat /tmp/charon.out >&2; exit 1", 120)


def stop(machine: Machine) -> None:
    machine.run("[ -e /run/charon-here.pid ] || exit 0\n"
                "read -r pid </run/charon-here.pid; rm /run/charon-here.pid\n"
                "kill $pid; while [ -e /proc/$pid ]; do sleep 0.2; done", 60)


def spis(machine: Machine) -> set[str]:
    """Of the keys that packets can have now."""
    return set(re.findall(r"proto esp spi (0x[0-9a-f]+)", machine.run("ip xfrm state")))


def renewed(lab: Lab, disk: str, family: int) -> None:
    name = map_disk(lab, disk, family)
    folder = "/sys/class/rtrs-client/vm/paths"
    connects = f"cat {folder}/*/stats/reconnects"
    before, old = lab.client.run(connects), spis(lab.client)
    rnbd.check(old, "no keys while a disk is mapped")
    verify = fio.verify_command(f"/dev/{name}", "4k", 8, "4m")
    load = lab.client.spawn(f"until [ -e /tmp/enough ]; do {verify} || exit 1; done; rm /tmp/enough", 600)
    for number in range(RENEWALS):
        # By either side in turn, as whose clock is first does it.
        machine = (lab.client, lab.server)[number % 2]
        known = spis(machine)
        machine.run("swanctl --rekey --child rnbd", 60)
        rnbd.wait_until(machine, "ip xfrm state | grep -oE 'spi 0x[0-9a-f]+' | grep -qvE '" + "|".join(known) + "'", 60,
                        "new keys of packets")
        machine.run("swanctl --rekey --ike rnbd\nsleep 2", 60)
        rnbd.check(load.running, "I/O ended as keys were renewed")
    lab.client.run("touch /tmp/enough")
    rnbd.check(lab.client.wait(load).ok, "verified I/O failed as keys were renewed")
    rnbd.check(not old & spis(lab.client), "the first keys are still there")
    rnbd.equal(lab.client.run(connects), before, "connects of the path")
    rnbd.unmap(lab, name)
