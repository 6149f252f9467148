#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [target ...]: lets libFuzzer look for inputs that break what reads them, FUZZ_SECONDS (60) for each target,
# as many at a time as there are cores. It begins with the seeds (tests/fuzz/seeds) and with what earlier runs have
# found of interest (build-fuzz/corpus). One line for each target; exit code 1 if an input has broken one. That
# input is in build-fuzz/found then; it becomes a seed when the fault is repaired.

set -u
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C FUZZ_SECONDS=${FUZZ_SECONDS:-60} FUZZ_BUILD=${FUZZ_BUILD:-build-fuzz}
export UBSAN_OPTIONS=print_stacktrace=1
mkdir -p "$FUZZ_BUILD/found"

fuzz() { # target
	local target=$1 program=${1%_shared} log=$FUZZ_BUILD/found/$1.log inputs=() code input
	local corpus=$FUZZ_BUILD/corpus/$target
	mkdir -p "$corpus"
	inputs=("$corpus" "tests/fuzz/seeds/$program")
	# Nodes of one host.
	[ "$target" = "$program" ] || export CHECK_NET=shared
	# Those two fork for most inputs, which takes many seconds on a machine that is full of other work.
	case $target in
	wire* | handle) options=(-rss_limit_mb=4096 -max_len=2048 -timeout=100) ;;
	ckci) inputs+=(tests/ci/accept tests/ci/refuse)
		options=(-max_len=8192 -dict=tests/fuzz/ckci.dict) ;;
	image | frames) options=(-max_len=20000) ;;
	*) options=(-max_len=8192) ;;
	esac
	# What the tested code says is thrown away (close_fd_mask). The sanitizers' words are not, except those of the
	# children of wire and handle.
	"$FUZZ_BUILD/tests/fuzz/fuzz_$program" -max_total_time="$FUZZ_SECONDS" -timeout=20 -close_fd_mask=3 \
		-print_final_stats=1 -artifact_prefix="$FUZZ_BUILD/found/$target-" "${options[@]}" \
		"${inputs[@]}" >"$log" 2>&1 </dev/null
	code=$?
	local runs branches
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	branches=$(sed -n 's/.* cov: \([0-9]* ft: [0-9]*\) .*/\1/p' "$log" | tail -1)
	if [ $code = 0 ]; then
		echo "ok fuzz $target: ${runs:-0} inputs, cov: $branches"
	else
		echo "FAILED fuzz $target: exit code $code"
		grep -v -e '^#' -e '^"' "$log" | tail -40
		# Once more, and now with all that is said.
		input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
		[ -z "$input" ] || "$FUZZ_BUILD/tests/fuzz/fuzz_$program" -timeout=20 "$input" 2>&1 </dev/null | head -40
		return 1
	fi
}
export -f fuzz

targets=("$@")
[ $# -gt 0 ] || for c in tests/fuzz/fuzz_*.c; do
	target=${c#*/fuzz_}
	targets+=("${target%.c}")
	[ "${target%.c}" != wire ] || targets+=(wire_shared)
done
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz {}'
