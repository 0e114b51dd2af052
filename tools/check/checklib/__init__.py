# SPDX-License-Identifier: GPL-2.0
"""The static checks of this project: one small function per rule, each with examples of its own."""

# Importing a module registers its rules, in the order of this list.
from . import text_rules, whitespace, layering, kernel_cxx, units, kernels, documents, names, kernel_table, external
from .registry import RULES
from .tree import Tree

__all__ = ["RULES", "Tree"]
__all__ += ["documents", "external", "kernel_cxx", "kernel_table", "kernels", "layering", "names"]
__all__ += ["text_rules", "units", "whitespace"]
