#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# pure-header.sh TOP HEADER OUT: compiles one pure header alone, as the kernel would, with all its
# inline functions emitted, and looks at what they call.
set -eu
top=$1 header=$2 out=$3

"${CXX:-g++}" -x c++ -std=gnu++20 -O2 -ffreestanding -nostdinc++ -fno-exceptions -fno-rtti \
	-fno-threadsafe-statics -mno-sse -mno-mmx -mno-80387 -mcmodel=kernel -fno-pic \
	-fno-asynchronous-unwind-tables -fno-stack-protector -fkeep-inline-functions \
	-Wall -Wextra -Werror -Wframe-larger-than=1024 \
	-I"$top/cxxrt/include" -I"$top/kmod" -include "$top/$header" \
	-MMD -MP -MF "$out.d" -MT "$out.ok" -c -o "$out.o" - </dev/null

bad=$(nm "$out.o" | grep -E ' U | [BbDdCc] ' | grep -vE ' U (memcpy|memset|memcmp|memmove)$' || true)
if [ -n "$bad" ]; then
	printf '%s: calls or variables that pure code must not have:\n%s\n' "$header" "$bad" >&2
	exit 1
fi
