# SPDX-License-Identifier: GPL-2.0
"""Documents of cxxrt, held against its sources: what they name is there."""

import re

from .registry import rule

GUIDE = "Documentation/cxxrt.md"
DOCUMENTS = (GUIDE, "cxxrt/README.md", "cxxrt/CHANGELOG.md")
SPAN = re.compile(r"`([^`\n]+)`")
# A name of the code: two words in one, by a capital letter or an underscore. What else a word may be.
COMPOUND = re.compile(r"\b(?:[A-Z]+[a-z]\w*[A-Z]\w*|[A-Za-z]\w*_\w*)\b")
CAMEL = re.compile(r"\b[A-Z]+[a-z]\w*[A-Z]\w*\b")
QUALIFIED = re.compile(r"\bcxxrt::(\w+)")
FILE = re.compile(r"(?<![\w/$(<.])((?:[\w.-]+/)*[\w-]+\.(?:hh?|cc?|sh|mk|awk|rules|inc|py))(?![\w/])")
HEADER = re.compile(r"<(cxxrt/[\w/]+\.hh?)>")
PUBLIC = re.compile(r"^cxxrt/include/cxxrt/(\w+\.hh?)$")
# Made by the build, or of examples.
OTHER_FILES = ("cxxrt/probes.h", "cxxrt/project.h", "foo.c", "foo.cc")
# Of the kernel, of the compiler, or of examples.
OTHER_WORDS = {"CXXRT_PROBE_name", "gnu_inline", "init_waitqueue_head", "mutex_init"}
VERSION = re.compile(r"^CXXRT_VERSION := (\S+)$", re.MULTILINE)
NEWEST = re.compile(r"^## (\S+)$", re.MULTILINE)


@rule("cxxrt-names", "what the documents of cxxrt, and comments of its headers, name is in the sources")
def cxxrt_names(tree):
    words, files = OTHER_WORDS | known_words(tree), known_files(tree)
    findings = []
    for file in tree.select(lambda file: file.path in DOCUMENTS):
        for number, names, wanted in named(file):
            findings += [file.find(number, f"nothing is named {name}") for name in sorted(names - words)]
            findings += [file.find(number, f"there is no {name}") for name in sorted(wanted - files)]
    for file in tree.select(lambda file: file.path.startswith("cxxrt/include/") and file.suffix == ".hh"):
        for number, text in enumerate(comments(file), 1):
            unknown = sorted(set(CAMEL.findall(text)) - words)
            findings += [file.find(number, f"nothing is named {name}") for name in unknown]
    return findings


@rule("cxxrt-headers", "the guide of cxxrt names each of its headers")
def cxxrt_headers(tree):
    guide = tree.by_path.get(GUIDE)
    headers = [found for found in map(PUBLIC.match, sorted(tree.by_path)) if found and guide]
    return [
        guide.find(1, f"does not name {found.group(1)}")
        for found in headers
        if f"`{found.group(1)}`" not in guide.text
    ]


def known_words(tree):
    """All words of the sources, outside of comments and literals."""
    sources = tree.select(lambda file: file.suffix != ".md" and not file.path.startswith("tools/check/"))
    texts = (file.code if file.is_c or file.is_cxx else file.text for file in sources)
    return {word for text in texts for word in re.findall(r"\w+", text)}


def known_files(tree):
    """The paths of all files, each also without the folders that it begins with."""
    ends = {path[at:] for path in tree.by_path for at in starts(path)}
    return ends.union(OTHER_FILES)


def starts(path):
    """Where the name of each folder, and of the file, begins."""
    return [0, *(found.end() for found in re.finditer("/", path))]


def named(document):
    """(line number, names, files) of each line. Code of an example has names of its own."""
    fenced = False
    for number, line in enumerate(document.lines, 1):
        if line.startswith("```"):
            fenced = not fenced
            continue
        names, files = set(QUALIFIED.findall(line)), set(HEADER.findall(line))
        if not fenced and not line.startswith("    "):
            names |= set(COMPOUND.findall(line))
            files |= {name for span in SPAN.findall(line) for name in FILE.findall(span)}
        yield number, names, files


def comments(file):
    """Each line without its code."""
    for text, code in zip(file.lines, file.code_lines):
        yield "".join(" " if char == kept else char for char, kept in zip(text, code.ljust(len(text))))


@rule("cxxrt-version", "the changelog of cxxrt begins with its version")
def cxxrt_version(tree):
    version = tree.by_path.get("cxxrt/build/version.mk")
    changes = tree.by_path.get("cxxrt/CHANGELOG.md")
    if not version or not changes:
        return []
    says, newest = VERSION.search(version.text), NEWEST.search(changes.text)
    if says and newest and says.group(1) == newest.group(1):
        return []
    return [changes.find(1, f"the newest entry is not {says.group(1) if says else 'a version'}")]
