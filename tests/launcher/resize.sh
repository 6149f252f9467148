#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# resize.sh BUILD: ckrun --resize: what it answers, and what becomes of the job. That the job's result stays is
# tests/programs/resizes.py's to say. FAIL_FAST=1 ends at the first fact that does not hold.
. "$(dirname "$0")/facts.sh"
build=$(cd "$1" && pwd) || exit 2
ckrun=$build/bin/ckrun syncs="$build/tests/programs/saves_sync 100000000" never="$build/tests/programs/channels 100000000"
unset "${!PMI@}" "${!CK_@}"
begin() {
	: >"$dir/job"
	"$ckrun" --timeout 60 "$@" >"$dir/job" 2>&1 </dev/null &
	job=$!
	for _ in $(seq 500); do
		socket=$(echo /dev/shm/ckrun.$job.*/control)
		[ -S "$socket" ] && return
		sleep 0.01
	done
}
resize() { outcome "$ckrun" --resize "$1" "${2-$job}"; }
done_() { [ $rc = 0 ] && grep -Eq "^ckrun: from $1 to $2 PEs in [0-9.]+ s$" "$dir/out" && [ ! -s "$dir/err" ]; }
# One line, another exit code than 0, and the job is still there.
refuses() { [ $rc = 1 ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -Eq -e "^ckrun: $1" "$dir/err" && [ ! -s "$dir/out" ]; }
goes_on() { alive $job && [ "$(children | wc -w)" = "$1" ]; }
children() { # those that are nodes
	local pid
	for pid in $(cat "/proc/$job/task/$job/children" 2>/dev/null); do
		grep -qsz '^PMI_RANK=' "/proc/$pid/environ" && echo "$pid"
	done
}
end() {
	kill -KILL $job
	wait $job 2>/dev/null
}

# ---- done ---------------------------------------------------------------------------------
CK_CHECKPOINT=memory,1h begin --ppn 2 -n 2 $syncs
resize 6
fact "one node of two PEs becomes three" eval 'done_ 2 6 && goes_on 3'
fact "a line of ckrun says it" grep -q "^ckrun: from 2 to 6 PEs; starting again from checkpoint 1$" "$dir/job"
resize 4 "$socket"
fact "JOB may be the socket, and the job may shrink" eval 'done_ 6 4 && goes_on 2'
resize 2 "${socket%/control}"
fact "or its folder" eval 'done_ 4 2 && goes_on 1'
fact "the socket is its owner's alone" [ "$(stat -c %a "$socket" "${socket%/control}" | tr '\n' ' ')" = "600 700 " ]
# ---- refused, at once -----------------------------------------------------------------------
resize 2
fact "the same number" refuses "the job has 2 PEs already$"
resize 3
fact "a part of a node" refuses "3 is no multiple of the 2 PEs of a node \(--ppn\)$"
resize 100000
fact "more than fit on the host" refuses "100000 PEs need|50000 nodes need"
for bad in 0 -1 x; do
	outcome "$ckrun" --resize "$bad" $job
	fact "--resize '$bad' is refused" [ $rc = 2 ]
done
outcome "$ckrun" --resize 2
fact "without a job" eval '[ $rc = 2 ] && grep -q "no job to resize" "$dir/err"'
resize 4 999999999
fact "a job that is not there" refuses "no job '999999999' listens here: No such file"
resize 4 "$dir/none"
fact "a socket that is not there" refuses "no job '.*/none' listens here: No such file"
# ---- the line protocol ------------------------------------------------------------------------
say() { python3 - "$socket" "$1" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.argv[2].encode().decode('unicode_escape').encode())
print(s.makefile().read(), end='')
END
}
said() { rc=0; [ "$(say "$1")" = "$2" ]; }
fact "another version" said 'chard 2 resize 4\n' 'no ckrun expects "chard 1 WORD"'
fact "another word" said 'chard 1 fly 4\n' 'no this job knows no word "fly"'
fact "no number" said 'chard 1 resize\n' 'no resize needs a number of PEs'
fact "a number with something behind it" said 'chard 1 resize 4x\n' 'no resize needs a number of PEs'
fact "a line that is too long" said "$(printf 'x%.0s' $(seq 1024))" 'no the line is too long'
rc=$(python3 - "$socket" <<'END'
import socket, sys
mute = [socket.socket(socket.AF_UNIX) for _ in range(8)]
for s in mute:
    s.connect(sys.argv[1])
    s.sendall(b'chard')
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
print(s.makefile().read().strip())
END
)
fact "those who connect and say nothing keep others away" [ "$rc" = "no too many ask at once; try again" ]
resize 4
fact "until they go; one that goes before it is answered harms nobody" done_ 2 4
end
CK_CHECKPOINT=memory,1h begin --bind core -n 1 $syncs
resize $(($(nproc) + 1))
fact "--bind core: no more PEs than cores" refuses "--bind core: [0-9]+ PEs need as many cores, and [0-9]+ are allowed$"
end
(ulimit -f 100000; CK_WATCHDOG=0 exec "$ckrun" --timeout 60 sleep 60 >"$dir/job" 2>&1 </dev/null) &
job=$!
sleep 0.3
resize 2
fact "no memory for checkpoints" refuses "there is no memory for checkpoints \(ulimit -f\)$"
end
CK_CHECKPOINT=memory,1h begin -n 2 $syncs 1
for n in 3 2 4 1 2; do resize $n; done
end
rc=$(grep -c "^saves_sync: sync " "$dir/job")
fact "nothing is done between the checkpoint and the new start" eval \
	'[ $rc -gt 50 ] && [ -z "$(sed "\$d" "$dir/job" | grep "^saves_sync: sync " | sort | uniq -d)" ]'

