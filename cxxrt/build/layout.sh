#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# layout.sh DIR: compares every type of DIR/layout-c.o (kernel headers as C) with the one of the same
# name in DIR/layout-cxx.o (as C++): size, member offsets, bit fields, enumerators. A difference means
# that C++ code would corrupt the kernel's memory, so the build ends here.
set -eu
dir=$1
# C++ sees these two otherwise for known reasons: sk_buff_head has a member of a named type that
# skbuff.h declares inside it, and __va_list_tag belongs to the compiler.
known='^type (sk_buff_head|__va_list_tag) '
here=${0%/*}
keywords=$(sed -n 's/^#define \([^ ]*\) .*/\1/p' "$here/../include/cxxrt/overlay/keywords-on.h" | tr '\n' ' ')
for lang in c cxx; do
	"${READELF:-readelf}" --debug-dump=info "$dir/layout-$lang.o" 2>/dev/null |
		"${AWK:-awk}" -v keywords="$keywords" -f "$here/layout.awk" |
		LC_ALL=C sort -u >"$dir/layout-$lang"
done
LC_ALL=C comm -23 "$dir/layout-c" "$dir/layout-cxx" | grep -Ev "$known" >"$dir/layout-diff" || true
count=$(wc -l <"$dir/layout-c")
if [ "$count" -lt 1000 ]; then
	echo "cxxrt: only $count types found to compare: the debug information was not understood" >&2
	exit 1
fi
if [ -s "$dir/layout-diff" ]; then
	cut -c1-150 "$dir/layout-diff" >&2
	echo "cxxrt: these kernel types have another layout in C++ ($dir/layout-diff)" >&2
	exit 1
fi
echo "$count types have the same layout in C and in C++"
