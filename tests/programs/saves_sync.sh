#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# saves_sync.sh BUILD PROGRAM FROM... -- TO...: checkpoints at the syncs of a program (CK_CHECKPOINT). Saved with each of the first
#	shapes (nodes x PEs of a node), it goes on in each of the others, and prints the same line
set -u
build=$1 program=$2 seconds=100
shift 2
. "$(dirname "$0")/../shapes.sh"
read_shapes "$@"
for f in "${from[@]}"; do
	# As many syncs as it takes until a checkpoint is complete before the end.
	for ((syncs = 500; ; syncs *= 2)); do
		rm -rf "$dir/ck"
		CK_CHECKPOINT=$dir/ck,1ms,keep=1 run "$f" $syncs >"$dir/out" 2>"$dir/err" || fail "$f could not be saved"
		[ -e "$dir/ck/latest" ] && break
	done
	want=$(cat "$dir/out")
	grep -v "^chard: checkpoint [0-9]* is still being written" "$dir/err" && fail "$f said more"
	[ "$(ls "$dir/ck" | wc -l)" = 2 ] || fail "$f left: $(ls "$dir/ck")"
	for t in "${to[@]}"; do
		for lb in off rotate; do
			CK_LB=$lb CK_CHECKPOINT=memory,2ms CK_RESTART=$dir/ck run "$t" $syncs >"$dir/out" 2>"$dir/err" ||
				fail "$f could not go on as $t, CK_LB=$lb"
			[ "$want" = "$(cat "$dir/out")" ] || fail "$f as $t, CK_LB=$lb: not '$want'"
		done
	done
done
