# SPDX-License-Identifier: GPL-2.0
"""Disks that hang while they are opened hold up nothing else: healthy disks of the session are mapped, used and
unmapped at once, those of another session too, also where a session's work has one place; the maps go on in time."""

from vmlab import rnbd
from vmlab.channel import scale
from vmlab.hang import opening_hangs, remove
from vmlab.lab import Lab

OURS = ("client", "server")
VARIANTS: dict[str, dict[str, object]] = {"few": {"count": 5, "places": 1}, "many": {"count": 260, "places": 0}}
BY_HAND = ("many",)  # minutes: each map is a process
PROMPT = 5.0  # seconds that a map or an unmap of a healthy disk may take


def soon(lab: Lab, what: str, script: str) -> None:
    seconds = rnbd.timed(lab.client, script, 120)
    rnbd.check(seconds < PROMPT * scale(), f"{what} took {seconds:.1f} s")


def healthy(lab: Lab, disk: str, session: str) -> None:
    soon(lab, f"to map a healthy disk of session {session}",
         f"echo '{rnbd.map_text(lab, disk, session)}' >{rnbd.CTL}/map_device")
    name = rnbd.mapped_name(lab, disk, session)
    lab.client.run(f"dd if=/dev/zero of=/dev/{name} bs=4k count=8 oflag=direct 2>/dev/null")
    soon(lab, f"to unmap a healthy disk of session {session}", f"echo normal >/sys/block/{name}/rnbd/unmap_device")


def run(lab: Lab, count: int, places: int) -> None:
    below = rnbd.null_disk(lab.server)
    keeper = rnbd.null_disk(lab.server, "nullb8")
    disk = rnbd.null_disk(lab.server, "nullb9")
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, keeper)
    other = rnbd.map_device(lab, keeper, "other", access_mode="ro")
    if places:
        lab.client.run("for queue in /sys/devices/virtual/workqueue/rnbd_client_*; do "
                       f"echo {places} >$queue/max_active; done")
    with opening_hangs(lab.server, below) as slow:
        # Names of one device that hangs, each an OPEN of its own.
        lab.server.run(f"i=0\nwhile [ $i -lt {count} ]; do ln -s {slow} /dev/hang$i; i=$((i + 1)); done", 120)
        text = rnbd.map_text(lab, "/dev/hang'$i'")
        maps = lab.client.spawn(f"i=0\nwhile [ $i -lt {count} ]; do\n"
                                f"echo '{text}' >{rnbd.CTL}/map_device && echo mapped $i &\n"
                                "i=$((i + 1))\ndone\nwait", 600)
        lab.client.run(f"sleep {2 + count // 40}")
        healthy(lab, disk, "vm")
        healthy(lab, disk, "other")
        # A session that has lost its paths opens its disks again.
        path = lab.client.run("ls -d /sys/class/rtrs-client/other/paths/*").strip()
        lab.client.run(f"echo 1 >'{path}/disconnect'\necho 1 >'{path}/reconnect'", 120)
        rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{other}/rnbd/state", PROMPT * scale(),
                        "the disk of another session is open again")
        lab.client.run(f"dd if=/dev/{other} of=/dev/null bs=4k count=8 iflag=direct 2>/dev/null")
        rnbd.check(maps.running, "the maps that hang have ended")
        lab.client.run("sleep 1")
    # All are names of one disk, so one gets it.
    result = lab.client.wait(maps)
    mapped = [line for line in result.out.splitlines() if line.startswith("mapped")]
    rnbd.equal(len(mapped), 1, f"maps that got the disk when it opened: {result.out[-500:]}")
    rnbd.unmap(lab, rnbd.mapped_name(lab, f"/dev/hang{mapped[0].split()[1]}"))
    rnbd.unmap(lab, other)
    rnbd.unmap(lab, name)
    lab.server.run("rm /dev/hang*")
    remove(lab.server)
