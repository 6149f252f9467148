#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# growth.sh [-r MOST] [-s MOST] [-n ROUNDS] [BUILD]: what a node costs in a job of N nodes, for N =
# 2, 4, 8, ... real nodes (processes of this host, up to -r, default 64), as many threads, and
# simulated nodes (in one process, up to -s, default 1024): bench/growth says how. 0 leaves one of
# them out.
#
# Prints `name N value unit`, medians of ROUNDS (default 3) runs:
#	launch         ms from the start of ckrun to its end, for examples/hello
#	start, memory, endpoints, peers, files   of bench/growth, real nodes, messages by reference
#	threads-...    the same for N PEs of one node
#	tcp-...-all    the same when all talk to all by tcp, up to a quarter of the nodes: what
#	               a network's endpoints cost
#	sim-...        simulated
# and for each name the growth law, by least squares:
#	NAME-law N E exponent    at the largest three N the value grows as N^E: 0, it does not
#	                         grow; 1, linearly
#	NAME-slope N V ...       what each further node adds, over all N
#
# A machine that runs out of anything ends the series: the N that did not work is named on stderr.
set -u
real=64 sim=1024 rounds=3
while getopts r:s:n: option; do
	case $option in
	r) real=$OPTARG ;;
	s) sim=$OPTARG ;;
	n) rounds=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
B=${1:-build}
patience=120 # seconds, of one run

lines=$(mktemp) || exit 1
trap 'rm -f "$lines"' EXIT
trap 'exit 1' INT TERM

# Milliseconds that a command takes.
timed() {
	begin=$(date +%s%N)
	"$@" >/dev/null || return
	echo $((($(date +%s%N) - begin) / 1000)) | awk '{ printf "%.1f", $1 / 1000 }'
}

# series MOST NAME-PREFIX COMMAND...: the command for each N, which replaces the word N.
series() {
	most=$1 prefix=$2
	shift 2
	n=2
	while [ $n -le "$most" ]; do
		round=0
		while [ $round -lt "$rounds" ]; do
			# shellcheck disable=SC2046
			if ! timeout $patience $(echo "$@" | sed "s/ N / $n /g; s/ N$/ $n/") \
				>"$lines.one"; then
				echo "growth: stops before N = $n: $*" >&2
				rm -f "$lines.one"
				return
			fi
			sed "s/^/$prefix/" "$lines.one" >>"$lines"
			round=$((round + 1))
		done
		n=$((n * 2))
	done
	rm -f "$lines.one"
}

launches() {
	n=2
	while [ $n -le "$real" ]; do
		round=0
		while [ $round -lt "$rounds" ]; do
			ms=$(timed "$B/bin/ckrun" --timeout $patience -n $n \
				"$B/examples/hello/hello" $n) || return
			echo "launch $n $ms ms" >>"$lines"
			round=$((round + 1))
		done
		n=$((n * 2))
	done
}

launches
series "$real" "" "$B/bin/ckrun" --timeout $patience -n N "$B/bench/growth"
series "$real" "" "$B/bin/ckrun" --timeout $patience -n N --ppn N "$B/bench/growth"
series $((real / 4)) tcp- env UCX_TLS=tcp,self \
	"$B/bin/ckrun" --timeout $patience -n N "$B/bench/growth" --all
series "$sim" "" "$B/bench/growth" --nodes N

awk "$(cat "${0%/*}/median.awk")"'
function slope(x, y, n,    i, sx, sy, sxx, sxy) {
	for (i = 1; i <= n; i++) {
		sx += x[i]; sy += y[i]; sxx += x[i] * x[i]; sxy += x[i] * y[i]
	}
	return (n * sxy - sx * sy) / (n * sxx - sx * sx)
}
NF == 4 {
	if (!($1 in unit)) { names[++n_names] = $1; unit[$1] = $4 }
	if (!(($1, $2) in count)) { at[$1, ++n_at[$1]] = $2 }
	value[$1, $2, ++count[$1, $2]] = $3
}
END {
	for (k = 1; k <= n_names; k++) {
		name = names[k]
		last = at[name, n_at[name]]
		points = rows = 0
		for (i = 1; i <= n_at[name]; i++) {
			N = at[name, i]
			for (j = 1; j <= count[name, N]; j++)
				list[j] = value[name, N, j]
			v = median(list, count[name, N])
			printf "%s %d %g %s\n", name, N, v, unit[name]
			x[++rows] = N; y[rows] = v
			if (N >= last / 4 && v > 0) {
				lx[++points] = log(N); ly[points] = log(v)
			}
		}
		if (points == 3 && rows > 3) {
			printf "%s-law %d %.2f exponent\n", name, last, slope(lx, ly, points)
			printf "%s-slope %d %g %s/node\n", name, last, slope(x, y, rows),
				unit[name]
		}
	}
}' "$lines"
