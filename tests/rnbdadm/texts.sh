#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# texts.sh TOP OUT: what the program generates is taken by the programs that it is made for, and what is
# packaged is well-formed. A line "ok <what>" or "FAIL <what>" for each.
# shellcheck disable=SC2317
set -u
top=$1 out=$2
rnbdadm=$out/rnbdadm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

try()
{
	local what=$1
	shift
	if "$@" >"$work/log" 2>&1; then
		echo "ok $what"
	else
		echo "FAIL $what"
		sed 's/^/     /' "$work/log"
	fi
}

has()
{
	if ! command -v "$1" >/dev/null; then
		echo "FAIL $1 is not installed"
		return 1
	fi
}

# Nothing on stderr.
silent()
{
	"$@" 2>&1 >/dev/null | (! grep .)
}

verify()
{
	SYSTEMD_UNIT_PATH=$work/units:/lib/systemd/system systemd-analyze verify --man=no "$1" 2>&1 |
		(! grep -E "^(.*/)?(rnbd|${1##*/})")
}

"$rnbdadm" generate bash >"$work/bash"
"$rnbdadm" generate zsh >"$work/_rnbdadm"
"$rnbdadm" generate schema >"$work/schema.json"
"$rnbdadm" generate man "$work/man"

try "the completion for bash is shell" bash -n "$work/bash"
has shellcheck && try "the completion for bash passes shellcheck" shellcheck -S warning "$work/bash"
has zsh && try "the completion for zsh is shell" zsh -n "$work/_rnbdadm"
try "the schema is JSON" python3 -m json.tool "$work/schema.json"
if has man; then
	for page in "$work"/man/*; do
		try "man page ${page##*/}" silent env LC_ALL=C.UTF-8 MANROFFSEQ='' \
			man --warnings -E UTF-8 -l -Tutf8 -Z "$page"
	done
fi

# shellcheck disable=SC2016
complete_line()
{
	bash -c 'source "$1"; shift
		COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rnbdadm; printf "%s\n" "${COMPREPLY[@]}"' \
		_ "$work/bash" "$@"
}

offers()
{
	local wanted=$1
	shift
	complete_line "$@" | grep -qxe "$wanted"
}

PATH=$out:$PATH
try "bash offers commands" offers unmap rnbdadm un
try "bash offers the second word" offers remove rnbdadm path re
try "bash offers options of a command" offers --poll-queues rnbdadm map --po
try "bash offers options of all commands" offers --output rnbdadm map --ou
try "bash offers words of an option" offers migration rnbdadm map x --access mi
try "bash offers words of a global option" offers json rnbdadm list -o j

folder=$top/packaging/systemd
mkdir -p "$work/units"
for unit in "$folder"/*.service "$folder"/*.target "$folder"/*.timer; do
	# The program is not installed here: any that exists stands in for it.
	sed 's,/usr/sbin/rnbdadm,/bin/true,; s,/usr/lib/rnbd/rnbd-server,/bin/true,' "$unit" >"$work/units/${unit##*/}"
done
cp "$work/units/rnbd@.service" "$work/units/rnbd@x.service"
for unit in "$work"/units/*; do
	case $unit in *@.service) continue ;; esac
	try "systemd takes ${unit##*/}" verify "$unit"
done
for file in "$top"/packaging/*.json; do
	[ -e "$file" ] && try "${file##*/} is JSON" python3 -m json.tool "$file"
done
exit 0
