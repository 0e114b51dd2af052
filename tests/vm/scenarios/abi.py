# SPDX-License-Identifier: GPL-2.0
"""The golden test of sysfs and debugfs: each entry of the modules is documented, each documented one exists.

Documentation/ABI/testing names the entries and says which can be written; FORMATS says what each prints. Who adds an
entry, adds it to both.
"""

import base64
import re

from vmlab import rnbd
from vmlab.lab import ROOT, Lab
from vmlab.machine import Machine
from vmlab.multipath import folder

OURS = ("client", "server")
DOCUMENTS = ROOT / "Documentation/ABI/testing"
COVERED = ("/sys/class/", "/sys/block/", "/sys/kernel/debug/rtrs-")
# Files that the kernel makes for each device; those of debugfs are documented where they are.
KERNELS_OWN = re.compile(r"/(?:uevent|subsystem|power/.*)$")

ADDRESS = r"ip:[0-9.]+|ip:[0-9a-f:]+|gid:[0-9a-f:]+"
NUMBERS = r"\d+(?: \d+)*"
USAGE = r"Usage: echo 1 > {0}"
PROVEN = r"none|[0-9A-Za-z][-_.0-9A-Za-z]*:\d+"
RESET_ALL = "echo 1 to reset all statistics"
MS = "".join(rf"{1 << i} ms: \d+ \d+\n" for i in range(17)) + r">= 65536 ms: \d+ \d+\nmaximum ms: \d+ \d+"
US = "".join(rf"{1 << i} us: {{0}}\n" for i in range(23)) + r">= 4194304 us: {0}"
WR = ("requests", "work_requests", "doorbells", "registrations", "invalidations", "guards", "signaled",
      "send_completions", "recv_completions", "wakes", "helped", "runs")
