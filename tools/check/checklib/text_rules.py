# SPDX-License-Identifier: GPL-2.0
"""Rules that hold for every text file, whatever its language."""

import os
import re

from .registry import rule

LICENSE = "SPDX-License-Identifier: GPL-2.0"
# How the first comment line begins and ends, by the kind of file.
HASH, SLASHES, MARKUP, REST = ("# ", ""), ("// ", ""), ("<!-- ", " -->"), (".. ", "")
COMMENT_OF_SUFFIX = {
    ".c": SLASHES,
    ".cc": SLASHES,
    ".h": SLASHES,
    ".hh": SLASHES,
    ".S": SLASHES,
    ".inc": SLASHES,
    ".pml": SLASHES,
    ".md": MARKUP,
    ".svg": MARKUP,
    ".xml": MARKUP,
    ".rst": REST,
}
# Formats without comments, data of tests, and the licence itself.
NO_COMMENT = re.compile(r"(^|/)LICENSE$|\.(json|txt|bin|csv|patch)$|(^|/)(golden|data)/")
ABI = re.compile(r"^Documentation/ABI/[a-z]+/")

SPECIFICATION = "Documentation/protocol.md"
MAX_LINES = 500
CODE_SUFFIXES = (".c", ".cc", ".h", ".hh", ".S", ".py", ".sh", ".mk", ".awk", ".rules")


def comment_of(file):
    if ABI.match(file.path):
        return REST
    return COMMENT_OF_SUFFIX.get(file.suffix, HASH)


@rule("spdx", "the first line of every file that can carry a comment is the SPDX line")
def spdx(tree):
    findings = []
    for file in tree.select(lambda file: not NO_COMMENT.search(file.path)):
        opening, closing = comment_of(file)
        expected = [opening + LICENSE + closing]
        # The kernel's form for C headers.
        if file.suffix in (".h", ".inc", ".S"):
            expected.append(f"/* {LICENSE} */")
        # A line that the system reads first (#!, <?xml) goes before it.
        at = 1 if file.text.startswith(("#!", "<?xml")) else 0
        if len(file.lines) <= at or file.lines[at] not in expected:
            findings.append(file.find(at + 1, f"expected the line '{expected[0]}'"))
    return findings


@rule("length", f"no code file is longer than {MAX_LINES} lines: a longer one has two subjects")
def length(tree):
    code = tree.select(lambda file: file.suffix in CODE_SUFFIXES or file.interpreter)
    return [
        file.find(MAX_LINES + 1, f"{len(file.lines)} lines, more than {MAX_LINES}")
        for file in code
        if len(file.lines) > MAX_LINES
    ]


# The words are put together here so that this file and its examples do not contain them.
MARKS = ["TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK"]
UNFINISHED = re.compile(r"\b(" + "|".join(MARKS) + r")\b")
UNFINISHED_TEXT = re.compile(r"\b(un|not (yet )?)implemented\b", re.IGNORECASE)


@rule("unfinished", "no marks of unfinished work")
def unfinished(tree):
    findings = []
    # The specification speaks of what other implementations left undone.
    exempt = ("tools/check/", SPECIFICATION)
    for file in tree.select(lambda file: not file.path.startswith(exempt)):
        for number, line in enumerate(file.lines, 1):
            mark = UNFINISHED.search(line) or UNFINISHED_TEXT.search(line)
            if mark:
                findings.append(file.find(number, f"'{mark.group()}' marks unfinished work"))
    return findings


HOSTS = [
    "deb.debian.org",
    "security.debian.org",
    "snapshot.debian.org",
    "ftp.debian.org",
    "registry.npmjs.org",
    "pypi.org",
    "proxy.golang.org",
    "crates.io",
]
PLACES = re.compile(
    r"(?<![\w.}*)>/-])/(?:scratch|work|home/\w+)(?=[/\s\"'`,;:)]|$)|"
    + "|".join(r"\b" + re.escape(host) + r"\b" for host in HOSTS)
)


@rule("places", "nothing names a folder of one machine or the host of a package registry")
def places(tree):
    findings = []
    for file in tree.select(lambda file: not file.path.startswith("tools/check/checklib/")):
        for number, line in enumerate(file.lines, 1):
            place = PLACES.search(line)
            if place:
                findings.append(file.find(number, f"'{place.group()}' exists on one machine only"))
    return findings


LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")


@rule("links", "every relative link in a document leads to a tracked file or folder")
def links(tree):
    folders = {os.path.dirname(path) for path in tree.by_path}
    folders |= {parent for folder in folders for parent in parents(folder)}
    findings = []
    for file in tree.select(lambda file: file.suffix == ".md"):
        for number, line in enumerate(file.lines, 1):
            for target in LINK.findall(line):
                if re.match(r"[a-z]+:", target):
                    continue
                path = os.path.normpath(os.path.join(os.path.dirname(file.path), target))
                if path not in tree.by_path and path not in folders:
                    findings.append(file.find(number, f"'{target}' leads nowhere"))
    return findings


def parents(folder):
    while folder:
        folder = os.path.dirname(folder)
        yield folder


SECTION = re.compile(r"^#+ ([A-I](?:\.\d+)*)\.? ", re.MULTILINE)
CITED = re.compile(r"\bprotocol(?:\.md)? ([A-I](?:\.\d+)*)\b")


@rule("citations", "every section of the protocol that is cited exists")
def citations(tree):
    specification = tree.by_path.get(SPECIFICATION)
    known = set(SECTION.findall(specification.text)) if specification else set()
    findings = []
    for file in tree.select(lambda file: not file.path.startswith("tools/check/checklib/")):
        for number, line in enumerate(file.lines, 1):
            for section in CITED.findall(line):
                if section not in known:
                    findings.append(file.find(number, f"there is no section {section}"))
    return findings
