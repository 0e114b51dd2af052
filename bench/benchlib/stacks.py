# SPDX-License-Identifier: GPL-2.0
"""What is compared: ways to use the server's disk on the client. Each is set up and taken down in a running lab."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from vmlab import peers, rnbd
from vmlab.lab import Lab
from vmlab.machine import Machine

SESSION = "bench"
NQN = "bench"
PORT = 4420


@dataclass(frozen=True)
class Stack:
    """`client` and `server` name the modules whose instructions are the stack's own."""

    name: str
    client: tuple[str, ...]
    server: tuple[str, ...]

    def prepare(self, lab: Lab) -> None:
        """Once for each boot."""

    def load(self, lab: Lab) -> None:
        raise NotImplementedError

    def attach(self, lab: Lab, disks: list[str], nics: tuple[int, ...] = (0,)) -> list[str]:
        """The client's nodes of these disks of the server."""
        raise NotImplementedError

    def detach(self, lab: Lab) -> None:
        raise NotImplementedError

    def unload(self, lab: Lab) -> None:
        raise NotImplementedError


CORE = "rtrs_core"


@dataclass(frozen=True)
class Rnbd(Stack):
    """RNBD over RTRS from a set of the five modules, with a value of always_invalidate."""

    client: tuple[str, ...] = ("rnbd_client", "rtrs_client", CORE)
    server: tuple[str, ...] = ("rnbd_server", "rtrs_server", CORE)
    modules: dict[str, Path] = field(default_factory=dict, compare=False, kw_only=True)
    invalidate: bool = field(kw_only=True)

    @property
    def build(self) -> str:
        """The name of its set of modules."""
        return self.name.rpartition("-")[0]

    def prepare(self, lab: Lab) -> None:
        self.put(lab.client)
        self.put(lab.server)

    def put(self, machine: Machine) -> None:
        """The set of modules into a machine that was just booted."""
        with tempfile.TemporaryDirectory() as folder:
            for name, path in self.modules.items():
                copy = Path(folder) / f"{self.build}-{name}.ko"
                copy.write_bytes(path.read_bytes())
                machine.put(copy)

    def _insert(self, *names: str, **parameters: str) -> str:
        lines = ["modprobe -a ib_core rdma_cm configfs"]
        for name in names:
            words = [value for key, value in parameters.items() if key == name.replace("-", "_")]
            lines.append(f"insmod /share/{self.build}-{name}.ko {' '.join(words)}")
        return "\n".join(lines)

    def load_server(self, lab: Lab) -> None:
        value = "Y" if self.invalidate else "N"
        lab.server.run(self._insert("rtrs-core", "rtrs-server", "rnbd-server",
                                    rtrs_server=f"always_invalidate={value}"), 90)

    def load(self, lab: Lab) -> None:
        self.load_server(lab)
        lab.client.run(self._insert("rtrs-core", "rtrs-client", "rnbd-client"), 90)

    def attach(self, lab: Lab, disks: list[str], nics: tuple[int, ...] = (0,)) -> list[str]:
        return [f"/dev/{rnbd.map_device(lab, disk, SESSION, nics)}" for disk in disks]

    def detach(self, lab: Lab) -> None:
        lab.client.run("for d in /sys/block/rnbd*/rnbd; do\n"
                       "\t[ ! -e $d/unmap_device ] || echo normal >$d/unmap_device\ndone", 120)

    def unload(self, lab: Lab) -> None:
        rnbd.unload_client(lab)
        rnbd.unload_server(lab)


@dataclass(frozen=True)
class Nvme(Stack):
    """NVMe over RDMA by the kernel's own nvme-rdma and nvmet-rdma."""

    name: str = "nvme"
    client: tuple[str, ...] = ("nvme_rdma", "nvme_fabrics", "nvme_core")
    server: tuple[str, ...] = ("nvmet_rdma", "nvmet")

    def load(self, lab: Lab) -> None:
        lab.server.run("modprobe nvmet\nmodprobe nvmet_rdma", 90)
        lab.client.run("modprobe nvme_rdma", 90)

    def attach(self, lab: Lab, disks: list[str], nics: tuple[int, ...] = (0,)) -> list[str]:
        lines = ["cd /sys/kernel/config/nvmet", f"mkdir subsystems/{NQN}",
                 f"echo 1 >subsystems/{NQN}/attr_allow_any_host"]
        for n, disk in enumerate(disks, 1):
            lines += [f"mkdir subsystems/{NQN}/namespaces/{n}",
                      f"echo {disk} >subsystems/{NQN}/namespaces/{n}/device_path",
                      f"echo 1 >subsystems/{NQN}/namespaces/{n}/enable"]
        for nic in nics:
            lines += [f"mkdir ports/{nic}", f"echo rdma >ports/{nic}/addr_trtype",
                      f"echo ipv4 >ports/{nic}/addr_adrfam",
                      f"echo {lab.server.address(nic)} >ports/{nic}/addr_traddr",
                      f"echo {PORT} >ports/{nic}/addr_trsvcid",
                      f"ln -s /sys/kernel/config/nvmet/subsystems/{NQN} ports/{nic}/subsystems/{NQN}"]
        lab.server.run("\n".join(lines), 60)
        connect = [f"echo transport=rdma,traddr={lab.server.address(nic)},trsvcid={PORT},nqn={NQN} "
                   ">/dev/nvme-fabrics" for nic in nics]
        nodes = [f"/dev/nvme0n{n}" for n in range(1, len(disks) + 1)]
        waits = [f"while [ ! -b {node} ]; do sleep 0.1; done" for node in nodes]
        # Over all paths, as RTRS does; its own default is to keep to one.
        policy = "for f in /sys/class/nvme-subsystem/*/iopolicy; do echo round-robin >$f; done"
        lab.client.run("\n".join([*connect, *waits, policy]), 60)
        return nodes

    def detach(self, lab: Lab) -> None:
        lab.client.run("for d in /sys/class/nvme/nvme*/delete_controller; do echo 1 >$d; done", 60)
        lab.server.run("cd /sys/kernel/config/nvmet\nrm -f ports/*/subsystems/*\nrmdir ports/*\n"
                       f"for n in subsystems/{NQN}/namespaces/*; do echo 0 >$n/enable; rmdir $n; done\n"
                       f"rmdir subsystems/{NQN}", 60)

    def unload(self, lab: Lab) -> None:
        lab.client.run("rmmod nvme_rdma nvme_fabrics nvme_core", 60)
        lab.server.run("rmmod nvmet_rdma nvmet", 60)


def names(files: list[Path]) -> dict[str, Path]:
    return {path.name.removesuffix(".ko"): path for path in files if path.name.removesuffix(".ko") in peers.NAMES}


def all_stacks(lab: Lab, others: dict[str, Path] | None = None) -> list[Stack]:
    """Ours and the kernel's own, each with always_invalidate on and off, NVMe over RDMA, and `others`: builds of
    our modules by name, found below a folder each."""
    builds = {"ours": names(peers.find_ours(lab.our_modules, lab.kernel)),
              "intree": names(peers.build_intree(lab.cache, lab.kernel))}
    for name, folder in (others or {}).items():
        builds[name] = names(peers.find_ours(folder, lab.kernel))
    stacks: list[Stack] = [Rnbd(f"{name}-{'Y' if invalidate else 'N'}", modules=files, invalidate=invalidate)
                           for name, files in builds.items() for invalidate in (True, False)]
    return [*stacks, Nvme()]
