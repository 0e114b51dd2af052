#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# run.sh TOP OUT RESULT: runs the tests of rnbdadm, then those of the shell (texts.sh), of a terminal
# (screen.py) and of Prometheus (prometheus.py); RESULT gets the line "N passed, N failed".
set -u
top=$1 out=$2 result=$3
mkdir -p "$(dirname "$result")"
rm -f "$result" "$out/test.json"

"$out/test/tests/run" --gtest_filter="${TESTS:-*}" --gtest_output="json:$out/test.json"
status=$?
passed=0 failed=0
if [ -s "$out/test.json" ]; then
	number() { sed -n "s/^  \"$1\": \([0-9]*\),\$/\1/p" "$out/test.json" | head -n 1; }
	total=$(number tests) failed=$(number failures)
	passed=$((total - failed - $(number disabled)))
fi
# A sanitizer report ends the program without a result of its own.
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1

# One that breaks off has failed, whatever it found before.
whole()
{
	"$@" 2>&1 || echo "FAIL ${2##*/} broke off"
}
while read -r verdict text; do
	echo "$verdict $text"
	case $verdict in
	ok) passed=$((passed + 1)) ;;
	FAIL) failed=$((failed + 1)) ;;
	esac
done <<END
$(whole bash "$top/tests/rnbdadm/texts.sh" "$top" "$out"
	whole python3 "$top/tests/rnbdadm/screen.py" "$out/rnbdadm"
	whole python3 "$top/tests/rnbdadm/prometheus.py" "$top")
END
echo "$passed passed, $failed failed" | tee "$result"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
