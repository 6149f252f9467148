#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# steps.sh STEPS: the instructions of one step of a body, as valgrind counts them in bench/steps.
#
# Prints `name 0 value instructions`, the same in every run, for the series of bench/steps that have
# steps. Each begins with a function that is not inlined, before which valgrind writes down what it has
# counted since the one before.
set -u
steps=${1:?usage: steps.sh BUILD/bench/steps}
n=1000
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

valgrind --tool=callgrind --callgrind-out-file="$dir/count" --zero-before='start_hops*' \
	--dump-before='start_steps*' --dump-before='start_numbered*' --dump-before='start_pairs*' \
	--dump-before='start_briefs*' --dump-before='park*' "$steps" $n >"$dir/out" 2>&1 || { tail -5 "$dir/out" >&2; exit 1; }

# One line for each part in its order: before what it ended, and what it cost. The last round of a series ends with
# the call that begins the next one, so the second round on is counted.
part=1
while [ -f "$dir/count.$part" ]; do
	awk '/^desc: Trigger:/ { sub(/.*=/, ""); trigger = $0 } /^summary:/ { cost = $2 }
		END { print trigger, cost }' "$dir/count.$part"
	part=$((part + 1))
done | awk -v n=$n '
	{ name = "" }
	/^start_steps/ && steps++ { name = "step-when-instructions" }
	/^start_numbered/ && numbered++ { name = "step-number-instructions" }
	/^start_pairs/ && pairs++ { name = "step-overlap-instructions" }
	/^start_briefs/ && briefs++ { name = "step-brief-instructions" }
	name && !(name in seen) {
		seen[name] = 1
		count++
		printf "%s 0 %.1f instructions\n", name, $2 / n
	}
	END { exit count != 4 }'
