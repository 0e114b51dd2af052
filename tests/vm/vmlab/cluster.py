# SPDX-License-Identifier: GPL-2.0
"""A cluster of machines of one kind under Debian's Corosync, Pacemaker and sbd.

No systemd starts the daemons there: this does.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import debian, programs, rnbd
from .admin import Admin
from .guide import Guide
from .lab import Lab
from .machine import Machine

PACKAGES = ["pacemaker", "pacemaker-cli-utils", "corosync", "sbd", "pcs"]
FENCE = {debian.TRIXIE.name: "fence-agents-sbd"}  # an agent for each device, which Debian 12 has in one package
SBD_WWID = "LVM-sbd"
NIC = 1  # the network of the cluster; the disks are on the other one

# Of /srv, the file system of a service: says what is on the disk for good.
WRITER = """cd /srv
n=$(tail -n 1 log 2>/dev/null || :)
while [ ! -e /share/enough ] && n=$((n + 1)); do
    echo $n >>log
    sync log
    echo $n >/share/new
    mv /share/new /share/acknowledged
    sleep 0.05
done"""

# Installed systems have these from the maintainer's scripts.
PREPARE = r"""
grep -q ^hacluster /etc/passwd || {
    echo hacluster:x:189:189::/var/lib/pacemaker:/usr/sbin/nologin >>/etc/passwd
    echo haclient:x:189: >>/etc/group
}
mkdir -p /etc/corosync /etc/pacemaker /etc/default /var/log/pacemaker /var/log/cluster \
    /var/lib/corosync /var/lib/pacemaker/cib /var/lib/pacemaker/pengine /var/lib/pacemaker/blackbox \
    /var/lib/pacemaker/cores /run/resource-agents /run/crm /var/lib/pcsd /var/log/pcsd
mkdir -p /etc/alternatives
ln -sf /usr/bin/which.debianutils /etc/alternatives/which
# Agents of Debian 13 are written for the one on which they depend there.
awk=/usr/bin/mawk
[ ! -x /usr/bin/gawk ] || awk=/usr/bin/gawk
ln -sf $awk /etc/alternatives/awk
chown -R hacluster:haclient /var/lib/pacemaker /var/log/pacemaker /run/crm
"""


def corosync(nodes: list[Machine]) -> str:
    """Its configuration, as `pcs cluster setup` writes it; an emulated machine is late now and then."""
    lines = "".join(f"node {{\nring0_addr: {n.address(NIC)}\nname: {n.name}\nnodeid: {n.spec.host}\n}}\n"
                    for n in nodes)
    return ("totem {\nversion: 2\ncluster_name: disks\ntransport: knet\ncrypto_cipher: none\ncrypto_hash: none\n"
            f"token: 10000\n}}\nnodelist {{\n{lines}}}\n"
            "quorum {\nprovider: corosync_votequorum\ntwo_node: 1\n}\n"
            "logging {\nto_syslog: no\nto_logfile: yes\nlogfile: /var/log/corosync.log\n}\n")


def prepare(lab: Lab, machine: Machine, more: Sequence[str] = ()) -> None:
    """The programs, also of `more` packages, and what the packages' scripts do."""
    programs.install(lab, machine, [*PACKAGES, FENCE.get(debian.codename(), "fence-agents"), *more])
    machine.run(PREPARE, 120)


def configure(admin: Admin, *lines: str) -> None:
    admin.configure("\n".join(lines) + "\n")
    admin.run("check")
    admin.run("apply", limit=120)


def places(lab: Lab) -> dict[str, str]:
    """What stands for words of the guide's chapter on Pacemaker."""
    return {"rnbd-WWID": f"rnbd-dm.{SBD_WWID}", "/dev/vg0/sbd": "/dev/mapper/sbd", "192.0.2.10": lab.server.address()}


def serve(lab: Lab, guide: Guide, *lines: str) -> None:
    """The server has sbd's disk as that chapter has it, and the exports of these lines."""
    rnbd.named_disk(lab.server, rnbd.null_disk(lab.server, "nullb7", megabytes=64), "sbd", SBD_WWID)
    rnbd.load_server(lab)
    configure(Admin(lab.server), *lines, *guide.block("On the server an export"))


def equip(node: Machine, guide: Guide) -> None:
    """What one that is prepared has before its daemons start, as that chapter has it."""
    node.run("modprobe rnbd_client")
    configure(Admin(node, "/usr/sbin/rnbdadm"),
              *(line.replace("node1", node.name) for line in guide.block("On each machine of the cluster")))
    node.run("udevadm settle")
    rnbd.equal(node.run("rnbdadm list devices -o csv --no-header -c wwid").strip(), f"dm.{SBD_WWID}", "wwid")
    node.run("cat >/etc/default/sbd <<'END'\n" + "\n".join(guide.block("and in `/etc/default/sbd`")) + "\nEND")


