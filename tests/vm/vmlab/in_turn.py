# SPDX-License-Identifier: GPL-2.0
"""Two machines at work in one file and one folder of a cluster file system that both have in /srv: what either was told
is on the disk is there, also when one of them is lost, and comes back."""

from __future__ import annotations

from collections.abc import Callable

from . import rnbd
from .lab import Lab
from .machine import Machine

BLOCK = 4096
STEPS = 12

# Blocks of one file in turn with the other machine, so that each needs the lock and the pages of the other one all
# the time; and a file of its own for each. Says what is on the disk for good.
WRITER = f"""cd /srv
rm -f /share/enough
n=$(cat /share/acknowledged 2>/dev/null || echo 0)
while [ ! -e /share/enough ]; do
    n=$((n + 1))
    printf '%0{BLOCK - 1}d\\n' $n | dd of=common bs={BLOCK} seek=$((2 * n + NODE)) conv=notrunc,fsync 2>/dev/null
    echo $n >files/NODE.$n
    sync files/NODE.$n files
    echo $n >/share/new
    mv /share/new /share/acknowledged
done"""

CHECK = f"""import sys
steps = [int(word) for word in sys.argv[1:]]
with open("/srv/common", "rb") as common:
    for node, last in enumerate(steps):
        for n in range(1, last + 1):
            common.seek((2 * n + node) * {BLOCK})
            got = common.read({BLOCK})
            assert got == b"%0{BLOCK - 1}d\\n" % n, (node, n, got[-20:])
            with open(f"/srv/files/{{node}}.{{n}}") as file:
                assert file.read() == f"{{n}}\\n", (node, n)
"""


def _acknowledged(machine: Machine) -> int:
    return int(machine.run("cat /share/acknowledged 2>/dev/null || echo 0"))


def _check(machine: Machine, *steps: int) -> None:
    machine.run(f"cat >/run/check.py <<'END'\n{CHECK}\nEND\npython3 /run/check.py {' '.join(map(str, steps))}", 300)


def _goes_on(node: Machine, limit: float, what: str) -> float:
    return rnbd.wait_until(node, f"[ $(cat /share/acknowledged) -ge {_acknowledged(node) + STEPS} ]", limit, what)


def work(lab: Lab, nodes: list[Machine], dead: float, join: Callable[[Machine], None],
         trouble: Callable[[], None] = lambda: None, lose: Callable[[Machine], None] = Machine.kill) -> None:
    """The whole of it. `dead`: seconds until the one that is left has to go on; `join` gives a machine that has just
    started the file system again; `trouble` comes and goes, and both go on; `lose` returns when the machine is down,
    which has to be before the other one goes on."""
    nodes[0].run("mkdir /srv/files")
    writers = [node.spawn(WRITER.replace("NODE", str(n)), 1200) for n, node in enumerate(nodes)]
    for node in nodes:
        rnbd.wait_until(node, f"[ $(cat /share/acknowledged) -ge {STEPS} ]", 240, f"{node.name} writes")
    trouble()
    for node in nodes:
        _goes_on(node, 240, f"{node.name} goes on")
    last = _acknowledged(nodes[1])
    before = _acknowledged(nodes[0])
    lose(nodes[1])
    during = _acknowledged(nodes[0]) - before
    rnbd.check(during < STEPS, f"it went on before the other one was down: {during} steps")
    took = _goes_on(nodes[0], dead, "the one that is left goes on")
    print(f"# it went on after {took:.0f} s of the machine's clock", flush=True)
    _check(nodes[0], _acknowledged(nodes[0]), last)
    lab.reboot(nodes[1].name)
    join(nodes[1])
    rnbd.write(nodes[1], "/share/acknowledged", str(last))
    again = nodes[1].spawn(WRITER.replace("NODE", "1"), 600)
    rnbd.wait_until(nodes[1], f"[ $(cat /share/acknowledged) -ge {last + STEPS} ]", 240, "it writes again")
    for node, writer in zip(nodes, (writers[0], again)):
        node.run("touch /share/enough")
        rnbd.check(node.wait(writer).ok, f"{node.name}: the writer failed")
    done = [_acknowledged(node) for node in nodes]
    for node in nodes:
        _check(node, *done)