CLIENT = "/sys/class/rtrs-client/<session>"
CLIENT_PATH = f"{CLIENT}/paths/<src@dst>"
SERVER_PATH = "/sys/class/rtrs-server/<session>/paths/<src@dst>"
DISK = "/sys/block/rnbd<N>/rnbd"
EXPORT = "/sys/class/rnbd-server/ctl/devices/<device>"
REFUSALS = "/sys/kernel/debug/rtrs-server/refusals"
# What a read gives, without the newline at the end.
FORMATS = {
    f"{CLIENT}/max_reconnect_attempts": r"-?\d+",
    f"{CLIENT}/request_timeout": r"\d+",
    f"{CLIENT}/heartbeat_interval_ms": r"\d+",
    f"{CLIENT}/heartbeat_missed_max": r"\d+",
    f"{CLIENT}/reconnect_delay": "30",
    f"{CLIENT}/tos": "-1",
    f"{CLIENT}/nr_connections": "0",
    f"{CLIENT}/queue_depth": "0",
    **dict.fromkeys((f"{CLIENT}/mp_policy", f"{CLIENT}/mpath_policy"),
                    r"round-robin \(RR: 0\)|min-inflight \(MI: 1\)|min-latency \(ML: 2\)"),
    f"{CLIENT}/add_path": r"Usage: echo \[<source addr>@\]<destination addr> > add_path\n\n"
                          r"\*addr ::= \[ ip:<ipv4\|ipv6> \| gid:<gid> \]",
    f"{CLIENT_PATH}/state": "connected|disconnected",
    **{f"{CLIENT_PATH}/{name}": USAGE.format(name) for name in ("reconnect", "disconnect", "remove_path")},
    f"{CLIENT_PATH}/cur_latency": r"\d+ ns",
    f"{CLIENT}/dest_port": "1234",
    f"{CLIENT}/auth": "off|optional|required",
    f"{CLIENT}/key": r"(?:[0-9A-Za-z][-_.0-9A-Za-z]*)?",
    f"{CLIENT}/downgrades": "0",
    f"{CLIENT_PATH}/proven": PROVEN,
    f"{SERVER_PATH}/proven": PROVEN,
    **{f"{CLIENT_PATH}/{name}": r"\d+" for name in ("heartbeats_missed", "attempts", "nr_connections")},
    f"{CLIENT_PATH}/last_error": r"0|-\d+",
    f"{CLIENT_PATH}/last_reason": "none",
    f"{CLIENT_PATH}/next_attempt_ms": r"-1|\d+",
    f"{CLIENT_PATH}/stats/reset_all": RESET_ALL,
    f"{CLIENT_PATH}/stats/reconnects": r"\d+ \d+",
    f"{CLIENT_PATH}/stats/cpu_migration": r"from: (?:\d+ )+\nto: (?:\d+ )+",
    f"{CLIENT_PATH}/stats/cpu_migration_from": r"(?:\d+ )+",
    f"{CLIENT_PATH}/stats/cpu_migration_to": r"(?:\d+ )+",
    f"{CLIENT_PATH}/stats/rdma_lat": MS,
    f"{CLIENT_PATH}/stats/latency_us": US.format(r"\d+ \d+"),
    f"{CLIENT_PATH}/stats/errors": "\n".join(
        rf"{kind} \d+" for kind in ("connect", "disconnected", "heartbeat", "timeout", "completion", "post",
                                    "malformed", "stray", "answer", "lost")),
    f"{CLIENT_PATH}/stats/sg_entries": r"entries: 1 2 4 8 16 32 64 128(?:\ncpu\d+:(?: \d+){8})*",
    f"{CLIENT_PATH}/stats/wc_completion": r"\d+ \d+",
    f"{CLIENT_PATH}/stats/rdma": r"\d+(?: \d+){5}",
    **{f"{path}/{name}": text for path in (CLIENT_PATH, SERVER_PATH)
       for name, text in (("hca_name", r"rxe\d"), ("hca_port", r"\d+"), ("src_addr", ADDRESS), ("dst_addr", ADDRESS))},
    f"{SERVER_PATH}/disconnect": USAGE.format("disconnect"),
    f"{SERVER_PATH}/stats/rdma": r"\d+(?: \d+){4}",
    f"{SERVER_PATH}/stats/wc_completion": r"\d+ \d+ \d+",
    f"{SERVER_PATH}/stats/reset_all": RESET_ALL,
    "/sys/class/rnbd-server/ctl/serving": "1",
    "/sys/class/rnbd-server/ctl/instance": "0",
    "/sys/class/rnbd-server/ctl/reservations": "",  # of nobody, which is not even a line
    "/sys/class/rnbd-server/ctl/clear_reservations": "Usage: echo <disk> > clear_reservations",
    "/sys/class/rnbd-client/ctl/map_device": r"Usage: echo (?:.|\n)*sessname=(?:.|\n)*device_path=(?:.|\n)*",
    "/sys/class/rnbd-client/ctl/discover": r"Usage: echo (?:.|\n)*sessname=(?:.|\n)*",
    "/sys/class/rnbd-client/ctl/discovered": r"1 sessname=vm\nend 1 paths",
    f"{DISK}/owner": r"[!-~]*",
    **dict.fromkeys(("/sys/block/rnbd<N>/wwid", f"{DISK}/wwid"), r"[!-~]*"),
    f"{DISK}/unmap_device": r"Usage: echo <normal\|force> > unmap_device",
    f"{DISK}/resize": "Usage: echo <new size in sectors> > resize",
    f"{DISK}/remap_device": "Usage: echo <1> > remap_device",
    f"{DISK}/mapping_path": "/dev/nullb7",
    f"{DISK}/session": "vm",
    f"{DISK}/access_mode": "ro|rw|migration|shared",
    f"{DISK}/nr_poll_queues": r"\d+",
    f"{DISK}/state": "init|open|closed|unmapped",
    f"{DISK}/no_path_timeout": r"-1|\d+",
    f"{DISK}/waiting_requests": r"\d+",
    f"{DISK}/oldest_request_ms": r"\d+",
    f"{DISK}/slow": "0|1",
    f"{DISK}/stats/requests": "\n".join(rf"{kind} \d+" for kind in ("errors", "requeues", "retries", "waits")),
    f"{DISK}/stats/latency_us": US.format(r"\d+ \d+ \d+"),
    f"{DISK}/stats/reset_all": RESET_ALL,
    f"{EXPORT}/sessions/<session>/access_mode": "ro|rw|migration|shared",
    f"{EXPORT}/sessions/<session>/read_only": "0|1",
    f"{EXPORT}/sessions/<session>/mapping_path": "/dev/nullb7",
    f"{EXPORT}/sessions/<session>/requests": "\n".join(
        rf"{kind} \d+" for kind in ("reads", "read_bytes", "writes", "written_bytes", "flushes", "discards",
                                    "secure_erases", "write_zeroes", "errors")),
    f"{EXPORT}/sessions/<session>/force_close": USAGE.format("force_close"),
    **{f"/sys/kernel/debug/rtrs-{side}/<session>/<src@dst>/wr": "\n".join(rf"{name} \d+" for name in WR)
       for side in ("client", "server")},
    REFUSALS: r"[a-z_]+ \d+(?:\n[a-z_]+ \d+)*",
}

MODES = {"Read only, by root": "400", "Read only": "444", "Read and write": "644", "Write only": "200"}


