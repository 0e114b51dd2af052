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
try "bash offers columns of what is listed" offers heartbeat_interval_ms rnbdadm list sessions -c heart
try "bash offers one more column" offers name,hca rnbdadm list paths -c name,h
try "bash offers a column to add" offers +firmware rnbdadm hca list -c +f
try "bash offers no other words for a column" eval '! offers opened rnbdadm list -c o'
try "bash offers words of a global option" offers json rnbdadm list -o j

# What a build needs: one line in the README, which a build without says itself; the same in the package.
needed()
{
	sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' "$@" |
		sed -n 's/.*\(apt install build-essential libfmt-dev[a-z0-9 +-]*\).*/\1/p'
}
same_needs()
{
	local line said
	line=$(needed "$top/README.md")
	said=$(g++ -nostdinc -I"$top/tools" -E "$top/tools/rnbdadm/prefix.hh" 2>&1 | needed | head -n 1)
	[ -n "$line" ] && [ "$line" = "$said" ] &&
		diff <(tr ' ' '\n' <<<"${line#apt install build-essential }" | sort) <(sed -n \
			'/^Build-Depends-Arch:/,/^[^ ]*:/{s/^ \([^ :]*\),$/\1/p}' "$top/packaging/debian/control" |
			sort)
}
try "README, a build without its libraries and the package name the same libraries" same_needs

# What reaches the machine otherwise is named in tools/rnbdadm/README.md, with its reason.
one_door()
{
	local headers='sys/|unistd|fcntl|dirent|filesystem|fstream|poll|ifaddrs|netdb|libudev|libkmod|keyutils|chrono'
	grep -lE "#include <($headers)|getenv\(" "$top"/tools/rnbdadm/*.{cc,hh} |
		grep -vE '/(host[a-z_]*|netlink|key_files|secret|screen|main)\.(cc|hh)$' | (! grep .)
}
try "the program reaches the machine through Host alone" one_door

folder=$top/packaging/systemd
mkdir -p "$work/units"
for unit in "$folder"/*.service "$folder"/*.target "$folder"/*.timer; do
	# The program is not installed here: any that exists stands in for it.
	sed 's,/usr/sbin/rnbdadm,/bin/true,; s,/usr/lib/rnbd/rnbd-[a-z]*,/bin/true,' "$unit" >"$work/units/${unit##*/}"
done
cp "$work/units/rnbd@.service" "$work/units/rnbd@x.service"
for unit in "$work"/units/*; do
	case $unit in *@.service) continue ;; esac
	try "systemd takes ${unit##*/}" verify "$unit"
	case $unit in
	*.service) try "systemd finds ${unit##*/} little exposed, below 4.0" systemd-analyze security --no-pager \
		--offline=true --threshold=39 "$unit" ;;
	esac
done
# Names of machines may stand in what they apply, of clients as well as of servers.
resolves()
{
	grep -qE '^RestrictAddressFamilies=(.* )?AF_INET AF_INET6( |$)' "$folder/$1" &&
		! grep -qE '^(PrivateNetwork=yes|IPAddressDeny=)' "$folder/$1"
}
try "the client's unit may ask a resolver" resolves rnbd@.service
try "so may the server's" resolves rnbd-server.service

# What the unit loads the server with, by a modprobe of our own: arguments are what modprobe.d says, what the module
# knows, and what it has to be loaded with.
loads()
{
	mkdir -p "$work/stub"
	# shellcheck disable=SC2016
	printf '#!/bin/sh\n[ "$1" = -c ] && echo "%s" || echo "$*"\n' "$1" >"$work/stub/modprobe"
	printf '#!/bin/sh\necho "%s"\n' "$2" >"$work/stub/modinfo"
	printf '#!/bin/sh\necho "$*"\n' >"$work/stub/rnbdadm"
	served | diff - <(printf '%s\n' "$3" 'apply --exports')
}
served()
{
	chmod +x "$work/stub"/*
	sed "s,^ctl=.*,ctl=$work,; s,^loaded=.*,loaded=$work/loaded," "$folder/rnbd-server" |
		sed 's,/usr/sbin/rnbdadm,rnbdadm,' >"$work/rnbd-server"
	PATH=$work/stub:$PATH sh "$work/rnbd-server" start
}
# An export that fails is said, and is no reason to serve nobody.
exports_first()
{
	loads '' 'serving:serve nobody before (bool)' 'rnbd_server serving=N' || return 1
	echo 0 >"$work/serving"
	# shellcheck disable=SC2016
	printf '#!/bin/sh\n[ "$(cat %s)" = 0 ] && exit 10\n' "$work/serving" >"$work/stub/rnbdadm"
	served
	[ "$?" = 10 ] && [ "$(cat "$work/serving")" = 1 ]
}
knows='exports_only:let clients open nothing else (bool)'
try "the unit's server offers nothing by itself" loads '' "$knows" 'rnbd_server exports_only=Y'
try "modprobe.d may say that it offers all" loads 'options rnbd_server exports_only=N' "$knows" rnbd_server
try "modprobe.d may say a folder" loads 'options rnbd_server port_nr=1 dev_search_path=/dev/x' "$knows" rnbd_server
try "modprobe.d may say other things" loads 'options rnbd_server port_nr=1' "$knows" 'rnbd_server exports_only=Y'
try "the kernel's own server is not asked for it" loads '' 'port_nr:port (ushort)' rnbd_server
try "exports are there before anybody is served" exports_first
# Loaded by hand before the unit starts: arguments are exports_only as it is, what rmmod says, modprobe.d, and what has
# to be done.
by_hand()
{
	mkdir -p "$work/loaded/parameters"
	echo "$1" >"$work/loaded/parameters/exports_only"
	printf '#!/bin/sh\necho "rmmod $*"\nexit %s\n' "$2" >"$work/stub/rmmod"
	loads "$3" "$knows" "$4"
}
# Nothing is loaded, nothing exported, and the reason is said.
refused()
{
	! by_hand N "$1" '' '' && ! served 2>/dev/null | grep -q exports_only=Y || return 1
	! served 2>/dev/null | grep -q apply && served 2>&1 >/dev/null | grep -q 'with exports_only=N' || return 1
	served >/dev/null 2>&1
	[ "$?" = 16 ]
}
try "a module that was loaded by hand is loaded anew" by_hand N 0 '' $'rmmod rnbd_server\nrnbd_server exports_only=Y'
try "one that offers exports alone stays" by_hand Y 0 '' 'rnbd_server exports_only=Y'
try "one that modprobe.d has open stays" by_hand N 0 'options rnbd_server exports_only=N' rnbd_server
try "one that is in use is not taken over" refused 1
mkdir -p "$work/devices/sdb"
try "nor is one that clients have disks of" refused 0
rm -rf "$work/devices" "$work/loaded"

for file in "$top"/packaging/*.json; do
	[ -e "$file" ] && try "${file##*/} is JSON" python3 -m json.tool "$file"
done
exit 0
