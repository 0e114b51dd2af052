# SPDX-License-Identifier: GPL-2.0
"""Packages alone: a disk and its key are there after reboots and upgrades of either side, and nothing after removal.

[reboots]: either side restarts, the server under writes. [upgrades]: either side is upgraded, as the guide says.
[kernels]: a new kernel comes and is booted, the old one goes; each has its modules, or there are words.
"""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vmlab import kernel, kernels, rnbd
from vmlab.admin import Admin
from vmlab.guide import chapter
from vmlab.installed import PROGRAM, built, install, package
from vmlab.kernel import Kernel
from vmlab.lab import ROLES, Lab
from vmlab.machine import Machine

SLOW = True
OURS = ("client", "server")
KINDS = ("stock",)
INSTALLED = True
VARIANTS = {what: {"what": what} for what in ("reboots", "upgrades", "kernels")}
BY_HAND = ("kernels",)  # `make vm-update`: another kernel of Debian's, and its modules

LINK = "/dev/rnbd/by-session/vm/data"
# A disk that lasts and has an identity, as any server has one: here a file under the device mapper.
DISK = """[Unit]
DefaultDependencies=no
After=local-fs.target systemd-tmpfiles-setup-dev.service
Before=rnbd-server.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/sbin/modprobe -a loop dm_mod
ExecStart=/sbin/losetup --direct-io=off /dev/loop7 /root/disk
ExecStart=/sbin/dmsetup create --noudevsync data --uuid TEST-20 --table "0 131072 linear /dev/loop7 0"
ExecStart=/sbin/dmsetup mknodes data
"""


def run(lab: Lab, what: str) -> None:
    new = beside(lab) if what == "kernels" else None
    before = {role: files(lab.machines[role]) for role in ROLES}
    install(lab, ROLES)
    for machine in (lab.server, lab.client):
        found = Admin(machine, PROGRAM).run("doctor", 12)
        rnbd.check("modprobe rnbd_client" in found, f"doctor does not name what is missing: {found}")
    serve(lab)
    mount(lab)
    if what == "reboots":
        reboots(lab)
        lab.client.run("umount /srv\nsystemctl stop rnbd-client.target rnbd@data.service", 120)
        lab.server.run("systemctl stop rnbd-server.service", 120)
        return
    if new:
        kernels_come_and_go(lab, lab.kernels["client"], new)
    else:
        upgrades(lab)
    lab.client.run("sed -i '/rnbd/d' /etc/fstab\numount /srv", 60)
    for role in ("client", "server"):
        removed(lab.machines[role], before[role])


@contextmanager
def writing(lab: Lab) -> Iterator[None]:
    """The client writes, and no write fails. What was written and not flushed, which is so most of the time, is there
    after a restart of the server: a flush may say so. It rests between writes: machines whose CPUs are emulated have
    other work, too."""
    write = "dd if=/dev/zero of=/srv/late bs=64k count=64 oflag=direct conv=fsync,notrunc 2>&1"
    writer = lab.client.spawn(f"while [ ! -e /tmp/stop ]; do {write}; sleep 2; done", 900)
    yield
    lab.client.run("touch /tmp/stop")
    written = lab.client.wait(writer)
    rnbd.check(written.ok, f"a write failed: {written.out[-500:]}")


def reboots(lab: Lab) -> None:
    hooks(lab.client)
    # The folder is that of a package which is not there.
    metrics = "/var/lib/prometheus/node-exporter/rnbd.prom"
    lab.client.run(f"[ ! -e /var/lib/prometheus ]\nsystemctl start rnbd-metrics.service\n"
                   f"grep -q '^rnbd_device_open.* 1$' {metrics}", 60)

    lab.reboot("client", orderly=True)
    there(lab, "after the reboot of the client")

    # Its write waits until the server is back.
    with writing(lab):
        lab.reboot("server", orderly=True)
        there(lab, "after the reboot of the server")
    # The client waited for it, and asked as soon as somebody listened.
    rnbd.equal(rnbd.read(lab.server, f"{rnbd.CONFIGURED}/../denied_unlisted"), "0", "refusals of what is configured")
    heard(lab.client)


