# SPDX-License-Identifier: GPL-2.0
"""Files that are compiled as one unit (`foo-cc` in a Kbuild file) share their anonymous namespace. Two types or
constants of one name are an error there; two functions are overloads, and a call in another file may mean the wrong
one.
"""

import os
import re

from . import scan
from .registry import rule

LIST = re.compile(r"^\S+-cc\s*:?=\s*((?:.*\\\n)*.*)", re.MULTILINE)
ALONE = re.compile(r"^namespace \{\n.*?^\} // namespace$", re.MULTILINE | re.DOTALL)
# Not of a class, which is looked up there.
NAME = re.compile(r"(?<![\w:.>])([A-Za-z_]\w*)\(")
NO_FUNCTION = {"alignas", "decltype", "operator", "requires", "static_assert", "__attribute__"}


@rule("unit-names", "functions of a file alone are named like none of another file of its unit, and none of a header")
def unit_names(tree):
    headers = {}
    for file in tree.select(lambda file: file.suffix == ".hh" and file.path.startswith(("cxxrt/include/", "kmod/"))):
        for _, name in functions(file):
            headers.setdefault(name, file.path)
    findings = []
    for unit in units(tree):
        owners = {}
        for file in unit:
            regions = [found.span() for found in ALONE.finditer(file.text)]
            for offset, name in functions(file):
                if not any(start <= offset < end for start, end in regions):
                    continue
                owner = owners.setdefault(name, file.path)
                other = owner if owner != file.path else headers.get(name)
                if other:
                    findings.append(file.find(file.line_of(offset), f"{name}() is in {other}, too"))
    return findings


def units(tree):
    for kbuild in tree.select(lambda file: file.name == "Kbuild"):
        for found in LIST.finditer(kbuild.text):
            names = found.group(1).replace("\\\n", " ").split()
            paths = [os.path.join(os.path.dirname(kbuild.path), name) for name in names]
            yield [tree.by_path[path] for path in paths if path in tree.by_path]


def functions(file):
    """Offsets and names of the functions outside of classes."""
    for found in scan.declarations(file.code):
        if found.scope != scan.NAMESPACE or found.end == scan.CLASS or found.end == scan.NAMESPACE:
            continue
        text = scan.strip_requires(scan.strip_template(found.text))
        name = NAME.search(text)
        if name and name[1] not in NO_FUNCTION and "=" not in text[:name.start()] and not name[1].isupper():
            yield found.offset, name[1]
