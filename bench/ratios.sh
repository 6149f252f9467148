#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compare benchmarks that print lines of `name bytes microseconds`.
#
#     bench/ratios.sh [-n ROUNDS] [-b BASE] [-c NAME:BASE:BYTES:LIMIT]... COMMAND...
#     bench/ratios.sh [-b BASE] [-c ...] < lines
#
# Runs the commands in turn, ROUNDS times (default 5), or reads lines that were measured before,
# and prints a table: a row per size, a column per name, medians in microseconds, and behind each
# its ratio to BASE (default: the first name met). Each -c demands NAME <= LIMIT x BASE at BYTES;
# the exit code is 1 if one of them fails or has no figures.
#
# The ratio is not that of the medians: each round's figure is divided by the base's of the same
# round, and the median of these is shown. What disturbs a machine for seconds (other work, or a
# hypervisor that moves the CPUs apart) then hits both sides of a division. So give each command
# few repeats and take many rounds:
#
#     bench/ratios.sh -n 9 -c mpi-openmpi:floor:100:20 'build/bench/floor --reps 1' \
#         'mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
#             build/bench/mpi/pingpong_mpi.openmpi --reps 1'
set -u

usage() {
	echo "usage: $0 [-n ROUNDS] [-b BASE] [-c NAME:BASE:BYTES:LIMIT]... [COMMAND...]" >&2
	exit 2
}

rounds=5 base= checks=
while getopts n:b:c: option; do
	case $option in
	n) rounds=$OPTARG ;;
	b) base=$OPTARG ;;
	c) checks="$checks $OPTARG" ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
case $rounds in '' | *[!0-9]*) usage ;; esac

# The figures on stdout. A command that fails leaves one line that is no figure, for the table to
# refuse.
measure() {
	[ $# -gt 0 ] || exec cat
	round=0
	while [ $round -lt "$rounds" ]; do
		for command in "$@"; do
			sh -c "$command" </dev/null || echo "FAILED $command"
		done
		round=$((round + 1))
	done
}

measure "$@" | awk -v base="$base" -v checks="$checks" "$(cat "${0%/*}/median.awk")"'
function microseconds(name, bytes,    i, n, list) {
	n = count[name, bytes]
	for (i = 1; i <= n; i++)
		list[i] = us[name, bytes, i]
	return median(list, n)
}
# By rounds where both have as many figures, else there are no rounds to speak of.
function ratio(name, other, bytes,    i, n, list) {
	n = count[name, bytes]
	if (n != count[other, bytes])
		return microseconds(name, bytes) / microseconds(other, bytes)
	for (i = 1; i <= n; i++)
		list[i] = us[name, bytes, i] / us[other, bytes, i]
	return median(list, n)
}
function check(what,    part, r, good) {
	if (split(what, part, ":") != 4) {
		print "ratios: -c wants NAME:BASE:BYTES:LIMIT, not " what
		failed = 1
	} else if (!count[part[1], part[3]] || !count[part[2], part[3]]) {
		print "FAIL " what ": no figures"
		failed = 1
	} else {
		r = ratio(part[1], part[2], part[3])
		good = r <= part[4]
		printf "%s %s / %s at %d bytes: %.2f, limit %s\n", good ? "ok  " : "FAIL",
			part[1], part[2], part[3], r, part[4]
		if (!good)
			failed = 1
	}
}
$1 == "FAILED" { print "ratios: failed: " substr($0, 8); failed = 1; next }
NF == 3 && $2 ~ /^[0-9]+$/ && $3 + 0 > 0 {
	if (!($1 in seen_name)) { seen_name[$1]; names[++nnames] = $1 }
	if (!($2 in seen_bytes)) { seen_bytes[$2]; sizes[++nsizes] = $2 }
	us[$1, $2, ++count[$1, $2]] = $3
}
END {
	if (!nnames) { print "ratios: no figures"; exit 1 }
	if (base == "")
		base = names[1]
	printf "%8s", "bytes"
	for (i = 1; i <= nnames; i++)
		printf "  %22s", names[i]
	print ""
	for (s = 1; s <= nsizes; s++) {
		bytes = sizes[s]
		printf "%8d", bytes
		for (i = 1; i <= nnames; i++) {
			name = names[i]
			if (!count[name, bytes])
				printf "  %22s", "-"
			else if (name == base || !count[base, bytes])
				printf "  %14.3f        ", microseconds(name, bytes)
			else
				printf "  %14.3f %6.2fx", microseconds(name, bytes),
					ratio(name, base, bytes)
		}
		print ""
	}
	n = split(checks, list_of_checks, " ")
	for (i = 1; i <= n; i++)
		check(list_of_checks[i])
	exit failed
}'