def upgrades(lab: Lab) -> None:
    with writing(lab):
        upgrade(lab.server)
        follow(lab.server, "A server.")
        there(lab, "after the upgrade of the server")
    # One path was enough for the disk; no work begins on a network while the other one is out.
    rnbd.wait_until(lab.client, "[ $(grep -lx connected /sys/class/rtrs-client/vm/paths/*/state | wc -l) = 2 ]", 90,
                    "both paths are back")
    follow(lab.client, "A network,", ("client7-store:10.0.1.1", f"vm:{lab.server.address(1)}"))
    upgrade(lab.client)
    follow(lab.client, "A client.", ("/srv/data", "/srv"), ("srv-data.mount", "srv.mount"))
    there(lab, "after the upgrade of the client")


def beside(lab: Lab) -> Kernel:
    """Another kernel for the client, beside its own, as its package installs it: with its modules."""
    new = kernels.find(lab.cache, kernels.newer())
    kernel.install_modules(new.modules, kernel.closure(new.modules, kernel.WANTED), [], lab.client.spec.modules)
    lab.reboot("client", orderly=True)
    return new


def kernels_come_and_go(lab: Lab, old: Kernel, new: Kernel) -> None:
    """Before its headers there are words, then modules, also where they come late; a kernel's modules go with it."""
    images = [f"/boot/vmlinuz-{k.release}" for k in (old, new)]
    lab.client.run(f"touch {' '.join(images)}")
    doctor(lab, "newest", new, "DKMS could not build rnbd .* headers are missing")
    lab.client.run(built(lab, "client", new), 240)
    doctor(lab, "this", old, "updates/dkms, version")
    doctor(lab, "newest", new, "updates/dkms, version")
    boots(lab, new)
    there(lab, "with the new kernel")

    goes(lab, old, new)
    lab.reboot("client", orderly=True)
    there(lab, "without the old kernel")
    doctor(lab, "this", new, "updates/dkms, version")

    # Whoever boots the old one all the same reads why there is no disk, and gets it when DKMS has built again.
    boots(lab, old)
    rnbd.wait_until(lab.client, "[ $(systemctl show -P ActiveState rnbd-client-modules.service) = failed ]", 60,
                    "the unit of the modules fails")
    rnbd.check("rnbd_client not found" in lab.client.run("journalctl -u rnbd-client-modules.service"), "no reason")
    doctor(lab, "this", old, "DKMS could not build rnbd .* headers are missing")
    lab.client.run(built(lab, "client", old), 240)
    lab.client.run("systemctl start rnbd-client.target\nsystemctl start srv.mount", 120)
    there(lab, "with the old kernel again")
    goes(lab, new, old)
    lab.reboot("client", orderly=True)
    there(lab, "without the new kernel")
    lab.client.run(f"rm -f {' '.join(images)}")


def boots(lab: Lab, other: Kernel) -> None:
    """The client, in order, with another kernel."""
    lab.client.power_off()
    lab.replace("client", "", kernel=other)
    rnbd.equal(lab.client.run("uname -r").strip(), other.release, "the kernel that runs")


def doctor(lab: Lab, which: str, of: Kernel, finding: str) -> None:
    """What it says of a kernel's modules; it has to complain all the same, of the section with the mistake."""
    said = Admin(lab.client, PROGRAM).run("doctor", 12)
    rnbd.check(re.search(f"modules for (the )?{which} kernel, {re.escape(of.release)}: {finding}", said),
               f"doctor does not say {finding}: {said}")


def goes(lab: Lab, gone: Kernel, left: Kernel) -> None:
    """A kernel is removed: what Debian's package runs before, and its image."""
    hook = lab.client.put(Path("/etc/kernel/prerm.d/dkms"))
    lab.client.run(f"sh {hook} {gone.release}\nrm -f /boot/vmlinuz-{gone.release}", 120)
    status = lab.client.run("dkms status -m rnbd", 60)
    rnbd.check(gone.release not in status and f"{left.release}, x86_64: installed" in status,
               f"what DKMS has: {status}")


