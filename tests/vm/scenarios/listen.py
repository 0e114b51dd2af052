# SPDX-License-Identifier: GPL-2.0
"""A server takes connections where `listen` says and nowhere else; what is connected stays until it ends."""

from vmlab import rnbd
from vmlab.lab import Lab
from vmlab.multipath import SESSION, folder

OURS = ("client", "server")
PARAMETER = "/sys/module/rtrs_server/parameters/listen"
REFUSALS = "/sys/kernel/debug/rtrs-server/refusals"
BAD = ("300.1.1.1", "10.10.0.1/33", "fd00::/129", "rxe0", "10.10.0.1:1234", "hca:", f"hca:{'n' * 64}", "10.10.0.1,x",
       ",".join(f"10.10.0.{n}" for n in range(17)), "x" * 600)


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    out = lab.server.try_run("modprobe rtrs_server listen=300.1.1.1").out
    rnbd.check("Invalid argument" in out, f"a bad list at the load: {out}")
    server = lab.server
    rnbd.load_server(lab, listen=server.address(0))
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    second = rnbd.path_option(lab, 1).removeprefix("path=")
    for other in (second, rnbd.path_option(lab, 0, 6).removeprefix("path=")):
        before = refused(lab)
        rnbd.equal(rnbd.write_error(lab.client, f"{SESSION}/add_path", other), "ECONNRESET", f"{other} is not served")
        rnbd.equal(refused(lab), before + 1, "what the server has counted")

    errors = rnbd.write_errors(server, [(PARAMETER, bad) for bad in BAD])
    rnbd.equal(dict(zip(BAD, errors)), dict.fromkeys(BAD, "EINVAL"), "refusals of bad words")
    rnbd.equal(rnbd.read(server, PARAMETER), server.address(0), "the list after refusals")
    listen(lab, f"{server.address(0)}/32, hca:rxe1")
    rnbd.write(lab.client, f"{SESSION}/add_path", second)

    # A path that is there stays, and does not come back.
    listen(lab, "hca:rxe1")
    rnbd.equal(states(lab), ["connected", "connected"], "paths after the list has changed")
    rnbd.check(rnbd.write_error(lab.client, f"{folder(lab, 0)}/reconnect", "1"),
               "a path came back where nobody listens")
    rnbd.equal(states(lab), ["disconnected", "connected"], "paths after a reconnect")
    rnbd.equal(rnbd.read(lab.client, f"{folder(lab, 0)}/last_reason"), "nobody listens", "what the client was told")
    lab.client.run(f"dd if=/dev/{name} of=/dev/null bs=4k count=16 iflag=direct")
    listen(lab, "")
    rnbd.write(lab.client, f"{folder(lab, 0)}/reconnect", "1")
    rnbd.equal(states(lab), ["connected", "connected"], "paths when it listens everywhere")
    rnbd.unmap(lab, name)
    if lab.kernel.kind != "uml":  # which has no kprobes
        lies(lab, disk)


def lies(lab: Lab, disk: str) -> None:
    """Who says that he connects to a served address has to come by the port that has it: the kernel sees to that,
    so the server is not even asked."""
    listen(lab, lab.server.address(1))
    text = rnbd.map_text(lab, disk)
    forge = lab.client.put(lab.modules_of("client") / "tests/misdeeds/forge_address.ko")
    before = refused(lab)
    lab.client.run(f"insmod {forge} server={lab.server.address(1)}")
    try:
        rnbd.check(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text, 90), "a lie opened another address")
    finally:
        lab.client.run("rmmod forge_address")
    rnbd.equal(refused(lab), before, "what the server has refused of lies")
    rnbd.check(rnbd.write_error(lab.client, f"{rnbd.CTL}/map_device", text, 90), "the truth opened another address")
    rnbd.check(refused(lab) > before, "the truth was not refused by the server")
    rnbd.unmap(lab, rnbd.map_device(lab, disk, nics=(1,)))


def listen(lab: Lab, words: str) -> None:
    rnbd.write(lab.server, PARAMETER, words)
    rnbd.equal(rnbd.read(lab.server, PARAMETER), words, "the list as it is shown")


def states(lab: Lab) -> list[str]:
    return [rnbd.read(lab.client, f"{folder(lab, nic)}/state") for nic in (0, 1)]


def refused(lab: Lab) -> int:
    return int(dict(line.split() for line in rnbd.read(lab.server, REFUSALS).splitlines())["address_not_served"])
