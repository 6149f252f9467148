#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# leave.sh BUILD: signals that ask for a checkpoint: ckrun --checkpoint-exit, and SIGUSR2 to the nodes themselves.
# FAIL_FAST=1 ends at the first fact that does not hold.
. "$(dirname "$0")/facts.sh"
build=$(cd "$1" && pwd) || exit 2
ckrun=$build/bin/ckrun syncs="$build/tests/programs/saves_sync" never="$build/tests/programs/channels 100000000"
unset "${!PMI@}" "${!CK_@}"
ck=$dir/ck
# A job in the background, with the environment that stands before the call.
begin() {
	: >"$dir/out"
	"$ckrun" --timeout 60 "$@" >"$dir/out" 2>"$dir/err" </dev/null &
	job=$!
}
nodes() { cat "/proc/$job/task/$job/children" 2>/dev/null; }
until_ready() { # condition, for at most 20 s
	for _ in $(seq 1000); do
		"$@" && return 0
		alive "$job" || return 1
		sleep 0.02
	done
	return 1
}
# The nodes have handlers of the signal: bit of its number in SigCgt.
catch() { # signal, number of nodes
	local n=0 pid
	for pid in $(nodes); do
		(((0x$(sed -n 's/^SigCgt:\t//p' "/proc/$pid/status" 2>/dev/null || echo 0) >> ($1 - 1)) & 1)) && n=$((n + 1))
	done
	[ $n = "$2" ]
}
ready() { until_ready catch 12 "$1"; }
end() {
	wait "$job"
	rc=$?
}
says() { [ "$rc" = "$1" ] && [ "$(wc -l <"$dir/err")" = "$2" ] && grep -Eq -e "$3" "$dir/err"; }
has() { [ "$(ls "$ck" | tr '\n' ' ')" = "$*${*:+ }" ]; }

# ---- saved, and ended -----------------------------------------------------------------------
n=0
for sig in TERM USR2; do
	n=$((n + 1))
	begin --restart-if-any "$ck" --checkpoint-exit -n $((n + 1)) "$syncs" 100000000
	ready $((n + 1))
	kill -$sig "$job"
	end
	fact "SIG$sig saves the job and ends it with 75 and one line" says 75 1 "^chard: saved as $ck/ck-00000$n; the job ends with exit code 75$"
done
fact "the second one began where the first had ended" has ck-000001 ck-000002 latest
begin --restart "$ck/ck-000001" --checkpoint-exit "$syncs" 100000000
ready 1
kill -TERM "$job"
end
fact "--restart of one checkpoint saves into its folder, with one PE, too" eval 'says 75 1 "saved as $ck/ck-000004" && has ck-000002 ck-000004 latest'
rm -rf "$ck"
CK_CHECKPOINT=$ck,1h begin --restart-if-any "$dir/other" --checkpoint-exit --replace 1 -n 2 "$syncs" 100000000
ready 2
kill -9 $(nodes | cut -d ' ' -f 2)
kill -TERM "$job"
end
fact "a node dies meanwhile: with --replace the job starts again, is saved and ends" says 75 2 "saved as $ck/ck-000001"
run() { outcome timeout -k 1 30 "$ckrun" "$@" </dev/null; }
want=$(CK_CHECKPOINT=memory,1h "$build/tests/programs/saves_sync" 300)
rm -rf "$ck"
begin --restart-if-any "$ck" --checkpoint-exit -n 2 "$syncs" 300
ready 2 && kill -TERM "$job"
end
[ $rc != 75 ] || CK_CHECKPOINT=memory,1h run --restart "$ck" -n 3 "$syncs"
fact "what goes on prints what an undisturbed job prints" [ "$want" = "$(tail -n 1 "$dir/out")" ]

