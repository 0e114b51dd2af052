# SPDX-License-Identifier: GPL-2.0
"""The resource agents of a Pacemaker cluster, as ocf-tester and a cluster manager call them: what they say of a disk
whose paths are gone, of one that is slow, and of one that the server has closed, and that nothing of a client reaches
the device when its export has stopped; and a mirror that is not started from an old half."""

import shlex
from dataclasses import dataclass

from vmlab import fio, make, rnbd
from vmlab.admin import PROGRAM
from vmlab.lab import Lab
from vmlab.machine import Machine

OURS = ("client", "server")
FOLDER = make.TOP / "packaging/ocf"
SUCCESS, GENERIC, CONFIGURED, NOT_RUNNING = 0, 1, 6, 7
BACK = 35 + 15

# What an installed system has; ocf-tester asks for the agent's metadata as nobody.
SYSTEM = r"""mkdir -p /run/resource-agents /etc/pam.d /etc/alternatives
ln -sf /usr/bin/which.debianutils /etc/alternatives/which
for use in auth account session; do echo $use required pam_permit.so; done >/etc/pam.d/other
grep -qs ^nobody /etc/passwd || printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >>/etc/passwd"""


@dataclass
class Agent:
    machine: Machine
    kind: str
    parameters: dict[str, str]

    def __post_init__(self) -> None:
        self.script = self.machine.put(FOLDER / self.kind)
        self.program = self.machine.put(PROGRAM)
        self.machine.run(SYSTEM)

    def environment(self) -> str:
        return f"export OCF_ROOT=/usr/lib/ocf HA_LOGTOSTDERR=yes RNBDADM={self.program} "

    def command(self, action: str, **more: str) -> str:
        # Without an interval a monitor is a probe.
        parameters = {"CRM_meta_interval": "10000", **self.parameters, **more}
        text = " ".join(f"OCF_RESKEY_{key}={shlex.quote(value)}" for key, value in parameters.items())
        return f"{self.environment()} OCF_RESOURCE_INSTANCE=test {text}\n{self.script} {action} 2>&1"

    def call(self, action: str, want: int, words: str = "", **more: str) -> str:
        """As a cluster manager does; `words` are in what it says."""
        result = self.machine.try_run(self.command(action, **more), 90)
        rnbd.equal(result.rc, want, f"{self.kind} {action} {more} (output: {result.out[-600:]})")
        rnbd.check(words in result.out, f"{self.kind} {action}: {result.out!r} without {words!r}")
        return result.out

    def test(self) -> None:
        words = " ".join(f"-o {key}={shlex.quote(value)}" for key, value in self.parameters.items())
        self.machine.run(f"{self.environment()}\nocf-tester -n test {words} {self.script} 2>&1", 180)


def inputs(export: Agent, disk: Agent) -> None:
    for agent, wrong in ((export, {"name": ""}), (export, {"name": "../x"}), (export, {"device": "nullb0"}),
                         (export, {"access": "wo"}), (disk, {"paths": ""}), (disk, {"session": "a b"}),
                         (disk, {"patience": "soon"}), (disk, {"slow": ""}), (disk, {"access": "all"})):
        agent.call("validate-all", CONFIGURED, "ocf-exit-reason:", **wrong)
    export.call("start", GENERIC, "no block device", device="/dev/not-there")
    export.call("monitor", NOT_RUNNING)
    disk.call("start", GENERIC, "", export="not-there")
    disk.call("monitor", NOT_RUNNING)


def not_told(*agents: Agent) -> None:
    """What cannot be told is not taken for gone: a cluster would start it elsewhere."""
    for agent in agents:
        broken = f"/tmp/{agent.kind}-broken"
        agent.machine.run(f"printf '#!/bin/sh\\nexit 1\\n' >{broken}\nchmod +x {broken}")
        program, agent.program = agent.program, broken
        for action in ("monitor", "stop"):
            agent.call(action, GENERIC, "cannot tell")
        agent.program = program
        agent.call("monitor", SUCCESS)


