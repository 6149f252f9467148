#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# survive.sh BUILD PROGRAM ARGUMENT ...: an example loses a process by kill -9 and goes on.
#
#	survive.sh build particles --particles 20000 --move 0 --lb 5 --steps
#
# The program must print "hash" and a number, or only "checked" where the last bits depend on the number of PEs, and call CkAtSync. The last argument's value is added here: how many steps.
# First an undisturbed run; then the same in 2 processes with CK_CHECKPOINT, of which one is killed when two checkpoints
# are complete. ckrun --replace starts both again. At last the job begins from the files of the last checkpoint, in 3
# processes. Exit code 0 only if all three have the same hash.
set -u
build=$1 name=$2
shift 2
program=$build/examples/$name/$name
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
run() { "$build/bin/ckrun" --timeout 100 "$@"; }
fail() {
	echo "survive: $*" >&2
	cat "$dir/out" >&2
	exit 1
}
hash_of() { sed -n 's/.*hash \([0-9a-f]*\).*/\1/p; t; s/.*: \(checked\)$/\1/p' "$dir/out"; }
newest() { readlink "$dir/ck/latest" 2>/dev/null; }

# Any node, when two checkpoints are complete; ckrun has a child of its own, too. Returns 1 if the job has ended before.
kill_one() { # pid of ckrun
	while case $(newest) in '' | ck-000001) true ;; *) false ;; esac; do
		[ -d "/proc/$1/task/$1" ] || return 1
		sleep 0.01
	done
	node=$(for pid in $(cat "/proc/$1/task/$1/children"); do
		[ "$(cat "/proc/$pid/comm")" = "$name" ] && echo "$pid"
	done | shuf -n 1)
	[ -n "$node" ] && kill -KILL "$node"
}

disturbed() { # arguments of the program; 1: it was over too early
	rm -rf "$dir/ck"
	CK_CHECKPOINT=$dir/ck,20ms "$build/bin/ckrun" --timeout 100 --replace 1 -n 2 "$program" "$@" >"$dir/out" 2>&1 &
	kill_one $!
	wait $!
	code=$?
	if ! grep 'starting again from checkpoint' "$dir/out"; then
		# It was over, or was killed when it had its answer.
		[ $code = 0 ] || [ -n "$(hash_of)" ] || fail "$name did not go on"
		return 1
	fi
	[ $code = 0 ] || fail "$name did not go on"
}

undisturbed() {
	run -n 2 "$program" "$@" >"$dir/out" 2>&1 || fail "$name failed undisturbed"
	want=$(hash_of)
}

# A job that was killed at its end has printed it twice.
same() { # what has run
	[ -n "$want" ] || fail "$name printed no hash"
	[ "$(hash_of | sort -u)" = "$want" ] || fail "$1: not hash $want"
	echo "$1: the same hash $want"
}

# A fast machine may need more steps until there are two checkpoints.
steps=400
undisturbed "$@" $steps
until disturbed "$@" $steps; do
	steps=$((steps * 2))
	[ $steps -lt 1000000 ] || fail "$name was always over before two checkpoints"
	undisturbed "$@" $steps
done
same "$name, one of 2 processes killed"
run --restart "$dir/ck" -n 3 "$program" >"$dir/out" 2>&1 || fail "$name did not go on in 3 processes"
same "$name, from checkpoint $(newest | sed 's/ck-0*//') in 3 processes"
