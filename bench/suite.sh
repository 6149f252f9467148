#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# suite.sh [--smoke] [-g GROUP]... BUILD: all benchmarks on 2 PEs, each figure with its reference of
# the same run. `make bench` calls it; `make bench-smoke` with --smoke: everything once and as
# short as can be, results thrown away, no word about speed.
#
#	QUICK=1 make bench              2 rounds instead of 5, smaller machines
#	ROUNDS=9 make bench
#	bash bench/suite.sh -g roundtrip -g channels build      only these groups; the others keep
#	                                                        the results that they have
#
# A group is a set of programs that are compared with each other. They run in turn, ROUNDS times,
# with one repeat each; a ratio is taken within each round, and the median of these is shown.
# What disturbs the machine for seconds then hits both sides of a division.
#
# The host of a virtual machine may move its cores from one cache into two and back, or make them
# two threads of one, within seconds: a line then takes five times as long from one to the other, and a
# ratio of two programs that ran before and after means nothing. So each program begins when the cores are
# as far apart as they usually are, within 5 s, and is repeated, twice at most, if that has changed when
# it ends.
#
# Writes to BUILD/bench/results
#	GROUP.csv      round,program,name,parameter,value,unit: every line of every program
#	summary.csv    group,name,parameter,median,unit,rounds
#	ratios.csv     name,parameter,reference,ratio: the pairs of pairs()
#	targets.csv    the table that is printed at the end, with every parameter
#	tables.txt     the figures in the columns of the papers that Chard comes from
#	*.svg, *.png   plots, where gnuplot is installed
# Exit code: 0 when all programs ran and their data was right, whatever their speed.

set -u
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C OPENBLAS_NUM_THREADS=1
smoke= only=()
while [ $# -gt 1 ]; do
	case $1 in
	--smoke) smoke=1 ;;
	-g) only+=("$2") && shift ;;
	*) break ;;
	esac
	shift
