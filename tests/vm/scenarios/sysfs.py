# SPDX-License-Identifier: GPL-2.0
"""Every sysfs entry of one path, one disk and one export: there, with its mode, readable, and bad input refused."""

from vmlab import rnbd
from vmlab.lab import Lab

RO, RW = "444", "644"

# Below /sys/class/rtrs-client/vm; entries that in-tree lacks are marked with True.
CLIENT = (
    ("max_reconnect_attempts", RW, False), ("mpath_policy", RW, False), ("mp_policy", RW, True),
    ("request_timeout", RW, True), ("heartbeat_interval_ms", RW, True), ("heartbeat_missed_max", RW, True),
    ("reconnect_delay", RW, True), ("tos", RW, True), ("nr_connections", RO, True), ("queue_depth", RO, True),
    ("dest_port", RO, True),
    ("add_path", RW, False),
)
CLIENT_PATH = (
    ("state", RO, False), ("hca_name", RO, False), ("hca_port", RO, False), ("src_addr", RO, False),
    ("dst_addr", RO, False), ("cur_latency", RO, False), ("nr_connections", RO, True),
    ("heartbeats_missed", RO, True), ("last_error", RO, True), ("last_reason", RO, True),
    ("attempts", RO, True), ("next_attempt_ms", RO, True),
    ("reconnect", RW, False), ("disconnect", RW, False),
    ("remove_path", RW, False), ("stats/cpu_migration_from", RW, False), ("stats/cpu_migration_to", RW, False),
    ("stats/reconnects", RW, False), ("stats/rdma", RW, False), ("stats/reset_all", RW, False),
    ("stats/cpu_migration", RW, True), ("stats/rdma_lat", RW, True), ("stats/wc_completion", RW, True),
    ("stats/sg_entries", RW, True), ("stats/latency_us", RW, True), ("stats/errors", RW, True),
)
SERVER_PATH = (
    ("hca_name", RO, False), ("hca_port", RO, False), ("src_addr", RO, False), ("dst_addr", RO, False),
    ("disconnect", RW, False), ("stats/rdma", RW, False), ("stats/reset_all", RW, True),
    ("stats/wc_completion", RW, True),
)
DISK = (
    ("unmap_device", RW, False), ("resize", RW, False), ("remap_device", RW, False), ("mapping_path", RO, False),
    ("session", RO, False), ("access_mode", RO, False), ("nr_poll_queues", RO, False), ("state", RO, False),
    ("wwid", RO, True), ("no_path_timeout", RW, True), ("waiting_requests", RO, True), ("oldest_request_ms", RO, True),
    ("slow", RO, True), ("owner", RO, True),
)
EXPORT = (("access_mode", RO, False), ("read_only", RO, False), ("mapping_path", RO, False), ("force_close", RW, False),
          ("requests", RO, True))
PARAMETERS = {"rtrs_server": {"always_invalidate": "Y", "max_chunk_size": "131072", "sess_queue_depth": "512",
                              "capsules": "Y"},
              "rnbd_server": {"port_nr": "1234", "dev_search_path": "/"}}

# Entry below a client path or session, input, errno.
BAD = (
    ("max_reconnect_attempts", "-2", "EINVAL"), ("max_reconnect_attempts", "10000", "EINVAL"),
    ("max_reconnect_attempts", "many", "EINVAL"), ("mpath_policy", "3", "EINVAL"),
    ("mpath_policy", "fastest", "EINVAL"),
    ("add_path", "10.10.1.1", "EINVAL"), ("add_path", "ip:10.10.1.300", "EINVAL"),
    ("paths/{p}/reconnect", "2", "EINVAL"), ("paths/{p}/disconnect", "yes", "EINVAL"),
    ("paths/{p}/remove_path", "0", "EINVAL"), ("paths/{p}/stats/rdma", "x", "EINVAL"),
    ("paths/{p}/stats/reset_all", "7", "EINVAL"),
)
# Likewise, where in-tree has no such entry.
BAD_OURS = (
    ("request_timeout", "-1", "EINVAL"), ("request_timeout", "3601", "EINVAL"), ("request_timeout", "1m", "EINVAL"),
    ("request_timeout", "99999999999", "ERANGE"),
    ("heartbeat_interval_ms", "99", "EINVAL"), ("heartbeat_interval_ms", "60001", "EINVAL"),
    ("heartbeat_interval_ms", "5 s", "EINVAL"), ("heartbeat_missed_max", "0", "EINVAL"),
    ("heartbeat_missed_max", "101", "EINVAL"), ("heartbeat_missed_max", "", "EINVAL"),
    ("reconnect_delay", "0", "EINVAL"), ("reconnect_delay", "3601", "EINVAL"), ("reconnect_delay", "soon", "EINVAL"),
    ("tos", "-2", "EINVAL"), ("tos", "256", "EINVAL"), ("tos", "0x68", "EINVAL"), ("tos", "", "EINVAL"),
    ("paths/{p}/reconnect", "lost?", "EINVAL"),
    ("paths/{p}/stats/latency_us", "2", "EINVAL"), ("paths/{p}/stats/errors", "", "EINVAL"),
)


