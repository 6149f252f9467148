#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# saves.sh BUILD PROGRAM FROM... -- TO...: a program that was saved with each of the first shapes (nodes x PEs of a node)
#	goes on in each of the others, and prints the same last line
set -u
build=$1 program=$2
shift 2
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT

run() { # shape, arguments of the program
	local nodes=${1%x*} ppn=${1#*x}
	shift
	"$build/bin/ckrun" --timeout 60 -n $((nodes * ppn)) --ppn "$ppn" "$program" "$@"
}
last() { tail -n 1 "$dir/out"; }
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
want=
for f in "${from[@]}"; do
	rm -rf "$dir/ck"
	run "$f" "$dir/ck" >"$dir/out" 2>&1 || fail "$f could not be saved"
	[ "${want:=$(last)}" = "$(last)" ] || fail "$f: not '$want'"
	[ "$(ls "$dir/ck")" = "$(printf 'ck-000001\nck-000002\nlatest')" ] || fail "$f left: $(ls "$dir/ck")"
	for to in "$@"; do
		rm -rf "$dir/again"
		cp -a "$dir/ck" "$dir/again"
		CK_RESTART=$dir/again run "$to" >"$dir/out" 2>&1 || fail "$f could not go on as $to"
		grep -q "again after round" "$dir/out" || fail "$f as $to began at the beginning"
		[ "$want" = "$(last)" ] || fail "$f as $to: not '$want'"
	done
done
echo "$want"
