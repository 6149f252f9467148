#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# killed_node.sh CKRUN VICTIM COMMAND...: runs the command on two nodes of two PEs each and, as soon as it has
# printed something, kills one node. Within 5 s the job must end with code 137 and one line that names the
# node, and neither node may be alive.
set -u
ckrun=$1 victim=$2
shift 2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# A zombie counts as gone: not every pid 1 reaps at once.
alive() { grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"; }
pids() { # pattern of the node's number
	sed -n "s/^ckrun: node $1 (.*pid \([0-9]*\)) started.*/\1/p" "$dir/err"
}

"$ckrun" -n 4 --ppn 2 --verbose "$@" >"$dir/out" 2>"$dir/err" &
job=$!
for _ in $(seq 500); do
	[ -s "$dir/out" ] && break
	sleep 0.02
done
sleep 0.3 # into its work
start=${EPOCHREALTIME/./}
kill -9 "$(pids "$victim")" || exit
{ wait $job; } 2>/dev/null
code=$?
took_ms=$(((${EPOCHREALTIME/./} - start) / 1000))
left=
for pid in $(pids '[0-9]*'); do
	alive "$pid" && left+=" $pid"
done
grep -v ' started' "$dir/err" >&2
echo "exit code $code after $took_ms ms; left:${left:- none}"
[ $code = 137 ] && [ $took_ms -lt 5000 ] && [ -z "$left" ] &&
	[ "$(grep -Ec "^ckrun: node $victim .*killed by signal 9" "$dir/err")" = 1 ]
