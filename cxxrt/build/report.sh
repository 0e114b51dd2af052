#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# report.sh KDIR BUILD MAKE...: packs what is needed to support a kernel whose modules do not build, or do not pass the
# self-test, into BUILD-report.tar.gz: what MAKE, which builds them once more, says and finds, the kernel's version and
# configuration, the compilers' versions. No source of the kernel's, and nothing of the machine but the lines of the
# self-test in its kernel's log.
set -eu
kdir=$1 build=$2
shift 2
gen=$build/.cxxrt-gen
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
report=$work/cxxrt-report
mkdir "$report"
cp "$kdir/include/config/auto.conf" "$kdir/include/generated/utsrelease.h" "$report/" 2>/dev/null ||
	{ echo "cxxrt: $kdir is no kernel build folder" >&2; exit 1; }
mkdir -p "$(dirname "$build")"
"$@" >"$work/make.log" 2>&1 || true
tail -n 3000 "$work/make.log" >"$report/make.log"
for file in overlay.log c.log cxx.log empty layout-diff probes/cxxrt/probes.h probes/cxxrt/probes.h.log; do
	[ ! -f "$gen/$file" ] || cp "$gen/$file" "$report/"
done
{
	uname -srm
	sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null || true
	for tool in "${CC:-gcc}" "${KCXX:-g++}" "${READELF:-readelf}" make; do
		$tool --version 2>&1 | head -n 1
	done
} >"$report/machine"
dmesg 2>/dev/null | grep cxxrt >"$report/selftest" || true
tar -czf "$build-report.tar.gz" -C "$work" cxxrt-report
echo "$build-report.tar.gz"
