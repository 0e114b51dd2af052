# SPDX-License-Identifier: GPL-2.0
"""map_device takes its options in any order, both separators, IPv6, another port, several disks; all hold at once."""

import itertools

from vmlab import rnbd
from vmlab.fio import Verify, verify
from vmlab.lab import Lab

PORT = 1444
# Of the session: what is asked for, and what its file says then.
SETTINGS = {"mp_policy": ("rr", "round-robin (RR: 0)"), "max_reconnect_attempts": ("7", "7"),
            "request_timeout": ("20", "20"), "heartbeat_interval_ms": ("700", "700"),
            "heartbeat_missed_max": ("9", "9"), "nr_connections": ("1", "1"),
            "reconnect_delay": ("9", "9"), "tos": ("104", "104"), "queue_depth": ("32", "32")}
BAD = ("mp_policy=fast", "mp_policy=", "mpath_policy=rr", "max_reconnect_attempts=-2", "request_timeout=3601",
       "request_timeout=99999999999", "heartbeat_interval_ms=99", "heartbeat_missed_max=0", "nr_connections=-1",
       "nr_connections=1025", "reconnect_delay=0", "reconnect_delay=3601", "tos=-2", "tos=256",
       "queue_depth=-1", "queue_depth=7", "queue_depth=65536",
       "no_path_timeout=-2", "owner=", f"owner={'o' * 201}")


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    other = rnbd.null_disk(lab.server, "nullb8", 16, blocksize=4096)
    rnbd.load_server(lab, port=PORT)
    rnbd.load_client(lab)
    path = rnbd.path_option(lab)
    options = ["sessname=vm", f"dest_port={PORT}", path, f"device_path={disk}", "access_mode=rw"]
    # In-tree resolves each path while it reads it, so that the port must come before.
    orders = [o for o in itertools.permutations(options)
              if lab.ours("client") or o.index(f"dest_port={PORT}") < o.index(path)]
    for order in orders[::11]:
        map_once(lab, " ".join(order), disk)
    for text in (f"sessname=vm dest_port={PORT} path=ip:10.10.0.2,ip:10.10.0.1 device_path={disk}",
                 f"sessname=vm dest_port={PORT} path=ip:10.10.0.1 device_path={disk}",
                 f"sessname=vm dest_port={PORT} {rnbd.path_option(lab, family=6)} device_path={disk}",
                 f"  sessname=vm   dest_port={PORT}  {path}  device_path={disk} access_mode=migration ",
                 f"sessname=gone sessname=vm dest_port={PORT} {path} device_path=/x device_path={disk}"):
        map_once(lab, text, disk)

    # The second disk needs no path, joins the session, and has its own block size.
    first = map_text(lab, disk, path)
    rnbd.write(lab.client, f"{rnbd.CTL}/map_device", f"sessname=vm device_path={other}")
    second = rnbd.mapped_name(lab, other)
    rnbd.equal(rnbd.sessions(lab.client, "client"), ["vm"], "sessions at the client")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{second}/queue/logical_block_size"), "4096", "block size")
    for name in (first, second):
        verify(lab.client, f"/dev/{name}", Verify("4k", 16, "512k"))
    rnbd.unmap(lab, first)
    verify(lab.client, f"/dev/{second}", Verify("8k", 4, "256k"))
    rnbd.unmap(lab, second)
    rnbd.equal(rnbd.sessions(lab.client, "client"), [], "sessions after the last unmap")
    if lab.ours("client"):
        settings(lab, disk, other, path)


def settings(lab: Lab, disk: str, other: str, path: str) -> None:
    """One write, and all of it is there; what is refused changes nothing, of others' sessions neither."""
    control = f"{rnbd.CTL}/map_device"
    line = f"sessname=vm dest_port={PORT} {path} device_path={disk}"
    errors = rnbd.write_errors(lab.client, [(control, f"{line} {bad}") for bad in BAD])
    rnbd.equal(dict(zip(BAD, errors)), dict.fromkeys(BAD, "EINVAL"), "refusals of bad values")
    rnbd.equal(rnbd.sessions(lab.client, "client"), [], "sessions after refusals")

    asked = " ".join(f"{name}={value}" for name, (value, _) in SETTINGS.items())
    rnbd.write(lab.client, control, f"{line} {asked} no_path_timeout=30 owner=vm:1_a")
    first = rnbd.mapped_name(lab, disk)
    folder = f"/sys/block/{first}/rnbd"
    rnbd.equal([rnbd.read(lab.client, f"{folder}/{file}") for file in ("owner", "no_path_timeout")], ["vm:1_a", "30"],
               "what the disk was asked for with")
    wanted = {name: shown for name, (_, shown) in SETTINGS.items()}
    rnbd.equal(shown(lab), wanted, "settings of the session")
    changed = [f"{name}={'ml' if name == 'mp_policy' else '100'}" for name in SETTINGS]
    errors = rnbd.write_errors(lab.client, [(control, f"sessname=vm device_path={other} {option}")
                                            for option in changed])
    rnbd.equal(errors, ["EINVAL"] * len(changed), "refusals of what an open session does not have")
    rnbd.equal(shown(lab), wanted, "settings after refusals")
    rnbd.write(lab.client, control, f"sessname=vm device_path={other} {asked}")
    second = rnbd.mapped_name(lab, other)
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{second}/rnbd/owner"), "", "owner of a mapping without one")
    for name in (first, second):
        rnbd.unmap(lab, name)


def shown(lab: Lab) -> dict[str, str]:
    return {name: rnbd.read(lab.client, f"/sys/class/rtrs-client/vm/{name}") for name in SETTINGS}


def map_text(lab: Lab, disk: str, path: str) -> str:
    rnbd.write(lab.client, f"{rnbd.CTL}/map_device", f"sessname=vm dest_port={PORT} {path} device_path={disk}")
    return rnbd.mapped_name(lab, disk)


def map_once(lab: Lab, text: str, disk: str) -> None:
    rnbd.write(lab.client, f"{rnbd.CTL}/map_device", text)
    rnbd.unmap(lab, rnbd.mapped_name(lab, disk))