# ---- no checkpoint --------------------------------------------------------------------------
run --checkpoint-exit true
fact "--checkpoint-exit without a folder is refused" says 2 1 "needs a folder"
CK_CHECKPOINT=memory,1s run --checkpoint-exit true
fact "memory is no folder" says 2 1 "needs a folder"
run --env CK_CHECKPOINT_EXIT=x true
fact "--env CK_CHECKPOINT_EXIT is refused" says 2 1 "by itself"
with="--restart-if-any $dir/none --checkpoint-exit"
CK_CHECKPOINT_WAIT=1 begin $with -n 2 $never
ready 2
kill -TERM "$job"
end
fact "no rest: one line of PE 0, one of ckrun, and the end of SIGTERM" eval \
	'says 143 3 "^ckrun: the job was to be saved .*: the job did not come to rest within 1 s .CK_CHECKPOINT_WAIT.; something was always under way; it is ended$" &&
	grep -q "^chard: node 0: ended by SIGTERM" "$dir/err"'
begin $with -n 2 $never
ready 2
kill -TERM "$job"
sleep 0.1
kill -TERM "$job"
end
fact "a second SIGTERM ends the job at once" says 143 2 "^ckrun: got signal 15 .Terminated.; the job is ended$"
CK_WATCHDOG=0 begin $with "$build/tests/programs/ends" sleep
ready 1
kill -TERM "$job"
end
fact "refused: named by PE 0 and by ckrun" eval '[ $rc = 143 ] && grep -q "^chard: no checkpoint: PE 0: .*declare .pup" "$dir/err" && grep -q "^ckrun: .* no checkpoint: .*declare .pup.*; it is ended" "$dir/err"'
CK_CHECKPOINT=/proc/none,1h begin --checkpoint-exit "$syncs" 100000000
ready 1
kill -TERM "$job"
end
fact "no folder can be made" eval '[ $rc = 143 ] && grep -q "^chard: no checkpoint: node 0: /proc/none" "$dir/err"'
CK_CHECKPOINT_WAIT=1 begin $with sh -c 'trap "" TERM; echo; exec sleep 100'
job_prints 5
kill -TERM "$job"
end
fact "a program that does not listen" says 143 1 "no Chard program, or has not begun"
begin $with sh -c 'echo; sleep 0.3; exit 0'
job_prints 5
kill -TERM "$job"
end
fact "a job that ends meanwhile ends as it would, and nothing is said" eval '[ $rc = 0 ] && [ ! -s "$dir/err" ]'
begin $with sh -c 'echo; kill -STOP $$; sleep 100'
job_prints 5
kill -TERM "$job"
kill -9 $(nodes)
end
fact "a node that dies meanwhile ends the job" says 137 2 "was killed by signal 9"
begin $with sh -c 'exit 75'
end
fact "a code that is the program's is passed on" [ $rc = 75 ]
begin sh -c 'trap "echo got; exit 3" USR2; echo; while :; do sleep 0.05; done'
job_prints 5
kill -USR2 "$job"
end
fact "without the option SIGUSR2 goes to the program" eval '[ $rc = 3 ] && grep -q got "$dir/out"'

# ---- to the nodes -----------------------------------------------------------------------------
for to in 'nodes' 'nodes | cut -d " " -f 2'; do
	rm -rf "$ck"
	CK_CHECKPOINT_EXIT=$ck begin -n 3 "$syncs" 100000000
	ready 3
	kill -USR2 $(eval "$to")
	end
	fact "SIGUSR2 to $to saves the job once and ends it" eval '[ $rc = 75 ] && has ck-000001 latest'
	rm -rf "$ck"
	CK_CHECKPOINT=$ck,1h begin -n 3 "$syncs" 100000000
	ready 3
	kill -USR2 $(eval "$to")
	until_ready [ -e "$ck/latest" ]
	sleep 0.2
	fact "with CK_CHECKPOINT alone it is saved once, and goes on" eval 'alive $job && has ck-000001 latest lock'
	kill -KILL $(nodes)
	end
done
CK_CHECKPOINT_WAIT=1 CK_CHECKPOINT_EXIT=$ck begin --replace 9 -n 2 $never
ready 2
kill -USR2 $(nodes)
end
fact "no rest: the job ends as by SIGTERM, and is not replaced" eval '[ $rc = 143 ] && grep -q "no checkpoint: the job did not come to rest" "$dir/err"'
echo "$facts facts, $failed failed"
exit $((failed > 0))
