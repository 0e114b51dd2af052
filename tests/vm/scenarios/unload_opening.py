# SPDX-License-Identifier: GPL-2.0
"""The client's module is removed while maps wait for silent servers: they end, and nobody waits for a timeout."""

from vmlab import make, rnbd
from vmlab.lab import Lab

OURS = ("client",)
# From the first wait of a map to the last one.
SILENT = ("silent-connect-0", "silent-connect-1", "silent-info", "silent-sess-info", "silent-open")
SECONDS = 12  # the shortest of their timeouts is 30


def run(lab: Lab) -> None:
    lie = lab.server.put(make.programs() / "rtrs-lie")
    lab.server.run("modprobe -a ib_uverbs rdma_ucm")
    server = lab.server.spawn(f"echo $$ >/tmp/lie.pid\nIBV_DRIVERS=rxe exec {lie} >/tmp/lie.out 2>&1", 300)
    rnbd.wait_until(lab.server, "grep -q ready /tmp/lie.out", 20, "the lying server's start")
    ports = dict(line.split("\t")[:2] for line in lab.server.run(f"{lie} --list").splitlines())
    for _ in range(2):
        rnbd.load_client(lab)
        texts = [rnbd.map_text(lab, "/dev/lie", session=name, dest_port=ports[name]) for name in SILENT]
        # The last one shares a session that somebody else opens.
        texts.append(rnbd.map_text(lab, "/dev/other", session=SILENT[0], dest_port=ports[SILENT[0]]))
        # And one waits for an address, while neighbours come and go.
        texts.append(f"sessname=nobody path=ip:{lab.client.address()}@ip:10.10.0.77 device_path=/dev/nobody")
        maps = [lab.client.spawn(f"! echo '{text}' >{rnbd.CTL}/map_device", 120) for text in texts]
        rnbd.wait_until(lab.client, f"[ $(ls /sys/class/rtrs-client | wc -w) -gt {len(SILENT)} ]", 30, "the sessions")
        neighbour = f"10.10.0.88 dev {lab.client.netdev()}"
        # By one process: on user-mode Linux two hundred would take minutes.
        lines = [f"neigh replace {neighbour} lladdr 52:54:00:00:00:{10 + n % 80} nud reachable" for n in range(200)]
        lab.client.run("ip -batch - <<'END'\n" + "\n".join([*lines, f"neigh del {neighbour}"]) + "\nEND\nsleep 2")
        for job in maps:
            rnbd.check(job.running, "a map ended although its server is silent")
        seconds = rnbd.timed(lab.client, "rmmod rnbd_client", 120)
        rnbd.check(seconds < SECONDS, f"removing the module took {seconds} s")
        for job in maps:
            result = lab.client.wait(job)
            rnbd.check(result.ok, f"a map to a silent server ended with {result.rc}: {result.out[-200:]}")
        lab.client.run("rmmod rtrs_client rtrs_core", 60)
    lab.server.run("kill -TERM $(cat /tmp/lie.pid)")
    lab.server.wait(server)
