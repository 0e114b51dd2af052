# SPDX-License-Identifier: GPL-2.0
"""What one client that proves nothing can make a server of 1 GiB take, with 600 connections and no INFO: its share, and
nobody else meets more than that. What the server believes a connection costs is what it costs."""

from vmlab import make, rnbd
from vmlab.lab import Lab

OURS = ("client", "server")
KINDS = ("stock",)
FLOODED = 1
CONNECTIONS = 600
SHARE = 256  # MiB; half-open, of a machine of 1 GiB (rtrs/pure/memory_budget.hh)
SLACK = 48  # for what the machine does otherwise
EACH = 1648  # KiB, as estimated for 512 requests on soft-RoCE, without capsules


def available(lab: Lab) -> int:
    """MiB."""
    return int(lab.server.run("sed -n 's/MemAvailable: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo")) >> 10


def pairs(lab: Lab) -> int:
    return int(lab.server.run("rdma resource show qp | grep rxe1 | grep -c 'type RC' || :"))


def run(lab: Lab) -> None:
    program = lab.client.put(make.programs() / "rtrs-forge")
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    before = available(lab)
    ends = f"--server {lab.server.address(FLOODED)} --from {lab.client.address(FLOODED)}"
    result = lab.client.try_run(f"{program} {ends} --plain --connections {CONNECTIONS + 1} --make {CONNECTIONS + 1} "
                                "--count 1 --rate 100", 60)
    rnbd.check(result.ok, f"the flood ended with {result.rc}: {result.out}")
    less, made = before - available(lab), pairs(lab)
    print(f"# {made} of {CONNECTIONS + 1} connections, {less} MiB: {1024 * less // max(made, 1)} KiB each", flush=True)
    rnbd.check(made > 20, f"the server has made {made} connections only")
    rnbd.check(made <= SHARE * 1024 // EACH + 1, f"{made} connections without INFO")
    rnbd.check(less <= SHARE + SLACK, f"{less} MiB for a client that has proven nothing")
    rnbd.check(less <= made * EACH // 1024 + SLACK, f"{made} connections take {less} MiB, which is more than estimated")
    refusals = rnbd.read(lab.server, "/sys/kernel/debug/rtrs-server/refusals")
    rnbd.check(int(dict(line.split() for line in refusals.splitlines())["connect_quota"]) > 0, "nothing was refused")
    rnbd.check("a limit is reached: " in lab.server.log(), "the log does not say why")
    # Another host is served meanwhile.
    name = rnbd.map_device(lab, disk)
    lab.client.run(f"dd if=/dev/{name} of=/dev/null bs=64k count=16 iflag=direct 2>/dev/null")
    rnbd.unmap(lab, name)
