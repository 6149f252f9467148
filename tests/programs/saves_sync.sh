#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# saves_sync.sh BUILD PROGRAM FROM... -- TO...: checkpoints at the syncs of a program (CK_CHECKPOINT). Saved with each of the first
#	shapes (nodes x PEs of a node), it goes on in each of the others, and prints the same line
set -u
build=$1 program=$2
shift 2
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT

run() { # shape, syncs
	local nodes=${1%x*} ppn=${1#*x}
	"$build/bin/ckrun" --timeout 100 -n $((nodes * ppn)) --ppn "$ppn" "$program" "$2"
}
fail() {
	echo "$*; it printed:"
	cat "$dir/out"
	exit 1
}

from=()
while [ "$1" != -- ]; do
	from+=("$1")
	shift
done
shift
for f in "${from[@]}"; do
	# As many syncs as it takes until a checkpoint is complete before the end.
	for ((syncs = 500; ; syncs *= 2)); do
		rm -rf "$dir/ck"
		CK_CHECKPOINT=$dir/ck,1ms,keep=1 run "$f" $syncs >"$dir/out" 2>&1 || fail "$f could not be saved"
		[ -e "$dir/ck/latest" ] && break
	done
	want=$(cat "$dir/out")
	[ "$(ls "$dir/ck" | wc -l)" = 2 ] || fail "$f left: $(ls "$dir/ck")"
	for to in "$@"; do
		for lb in off rotate; do
			CK_LB=$lb CK_CHECKPOINT=memory,2ms CK_RESTART=$dir/ck run "$to" $syncs >"$dir/out" 2>&1 ||
				fail "$f could not go on as $to, CK_LB=$lb"
			[ "$want" = "$(cat "$dir/out")" ] || fail "$f as $to, CK_LB=$lb: not '$want'"
		done
	done
done
