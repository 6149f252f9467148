#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every test there is, two at a time, each with a time limit. One line per group; for a
# failure one line and the end of its log. The last line is "N passed, N failed".
#
#	tests/run.sh [-b build folder] [-s address|thread] [group pattern]
#
# Tests that were built are in the build folder; `make check` builds them and calls this.

cd "$(dirname "$0")/.." || exit 1
while getopts b:s: opt; do
	case $opt in
	b) B=$OPTARG ;;
	s) SAN=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
B=${B:-build${SAN:+-$SAN}} only=${1:-}
dir=$(mktemp -d) || exit 1
mkdir "$dir/tmp"
ckrun=$B/bin/ckrun
P=$B/tests/programs
X=$B/examples
unset "${!CK_@}" "${!UCX_@}" "${!PMI@}"
# Every process that comes from here can be known by this, and nothing else is touched.
export CHARD_TEST=$$-$RANDOM TMPDIR=$dir/tmp OPENBLAS_NUM_THREADS=1
limit=180 # seconds; nothing takes a tenth of it on an idle machine
if [ "$SAN" ]; then
	limit=500
	# UCX, hwloc and libc are not instrumented: TSan cannot see how they synchronise. UCX's hook
	# in munmap and madvise runs when a thread has ended for TSan, and crashes there.
	export ASAN_OPTIONS=exitcode=86 UBSAN_OPTIONS=print_stacktrace=1
	export TSAN_OPTIONS=exitcode=86:ignore_noninstrumented_modules=1
	[ "$SAN" = address ] || export UCX_MEM_MMAP_HOOK_MODE=none
fi

# ---- running ----------------------------------------------------------------------------

passed=0 failed=0 jobs=0
group= names=() checks=() commands=() start=0

# `CHECK` is a command that looks at $rc, $out and $err (files) after the test's command.
t() { # name, check, command...
	names+=("$1")
	checks+=("$2")
	shift 2
	commands+=("${*@Q}")
}

run_one() { # number within the group
	local base=$dir/$1 rc out=$dir/$1.out err=$dir/$1.err took=${EPOCHREALTIME/./}
	eval "timeout -k 3 $limit ${commands[$1]}" </dev/null >"$out" 2>"$err"
	rc=$?
	took=$(((${EPOCHREALTIME/./} - took) / 1000))
	if eval "${checks[$1]}"; then
		echo ok >"$base.result"
	else
		echo "FAIL  $group: ${names[$1]} (exit code $rc, $took ms)" >"$base.result"
		echo "      ${commands[$1]}" | cut -c1-300 >>"$base.result"
		tail -n 25 "$out" "$err" | cut -c1-250 | sed 's/^/      /' >>"$base.result"
	fi
	# Tests that consist of many say so line by line.
	cat "$out" "$err" | grep -cE '^(ok +[^ ]|\[       OK )' >"$base.count"
}