def start_first(nodes: list[Machine], guide: Guide) -> None:
    """The first start of machines that are equipped."""
    create, enable = guide.block("Once, and then on each machine")
    nodes[0].run(create)
    rnbd.equal(enable, "systemctl enable sbd", "what join() does")
    start(nodes)


def start(nodes: list[Machine]) -> None:
    """All machines, until each sees all of them."""
    for node in nodes:
        join(node, nodes)
    for node in nodes:
        rnbd.wait_until(node, f"[ $(crm_mon -1 -n | grep -c '^ *. Node.*online') = {len(nodes)} ]", 300,
                        "all machines are online")


def join(node: Machine, nodes: list[Machine]) -> None:
    """Start Corosync, sbd and Pacemaker of one machine of these. sbd gives up its start if a read of its disk takes
    longer than three seconds, or nothing is seen to be done within six. Both happen when this host is busy with others'
    machines: it has three tries."""
    rnbd.write(node, "/etc/corosync/corosync.conf", corosync(nodes))
    node.run("pgrep -f 'busybox syslogd' >/dev/null || /bb/busybox syslogd -O /var/log/syslog\n"
             "modprobe softdog\ncorosync\nset -a; . /etc/default/sbd; set +a\n"
             "for try in 1 2 3; do\n"
             "    sbd -I 20 -p /run/sbd.pid watch && break\n"
             "    [ $try -lt 3 ] || { tail -n 20 /var/log/syslog >&2; exit 1; }\n"
             "done\n"
             "setsid pacemakerd >/var/log/pacemaker/out 2>&1 </dev/null &", 120)


def away(lab: Lab, seconds: int) -> None:
    """All machines lose the disks, sbd's too, and have them again; the network of the cluster is another one."""
    lab.server.set_link(0, False)
    lab.server.run(f"sleep {seconds}", seconds + 60)
    lab.server.set_link(0, True)


def was_reset(machine: Machine, other: Machine, limit: float) -> None:
    """Within seconds of the other one's clock."""
    seconds = 0
    while machine.alive and seconds < limit:
        other.run("sleep 1")
        seconds += 1
    rnbd.check(not machine.alive, f"{machine.name} was not reset within {limit:.0f} s")
    print(f"# {machine.name} was reset after {seconds} s of the other one's clock", flush=True)
    machine.kill()


def stop(node: Machine) -> None:
    """In this order; Pacemaker stops its resources. Without its watchdog's owner a machine would go down."""
    node.run("""pkill -TERM -x pacemakerd
while pgrep -x pacemakerd; do sleep 0.5; done
sbd_pid=$(cat /run/sbd.pid)
kill "$sbd_pid"
while [ -e "/proc/$sbd_pid" ]; do sleep 0.5; done
pkill -x corosync
while pgrep -x corosync; do sleep 0.5; done
udevadm control --exit""", 180)


def active(nodes: list[Machine], resource: str, limit: float) -> tuple[Machine, float]:
    """The one of these machines on which a resource has started, and the seconds that this took."""
    look = f"crm_mon -1 | sed -n 's/.*{resource}.*Started //p' >/tmp/active"
    took = rnbd.wait_until(nodes[0], f"{look}; read -r active </tmp/active; " +
                           " || ".join(f'[ "$active" = {n.name} ]' for n in nodes), limit,
                           f"{resource} runs on {' or '.join(n.name for n in nodes)}")
    name = rnbd.read(nodes[0], "/tmp/active").strip()
    return next(n for n in nodes if n.name == name), took


def written(node: Machine, acknowledged: int) -> int:
    """All that a writer was told to be on the disk is there, in its order; how much that is."""
    numbers = [int(line) for line in rnbd.read(node, "/srv/log").split()]
    rnbd.equal(numbers, list(range(1, len(numbers) + 1)), "what was written")
    rnbd.check(len(numbers) >= acknowledged, f"{acknowledged} were acknowledged, {len(numbers)} are there")
    return len(numbers)


def story(node: Machine) -> str:
    """What the cluster says of itself, for a failure."""
    return node.try_run("crm_mon -1 -rfA\n"
                        "grep -Ei 'error|warning|result of' /var/log/pacemaker/pacemaker.log | tail -n 20", 120).out
