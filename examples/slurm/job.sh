#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# job.sh: a batch job that goes on in the next one. 120 s before its time is over Slurm sends SIGTERM to this script, ckrun
# saves the program and ends with 75, and the script puts the job back into the queue. Submit it once:
#
#	PROGRAM="./stencil --iters 100000" CHECKPOINTS=/scratch/run7 sbatch -n 64 job.sh
#
# --open-mode=append keeps the output of the earlier runs. Bash runs a trap only when the command in front of it has
# ended, so ckrun runs behind it.
#SBATCH --job-name=chard
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append

ckrun --restart-if-any "${CHECKPOINTS:?a folder that all nodes see}" --checkpoint-exit \
	-n "${SLURM_NTASKS:-1}" ${CKRUN_OPTIONS-} $PROGRAM &
trap 'kill -TERM $!' TERM
wait $!
code=$?
# A trap ends the first wait. The code of the second one is ckrun's.
while kill -0 $! 2>/dev/null; do
	wait $!
	code=$?
done
[ $code != 75 ] || exec scontrol requeue "$SLURM_JOB_ID"
exit $code
