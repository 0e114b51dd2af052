#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# overlay.sh RULES LIST OUT INCDIR... -- CC FLAG...
#
# Writes patched copies of kernel headers to OUT/include. INCDIRs are the kernel's include folders in
# search order; CC and its flags compile C as the kernel does. LIST is the list of headers.
#
# 1. A struct without members has size 0 in C and 1 in C++. The C compiler finds them all, for the
#    configuration at hand: each place gets a zero-length array, which makes it 0 in C++ too.
# 2. RULES are edits that no macro can do, one per line: header | program of "sed -E".
#
# OUT/overlay.log tells what was done, and which rules had no effect.
set -eu
rules=$1 list=$2 out=$3
shift 3
dirs=
while [ "$1" != -- ]; do
	dirs="$dirs $1"
	shift
done
shift

rm -rf "$out"
mkdir -p "$out/include"
log=$out/overlay.log
: >"$log"

# The file that the compiler reads for <$1>, or nothing.
find_header() {
	for d in $dirs; do
		if [ -f "$d/$1" ]; then
			echo "$d/$1"
			return
		fi
	done
}

# Puts a copy of file $1, which is header <$2>, into OUT to work on.
fetch() {
	[ ! -f "$out/include/$2" ] || return 0
	mkdir -p "$out/include/${2%/*}"
	cat "$1" >"$out/include/$2"
}

# Name of header file $1 relative to the include folder that it was found in: the shortest one, as
# one include folder may lie in another.
header_name() {
	name=
	for d in $dirs; do
		case $1 in
		"$d"/*)
			n=${1#"$d"/}
			if [ -z "$name" ] || [ ${#n} -lt ${#name} ]; then name=$n; fi
			;;
		esac
	done
	echo "$name"
}

if ! "$@" -I"${list%/cxxrt/*}" -Wc++-compat -fdiagnostics-column-unit=byte -fsyntax-only -x c \
	"$list" >"$out/c.log" 2>&1; then
	grep error: "$out/c.log" >&2
	echo "cxxrt: the kernel's headers do not compile as C" >&2
	exit 1
fi

# Last place of a file first, so that the places before it stay where they are.
sed -n 's/^\([^ :]*\):\([0-9]*\):\([0-9]*\): warning: empty \(struct\|union\) has size 0 in C.*/\1 \2 \3/p' \
	"$out/c.log" | sort -u -k1,1 -k2,2nr -k3,3nr >"$out/empty"
while read -r file line column; do
	h=$(header_name "$file")
	# __DECLARE_FLEX_ARRAY(), which the shadow of stddef.h replaces.
	[ "$h" != linux/stddef.h ] || continue
	if [ -z "$h" ] || [ "$(find_header "$h")" != "$file" ]; then
		echo "cxxrt: no way to put a patched $file before the kernel's" >&2
		exit 1
	fi
	fetch "$file" "$h"
	awk -v line="$line" -v column="$column" '
	NR < line || done { print; next }
	{
		start = NR == line ? column : 1
		brace = index(substr($0, start), "{")
		if (brace) {
			brace += start - 1
			$0 = substr($0, 1, brace) " char __cxxrt_empty_" line "_" column "[0];" \
				substr($0, brace + 1)
			done = 1
		}
		print
	}' "$out/include/$h" >"$out/edited"
	cat "$out/edited" >"$out/include/$h"
	echo "empty in C: $h:$line" >>"$log"
done <"$out/empty"

grep -v '^#' "$rules" >"$out/rules"
while IFS= read -r rule; do
	[ -n "$rule" ] || continue
	h=${rule%% | *} program=${rule#* | }
	file=$(find_header "$h")
	if [ -z "$file" ]; then
		printf 'rule without header: %s\n' "$rule" >>"$log"
		continue
	fi
	fetch "$file" "$h"
	sed -E "$program" "$out/include/$h" >"$out/edited" || {
		echo "cxxrt: bad rule: $rule" >&2
		exit 1
	}
	! cmp -s "$out/edited" "$out/include/$h" ||
		printf 'rule without effect: %s\n' "$rule" >>"$log"
	cat "$out/edited" >"$out/include/$h"
done <"$out/rules"
rm -f "$out/edited" "$out/rules"
