#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# run.sh OUT RESULT: builds and runs the unit tests, the programs of tests/peer, and compiles each pure
# header alone ($PURE);
# RESULT gets the line "N passed, N failed".
set -u
out=$1 result=$2
jobs=${JOBS:-2}
mkdir -p "$out" "$(dirname "$result")"
rm -f "$result"

make --no-print-directory -s -j"$jobs" all || {
	echo '0 passed, 1 failed' >"$result"
	exit 1
}
"$out/unit" --gtest_filter="${TESTS:-*}" --gtest_output="json:$out/unit.json"
status=$?
passed=0 failed=0
if [ -s "$out/unit.json" ]; then
	number() { sed -n "s/^  \"$1\": \([0-9]*\),\$/\1/p" "$out/unit.json" | head -n 1; }
	total=$(number tests) failed=$(number failures)
	passed=$((total - failed - $(number disabled)))
fi
# A sanitizer report ends the program without a result of its own.
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1

# Known answers are those that another program computes.
if python3 auth_vectors.py --check; then
	passed=$((passed + 1))
else
	failed=$((failed + 1))
fi

# The programs that speak the protocol from outside are built of the same headers.
if make --no-print-directory -s -j"$jobs" -C ../peer; then
	passed=$((passed + 1))
else
	echo 'FAILED: tests/peer does not build'
	failed=$((failed + 1))
fi

make --no-print-directory -s -k -j"$jobs" headers
for header in $PURE; do
	if [ -e "$out/alone/$header.ok" ]; then
		passed=$((passed + 1))
	else
		echo "FAILED: $header does not stand alone"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed" | tee "$result"
[ "$failed" -eq 0 ]
