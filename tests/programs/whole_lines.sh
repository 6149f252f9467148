#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# whole_lines.sh COMMAND...: the command is tests/programs/print on 4 PEs. Each line that it prints on stdout
# and stderr must be "<letter of the PE> <n> <the letter n times>.", and every PE must have printed.
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
"$@" >"$dir/out" 2>"$dir/err" || exit
awk '
	{
		text = $3
		if (NF != 3 || gsub($1, "", text) != $2 || text != ".") {
			print "not whole: " substr($0, 1, 200)
			bad = 1
		}
		if (!n[$1]++)
			pes++
	}
	END {
		if (pes != 4 || NR < 4 * 40 * 5) {
			print NR " lines of " pes " PEs"
			bad = 1
		}
		exit bad
	}' "$dir/out" "$dir/err"
