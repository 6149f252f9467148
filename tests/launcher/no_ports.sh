#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# no_ports.sh CKRUN COMMAND...: the nodes of a running job listen on no port and have no socket with a name. The
# command must run until it is ended, and print something first.
set -u
. "$(dirname "$0")/../job.sh"
ckrun=$1
shift
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

job_start -n 4 --ppn 2 "$@"
job_prints 30
pids=$(job_pids '[0-9]*')
named=
for pid in $pids; do
	# The numbers of its sockets; which of these the kernel's lists know by an address or a name.
	for number in $(ls -l "/proc/$pid/fd" | sed -n 's/.*socket:\[\([0-9]*\)\]/\1/p'); do
		named+=$(awk -v n="$number" '$10 == n { print " port " $2 }' /proc/net/tcp /proc/net/tcp6 \
			/proc/net/udp /proc/net/udp6 2>/dev/null)
		named+=$(awk -v n="$number" '$7 == n && NF > 7 { print " name " $8 }' /proc/net/unix)
	done
done
kill -TERM $job
{ wait $job; } 2>/dev/null
echo "$(wc -w <<<"$pids") nodes:${named:- no ports, no names}"
[ "$(wc -w <<<"$pids")" = 2 ] && [ -z "$named" ]