# Run what has been collected since the last group, and start a new one.
group() {
	local i n=${#names[@]} bad=0 more
	if [ "$n" -gt 0 ] && [[ $group == *$only* ]]; then
		start=$SECONDS
		for ((i = 0; i < n; i++)); do
			[ "$(jobs -rp | wc -l)" -lt 2 ] || wait -n
			run_one $i &
		done
		wait
		for ((i = 0; i < n; i++)); do
			more=$(cat "$dir/$i.count")
			if [ "$(cat "$dir/$i.result")" = ok ]; then
				passed=$((passed + (more > 1 ? more : 1)))
			else
				bad=$((bad + 1))
				cat "$dir/$i.result"
			fi
		done
		failed=$((failed + bad))
		rm -f "$dir"/*.{out,err,result,count}
		[ $bad -gt 0 ] ||
			printf 'ok    %-50s %4d tests %4d s\n' "$group" "$n" $((SECONDS - start))
	fi
	group=${1:-} names=() checks=() commands=()
}

# ---- what is ours, and what is left of it --------------------------------------------------

# Zombies do not count: not every pid 1 reaps at once.
ours() { # mark
	local p
	for p in $(grep -lsz "^CHARD_TEST=$1" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3); do
		[ "$p" = $$ ] || [ "$p" = "$BASHPID" ] && continue
		grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$p/status" && echo "$p"
	done
}

# Shared memory that nobody alive uses, and what a runtime could have left in /tmp or TMPDIR.
litter() {
	local f
	for f in /dev/shm/*; do
		[ -e "$f" ] && ! grep -qsF "$f" /proc/[0-9]*/maps && echo "$f"
	done
	awk 'NR > 1 && $7 == 0 { print "System V segment " $2 }' /proc/sysvipc/shm
	ls -d /tmp/{ucx,pmi,ompi,openmpi}* "$dir"/tmp/* 2>/dev/null
}

finish() {
	local p
	for p in $(ours "$CHARD_TEST"); do
		kill -9 "$p" 2>/dev/null
	done
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

# ---- checks ----------------------------------------------------------------------------------

ok='[ $rc = 0 ]'
# Exit code, and a pattern that exactly one line of stderr has; no program line says FAIL.
ends() { # code, pattern
	[ "$rc" = "$1" ] && [ "$(grep -Ec -- "$2" "$err")" = 1 ]
}
# "<letter of the PE> <n> <the letter n times>.", from 4 PEs, on both streams.
whole_lines() {
	[ "$rc" = 0 ] && awk '
		{
			text = $3
			if (NF != 3 || gsub($1, "", text) != $2 || text != ".")
				bad = 1
			if (!n[$1]++)
				pes++
		}
		END { exit bad || pes != 4 || NR < 4 * 40 * 5 }' "$out" "$err"
}

# ---- the matrix --------------------------------------------------------------------------------

programs=(params messages arrays broadcast reductions groups qd prio callbacks readonlies channels)
programs+=(indices insert delete demand growing)
programs+=(completion fence order)
programs+=(sections mixed away aggregate)
programs+=(threaded sync futures when direct_calls sdag)
programs+=(chares spread early nodegroups readonly_msg)
programs+=(prio2 refnum packed nocopy lend pups scalars)
programs+=(reducers tuple customred scan)
programs+=(pi heat guide guide2)
# Nodes x PEs per node.
shapes=(1x1 2x1 1x2 2x2 4x1)
[ -z "$SAN" ] || shapes=(2x1 1x2 2x2)
run_at() { # shape, check, program and its arguments
	local n=${1%x*} k=${1#*x} check=$2 name
	shift 2
	name=${1##*/}
	t "$name ${n}x$k" "$check" "${with[@]}" $ckrun -n $((n * k)) --ppn "$k" "$@"
}
with=() # a prefix: env NAME=value ...
programs_at() { # shape; programs
	local shape=$1 p
	shift
	for p; do
		run_at "$shape" "$ok" $P/$p
	done
}
# Where the seed balancer chooses, and several modules.
more_at() { # shape
	with=(env CK_SEED=random)
	run_at "$1" "$ok" $P/chares
	with=()
	run_at "$1" "$ok" $P/mains/mains one two
}
stencil=("$X/stencil/stencil" --domain 18x16x17 --chares 2x3x2 --iters 20 --warmup 2 --verify)
matmul=("$X/matmul/matmul" --n 72 --p 3 --iters 4 --warmup 1 --verify)
examples_at() { # shape; more arguments
	local shape=$1
	shift
	run_at "$shape" "$ok" "${stencil[@]}" "$@"
	run_at "$shape" "$ok" "${matmul[@]}" "$@"
}
# The smaller examples end with a line that says "checked" when the answer is right.
checked='[ $rc = 0 ] && grep -q "^[a-z0-9]*: .*: checked$" "$out"'
small_examples_at() { # shape; a seed, or none for the usual one
	local shape=$1 s=(${2:+--seed $2})
	run_at "$shape" "$checked" $X/alltoall/alltoall --chares 7 --rounds 4 "${s[@]}"
	run_at "$shape" "$checked" $X/histogram/histogram --values 500 "${s[@]}"
	run_at "$shape" "$checked" $X/kmeans/kmeans --points 1500 --chunks 11 "${s[@]}"
	run_at "$shape" "$checked" $X/primes/primes --limit 300000 --segments 9
	run_at "$shape" "$checked" $X/samplesort/samplesort --keys 6000 --repeat 2 "${s[@]}"
	run_at "$shape" "$checked" $X/samplesort/samplesort --keys 3000 --parts 9 "${s[@]}"
	run_at "$shape" "$checked" $X/wave2d/wave2d --columns 5 --steps 30 "${s[@]}"
	run_at "$shape" "$checked" $X/spmv/spmv --rows 300 --blocks 7 --iterations 12 "${s[@]}"
	run_at "$shape" "$checked" $X/threadring/threadring --members 7 --rounds 12 --tokens 4
	run_at "$shape" "$checked" $X/fib/fib --n 17 --grain 6
	run_at "$shape" "$checked" $X/nqueens/nqueens --queens 8 --grain 4 --prio bits
	run_at "$shape" "$checked" $X/nqueens/nqueens --queens 7 --grain 2 --prio row
	run_at "$shape" "$checked" $X/bnb/bnb --cities 9 --grain 4 "${s[@]}"
	run_at "$shape" "$checked" $X/treeinsert/treeinsert --points 1500 "${s[@]}"
}

group "build rules: layers"
t "who includes what, and who calls whom" "$ok" tests/layers.py -b $B --self-test
[ ! -x tests/docs/check_names.sh ] || t "names in the documents" "$ok" tests/docs/check_names.sh
t "coming from Charm++" "$ok" env CKCI="$B/bin/ckci" tests/docs/check_charm.sh --self-test
t "verdicts of the benchmarks" "$ok" tests/bench/verdicts.py

# With what was just built; sanitizers say no more about it.
if [ -z "$SAN" ]; then
	group "build rules: installed"
	t "make install" "$ok" tests/install.sh "$B"
fi

