# SPDX-License-Identifier: GPL-2.0
"""The tables in README.md that are made of stored reports, each between two marks. tools/tables writes them."""

import os

from . import bench_rows, kernel_rows
from .registry import rule
from .tree import Tree

README = "README.md"
# By the name in the marks: modules that have REPORTS, the folder, fields() of a report, and render(), the lines.
TABLES = {"kernels": kernel_rows, "instructions": bench_rows}


def marks(name):
    return f"<!-- {name}: written by tools/tables -->\n", f"<!-- {name}: end -->\n"


def place(text, name):
    """Where a table stands in the text of README: (begin, end), or None."""
    first, last = marks(name)
    begin, end = text.find(first), text.find(last)
    return (begin + len(first), end) if 0 <= begin < end else None


def check(tree, name):
    table = TABLES[name]
    readme = tree.by_path.get(README)
    at = place(readme.text, name) if readme else None
    if not at:
        return [readme.find(1, f"no '{marks(name)[0].strip()}' with its end")] if readme else []
    findings = []
    for file in tree.files:
        if file.path.startswith(table.REPORTS):
            try:
                table.fields(file)
            except ValueError as fault:
                findings.append(file.find(1, str(fault)))
    try:
        if not findings and readme.text[at[0] : at[1]] != table.render(tree):
            findings.append(readme.find(readme.line_of(at[0]), "another table than that of tools/tables"))
    except ValueError as fault:
        findings.append(readme.find(readme.line_of(at[0]), str(fault)))
    return findings


@rule("kernel-table", "README's table of kernels is what the stored reports of test runs make")
def kernel_table(tree):
    return check(tree, "kernels")


@rule("bench-table", "README's table of instructions is what the stored report of measurements makes")
def bench_table(tree):
    return check(tree, "instructions")


def write(top):
    """README anew; the name of a table, or a reason, if that can't be done."""
    tree = Tree.tracked(top)
    # A new report is not tracked yet.
    paths = set(tree.by_path)
    for table in TABLES.values():
        folder = os.path.join(top, table.REPORTS)
        paths.update(table.REPORTS + name for name in (os.listdir(folder) if os.path.isdir(folder) else []))
    tree = Tree(top, paths)
    readme = tree.by_path[README]
    text = readme.text
    for name, table in TABLES.items():
        at = place(text, name)
        if not at:
            raise ValueError(f"README.md has no '{marks(name)[0].strip()}' with its end")
        text = text[: at[0]] + table.render(tree) + text[at[1] :]
    with open(readme.full, "w", encoding="utf-8") as stream:
        stream.write(text)
