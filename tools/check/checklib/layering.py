# SPDX-License-Identifier: GPL-2.0
"""Who may include whom. An arrow goes down only:

    pure      wire layouts, parsers, state machines, policies; pure headers of cxxrt
    cxxrt     the only place that knows how C++ meets a kernel header
    kmod/rtrs client, server and core; client and server do not know each other
    kmod/rnbd client and server; knows RTRS only through its public headers
"""

import os
import re

from .registry import rule

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(["<])([^">]+)[">]')
OPENS = re.compile(r"\busing\s+namespace\b")
PURE_FOLDER = re.compile(r"^kmod/\w+/(\w+/)*(wire|pure)/")
PURE_MARK = re.compile(r"\bPure\b\s*(?:[.:,]|$)")
SIDE = re.compile(r"(?:^|[/_-])(client|clt|server|srv)(?=[/._-]|$)")
SIDE_OF_WORD = {"client": "client", "clt": "client", "server": "server", "srv": "server"}
# What RNBD may know of RTRS: the transport's interface, and the pure headers that it speaks in.
PUBLIC = re.compile(
    r"^kmod/rtrs/(?:rtrs\.hh?|wire/(?:units|session_name)\.hh|pure/address\w*\.hh)$"
)
# C++ that runs in the kernel beside cxxrt itself.
IN_KERNEL = ("kmod/", "cxxrt/example/", "tests/cxxrt/", "tests/kunit/", "tests/misdeeds/")
# Kernel headers that a project names itself, for cxxrt to prepare.
OF_PROJECT = ("kmod/kernel_headers.h", "cxxrt/example/src/kernel_headers.h")


def is_pure(file):
    """Pure is what lies in a pure folder, and a header of cxxrt whose head comment says "Pure."."""
    if PURE_FOLDER.match(file.path):
        return True
    return file.path.startswith("cxxrt/include/") and bool(PURE_MARK.search(head(file)))


def head(file):
    """The comment at the top of a file."""
    lines = []
    for line in file.lines:
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return "\n".join(lines)


def module_of(path):
    """'rtrs', 'rnbd' for files below kmod/, else None."""
    parts = path.split("/")
    return parts[1] if parts[0] == "kmod" and len(parts) > 2 else None


def side_of(path):
    found = SIDE.search(path.removeprefix("kmod/"))
    return SIDE_OF_WORD[found.group(1)] if found else None


def includes(file):
    """(line number, name, quoted) of each include."""
    for number, line in enumerate(file.code_lines, 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found.group(2), found.group(1) == '"'


def resolve(tree, file, name, quoted):
    """The tracked file that an include names, or None for one from outside the tree."""
    if quoted:
        beside = os.path.normpath(os.path.join(os.path.dirname(file.path), name))
        if beside in tree.by_path:
            return tree.by_path[beside]
    ends = "/" + name
    # The shadows of kernel headers stand in for the kernel's own: they are no part of a layer.
    found = [path for path in tree.by_path if path.endswith(ends) and "/shadow/" not in path]
    return tree.by_path[min(found, key=len)] if found else None


def closure(tree, file):
    """The file and all of this tree that it includes, directly or not."""
    found, left = set(), [file]
    while left:
        at = left.pop()
        if at not in found:
            found.add(at)
            targets = [resolve(tree, at, name, quoted) for _, name, quoted in includes(at)]
            left += [target for target in targets if target]
    return found


def edges(tree, wanted):
    """(file, line, name, target) for the includes of the C and C++ files that `wanted` picks."""
    for file in tree.select(lambda file: (file.is_c or file.is_cxx) and wanted(file)):
        for number, name, quoted in includes(file):
            yield file, number, name, resolve(tree, file, name, quoted)


@rule("pure-layer", "pure code includes nothing but pure code")
def pure_layer(tree):
    return [
        file.find(number, f"pure code includes <{name}>, which is not pure")
        for file, number, name, target in edges(tree, is_pure)
        if target is None or not is_pure(target)
    ]


@rule("kernel-headers", "C++ module code reaches kernel headers only through <cxxrt/...>")
def kernel_headers(tree):
    findings = []
    for file, number, name, target in edges(
        tree, lambda file: file.is_cxx and file.path.startswith(IN_KERNEL)
    ):
        if target is None:
            findings.append(file.find(number, f"<{name}> is not of this tree; use <cxxrt/...>"))
        elif target.is_c and target.path.startswith(IN_KERNEL):
            findings += [
                file.find(number, f"<{name}> includes <{other}>, which cxxrt does not prepare")
                for other in unprepared(tree, target)
            ]
    return findings


def unprepared(tree, header):
    """The kernel headers below a C header that cxxrt did not include, in its own way, before."""
    prepared = {"linux/types.h"}
    lists = ("cxxrt/include/cxxrt/overlay/", *OF_PROJECT)
    for overlay in tree.select(lambda file: file.path.startswith(lists)):
        prepared |= {name for _, name, _ in includes(overlay)}
    return sorted(
        name
        for file in closure(tree, header)
        for _, name, quoted in includes(file)
        if name not in prepared and resolve(tree, file, name, quoted) is None
    )


@rule("modules", "cxxrt knows no module, RTRS not RNBD, RNBD only the public headers of RTRS")
def modules(tree):
    findings = []
    in_kernel = lambda file: file.path.startswith(("cxxrt/", "kmod/"))
    for file, number, name, target in edges(tree, in_kernel):
        theirs = module_of(target.path) if target else None
        ours = module_of(file.path)
        if theirs is None or theirs == ours:
            continue
        if ours != "rnbd" or not PUBLIC.match(target.path):
            findings.append(file.find(number, f"{ours or 'cxxrt'} must not include <{name}>"))
    return findings


@rule("sides", "client never includes server, server never includes client")
def sides(tree):
    findings = []
    for file, number, name, target in edges(tree, lambda file: module_of(file.path)):
        ours, theirs = side_of(file.path), side_of(target.path) if target else None
        if {ours, theirs} == {"client", "server"}:
            findings.append(file.find(number, f"{ours} code includes <{name}> of the {theirs}"))
    return findings


@rule("userspace", "programs and unit tests see only the pure part of the modules")
def userspace(tree):
    return [
        file.find(number, f"<{name}> is kernel code")
        for file, number, name, target in edges(
            tree, lambda file: file.path.startswith(("tools/", "tests/unit/", "tests/fuzz/"))
        )
        if target and target.path.startswith(("kmod/", "cxxrt/")) and not is_pure(target)
    ]


@rule("headers", "a C++ header has an include guard and no `using namespace`")
def headers(tree):
    findings = []
    for file in tree.select(lambda file: file.suffix == ".hh"):
        if not re.search(r"^#pragma once$|^#ifndef \w+_HH$", file.code, re.MULTILINE):
            findings.append(file.find(1, "no #pragma once"))
        # What a test's header opens, it opens for tests only.
        opened = [] if file.path.startswith("tests/") else OPENS.finditer(file.code)
        for found in opened:
            findings.append(file.find(file.line_of(found.start()), "`using namespace` in a header"))
    return findings
