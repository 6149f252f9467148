#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# migrate.sh BUILD [options of bench/migrate]: what it costs that elements can move, all of it in one table: calls where
# nothing ever moved and where something did, moves, memory. Each line has what was measured, its value, and the aim.
# It needs valgrind for the instructions, which are the same in every run; times are medians of bench/migrate, and mean
# something on a machine that is quiet.
set -u
build=${1:?usage: migrate.sh BUILD [options of bench/migrate]}
shift
bench=$(dirname "$0")
rows=$(mktemp) || exit 1
trap 'rm -f "$rows"' EXIT
trap 'exit 1' INT TERM

sh "$bench/instructions.sh" "$build/bench/local" >>"$rows" || exit 1
sh "$bench/across.sh" "$build" count >>"$rows" || exit 1
sh "$bench/across.sh" "$build" lease >>"$rows" || exit 1
"$build/bin/ckrun" -n 3 "$build/bench/migrate" "$@" >>"$rows" || exit 1
"$build/bin/ckrun" -n 3 --ppn 3 "$build/bench/migrate" "$@" >>"$rows" || exit 1

awk '
	{ value[$1 " " $2] = $3; unit[$1] = $4; last[$1] = $2 }
	function row(what, name, parameter, aim) {
		if (parameter == "")
			parameter = last[name]
		if (!((name " " parameter) in value)) {
			printf "migrate.sh: nobody printed %s %s\n", name, parameter >"/dev/stderr"
			failed = 1
			return
		}
		printf "%-66s %10.1f %-13s %s\n", what, value[name " " parameter], unit[name], aim
	}
	function both(what, name, parameter, aim_threads, aim_nodes) {
		row(what ", within a process", name "-threads", parameter, aim_threads)
		row(what ", between processes", name "-nodes", parameter, aim_nodes)
	}
	END {
		row("call on the own PE, nothing ever moved", "local-call-instructions", 0, "as before: 136.2")
		row("the same, with options", "local-opt-instructions", 0, "303.9")
		row("the same, with an array", "local-array-instructions", 0, "246.9")
		row("the same, two dimensions", "local-2d-instructions", 0, "182.2")
		row("call to another process, nothing ever moved: send", "across-send-instructions", 0, "130.0")
		row("the same: receive", "across-receive-instructions", 0, "116.8")
		row("call with a lease, all functions: send", "across-lease-send-instructions", 0, "120.0 + 17 (home) + 25")
		row("the same: receive", "across-lease-receive-instructions", 0, "")
		both("call and answer, nothing ever moved", "migrate-never", 0, "", "")
		both("the same with a lease, after 1 move", "migrate-lease", 1, "1 hop: as above", "1 hop: as above")
		both("the same with a lease, after 300 moves", "migrate-lease", 300, "as after 1", "as after 1")
		both("the same by way of home (a priority)", "migrate-home", 1, "", "")
		for (k = 1; k <= 4; k++)
			both("call " k " of an element that has moved", "migrate-first", k, "", k < 4 ? "" : "1 hop")
		both("move, 0 bytes", "migrate-move", 0, "<= 2", "")
		both("move, 1 kB", "migrate-move", 1000, "<= 2", "<= 10")
		both("move, 100 kB", "migrate-move", 100000, "<= 2", "")
		both("move, 1 MB", "migrate-move", 1000000, "<= 2", "")
		both("move of one of many at once, 1 kB", "migrate-many", "", "", "<= 3.3: 300,000 a second")
		row("memory of home, seat and place, for each element away", "migrate-memory-away", "", "64 at home")
		row("memory of a caller, for each lease", "migrate-memory-lease", "", "16, and 4 for each place")
		row("memory of the place, for each element with a lease", "migrate-memory-holder", "", "")
		exit failed
	}' "$rows"
