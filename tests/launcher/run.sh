#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What ckrun and the bootstrap client promise, one line per fact. It needs no network and no
# terminal. CKRUN and NODE name programs that are built already; otherwise it builds both with
# CC and CFLAGS. FAIL_FAST=1 ends at the first fact that does not hold. Exit code: 0 when every fact holds.
. "$(dirname "$0")/facts.sh"
top=$(cd "$here/../.." && pwd)
unset PMI_FD PMI_RANK PMI_SIZE CK_PES CK_BIND CK_VERBOSE CK_BOOT

CC=${CC:-gcc}
CFLAGS=${CFLAGS:--O1 -g -Wall -Wextra}
if [ -z "$CKRUN" ]; then
	CKRUN=$dir/ckrun
	$CC -std=c11 -D_GNU_SOURCE -DCHARD_VERSION='"0"' $CFLAGS "$top"/{launcher,runtime/image}/*.c -o "$CKRUN" -pthread -ldl || exit 1
fi
if [ -z "$NODE" ]; then
	NODE=$dir/node
	$CC -std=c11 -D_GNU_SOURCE $CFLAGS "$here"/node.c \
		"$top"/runtime/machine/{boot/{boot,boot_table,pmi1/boot_pmi1,pmix/boot_pmix},base/{cmi_env,say},tools/cmi_plain}.c \
		-o "$NODE" -pthread -ldl || exit 1
fi

run() { outcome timeout -k 1 15 "$CKRUN" "$@" </dev/null; }
alone() { outcome env "$@" </dev/null; }
ended() { # code, pattern in the one line of stderr (empty: none at all)
	[ "$rc" = "$1" ] || return 1
	if [ -z "$2" ]; then
		[ ! -s "$dir/err" ]
	else
		[ "$(grep -c '^ckrun: ' "$dir/err")" = 1 ] && grep -Eq -e "$2" "$dir/err"
	fi
}
# Within a second, as promised, of a job's start. On a busy machine a job takes longer, whatever it does: the time
# that one of as many nodes takes just then, whose nodes do nothing, is added.
soon() {
	ended "$@" || return 1
	[ "$took_ms" -ge 1000 ] || return 0
	local start=${EPOCHREALTIME/./}
	"$CKRUN" -n 4 true </dev/null
	[ "$took_ms" -lt $((1000 + (${EPOCHREALTIME/./} - start) / 1000)) ]
}
says() { [ "$rc" = 0 ] && [ "$(sort "$dir/out")" = "$1" ]; }
wait_for() { # files; at most 5 s
	local f n=0
	for f; do
		while [ ! -e "$f" ]; do
			sleep 0.01
			n=$((n + 1))
			[ $n -lt 500 ] || return 1
		done
	done
}
all_gone() { # files with a pid each; at most 2 s
	local f n=0
	for f; do
		while alive "$(cat "$f")"; do
			sleep 0.01
			n=$((n + 1))
			[ $n -lt 200 ] || return 1
		done
	done
}

# ---- bootstrap client -------------------------------------------------------------------
for n in 1 2 5; do
	run -n $n "$NODE" join exchange 200 finish
	fact "exchange of addresses, $n nodes" ended 0 ""
done
run -n 3 "$NODE" join exchange 30001 rules twice finish
fact "a long value, missing keys, long keys, keys put twice, empty values, puts after a fence" ended 0 ""
run -n 3 "$NODE" join reader finish
fact "the first node reads for all" says "$(printf '0:0\n1:0\n2:0')"
alone "$NODE" join reader finish
fact "alone nobody reads for others" says "0:-1"
run -n 2 "$NODE" join leak finish
fact "children inherit neither the socket nor its variable" \
	says "$(printf 'leaked sockets 0 variable no\n%.0s' 1 2)"

run -n 2 "$NODE" join @0 late 200 @0 exit 5 sleep
fact "a fence that not everybody comes to ends in time" \
	eval '[ $rc = 5 ] && [ $took_ms -lt 1000 ]'

run -n 2 "$NODE" join fence finish join
fact "a second job of the same processes: refused, no silent singletons" \
	eval '[ $rc = 77 ] && grep -q "^chard: this process has been in a job .* call CkMain once" "$dir/err"'
alone "$NODE" join fence finish join fence finish
fact "without a launcher there may be a second one" ended 0 ""
alone "$NODE" join exchange 3000 rules finish
fact "without a launcher: a job of one" ended 0 ""
refused() {
	[ $rc = 77 ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q "^chard: $1.*ckrun" "$dir/err"
}
alone SLURM_STEP_NUM_TASKS=4 "$NODE" join
fact "srun without a PMI: refused" refused SLURM_STEP_NUM_TASKS
alone OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=x "$NODE" join
fact "Open MPI's mpirun: refused" refused OMPI_COMM_WORLD_SIZE
alone PMIX_NAMESPACE=x "$NODE" join
fact "some PMIx launcher: refused" refused PMIX_NAMESPACE
alone OMPI_COMM_WORLD_SIZE=1 PMIX_NAMESPACE=x "$NODE" join finish
fact "mpirun -n 1: a job of one" ended 0 ""
alone PMI_FD=77 PMI_RANK=0 PMI_SIZE=2 "$NODE" join
fact "a dead PMI_FD: refused, no silent singleton" refused PMI_FD
alone CK_BOOT=alone PMI_FD=77 PMI_RANK=0 PMI_SIZE=2 "$NODE" join exchange 9 finish
fact "CK_BOOT=alone: a job of one all the same" ended 0 ""
alone CK_BOOT=pmi1 "$NODE" join
fact "CK_BOOT=pmi1 without a launcher: refused" refused "no launcher"
names_room() {
	[ $rc = 77 ] && [ "$(grep "^chard: " "$dir/err" | grep -c "speak $1 .*without the room boot/$2;")" = 1 ]
}
run -n 1 "$NODE" bare
fact "PMI-1 without its client: refused, the room is named" names_room PMI-1 pmi1
alone PMIX_NAMESPACE=x PMIX_RANK=0 "$NODE" bare
fact "PMIx without its client: refused, the room is named" names_room PMIx pmix

# ---- command line -----------------------------------------------------------------------
for bad in "-n 0 x" "-n -2 x" "-n two x" "-n 2" "-n" "" "--ppn 1.5 x" "--bind moon x" \
	"--timeout never x" "--timeout 0 x" "--grace -1 x" "-n 2 +p3 x" "+p x" "x +p" \
	"x +p four"; do
	run $bad
	fact "usage error: ckrun $bad" ended 2 "ckrun: .*--help|contradicts"
done
for bad in "-n| 2" "-n|2 " "-n|0x2" "-n|99999999999999999999" "-n|2e3" "--ppn|65536" "--ppn|" "--bind|" \
	"--bind|Core" "--timeout|" "--timeout|1s" "--timeout|nan" "--timeout|inf" "--timeout|1e400" \
	"--timeout| 5" "--timeout|-5" "--grace|-0.1" "--grace|soon" "--tag-output=1|x" "--verbose=|x"; do
	run "${bad%%|*}" "${bad#*|}" "$NODE" env
	fact "usage error: ckrun ${bad%%|*} '${bad#*|}'" ended 2 "ckrun: .*--help"
done
run --frobnicate x
fact "an unknown option is named, --help is pointed to" ended 2 "'--frobnicate'.*--help"
run +balancer GreedyLB "$NODE" env
fact "an option of Charm++: its name here" ended 2 "[+]balancer is an option of Charm.*: here CK_LB=NAME"
run ++nodelist hosts +p2 "$NODE" env
fact "an option of charmrun: its name here" ended 2 "[+][+]nodelist is an option of Charm.*: here --hostfile FILE"
run --help
fact "--help" grep -q "^usage: ckrun" "$dir/out"
run --version
fact "--version" grep -q "^ckrun (chard) [0-9]" "$dir/out"

env_line() { echo "rank=$1 size=$2 pes=$3 bind=${4:--} verbose=${5:--} pmix=- id=-"; }
export PMIX_RANK=5 PMI_ID=3 CK_PES=9
run -n 5 --ppn 2 --bind socket "$NODE" env
fact "-n 5 --ppn 2: three nodes, the last is smaller; foreign variables are gone" \
	says "$(env_line 0 3 2 socket; env_line 1 3 2 socket; env_line 2 3 1 socket)"
unset PMIX_RANK PMI_ID CK_PES
two=$(env_line 0 2 1; env_line 1 2 1)
for form in "-n2 $NODE env" "-np 2 $NODE env" "+p2 $NODE env" "+p 2 $NODE env" \
	"$NODE env +p2" "$NODE +p 2 env" "-n 2 $NODE env +p2" "++local +p2 $NODE env"; do
	run $form
	fact "two PEs: ckrun ${form//$NODE/prog}" says "$two"
done
run "$NODE" env +p4 ++ppn 4
fact "++ppn after the program" says "$(env_line 0 1 4)"
run -n 1 echo a +p -- +p3 b
fact "after -- arguments stay; before it they are ckrun's" ended 2 "\+p needs a number"
run -n 1 echo a +pile -- +p3 b
fact "other words with + are the program's" says "a +pile -- +p3 b"
run -n 4 --ppn 2 --verbose "$NODE" exit 0
fact "--verbose prints the map" grep -Eq "^ckrun: node 1 \(PEs 2-3, pid [0-9]+\) started" "$dir/err"

# ---- exit codes -------------------------------------------------------------------------
run -n 3 true
fact "0 when all end with 0" ended 0 ""
run -n 3 "$NODE" join @1 exit 7 fence
fact "a node's exit code, the others do not hang" \
	soon 7 "node 1 \(PE 1, pid [0-9]+\) ended with exit code 7"
run -n 3 "$NODE" @1 exit 7 join fence
fact "the same before it joined" soon 7 "node 1 .*exit code 7"
run -n 3 "$NODE" join @2 exit 0 fence
fact "exit 0 without leaving the job is a failure" soon 1 "node 2 .*exit code 0 before"
run -n 3 "$NODE" @2 exit 0 join fence
fact "exit 0 without joining, while others wait" soon 1 "node 2 .*never joined"
# Node 0 goes when node 2 has left in good order, and node 1 is not in a fence.
# shellcheck disable=SC2016
run -n 3 bash -c 'case $PMI_RANK in
	0) until [ -e "$1/left.2" ]; do sleep 0.01; done ;;
	1) exec "$0" join sleep ;;
	2) exec "$0" join finish ready "$1/left" exit 0 ;;
	esac' "$NODE" "$dir"
fact "exit 0 without joining, while one has left and one works" soon 1 "node 0 .*never joined"
run -n 3 "$NODE" join @0 finish @0 exit 0 fence
fact "leaving while others are in a fence" soon 1 "node 0 .*ended, but node [12] waits"
run -n 3 "$NODE" join @1 abort 9 fence
fact "abort's code" soon 9 "node 1 .*aborted with code 9"
run -n 3 "$NODE" join @1 abort 0 fence
fact "abort(0) is still a failure" soon 1 "node 1 .*aborted with code 1"
run -n 4 --ppn 2 "$NODE" join @1 kill 9 fence
fact "SIGKILL gives 137 and names node and PEs" \
	soon 137 "node 1 \(PEs 2-3, pid [0-9]+\) was killed by signal 9 \(Killed\)"
run -n 2 sh -c 'kill -SEGV $$'
fact "SIGSEGV gives 139" soon 139 "signal 11 \(Segmentation fault"
outcome bash -c 'ulimit -n 64; exec "$0" -n 100 "$1" sleep' "$CKRUN" "$NODE" </dev/null
fact "too few descriptors for so many nodes" ended 1 "100 nodes need [0-9]+ open files .* 64 .*nothing is"
run -n 1000000 touch "$dir/started"
fact "a million nodes: refused before anything is started" \
	eval 'ended 1 "^ckrun: 1000000 (nodes|PEs) need .*; nothing is started" && [ ! -e "$dir/started" ]'
run -n 2 "$dir/nothing"
fact "127 when there is no such program" soon 127 "cannot start '$dir/nothing': No such file"
echo "#!/bin/sh" >"$dir/script"
run -n 2 "$dir/script"
fact "126 when it cannot be executed" soon 126 "cannot start '$dir/script': Permission denied"
echo "#!$dir/none" >"$dir/script" && chmod +x "$dir/script"
run -n 1 "$dir/script"
fact "a missing interpreter is told" soon 127 "its interpreter is missing"
run -n 2 "$NODE" join fence finish @1 exit 3 lines 10
fact "a code from an orderly end: the others' output is whole" \
	eval 'ended 3 "exit code 3" && [ $(wc -l <"$dir/out") = 10 ]'

# ---- no survivors -----------------------------------------------------------------------
run -n 3 "$NODE" ignore 15 ignore 2 pid "$dir/a" join fence @1 exit 5 sleep
fact "survivors that ignore signals are gone within a second" \
	eval 'soon 5 "exit code 5" && all_gone "$dir"/a.*'
run -n 2 "$NODE" child "$dir/c" join fence @1 exit 5 sleep
fact "a failed job's grandchildren go, too" eval 'soon 5 "exit code 5" && all_gone "$dir"/c.*'
run -n 2 "$NODE" child "$dir/d" join fence finish
fact "a grandchild that holds the pipes does not hold ckrun" soon 0 ""
kill $(cat "$dir"/d.*)
"$CKRUN" -n 3 "$NODE" pid "$dir/k" join fence sleep </dev/null >"$dir/out" 2>"$dir/err" &
pid=$!
wait_for "$dir"/k.{0,1,2}
{ kill -9 $pid; wait $pid; } 2>/dev/null # without bash's "Killed"
rc=$?
fact "kill -9 of ckrun leaves no nodes" all_gone "$dir"/k.*

# ---- signals and time -------------------------------------------------------------------
# A script starts background jobs with INT ignored, which ckrun respects; env undoes it.
start() {
	rm -f "$dir"/s.*
	env --default-signal=INT,QUIT "$CKRUN" "$@" </dev/null >"$dir/out" 2>"$dir/err" &
	pid=$!
	wait_for "$dir"/s.{0,1}
	started=${EPOCHREALTIME/./}
}
finish() {
	wait $pid 2>/dev/null
	rc=$?
	took_ms=$(((${EPOCHREALTIME/./} - started) / 1000))
}
start -n 2 "$NODE" ready "$dir/s" sleep
kill -TERM $pid
finish
fact "TERM ends the job with 143" eval 'ended 143 "signal 15" && all_gone "$dir"/s.*'
start -n 2 "$NODE" ready "$dir/s" sleep
kill -INT $pid
finish
fact "INT ends the job with 130" eval 'ended 130 "signal 2" && all_gone "$dir"/s.*'
start -n 2 --grace 0.3 "$NODE" ignore 15 ready "$dir/s" sleep
kill -TERM $pid
finish
fact "a job that ignores TERM is killed after --grace" \
	eval 'ended 143 "signal 15" && all_gone "$dir"/s.*'
start -n 2 --grace 60 "$NODE" ignore 2 ready "$dir/s" sleep
kill -INT $pid
until [ -s "$dir/err" ]; do sleep 0.01; done # two INTs at once would count as one
kill -INT $pid
finish
fact "a second INT kills at once" eval 'soon 130 "signal 2" && all_gone "$dir"/s.*'
start -n 2 "$NODE" ready "$dir/s" sleep
kill -HUP $pid
finish
fact "HUP ends the job with 129" eval 'ended 129 "signal 1" && all_gone "$dir"/s.*'
start -n 2 --grace 0.3 "$NODE" ignore 1 ready "$dir/s" sleep
kill -HUP $pid
finish
fact "a job that ignores HUP is killed after --grace" \
	eval 'ended 129 "signal 1" && all_gone "$dir"/s.*'
start -n 2 "$NODE" trap 10 ready "$dir/s" sleep
kill -USR1 $pid
for i in $(seq 200); do
	[ "$(sort "$dir/out" | uniq -c | tr -s ' \n' ' ')" = " 2 got 10 " ] && break
	sleep 0.01
done
kill -USR2 $pid
finish
fact "USR1 and USR2 reach every node and do not end the job" says "$(printf 'got 10\ngot 10')"
start -n 2 "$NODE" ready "$dir/s" sleep
kill -USR1 $pid
until [ "$(grep -c 'has no handler of SIGUSR1 (yet), so it was not asked$' "$dir/err")" = 2 ]; do sleep 0.01; done
kill -TERM $pid
finish
fact "USR1 does not end a node that would not understand it" eval '[ $rc = 143 ] && all_gone "$dir"/s.*'
run -n 2 --timeout 0.2 --grace 0.2 "$NODE" ignore 15 pid "$dir/t" sleep
fact "--timeout says where the nodes are" grep -q "ended (not in the job yet: nodes 0-1)$" "$dir/err"
run -n 5 --timeout 2 "$NODE" @1 sleep join @3 sleep fence
fact "--timeout tells who waits for whom" grep -q \
	"(not in the job yet: node 1; waiting for all nodes to meet: nodes 0, 2, 4; at work: node 3)$" "$dir/err"
run -n 2 --timeout 2 "$NODE" join fence finish @0 sleep
fact "--timeout tells who has not ended" grep -q "(finished but not ended: node 0; ended: node 1)$" "$dir/err"
run -n 2 --timeout 0.2 --grace 0.2 "$NODE" ignore 15 pid "$dir/t" sleep
fact "--timeout gives 124 and leaves nothing" \
	eval 'soon 124 "--timeout 0.2 s" && all_gone "$dir"/t.*'
run -n 2 --timeout 20 true
fact "--timeout does not delay a job" soon 0 ""

# ---- more than one program --------------------------------------------------------------
run -n 2 sh -c "'$NODE' join exchange 9 finish; '$NODE' join exchange 9 finish"
fact "a second program under one ckrun: refused by a line" ended 1 "node [01] .*a second program wants to join the job"

# ---- input and output -------------------------------------------------------------------
outcome "$CKRUN" -n 3 cat <<<hello
fact "stdin goes to node 0 only, the others read the end" says hello
outcome "$CKRUN" -n 2 "$NODE" join exchange 9 env finish <&-
fact "stdin closed" eval '[ $rc = 0 ] && [ $(wc -l <"$dir/out") = 2 ]'
"$CKRUN" -n 2 "$NODE" join exchange 9 finish <&- >&- 2>&-
rc=$?
fact "stdin, stdout and stderr closed" [ $rc = 0 ]
outcome setsid -w "$CKRUN" -n 2 "$NODE" join exchange 9 finish </dev/null
fact "no terminal" ended 0 ""
run -n 1 printf 'no newline'
fact "an unfinished last line stays as it is" \
	[ "$(od -An -c "$dir/out" | tr -d ' \n')" = nonewline ]
run -n 2 printf abc
fact "unfinished last lines of two nodes do not run together" says "$(printf 'abc\nabc')"
run -n 3 --tag-output sh -c 'echo $PMI_RANK; echo x$PMI_RANK >&2'
fact "--tag-output" eval 'says "$(printf "[0] 0\n[1] 1\n[2] 2")" &&
	[ "$(sort "$dir/err")" = "$(printf "[0] x0\n[1] x1\n[2] x2")" ]'
run -n 4 "$NODE" lines 50000
fact "200000 lines from 4 nodes: all there, each whole" eval '[ $rc = 0 ] &&
	[ $(grep -Ecx "[0-9]{6}-00[0-3]-0{48}7" "$dir/out") = 200000 ] &&
	[ $(wc -l <"$dir/out") = 200000 ]'
"$CKRUN" -n 2 --tag-output sh -c '"$0" lines 20000; "$0" lines 20000 >&2' "$NODE" >"$dir/out" 2>&1
rc=$?
fact "stdout and stderr on one file: each line whole" eval '[ $rc = 0 ] &&
	[ $(grep -Ecx "\[[01]\] [0-9]{6}-00[01]-0{48}7" "$dir/out") = 80000 ]'
"$CKRUN" -n 2 "$NODE" lines 30000 </dev/null 2>"$dir/err" | (sleep 0.3; cat) >"$dir/out"
rc=${PIPESTATUS[0]}
fact "a slow reader gets everything" eval '[ $rc = 0 ] && [ $(wc -l <"$dir/out") = 60000 ]'
yes_head() { timeout -k 1 10 "$CKRUN" -n 3 yes | head -2; return "${PIPESTATUS[0]}"; }
outcome yes_head </dev/null
fact "a closed reader ends the job quietly with 141" soon 141 ""
moaned() {
	ended 9 "aborted with code 9" && tail -1 "$dir/err" | grep -q "^ckrun: " && grep -q "^node: line 299$" "$dir/err"
}
run -n 4 "$NODE" join fence moan 300 abort 9
fact "all nodes abort at once: ckrun's line comes behind the back-trace, whole" \
	moaned
run -n 1 "$NODE" join fence hold moan 300 abort 9
fact "a back-trace that ckrun finds together with the abort comes before its line, whole" \
	moaned
run -n 2 sh -c '[ $PMI_RANK = 1 ] || sleep 9; echo last words; exit 3'
fact "last words come before ckrun's line" \
	eval 'ended 3 "exit code 3" && grep -qx "last words" "$dir/out"'
# Not every container has pseudo-terminals.
at_terminal() { outcome timeout -k 1 10 script -qec "$1" /dev/null; }
if script -qc true /dev/null >/dev/null 2>&1 </dev/null; then
	at_terminal "$CKRUN -n 2 $NODE pid $dir/tty sleep" \
		< <(wait_for "$dir"/tty.{0,1}; printf '\003'; sleep 2)
	fact "Ctrl-C at a terminal" eval '[ $rc = 130 ] && all_gone "$dir"/tty.*'
	at_terminal "$CKRUN -n 2 sh -c 'sed s/typed/read/'" < <(printf 'typed\n\004'; sleep 1)
	fact "node 0 reads from a terminal" eval '[ $rc = 0 ] && grep -q "^read" "$dir/out"'
else
	skip "Ctrl-C at a terminal" "no pseudo-terminal"
	skip "node 0 reads from a terminal" "no pseudo-terminal"
fi
run -n 1 sh -c 'echo "${CK_UCX_DIR:-none}"'
fact "no folder for UCX where it makes no files" says none
export CK_SHARE=0
run -n 1 sh -c 'stat -c "%F %a" "$CK_UCX_DIR"; echo "$CK_UCX_DIR" >'"$dir/folder"
unset CK_SHARE
fact "UCX's files have a folder that is ours alone, and goes with the job" \
	eval 'says "directory 700" && [ ! -e "$(cat "$dir/folder")" ]'
run -n 2 "$CKRUN" -n 2 "$NODE" join exchange 100 finish
fact "ckrun under ckrun: two jobs of two" ended 0 ""
if command -v mpiexec.hydra >/dev/null; then
	outcome timeout -k 1 10 mpiexec.hydra -n 2 "$NODE" join exchange 5000 rules finish
	fact "mpiexec.hydra starts our nodes" [ $rc = 0 ]
else
	skip "mpiexec.hydra starts our nodes" "MPICH is not installed"
fi

echo "$facts facts, $failed failed"
[ $failed = 0 ]
