#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# crowd.sh BUILD [--smoke]: oversubscription. The same total work (bench/crowd.c) on 2, 4, ... 64
# PEs, as processes, as threads of one process, and as MPI ranks, with the cores that there are.
#
# Prints lines of `crowd-KIND PEs milliseconds ms`, medians of ROUNDS (default 3) rounds, and a
# table: a row per number of PEs, a column per kind, and behind each time its ratio to that of
# the first row. In every round all are run one after the other. The kinds are processes, threads,
# and each MPI that is built. What does not end within LIMIT seconds (default 60) is shown as "-".
# The numbers of PEs: CROWD_PES (default "2 4 8 16 32 64").
set -u

B=${1:?usage: crowd.sh BUILD [--smoke]}
smoke=${2:-}
pes=${CROWD_PES:-2 4 8 16 32 64} rounds=${ROUNDS:-3} limit=${LIMIT:-60}
if [ "$smoke" ]; then
	pes=${CROWD_PES:-2 4} rounds=1
fi

# run KIND PES
run() {
	case $1 in
	processes) set -- "$1" "$2" "$B/bin/ckrun" -n "$2" "$B/bench/crowd" ;;
	threads) set -- "$1" "$2" "$B/bin/ckrun" -n "$2" --ppn "$2" "$B/bench/crowd" ;;
	openmpi) set -- "$1" "$2" mpirun.openmpi --allow-run-as-root --oversubscribe \
		--bind-to none -n "$2" "$B/bench/mpi/crowd_mpi.openmpi" ;;
	mpich) set -- "$1" "$2" mpiexec.hydra -n "$2" "$B/bench/mpi/crowd_mpi.mpich" ;;
	esac
	kind=$1 n=$2
	shift 2
	timeout "$limit" "$@" --reps 1 $smoke </dev/null ||
		echo "FAILED crowd-$kind $n: exit code $?"
}

kinds="processes threads"
for mpi in openmpi mpich; do
	[ -x "$B/bench/mpi/crowd_mpi.$mpi" ] && kinds="$kinds $mpi"
done

round=0
while [ $round -lt "$rounds" ]; do
	for count in $pes; do
		for each in $kinds; do
			run "$each" "$count"
		done
	done
	round=$((round + 1))
done | awk -v kinds="$kinds" -v pes="$pes" "$(cat "${0%/*}/median.awk")"'
function milliseconds(kind, n,    i, list) {
	for (i = 1; i <= count[kind, n]; i++)
		list[i] = ms[kind, n, i]
	return median(list, count[kind, n])
}
$1 == "FAILED" {
	print "crowd.sh: " substr($0, 8) > "/dev/stderr"
	# 124: too slow, which is an answer
	if ($NF != 124)
		failed = 1
	next
}
$1 ~ /^crowd-/ && $4 == "ms" { ms[substr($1, 7), $2, ++count[substr($1, 7), $2]] = $3 }
END {
	n_kinds = split(kinds, kind, " ")
	n_pes = split(pes, pe, " ")
	for (k = 1; k <= n_kinds; k++)
		for (p = 1; p <= n_pes; p++)
			if (count[kind[k], pe[p]])
				printf "crowd-%s %d %.2f ms\n", kind[k], pe[p],
					milliseconds(kind[k], pe[p])
	printf "\n%6s", "PEs"
	for (k = 1; k <= n_kinds; k++)
		printf "  %20s", kind[k]
	print ""
	for (p = 1; p <= n_pes; p++) {
		printf "%6d", pe[p]
		for (k = 1; k <= n_kinds; k++) {
			if (!count[kind[k], pe[p]])
				printf "  %20s", "-"
			else if (!count[kind[k], pe[1]])
				printf "  %12.2f        ", milliseconds(kind[k], pe[p])
			else
				printf "  %12.2f %6.2fx", milliseconds(kind[k], pe[p]),
					milliseconds(kind[k], pe[p]) / milliseconds(kind[k], pe[1])
		}
		print ""
	}
	exit failed
}'
