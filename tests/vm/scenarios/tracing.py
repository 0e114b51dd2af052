# SPDX-License-Identifier: GPL-2.0
"""Each tracepoint has its documented fields and tells what was done; while it is off, it is a nop."""

import re
import subprocess

from vmlab import make, rnbd
from vmlab.lab import Lab
from vmlab.machine import Machine
from vmlab.multipath import connects, folder, wait_back
from vmlab.peers import find_ours

OURS = ("client", "server")
KINDS = ("stock", "debug")  # to user-mode Linux `errno`, a field, is a macro; and it patches no jumps
TRACEFS = "/sys/kernel/tracing"
RECOVERY = "state reconnect_attempts max_reconnect_attempts fail_cnt success_cnt sessname"
# Fields of each event, in their order; those of protocol F.6 are in-tree's too.
CLIENT = {"rtrs_clt": {
    "rtrs_clt_reconnect_work": RECOVERY, "rtrs_clt_close_conns": RECOVERY, "rtrs_rdma_error_recovery": RECOVERY,
    "rtrs_clt_path_state": "path from to error",
    "rtrs_clt_path_choice": "session path slot policy failover",
    "rtrs_clt_request_submit": "path slot con write data_len usr_len sg_cnt",
    "rtrs_clt_request_post": "path slot con wr_cnt registered result",
    "rtrs_clt_request_complete": "path slot write data_len error latency_ns"},
    "rnbd_clt": {
    "rnbd_clt_io_begin": "disk device slot op flags sector bytes",
    "rnbd_clt_io_end": "disk device slot op sector bytes error latency_ns"}}
SERVER = {"rtrs_srv": {
    "send_io_resp_imm": "dir need_inval always_invalidate msg_id wr_cnt signal_interval state errno sessname",
    "rtrs_srv_request": "path slot write data_len usr_len",
    "rtrs_srv_path_state": "path from to",
    "rtrs_srv_refusal": "path kind error"},
    "rnbd_srv": {
    "create_sess": "qdepth sessname", "destroy_sess": "qdepth sessname",
    "process_rdma": "sessname dir ver device_id sector flags bi_size ioprio datalen usrlen",
    "process_msg_sess_info": "proto_ver clt_ver srv_ver sessname",
    "process_msg_open": "access_mode sessname dev_name",
    "process_msg_close": "device_id sessname",
    "rnbd_srv_io_begin": "sessname device op sector bytes",
    "rnbd_srv_io_end": "sessname device op sector bytes error latency_ns"}}
# What runs for each I/O must be a nop in the code of C++, besides the one of the C wrapper.
HOT = {"rtrs-client": ("rtrs_clt_path_choice", "rtrs_clt_request_submit", "rtrs_clt_request_post",
                       "rtrs_clt_request_complete"),
       "rtrs-server": ("send_io_resp_imm", "rtrs_srv_request"),
       "rnbd-client": ("rnbd_clt_io_begin", "rnbd_clt_io_end"),
       "rnbd-server": ("process_rdma", "rnbd_srv_io_begin", "rnbd_srv_io_end")}
NOPS = (b"\x0f\x1f\x44\x00\x00", b"\x66\x90")


def fields(machine: Machine, system: str, event: str) -> str:
    """Names in the format file of an event, without those that every event has."""
    text = machine.run(f"cat {TRACEFS}/events/{system}/{event}/format")
    names = re.findall(r"field:[^;]*?(\w+)(?:\[\d*\])?;", text)
    return " ".join(name for name in names if not name.startswith("common_"))


def enable(machine: Machine, systems: dict[str, dict[str, str]]) -> None:
    for system, events in systems.items():
        listed = machine.run(f"ls {TRACEFS}/events/{system}").split()
        rnbd.equal(sorted(n for n in listed if n not in ("enable", "filter")), sorted(events), f"events of {system}")
        for event, wanted in events.items():
            rnbd.equal(fields(machine, system, event), wanted, f"fields of {event}")
    machine.run(f"echo 8192 >{TRACEFS}/buffer_size_kb\necho 1 >{TRACEFS}/tracing_on\n"
                + "\n".join(f"echo 1 >{TRACEFS}/events/{system}/enable" for system in systems))


def disable(machine: Machine, systems: dict[str, dict[str, str]]) -> None:
    machine.try_run("\n".join(f"echo 0 >{TRACEFS}/events/{system}/enable" for system in systems)
                    + f"\n: >{TRACEFS}/trace\necho 1 >{TRACEFS}/buffer_size_kb")


