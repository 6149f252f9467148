#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# commas.sh PROGRAM: tests/programs/commas in a German locale, which is built here.
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
if ! localedef -i de_DE -f UTF-8 "$dir/de_DE.UTF-8" 2>"$dir/why"; then
	echo "skip numbers in another locale: localedef cannot build de_DE (package locales)"
	exit 77
fi
export LOCPATH=$dir LC_ALL=de_DE.UTF-8
failed=0
expect() { # file, text: a line matches it
	grep -Eq "$2" "$dir/$1" || { echo "no line of $1 is like: $2"; cat "$dir/$1"; failed=1; }
}

CK_LB_TOLERANCE=0.5 CK_STATS=1 "$1" +p 2 >"$dir/out" 2>"$dir/err" || { echo "exit code $?"; failed=1; }
expect out "^the program's own: 0,5$"
expect err '^chard: +busy, % +[0-9]+\.[0-9] '
! grep -E '[0-9],[0-9]' "$dir/err" || { echo "a comma"; failed=1; }
CK_LB_TOLERANCE=0,5 "$1" >"$dir/out" 2>"$dir/err" && { echo "CK_LB_TOLERANCE=0,5 is not refused"; failed=1; }
expect err '^chard: CK_LB_TOLERANCE=0,5 is refused'
"$1" load >"$dir/out" 2>"$dir/err" && { echo "no mistake found"; failed=1; }
expect err 'CkSetLoad of Cell\(0\): -0\.5 seconds'
exit $failed
