# SPDX-License-Identifier: GPL-2.0
"""What a scenario does with the product: load, export, map, unmap, and read its sysfs."""

from __future__ import annotations

import errno
import os
import re
import shlex

from .channel import CommandFailed, MachineError
from .lab import Lab
from .machine import UPTIME, Machine

CTL = "/sys/class/rnbd-client/ctl"
CONFIGURED = "/sys/kernel/config/rnbd/exports"  # of the server
_BY_TEXT = {os.strerror(number): name for number, name in sorted(errno.errorcode.items(), reverse=True)}


def check(condition: object, text: str) -> None:
    if not condition:
        raise AssertionError(text)


def equal(got: object, want: object, what: str) -> None:
    check(got == want, f"{what}: got {got!r}, want {want!r}")


# --- modules

def load_server(lab: Lab, port: int | None = None, search: str | None = None, instance: str = "",
                **rtrs: object) -> None:
    """Load the server; keyword arguments are module parameters of rtrs_server."""
    rnbd = ([f"port_nr={port}"] if port else []) + ([f"dev_search_path={search}"] if search else [])
    rnbd += [f"instance={instance}"] if instance else []
    lab.server.run(f"modprobe rtrs_server {' '.join(f'{k}={v}' for k, v in rtrs.items())}\n"
                   f"modprobe rnbd_server {' '.join(rnbd)}", 90)


def load_client(lab: Lab) -> None:
    lab.client.run("modprobe rnbd_client", 90)


def unload_client(lab: Lab) -> None:
    lab.client.run("rmmod rnbd_client\nrmmod rtrs_client\nrmmod rtrs_core", 90)


def unload_server(lab: Lab) -> None:
    lab.server.run("rmmod rnbd_server\nrmmod rtrs_server\nrmmod rtrs_core", 90)


SERVER_WORK = ("rtrs_server_wq", "rtrs_server_close", "rtrs_server_time")


def limit_work(machine: Machine, queues: tuple[str, ...], places: int = 1) -> None:
    """How many items of a work queue run at the same time; 256 unless somebody says."""
    machine.run("\n".join(f"echo {places} >/sys/devices/virtual/workqueue/{queue}/max_active" for queue in queues))


# --- disks of the server

def null_disk(machine: Machine, name: str = "nullb7", megabytes: int = 64, **attributes: object) -> str:
    """A disk that keeps its data in memory, with discard and a volatile cache; path of its node."""
    values = {"size": megabytes, "memory_backed": 1, "discard": 1, "blocksize": 512, "cache_size": 4,
              **attributes}
    folder = f"/sys/kernel/config/nullb/{name}"
    lines = ["modprobe null_blk nr_devices=0", f"mkdir {folder}"]
    lines += [f"echo {v} >{folder}/{k}" for k, v in values.items()]
    lines += [f"echo 1 >{folder}/power"]
    machine.run("\n".join(lines))
    return f"/dev/{name}"


def ram_disk(machine: Machine, megabytes: int = 64) -> str:
    machine.run(f"modprobe brd rd_nr=1 rd_size={megabytes << 10} max_part=8")
    return "/dev/ram0"


def named_disk(machine: Machine, below: str, name: str, uuid: str) -> str:
    """A device of the mapper over a disk: it has an identity, `dm.UUID` as a wwid, which null_blk has not; its node."""
    return machine.run(f"modprobe dm_mod\ndmsetup create --noudevsync {name} --uuid {uuid} "
                       f"--table \"0 $(blockdev --getsz {below}) linear {below} 0\"\ndmsetup mknodes {name}\n"
                       f"readlink -f /dev/mapper/{name}").strip()


def make_export(machine: Machine, name: str, disk: str, **files: str) -> None:
    """Offer a disk by name; keyword arguments are further files of the export."""
    folder = f"{CONFIGURED}/{name}"
    machine.run(f"mkdir '{folder}'\necho {disk} >'{folder}/device_path'\n"
                + "".join(f"echo '{text}' >'{folder}/{file}'\n" for file, text in files.items())
                + f"echo 1 >'{folder}/enable'")


# --- mapping

def path_option(lab: Lab, nic: int = 0, family: int = 4) -> str:
    if family == 6:
        return f"path=ip:{lab.client.address6(nic)}@ip:{lab.server.address6(nic)}"
    return f"path=ip:{lab.client.address(nic)}@ip:{lab.server.address(nic)}"


def map_text(lab: Lab, device: str, session: str = "vm", nics: tuple[int, ...] = (0,), **options: object) -> str:
    words = [f"sessname={session}", *(path_option(lab, n) for n in nics), f"device_path={device}"]
    return " ".join(words + [f"{k}={v}" for k, v in options.items()])