def trace(machine: Machine) -> list[dict[str, str]]:
    """What was recorded since the last call: for each event its fields as printed, and its name as "event"."""
    out = machine.run(f"cat {TRACEFS}/trace; : >{TRACEFS}/trace")
    found = []
    for line in out.splitlines():
        match = re.match(r"\s*.+?-\d+\s+\[\d+\] \S+ +[\d.]+: (\w+): (.*)", line)
        if match:
            # A value ends where the next key begins: a path's name has a space in it.
            pairs = re.findall(r"(\w+)=(.*?)(?= \w+=|$)", match[2])
            found.append({"event": match[1], **dict(pairs)})
    return found


def having(events: list[dict[str, str]], name: str, **wanted: object) -> list[dict[str, str]]:
    return [e for e in events if e["event"] == name and all(e.get(k) == str(v) for k, v in wanted.items())]


def expect(events: list[dict[str, str]], name: str, count: int | None = None, **wanted: object) -> list[dict[str, str]]:
    found = having(events, name, **wanted)
    rnbd.check(found if count is None else len(found) == count,
               f"{name} with {wanted}: {len(found)} times\n" + "\n".join(str(e) for e in having(events, name)[:20]))
    return found


def run(lab: Lab) -> None:
    for module, events in HOT.items():
        patched_out(lab, module, events)
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    try:
        enable(lab.client, CLIENT)
        enable(lab.server, SERVER)
        name = rnbd.map_device(lab, disk)
        came_up(lab, disk)
        requests(lab, name, disk)
        recovery(lab)
        refusal(lab, disk)
        rnbd.unmap(lab, name)
        expect(trace(lab.client), "rtrs_clt_close_conns", 1)
        events = trace(lab.server)
        expect(events, "rtrs_srv_path_state", 1, **{"from": "CLOSING", "to": "CLOSED"})
        expect(events, "process_msg_close", 1, sessname="vm")
        expect(events, "destroy_sess", 1, sessname="vm", qdepth=512)
    finally:
        disable(lab.client, CLIENT)
        disable(lab.server, SERVER)


def path_name(lab: Lab) -> str:
    return folder(lab, 0).rpartition("/")[2]


def came_up(lab: Lab, disk: str) -> None:
    expect(trace(lab.client), "rtrs_clt_path_state", 1, path=f"vm {path_name(lab)}",
           **{"from": "CONNECTING", "to": "CONNECTED", "error": 0})
    events = trace(lab.server)
    expect(events, "rtrs_srv_path_state", 1, path=path_name(lab), **{"from": "CONNECTING", "to": "CONNECTED"})
    expect(events, "create_sess", 1, sessname="vm", qdepth=512)
    expect(events, "process_msg_sess_info", 1, sessname="vm", proto_ver=2, clt_ver=2, srv_ver=2)
    expect(events, "process_msg_open", 1, sessname="vm", access_mode="rw", dev_name=disk)


def requests(lab: Lab, name: str, disk: str) -> None:
    """A write of 8 KiB, a read of 16 KiB: each event once, with one slot from end to end."""
    lab.client.run("sleep 1")  # the partition scan
    trace(lab.client), trace(lab.server)
    for size, direction, command in ((8192, "WRITE", f"dd if=/dev/zero of=/dev/{name} bs=8k count=1 oflag=direct"),
                                     (16384, "READ", f"dd if=/dev/{name} of=/dev/null bs=16k count=1 iflag=direct")):
        lab.client.run(f"{command} 2>/dev/null")
        client, server = trace(lab.client), trace(lab.server)
        path = f"vm {path_name(lab)}"
        submit, = expect(client, "rtrs_clt_request_submit", 1, path=path, dir=direction, data_len=size)
        slot = submit["slot"]
        rnbd.check(int(submit["sg_cnt"]) >= 1 and int(submit["usr_len"]) > 0, f"submit: {submit}")
        expect(client, "rtrs_clt_path_choice", 1, session="vm", slot=slot, policy="min-inflight", failover=0, path=path)
        post, = expect(client, "rtrs_clt_request_post", 1, path=path, slot=slot, con=submit["con"], result=0)
        rnbd.check(int(post["wr_cnt"]) >= 1, f"post: {post}")
        rnbd.equal(post["registered"], "1" if direction == "READ" else "0", "registered")
        done, = expect(client, "rtrs_clt_request_complete", 1, path=path, slot=slot, dir=direction, data_len=size,
                       error=0)
        rnbd.check(int(done["latency_ns"]) > 0, f"complete: {done}")
        arrived, = expect(server, "rtrs_srv_request", 1, path=path_name(lab), slot=slot, dir=direction)
        rnbd.check(int(arrived["data_len"]) >= size, f"arrival: {arrived}")
        answer, = expect(server, "send_io_resp_imm", 1, sessname=path_name(lab), msg_id=slot, dir=direction, err=0,
                         state="CONNECTED", always_invalidate=1)
        same = {"op": direction, "sector": 0, "bytes": size}
        expect(client, "rnbd_clt_io_begin", 1, disk=name, device=f"{disk}@vm", slot=slot, **same)
        ended, = expect(client, "rnbd_clt_io_end", 1, disk=name, device=f"{disk}@vm", slot=slot, error=0, **same)
        rnbd.check(int(ended["latency_ns"]) > int(done["latency_ns"]), f"end: {ended}, {done}")
        expect(server, "process_rdma", 1, sessname="vm", dir=direction, op=direction, ver=2, sector=0, bi_size=size)
        expect(server, "rnbd_srv_io_begin", 1, sessname="vm", device=disk.removeprefix("/dev/"), **same)
        expect(server, "rnbd_srv_io_end", 1, sessname="vm", device=disk.removeprefix("/dev/"), error=0, **same)
        rnbd.check(int(answer["wr_cnt"]) >= 2 and int(answer["signal_interval"]) >= 1, f"answer: {answer}")