def states_of_export(lab: Lab, export: Agent) -> None:
    admin = export.program
    lab.server.run(f"{admin} server export disable vm1")
    export.call("monitor", GENERIC, "is disabled")
    # What it finds is not what it is asked for: it makes it anew.
    export.call("start", SUCCESS, sessions="a* b", addresses="10.0.0.0/8", access="ro")
    files = ("allowed_sessions", "allowed_addresses", "access", "enable")
    rnbd.equal([rnbd.read(lab.server, f"{rnbd.CONFIGURED}/vm1/{file}") for file in files],
               ["a* b", "10.0.0.0/8", "ro", "1"], "rules")
    export.call("stop", SUCCESS)
    export.call("start", SUCCESS)
    lab.server.run(f"{admin} server pause")
    export.call("monitor", GENERIC, "serves nobody")
    lab.server.run(f"{admin} server resume")
    export.call("monitor", SUCCESS)


def states_of_disk(lab: Lab, disk: Agent) -> None:
    name = lab.client.run(f"{disk.program} list devices -o csv --no-header -c name").strip()
    holder = lab.client.spawn(f"exec 3</dev/{name}\nwhile [ ! -e /tmp/let-go ]; do sleep 0.2; done", 120)
    rnbd.wait_until(lab.client, f"! echo normal >/sys/block/{name}/rnbd/unmap_device", 20, "it is open")
    disk.call("stop", GENERIC)
    disk.call("monitor", SUCCESS)
    lab.client.run("touch /tmp/let-go")
    lab.client.wait(holder)
    # Slow, but connected.
    lab.server.run("dmsetup suspend --nolockfs --noflush --noudevsync one")
    read = lab.client.spawn(f"dd if=/dev/{name} of=/dev/null bs=4k count=1 iflag=direct", 120)
    lab.client.run("sleep 2")
    disk.call("monitor", SUCCESS, "is slow", slow="1")
    disk.call("monitor", GENERIC, "not answered", slow="1", slow_fails="true")
    disk.call("monitor", SUCCESS, slow="60")
    lab.server.run("dmsetup resume --noudevsync one")
    lab.client.wait(read)
    # Without a path.
    lab.client.run(f"echo -1 >/sys/block/{name}/rnbd/no_path_timeout")
    lab.client.set_link(0, False)
    rnbd.wait_until(lab.client, f"! grep -qx open /sys/block/{name}/rnbd/state", BACK, "no path")
    disk.call("monitor", SUCCESS, "no path", patience="600")
    lab.client.run("sleep 3")
    disk.call("monitor", GENERIC, "no path", patience="2")
    # A probe only asks where it is: `pcs resource cleanup` must not have it stopped.
    disk.call("monitor", SUCCESS, patience="2", CRM_meta_interval="0")
    lab.client.set_link(0, True)
    rnbd.wait_until(lab.client, f"grep -qx open /sys/block/{name}/rnbd/state", BACK, "it is back")
    disk.call("monitor", SUCCESS, patience="0")
    # A disk without a path goes, too.
    lab.client.set_link(0, False)
    rnbd.wait_until(lab.client, f"! grep -qx open /sys/block/{name}/rnbd/state", BACK, "no path")
    disk.call("stop", SUCCESS)
    disk.call("monitor", NOT_RUNNING)
    lab.client.set_link(0, True)
    rnbd.wait_until(lab.client, disk.command("start"), BACK, "it is mapped again")


def in_use(lab: Lab, disk: Agent) -> None:
    """The machine before, which has died, is the writer until the server misses it: a start that fails for that would
    ban the resource from the machine that is left."""
    disk.call("stop", SUCCESS)
    lab.client.run(f"{disk.program} map vm1 --session before --path {lab.server.address(0)}")
    start = lab.client.spawn(disk.command("start"), 90)
    lab.client.run("sleep 5")
    rnbd.check(start.running, "a start does not wait for the disk to be given back")
    disk.call("monitor", NOT_RUNNING)
    lab.client.run(f"{disk.program} unmap before:vm1")
    result = lab.client.wait(start)
    rnbd.equal(result.rc, SUCCESS, f"start (output: {result.out[-600:]})")
    rnbd.equal(result.out.count("waiting"), 1, "lines about it")
    disk.call("monitor", SUCCESS)


def device_is_free(lab: Lab, export: Agent, disk: Agent) -> None:
    """The export stops under load: its device can be taken away at once."""
    name = lab.client.run(f"{disk.program} list devices -o csv --no-header -c name").strip()
    load = fio.background(lab.client, f"/dev/{name}", 60, rw="randwrite", depth=8)
    written = "$(tr -s ' ' </sys/block/dm-0/stat | sed 's/^ //' | cut -d' ' -f5)"
    rnbd.wait_until(lab.server, f"[ {written} -gt 200 ]", 60, "load")
    export.call("stop", SUCCESS)
    lab.server.run("dmsetup remove --noudevsync one")
    rnbd.check(not lab.client.wait(load).ok, "writes went on")
    disk.call("monitor", GENERIC, "has closed")
    disk.call("stop", SUCCESS)