# ---- the job does not come to rest ---------------------------------------------------------------
CK_CHECKPOINT_WAIT=1 begin -n 2 $never
resize 3
fact "no rest" refuses "the job goes on with 2 PEs: the job did not come to rest within 1 s .CK_CHECKPOINT_WAIT.; something was always under way$"
fact "and the job goes on" goes_on 2
resize 3 & resizing=$!
sleep 0.2
resize 4
fact "two at once: the second is refused" refuses "the job gets 3 PEs just now$"
wait $resizing
end
CK_WATCHDOG=0 begin -n 2 "$build/tests/programs/ends" sleep
resize 3
fact "refused by the program" eval 'refuses "the job goes on with 2 PEs: .*declare .pup" && goes_on 2'
end
CK_CHECKPOINT_WAIT=1 begin sh -c 'exec sleep 60'
resize 2
fact "a program that does not listen" refuses "the job goes on with 1 PE: it is no Chard program, or has not begun$"
end
begin --restart-if-any "$dir/ck" --checkpoint-exit -n 2 $never
kill -TERM $job
sleep 0.2
resize 3
fact "a job that is about to end" refuses "the job is to be saved and to end$"
end

# ---- deaths -----------------------------------------------------------------------------------
begin -n 2 $never
resize 3 & resizing=$!
sleep 0.3
kill -9 $(children)
wait $resizing
rc=$?
wait $job
fact "a node dies before the job is saved: it ends, and the client hears so" eval 'rc=1; grep -q "was killed by signal 9" "$dir/job" && refuses "the job has ended$"'
begin --replace 1 -n 2 $never
resize 3 & resizing=$!
sleep 0.3
kill -9 $(children | head -n 1)
wait $resizing
fact "with --replace it starts again in the new shape" eval 'rc=0; done_ 2 3 && goes_on 3'
end
for _ in $(seq 100); do ls -d /dev/shm/ckrun.$job.* 2>/dev/null >&2 || break; sleep 0.02; done
fact "a killed ckrun leaves nothing" eval '! ls -d /dev/shm/ckrun.$job.* 2>/dev/null'
echo "$facts facts, $failed failed"
exit $((failed > 0))
