# SPDX-License-Identifier: GPL-2.0
"""What a rule gets to see: the tracked files of a tree, their kind, and their text.

Files that git does not track are no part of the tree: what lies around in a work folder must not
change the verdict.
"""

import functools
import os
import subprocess
from dataclasses import dataclass

from . import blank

C_SUFFIXES = (".c", ".h")
CXX_SUFFIXES = (".cc", ".hh")


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


class File:
    """One tracked file. `path` is relative to the root, with forward slashes."""

    def __init__(self, root, path):
        self.path = path
        self.full = os.path.join(root, path)
        self.name = os.path.basename(path)
        self.suffix = os.path.splitext(self.name)[1]

    @functools.cached_property
    def raw(self):
        with open(self.full, "rb") as stream:
            return stream.read()

    @functools.cached_property
    def is_text(self):
        # The inputs of fuzzers are bytes, whatever they look like.
        return b"\0" not in self.raw[:8192] and "/corpus/" not in self.path

    @functools.cached_property
    def text(self):
        return self.raw.decode("utf-8", errors="replace")

    @functools.cached_property
    def lines(self):
        return self.text.splitlines()

    @functools.cached_property
    def code(self):
        """The text of a C or C++ file with comments and literals blanked, at the same offsets."""
        return blank.blank(self.text)

    @functools.cached_property
    def code_lines(self):
        return self.code.splitlines()

    @property
    def is_c(self):
        return self.suffix in C_SUFFIXES

    @property
    def is_cxx(self):
        return self.suffix in CXX_SUFFIXES

    @functools.cached_property
    def interpreter(self):
        first = self.lines[0] if self.lines else ""
        return first if first.startswith("#!") else ""

    @property
    def is_python(self):
        return self.suffix == ".py" or "python" in self.interpreter

    @property
    def is_shell(self):
        words = self.interpreter.replace("/", " ").split()
        # A script that is sourced names its language to shellcheck.
        sourced = any(line.startswith("# shellcheck shell=") for line in self.lines[:10])
        return self.suffix == ".sh" or sourced or bool({"sh", "bash", "dash"} & set(words))

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def find(self, line, text):
        return Finding(self.path, line, text)


class Tree:
    def __init__(self, root, paths):
        self.root = root
        self.files = [File(root, path) for path in sorted(paths)]
        self.by_path = {file.path: file for file in self.files}

    @classmethod
    def tracked(cls, root):
        command = ["git", "-C", root, "ls-files", "-z"]
        names = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
        # A file may be removed in the work tree and still be tracked; a link is no text.
        return cls(root, [name for name in names if name and is_plain(os.path.join(root, name))])

    def select(self, wanted):
        return [file for file in self.files if file.is_text and wanted(file)]


def is_plain(path):
    return os.path.isfile(path) and not os.path.islink(path)
