#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# unheard_node.sh CKRUN COMMAND...: the command runs on four nodes, and one of them dies without the launcher's
# noticing: once the node is the child of a script that goes on, once ckrun is stopped. The others must notice it
# themselves and have ended within a second, and one of them says so. The command must run until it is ended, and
# print something first.
#
# On a busy machine everything takes longer, so the time that a plain process takes to be killed just then is
# added to that second. What is late all the same is tried twice more; only lateness is.
set -u
. "$(dirname "$0")/../job.sh"
ckrun=$1
shift
PROMISED_MS=1000 TRIES=3
if ! python3 -c 'import os; os.pidfd_open(os.getpid())' 2>/dev/null; then
	echo "skip  deaths that no launcher tells: this kernel gives no descriptors of processes"
	exit 77
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }
start() { # command: sets job
	job_start -n 4 "$@"
	job_prints 10
	sleep 0.3 # into its work
}
all_gone() { # processes; waits 10 s at most
	local pid until=$(($(now_ms) + 10000))
	for pid; do
		while alive "$pid" && [ "$(now_ms)" -lt $until ]; do sleep 0.01; done
		alive "$pid" && return 1
	done
	return 0
}
measure_plain() { # sets plain_ms
	local begin
	begin=$(now_ms)
	sleep 100 &
	kill -9 $!
	{ wait $!; } 2>/dev/null
	plain_ms=$(($(now_ms) - begin))
}

child_of_a_script() {
	local begin
	start sh -c '"$0" "$@"; sleep 60' "$@"
	begin=$(now_ms)
	kill -9 "$(cat /proc/"$(job_pids 1)"/task/*/children)"
	{ wait $job; } 2>/dev/null
	code=$?
	took_ms=$(($(now_ms) - begin))
	all_gone $(job_pids '[0-9]*') && [ $code = 1 ]
}

ckrun_stopped() {
	local begin gone=no
	start "$@"
	kill -STOP $job
	begin=$(now_ms)
	kill -9 "$(job_pids 1)"
	all_gone $(job_pids '[0-9]*') && gone=yes
	took_ms=$(($(now_ms) - begin))
	kill -CONT $job
	{ wait $job; } 2>/dev/null
	code=$?
	[ $gone = yes ] && [ $code != 0 ]
}

failed=0
fact() { # what, function, command
	local what=$1 ended
	shift
	for _ in $(seq $TRIES); do
		ended=no
		"$@" && ended=yes
		measure_plain
		[ $took_ms -ge $((PROMISED_MS + plain_ms)) ] || break
	done
	if [ $ended = yes ] && [ $took_ms -lt $((PROMISED_MS + plain_ms)) ] &&
		[ "$(grep -c '^chard: node 0: node 1 (process [0-9]*) of this host has died' "$dir/err")" = 1 ]; then
		echo "ok    $what"
	else
		echo "FAIL  $what"
		echo "      exit code $code after $took_ms ms, a plain process after $plain_ms ms; all ended: $ended"
		grep -v started "$dir/err" | tail -5
		failed=1
	fi
}
fact "a node that is the child of a script" child_of_a_script "$@"
fact "a node whose launcher is stopped" ckrun_stopped "$@"
exit $failed
