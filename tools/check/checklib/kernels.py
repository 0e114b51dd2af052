# SPDX-License-Identifier: GPL-2.0
"""How the differences between kernels are told apart.

By what the kernel's headers declare, and in cxxrt only: a version says nothing of what a distribution
has taken over from a later kernel, and a module that knows two kernels has two behaviours to test.
"""

import re

from . import layering
from .registry import rule

PROBES = "cxxrt/overlay/probes.c"
PROBE = re.compile(r"^PROBE\((\w+),", re.MULTILINE)
USE = re.compile(r"\bCXXRT_PROBE_(\w+)")
GENERATED = "cxxrt/probes.h"

VERSION = re.compile(
    r"\b(?:LINUX_VERSION_\w+|KERNEL_VERSION|UTS_RELEASE|RHEL_\w*VERSION\w*)\b|<linux/version\.h>"
)
VERSION_IN_MAKE = re.compile(r"\$[({](?:PATCHLEVEL|SUBLEVEL|KERNELVERSION|KERNELRELEASE)[)}]")
BUILD_FILE = re.compile(r"(^|/)Kbuild$|\.mk$")


def is_code(file):
    return file.is_c or file.is_cxx or file.suffix == ".inc"


@rule("kernel-versions", "nothing asks for the kernel's version, but the list of supported ones")
def kernel_versions(tree):
    findings = []
    for file in tree.select(lambda file: file.path.startswith(("cxxrt/", *layering.IN_KERNEL))):
        if is_code(file):
            lines, pattern = code_with_includes(file), VERSION
        elif BUILD_FILE.search(file.path):
            lines, pattern = file.lines, VERSION_IN_MAKE
        else:
            continue
        for number, line in enumerate(lines, 1):
            found = pattern.search(line)
            if found:
                findings.append(file.find(number, f"{found.group()}: ask for what differs, in cxxrt"))
    return findings


def code_with_includes(file):
    """The lines without comments and literals; of an include also what it names."""
    included = {number: f"<{name}>" for number, name, _ in layering.includes(file)}
    return [included.get(number, line) for number, line in enumerate(file.code_lines, 1)]


@rule("kernel-probes", "headers of cxxrt, and nobody else, use every probe of the kernel")
def kernel_probes(tree):
    source = tree.by_path.get(PROBES)
    known = {}
    if source:
        known = {found.group(1): found.start() for found in PROBE.finditer(source.code)}
    used = set()
    findings = []
    for file in tree.select(lambda file: is_code(file) and file.path != PROBES):
        names = [(file.line_of(found.start()), found.group(1)) for found in USE.finditer(file.code)]
        included = [number for number, name, _ in layering.includes(file) if name == GENERATED]
        if not file.path.startswith("cxxrt/include/"):
            lines = sorted({number for number, _ in names} | set(included))
            findings += [file.find(number, "a probe outside of cxxrt's headers") for number in lines]
            continue
        used |= {name for _, name in names}
        # The preprocessor takes a name that it does not know for 0.
        for number, name in names:
            if name not in known:
                findings.append(file.find(number, f"there is no probe {name}"))
        if names and not included:
            findings.append(file.find(names[0][0], f"uses a probe without <{GENERATED}>"))
    for name, offset in known.items():
        if name not in used:
            findings.append(source.find(source.line_of(offset), f"nobody uses probe {name}"))
    return findings
