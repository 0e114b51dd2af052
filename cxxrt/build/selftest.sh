#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# selftest.sh [--now] RELEASE MODULE: loads the self-test into the running kernel, and takes it out again. It fails if
# one of its tests does. Where it cannot run, since another kernel runs here, or this one takes no module of ours
# (Secure Boot, a container), a line says so and all is well, unless it was asked for: --now.
set -u
now=
[ "$1" != --now ] || { now=1; shift; }
release=$1 module=$2

not_run() {
	echo "cxxrt: the self-test was not run: $*" >&2
	[ -z "$now" ]
	exit
}
fails() {
	echo "cxxrt: the self-test fails on kernel $release: $*" >&2
	exit 1
}

[ "$(uname -r)" = "$release" ] || not_run "kernel $(uname -r) is running, not $release"
[ "$(id -u)" = 0 ] || not_run "only root may load a module"
[ "$(stat -c %d:%i / 2>/dev/null)" = "$(stat -c %d:%i /proc/1/root/. 2>/dev/null)" ] ||
	not_run "this is not the system of the kernel that runs, but a root inside of it"
PATH=$PATH:/sbin:/usr/sbin
rmmod cxxrt_selftest 2>/dev/null # of a run that was interrupted
# Of what stood in the log before, nothing counts.
mark="cxxrt-selftest: begins $$ $(date +%s)"
{ [ -c /dev/kmsg ] && echo "$mark" >/dev/kmsg; } 2>/dev/null || not_run "/dev/kmsg cannot be written"
# It stays loaded if all of its tests have passed, and only then.
said=$(LC_ALL=C insmod "$module" 2>&1) && loaded=1 || loaded=
result=$(dmesg | sed -n "/$mark/,\$s/.*# cxxrt-selftest: \([0-9]* passed, [0-9]* failed\).*/\1/p")
if [ -n "$loaded" ]; then
	rmmod cxxrt_selftest || fails "it cannot be taken out again"
	echo "cxxrt: self-test on kernel $release: ${result:-all passed}"
	exit 0
fi
[ -z "$result" ] || fails "$result: dmesg has them"
case $said in
*"not permitted"* | *"Permission denied"* | *"Key was rejected"* | *"Required key"*)
	not_run "the kernel does not take it: $said"
	;;
*) fails "it cannot be loaded: $said" ;;
esac
