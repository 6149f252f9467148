#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# killed_node.sh CKRUN VICTIM COMMAND...: runs the command on two nodes of two PEs each and, as soon as it has
# printed something, kills one node. The job must end with code 137 and one line that names the node, and neither
# node may be alive. From the kill to ckrun's end it may take a second, as the guide promises.
#
# On a busy machine everything takes longer, so the time that a plain process takes to be killed just then is
# added to that second. What is late all the same is tried twice more; only lateness is.
set -u
. "$(dirname "$0")/../job.sh"
ckrun=$1 victim=$2
shift 2
PROMISED_MS=1000 TRIES=3
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# Kill a process, wait for a child; sets code and ms.
kill_and_wait() { # process, child
	local start=${EPOCHREALTIME/./}
	kill -9 "$1" || exit
	{ wait "$2"; } 2>/dev/null
	code=$?
	ms=$(((${EPOCHREALTIME/./} - start) / 1000))
}

attempt() {
	local pid
	job_start -n 4 --ppn 2 "$@"
	job_prints 10
	sleep 0.3 # into its work
	kill_and_wait "$(job_pids "$victim")" $job
	job_code=$code took_ms=$ms left=
	for pid in $(job_pids '[0-9]*'); do
		alive "$pid" && left+=" $pid"
	done
	sleep 100 &
	kill_and_wait $! $!
	grep -v ' started' "$dir/err" >&2
	echo "exit code $job_code after $took_ms ms, a plain process after $ms ms; left:${left:- none}"
}

for _ in $(seq $TRIES); do
	attempt "$@"
	[ $took_ms -ge $((PROMISED_MS + ms)) ] || break
done
[ $job_code = 137 ] && [ $took_ms -lt $((PROMISED_MS + ms)) ] && [ -z "$left" ] &&
	[ "$(grep -Ec "^ckrun: node $victim .*killed by signal 9" "$dir/err")" = 1 ]
