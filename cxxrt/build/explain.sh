#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# explain.sh DIR KDIR: why the kernel's headers do not compile as C++, in ten lines at the most: the first error of
# DIR/cxx.log with its construct, and the rules of header.rules that had no effect on this kernel (DIR/overlay.log),
# first of all those of the header with the error. An error may be far from the rule that would have prevented it.
set -eu
dir=$1 kdir=$2
log=$dir/cxx.log
echo "cxxrt: this kernel's headers do not compile as C++"
echo "The first error, of $(grep -c 'error: ' "$log"):"
grep -m 1 -A 1 'error: ' "$log" | cut -c1-200
place=$(sed -n '/error: /{s/:.*//;p;q}' "$log")
idle=$(sed -n 's/^idle: //p' "$dir/overlay.log")
count=$(printf '%s' "$idle" | grep -c . || true)
echo "Rules of header.rules without effect that every kernel needed so far: $count (all in $dir/overlay.log)"
# Those of its header first.
printf '%s\n' "$idle" | awk -v place="$place" '
	$1 != "" && index(place, $1) { print }
	$1 != "" && !index(place, $1) { others = others $0 "\n" }
	END { printf "%s", others }' | head -n 4 | cut -c1-160 | sed 's/^/	/'
echo "\"make report KDIR=$kdir\", in the folder of the sources, packs what is needed to mend it."
