#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# balance.sh BUILD [PES [PPN]]: what a sync costs, for 10^3 to 10^6 elements (bench/balance.c).
#
#	off       CkAtSync is a call
#	even      CK_LB=greedy that decides against a step: one allreduce
#	stay      a step in which nothing moves; tenth: a tenth of all elements moves; half: half of them, by cuts
#	NAME-under-way   the same with CK_SYNC_MS=0
build=${1:?usage: balance.sh BUILD [PES [PPN]]}
pes=${2:-4}
ppn=${3:-2}

one() { # name, variables...
	name=$1
	shift
	for n in 1000 10000 100000 1000000; do
		env "$@" "$build/bin/ckrun" -n "$pes" --ppn "$ppn" "$build/bench/balance" $n |
			sed "s/^balance-[a-z]*/balance-$name/"
	done
}

one off CK_LB=off
one even CK_LB=greedy CK_LB_TOLERANCE=100
one stay CK_LB=stay CK_LB_TOLERANCE=0
one tenth CK_LB=tenth CK_LB_TOLERANCE=0
one half CK_LB=half CK_LB_TOLERANCE=0
one tenth-under-way CK_LB=tenth CK_LB_TOLERANCE=0 CK_SYNC_MS=0