def documented() -> dict[str, str]:
    """Each entry, and the mode that its description promises; empty for a directory or a link."""
    found: dict[str, str] = {}
    for file in sorted(DOCUMENTS.iterdir()):
        text = file.read_text(encoding="utf-8")
        for block in re.split(r"\n(?=What:\s)(?<!\nWhat)", text):
            names = re.findall(r"^What:\s+(\S+)$", block, re.MULTILINE)
            said = re.search(rf"^Description:\n\s+({'|'.join(MODES)})?", block, re.MULTILINE)
            if not said:  # several names have one description: the last one carries it
                pending = names
                found.update(dict.fromkeys(pending, "?"))
                continue
            mode = MODES.get(said[1] or "", "")
            for name in [*[n for n, m in found.items() if m == "?"], *names]:
                found[name] = mode
    return {name: mode for name, mode in found.items() if name.startswith(COVERED)}


def entries(machine: Machine, folders: list[str]) -> dict[str, tuple[str, str, str]]:
    """All below some folders: kind (f, d, l), mode, and what a file prints."""
    script = (f"for e in $(find {' '.join(folders)} ! -path '*/power/*' ! -path '*/power' ! -name uevent); do\n"
              "if [ -L \"$e\" ]; then k=l; elif [ -d \"$e\" ]; then k=d; else k=f; fi\n"
              "t=\n[ $k = f ] && t=$(base64 -w0 \"$e\")\n"
              "echo \"$k $(stat -c %a \"$e\") $e $t\"\ndone")
    found = {}
    for line in machine.run(script, 240).splitlines():
        kind, mode, path, *text = line.split(" ")
        found[path] = (kind, mode, base64.b64decode(text[0]).decode() if text and text[0] else "")
    return found


def general(path: str, lab: Lab, disk: str, name: str) -> str:
    """The name that the documents have for a path."""
    path = path.replace("/sys/devices/virtual/", "/sys/class/")
    path = path.replace(f"/{disk.replace('/', '!')}@vm", "/<device_path>@<session>")
    path = path.replace(f"/{folder(lab, 0).rpartition('/')[2]}", "/<src@dst>")
    path = re.sub(r"(?<=/)vm(?=/|$)", "<session>", path)
    path = path.replace(f"/block/{name}/", "/block/rnbd<N>/")
    return path.replace(f"/ctl/devices/{disk.removeprefix('/dev/')}", "/ctl/devices/<device>")


def run(lab: Lab) -> None:
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    name = rnbd.map_device(lab, disk)
    rnbd.write(lab.client, f"{rnbd.CTL}/discover", "sessname=vm")
    found = {**entries(lab.client, ["/sys/devices/virtual/rtrs-client", "/sys/devices/virtual/rnbd-client",
                                    f"/sys/block/{name}/rnbd/", f"/sys/block/{name}/wwid",
                                    "/sys/kernel/debug/rtrs-client"]),
             **entries(lab.server, ["/sys/devices/virtual/rtrs-server", "/sys/devices/virtual/rnbd-server",
                                    "/sys/kernel/debug/rtrs-server"])}
    real = {general(path, lab, disk, name).rstrip("/"): what for path, what in found.items()
            if not KERNELS_OWN.search(path)}
    said = {path.rstrip("/"): mode for path, mode in documented().items()}
    bad = []
    for path, (kind, mode, text) in sorted(real.items()):
        if kind != "d" and path not in said:
            bad.append(f"not documented: {path}")
        if kind != "f":
            continue
        if path in said and said[path] != mode:
            bad.append(f"{path}: mode {mode}, documented as {said[path] or 'no file'}")
        if path not in FORMATS:
            bad.append(f"{path}: no format is known for {text!r}")
        elif not re.fullmatch(rf"(?:{FORMATS[path]})\n" if FORMATS[path] else "", text):
            bad.append(f"{path}: prints {text!r}, not {FORMATS[path]!r}")
    bad += [f"documented, but not there: {path}" for path in sorted(said) if path not in real]
    bad += [f"has a format, but is not there: {path}" for path in sorted(FORMATS) if path not in real]
    text = (DOCUMENTS / "debugfs-rtrs").read_text(encoding="utf-8")
    bad += [f"{REFUSALS}: {kind} is not documented" for kind in re.findall(r"^\w+", real[REFUSALS][2], re.MULTILINE)
            if not re.search(rf"^\t\t{kind}$", text, re.MULTILINE)]
    rnbd.check(len(real) > 60, f"only {len(real)} entries were found")
    rnbd.check(not bad, "\n".join(bad))
    rnbd.unmap(lab, name)
