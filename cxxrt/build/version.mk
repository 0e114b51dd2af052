# SPDX-License-Identifier: GPL-2.0
# The one place that says which version of cxxrt this is; ../CHANGELOG.md says what is in it. The first number counts
# changes after which projects have to change, the second one additions.
CXXRT_VERSION := 1.3.0