def present(lab: Lab, role: str, folder: str, rows: tuple[tuple[str, str, bool], ...]) -> list[str]:
    """Complaints about entries of a folder that are missing or have another mode."""
    machine = lab.machines[role]
    wanted = [(name, mode) for name, mode, only_ours in rows if lab.ours(role) or not only_ours]
    # For each entry its mode and, in octal, the last two bytes that it prints.
    out = machine.run("\n".join(f"f='{folder}/{name}'\necho $(stat -c %a \"$f\" 2>&1; cat \"$f\" 2>&1 | tail -c 2 | "
                                "od -An -to1)" for name, _ in wanted), 90).splitlines()
    bad = []
    for (name, mode), line in zip(wanted, out, strict=True):
        words = line.split()
        if words[0] != mode:
            bad.append(f"{role}: {folder}/{name}: mode {mode} wanted: {line}")
        elif words[-1] != "012" or words[-2:-1] == ["012"]:
            bad.append(f"{role}: {folder}/{name}: does not end in one newline")
    return bad


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    path = lab.client.run("ls /sys/class/rtrs-client/vm/paths").strip()
    rnbd.equal(path, f"ip:{lab.client.address()}@ip:{lab.server.address()}", "name of the path")
    export = f"/sys/class/rnbd-server/ctl/devices/{disk.removeprefix('/dev/')}"
    session = "/sys/class/rtrs-client/vm"
    bad = [*present(lab, "client", session, CLIENT), *present(lab, "client", f"{session}/paths/{path}", CLIENT_PATH),
           *present(lab, "server", f"/sys/class/rtrs-server/vm/paths/{path}", SERVER_PATH),
           *present(lab, "client", f"/sys/block/{name}/rnbd", DISK),
           *present(lab, "server", f"{export}/sessions/vm", EXPORT),
           *present(lab, "client", rnbd.CTL, (("map_device", RW, False),)),
           *present(lab, "client", "/sys/devices/virtual/rnbd-client/ctl", (("map_device", RW, False),))]
    for module, wanted in PARAMETERS.items():
        for key, value in wanted.items():
            got = rnbd.read(lab.server, f"/sys/module/{module}/parameters/{key}")
            if got != value:
                bad.append(f"{module}.{key}: {got!r}, want {value!r}")
    rnbd.check(not bad, "\n".join(bad))
    values(lab, name, path, export, session)

    rows = BAD + BAD_OURS if lab.ours("client") else BAD
    errors = rnbd.write_errors(lab.client, [(f"{session}/{entry.format(p=path)}", text) for entry, text, _ in rows])
    for (entry, text, want), got in zip(rows, errors, strict=True):
        rnbd.equal(got, want, f"{text!r} to {entry}")
    rnbd.equal(rnbd.read(lab.client, f"{session}/paths/{path}/state"), "connected", "state after bad input")
    rnbd.unmap(lab, name)
    rnbd.check(not lab.client.try_run(f"[ -e {session} ]").ok, "the session's folder outlived it")


