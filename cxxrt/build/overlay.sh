#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# overlay.sh ARCH RULES LIST OUT INCDIR... -- CC FLAG...
#
# Writes patched copies of kernel headers to OUT/include. INCDIRs are the kernel's include folders in
# search order; CC and its flags compile C as the kernel does. LIST is the list of headers. RULES are one or more
# files, in one word; ARCH is what they call the architecture.
#
# 1. A struct without members has size 0 in C and 1 in C++. The C compiler finds them all, for the
#    configuration at hand: each place gets a zero-length array, which makes it 0 in C++ too.
# 2. RULES are edits that no macro can do; see overlay/header.rules. Each has its whole effect or none: half a rule
#    fails the script, since it may compile and mean something else. Those of another architecture are not tried.
#
# OUT/overlay.log tells what was done, and which rules had no effect: "idle" are those that all kernels needed that
# were tried so far, where explain.sh looks first if the headers do not compile.
set -eu
arch=$1 rules=$2 list=$3 out=$4
shift 4
dirs=
while [ "$1" != -- ]; do
	dirs="$dirs $1"
	shift
done
shift

rm -rf "$out/include"
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

if ! LC_ALL=C "$@" -I"${list%/cxxrt/*}" -DCXXRT_CANARY -Wc++-compat -fdiagnostics-column-unit=byte -fsyntax-only -x c \
	"$list" >"$out/c.log" 2>&1; then
	grep error: "$out/c.log" >&2
	echo "cxxrt: the kernel's headers do not compile as C" >&2
	exit 1
fi

# Last place of a file first, so that the places before it stay where they are. One of them is the canary of LIST.
sed -n 's/^\([^ :]*\):\([0-9]*\):\([0-9]*\): warning: empty \(struct\|union\) has size 0 in C.*/\1 \2 \3/p' \
	"$out/c.log" | sort -u -k1,1 -k2,2nr -k3,3nr >"$out/empty"
if ! grep -qF "$list " "$out/empty"; then
	echo "cxxrt: the compiler does not tell which structs are empty (see $out/c.log)" >&2
	exit 1
fi
while read -r file line column; do
	[ "$file" != "$list" ] || continue
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

# Ends the rule that was read: it has changed all that it names, or nothing.
finish() {
	[ -n "$header" ] && [ -z "$skipped" ] || return 0
	if [ "$changed" -gt 0 ] && [ "$unchanged" -gt 0 ]; then
		echo "cxxrt: a rule matches $header in part only, without effect is: $idle" >&2
		failed=1
	elif [ "$changed" -eq 0 ]; then
		printf '%s: %s | %s\n' "${optional:-idle}" "$header" "$idle" >>"$log"
	fi
}

# Applies sed program $1 to the header of the rule.
edit() {
	[ -z "$skipped" ] || return 0
	if [ -z "$file" ]; then
		unchanged=$((unchanged + 1)) idle=$1
		return
	fi
	fetch "$file" "$header"
	sed -E "$1" "$out/include/$header" >"$out/edited" || {
		echo "cxxrt: bad rule: $1" >&2
		exit 1
	}
	if cmp -s "$out/edited" "$out/include/$header"; then
		unchanged=$((unchanged + 1)) idle=$1
	else
		changed=$((changed + 1))
		cat "$out/edited" >"$out/include/$header"
	fi
}

header='' skipped='' failed=0
# shellcheck disable=SC2086 # names of files
grep -hv '^#' $rules >"$out/rules"
while IFS= read -r rule; do
	case $rule in
	'') ;;
	'+ '*) edit "${rule#+ }" ;;
	*' | '*)
		finish
		optional='' skipped='' changed=0 unchanged=0 idle=''
		case $rule in
		'? '*) optional='not for this kernel' rule=${rule#? } ;;
		esac
		case $rule in
		"[$arch] "*) rule=${rule#*] } ;;
		'['*) skipped=1 rule=${rule#*] } ;;
		esac
		header=${rule%% | *}
		file=$(find_header "$header")
		edit "${rule#* | }"
		;;
	*)
		echo "cxxrt: no rule: $rule" >&2
		failed=1
		;;
	esac
done <"$out/rules"
finish
rm -f "$out/edited" "$out/rules"
[ "$failed" -eq 0 ]
