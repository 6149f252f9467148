#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# instructions.sh LOCAL: the instructions of one call, as valgrind counts them in bench/local.
#
# Prints `name 0 value instructions`, the same in every run:
#	call-direct-instructions    a C call that is not inlined, its loop included
#	call-pointer-instructions   a C call through a pointer
#	local-call-instructions     an entry call to an element of the same PE, queued 1000 at a time
#	local-opt-instructions      the same by the stub with options
#	local-array-instructions    the same with 4 doubles in an array parameter
#	local-2d-instructions       the same to an element of two dimensions
#	local-instructions          a plain call when each call makes the next: from the send to the end
#	                            of the handler, the passes of the scheduler between them included
#	local-pass-instructions     a pass of the scheduler loop that calls one timer
#
# Each series of bench/local starts with a function that is not inlined, before which valgrind
# writes down what it has counted since the one before.
set -u
local=${1:?usage: instructions.sh BUILD/bench/local}
n=1000
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

valgrind --tool=callgrind --callgrind-out-file="$dir/count" \
	--dump-before='call_by_pointer*' --dump-before='print_references*' \
	--dump-before='start_bursts*' --dump-before='start_options*' \
	--dump-before='start_arrays*' --dump-before='start_grids*' --dump-before='start_passes*' \
	--zero-before='call_directly*' --zero-before='start_hops*' \
	"$local" $n >"$dir/out" 2>&1 || { tail -5 "$dir/out" >&2; exit 1; }

# One line for each part in its order: before what it ended, and what it cost.
part=1
while [ -f "$dir/count.$part" ]; do
	awk '/^desc: Trigger:/ { sub(/.*=/, ""); trigger = $0 } /^summary:/ { cost = $2 }
		END { print trigger, cost }' "$dir/count.$part"
	part=$((part + 1))
done | awk -v n=$n '
	{ name = "" }
	/^call_by_pointer/ { name = "call-direct-instructions" }
	/^print_references/ { name = "call-pointer-instructions" }
	/^start_bursts/ && bursts++ { name = "local-call-instructions" }
	/^start_options/ && options++ { name = "local-opt-instructions" }
	/^start_arrays/ && arrays++ { name = "local-array-instructions" }
	/^start_grids/ && grids++ { name = "local-2d-instructions" }
	/^start_passes/ { name = passes++ ? "local-pass-instructions" : "local-instructions" }
	name && !(name in seen) {
		seen[name] = 1
		count++
		printf "%s 0 %.1f instructions\n", name, $2 / n
	}
	END { exit count != 8 }'