done
[ $# = 1 ] && [ -x "$1/bin/ckrun" ] || { echo "usage: $0 [--smoke] [-g GROUP]... BUILD" >&2; exit 2; }
B=$1 quick=${QUICK:-}
[ "$smoke" ] && quick=1
rounds=${ROUNDS:-$([ "$smoke" ] && echo 1 || { [ "$quick" ] && echo 2 || echo 5; })}
R=$B/bench/results
if [ "$smoke" ]; then
	R=$(mktemp -d) || exit 1
	trap 'rm -rf "$R"' EXIT
fi
mkdir -p "$R" && : >"$R/failed" || exit 1
trap 'exit 130' INT TERM
limit=$([ "$smoke" ] && echo 30 || echo 300) # seconds, of one program
started=$SECONDS

# ---- running ------------------------------------------------------------------------------

group= programs=() parameters=() suffixes=() commands=() groups_done=0
groups=$(grep -c '^run_group' bench/suite.sh)
[ ${#only[@]} = 0 ] || groups=${#only[@]}

# Begin a group; the jobs that follow belong to it.
group() {
	group=$1 programs=() parameters=() suffixes=() commands=()
}

# job [-p PARAMETER] [-a SUFFIX] PROGRAM COMMAND...: PROGRAM must have been built, or be installed.
# PARAMETER is for programs that print none; SUFFIX is put behind their names.
job() {
	local parameter=0 suffix=
	while [ "${1#-}" != "$1" ]; do
		case $1 in
		-p) parameter=$2 ;;
		-a) suffix=$2 ;;
		esac
		shift 2
	done
	[ -x "$B/$1" ] || command -v "$1" >/dev/null || return 0
	programs+=("$1") parameters+=("$parameter") suffixes+=("$suffix")
	shift
	commands+=("${*@Q}")
}

# What a program printed, as lines of the CSV. Three words are a name, bytes and microseconds;
# the examples name the figure instead of a parameter.
lines() { # round, number of the job
	awk -v round="$1" -v program="${programs[$2]##*/}" -v parameter="${parameters[$2]}" \
		-v suffix="${suffixes[$2]}" '
	function line(name, at, value, unit) {
		printf "%d,%s,%s%s,%s,%s,%s\n", round, program, name, suffix, at, value, unit
	}
	function number(s) { return s ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ }
	$1 !~ /^[a-z]/ { next }
	NF == 4 && number($2) && number($3) { line($1, $2, $3, $4) }
	NF == 3 && number($2) && number($3) { line($1, $2, $3, "us") }
	NF == 3 && $2 == "iter_us" { line($1, parameter, $3, "us") }
	NF == 4 && $3 == "iter_us" { line($1 "-" $2, parameter, $4, "us") }
	NF == 3 && $2 == "gain_percent" { line($1 "-gain", parameter, $3, "%") }'
}

# Progress: one line that is written over on a terminal, else a line when a group begins.
say() {
	if [ -t 2 ]; then
		printf '\r\033[K%s' "$*" >&2
	elif [[ "$*" == *"round 1 of"*", 1/"* ]]; then
		echo "$*" >&2
	fi
}

# A barrier of two bare processes, in ns, tells how far apart the cores are. Usual is what lies within a
# factor of 1.6 of the median of all looks so far.
looks=()
cores_usual() {
	local ns sorted usual
	ns=$("$B/bench/floor" --barrier --reps 1 2>/dev/null | awk '{ print int($3 * 1000); exit }')
	[ -n "$ns" ] && [ "$ns" -gt 0 ] || return 0
	looks+=("$ns")
	sorted=($(printf '%s\n' "${looks[@]}" | sort -n))
	usual=${sorted[${#sorted[@]} / 2]}
	[ $((ns * 10)) -le $((usual * 16)) ] && [ $((usual * 10)) -le $((ns * 16)) ]
}
await_usual() {
	local begin=$SECONDS
	until cores_usual; do
		[ $((SECONDS - begin)) -lt 5 ] || return
		sleep 0.2
	done
}
n_unusual=0
[ "$smoke" ] || for _ in {1..15}; do
	cores_usual
	sleep 0.2
done

# Run command $1 while the cores are as far apart as usual, if that can be had.
run_as_usual() {
	local try
	for try in 1 2 3; do
		[ "$smoke" ] || await_usual
		eval "timeout -k 3 $limit $1" </dev/null >"$R/out" 2>"$R/err" || return
		[ -z "$smoke" ] && ! cores_usual || return 0
	done
	n_unusual=$((n_unusual + 1))
}

# Run the jobs of the group in turn, $1 times (default: all rounds).
run_group() {
	local n=${1:-$rounds} round i begin=$SECONDS out
	[ ${#programs[@]} -gt 0 ] || return 0
	[ ${#only[@]} = 0 ] || [[ " ${only[*]} " == *" $group "* ]] || return 0
	out=$R/$group.csv
	groups_done=$((groups_done + 1))
	echo "round,program,name,parameter,value,unit" >"$out"
	for ((round = 1; round <= n; round++)); do
		for ((i = 0; i < ${#programs[@]}; i++)); do
			say "[$groups_done/$groups] $group: round $round of $n," \
				"$((i + 1))/${#programs[@]} ${programs[i]##*/}," \
				"$((SECONDS - started)) s"
			if ! run_as_usual "${commands[i]}"; then
				say ""
				echo "FAILED ${commands[i]}" | tee -a "$R/failed"
				tail -n 5 "$R/out" "$R/err"
			fi
			lines "$round" "$i" <"$R/out" >>"$out"
		done
	done
	say ""
	printf '%-12s %2d programs, %d rounds, %4d figures, %3d s\n' "$group" ${#programs[@]} "$n" \
		$(($(wc -l <"$out") - 1)) $((SECONDS - begin))
}

ck() { # PROGRAM arguments...: as two processes
	job "bench/$1" "$B/bin/ckrun" -n 2 "$B/bench/$1" "${@:2}"
}
ck_both() { # and as two PEs of one
	ck "$@"
	job "bench/$1" "$B/bin/ckrun" -n 2 --ppn 2 "$B/bench/$1" "${@:2}"
}
# mpi RANKS [-p PARAMETER SUFFIX] PROGRAM arguments...: by each MPI that is installed. A program that
# needs a parameter does not say either which MPI it is.
mpi() {
	local ranks=$1 options=() suffix= m
	shift
	[ "$1" = -p ] && options=(-p "$2") && suffix=$3 && shift 3
	for m in openmpi mpich; do
		job "${options[@]}" -a "${options:+$suffix-$m}" "bench/mpi/$1_mpi.$m" \
			$(launcher $m) -n "$ranks" "$B/bench/mpi/$1_mpi.$m" "${@:2}"
	done
}
launcher() {
	case $1 in
	openmpi) echo mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none ;;
	mpich) echo mpiexec.hydra ;;
	esac
}

# ---- the groups ------------------------------------------------------------------------------

once=(--reps 1) few=(--reps 1) large=(--reps 1 --sizes 30000,40000,70000,100000,500000)
if [ "$smoke" ]; then
	once=(--smoke) few=(--reps 1 --sizes 8,1000) large=(--reps 1 --sizes 30000)
fi

# What a ball costs there and back, by size; touched, and as the peers' published figures are.
group roundtrip
job bench/floor "$B/bench/floor" "${few[@]}"
job bench/floor "$B/bench/floor" --threads "${few[@]}"
job bench/floor "$B/bench/floor" --best "${large[@]}"
ck_both pingpong "${few[@]}"
mpi 2 pingpong "${few[@]}"
mpi 2 pingpong --put "${few[@]}"
run_group

group untouched
peers=(--no-touch --reps 1 --sizes 100,1000,10000,100000,500000)
[ "$smoke" ] && peers=(--no-touch --reps 1 --sizes 100)
job bench/floor "$B/bench/floor" "${peers[@]}"
job bench/floor "$B/bench/floor" --threads "${peers[@]}"
job bench/floor "$B/bench/floor" --threads --handover "${few[@]}"
job -a -notouch bench/pingpong "$B/bin/ckrun" -n 2 "$B/bench/pingpong" "${peers[@]}"
job -a -notouch bench/pingpong "$B/bin/ckrun" -n 2 --ppn 2 "$B/bench/pingpong" "${peers[@]}"
mpi 2 pingpong "${peers[@]}"
job ucx_perftest sh bench/perftest.sh ${smoke:+--smoke}
run_group

# Each layer's share: handlers, entry methods, MPI.
group rate
ck_both machine "${once[@]}"
ck_both rate "${once[@]}"
mpi 2 rate "${once[@]}"
run_group

# What a PE spends.
group overhead
job bench/local "$B/bench/local" $([ "$smoke" ] && echo 1000 || echo 20000)
ck_both logp "${once[@]}"
ck_both kpings "${once[@]}"
mpi 2 kpings "${once[@]}"
run_group

# ARMI's aggregation factor; with UCX between the processes, as a network would be, too.
group aggregation
ck_both kpings "${once[@]}"
job -a -ucx bench/kpings env CK_SHARE=0 "$B/bin/ckrun" -n 2 "$B/bench/kpings" "${once[@]}"
for factor in 1 2 4 8 16 32 64 128 256 512 1024 2048; do
	ck_both kpings --aggregate $factor "${once[@]}"
	job -a -ucx bench/kpings env CK_SHARE=0 "$B/bin/ckrun" -n 2 "$B/bench/kpings" \
		--aggregate $factor "${once[@]}"
done
mpi 2 kpings --aggregate 512 "${once[@]}"
job bench/kpings "$B/bin/ckrun" -n 2 --ppn 2 "$B/bench/kpings" --bare 512 "${once[@]}"
run_group $((rounds < 2 ? rounds : 2)) # so many programs

# They are the same in every round.
group instructions
job valgrind sh bench/instructions.sh "$B/bench/local"
run_group 1

group collectives
ck_both collectives "${once[@]}"
mpi 2 collectives "${once[@]}"
job bench/floor "$B/bench/floor" --barrier "${few[@]}"
job bench/floor "$B/bench/floor" --barrier --threads "${few[@]}"
run_group

group exchange
ck_both pingack "${once[@]}"
mpi 2 pingack "${once[@]}"
ck_both neighbours "${once[@]}"
mpi 2 neighbours "${once[@]}"
run_group

group many
ck many "${once[@]}"
ck singles ${smoke:+--smoke}
run_group 1

group channels
ck channels "${once[@]}"
job -a -threads bench/channels "$B/bin/ckrun" -n 2 --ppn 2 "$B/bench/channels" "${once[@]}"
# What they would be without the doorbell: all polled.
job -a -polled bench/channels env CK_DIRECT_POLL_MAX=1000000 "$B/bin/ckrun" -n 2 \
	"$B/bench/channels" --most 10000 "${once[@]}"
ck paircalc "${once[@]}"
ck paircalc "${once[@]}" --hops 0
ck_both transfer "${once[@]}"
run_group

# Whole programs, by messages and by channels, over the size of the problem and the virtualisation
# ratio (chares per PE). The plain names are those of 64x64x64 and of 256; others have the size
# behind them. The MPI programs have one block per rank.
iterations=$([ "$smoke" ] && echo 2 || echo 100)
stencil() { # chares per PE, chares as AxBxC, edge of the domain
	local suffix=-$3
	[ "$3" = 64 ] && suffix=
	job -p "$1" -a "$suffix" examples/stencil/stencil "$B/bin/ckrun" -n 2 \
		"$B/examples/stencil/stencil" --mode both --domain "$3x$3x$3" --chares "$2" \
		--iters "$iterations" --no-verify
	mpi 2 -p "$1" "$suffix" stencil "$3" "$3" "$3" "$iterations"
}
group stencil
stencil 1 2x1x1 64
stencil 8 4x2x2 64
[ "$smoke" ] || stencil 64 8x4x4 64
[ "$smoke" ] || stencil 8 4x2x2 32
[ "$smoke" ] || stencil 64 8x4x4 32
if [ ! "$quick" ]; then
	stencil 512 16x8x8 64
	stencil 1 2x1x1 32
	stencil 1 2x1x1 128
	stencil 8 4x2x2 128
	stencil 64 8x4x4 128
fi
run_group

# Why many small blocks leave channels no gain.
group footprint
job examples/stencil/stencil sh bench/footprint.sh ${smoke:+--smoke} "$B"
run_group 1

matmul() { # chares per PE, PEs, P, size, suffix
	job -p "$1" -a "$5" examples/matmul/matmul "$B/bin/ckrun" -n "$2" \
		"$B/examples/matmul/matmul" --mode both --n "$4" --p "$3" \
		--iters $((iterations / 10 + 1)) --no-verify
}
# One chare per PE, so that the MPI program has as many ranks; on two cores, so that most of them wait for
# one. Ten iterations are a time slice or two of the system's, and vary by half: as many as that a turn of
# 200 ms. MPICH's ranks wait busily, 50 ms an iteration.
matmul_8() {
	local n=$iterations repeats=5
	[ "$smoke" ] && repeats=1
	job -p 1 -a -8pes examples/matmul/matmul "$B/bin/ckrun" -n 8 "$B/examples/matmul/matmul" \
		--mode both --n 256 --p 2 --iters "$n" --repeat $repeats --no-verify
	job -p 1 -a -openmpi bench/mpi/matmul_mpi.openmpi $(launcher openmpi) -n 8 \
		"$B/bench/mpi/matmul_mpi.openmpi" 256 "$n" --repeat $repeats --no-verify
	job -p 1 -a -mpich bench/mpi/matmul_mpi.mpich $(launcher mpich) -n 8 \
		"$B/bench/mpi/matmul_mpi.mpich" 256 $((n / 10 + 1)) --no-verify
}
group matmul
matmul 4 2 2 256 ""
[ "$smoke" ] || matmul 32 2 4 256 ""
[ "$smoke" ] || matmul 32 2 4 128 -128
if [ ! "$quick" ]; then
	matmul 256 2 8 256 ""
	matmul 4 2 2 128 -128
	matmul 4 2 2 512 -512
	matmul 32 2 4 512 -512
fi
matmul_8
run_group

# The same with as many PEs or ranks as cores; the parameter is the bytes of a slice. "fine": most of
# a chare's transfers cross between PEs, as with one chare per PE, and are nearly all its work.
matmul_2() { # suffix, bytes, N, P, iterations, options of both programs; and of the example
	job -p "$2" -a "$1" examples/matmul/matmul "$B/bin/ckrun" -n 2 "$B/examples/matmul/matmul" \
		--mode both --n "$3" --p "$4" --iters "$5" --warmup 5 --repeat 3 --sync barrier \
		--no-verify ${6:+--map "$6"}
	for m in openmpi mpich; do
		job -p "$2" -a "$1-$m" bench/mpi/matmul_mpi.$m $(launcher $m) -n 2 \
			"$B/bench/mpi/matmul_mpi.$m" "$3" "$5" --p "$4" --repeat 3 --no-verify \
			${6:+"--$6"}
	done
}
group matmul2
matmul_2 -2pes 65536 256 2 $((iterations * 2))
matmul_2 -fine 128 32 4 $((iterations * 10)) spread
[ "$smoke" ] || matmul_2 -fine 512 64 4 $((iterations * 5)) spread
run_group

# Sample sort: one call per key, against an MPI program that gathers them by hand.
samplesort=(--keys $([ "$smoke" ] && echo 10000 || echo 1000000) --repeat 3)
group samplesort
job -a -nodes examples/samplesort/samplesort "$B/bin/ckrun" -n 2 \
	"$B/examples/samplesort/samplesort" "${samplesort[@]}"
job -a -threads examples/samplesort/samplesort "$B/bin/ckrun" -n 2 --ppn 2 \
	"$B/examples/samplesort/samplesort" "${samplesort[@]}"
mpi 2 samplesort "${samplesort[@]}"
run_group

group crowd
job bench/crowd sh bench/crowd.sh "$B" ${smoke:+--smoke}
run_group 1

group growth
case $smoke$quick in
11) sizes=(-r 4 -s 64 -n 1) ;;
1) sizes=(-r 32 -s 512 -n 2) ;;
*) sizes=(-r 64 -s 1024) ;;
esac
job bench/growth sh bench/growth.sh "${sizes[@]}" "$B"
run_group 1

# No speed: naive and memcpy must be caught, the others must not tear. Of 10^6 puts by memcpy between cores of
# one cache 0 to 11 were caught (AMD EPYC), and none of the few in a smoke test.
group torn
for path in memory rma message; do
	ck torn --path $path --puts $([ "$smoke" ] && echo 10000 || echo 1000000)
done
for path in naive memcpy; do
	[ "$smoke" ] || ck torn --path $path --puts 10000000
done
run_group 1

# ---- what it says ----------------------------------------------------------------------------

# Charm++ 8.0 was not measured here, but on another machine with 2 cores: round trips between two
# processes over UCX (array entry) and between two threads (a pointer is handed over), data not touched; and
# bare C over shared memory beside them. What they would be here: that many times bare C's time here.
charm() {
	[ -f "$R/untouched.csv" ] || return
	awk -F, '
	BEGIN {
		OFS = ","
		split("100 1000 10000 100000 500000", bytes, " ")
		split("0.23 0.26 0.42 5.4 25", bare, " ")
		split("1.78 2.08 8.2 36.8 104", ucx, " ")
		split("1.30 1.38 1.27 1.30 0.7", threads, " ")
		for (i in bytes)
			at[bytes[i]] = i
		print "round,program,name,parameter,value,unit"
	}
	$3 == "floor-notouch" && $4 in at {
		i = at[$4]
		print $1, "charm", "charm-ucx", $4, $5 * ucx[i] / bare[i], "us"
	}
	# A pointer costs the same whatever it points to.
	$3 == "floor-threads-notouch" && $4 == 100 {
		for (i in bytes)
			print $1, "charm", "charm-threads", bytes[i], $5 * threads[i] / bare[1], "us"
	}' "$R/untouched.csv"
}

# Which figure is divided by which, for ratios.csv.
pairs() {
	cat <<'PAIRS'
channel-nodes floor
floor-best floor
message-nodes floor
channel-threads floor-threads
message-threads floor-threads
message-nodes mpi-openmpi
message-nodes mpi-mpich
channel-nodes mpi-openmpi
channel-nodes mpi-mpich
message-nodes-notouch charm-ucx
handover-nodes-notouch charm-ucx
handover-threads-notouch charm-threads
message-nodes-notouch ucx-am-notouch
handover-nodes-notouch ucx-am-notouch
channel-nodes-notouch ucx-put-notouch
message-nodes-notouch mpi-openmpi-notouch
message-nodes-notouch mpi-mpich-notouch
handover-nodes message-nodes
handover-threads message-threads
channel-nodes mpi-openmpi-put
channel-nodes mpi-mpich-put
chare-rtt-nodes cmi-rtt-nodes
chare-rtt-threads cmi-rtt-threads
cmi-rtt-nodes rtt-openmpi
cmi-rtt-nodes rtt-mpich
chare-rate-nodes rate-openmpi
chare-rate-nodes rate-mpich
channel-rate-nodes rate-openmpi
channel-rate-nodes rate-mpich
chare-bandwidth-nodes bandwidth-openmpi
chare-bandwidth-nodes bandwidth-mpich
channel-bandwidth-nodes bandwidth-openmpi
channel-bandwidth-nodes bandwidth-mpich
local-hop call-direct
local-hop call-pointer
local-instructions call-direct-instructions
local-instructions call-pointer-instructions
kpings-each-nodes kpings-each-openmpi
kpings-each-nodes kpings-each-mpich
kpings-a512-each-nodes kpings-each-nodes
kpings-a512-each-nodes kpings-a512-each-openmpi
kpings-a512-each-nodes kpings-a512-each-mpich
kpings-a512-each-threads kpings-bare512-each-threads
kpings-a512-each-nodes-ucx kpings-each-nodes-ucx
barrier-group-nodes barrier-group-openmpi
barrier-group-nodes barrier-group-mpich
barrier-group-nodes floor-barrier
barrier-group-threads floor-barrier-threads
allreduce-group-nodes allreduce-group-openmpi
allreduce-group-nodes allreduce-group-mpich
bcast-group-nodes bcast-group-openmpi
bcast-group-nodes bcast-group-mpich
barrier-array-nodes barrier-array-openmpi
allreduce-array-nodes allreduce-array-openmpi
quiescence-idle-nodes barrier-group-openmpi
pingack-nodes pingack-openmpi
pingack-nodes pingack-mpich
pingack-each-nodes pingack-each-openmpi
pingack-each-nodes pingack-each-mpich
neighbours-k2-nodes neighbours-k2-openmpi
neighbours-k4-nodes neighbours-k4-openmpi
neighbours-k8-nodes neighbours-k8-openmpi
neighbours-k16-nodes neighbours-k16-openmpi
neighbours-k2-nodes neighbours-k2-mpich
neighbours-k4-nodes neighbours-k4-mpich
neighbours-k8-nodes neighbours-k8-mpich
neighbours-k16-nodes neighbours-k16-mpich
paircalc-ready paircalc-message
paircalc-split paircalc-message
paircalc-only-split paircalc-only-message
stencil-direct stencil-msg
stencil-msg stencil-mpi-openmpi
stencil-direct stencil-mpi-openmpi
stencil-msg stencil-mpi-mpich
stencil-direct stencil-mpi-mpich
stencil-direct-32 stencil-msg-32
stencil-msg-32 stencil-mpi-32-openmpi
stencil-direct-32 stencil-mpi-32-openmpi
stencil-direct-128 stencil-msg-128
stencil-msg-128 stencil-mpi-128-openmpi
stencil-direct-128 stencil-mpi-128-openmpi
matmul-direct matmul-msg
matmul-direct-128 matmul-msg-128
matmul-direct-512 matmul-msg-512
matmul-msg-8pes matmul-mpi-openmpi
matmul-direct-8pes matmul-mpi-openmpi
matmul-msg-2pes matmul-mpi-2pes-openmpi
matmul-direct-2pes matmul-mpi-2pes-openmpi
matmul-msg-2pes matmul-mpi-2pes-mpich
matmul-direct-2pes matmul-mpi-2pes-mpich
matmul-direct-fine matmul-msg-fine
matmul-msg-fine matmul-mpi-fine-openmpi
matmul-direct-fine matmul-mpi-fine-openmpi
samplesort-nodes samplesort-openmpi
samplesort-nodes samplesort-mpich
samplesort-threads samplesort-openmpi
PAIRS
}

# title | name | parameters: one, from-to, last or all; n/m: the figure at n over that at m |
# comparison | limit | references, of which the fastest counts; none: the figure itself is compared |
# bound, or nothing: the name of a figure that nothing can be better than, or NAME@PARAMETER, and a
# few words that say why. It is divided by the same references. Where it is beyond the limit itself,
# the verdict is "bounded": the target is out of reach on this machine.
targets() {
	cat <<'TARGETS'
channel round trip, up to 20 kB, over bare shared memory | channel-nodes | 8-20000 | <= | 1.25 | floor
channel round trip, above 20 kB, over plain memcpy | channel-nodes | 20001-1000000000 | <= | 1.0 | floor | floor-best no way of bare C to copy is faster
channel round trip in a node, over bare shared memory | channel-threads | 8-20000 | <= | 1.25 | floor-threads
message round trip between processes, over the faster MPI | message-nodes | all | <= | 1.0 | mpi-openmpi mpi-mpich | floor bare shared memory is no faster
the same, over Charm++ on UCX (published, scaled; data untouched) | message-nodes-notouch | all | <= | 0.5 | charm-ucx | floor-notouch one copy to and fro
message round trip in a node, over Charm++ on threads (the same) | handover-threads-notouch | all | <= | 0.5 | charm-threads | floor-handover-threads@0 bare C hands an object over by pointer
entry call on the same PE, ns | local-hop | 0 | <= | 50 |
the same, instructions | local-instructions | 0 | <= | 150 |
message rate between nodes at 32 bytes, Mmsg/s | chare-rate-nodes | 32 | >= | 5 |
barrier, over the faster MPI | barrier-group-nodes | all | <= | 1.0 | barrier-group-openmpi barrier-group-mpich
allreduce, over the faster MPI | allreduce-group-nodes | all | <= | 1.0 | allreduce-group-openmpi allreduce-group-mpich
1000 armed idle channels, ns per pass | idle-armed | 1000 | <= | 1000 |
message round trip beside 100000 armed channels, over none | message-slow | 100000 | <= | 1.05 |
stencil: gain by channels at the fine grain (64 blocks of 4x8x8 per PE), % | stencil-gain-32 | 64 | >= | 12 |
matmul: gain by channels at the fine grain (slices of 128 bytes), % | matmul-gain-fine | 128 | >= | 40 | | transfer-matmul-gain-spread@128 what copies, calls and products leave
stencil by messages, one block per PE, over the faster MPI program | stencil-msg | 1 | <= | 1.0 | stencil-mpi-openmpi stencil-mpi-mpich
stencil by channels, one block per PE, over the faster MPI program | stencil-direct | 1 | <= | 1.0 | stencil-mpi-openmpi stencil-mpi-mpich
matmul by messages, 8 PEs, over the faster MPI program | matmul-msg-8pes | 1 | <= | 1.0 | matmul-mpi-openmpi matmul-mpi-mpich
matmul by channels, 8 PEs, over the faster MPI program | matmul-direct-8pes | 1 | <= | 1.0 | matmul-mpi-openmpi matmul-mpi-mpich
matmul by messages, 2 PEs, over the faster MPI program | matmul-msg-2pes | all | <= | 1.0 | matmul-mpi-2pes-openmpi matmul-mpi-2pes-mpich
matmul by channels, 2 PEs, over the faster MPI program | matmul-direct-2pes | all | <= | 1.0 | matmul-mpi-2pes-openmpi matmul-mpi-2pes-mpich
matmul by messages, fine grain, over the faster MPI program | matmul-msg-fine | all | <= | 1.0 | matmul-mpi-fine-openmpi matmul-mpi-fine-mpich
matmul by channels, fine grain, over the faster MPI program | matmul-direct-fine | all | <= | 1.0 | matmul-mpi-fine-openmpi matmul-mpi-fine-mpich
the same work on 16 PEs, over 2 PEs (2 cores) | crowd-processes | 16/2 | <= | 1.5 |
hello on 2 PEs from launch to exit, ms | launch | 2 | <= | 100 |
TARGETS
}

tables() {
	charm >"$R/charm.csv"
	pairs >"$R/pairs"
	targets >"$R/targets"
	awk -F, -v R="$R" -f bench/median.awk -f bench/suite.awk "$R/pairs" "$R/targets" "$R"/*.csv
	awk -F, -f bench/tables.awk "$R/summary.csv" >"$R/tables.txt"
	rm -f "$R"/{pairs,targets,out,err,charm.csv}
}
rm -f "$R"/{summary,ratios,targets}.csv
if [ "$smoke" ]; then
	tables >/dev/null
else
	tables
fi

# ---- plots ------------------------------------------------------------------------------------

# plot FILE TITLE X-LABEL Y-LABEL NAME...: the names for which there are figures.
plot() {
	local file=$R/$1 title=$2 x=$3 y=$4 name list= terminal
	shift 4
	for name; do
		awk -F, -v name="$name" '$2 == name { print $3, $4 }' "$R/summary.csv" |
			sort -n >"$file.$name.dat"
		[ "$(wc -l <"$file.$name.dat")" -gt 1 ] || continue
		list+="${list:+, }'$file.$name.dat' with linespoints title '${name//_/\\_}'"
	done
	[ "$list" ] && for terminal in "svg size 800,560 background 'white'" "pngcairo size 800,560"; do
		gnuplot <<PLOT || echo "no plot $file" >>"$R/failed"
set terminal $terminal
set output '$file.$([[ $terminal == svg* ]] && echo svg || echo png)'
set title '$title'
set xlabel '$x'
set ylabel '$y'
set logscale xy
set format x '10^{%L}'
set grid
set key left top
plot $list
PLOT
	done
	rm -f "$file".*.dat
}

if command -v gnuplot >/dev/null; then
	plot roundtrip "Round trip, 2 PEs" bytes microseconds floor channel-nodes message-nodes \
		channel-threads message-threads mpi-openmpi mpi-mpich
	plot put "One-sided, round trip" bytes microseconds floor channel-nodes mpi-openmpi-put \
		mpi-mpich-put
	plot untouched "Round trip, data neither written nor read" bytes microseconds \
		floor-notouch channel-nodes-notouch message-nodes-notouch handover-nodes-notouch \
		handover-threads-notouch ucx-am-notouch ucx-put-notouch charm-ucx charm-threads
	plot layers "Round trip by layer" bytes microseconds cmi-rtt-nodes chare-rtt-nodes \
		cmi-rtt-threads chare-rtt-threads rtt-openmpi rtt-mpich
	plot rate "Message rate between two PEs" bytes "million messages per second" \
		cmi-rate-nodes chare-rate-nodes channel-rate-nodes chare-rate-threads \
		channel-rate-threads rate-openmpi rate-mpich
	plot bandwidth "Bandwidth between two PEs" bytes "MB/s" chare-bandwidth-nodes \
		channel-bandwidth-nodes bandwidth-openmpi bandwidth-mpich
	plot overhead "What a PE spends on a message (LogP)" bytes microseconds \
		logp-message-o_send-nodes logp-message-o_recv-nodes logp-message-g-nodes \
		logp-channel-o_send-nodes logp-channel-o_recv-nodes logp-channel-g-nodes
	plot kpings "k calls, one answer" k "nanoseconds per call" kpings-each-nodes \
		kpings-each-threads kpings-each-openmpi kpings-each-mpich
	plot aggregation "k calls that travel together, one answer" k "nanoseconds per call" \
		kpings-each-nodes kpings-a{1,2,4,8,16,64,512,2048}-each-nodes \
		kpings-a512-each-openmpi kpings-bare512-each-threads
	plot aggregation-ucx "The same through UCX" k "nanoseconds per call" \
		kpings-each-nodes-ucx kpings-a{1,2,4,8,16,64,512,2048}-each-nodes-ucx
	plot channels "Armed channels" "armed channels" microseconds message-trip channel-trip
	plot stencil "Stencil 64x64x64, 2 PEs" "chares per PE" "microseconds per iteration" \
		stencil-msg stencil-direct stencil-mpi-openmpi stencil-mpi-mpich
	plot stencil-32 "Stencil 32x32x32, 2 PEs" "chares per PE" "microseconds per iteration" \
		stencil-msg-32 stencil-direct-32 stencil-mpi-32-openmpi stencil-mpi-32-mpich
	plot stencil-128 "Stencil 128x128x128, 2 PEs" "chares per PE" \
		"microseconds per iteration" stencil-msg-128 stencil-direct-128 \
		stencil-mpi-128-openmpi stencil-mpi-128-mpich
	plot matmul "Matrix product 256, 2 PEs" "chares per PE" "microseconds" matmul-msg \
		matmul-direct
	plot flood "A flood and its acknowledgement" bytes "million messages per second" \
		pingack-nodes pingack-each-nodes pingack-threads pingack-openmpi pingack-mpich
	plot crowd "The same work on 2 cores" "PEs" "milliseconds" crowd-processes \
		crowd-threads crowd-openmpi crowd-mpich
	plot scaling "Start of a job" nodes "ms" launch start tcp-start-all sim-start
	plot memory "Memory of a node" nodes "kB" memory tcp-memory-all sim-memory \
		threads-memory
else
	echo "no plots: gnuplot is not installed (deps.sh does that)"
fi

[ "$smoke" ] || echo "results: $R; in the columns of the ancestors' papers: $R/tables.txt"
[ "$n_unusual" = 0 ] || echo "$n_unusual programs ran while the cores were nearer or farther than usual"
echo "bench: $((SECONDS - started)) s, $(wc -l <"$R/failed") failed"
[ ! -s "$R/failed" ]
