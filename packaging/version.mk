# SPDX-License-Identifier: GPL-2.0
# The one place that says which version this is: of the program, the packages and the DKMS tree.
VERSION := 1.1.0
