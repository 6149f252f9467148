#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# watch.sh CKRUN HANGS: what ckrun can be asked about a job that goes on: SIGUSR1, --timeout, a node that is stopped.
# HANGS is tests/programs/hangs.
set -u
. "$(dirname "$0")/../job.sh"
ckrun=$1 hangs=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
n_failed=0

fact() { # what, command
	local what=$1
	shift
	"$@" && return
	echo "FAIL  $what"
	sed 's/^/      /' "$dir/err"
	n_failed=$((n_failed + 1))
}
said() { grep -Eq -- "$1" "$dir/err"; }
comes() { # pattern: within 8 s
	for _ in $(seq 400); do
		said "$1" && return
		sleep 0.02
	done
	return 1
}
# ckrun has started so many nodes, and handles signals.
started() {
	for _ in $(seq 400); do
		[ "$(grep -c started "$dir/err")" = "$1" ] && return
		sleep 0.02
	done
	return 1
}
# Ask until the answer is there: the job may not have come so far yet.
asked() { # pattern
	for _ in $(seq 20); do
		kill -USR1 $job || return
		for _ in $(seq 25); do
			said "$1" && return
			sleep 0.02
		done
	done
	return 1
}
# A PE is busy for ever, so the job handles signals.
spinning() { comes '^hangs: a PE spins$'; }
ends() { # code
	wait $job
	[ $? = "$1" ]
}

# A PE in an endless loop: what runs, where; and who waits for it. The job goes on.
job_start -n 2 "$hangs" spin
spinning
kill -USR1 $job
fact "SIGUSR1 names what runs" comes '^chard: PE 1 \(node 1\) in Cell::act is busy:$'
# A sanitizer may have put a call of its own into the loop.
fact "SIGUSR1 says where it runs" comes '^chard:   #[01] spin_for_ever'
fact "SIGUSR1 makes PE 0 report" comes '^chard: asked what the job does, or waits for:$'
fact "SIGUSR1 says who does not answer" comes '^chard: PE 1 \(node 1\) does not answer: '
: >"$dir/err"
kill -USR1 $job
fact "SIGUSR1 can come again" comes '^chard: asked what the job does, or waits for:$'
kill -TERM $job
fact "SIGUSR1 lets the job go on" ends 143

# A handler that calls itself: the report names it.
job_start -n 2 "$hangs" circle
spinning
fact "SIGUSR1 names what is queued" asked '^chard: PE 1: 1 message is queued: calls of Cell::circle$'
kill -TERM $job
fact "the job that goes in a circle ends" ends 143

job_start -n 2 "$hangs" batches
spinning
fact "SIGUSR1 names the calls in batches" asked '^chard: PE 1: [0-9]+ messages? (is|are) queued: .*batches of calls of Cell::batched'
kill -TERM $job
fact "the job whose calls go in a circle ends" ends 143

# The age of an armed channel, whose sender is busy, rises from one report to the next.
armed_ms() { sed -n 's/.* waits for put 2, armed for at least \([0-9]*\)\.\([0-9]*\) s$/\1\2/p' "$dir/err" | tail -1; }
older() { [ "$(armed_ms)" -gt "$first" ]; }
job_start -n 2 "$hangs" armed-spin
spinning
fact "an armed channel says for how long" asked '^chard: PE 0: channel 0 .*, armed for at least [0-9.]+ s$'
first=$(armed_ms)
: >"$dir/err"
kill -USR1 $job
fact "an armed channel says so again" comes '^chard: PE 0: channel 0 .*, armed for at least [0-9.]+ s$'
fact "it has been armed for longer" older
kill -TERM $job
fact "the armed channel's job ends" ends 143

# PEs, PEs of a node, nodes, and the last PE, which does not come to handle anything, or is stopped.
for shape in "2 1 2" "4 2 2" "3 1 3"; do
	read -r pes ppn nodes <<<"$shape"
	last=$((pes - 1)) node=$((nodes - 1)) at="with $pes PEs in $nodes nodes" seed=$RANDOM
	name="node $node \(PEs? [-0-9]+"

	# What waits for a budget.
	CK_RANDOM_QUEUE=$seed CK_FLOW_BYTES=20000 job_start -n "$pes" --ppn "$ppn" "$hangs" budget
	comes "^hangs: all PEs are at work"
	fact "messages over budget $at" asked "^chard: PE 0: to PE $last: [0-9]+ messages? waits? \([0-9]+ bytes\) until it has handled some of "
	fact "who does not handle them $at" comes "^chard: PE $last \(node $node\) in Cell::spin is busy:$"
	kill -TERM $job
	fact "the budget's job ends $at" ends 143

	# Threads that wait for memory, because nobody handles what they send.
	CK_RANDOM_QUEUE=$seed CK_MESSAGE_MEMORY=8M job_start -n "$pes" --ppn "$ppn" "$hangs" room
	comes "^hangs: all PEs are at work"
	fact "threads wait for memory $at" asked '^chard: PE 0: threads wait for room in the message memory .CK_MESSAGE_MEMORY.$'
	fact "who does not handle the messages $at" comes "^chard: PE $last \(node $node\) in Cell::spin is busy:$"
	kill -TERM $job
	fact "the job without memory ends $at" ends 143

	# A node that is stopped while messages go to it.
	CK_RANDOM_QUEUE=$seed CK_FLOW_BYTES=20000 job_start -n "$pes" --ppn "$ppn" "$hangs" flood
	comes "^hangs: all PEs are at work"
	victim=$(job_pids "$node")
	kill -STOP "$victim"
	fact "a stopped node is named $at" comes "^ckrun: $name, pid $victim\) was stopped by signal 19 \(.*\), and the job waits for it$"
	fact "what waits for it $at" asked "^chard: PE 0: to PE $last: [0-9]+ messages? waits? \([0-9]+ bytes\) until it has handled some of "
	fact "it does not answer $at" comes "^chard: PE $last \(node $node\) does not answer: it is busy in a handler, or its process is stopped$"
	kill -CONT "$victim"
	fact "it goes on $at" comes "^ckrun: $name, pid $victim\) goes on$"
	kill -TERM $job
	fact "the job of the stopped node ends $at" ends 143
done

# The same report before --timeout ends the job.
job_start --timeout 3 -n 4 --ppn 2 "$hangs" spin
fact "--timeout gives 124" ends 124
fact "--timeout names what runs" said '^chard: PE 3 \(node 1\) in Cell::act is busy:$'
fact "--timeout says who does not answer" said '^chard: PE 3 \(node 1\) does not answer: '
fact "--timeout ends the job" said '^ckrun: the job ran longer than --timeout 3 s; it is ended \(at work: nodes 0-1\)$'

# A node that is stopped holds the job, and its watchdog; ckrun says so at once.
job_start --timeout 3 -n 2 "$hangs" nothing
started 2
victim=$(job_pids 1)
kill -STOP "$victim"
fact "a stopped node is named at once" comes "^ckrun: node 1 \(PE 1, pid $victim\) was stopped by signal 19 \(.*\), and the job waits for it$"
kill -CONT "$victim"
fact "a node that goes on is named" comes "^ckrun: node 1 \(PE 1, pid $victim\) goes on$"
fact "then the job is found to be at rest" ends 125
job_start --timeout 3 -n 2 "$hangs" spin
spinning
kill -STOP "$(job_pids 0)"
fact "--timeout of a job with a stopped node" ends 124
fact "--timeout names the stopped node" said 'it is ended \(at work: node 1; stopped by a signal: node 0\)$'

exit $((n_failed > 0))
