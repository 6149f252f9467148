#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# together.sh COLLECTIVES: the instructions that an element of an array costs in what all elements do together, as
# valgrind counts them in bench/collectives and bench/balance, with 1000 elements on a PE.
#
# Prints `name 0 value instructions`, the same in every run:
#	array-barrier-instructions  a contribution to a barrier, and its result
#	array-allreduce-instructions  the same with the sum of a double, which the element writes and checks
#	array-bcast-instructions    a broadcast of a double, and the contribution to the answer
#	array-sync-instructions     CkSetLoad, CkAtSync and resumeFromSync, in a sync without a step
# What a PE does once, whatever the number of elements, is a thousandth of that in each figure.
set -u
collectives=${1:?usage: together.sh BUILD/bench/collectives}
balance=$(dirname "$collectives")/balance
n=1000 some=10 more=20
. "$(dirname "$0")/count.sh"

# Within one function, with all that it calls.
within() { # function, program, arguments
	function=$1
	shift
	count --toggle-collect="$function" "$@"
	awk '/^(summary|totals):/ { cost = $2 } END { print cost }' "$dir/count"
}

each() { # name, instructions of the rounds in $some, and of those in $more
	awk -v name="$1" -v cost=$(($3 - $2)) -v calls=$(((more - some) * n * pes)) \
		'BEGIN { printf "%s-instructions 0 %.1f instructions\n", name, cost / calls; exit cost <= 0 }'
}

rounds() { # function, figure, doubles, rounds
	within "$1" "$collectives" --only "$2" --doubles "$3" --per-pe $n --reps 1 --rounds "$4"
}

syncs() { # syncs
	CK_LB=greedy CK_LB_TOLERANCE=100 within sync_arrived "$balance" --syncs "$1" $((n * pes)) +p $pes
}

pes=1
for figure in result_due:barrier:0 result_due:allreduce:1 deliver_all:bcast:1; do
	IFS=: read -r function name doubles <<-END
		$figure
	END
	each "array-$name" "$(rounds $function $name-array $doubles $some)" "$(rounds $function $name-array $doubles $more)" || exit 1
done
pes=2
each array-sync "$(syncs $some)" "$(syncs $more)"
