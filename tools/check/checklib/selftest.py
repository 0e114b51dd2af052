# SPDX-License-Identifier: GPL-2.0
"""A check that was never seen to fail proves nothing: runs every rule over its examples."""

import os
import tempfile

from . import cases
from .tree import Tree


def verdict(rule, files):
    """The findings of a rule over a tree of examples."""
    with tempfile.TemporaryDirectory(prefix="check-") as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", newline="") as stream:
                stream.write(text)
        return rule.run(Tree(root, files))


def faults(rule):
    """What is wrong with a rule itself, as text."""
    bad, good = cases.BAD.get(rule.name, []), cases.GOOD.get(rule.name, [])
    if not bad or not good:
        return ["has no examples"]
    found = [f"accepts {files}" for files in bad if not verdict(rule, files)]
    for files in good:
        found += [f"rejects {files}: {finding}" for finding in verdict(rule, files)]
    return found


def count(rule):
    return len(cases.BAD.get(rule.name, [])), len(cases.GOOD.get(rule.name, []))
