#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# norefuse.sh BUILD PROGRAM ROW FROM TO LINE...: in the shape FROM (nodes x PEs of a node) the program's first checkpoint is
#	refused with just these lines (extended expressions), and its second one is taken; without a line, its first one. A job
#	of the shape TO (or of each, TO,TO) starts from that, and prints the same last line.
set -u
build=$1 program=$2 row=$3 from=$4 to=$5
shift 5
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT

run() { # shape
	local nodes=${1%x*} ppn=${1#*x}
	"$build/bin/ckrun" --timeout 60 -n $((nodes * ppn)) --ppn "$ppn" "$program" "$dir/ck" "$row" >"$dir/out" 2>"$dir/err"
}
fail() {
	echo "$row: $*; it printed:"
	cat "$dir/out" "$dir/err"
	exit 1
}

run "$from" || fail "$from failed"
last=$(tail -n 1 "$dir/out")
for line in "$@"; do
	[ "$(grep -cE "^chard: no checkpoint: PE [0-9]+: $line\$" "$dir/err")" = 1 ] || fail "not one line '$line'"
done
[ "$(grep -c "^chard: no checkpoint" "$dir/err")" = $# ] || fail "not $# lines"
for shape in ${to//,/ }; do
	CK_RESTART=$dir/ck run "$shape" || fail "$from could not go on as $shape"
	[ "$last" = "$(tail -n 1 "$dir/out")" ] || fail "$from as $shape: not '$last'"
done
echo "$last"
