# SPDX-License-Identifier: GPL-2.0
"""What stands on a disk is seen on the cable, and with IPsec, as Documentation/ipsec.md has it, never: all that the two
machines say to each other is encrypted then, and neither takes anything else."""

import secrets

from vmlab import fio, make, rnbd
from vmlab.channel import Job
from vmlab.lab import Lab
from vmlab.machine import Machine

OURS = ("client", "server")
KINDS = ("stock",)  # the others have no IPsec
TEXT = "what-a-disk-holds-is-nobodys-business"


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    for clear in seen_during(lab, disk):
        rnbd.check(clear["text"] > 10 and clear["roce"] > 10, f"the watcher does not see what is there: {clear}")
        rnbd.equal(clear["esp"], 0, "encrypted frames without IPsec")
    try:
        encrypt(lab)
        for hidden in seen_during(lab, disk):
            rnbd.equal((hidden["text"], hidden["roce"], hidden["other"]), (0, 0, 0),
                       "frames with the text, of RoCE, and others that are not encrypted")
            rnbd.check(hidden["esp"] > 10, f"nothing went over the cable: {hidden}")
        # What comes in clear is not for the one who wants it encrypted.
        flush(lab.client)
        answered = lab.client.try_run(f"ping -c 1 -W 2 {lab.server.address()}")
        rnbd.check(not answered.ok, "the server answers what comes in clear")
    finally:
        for machine in (lab.client, lab.server):
            flush(machine)


def seen_during(lab: Lab, disk: str) -> list[dict[str, int]]:
    """What either machine sends while a disk full of the text is mapped, written, read back and unmapped."""
    machines = (lab.client, lab.server)
    jobs = [watch(machine) for machine in machines]
    name = rnbd.map_device(lab, disk)
    lab.client.run(fio.verify_command(f"/dev/{name}", "4k", 8, "1m", verify="pattern",
                                      verify_pattern=f"'\"{TEXT}\"'"), 120)
    rnbd.unmap(lab, name)
    return [seen_by(machine, job) for machine, job in zip(machines, jobs, strict=True)]


def watch(machine: Machine) -> Job:
    program = machine.put(make.programs() / "rtrs-wire")
    job = machine.spawn(f"echo $$ >/tmp/wire.pid\nexec {program} {machine.netdev()} {TEXT} >/tmp/wire.out", 300)
    rnbd.wait_until(machine, "grep -q ready /tmp/wire.out", 20, "the watcher's start")
    return job


def seen_by(machine: Machine, job: Job) -> dict[str, int]:
    machine.run("kill -TERM $(cat /tmp/wire.pid)")
    rnbd.check(machine.wait(job).ok, f"{machine.name}: the watcher failed")
    words = machine.run("tail -n 1 /tmp/wire.out").split()
    seen = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    rnbd.equal(seen["lost"], 0, f"{machine.name}: frames that the watcher missed")
    return seen


def encrypt(lab: Lab) -> None:
    """The commands of ipsec.md, on both machines."""
    ends = (lab.client.address(), lab.server.address())
    keys = [secrets.token_hex(20), secrets.token_hex(20)]
    for machine in (lab.client, lab.server):
        lines = []
        for number, (source, target, key) in enumerate(zip(ends, reversed(ends), keys, strict=True), 1):
            way = "out" if source == machine.address() else "in"
            lines += [f"ip xfrm state add src {source} dst {target} proto esp spi 0x{number + 0x1000:x} reqid {number} "
                      f"mode transport aead 'rfc4106(gcm(aes))' 0x{key} 128 flag esn replay-window 128",
                      f"ip xfrm policy add src {source} dst {target} dir {way} "
                      f"tmpl src {source} dst {target} proto esp reqid {number} mode transport"]
        machine.run("\n".join(lines))


def flush(machine: Machine) -> None:
    machine.run("ip xfrm policy flush\nip xfrm state flush")
