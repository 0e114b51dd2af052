# SPDX-License-Identifier: GPL-2.0
"""Connection requests in the name of other hosts, whose sender reads no answer (protocol J.3): neither what they
announce nor whom they name keeps a client with a key from coming back, and from coming anew, within two seconds."""

from vmlab import make, rnbd
from vmlab.keys import add_key, fresh_secret
from vmlab.lab import Lab
from vmlab.multipath import folder, more_addresses

OURS = ("client", "server")
KINDS = ("stock", "debug", "kcsan")
VARIANTS = {
    # Of several hosts, each path with as many connections as one may have.
    "announced": {"named": False, "known": True, "there": True},
    # The honest client's own address.
    "named": {"named": True, "known": True, "there": True},
    # The client has proven nothing since the server began, so that it is a stranger among strangers.
    "unknown": {"named": False, "known": False, "there": True},
    # Hosts that do not answer ARP: soft-RoCE would keep what is sent to them, and nothing else would go out.
    "silent": {"named": False, "known": True, "there": False},
}
FLOODED = 1  # cable of those that come in the name of hosts that are there; of others the client's own
RATE = 25  # a second
PATHS = 170  # before the client comes: more than the server takes at once, of one address or in all
PROMPT = 2  # seconds, of an idle host
MEMORY = 96  # MiB: what so many paths take is more than strangers may have of it
PARAMETER = "/sys/module/rtrs_server/parameters/max_memory_mb"


def refused(lab: Lab, kind: str) -> int:
    lines = rnbd.read(lab.server, "/sys/kernel/debug/rtrs-server/refusals").splitlines()
    return int(dict(line.split() for line in lines).get(kind, 0))


def await_flood(lab: Lab, cable: int, there: bool) -> None:
    """Until the server has as many paths of it as it takes, or so many requests have come. On a busy host fewer come in
    the time that one is kept."""
    if not there:
        lab.server.run(f"sleep {PATHS / RATE}")
        return
    made = f"$(rdma resource show qp | grep rxe{cable} | grep -c 'type RC')"
    lab.server.run(f"i=0\nwhile [ {made} -lt {PATHS} ] && [ $i -lt {PATHS * 2 // RATE} ]; do sleep 1; i=$((i + 1))\n"
                   "done", PATHS)
    rnbd.check(int(lab.server.run(f"echo {made}")) > 20, "the server answers none of these")


def run(lab: Lab, named: bool, known: bool, there: bool) -> None:
    program = lab.client.put(make.programs() / "rtrs-forge")
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab, sess_queue_depth=60)
    rnbd.load_client(lab)
    lab.server.run(f"[ ! -e {PARAMETER} ] || echo {MEMORY} >{PARAMETER}")
    secret = fresh_secret()
    for machine in (lab.client, lab.server):
        add_key(machine, "honest", 1, secret)
    if known:
        name = rnbd.map_device(lab, disk, key="honest", auth="required", no_path_timeout=-1)
    cable = FLOODED if there and not named else 0
    with more_addresses(lab.client, cable, 6 if there else 0) as others:
        others = others or [f"10.10.{cable}.{100 + n}" for n in range(6)]
        those = [lab.client.address(0)] if named else others
        flood = lab.client.spawn(f"echo $$ >/tmp/forge.pid\nexec {program} --server {lab.server.address(cable)} "
                                 f"--from {others[0] if there else lab.client.address(cable)} --connections 1025 "
                                 f"--rate {RATE} " + " ".join(f"--says {address}" for address in those), 300)
        await_flood(lab, cable, there)

        if known:
            lab.client.run(f"echo 1 >'{folder(lab, 0)}/disconnect'", 60)
            begin = lab.client.uptime()
            lab.client.run(f"echo 1 >'{folder(lab, 0)}/reconnect'", PROMPT)
            print(f"# back after {lab.client.uptime() - begin:.1f} s", flush=True)
            rnbd.equal(rnbd.read(lab.client, f"'{folder(lab, 0)}/proven'"), "honest:1", "the path that is back")
        begin = lab.client.uptime()
        other = rnbd.map_device(lab, disk, "other", limit=PROMPT, key="honest", auth="required", access_mode="ro")
        print(f"# anew after {lab.client.uptime() - begin:.1f} s", flush=True)
        lab.client.run(f"dd if=/dev/{other} of=/dev/null bs=64k count=16 iflag=direct 2>/dev/null")
        lab.client.run("kill -TERM $(cat /tmp/forge.pid)")
        result = lab.client.wait(flood)
        rnbd.check(result.ok, f"the flood ended with {result.rc}: {result.out}")
        print(f"# {result.out.strip()}", flush=True)
        if not there:
            rnbd.check(refused(lab, "neighbour_unknown") > 20,
                       "the server does not say that it has left them unanswered")
    rnbd.unmap(lab, other)
    if known:
        rnbd.unmap(lab, name)
