# SPDX-License-Identifier: GPL-2.0
"""The static checks of this project: one small function per rule, each with examples of its own."""

# Importing a module registers its rules, in the order of this list.
from . import text_rules, whitespace, layering, kernel_cxx, units, kernels, documents, names, tables, external
from . import field_names
from .registry import RULES
from .tree import Tree

__all__ = ["RULES", "Tree"]
__all__ += ["documents", "external", "kernel_cxx", "kernels", "layering", "names"]
__all__ += ["tables", "text_rules", "field_names", "units", "whitespace"]
