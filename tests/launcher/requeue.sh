#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# requeue.sh BUILD: examples/slurm/job.sh under a Slurm of its own (tests/rig/slurm.sh). The job is told to end, is saved,
# goes back into the queue, starts again from its checkpoint and prints what an undisturbed one prints.
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || exit 2
if [ -z "${CHARD_SLURM:-}" ]; then
	exec env CRED_EXPIRE=5 "$here/../rig/slurm.sh" -n 1 -c 2 "$0" "$build"
fi
dir=$(mktemp -d /tmp/chard-requeue.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
export PATH=$build/bin:$PATH CHECKPOINTS=$dir/ck CKRUN_OPTIONS="--local --env CK_CHECKPOINT=$dir/ck,1h"
rounds=${REQUEUE_ROUNDS:-2000000}
export PROGRAM="$build/tests/programs/saves_sync $rounds"
job=$(sbatch --parsable -n 2 -o "$dir/out" "$here/../../examples/slurm/job.sh") || exit 1
state() { scontrol show job "$job" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p'; }
is() { # word that the output or the state has, for so many seconds at most
	for _ in $(seq $(($1 * 10))); do
		{ state; cat "$dir/out" 2>/dev/null; } | grep -q -e "$2" && return 0
		sleep 0.1
	done
	echo "requeue.sh: no '$2' within $1 s; $(state); the job printed:"
	cat "$dir/out" 2>/dev/null
	scancel "$job"
	exit 1
}
is 30 RUNNING
sleep 1
scancel --batch --signal=TERM "$job"
is 20 "^chard: saved as $dir/ck/ck-000001; the job ends with exit code 75"
began=$SECONDS
is 100 RUNNING
sleep 1
scancel --batch --signal=TERM "$job"
is 60 "^chard: saved as $dir/ck/ck-000002; the job ends with exit code 75"
echo "saved, queued again and started again after $((SECONDS - began)) s, from its checkpoint"
scancel "$job"
