# SPDX-License-Identifier: GPL-2.0
"""Functions of our modules, instruction by instruction, with how often each was executed for an I/O."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from statistics import median

from .goals import Figures
from .measure import Side
from .stacks import Rnbd, Stack
from .workload import Workload

INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(.*)$")
RELOCATION = re.compile(r"^\t+([0-9a-f]+): R_\S+\t(\S+)")
LONGEST = 15  # bytes of an instruction
# Less than one in so many I/Os is not worth a line.
RARE = 0.01


def per_instruction(code: list[tuple[int, str]], blocks: dict[tuple[int, int], float]) -> list[float]:
    """Executions of each instruction of a function: `blocks` are (offset of the first, how many instructions)."""
    place = {offset: n for n, (offset, _) in enumerate(code)}
    counts = [0.0] * len(code)
    for (offset, length), executions in blocks.items():
        if offset in place:
            for n in range(place[offset], min(place[offset] + length, len(code))):
                counts[n] += executions
    return counts


def disassembly(module: Path, symbol: str) -> list[tuple[int, str, str]]:
    """Offset in the function, instruction, and the line of the source it comes from."""
    text = subprocess.run(["objdump", "-drl", "--no-show-raw-insn", f"--disassemble={symbol}", str(module)],
                          capture_output=True, text=True, check=True).stdout
    found: list[tuple[int, str, str]] = []
    source, first = "", None
    for line in text.splitlines():
        match = INSTRUCTION.match(line)
        if match:
            address = int(match[1], 16)
            first = address if first is None else first
            found.append((address - first, match[2].strip(), source))
        elif (named := RELOCATION.match(line)) and found and first is not None:
            offset, code, where = found[-1]
            # Those of what lies before the function are shown as well.
            if 0 <= int(named[1], 16) - first - offset < LONGEST:
                found[-1] = (offset, f"{code}    # {named[2]}", where)
        elif re.search(r":[0-9]+( |$)", line):
            source = "/".join(line.split(" ")[0].split("/")[-2:])
    return found


def listing(figures: Figures, chosen: list[Stack], loads: list[Workload], wanted: list[str]) -> list[str]:
    """All functions whose names as the linker has them contain one of the words."""
    lines = []
    for load in loads:
        for stack in chosen:
            if isinstance(stack, Rnbd):
                for role in ("client", "server"):
                    lines += _of(stack, role, [m.sides[role] for m in figures[stack.name][load.name]], load, wanted)
    return lines


def _of(stack: Rnbd, role: str, sides: list[Side], load: Workload, wanted: list[str]) -> list[str]:
    lines = []
    for module, symbol in sorted(sides[0].blocks):
        file = stack.modules.get(module.replace("_", "-"))
        if not file or not any(word in symbol for word in wanted):
            continue
        blocks = {key: median([side.blocks.get((module, symbol), {}).get(key, 0.0) for side in sides])
                  for key in sides[0].blocks[(module, symbol)]}
        code = disassembly(file, symbol)
        counts = per_instruction([(offset, text) for offset, text, _ in code], blocks)
        lines += ["", f"{load.name}: {stack.name}: {role}: {module}: {symbol}: {sum(counts):.0f} instructions"]
        before = ""
        for (offset, text, source), count in zip(code, counts):
            if count >= RARE:
                lines.append(f"{count:7.2f}  {offset:5x}  {text:<70} {source if source != before else ''}".rstrip())
                before = source
    return lines
