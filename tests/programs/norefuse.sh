#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# norefuse.sh BUILD PROGRAM ROW FROM TO LINE...: in the shape FROM (nodes x PEs of a node) the program's first checkpoint is
#	refused with just these lines (extended expressions), and its second one is taken; without a line, its first one. A job
#	of the shape TO (or of each, TO,TO) starts from that, and prints the same last line.
set -u
build=$1 program=$2 seconds=60 row=$3 from=$4 to=$5
shift 5
. "$(dirname "$0")/../shapes.sh"
job() { # shape
	run "$1" "$dir/ck" "$row" >"$dir/out" 2>"$dir/err"
}

job "$from" || fail "$row: $from failed"
last=$(tail -n 1 "$dir/out")
for line in "$@"; do
	[ "$(grep -cE "^chard: no checkpoint: PE [0-9]+: $line\$" "$dir/err")" = 1 ] || fail "$row: not one line '$line'"
done
[ "$(grep -c "^chard: no checkpoint" "$dir/err")" = $# ] || fail "$row: not $# lines"
for shape in ${to//,/ }; do
	CK_RESTART=$dir/ck job "$shape" || fail "$row: $from could not go on as $shape"
	[ "$last" = "$(tail -n 1 "$dir/out")" ] || fail "$row: $from as $shape: not '$last'"
done
echo "$last"
