#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# mirror.sh KDIR BUILD PATH...: makes BUILD a copy of the PATHs (relative to the current folder) in
# symbolic links. Kbuild then builds there, and the sources stay clean. A BUILD that was used for
# another KDIR is emptied before.
set -eu
kdir=$1 build=$2
shift 2
top=$PWD
mkdir -p "$build"
if [ "$(cat "$build/.kdir" 2>/dev/null)" != "$kdir" ]; then
	if [ -f "$build/.kdir" ]; then
		find "$build" -mindepth 1 -delete
	elif [ -n "$(ls -A "$build")" ]; then
		echo "cxxrt: $build is not empty, and no build folder" >&2
		exit 1
	fi
	echo "$kdir" >"$build/.kdir"
fi
find "$@" -type d | while read -r dir; do
	[ -d "$build/$dir" ] || mkdir -p "$build/$dir"
done
find "$@" -type f ! -name '.*' ! -name '*.o' ! -name '*.ko' ! -name '*.mod' ! -name '*.mod.c' \
	! -name '*.a' ! -name modules.order |
	while read -r file; do
		[ -L "$build/$file" ] || ln -s "$top/$file" "$build/$file"
	done
# Sources that are gone.
find "$build" -xtype l -delete
