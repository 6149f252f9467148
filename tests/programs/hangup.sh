#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# hangup.sh COMMAND...: a program that runs without a launcher ends when its terminal does. It must print
# something when it has started, and then run for ever.
set -u
. "$(dirname "$0")/../job.sh"
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
"$@" >"$out" &
program=$!
for _ in $(seq 1500); do
	[ -s "$out" ] && break
	sleep 0.02
done
kill -HUP $program
for _ in $(seq 1500); do
	alive $program || break
	sleep 0.02
done
kill -9 $program 2>/dev/null
{ wait $program; } 2>/dev/null
code=$?
echo "exit code $code"
[ $code = 129 ]
