#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# strictly.sh COMPILER FLAG...: compiles, and fails where the compiler forgives by -fpermissive, which is for the
# kernel's headers. No option of gcc's makes an error of that and leaves other warnings what they are.
set -u
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
"$@" -fdiagnostics-color=never 2>"$log"
status=$?
cat "$log" >&2
[ "$status" -ne 0 ] || ! grep -Eq '\[-(fpermissive|Wchanges-meaning|Wtemplate-body)\]$' "$log" || status=1
exit $status