def files(machine: Machine) -> list[str]:
    """What lies on its disk; of the state of dpkg, logs, what depmod makes, and folders of /usr, nothing. Nor the
    database that rpm begins where DKMS asks it."""
    return machine.run("cd / && find installed etc root var boot home -xdev ! -path 'var/log/*' "
                       "! '(' -path 'installed/*' -type d ')' "
                       "! -path 'var/lib/dpkg/*' ! -path 'var/lib/systemd/*' ! -path 'root/.rpmdb*' "
                       " ! -path 'var/cache/*' ! -path 'var/tmp/*' ! -name 'modules.*' "
                       "! -path 'installed/*.work/*' ! -name mok.key ! -name mok.pub | sort", 60).split()


def serve(lab: Lab) -> None:
    text = (f"[export data]\ndevice = /dev/mapper/data\nclient = vm\nkey = vm\naddress = {lab.client.address()}\n"
            f"address = {lab.client.address(1)}\n[export later]\ndevise = /dev/mapper/later\n")
    server = Admin(lab.server, PROGRAM)
    server.configure(text)
    server.run("key generate vm")
    lab.server.run(f"truncate -s 64M /root/disk\ncat >/etc/systemd/system/disk.service <<'END'\n{DISK}END\n"
                   "mkdir -p /etc/systemd/system/rnbd-server.service.requires\n"
                   "ln -s ../disk.service /etc/systemd/system/rnbd-server.service.requires/\n"
                   "systemctl daemon-reload\nsystemctl enable --now rnbd-server.service", 180)
    only = rnbd.read(lab.server, "/sys/module/rnbd_server/parameters/exports_only")
    rnbd.equal(only, "Y", "exports_only, as the unit loads the module")
    exports = server.json("server export list", "exports")
    rnbd.equal([(e["name"], e["enabled"]) for e in exports], [("data", True)], "exports of the server")
    says(lab.server, "rnbd-server.service", "active", "rnbd.conf:8: an export has no key 'devise'")


def mount(lab: Lab) -> None:
    paths = "".join(f"path = {lab.client.address(n)}@{lab.server.address(n)}\n" for n in (0, 1))
    client = Admin(lab.client, PROGRAM)
    key = shlex.quote(lab.server.run("cat /etc/rnbd/keys.d/vm.1").strip())
    lab.client.run(f"umask 077\nprintf '%s\\n' {key} >/root/vm.1")
    client.run("key add /root/vm.1")
    lab.client.run("rm /root/vm.1")
    client.configure(
        f"[session vm]\nkey = vm\nauth = required\n{paths}[device data]\nsession = vm\ndevice = data\n"
        "no-path-timeout = 300\n[device later]\nsesion = vm\ndevice = later\n")
    lab.client.run("systemctl daemon-reload\nsystemctl enable --now rnbd-client.target\n"
                   "systemctl is-active rnbd@data.service", 180)
    says(lab.client, "rnbd@later.service", "failed", "rnbd.conf:11: a device has no key 'sesion'")
    rnbd.wait_until(lab.client, f"[ -b {LINK} ]", 30, "udev makes the link")
    lab.client.run("udevadm settle\nwwid=$(cat /sys/block/rnbd0/wwid)\n[ -b /dev/disk/by-id/rnbd-$wwid ]\n"
                   f"echo ,,L | sfdisk -q {LINK}\nudevadm settle\nmkfs.ext4 -q {LINK}-part1\nmkdir -p /srv\n"
                   "[ -b /dev/disk/by-id/rnbd-$wwid-part1 ]\n"
                   f"echo '{LINK}-part1 /srv ext4 _netdev,nofail 0 0' >>/etc/fstab\n"
                   "systemctl daemon-reload\nmount /srv\necho persistent >/srv/file\nsync", 120)


def hooks(machine: Machine) -> None:
    """A program of the administrator's for each event, and one that does not end by itself."""
    machine.run("cd /etc/rnbd/events.d\n"
                "printf '#!/bin/sh\\necho \"$1 $RNBD_SESSION $RNBD_PATH\" >>/var/lib/rnbd/heard\\n' >10-note\n"
                "printf '#!/bin/sh\\n[ $1 != session-back ] || exec sleep 1000\\n' >20-late\n"
                "chmod 755 10-note 20-late\nsystemctl enable --now rnbd-events.service", 60)