def recovery(lab: Lab) -> None:
    """The server ends the path; the client recovers by itself."""
    before = connects(lab, 0)
    server = f"/sys/class/rtrs-server/vm/paths/{path_name(lab)}"
    rnbd.write(lab.server, f"{server}/disconnect", "1")
    wait_back(lab, 0, before, 60)
    events = trace(lab.client)
    path = f"vm {path_name(lab)}"
    expect(events, "rtrs_rdma_error_recovery", 1, sessname=path, state="RECONNECTING", fail_cnt=0)
    expect(events, "rtrs_clt_reconnect_work", sessname=path, max_reconnect_attempts=-1)
    expect(events, "rtrs_clt_path_state", 1, path=path, **{"from": "CONNECTED", "to": "RECONNECTING"})
    expect(events, "rtrs_clt_path_state", 1, path=path, **{"from": "CONNECTING", "to": "CONNECTED"})
    expect(trace(lab.server), "rtrs_srv_path_state", 1, **{"from": "CONNECTED", "to": "CLOSING"})


def refusal(lab: Lab, disk: str) -> None:
    """A hostile client asks for a connection with a wrong magic."""
    attack = lab.client.put(make.programs() / "rtrs-attack")
    lab.client.run("modprobe -a ib_uverbs rdma_ucm\n"
                   f"IBV_DRIVERS=rxe {attack} --server {lab.server.address()} --device {disk} req-magic", 120)
    found = expect(trace(lab.server), "rtrs_srv_refusal", kind="connect_malformed")
    rnbd.check(all(e["path"] == path_name(lab) and int(e["error"]) < 0 for e in found), f"refusals: {found}")
    trace(lab.client)


def patched_out(lab: Lab, module: str, hot: tuple[str, ...]) -> None:
    """In the module's file each place where an event may be told is a nop, which the kernel makes a jump."""
    role = module.rpartition("-")[2]
    file = next(p for p in find_ours(lab.modules_of(role), lab.kernels[role]) if p.stem == module)
    text = subprocess.run(["readelf", "-SrW", str(file)], capture_output=True, text=True, check=True).stdout
    sections = {m[1]: int(m[2], 16) for m in re.finditer(r"\] (\S+) +\S+ +[0-9a-f]+ ([0-9a-f]+) ", text)}
    table = text.partition("'.rela__jump_table'")[2].partition("Relocation section")[0]
    relocations = re.findall(r"^[0-9a-f]+ +\S+ \S+ +[0-9a-f]+ (\S+) \+ ([0-9a-f]+)", table, re.MULTILINE)
    rnbd.equal(len(relocations) % 3, 0, "relocations of the jump table")
    image = file.read_bytes()
    sites: dict[str, int] = {}
    for code, _, key in zip(*[iter(relocations)] * 3, strict=True):
        if not key[0].startswith("__tracepoint_"):
            continue
        event = key[0].removeprefix("__tracepoint_")
        sites[event] = sites.get(event, 0) + 1
        at = sections[code[0]] + int(code[1], 16)
        rnbd.check(image[at:at + 5] == NOPS[0] or image[at:at + 2] == NOPS[1],
                   f"{module}: {event} is no nop: {image[at:at + 5].hex(' ')}")
    for event in hot:
        rnbd.check(sites.get(event, 0) >= 2, f"{module}: {event} has {sites.get(event, 0)} sites")
