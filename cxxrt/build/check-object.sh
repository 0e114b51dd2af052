#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# check-object.sh OBJECT: fails, with a line that says why, if a C++ object holds something that does
# not work in a kernel module. The examples of all that is refused are in tests/cxxrt/reject/.
set -u
object=$1
symbols=$("${NM:-nm}" "$object") || exit 1
sections=$("${READELF:-readelf}" -gSW "$object") || exit 1

# $1: reason, $2: what was found, nothing if all is well
refuse() {
	[ -n "$2" ] || return 0
	echo "$object: $1:" >&2
	echo "$2" | head -n 8 | sed 's/^ */	/' >&2
	exit 1
}

# Entries of the tables of functions that C++ runs at start and end.
start_entries() {
	bytes=0
	tables='(init_array|fini_array|ctors|dtors)[.0-9]*'
	for size in $(echo "$sections" |
		sed -nE "s/.*\] +\.$tables +[A-Z_]+ +[0-9a-f]+ +[0-9a-f]+ +([0-9a-f]+) .*/\2/p"); do
		bytes=$((bytes + 0x$size))
	done
	echo $((bytes / 8))
}

refuse "a global needs code to run before the module's init (make it constinit)" \
	"$(echo "$symbols" | grep -E ' _GLOBAL__(sub_)?[ID]_')"
# With CONFIG_KASAN and with gcov the compiler adds such functions of its own, which these kernels do
# run. Their names cannot be written in C++ by chance.
own=$(echo "$symbols" | grep -cE ' t _sub_[ID]_[0-9]+_[0-9]+$')
[ "$(start_entries)" -eq "$own" ] ||
	refuse "a constructor or destructor function, which nothing runs" \
		"$(echo "$sections" | grep -E ' \.((init|fini)_array|ctors|dtors)')"
refuse "a local static that is initialized at run time" "$(echo "$symbols" | grep -E ' _ZGV')"
refuse "a thread-local variable" "$(echo "$sections" | grep -E ' \.t(data|bss)')"
# -fno-weak makes them common symbols, which the module loader does not take.
refuse "a static variable of an inline function or template (use an anonymous namespace)" \
	"$(echo "$symbols" | grep -E ' C ')"
# Sections of such groups are dropped by "ld -r", what refers to them (__mcount_loc, __bug_table) not.
refuse "a COMDAT group" "$(echo "$sections" | grep COMDAT)"
refuse "a call of the C++ runtime" "$(echo "$symbols" |
	grep -E ' U (__cxa_|__gxx_|__dynamic_cast|_Unwind_|_ZSt|_ZNK?St|_ZTVN10__cxxabiv1)' |
	grep -v ' U __cxa_pure_virtual$')"
refuse "operator new without gfp flags" "$(echo "$symbols" | grep -E ' U _Zn[wa]')"
case $("${READELF:-readelf}" -h "$object") in
*X86-64*)
	refuse "SSE or x87 registers" "$("${OBJDUMP:-objdump}" -d --no-show-raw-insn "$object" |
		grep -E '%[xyz]mm[0-9]|%mm[0-7]|%st|	f[a-z]')"
	;;
*AArch64*)
	# Addresses of code look like registers: "b d0 <name>".
	refuse "SIMD or floating-point registers" "$("${OBJDUMP:-objdump}" -d --no-show-raw-insn "$object" |
		sed 's/^ *[0-9a-f]*://; s/[0-9a-f]* <[^>]*>//' |
		grep -E '[^[:alnum:]_][vbhsdqz]([0-9]|[12][0-9]|3[01])($|[^[:alnum:]_])')"
	# Of the compiler's own library, which chooses an instruction at run time. The kernel has none.
	refuse "a call of an atomic helper (-mno-outline-atomics)" "$(echo "$symbols" | grep ' U __aarch64_')"
	;;
esac
exit 0
