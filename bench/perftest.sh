#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# perftest.sh [--smoke]: UCX's own ucx_perftest (Debian: ucx-utils) between two processes of this
# host, each on a CPU of its own, with UCX's own settings: what UCX costs without us.
#
# Prints `name bytes value unit`; the data is neither written nor read between two trips, so these
# are to be compared with --no-touch figures:
#	ucx-am-notouch       us      round trip of an active message
#	ucx-put-notouch      us      round trip of a put, found by the last byte
#	ucx-am-rate-notouch  Mmsg/s  active messages one way
# ucx_perftest's own latency is half a round trip.
set -u
sizes="8 100 1000 10000 100000 500000" trips=20000 messages=300000
[ "${1:-}" = --smoke ] && sizes=100 trips=200 messages=1000
command -v ucx_perftest >/dev/null || { echo "perftest.sh: no ucx_perftest" >&2; exit 1; }
out=$(mktemp) || exit 1
server=
trap 'rm -f "$out"; [ "$server" ] && kill "$server" 2>/dev/null' EXIT
trap 'exit 1' INT TERM

# The first two CPUs that we may use, as options.
cpus=$(awk '/^Cpus_allowed_list/ {
	n = split($2, range, ",")
	for (i = 1; i <= n; i++) {
		split(range[i], end, "-")
		for (c = end[1] + 0; c <= (end[2] == "" ? end[1] : end[2]) + 0; c++)
			cpu[++k] = c
	}
	if (k > 1) print cpu[1], cpu[2] }' /proc/self/status)
pin_server=${cpus:+-c ${cpus% *}} pin_client=${cpus:+-c ${cpus#* }}

# run TEST BYTES COUNT: the line of figures, at the end of $out. The server takes one client and
# ends.
port=$((20000 + $$ % 20000))
run() {
	port=$((port + 1))
	# shellcheck disable=SC2086
	ucx_perftest -p $port $pin_server >/dev/null 2>&1 &
	server=$!
	tries=0
	# shellcheck disable=SC2086
	until ucx_perftest 127.0.0.1 -p $port $pin_client -t "$1" -s "$2" -n "$3" \
		-w $(($3 / 10)) -f -v >"$out" 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 50 ] || { tail -n 5 "$out" >&2; exit 1; }
		sleep 0.1 # it does not listen yet
	done
	wait $server
	server=
}
# figure NAME BYTES EXPRESSION UNIT: of the fields of that line.
figure() {
	tail -n 1 "$out" | awk -F, -v name="$1" -v bytes="$2" \
		"{ printf \"%s %d %.4g %s\\n\", name, bytes, $3, \"$4\" }"
}
# count COUNT BYTES: fewer of the large ones, a second each at most.
count() { awk -v n="$1" -v bytes="$2" 'BEGIN { c = 2e9 / bytes; print int(c < n ? c : n) }'; }

for bytes in $sizes; do
	run ucp_am_lat "$bytes" "$(count $trips "$bytes")"
	figure ucx-am-notouch "$bytes" '2 * $4' us
	run ucp_put_lat "$bytes" "$(count $trips "$bytes")"
	figure ucx-put-notouch "$bytes" '2 * $4' us
	run ucp_am_bw "$bytes" "$(count $messages "$bytes")"
	figure ucx-am-rate-notouch "$bytes" '$8 / 1e6' Mmsg/s
done
