# SPDX-License-Identifier: GPL-2.0
"""The tables in documents that are made of stored reports, each between two marks. tools/tables writes them."""

import os

from . import bench_rows, kernel_rows
from .registry import rule
from .tree import Tree

# By the name in the marks: modules that have DOCUMENT, where the table stands, REPORTS, the folder, fields() of a
# report, and render(), the lines.
TABLES = {"kernels": kernel_rows, "instructions": bench_rows}


def marks(name):
    return f"<!-- {name}: written by tools/tables -->\n", f"<!-- {name}: end -->\n"


def place(text, name):
    """Where a table stands in the text of its document: (begin, end), or None."""
    first, last = marks(name)
    begin, end = text.find(first), text.find(last)
    return (begin + len(first), end) if 0 <= begin < end else None


def check(tree, name):
    table = TABLES[name]
    document = tree.by_path.get(table.DOCUMENT)
    at = place(document.text, name) if document else None
    if not at:
        return [document.find(1, f"no '{marks(name)[0].strip()}' with its end")] if document else []
    findings = []
    for file in tree.files:
        if file.path.startswith(table.REPORTS):
            try:
                table.fields(file)
            except ValueError as fault:
                findings.append(file.find(1, str(fault)))
    try:
        if not findings and document.text[at[0] : at[1]] != table.render(tree):
            findings.append(document.find(document.line_of(at[0]), "another table than that of tools/tables"))
    except ValueError as fault:
        findings.append(document.find(document.line_of(at[0]), str(fault)))
    return findings


@rule("kernel-table", "README's table of kernels is what the stored reports of test runs make")
def kernel_table(tree):
    return check(tree, "kernels")


@rule("bench-table", "the table of instructions in bench/README.md is what the stored report of measurements makes")
def bench_table(tree):
    return check(tree, "instructions")


def write(top):
    """The documents anew; the name of a table, or a reason, if that can't be done."""
    tree = Tree.tracked(top)
    # A new report is not tracked yet.
    paths = set(tree.by_path)
    for table in TABLES.values():
        folder = os.path.join(top, table.REPORTS)
        paths.update(table.REPORTS + name for name in (os.listdir(folder) if os.path.isdir(folder) else []))
    tree = Tree(top, paths)
    for name, table in TABLES.items():
        document = tree.by_path[table.DOCUMENT]
        at = place(document.text, name)
        if not at:
            raise ValueError(f"{table.DOCUMENT} has no '{marks(name)[0].strip()}' with its end")
        text = document.text[: at[0]] + table.render(tree) + document.text[at[1] :]
        with open(document.full, "w", encoding="utf-8") as stream:
            stream.write(text)
