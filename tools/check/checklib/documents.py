# SPDX-License-Identifier: GPL-2.0
"""Documents of the user's interface, held against the code: attributes and module parameters."""

import re
from dataclasses import dataclass, field

from . import layering
from .registry import rule

ABI = "Documentation/ABI/testing/"
TAGS = ["What", "Date", "KernelVersion", "Contact", "Description"]
TAG = re.compile(r"^(What|Date|KernelVersion|Contact|Description|Users):\s*(.*)$")
DATE = re.compile(
    r"^(January|February|March|April|May|June|July|August|September|October|November|December)"
    r" 20\d\d$"
)
# A row of an attribute table: SysfsFile<T>::read_only("state", ...) and its like.
ROW = re.compile(r"\b(?:read_only|read_write|write_only|make)\s*\(\s*\"")
PARAMETER = re.compile(r"^module_param(?:_named|_string|_cb)?\s*\(\s*(\w+)", re.MULTILINE)
FOLDER = re.compile(r"^kmod/\w+/(client|server)/")
LITERAL = re.compile(r"\"([\w/]+)\"")
# Documents whose commands are to be pasted, and a command that something is said of; a line of fstab is none.
PASTED = ("README.md", "Documentation/admin-guide.md", "Documentation/clusters.md", "Documentation/secrecy.md")
SAID = re.compile(r"^    [^ #|].*?\S {3,}[^ #]")


@dataclass
class Entry:
    """One entry of an ABI file: its paths, and the tags in their order."""

    line: int
    paths: list = field(default_factory=list)
    tags: list = field(default_factory=list)
    date: str = ""
    description: str = ""


def parse(file):
    entries = []
    for number, line in enumerate(file.lines, 1):
        found = TAG.match(line)
        tag, value = found.groups() if found else (None, line.strip())
        if tag == "What":
            # Several What lines in a row share one description.
            if not entries or entries[-1].tags[-1] != "What":
                entries.append(Entry(number))
            entries[-1].paths.append(value)
        if not entries:
            continue
        entry = entries[-1]
        if tag and not (tag == "What" and "What" in entry.tags):
            entry.tags.append(tag)
        if tag == "Date":
            entry.date = value
        if entry.tags and entry.tags[-1] == "Description":
            entry.description += value
    return entries


def classes_of(file):
    """The classes whose files a source may provide: one for client/ and server/, else both."""
    module = layering.module_of(file.path)
    if module is None:
        return []
    side = FOLDER.match(file.path)
    sides = [side.group(1)] if side else ["client", "server"]
    return [f"{module}-{side}" for side in sides]


@rule("abi-format", "Documentation/ABI has the kernel's format, each entry complete")
def abi_format(tree):
    findings = []
    for file in tree.select(lambda file: file.path.startswith(ABI)):
        entries = parse(file)
        if not entries:
            findings.append(file.find(1, "no entry"))
        for entry in entries:
            if [tag for tag in entry.tags if tag != "Users"] != TAGS:
                findings.append(file.find(entry.line, f"tags {entry.tags}, expected {TAGS}"))
            if not DATE.match(entry.date):
                findings.append(file.find(entry.line, f"'{entry.date}' is no 'Month Year'"))
            if not entry.description:
                findings.append(file.find(entry.line, "the description is empty"))
            findings += [
                file.find(entry.line, f"'{path}' is no path below /sys")
                for path in entry.paths
                if not path.startswith("/sys/")
            ]
    return findings


def documented(tree):
    """{class: {file name: (file, line)}} of what Documentation/ABI describes."""
    found = {}
    for file in tree.select(lambda file: file.path.startswith(ABI)):
        cls = file.name.removeprefix("sysfs-class-")
        for entry in parse(file):
            for path in entry.paths:
                name = path.rstrip("/").rsplit("/", 1)[-1]
                if "<" not in name:
                    found.setdefault(cls, {})[name] = (file, entry.line)
    return found


def literals(tree):
    """{class: the string literals of its module}, for the classes that have code of their own."""
    sources = tree.select(lambda file: file.is_c or file.is_cxx)
    found = {cls: set() for f in sources if FOLDER.match(f.path) for cls in classes_of(f)}
    for file in sources:
        texts = LITERAL.findall(file.text)
        for cls in set(classes_of(file)) & set(found):
            found[cls].update(texts, *[text.split("/") for text in texts])
    return found


@rule("abi-complete", "every attribute is documented, and every documented entry is in the code")
def abi_complete(tree):
    described, words = documented(tree), literals(tree)
    findings = []
    for file in tree.select(lambda file: file.is_cxx and classes_of(file)):
        known = {name for cls in classes_of(file) for name in described.get(cls, {})}
        for row in ROW.finditer(file.code):
            name = LITERAL.match(file.text, row.end() - 1)
            if name and name.group(1) not in known:
                line = file.line_of(row.start())
                findings.append(file.find(line, f"'{name.group(1)}' is not in {ABI}"))
    for cls, entries in described.items():
        # A class without code yet has nothing to be held against.
        for name, (file, line) in entries.items():
            if cls in words and name != cls and name not in words[cls]:
                findings.append(file.find(line, f"{cls} has no '{name}'"))
    return findings


@rule("parameters", "every module parameter is in Documentation/modules.md")
def parameters(tree):
    document = tree.by_path.get("Documentation/modules.md")
    described = document.text if document else ""
    findings = []
    for file in tree.select(lambda file: file.is_c and file.path.startswith("kmod/")):
        for found in PARAMETER.finditer(file.code):
            if not re.search(rf"\b{found.group(1)}\b", described):
                line = file.line_of(found.start())
                findings.append(file.find(line, f"'{found.group(1)}' is not in Documentation/modules.md"))
    return findings


@rule("guide-paste", "what a guide says of a command stands behind #, so that a block can be pasted")
def guide_paste(tree):
    return [
        file.find(number, "what is said of a command stands behind #")
        for file in tree.select(lambda file: file.path in PASTED)
        for number, line in enumerate(file.lines, 1)
        if SAID.match(line) and "_netdev" not in line
    ]
