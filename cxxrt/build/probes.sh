#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# probes.sh PROBES OUT CC FLAG...: compiles PROBES (overlay/probes.c) as C, and writes header OUT with
# what compiled and what did not. An error of any other line than that of a probe fails the script. So do two canaries
# that are compiled with the probes, if the one that is right does not compile, or the one that is wrong does.
set -eu
probes=$1 out=$2
shift 2

mkdir -p "${out%/*}"
log=$out.log
# All errors at the place in PROBES where macros were used; an undeclared function is an error too.
LC_ALL=C "$@" -fsyntax-only -fmax-errors=0 -ftrack-macro-expansion=0 -fdiagnostics-color=never \
	-Werror=implicit-function-declaration "$probes" >"$log" 2>&1 && ok=1 || ok=0

# shellcheck disable=SC2016 # the dollars are of awk
"${AWK:-awk}" -v file="$probes" -v ok="$ok" '
FILENAME != file {
	if ($0 !~ /^[^ ]*: (fatal |internal compiler )?error: /)
		next
	errors++
	split($0, at, ":")
	if (at[1] == file && $0 ~ /^[^ ]*:[0-9]+:[0-9]+: error: /)
		wrong[at[2]] = 1
	else
		stray = stray "\n\t" $0
	next
}
match($0, /^CANARY\([a-z]+,/) {
	name = substr($0, 8, RLENGTH - 8)
	canaries++
	if ((FNR in wrong) != (name == "wrong"))
		stray = stray "\n\ta canary that is " name ((FNR in wrong) ? " does not compile" : " compiles")
	delete wrong[FNR]
}
match($0, /^PROBE\([a-z0-9_]+,/) {
	name = substr($0, 7, RLENGTH - 7)
	lines = lines "#define CXXRT_PROBE_" name " " (FNR in wrong ? 0 : 1) "\n"
	delete wrong[FNR]
}
END {
	if (!ok && !errors)
		stray = "\n\tthe compiler failed without a word"
	if (canaries != 2)
		stray = stray "\n\tno two canaries are in " file
	for (line in wrong)
		stray = stray "\n\t" file ":" line ": no line of a probe"
	if (stray != "") {
		print "cxxrt: the probes do not compile:" stray >"/dev/stderr"
		exit 1
	}
	printf "/* What build/probes.sh found; overlay/probes.c says what each one means. */\n#pragma once\n%s", lines
}' "$log" "$probes" >"$out" || {
	rm -f "$out"
	exit 1
}