def patience(lab: Lab) -> dict[str, object]:
    """Options for a disk whose path the in-tree server may lose: it does not survive what soft-RoCE sends twice."""
    return {"no_path_timeout": 60} if lab.ours("client") and not lab.ours("server") else {}


def map_device(lab: Lab, device: str, session: str = "vm", nics: tuple[int, ...] = (0,), limit: float = 60,
               **options: object) -> str:
    """Map and return the name of the disk (rnbdN)."""
    write(lab.client, f"{CTL}/map_device", map_text(lab, device, session, nics, **options), limit)
    return mapped_name(lab, device, session)


def mapped_name(lab: Lab, device: str, session: str = "vm") -> str:
    link = f"{CTL}/devices/{device.replace('/', '!')}@{session}"
    name = lab.client.run(f"basename $(readlink -f {shlex.quote(link)})").strip()
    check(re.fullmatch(r"rnbd\d+", name), f"{link} does not lead to a disk but to {name!r}")
    return name


def unmap(lab: Lab, name: str, mode: str = "normal", limit: float = 60) -> None:
    write(lab.client, f"/sys/block/{name}/rnbd/unmap_device", mode, limit)
    check(name not in lab.client.run("ls /sys/block").split(), f"{name} is still there after unmap")


# --- sysfs

def write(machine: Machine, path: str, text: str, limit: float = 60) -> None:
    error = write_error(machine, path, text, limit)
    if error:
        raise CommandFailed(f"{machine.name}: writing {text!r} to {path}: {error}")


def _write_script(path: str, text: str) -> str:
    return f"/usr/bin/printf '%s\\n' {shlex.quote(text)} >{shlex.quote(path)}"


def errno_name(words: str) -> str:
    """By what strerror() says of it."""
    return _BY_TEXT.get(words, words)


def _errno(out: str) -> str:
    return errno_name(out.strip().rpartition("error: ")[2] or out)


def write_error(machine: Machine, path: str, text: str, limit: float = 60) -> str:
    """Name of the errno that a write ends with, empty when it works."""
    result = machine.try_run(_write_script(path, text), limit)
    if result.timed_out:
        raise MachineError(f"{machine.name}: writing {text!r} to {path} took longer than {limit:.0f} s")
    return "" if result.ok else _errno(result.out)


def write_errors(machine: Machine, writes: list[tuple[str, str]], limit: float = 60) -> list[str]:
    """The same for many writes (path, text), in one go: each trip into a machine takes its time."""
    script = "\n".join(f"{_write_script(path, text)} 2>/tmp/error && echo || cat /tmp/error" for path, text in writes)
    lines = machine.run("set +e\n" + script, limit).splitlines()
    equal(len(lines), len(writes), "lines of errors")
    return [_errno(line) if line else "" for line in lines]


def read(machine: Machine, path: str) -> str:
    return machine.run(f"cat {path}").rstrip("\n")


def sessions(machine: Machine, side: str) -> list[str]:
    """Names of the transport sessions that exist; side is client or server."""
    out = machine.run(f"ls /sys/class/rtrs-{side} 2>/dev/null || true").split()
    return [name for name in out if name != "ctl"]


def work_counters(machine: Machine, side: str, session: str = "vm") -> dict[str, int]:
    """Our module's counters of work requests: lines `name value` in debugfs, summed over the session's paths."""
    total: dict[str, int] = {}
    for line in machine.run(f"cat /sys/kernel/debug/rtrs-{side}/{session}/*/wr").splitlines():
        name, _, value = line.partition(" ")
        total[name] = total.get(name, 0) + int(value)
    return total


def work_during(lab: Lab, side: str, script: str, limit: float) -> dict[str, int]:
    """What a script on the client adds to these counters of one side."""
    machine = lab.client if side == "client" else lab.server
    before = work_counters(machine, side)
    lab.client.run(script, limit)
    after = work_counters(machine, side)
    return {name: after[name] - value for name, value in before.items()}


def timed(machine: Machine, script: str, limit: float = 60) -> float:
    """Seconds that a script takes inside the machine, the way into it not counted."""
    words = machine.run(f"{UPTIME}\n{script}\n{UPTIME}", limit).split()
    return float(words[-1]) - float(words[0])


def wait_until(machine: Machine, condition: str, limit: float, what: str) -> float:
    """Seconds until a shell condition holds inside the machine."""
    script = f"{UPTIME}\nwhile ! {{ {condition}; }} >/dev/null 2>&1; do sleep 0.2; done\n{UPTIME}"
    result = machine.try_run(script, limit)
    if not result.ok:
        raise AssertionError(f"{machine.name}: {what}: not within {limit:.0f} s")
    begin, end = result.out.split()
    return float(end) - float(begin)
