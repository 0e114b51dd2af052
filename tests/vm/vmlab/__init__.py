# SPDX-License-Identifier: GPL-2.0
"""A laboratory of virtual machines for kernel modules: see ../README.md."""
