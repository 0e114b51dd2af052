#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# check-kernel.sh KDIR: says in one line why modules in C++ cannot be built for the kernel whose
# headers or build folder are KDIR. Else it tells what is known of that kernel: "tested", or "untested" where its
# build, and the self-test on the machine, have to show that all is well. CC and KCXX name the compilers, else the
# kernel's are taken, with CROSS_COMPILE before their names.
set -u
kdir=$1
# The series that are tested: one is added when its plan of virtual machines passes.
series='6.1 6.12 7.3'
series_arm64='6.1 6.12 7.3'
no() {
	echo "cxxrt: $*" >&2
	exit 1
}
conf=$kdir/include/config/auto.conf
[ -d "$kdir" ] || no "no kernel headers at $kdir (install linux-headers-..., or give KDIR=...)"
[ -f "$conf" ] || no "$kdir is no kernel build folder (it has no include/config/auto.conf)"
option() { sed -n "s/^CONFIG_$1=//p" "$conf"; }

# By the names of compilers. User-mode Linux is known as the machine that it runs on.
if [ "$(option ARM64)" = y ]; then
	machine=aarch64 series=$series_arm64
elif [ "$(option X86_64)" = y ]; then
	machine=x86_64
else
	no "the kernel at $kdir is of another architecture than x86-64 and arm64"
fi

version=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$kdir/include/generated/utsrelease.h" 2>/dev/null)
# A series as a number that can be compared: 6.12 is 6012.
number() {
	echo "$1" | sed -n 's/^\([0-9]\{1,3\}\)[.]\([0-9]\{1,3\}\)\([^0-9].*\)\{0,1\}$/\1 \2/p' |
		{ read -r major minor && echo $((major * 1000 + minor)); }
}
this=$(number "$version") || no "the kernel at $kdir has no version"
oldest=$(number "${series%% *}")
[ "$this" -ge "$oldest" ] ||
	no "kernel $version at $kdir is older than ${series%% *}, the oldest one that is supported"
known=untested newest=0
for s in $series; do
	newest=$(number "$s")
	[ "$this" -ne "$newest" ] || known=tested
done
[ "$(option CC_IS_CLANG)" != y ] ||
	no "the kernel $version was built with clang; only kernels built with gcc are supported"
[ "$(option RANDSTRUCT)" != y ] ||
	no "the kernel $version has its structs randomized (CONFIG_RANDSTRUCT), which g++ cannot follow"
text=$(option CC_VERSION_TEXT)
text=${text#\"}
cc=${text%% *}
cc=${CC:-${CROSS_COMPILE:-}${cc#"${CROSS_COMPILE:-}"}}
cxx=${KCXX:-$(echo "$cc" | sed 's/gcc/g++/')}
# Unquoted: the kernel's CC may hold a launcher such as ccache before the compiler.
# shellcheck disable=SC2086
have=$($cxx -dumpversion 2>/dev/null) ||
	no "no C++ compiler $cxx; the kernel $version was built with ${text%\"}"
want=$(($(option GCC_VERSION) / 10000))
[ "${have%%.*}" = "$want" ] ||
	no "$cxx is version $have, but the kernel $version was built with gcc $want"
# shellcheck disable=SC2086
target=$($cxx -dumpmachine)
[ "${target%%-*}" = $machine ] ||
	no "$cxx makes programs for ${target%%-*}, but the kernel $version is of $machine" \
		"(ARCH= and CROSS_COMPILE= name another compiler)"
[ "$this" -le "$newest" ] ||
	echo "cxxrt: kernel $version is newer than ${series##* }, the newest one that was tested" >&2
echo "$known"