def heard(machine: Machine) -> None:
    """Of what the server's restart did, and the last event comes after the one whose program had to be ended."""
    for event in ("path-lost vm ip:", "session-lost vm", "session-back vm", "path-back vm ip:", "disk-online vm"):
        rnbd.wait_until(machine, f"grep -q '^{event}' /var/lib/rnbd/heard", 90, f"the hook of {event}")
    rnbd.wait_until(machine, "journalctl -u rnbd-events.service | grep -q '20-late: ended after 30 s'", 60,
                    "a program that takes too long is ended")
    machine.run("systemctl disable --now rnbd-events.service\nrm /etc/rnbd/events.d/*")


def says(machine: Machine, unit: str, state: str, mistake: str) -> None:
    """A mistake in one section: the unit's state, and its words in the journal."""
    rnbd.wait_until(machine, f"[ $(systemctl show -P ActiveState {unit}) = {state} ]", 30, f"{unit} is {state}")
    rnbd.wait_until(machine, f'journalctl -u {unit} | grep -qF "{mistake}"', 30, f"{unit} says {mistake}")


def there(lab: Lab, when: str) -> None:
    rnbd.wait_until(lab.client, "echo 3 >/proc/sys/vm/drop_caches && grep -qsx persistent /srv/file && "
                    "grep -qx open /sys/block/rnbd0/rnbd/state", 180, f"the file is there {when}")
    state = lab.client.run("systemctl is-active rnbd@data.service rnbd-client.target srv.mount").split()
    rnbd.equal(state, ["active"] * 3, f"units {when}")
    for machine in (lab.client, lab.server):
        admin = Admin(machine, PROGRAM)
        proven = {p["proven"] for p in admin.json("list paths", "paths") if p["state"] == "connected"}
        rnbd.equal(proven, {"vm:1"}, f"what paths have proven at the {machine.name} {when}")
        admin.run("key check")


def upgrade(machine: Machine) -> None:
    """A new version of the program leaves what is mapped alone, and what the administrator has written."""
    machine.run("rm -rf /tmp/new\ncp /etc/rnbd/rnbd.conf /tmp/before\n"
                f"dpkg-deb -R {machine.put(package('rnbdadm'))} /tmp/new\n"
                "sed -i 's/^Version: .*/&.1/' /tmp/new/DEBIAN/control\nrm /tmp/new/DEBIAN/md5sums\n"
                "dpkg-deb --root-owner-group -Znone -b /tmp/new /tmp/new.deb >/dev/null\ndpkg -i /tmp/new.deb\n"
                "cmp /etc/rnbd/rnbd.conf /tmp/before\nrm -rf /tmp/new /tmp/new.deb", 120)


def follow(machine: Machine, subject: str, *names: tuple[str, str]) -> None:
    """The commands of the guide's chapter on upgrades as they stand there, with the names of these machines. What
    apt would do is done; behind a command may be what it has to say: nothing."""
    script = []
    for line in chapter("Upgrading").split(f"\n**{subject}")[1].split("\n**")[0].splitlines():
        command, _, said = line.removeprefix("    ").partition("  ")
        if not line.startswith("    ") or command.startswith(("apt ", "(")):
            continue
        for written, here in names:
            command = command.replace(written, here)
        script.append(f"if {command}; then exit 1; fi" if said.strip().startswith("# nothing") else command)
    rnbd.check(len(script) > 2, f"the guide has no commands for: {subject}")
    machine.run("\n".join(script), 240)


def removed(machine: Machine, before: list[str]) -> None:
    # The secrets are the administrator's, and stay.
    Admin(machine, PROGRAM).run("key remove vm --force")
    machine.run("dpkg --purge rnbdadm rnbd-dkms", 180)
    machine.run("for f in /dev/rnbd /dev/disk/by-id/rnbd-* /sys/block/rnbd*; do\n"
                "[ ! -e $f ] || { echo $f is left behind; exit 1; }\ndone\n"
                "rm -rf /etc/systemd/system/disk.service /etc/systemd/system/rnbd-server.service.requires /root/disk\n"
                "[ -z \"$(systemctl list-units --all --plain --no-legend 'rnbd*' | grep -v not-found)\" ]")
    left = sorted(set(files(machine)) - set(before))
    rnbd.equal(left, [], f"left behind on the {machine.name}")
