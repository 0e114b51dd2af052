# SPDX-License-Identifier: GPL-2.0
"""A session's type of service is in what both sides send, from the next connection on; -1 leaves it to the kernel."""

from vmlab import rnbd, wire
from vmlab.lab import Lab
from vmlab.multipath import SESSION

VARIANTS = {"ipv4": {"family": 4}, "ipv6": {"family": 6}}
OURS = ("client",)
INTEROP = True
ASKED = 104  # DSCP 26
LATER = 72


def run(lab: Lab, family: int) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    option = rnbd.path_option(lab, family=family)

    def mapped(more: str = "") -> str:
        rnbd.write(lab.client, f"{rnbd.CTL}/map_device", f"sessname=vm {option} device_path={disk} {more}")
        return rnbd.mapped_name(lab, disk)

    def changed() -> str:
        """What is written is for connections that begin later: until then nothing has it."""
        name = mapped(f"tos={ASKED}")
        rnbd.write(lab.client, f"{SESSION}/tos", str(LATER))
        path = lab.client.run(f"ls -d {SESSION}/paths/*").strip()
        rnbd.write(lab.client, f"{path}/reconnect", "1")
        rnbd.wait_until(lab.client, f"grep -qx connected '{path}/state'", 30, "it is connected")
        return name

    for frames in wire.seen_during(lab, 0, lambda: mapped(f"tos={ASKED}"), ASKED):
        rnbd.check(frames["marked"] > 10, f"too few have what was asked for: {frames}")
        rnbd.equal(frames["unmarked"], 0, "what connections sent without")
    # What is sent before the path's new connections has the old one.
    for frames in wire.seen_during(lab, 0, changed, LATER):
        rnbd.check(frames["marked"] > frames["unmarked"] > 0, f"what was written does not hold from then on: {frames}")
    for frames in wire.seen_during(lab, 0, mapped, 0):
        rnbd.check(frames["marked"] > 10, f"nothing went over the cable: {frames}")
        rnbd.equal(frames["unmarked"], 0, "what was marked unasked")
