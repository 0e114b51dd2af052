# SPDX-License-Identifier: GPL-2.0
"""A flood of clients without a key (protocol J.3): the server takes so many of them as rule 5 says, the rest is refused
before anything is made for it, and an honest client beside them goes on, comes back and comes anew."""

from vmlab import make, rnbd
from vmlab.keys import add_key, fresh_secret
from vmlab.lab import Lab
from vmlab.multipath import back, connects, end_load, folder, gentle_load, more_addresses

OURS = ("client", "server")
KINDS = ("stock", "debug", "kcsan")
# What they send for a proof.
VARIANTS = {**{how: {"how": how} for how in ("wrong", "none", "early", "long", "vanish")},
            "together": {"how": "wrong", "together": 8},
            "many": {"how": "wrong", "together": 4, "addresses": 64}}
FLOODED = 1  # cable of the flood: the limit is by address, and theirs is not the honest one's
AT_ONCE, SECONDS_EACH = 16, 2  # of an address
STRANGERS_AT_ONCE, STRANGERS_SECONDS_EACH = 128, 0.1  # of all that have proven nothing
REFUSALS = "/sys/kernel/debug/rtrs-server/refusals"
RATE = 25  # a second, at most
WAIT = 60  # seconds until it is more than they get together


def run(lab: Lab, how: str, together: int = 1, addresses: int = 0) -> None:
    program = lab.client.put(make.programs() / "rtrs-flood")
    disk = rnbd.null_disk(lab.server)
    rnbd.load_server(lab, sess_queue_depth=60)
    rnbd.load_client(lab)
    lab.client.run("modprobe -a ib_uverbs rdma_ucm")
    secret = fresh_secret()
    for machine in (lab.client, lab.server):
        add_key(machine, "honest", 1, secret)
    name = rnbd.map_device(lab, disk, key="honest", auth="required", no_path_timeout=-1)
    with more_addresses(lab.client, FLOODED, addresses) as those:
        load = gentle_load(lab, name, 600)
        before = connects(lab, 0)

        begin = uptime(lab)
        flood = lab.client.spawn(f"echo $$ >/tmp/flood.pid\nIBV_DRIVERS=rxe exec {program} --how {how} --rate {RATE} "
                                 f"--together {together} --server {lab.server.address(FLOODED)} "
                                 + " ".join(f"--from {address}" for address in those), 300)
        refused = f"[ $(grep -w proof_limit {REFUSALS} | cut -d' ' -f2) -gt 20 ]"
        if addresses:
            # On a busy host they do not ask for more than they get together.
            lab.server.run(f"i=0\nwhile ! {refused} && [ $i -lt {WAIT * 5} ]; do sleep 0.2; i=$((i + 1)); done",
                           3 * WAIT)
        else:
            rnbd.wait_until(lab.server, refused, 120, "the flood is refused")
        rnbd.equal(connects(lab, 0), before, "reconnects of the honest client")
        # Whoever has a key comes back, and comes anew.
        lab.client.run(f"echo 1 >'{folder(lab, 0)}/disconnect'", 60)
        asked = lab.client.uptime()
        back(lab, 0)
        print(f"# back after {lab.client.uptime() - asked:.1f} s", flush=True)
        rnbd.equal(rnbd.read(lab.client, f"'{folder(lab, 0)}/proven'"), "honest:1", "the path that is back")
        asked = lab.client.uptime()
        other = rnbd.map_device(lab, disk, "other", key="honest", auth="required", access_mode="ro")
        print(f"# anew after {lab.client.uptime() - asked:.1f} s", flush=True)
        lab.client.run(f"dd if=/dev/{other} of=/dev/null bs=64k count=16 iflag=direct 2>/dev/null\nsleep 10")
        rnbd.unmap(lab, other)
        lab.client.run("kill -TERM $(cat /tmp/flood.pid)")
        result = lab.client.wait(flood)
        seconds = uptime(lab) - begin
    rnbd.check(result.ok, f"the flood ended with {result.rc}: {result.out}")

    seen = make.counts(result.out)
    at_once, each = (STRANGERS_AT_ONCE, STRANGERS_SECONDS_EACH) if addresses else (AT_ONCE, SECONDS_EACH)
    most = at_once + seconds / each + 1
    rnbd.check(seen["challenged"] <= most, f"{seen['challenged']} got to prove something in {seconds:.0f} s")
    if seen["refused"]:
        rnbd.check(seen["challenged"] >= at_once, f"somebody was refused too early: {seen}")
    # What strangers get together is about as much as one machine can ask for here, so that no more is certain.
    rnbd.check(addresses or seen["refused"] > seen["challenged"], f"this was no flood: {seen}")
    rnbd.equal(seen["failed"], 0, f"attempts without an answer: {result.out}")
    end_load(lab, load)
    rnbd.unmap(lab, name)


def uptime(lab: Lab) -> float:
    return float(rnbd.read(lab.server, "/proc/uptime").split()[0])