group "unit tests"
for u in "$B"/tests/*/test_*; do
	[ -x "$u" ] && [[ $u != *.[od] ]] && t "${u#"$B"/tests/}" "$ok" "$u"
done

group "compiler"
t ckci "$ok" env CKCI="$PWD/$B/bin/ckci" tests/ci/run.sh

group "launcher"
# ckrun's own tests are about time and processes: once, with the plain build.
[ "$SAN" ] || t ckrun "$ok" env CKRUN="$PWD/$ckrun" tests/launcher/run.sh

for shape in "${shapes[@]}"; do
	group "programs and examples, $shape"
	programs_at "$shape" "${programs[@]}"
	more_at "$shape"
	run_at "$shape" '[ $rc = 0 ] && [ $(grep -c "^Hello World" "$out") = 8 ]' $X/hello/hello 8
	examples_at "$shape"
done

# At 1, 2 and 4 PEs: threads, processes, both. Then with more PEs than chares.
example_shapes=(1x1 1x2 1x4 2x1 4x1 2x2)
[ -z "$SAN" ] || example_shapes=(1x1 1x4 2x1 2x2)
group "examples"
for shape in "${example_shapes[@]}"; do
	small_examples_at "$shape"
done
for shape in 1x6 3x2; do
	run_at $shape "$checked" $X/alltoall/alltoall --chares 2 --bytes 100000
	run_at $shape "$checked" $X/alltoall/alltoall --chares 1 --bytes 0
	run_at $shape "$checked" $X/histogram/histogram --sources 2 --bins 3
	run_at $shape "$checked" $X/kmeans/kmeans --points 40 --clusters 40 --chunks 4
	run_at $shape "$checked" $X/primes/primes --limit 2 --segments 3
	run_at $shape "$checked" $X/primes/primes --limit 1234567 --segments 2
	run_at $shape "$checked" $X/samplesort/samplesort --keys 5 --parts 2
	run_at $shape "$checked" $X/wave2d/wave2d --columns 1 --rows 1
	run_at $shape "$checked" $X/wave2d/wave2d --width 7 --height 5 --columns 7 --rows 1
	run_at $shape "$checked" $X/spmv/spmv --rows 3 --blocks 3
	run_at $shape "$checked" $X/spmv/spmv --rows 40 --blocks 1 --iterations 1
	run_at $shape "$checked" $X/threadring/threadring --members 1 --tokens 5
	run_at $shape "$checked" $X/threadring/threadring --members 2 --rounds 3 --tokens 1
	run_at $shape "$checked" $X/fib/fib --n 1
	run_at $shape "$checked" $X/fib/fib --n 30 --grain 30 --mode futures
	run_at $shape "$checked" $X/fib/fib --n 12 --grain 1 --mode chares
	run_at $shape "$checked" $X/nqueens/nqueens --queens 1 --grain 0
	run_at $shape "$checked" $X/nqueens/nqueens --queens 6 --grain 0 --prio made
	run_at $shape "$checked" $X/bnb/bnb --cities 1
	run_at $shape "$checked" $X/bnb/bnb --cities 7 --grain 0 --prio made
	run_at $shape "$checked" $X/treeinsert/treeinsert --points 1 --capacity 1
	run_at $shape "$checked" $X/treeinsert/treeinsert --points 200 --capacity 1 --keep 0
done
t "an option that is not there" 'ends 1 "^wave2d: no option .--colums., see --help$"' \
	$X/wave2d/wave2d --colums 4
t "an option without its number" 'ends 1 "^kmeans: --points wants a number from 1 to 100000000$"' \
	$X/kmeans/kmeans --points
t "a word that is not one of them" 'ends 1 "^fib: --mode wants chares.futures.both$"' \
	$X/fib/fib --mode chare
t "help" '[ $rc = 0 ] && grep -q "^  --keys .*integers to sort (20000)" "$out"' \
	$X/samplesort/samplesort --help

group "without a launcher"
for p in "${programs[@]}"; do
	t "$p +p 2" "$ok" $P/$p +p 2
done
t "hello +p4" "$ok" $X/hello/hello +p4 5
# A fast node publishes for the second meeting while a slow one still reads the first.
[ "$SAN" ] || t "48 nodes" "$ok" $ckrun -n 48 $X/hello/hello 48
t "stdin closed" "$ok" bash -c '"$@" <&-' - $ckrun -n 2 $X/hello/hello 4
t "stdin, stdout, stderr closed" "$ok" bash -c '"$@" <&- >&- 2>&-' - $ckrun -n 2 $X/hello/hello 4
t "no terminal, no session" "$ok" setsid -w $ckrun -n 2 $X/hello/hello 4
t "without a launcher, no terminal" "$ok" setsid -w $X/hello/hello 4

group "receive buffers from malloc"
for shape in 2x1 2x2; do
	run_at $shape "$ok" $P/channels 10 4 malloc
	examples_at $shape --recv malloc
done

for path in memory rma message; do
	group "CK_DIRECT_PATH=$path"
	with=(env CK_DIRECT_PATH=$path)
	# Forced where possible: at two nodes of one PE each, for channels between them.
	case $path in
	memory) check='[ $rc = 0 ]' ;;
	*) check="[ \$rc = 0 ] && ! grep -q ' 0 $path' \"\$out\"" ;;
	esac
	run_at 2x1 "$check" $P/channels
	run_at 2x2 "$check" $P/channels
	run_at 2x1 "$ok" $P/channels 10 4 malloc
	run_at 2x2 "$ok" $P/channels 3 7 malloc
	run_at 1x2 "$ok" $P/channels
	programs_at 2x2 qd
	examples_at 2x1
	examples_at 2x2 --recv malloc
done

for polled in 0 8; do
	group "CK_DIRECT_POLL_MAX=$polled"
	with=(env CK_DIRECT_POLL_MAX=$polled)
	for shape in 2x1 1x2 2x2 4x1; do
		programs_at $shape channels qd
		examples_at $shape
	done
	with+=(CK_CHECK=1)
	programs_at 2x2 channels
	with=(env CK_DIRECT_POLL_MAX=$polled CK_DIRECT_PATH=rma)
	run_at 2x2 "$ok" $P/channels
done

group "tcp"
with=(env UCX_TLS=tcp,self)
programs_at 2x1 "${programs[@]}"
run_at 2x2 "$ok" $P/channels
run_at 2x1 "$ok" $P/channels 10 4 malloc
examples_at 2x1
examples_at 2x2 --recv malloc

group "UCX between the nodes of a host"
with=(env CK_SHARE=0)
programs_at 2x1 "${programs[@]}"
programs_at 2x2 "${programs[@]}"
examples_at 2x2
examples_at 2x1 --recv malloc

for proto in y n; do
	group "UCX_PROTO_ENABLE=$proto"
	with=(env CK_SHARE=0 UCX_PROTO_ENABLE=$proto)
	programs_at 2x2 params messages broadcast channels
	run_at 2x1 "$ok" $P/channels 10 4 malloc
	with+=(CK_DIRECT_PATH=rma)
	run_at 2x1 "$ok" $P/channels
	examples_at 2x1
done

group "checked mode"
with=(env CK_CHECK=1)
programs_at 2x2 "${programs[@]}"
programs_at 1x2 "${programs[@]}"
examples_at 2x2
examples_at 2x1 --recv malloc
small_examples_at 2x2
small_examples_at 1x2

group "little memory for messages under way"
with=(env CK_FLOW_BYTES=20000)
programs_at 2x1 params messages broadcast qd
programs_at 2x2 params messages broadcast qd
with+=(CK_SHARE=0)
programs_at 2x2 params messages broadcast qd
examples_at 2x1
small_examples_at 2x2

# Every way a message can take: rings and stacks mixed, UCX, waiting for credit; each with delays
# and without.
group "order on every way of a message"
for shape in 2x1 2x2 4x1 3x2; do
	for more in "" CK_SHARE=0 CK_FLOW_BYTES=3000 "CK_SHARE=0 CK_FLOW_BYTES=3000"; do
		with=(env $more)
		run_at $shape "$ok" $P/order $((RANDOM)) 8
		with=(env $more CK_RANDOM_DELAY=$RANDOM)
		run_at $shape "$ok" $P/order $((RANDOM)) 4
	done
done
with=()

seed=${CHECK_SEED:-$RANDOM}
group "random order of delivery, CK_RANDOM_QUEUE=$seed"
random_shapes=(2x2 1x2 4x1)
[ "$SAN" ] || random_shapes+=(2x2 3x2)
for shape in "${random_shapes[@]}"; do
	for p in "${programs[@]}"; do
		[[ $p = prio* ]] && continue # whose order it changes
		with=(env CK_RANDOM_QUEUE=$((seed++)))
		programs_at $shape $p
	done
	with=(env CK_RANDOM_QUEUE=$((seed++)))
	examples_at $shape
	small_examples_at $shape $((seed++))
done
group "random delays between PEs, CK_RANDOM_DELAY=$seed"
for shape in 1x2 2x2; do
	for p in "${programs[@]}"; do
		[[ $p = prio* ]] && continue # whose order it changes
		with=(env CK_RANDOM_DELAY=$((seed++)))
		programs_at $shape $p
	done
	examples_at $shape
done
with=()

# ---- ends ------------------------------------------------------------------------------------

group "ends of jobs"
bad() { # what, pattern; at two shapes
	local pattern="^chard: (PE $3|node [0-9]+).*$2"
	run_at 2x2 "ends 1 ${pattern@Q}" $P/ends "$1" 3
}
run_at 2x2 'ends 7 "^ckrun: .*exit code 7" && grep -qx "after CkExit" "$out"' $P/ends exit 3
run_at 2x2 '[ $rc = 0 ] && [ ! -s "$err" ]' $P/ends exit 2 0
for pe in 0 1; do
	run_at 4x1 'ends 7 "^ckrun: .*exit code 7"' $P/ends exit $pe
	run_at 1x2 'ends 7 "^ckrun: .*exit code 7"' $P/ends exit $pe
	run_at 1x2 "ends 1 '^chard: PE $pe .node 0. in Member::act: this is the end, 7\$'" \
		$P/ends abort $pe
done
t "exit without launcher" '[ $rc = 7 ] && [ ! -s "$err" ]' $P/ends exit 1 7 +p 2
t "abort without launcher" 'ends 1 "^chard: PE 1 .node 0. in Member::act: this is the end, 7$"' \
	$P/ends abort 1 7 +p 2
run_at 2x2 'ends 7 "^ckrun: .*exit code 7"' $P/ends twice 3
run_at 2x2 'ends 7 "^ckrun: .*exit code 7"' $P/ends main-exit
bad main-abort 'in Main::Main: in the main chare' 0
bad main-reduce 'Main is a main chare; only elements of arrays and groups' 0
bad abort 'in Member::act: this is the end, 7$' 3
if [ "$SAN" ]; then
	# The sanitizer catches the fault, and would call it a leak that UCX was not closed.
	run_at 2x2 'ends 86 "^ckrun: node 1 .*exit code 86"' $P/ends crash 3
else
	run_at 2x2 'ends 139 "^chard: PE 3 .node 1. in Member::act: Segmentation fault"' \
		$P/ends crash 3
	run_at 2x2 'ends 1 "^ckrun: node 1 .*exit code 0 before"' $P/ends libc-exit 3
fi
bad keep-twice 'in Member::act: CkKeepMsg: no message is being delivered' 3
bad index 'call of Cell::run on element .1, 9.: the array has 2, 2 elements' 3
bad negative 'call of Cell::run on element .-1, 0.' 3
bad pe 'call of Member::spin on element .4.' 3
bad unset 'in Member::act: a proxy was used before it was set' 3
bad unset-all 'in Member::act: a proxy was used before it was set' 3
bad length 'in Member::act: call of Cell::take: the length of v is -5' 3
bad dims 'in Member::act: Cell_ckNew: 1 extents given, the array has 2 dimensions' 3
bad extent 'in Member::act: Cell_ckNew: extent 1 is 0' 3
bad map 'in Member::act: Cell_ckNew: no map is called "nowhere"' 3
bad callback-type 'Main::oneInt takes 1 of int; the callback brought 1 of double' 0
bad callback-count 'Main::twoInts takes 2 of int; the callback brought 3 of int' 0
bad callback-bytes 'Main::ints takes an array of int; the callback brought 7 of bytes' 0
bad callback-unset 'in Member::act: a callback was fired that was never set' 3
bad_chare() { # what, pattern, PE; at two shapes
	local pattern="^chard: (PE $3|node [0-9]+).*$2"
	run_at 2x2 "ends 1 ${pattern@Q}" $P/ends_chares "$1" 3
	run_at 4x1 "ends 1 ${pattern@Q}" $P/ends_chares "$1" 3
}
bad_chare gone 'PE 3 called Single::call of a chare that was destroyed' 3
bad_chare pe 'in Member::act: Single_ckNew: PE 4; the job has PEs 0-3, or CK_PE_ANY' 3
bad_chare unset 'in Member::act: a proxy was used before it was set' 3
bad_chare node 'in Member::act: call of Node::call on node [24]: the job has nodes' 3
bad_chare destroy-group 'in Member::act: CkDestroy: Member is no singleton chare' 3
bad_chare destroy-main 'in Main::Main: CkDestroy: Main is no singleton chare' 0
bad_chare destroy-twice 'in Single::act: CkDestroy: this chare Single is destroyed already' 3
bad_chare contribute 'in Single::act: CkContribute: Single is a singleton chare' 3
bad_element() { # what, pattern
	local pattern="^chard: PE .*$2"
	run_at 2x2 "[ \$rc = 1 ] && grep -Eq ${pattern@Q} \"\$err\"" $P/ends_elements "$1" 3
}
over='which does not exist, and inserting is over; insert it, or call Item_beginInserting before'
bad_element gone "PE 3 called Item::call on element .5., $over"
bad_element gone-sparse "PE 3 called Item::call on element .2., $over"
bad_element missing "PE 3 called Item::call on element .3., $over"
bad_element between "PE 3 called Item::call on element .3., $over"
bad_element destroy-missing "PE 3 called Item_ckDestroy on element .3., $over"
bad_element elsewhere 'Item_insert from PE 3: element .0. on PE 3: in an array with extents it lives on PE 0'
bad_element twice 'Item_insert from PE 3: element .4. exists already'
bad_element dense-twice 'Item_insert from PE 3: element .0. exists already'
bad_element dense-out 'in Member::act: insertion on element .8.: the array has 8 elements'
bad_element four-out 'call of Four::call on element .1, 2, 4, 0.: the array has 2, 3, 4, 5 elements'
bad_element negative 'call of Four::call on element .-1, 2, 3, 0.: the array has 2, 3, 4, 5 elements'
bad_element pe 'in Member::act: Item_insert: PE 4; the job has PEs 0-3'
bad_element map 'in Member::act: Item_ckNew: no map is called "inside"'
bad_element map-pe 'the map of array Item gave PE 4; the job has PEs 0-3'
bad_element big 'Four_ckNew: dimension 1 goes up to 39999; with 4 dimensions an index has 16 bits'
bad_element extents 'Four_ckNew: 2 extents given, the array has 4 dimensions'
bad_element step 'Item_ckNew: dimension 0 has start 0, end 4, step -1; it needs'
bad_element end 'Item_ckNew: dimension 0 has start 4, end 4, step 0; it needs'
bad_element destroy-twice 'in Item::act: CkDestroy: the element of Item is destroyed already'
bad_element contribute 'in Item::act: CkContribute: the element of Item is destroyed'
bad_element scan 'in Item::act: CkScan: elements of Item are inserted or were destroyed'
bad_element scan-gone-map 'CkScan: elements of Item are inserted or were destroyed'
bad_element scan-gone 'CkScan: elements of Item are inserted or were destroyed'
# The PE that inserts may not have the array yet.
for shape in 2x2 4x1; do
	run_at $shape "ends 1 '^chard: PE [03] .*Dense_insert from PE 3: element .0, 0. on PE 3: in an array with extents it lives on PE 0'" \
		$P/ends_early
done
with=(env CK_SEED=nonsense)
run_at 1x2 'ends 1 "^chard: CK_SEED=nonsense: there are random and neighbor"' $P/chares
with=()
disagree='^chard: PE .*elements of Cell disagree in reduction 0: [12] x .* to .*, and [12] x .* to '
for what in op count target route; do
	# More than one PE may see it.
	run_at 2x2 '[ $rc = 1 ] && grep -q "$disagree" "$err"' $P/ends reduce-$what
done
run_at 4x1 '[ $rc = 1 ] && grep -q "$disagree" "$err"' $P/ends reduce-route
misuse() { # program and its argument, pattern
	run_at 2x2 "[ \$rc = 1 ] && grep -qE ${2@Q} \"\$err\"" $P/$1
}
misuse "completion unset" 'in Main::Main: a CkCompletion was used that CkCompletionCreate has not made'
misuse "completion negative" 'CkCompletionProduce: -1 is not a number of things'
misuse "completion twice" 'CkCompletionStart: a detection is running on this detector already'
misuse "completion done" 'CkCompletionDone: 1 producers are done; CkCompletionStart was told of 0'
misuse "completion consumed" 'CkCompletionConsume: all producers are done and have produced 0; 1 was'
misuse "fence no-thread" 'in Other::misuse: CkFenceWait: only a thread can wait'
misuse "fence unset" 'in Other::misuse: CkFence: the callback was never set'
misuse "fence disagree" 'disagree in reduction 0: 0 x nop to .*a fence before Main::quiet'
run_at 2x2 'ends 1 "^chard: PE 0 .*CkSetAggregation: 0 calls, 1000 bytes; it must be 1 to"' \
	$P/aggregate limits 0
for which in 1 2 3 4 5; do
	run_at 1x1 'ends 1 "^chard: PE 0 .*CkSetAggregation: .* it must be 1 to"' \
		$P/aggregate limits $which
done
for limits in 0 5,100 7,x 1,2,3 99999999 '' 12,; do
	with=(env "CK_AGGREGATE=$limits")
	run_at 1x2 '[ $rc = 1 ] && grep -q "^chard: PE .*CK_AGGREGATE.*: .*it must be" "$err"' $P/aggregate
done
with=()
wrong_section() { # what, pattern, program
	local pattern="^chard: PE [0-9]+ .node [0-9]+.*$2"
	run_at 2x2 "[ \$rc = 1 ] && grep -Eq ${pattern@Q} \"\$err\"" $P/${3:-sections} "$1"
}
wrong_section unset 'in Member::mistake: a section was used before it was made'
wrong_section empty 'in Member::mistake: a section of Cell has 0 elements'
wrong_section range 'in Member::mistake: a section of Cell has 0 elements'
wrong_section step 'in Member::mistake: the range 0..4 of a section has step 0'
wrong_section index 'in Member::mistake: a section of array Cell names element .41, 0, 0.; the array has 41'
wrong_section pe 'in Member::mistake: a section of group Member names PE 4; the job has PEs 0-3'
wrong_section destroyed 'section [0-9]+ of PE 3 was destroyed, or never made'
wrong_section destroyed-twice 'section [0-9]+ of PE 3 was destroyed, or never made'
wrong_section no-member 'element .0, 0, 0. of Cell contributed to section [0-9]+ of PE 3: it is no member'
wrong_section far 'on PE 1, element .12, 0, 0. contributed to section [0-9]+ of PE 3, of Cell: it is no'
wrong_section neighbour 'element .3, 0, 0. of Cell contributed to section [0-9]+ of PE 3: it is no member'
wrong_section collection 'in Cell::mistake: CkContributeSection: the section is of another collection'
wrong_section disagree 'members of a section of Cell disagree in reduction 0: [12] x sum_int'
wrong_section unfinished 'is destroyed in the middle of its reduction 0|was destroyed, or never made'
for what in outside:'a section of array Cell names element .1, 3, 0.; the array has 6 x 3 x 1' \
	group:'a section of Cell names an element of Team' type:'a section of Cell names an element of Late' \
	unset:'a proxy was used before it was set' empty:'a section of Cell has 0 elements'; do
	wrong_section "${what%%:*}" "in Team::mistake: ${what#*:}" mixed
done
wrong_section no-member 'element .[12], [12], 0. of Cell contributed to section [0-9]+ of PE 3: it is no' mixed
wrong_section destroyed 'section [0-9]+ of PE 3 was destroyed, or never made' mixed
# What several PEs may see: one line each.
sees() { # what, pattern
	local pattern="^chard: PE .*$2"
	run_at 2x2 "[ \$rc = 1 ] && grep -Eq ${pattern@Q} \"\$err\"" $P/ends "$1"
}
sees reduce-type 'elements of Cell contribute 1 of int .sum_int. to Main::want_doubles, which takes 1 of double'
sees reduce-tuple 'elements disagree in reduction 1 of a tuple: 2 x m.._int on PE . and 2 x m.._int on PE'
sees contribute-set 'elements of Cell contribute to set, which gives a set, for Main::oneInt, which takes 1 of int'
sees contribute-tuple 'in Cell::act: CkContributeTuple: a part cannot be tuple'
sees contribute-unknown 'in Cell::act: CkContribute: there is no reduction 65535'
sees contribute-noname 'in Cell::act: CkReducer: no reducer is called "nobody.s"'
sees contribute-late 'in Cell::act: CkRegisterValueReducer: "late" is too late; register it in an initnode'
sees scan-kind 'elements of Cell disagree in scan 0: .*clusive of 1 x sum_int on PE ., and .*clusive of 1 x sum_int on PE '
sees scan-op 'in Cell::act: CkScan: concat does not work value by value'
sees scan-type 'elements of Cell contribute 1 of int .sum_int. to Main::want_floats, which takes 1 of float'
for type in char short long 'long long' 'unsigned char' 'unsigned short' unsigned 'unsigned long' \
	'unsigned long long' float bool; do
	name=$(sed 's/unsigned /u/; s/unsigned/uint/; s/ l/L/; s/$/s/' <<<"$type")
	bad want-$name "Main::want_$name takes 1 of $type; the callback brought 1 of double" 0
done
bad want-ints 'Main::oneInt takes 1 of int; the callback brought 1 of double' 0
bad want-doubles 'Main::want_doubles takes 1 of double; the callback brought 1 of int' 0
with=(env CK_CHECK=1)
run_at 2x2 '[ $rc = 0 ] && grep -q "^chard: PE 3 .*: at exit 2 calls wait for element .3. of Item, .* Item::call " "$err"' \
	$P/ends_elements forgotten 3
run_at 2x2 'ends 1 "^chard: node 1: a readonly variable was written after"' $P/ends readonly 3
# With two PEs in a process such a write is the data race that the thread sanitizer would report first.
late=2x2
[ "$SAN" != thread ] || late=4x1
for pe in 0 1 2; do
	run_at $late '[ $rc = 1 ] && grep -q "^chard: node .*a readonly variable was written" "$err"' \
		$P/readonlies late $pe
	run_at $late '[ $rc = 1 ] && grep -q "^chard: node .*a readonly variable was written" "$err"' \
		$P/readonly_msg late $pe
done
misuse() { # what, pattern
	run_at 2x2 "ends 1 ${2@Q}" $P/misuse "$1" 3
}
in='^chard: PE 3 .node 1. in Member::'
for what in send-twice:'call of Member::note: .* has been sent' \
	send-freed:'call of Member::note: .* has been freed' \
	all-freed:'call of Member::note: .* has been freed' \
	free-twice:'CkFreeMsg: the message .* has been freed' \
	free-sent:'CkFreeMsg: the message .* has been sent' \
	number-sent:'CkSetRefNum: the message .* has been sent' \
	fixed-send-twice:'call of Member::fixed: .* has been sent' \
	fixed-free-twice:'CkFreeMsg: the message .* has been freed' \
	fixed-free-sent:'CkFreeMsg: the message .* has been sent' \
	own-send-twice:'call of Member::own: .* has been sent' \
	own-send-freed:'call of Member::own: .* has been freed' \
	own-free-twice:'CkFreeMsg: the message .* has been freed' \
	own-free-sent:'CkFreeMsg: the message .* has been sent' \
	write-freed:'a message was written to after it was freed' \
	pup-packs-more:'a pup function packs 8 bytes, and said 4'; do
	misuse "${what%%:*}" "${in}act: ${what#*:}"
done
misuse own-free-far "${in}act: CkFreeMsg: the message .* has been sent"
misuse kept-free-twice "${in}keep: CkFreeMsg: the message .* has been freed"
misuse kept-later "${in}later: CkFreeMsg: the message .* has been freed"
misuse result-free-twice "${in}result: CkFreeMsg: the message .* has been freed"
misuse result-later "${in}later: CkFreeMsg: the message .* has been freed"
misuse free-handled "${in}again: CkFreeMsg: the message .* has been freed"
with=()
misuse queueing "${in}act: call of Member::plain: queueing 8 is none of"
misuse bits "${in}act: call of Member::plain: a priority of 5 bits"
misuse prio-room "${in}act: CkSetPrioBits: the message has no room for a priority of 6400 bits"
misuse number-null "${in}act: CkSetRefNum: the message is NULL"
misuse pack-nothing "${in}act: Lost_pack returned .*, which is no message"
misuse pup-reads-more "${in}shift: a pup function unpacks more than it packed"
misuse keep-nocopy "${in}lend: CkKeepMsg: nocopy arrays are the caller"
misuse keep-pup "${in}shift: CkKeepMsg: objects that a pup function made"
run_at 2x2 whole_lines $P/print
run_at 4x1 whole_lines $P/print

# What is lent to other processes of the host, and what is not.
# Some calls are faster than what they call.
with=(env CK_RANDOM_DELAY=$seed)
run_at 4x1 '[ $rc = 0 ] && grep -Eq "[1-9][0-9]* and [0-9]+ elsewhere" "$out"' $P/early
with=()
# Where most PEs are nobody's neighbours.
run_at 4x2 "$ok" $P/spread
run_at 1x12 "$ok" $P/spread
lends='[ $rc = 0 ] && grep -q "^lend: [1-9]" "$out"'
lends_not='[ $rc = 0 ] && grep -q "^lend: 0 " "$out"'
for shape in 2x1 2x2 4x1; do
	run_at $shape "$lends" $P/lend
done
run_at 1x4 "$lends_not" $P/lend
with=(env CK_SHARE=0)
run_at 2x2 "$lends_not" $P/lend
with=(env CK_CHECK=1)
run_at 2x2 "$lends" $P/lend
with=(env CK_RANDOM_DELAY=$seed)
run_at 2x2 "$lends" $P/lend
with=()

group "mistakes with waiting"
wrong() { # what, pattern, PE that says so (3 if not given)
	local pattern="^chard: PE ${3:-3} .*$2"
	run_at 2x2 "ends 1 ${pattern@Q}" $P/waits "$1" 3
}
wrong sync 'in Cell::act: call of Cell::ask, which answers: only a .threaded. entry method can wait'
wrong wait 'in Cell::act: CkWaitFuture: the value is not there, and only a .threaded. entry'
wrong suspend 'in Cell::act: CthSuspend: no thread runs here'
wrong unset 'in Cell::act: CkProbeFuture: the future was never created'
wrong send-unset 'in Cell::act: CkCallbackFuture: the future was never created'
wrong elsewhere 'in Cell::act: CkProbeFuture: the future belongs to PE 0'
wrong local 'in Cell::act: Cell::here is .local., and element .0, 0, 0. is not on this PE'
wrong function-type 'in Cell::fire: a C function on PE 3 takes float; the callback brought 3 of int' 0
wrong expect-entry 'in Cell::act: CkCallbackExpect: for a C function, a future or a thread'
wrong wait-released 'in Cell::actThreaded: CkWaitFuture: the future has been released'
wrong release-twice 'in Cell::actThreaded: CkReleaseFuture: the future has been released'
wrong late 'PE 0 sent a value to a future that has been released'
wrong twice 'PE 0 sent a second value to a future'
wrong type 'in Cell::give: a future of PE 3 takes double; the callback brought 3 of int' 0
wrong message 'in Cell::give: a future of PE 3 takes double; a message was sent to it' 0
wrong thread-type 'in Cell::fire: a thread of PE 3 takes double; the callback brought 3 of int' 0
wrong delay-other 'in Cell::actThreaded: CkCallbackThreadDelay: only a callback that CkCallbackRes'
wrong other-message 'in Cell::actThreaded: a thread waits for a message Block; its future got one of another'
wrong no-message 'in Cell::actThreaded: a thread waits for a message Block; its future got 3 of int'
wrong private 'in Cell::act: CtvAccess.unmade. before its CtvInitialize, which belongs into an init'
wrong private-huge 'in Cell::act: CtvInitialize.huge.: .* would have 1048[0-9]+ bytes; 1048576 is the most'
wrong private-late 'in Cell::actThreaded: CtvAccess.late. in a thread that was made before its CtvInit'
wrong awaken-twice 'in Cell::actThreaded: CthAwaken of a thread that is running'
# A sanitizer says it in its own words.
[ "$SAN" ] || run_at 2x2 'ends 139 "^chard: PE 3 .* in Cell::dig: stack overflow of a thread, which had 64 KiB; "' \
	$P/waits overflow 3
with=(env CK_CHECK=1)
run_at 2x2 '[ $rc = 0 ] && grep -q "^chard: PE 3: at exit 3 calls of element .3, 0, 0. .* Cell::never$" "$err"' \
	$P/waits never 3
run_at 2x2 '[ $rc = 0 ] && grep -q "^chard: PE 0: at exit 1 calls of element .0, 0, 0. .* Left::big$" "$err"' \
	$P/sdag leave
with=()
run_at 2x2 "ends 1 '^chard: PE 3 .*in Left::steps: a forall from 1 to 2 has the step 0$'" $P/sdag step 3
run_at 2x2 "$ok" $P/sdag leave

group "large payloads"
# Larger than what may be under way, which the readonly variables must not wait for.
run_at 2x1 "$ok" $P/bigmsg 100 array
run_at 2x2 "$ok" $P/bigmsg 100
with=(env CK_SHARE=0)
run_at 2x1 "$ok" $P/bigmsg 100 array
with=()
# More than 4 GiB, of which little is touched.
memory=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
if [ -z "$SAN" ] && [ "$memory" -ge 16 ]; then
	for shape in 1x1 2x1 1x2; do
		run_at $shape "$ok" $P/bigmsg 4200
	done
fi

group "equal runs, equal bits"
sums() { # shape
	local n=${1%x*} k=${1#*x} i
	for i in 1 2 3; do
		CK_RANDOM_QUEUE=$i $ckrun -n $((n * k)) --ppn $k $P/reductions &&
			CK_RANDOM_QUEUE=$i $ckrun -n $((n * k)) --ppn $k $P/scan 4711 &&
			CK_RANDOM_QUEUE=$i $ckrun -n $((n * k)) --ppn $k $P/mixed || return
	done | sort -u | wc -l | grep -qx 4
}
export -f sums
export ckrun P
for shape in 2x1 2x2; do
	t "floating-point sums $shape" "$ok" bash -c "sums $shape"
done
# Which contribution is drawn is a matter of the elements, not of the PEs.
draws() {
	local n
	for n in 1 2 3 4; do
		CK_RANDOM_QUEUE=$n $ckrun -n $n $P/tuple || return
	done | grep drawn | sort -u | wc -l | grep -qx 1
}
export -f draws
t "random choices" "$ok" bash -c draws

# ---- failures --------------------------------------------------------------------------------

# Kill one node of a running job: the job must end at once, with one line, and leave nothing.
kill_node() { # node; command
	local victim=$1 log=$dir/tmp/kill.$BASHPID mark=$CHARD_TEST-kill$1-$BASHPID pid=
	local launched took rc
	shift
	CHARD_TEST=$mark $ckrun -n 4 --ppn 2 --verbose "$@" >"$log.out" 2>"$log.err" &
	launched=$!
	for _ in $(seq 500); do
		[ -s "$log.out" ] && break
		sleep 0.02
	done
	pid=$(sed -n "s/^ckrun: node $victim (.*pid \([0-9]*\)) started.*/\1/p" "$log.err")
	sleep 0.3
	took=${EPOCHREALTIME/./}
	kill -9 "$pid" || return
	{ wait $launched; } 2>/dev/null
	rc=$?
	took=$(((${EPOCHREALTIME/./} - took) / 1000))
	echo "took $took ms, exit code $rc, left: $(ours "$mark" | tr '\n' ' ')"
	grep -v ' started' "$log.err" >&2
	[ $rc = 137 ] && [ $took -lt 5000 ] && [ -z "$(ours "$mark")" ] &&
		[ "$(grep -Ec "^ckrun: node $victim .*killed by signal 9" "$log.err")" = 1 ]
	rc=$?
	rm -f "$log".*
	echo $took >>"$dir/took"
	return $rc
}
export -f kill_node ours
export dir
before=$(litter)
group "killed nodes"
for node in 0 1; do
	t "node $node of an idle job" "$ok" bash -c "kill_node $node $P/ends sleep"
	t "node $node of a busy job" "$ok" \
		bash -c "kill_node $node $X/stencil/stencil --iters 100000000 --no-verify"
	t "node $node of a job with channels only" "$ok" \
		bash -c "kill_node $node $P/channels 100000000"
done
group "nothing is left"
if [ -s "$dir/took" ]; then
	echo "      a killed node ended its job within $(sort -n "$dir/took" | tail -1) ms"
fi
nothing_left() {
	local left
	for _ in 1 2 3 4 5; do
		left=$(comm -13 <(sort <<<"$before") <(litter | sort))
		[ -z "$left" ] && return
		sleep 1
	done
	echo "left: $left"
	return 1
}
export -f nothing_left litter
export before
t "in /dev/shm, in System V memory, in /tmp" "$ok" bash -c nothing_left
group

left=$(ours "$CHARD_TEST")
if [ "$left" ]; then
	failed=$((failed + 1))
	echo "FAIL  processes are left: $(tr '\n' ' ' <<<"$left")"
	ps -o pid,args -p "$(tr '\n' ',' <<<"$left" | sed 's/,$//')"
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
