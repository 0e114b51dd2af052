#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Installs what a report needs beyond tests/vm/deps.sh: the program that draws its plots. As root, or through sudo.
set -euo pipefail

"$(dirname "$0")/../tests/vm/deps.sh"
if ! command -v gnuplot >/dev/null; then
	sudo=
	[ "$(id -u)" = 0 ] || sudo=sudo
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends gnuplot-nox
fi
