# SPDX-License-Identifier: GPL-2.0
"""Rules that are programs of others: clang-format, clang-tidy, shellcheck, pyflakes."""

import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess
import warnings

from . import layering
from .registry import rule
from .tree import Finding

# Versions differ in what they find and in how they break lines: this one is in all of the suites of Debian that
# tests/vm/deps.sh knows. Programs are in packages of the same name.
CLANG_FORMAT, CLANG_TIDY = "clang-format-19", "clang-tidy-19"
# The overlay copies the shape of the kernel headers that it stands in for.
FORMAT_EXEMPT = re.compile(r"^cxxrt/(?:include/cxxrt/)?overlay/")
LOCATED = re.compile(r"^(?P<path>[^:\s]+):(?P<line>\d+):(?:\d+:)? *(?P<text>.*)$")
STAMPS = "build/check/tidy"


def missing(tree, program):
    """A finding if the program is not there: a check that cannot run has failed."""
    if shutil.which(program):
        return []
    return [Finding(program, 0, f"not installed (Debian package {program})")]


def run(tree, command, text=None):
    return subprocess.run(command, cwd=tree.root, capture_output=True, text=True, input=text)


def located(tree, output, keep=lambda text: True):
    """The findings in the usual `path:line:column: text` form."""
    findings = []
    for line in output.splitlines():
        found = LOCATED.match(line)
        if found and keep(found["text"]):
            path = os.path.relpath(os.path.join(tree.root, found["path"]), tree.root)
            findings.append(Finding(path, int(found["line"]), found["text"]))
    return findings


def judge(result, findings, path=None):
    """The findings; if the program failed without any, what it said (about `path`)."""
    if result.returncode and not findings:
        said = (result.stdout + result.stderr).strip() or f"exit code {result.returncode}"
        findings.append(Finding(path or os.path.basename(result.args[0]), 0, said))
    return findings


@rule("clang-format", "C and C++ are formatted as .clang-format says")
def clang_format(tree):
    files = tree.select(lambda f: (f.is_c or f.is_cxx) and not FORMAT_EXEMPT.match(f.path))
    if not files:
        return []
    absent = missing(tree, CLANG_FORMAT)
    if absent:
        return absent
    command = [CLANG_FORMAT, "--style=file", "--dry-run", "-Werror"]
    result = run(tree, command + [file.path for file in files])
    return judge(result, located(tree, result.stderr))


@rule("clang-tidy", "pure code and unit tests pass .clang-tidy (clang cannot parse kernel code)")
def clang_tidy(tree):
    files = tree.select(tidy_applies)
    if not files:
        return []
    absent = missing(tree, CLANG_TIDY)
    if absent:
        return absent
    stamps = os.path.join(tree.root, STAMPS)
    os.makedirs(stamps, exist_ok=True)
    # The program is an input too: what another one of that name has passed says nothing.
    program = os.path.realpath(shutil.which(CLANG_TIDY))
    version = program.encode() + run(tree, [CLANG_TIDY, "--version"]).stdout.encode()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = pool.map(lambda file: tidy_one(tree, file, stamps, version), files)
    # A fault in a header shows up in each file that includes it: report it once.
    return sorted({finding for result in results for finding in result}, key=str)


def tidy_applies(file):
    """Kernel code is left out: its headers are no C++ that clang accepts."""
    # A header of the tests is judged where it is included.
    is_test = file.suffix == ".cc" and file.path.startswith(("tests/unit/", "tests/fuzz/"))
    return is_test or file.is_cxx and layering.is_pure(file)


def tidy_one(tree, file, stamps, version):
    stamp = os.path.join(stamps, tidy_key(tree, file, version))
    if os.path.exists(stamp):
        return []
    source = file.path
    if file.suffix == ".hh":
        # Through a source of its own: a header need not use what it declares for others.
        source = os.path.join(STAMPS, file.path.replace("/", "-") + ".cc")
        with open(os.path.join(tree.root, source), "w") as stream:
            stream.write(f"#include <{file.path}>\n")
    result = run(tree, [CLANG_TIDY, "--quiet", source, "--"] + tidy_flags(tree, file))
    is_fault = lambda text: text.startswith(("error:", "warning:", "fatal error:"))
    findings = judge(result, located(tree, result.stdout, is_fault), file.path)
    if not findings:
        open(stamp, "w").close()
    return findings


def tidy_flags(tree, file):
    flags = ["-x", "c++", "-std=gnu++20", "-I.", "-Ikmod"]
    flags += [f"-I{folder}" for folder in include_folders(tree)]
    if not file.path.startswith("tests/"):
        return flags + ["-ffreestanding", "-nostdinc++"]
    # What tests/unit/Makefile puts in front of every test, precompiled.
    prefix = os.path.join(os.path.dirname(file.path), "testing.hh")
    if prefix in tree.by_path and file.path != prefix:
        flags += ["-include", prefix]
    return flags


def include_folders(tree):
    """Every folder named include above a header: cxxrt/include, kmod/rtrs/include ..."""
    found = re.compile(r"^((?:[^/]+/)*?include)/")
    return sorted({match.group(1) for match in map(found.match, tree.by_path) if match})


def tidy_key(tree, file, version):
    """A name for everything that the verdict on a file depends on, but for the system's headers."""
    inputs = layering.closure(tree, file)
    inputs |= {other for other in tree.files if other.name in (".clang-tidy", "external.py")}
    inputs |= {other for other in tree.files if other.name == "testing.hh"}
    digest = hashlib.sha256(version + file.path.encode())
    for other in sorted(inputs, key=lambda other: other.path):
        digest.update(b"\0" + other.path.encode() + b"\0" + other.raw)
    return digest.hexdigest()


@rule("shellcheck", "shell scripts pass shellcheck")
def shellcheck(tree):
    files = tree.select(lambda file: file.is_shell)
    if not files:
        return []
    absent = missing(tree, "shellcheck")
    if absent:
        return absent
    result = run(tree, ["shellcheck", "-x", "-f", "gcc"] + [file.path for file in files])
    return judge(result, located(tree, result.stdout))


@rule("pyflakes", "Python files pass pyflakes")
def pyflakes(tree):
    files = tree.select(lambda file: file.is_python)
    if not files:
        return []
    absent = missing(tree, "pyflakes3")
    if absent:
        return absent
    result = run(tree, ["pyflakes3"] + [file.path for file in files])
    return judge(result, located(tree, result.stdout + result.stderr))


@rule("python-syntax", "Python files compile, without a warning")
def python_syntax(tree):
    findings = []
    for file in tree.select(lambda file: file.is_python):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                compile(file.text, file.path, "exec")
        except SyntaxError as fault:
            findings.append(file.find(fault.lineno or 1, fault.msg))
    return findings
