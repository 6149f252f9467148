#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# equal_runs.sh sums BUILD NODES PPN: floating-point results have the same bits in every run, whatever the
#	order of delivery
# equal_runs.sh draws BUILD: which contribution a random reduction draws depends on the elements, not on the
#	number of PEs
set -u
what=$1 programs=$2/tests/programs ckrun=$2/bin/ckrun

# Three orders; four different lines come from the three programs.
sums() { # nodes, PEs per node
	local program
	for CK_RANDOM_QUEUE in 1 2 3; do
		export CK_RANDOM_QUEUE
		for program in reductions "scan 4711" mixed; do
			$ckrun -n $(($1 * $2)) --ppn "$2" "$programs"/$program || return
		done
	done
}
draws() {
	local n
	for n in 1 2 3 4; do
		CK_RANDOM_QUEUE=$n $ckrun -n $n "$programs/tuple" || return
	done | grep drawn
}
# Each line of stdin, once; there must be so many.
distinct() { # how many
	local lines
	lines=$(sort -u)
	echo "$lines"
	[ "$(wc -l <<<"$lines")" = "$1" ]
}

set -o pipefail
case $what in
sums) sums "$3" "$4" | distinct 4 ;;
draws) draws | distinct 1 ;;
*) exit 2 ;;
esac