def never_old(lab: Lab) -> None:
    """A mirror starts from the half that was written alone, and not from the one whose server was away meanwhile."""
    lab.client.run("""modprobe -a loop raid1
mkdir -p /tmp/mirror
cd /tmp/mirror
for i in 0 1; do
    truncate -s 20M $i
    losetup /dev/loop$i $i
done
mdadm --create /dev/md5 --level 1 --raid-devices 2 --bitmap internal --run --assume-clean /dev/loop0 /dev/loop1
mdadm --detail --brief /dev/md5 >conf
mdadm --stop /dev/md5
cp 1 old
mdadm --assemble /dev/md5 --config=conf
mdadm /dev/md5 --fail /dev/loop1
mdadm --stop /dev/md5
losetup -d /dev/loop1
mv old 1""", 60)
    mirror = Agent(lab.client, "rnbd-mirror", {"md_dev": "/dev/md5", "mdadm_conf": "/tmp/mirror/conf",
                                               "wait_for_udev": "false"})
    mirror.call("start", SUCCESS, "with 1 drive (out of 2)")
    mirror.call("monitor", SUCCESS)
    mirror.call("stop", SUCCESS)
    mirror.call("monitor", NOT_RUNNING)
    lab.client.run("losetup -d /dev/loop0\nlosetup /dev/loop1 /tmp/mirror/1")
    mirror.call("start", GENERIC, "may be an old one")
    mirror.call("monitor", NOT_RUNNING)
    mirror.call("stop", SUCCESS)
    lab.client.run("losetup -d /dev/loop1\nlosetup /dev/loop1 /tmp/mirror/1\nlosetup /dev/loop0 /tmp/mirror/0")
    mirror.call("start", SUCCESS, "with 1 drive (out of 2)")
    lab.client.run("grep -A 1 ^md5 /proc/mdstat | grep -F '[U_]'")
    mirror.call("stop", SUCCESS)
    # Who knows better says so once: what is written from then on makes it the half that knows.
    lab.client.run("""losetup -d /dev/loop0
mdadm --assemble --run --config /tmp/mirror/conf /dev/md5
dd if=/dev/zero of=/dev/md5 bs=4k count=1 oflag=direct conv=fsync
mdadm --stop /dev/md5""", 60)
    mirror.call("start", SUCCESS, "with 1 drive (out of 2)")
    mirror.call("stop", SUCCESS)
    lab.client.run("losetup -D")


def run(lab: Lab) -> None:
    never_old(lab)
    null = rnbd.null_disk(lab.server)
    device = rnbd.named_disk(lab.server, null, "one", "TEST-40")
    rnbd.load_server(lab)
    rnbd.load_client(lab)
    export = Agent(lab.server, "rnbd-export", {"name": "vm1", "device": device})
    disk = Agent(lab.client, "rnbd-disk", {"export": "vm1", "session": "a-%h", "options": "--heartbeat-interval 500",
                                           "paths": f"{lab.client.address(0)}@{lab.server.address(0)}"})
    inputs(export, disk)
    export.test()
    export.call("start", SUCCESS)
    disk.test()
    disk.call("start", SUCCESS)
    disk.call("start", SUCCESS)
    # Dots are dots.
    disk.call("monitor", NOT_RUNNING, session="a.%h")
    export.call("monitor", GENERIC, "is not of", device="/dev/nullb0")
    not_told(export, disk)
    states_of_disk(lab, disk)
    in_use(lab, disk)
    device_is_free(lab, export, disk)
    device = rnbd.named_disk(lab.server, null, "one", "TEST-40")
    export.call("start", SUCCESS)
    states_of_export(lab, export)
    export.call("stop", SUCCESS)
    export.call("stop", SUCCESS)
    # The agent loads the module for exports alone.
    disk.call("stop", SUCCESS)
    rnbd.unload_server(lab)
    export.call("start", SUCCESS)
    rnbd.equal(rnbd.read(lab.server, "/sys/module/rnbd_server/parameters/exports_only"), "Y", "exports_only")
    export.call("stop", SUCCESS)
    lab.server.run("dmsetup remove --noudevsync one")
