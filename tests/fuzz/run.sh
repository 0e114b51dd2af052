#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# run.sh OUT RESULT: builds the targets and runs each for $SECONDS_EACH seconds; RESULT gets the
# line "N passed, N failed".
set -u
out=$1 result=$2
jobs=${JOBS:-2}
mkdir -p "$out" "$(dirname "$result")"
rm -f "$result"

make --no-print-directory -s -j"$jobs" all || {
	echo '0 passed, 1 failed' >"$result"
	exit 1
}
passed=0 failed=0
for target in $TARGETS; do
	found=$out/found/$target
	mkdir -p "$found"
	if "$out/$target" -max_total_time="$SECONDS_EACH" -max_len=8704 -timeout=10 -rss_limit_mb=1024 \
		-print_final_stats=1 -artifact_prefix="$out/$target-" "$found" "corpus/$target" \
		>"$out/$target.log" 2>&1; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$target.log")
		covered=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$out/$target.log" | tail -n 1)
		echo "$target: $runs runs, $covered edges"
		passed=$((passed + 1))
	else
		tail -n 40 "$out/$target.log"
		echo "FAILED: $target; the input is in $out/$target-*"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed" | tee "$result"
[ "$failed" -eq 0 ]
