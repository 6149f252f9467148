#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# allkinds.sh BUILD PROGRAM WHERE FROM... -- TO...: the program goes on from each shape (shapes.sh) in each other, and prints
#	the same last line. WHERE is where it is saved:
#	disk     after each of its rounds; it goes on from the last but one
#	memory   it ends by a signal, is started again by ckrun from memory, and is saved on disk then
#	chain    each shape goes on where the one before was saved, and is saved a round later; TO is not used
# A shape * or *N stands for all 12 different ones of 1, 2, 3, 5 and 8 PEs, or N of them, drawn by SHAPES_SEED.
set -u
build=$1 program=$2 where=$3 seconds=20
shift 3
. "$(dirname "$0")/../shapes.sh"
# A job that is saved stops in the middle, with memory that leak checkers find.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
: "${SHAPES_SEED:=$RANDOM}"
last() { tail -n 1 "$dir/out"; }
RANDOM=$SHAPES_SEED
draw() { # into `drawn`
	drawn=(1x1 2x1 1x2 3x1 3/2 1x3 5x1 5/2 1x5 8x1 4x2 1x8)
	for ((i = 12; i > ${1:-12}; i--)); do
		unset "drawn[RANDOM % i]"
		drawn=("${drawn[@]}")
	done
}
shapes=()
for shape; do
	case $shape in
	\**)
		draw "${shape#\*}"
		shapes+=("${drawn[@]}")
		;;
	*) shapes+=("$shape") ;;
	esac
done
read_shapes "${shapes[@]}"

check() { # shape, words
	[ "$want" = "$(last)" ] || fail "SHAPES_SEED=$SHAPES_SEED: $2: not '$want'"
}
begin() { # shape, arguments
	run "$@" >"$dir/out" 2>&1 || fail "SHAPES_SEED=$SHAPES_SEED: $1 failed"
}
again() { # shape, words
	CK_RESTART=$dir/ck begin "$1"
	grep -q "again after round" "$dir/out" || fail "$2 began at the beginning"
}
# In memory after round 1; then as from disk.
save() { # shape
	rm -rf "$dir/ck"
	if [ "$where" = memory ]; then
		launch="--replace 1" SAVE_DIR=$dir/ck begin "$1" 1
		grep -q "again after round 1" "$dir/out" || fail "$1 was not started again"
	else
		SAVE_DIR=$dir/ck begin "$1"
	fi
	check "$1" "$1, saved"
	rm -rf "$dir/ck/latest" "$(ls -d "$dir"/ck/ck-* | tail -n 1)"
}

begin 1x1
want=$(last)
if [ "$where" = chain ]; then
	STOP=1 SAVE_DIR=$dir/ck begin "${from[0]}"
	for ((n = 1; n + 1 < ${#from[@]}; n++)); do
		STOP=$((n + 1)) SAVE_DIR=$dir/ck again "${from[n]}" "${from[*]:0:n+1}"
	done
	again "${from[n]}" "${from[*]}"
	check "${from[n]}" "${from[*]}"
else
	for f in "${from[@]}"; do
		save "$f"
		for t in "${to[@]}"; do
			again "$t" "$f as $t"
			check "$t" "$f as $t"
		done
	done
fi
echo "$want"
