# SPDX-License-Identifier: GPL-2.0
"""A cluster of client machines under Debian's Corosync, Pacemaker and sbd.

Their programs are not installed on the host, whose services would start: they come from Debian's packages into the
cache, and lie in the machines over what the host has in /usr, with this project's program, agents and rules for udev.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from . import debian, make, rnbd
from .admin import PROGRAM
from .cache import Cache, digest
from .lab import Lab
from .machine import Machine

PACKAGES = ["pacemaker", "pacemaker-cli-utils", "corosync", "sbd", "pcs"]
FENCE = {debian.TRIXIE.name: "fence-agents-sbd"}  # an agent for each device, which Debian 12 has in one package
# What pcs's daemon needs, which is not used: there is one administrator here.
UNUSED = ("ruby", "libruby", "puma", "python3-boto", "python3-s3", "python3-suds")
NIC = 1  # the network of the cluster; the disks are on the other one

# Installed systems have these from the maintainer's scripts.
PREPARE = r"""
grep -q ^hacluster /etc/passwd || {
    echo hacluster:x:189:189::/var/lib/pacemaker:/usr/sbin/nologin >>/etc/passwd
    echo haclient:x:189: >>/etc/group
}
mkdir -p /run/programs /run/modules /etc/corosync /etc/pacemaker /etc/default /var/log/pacemaker /var/log/cluster \
    /var/lib/corosync /var/lib/pacemaker/cib /var/lib/pacemaker/pengine /var/lib/pacemaker/blackbox \
    /var/lib/pacemaker/cores /run/resource-agents /run/crm /run/lock /var/lib/pcsd /var/log/pcsd
ln -sfn /run /var/run
mkdir -p /etc/alternatives
ln -sf /usr/bin/which.debianutils /etc/alternatives/which
# Agents of Debian 13 are written for the one on which they depend there.
awk=/usr/bin/mawk
[ ! -x /usr/bin/gawk ] || awk=/usr/bin/gawk
ln -sf $awk /etc/alternatives/awk
tar -xf /share/programs.tar -C /run/programs
mkdir -p /run/programs/usr/lib/ocf/resource.d/rnbd /etc/udev/rules.d
cp /share/rnbd-disk /share/rnbd-export /run/programs/usr/lib/ocf/resource.d/rnbd
cp /share/rnbdadm /run/programs/usr/sbin
cp /share/60-rnbd.rules /etc/udev/rules.d
chown -R hacluster:haclient /var/lib/pacemaker /var/log/pacemaker /run/crm
mount --bind /usr/lib/modules /run/modules
mount -t overlay -o lowerdir=/run/programs/usr:/usr usr /usr
mount --bind /run/modules /usr/lib/modules
/usr/lib/systemd/systemd-udevd --daemon
"""


def programs(cache: Cache) -> Path:
    """An archive of everything that Debian's packages bring; `usr` is its only folder."""
    wanted = [*PACKAGES, FENCE.get(debian.codename(), "fence-agents")]
    install = ["apt-get", "-y", "-q", "--no-install-recommends", "-o", "APT::Sandbox::User=root",
               "-o", "Debug::NoLocking=1"]
    # What is installed on the host is there already.
    missing = [line.split()[1] for line in debian.output(*install, "install", "--print-uris", *wanted).splitlines()
               if line.startswith("'")]

    def build(folder: Path) -> None:
        debs, tree = folder / "debs", folder / "tree"
        (debs / "partial").mkdir(parents=True)
        (tree / "usr").mkdir(parents=True)
        done = subprocess.run([*install, "-o", f"Dir::Cache::archives={debs}", "install", "--download-only", *wanted],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise debian.KernelError(f"can't download {' '.join(wanted)}:\n{done.stdout[-1000:]}")
        for deb in sorted(debs.glob("*.deb")):
            if not deb.name.startswith(UNUSED):
                subprocess.run(["dpkg-deb", "-x", str(deb), str(tree)], check=True)
        if (tree / "lib").is_dir():  # in a Debian that has packages for a /lib of its own
            subprocess.run(["cp", "-r", str(tree / "lib/."), str(tree / "usr/lib")], check=True)
        subprocess.run(["tar", "-C", str(tree), "--exclude=usr/share/doc", "--exclude=usr/share/man",
                        "--exclude=usr/share/locale", "-cf", str(folder / "programs.tar"), "usr"], check=True)
        for rest in (debs, tree):
            subprocess.run(["rm", "-r", str(rest)], check=True)

    return cache.entry("cluster", ["1", digest(sorted(missing))], build) / "programs.tar"


def corosync(nodes: list[Machine]) -> str:
    """Its configuration, as `pcs cluster setup` writes it; an emulated machine is late now and then."""
    lines = "".join(f"node {{\nring0_addr: {n.address(NIC)}\nname: {n.name}\nnodeid: {n.spec.host}\n}}\n"
                    for n in nodes)
    return ("totem {\nversion: 2\ncluster_name: disks\ntransport: knet\ncrypto_cipher: none\ncrypto_hash: none\n"
            f"token: 10000\n}}\nnodelist {{\n{lines}}}\n"
            "quorum {\nprovider: corosync_votequorum\ntwo_node: 1\n}\n"
            "logging {\nto_syslog: no\nto_logfile: yes\nlogfile: /var/log/corosync.log\n}\n")


def prepare(lab: Lab, machine: Machine) -> None:
    """The programs, and udev, which knows our disks."""
    top = make.TOP / "packaging"
    for file in (programs(lab.cache), PROGRAM, *(top / "ocf").iterdir(), top / "etc/60-rnbd.rules"):
        machine.put(file)
    machine.run(PREPARE, 120)


def start(nodes: list[Machine]) -> None:
    """Corosync, sbd and Pacemaker of all machines, until each sees all of them."""
    for node in nodes:
        rnbd.write(node, "/etc/corosync/corosync.conf", corosync(nodes))
        node.run("modprobe softdog\ncorosync\nset -a; . /etc/default/sbd; set +a\nsbd -p /run/sbd.pid watch\n"
                 "setsid pacemakerd >/var/log/pacemaker/out 2>&1 </dev/null &", 60)
    for node in nodes:
        rnbd.wait_until(node, f"[ $(crm_mon -1 -n | grep -c '^ *. Node.*online') = {len(nodes)} ]", 300,
                        "all machines are online")


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


def story(node: Machine) -> str:
    """What the cluster says of itself, for a failure."""
    return node.try_run("crm_mon -1 -rfA\n"
                        "grep -Ei 'error|warning|result of' /var/log/pacemaker/pacemaker.log | tail -n 20", 120).out
