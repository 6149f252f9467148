#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# saves.sh BUILD PROGRAM FROM... -- TO...: a program that was saved with each of the first shapes (nodes x PEs of a node)
#	goes on in each of the others, and prints the same last line
set -u
build=$1 program=$2 seconds=60
shift 2
. "$(dirname "$0")/../shapes.sh"
last() { tail -n 1 "$dir/out"; }
read_shapes "$@"
want=
for f in "${from[@]}"; do
	rm -rf "$dir/ck"
	run "$f" "$dir/ck" >"$dir/out" 2>&1 || fail "$f could not be saved"
	[ "${want:=$(last)}" = "$(last)" ] || fail "$f: not '$want'"
	[ "$(ls "$dir/ck")" = "$(printf 'ck-000001\nck-000002\nlatest')" ] || fail "$f left: $(ls "$dir/ck")"
	for t in "${to[@]}"; do
		rm -rf "$dir/again"
		cp -a "$dir/ck" "$dir/again"
		CK_RESTART=$dir/again run "$t" >"$dir/out" 2>&1 || fail "$f could not go on as $t"
		grep -q "again after round" "$dir/out" || fail "$f as $t began at the beginning"
		[ "$want" = "$(last)" ] || fail "$f as $t: not '$want'"
	done
done
echo "$want"