def values(lab: Lab, name: str, path: str, export: str, session: str) -> None:
    """What the entries say."""
    here = f"{session}/paths/{path}"
    for machine, folder in ((lab.client, here), (lab.server, f"/sys/class/rtrs-server/vm/paths/{path}")):
        rnbd.equal(rnbd.read(machine, f"{folder}/src_addr"), f"ip:{lab.client.address()}", "src_addr")
        rnbd.equal(rnbd.read(machine, f"{folder}/dst_addr"), f"ip:{lab.server.address()}", "dst_addr")
        rnbd.equal(rnbd.read(machine, f"{folder}/hca_name"), "rxe0", "hca_name")
        rnbd.equal(rnbd.read(machine, f"{folder}/hca_port"), "1", "hca_port")
    rnbd.equal(rnbd.read(lab.client, f"{here}/state"), "connected", "state")
    rnbd.write(lab.client, f"{session}/max_reconnect_attempts", "7")
    rnbd.equal(rnbd.read(lab.client, f"{session}/max_reconnect_attempts"), "7", "max_reconnect_attempts")
    if lab.ours("client"):
        for entry, want in (("dest_port", "1234"), (f"paths/{path}/last_error", "0"), (f"paths/{path}/attempts", "0"),
                            (f"paths/{path}/next_attempt_ms", "-1")):
            rnbd.equal(rnbd.read(lab.client, f"{session}/{entry}"), want, entry)
        # A path that is connected is not lost, and stays as it is.
        rnbd.write(lab.client, f"{here}/reconnect", "lost")
        rnbd.equal(rnbd.read(lab.client, f"{here}/stats/reconnects"), "0 0", "reconnects of a path that was not lost")
        rnbd.write(lab.client, f"{here}/disconnect", "1", 60)
        rnbd.write(lab.client, f"{here}/reconnect", "lost", 60)
        rnbd.equal(rnbd.read(lab.client, f"{here}/stats/reconnects"), "1 0", "reconnects of one that was")
        rnbd.equal(rnbd.read(lab.client, f"{session}/request_timeout"), "60", "request_timeout")
        rnbd.write(lab.client, f"{session}/request_timeout", "0")
        rnbd.equal(rnbd.read(lab.client, f"{session}/request_timeout"), "0", "request_timeout")
    policies = [("1", "min-inflight (MI: 1)"), ("RR", "round-robin (RR: 0)"), ("min-latency", "min-latency (ML: 2)")]
    if lab.ours("client"):  # in-tree compares the newline too, so that echo can't abbreviate
        policies += [("Round", "round-robin (RR: 0)"), ("min-l", "min-latency (ML: 2)")]
    for text, want in policies:
        rnbd.write(lab.client, f"{session}/mpath_policy", text)
        rnbd.equal(rnbd.read(lab.client, f"{session}/mpath_policy"), want, "mpath_policy")
    rnbd.equal(len(rnbd.read(lab.client, f"{here}/stats/rdma").split()), 6, "fields of stats/rdma")
    rnbd.write(lab.client, f"{here}/stats/rdma", "1")
    for entry, want in (("state", "open"), ("access_mode", "rw"), ("session", "vm"), ("nr_poll_queues", "0")):
        rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/rnbd/{entry}"), want, entry)
    rnbd.equal(rnbd.read(lab.server, f"{export}/sessions/vm/access_mode"), "rw", "access_mode of the export")
    rnbd.check(lab.server.run(f"readlink -f {export}/block_dev").strip().endswith(export.rpartition("/")[2]),
               "block_dev")
    # Local size: 512-byte sectors, any base, refused when it is no number.
    rnbd.write(lab.client, f"/sys/block/{name}/rnbd/resize", "0x800")
    rnbd.equal(rnbd.read(lab.client, f"/sys/block/{name}/size"), "2048", "size after resize")
    rnbd.equal(rnbd.write_error(lab.client, f"/sys/block/{name}/rnbd/resize", "big"), "EINVAL", "resize to a word")
    rnbd.equal(rnbd.write_error(lab.client, f"/sys/block/{name}/rnbd/remap_device", "1"), "EALREADY",
               "remap while mapped")
    rnbd.equal(rnbd.write_error(lab.client, f"/sys/block/{name}/rnbd/remap_device", "2"), "EINVAL", "remap with 2")
