#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# apart.sh CKRUN PROGRAM...: nodes in user namespaces of their own, as rootless containers are: none can open another one's
# files in /proc. Jobs of them run, and leave nothing in /dev/shm. The programs are channels, order, broadcast and ends of
# tests/programs. FAIL_FAST=1 ends at the first fact that does not hold.
. "$(dirname "$0")/facts.sh"
ckrun=$1 programs=${2%/*}
export TMPDIR=$dir # mpirun's files
unset "${!PMI@}" "${!OMPI@}" "${!CK_@}" "${!UCX_@}" "${!SLURM@}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
	OMPI_MCA_oob_tcp_if_include=lo
run() { outcome timeout -k 1 60 "$@" </dev/null; }

apart() { # name, command
	local name=$1 before alone p
	shift
	before=$(ls -A /dev/shm)
	for alone in -Ur -Urm; do
		for p in channels order; do
			run "$@" unshare $alone "$programs/$p"
			fact "$name, unshare $alone: $p" [ $rc = 0 ]
		done
	done
	for p in CK_SHARE=0 CK_DIRECT_PATH=rma UCX_TLS=^sm; do
		run env $p "$@" unshare -Ur "$programs/channels"
		fact "$name, unshare -Ur: channels, $p" [ $rc = 0 ]
	done
	run env CK_VERBOSE=1 "$@" unshare -Ur "$programs/broadcast"
	fact "$name, unshare -Ur: CK_VERBOSE says it once" [ "$(grep -c "^chard: nodes of .* user namespaces of their own" "$dir/err")" = 1 ]
	run env UCX_TLS=posix,self "$@" unshare -Ur "$programs/broadcast"
	fact "$name, unshare -Ur: UCX_TLS=posix, the line names the cure" eval '[ $rc != 0 ] && grep -q "leave shared memory out of UCX_TLS" "$dir/err"'
	run "$@" unshare -Ur "$programs/ends" crash 3
	fact "$name, unshare -Ur: a crash ends the job" eval '[ $rc != 0 ] && [ $rc != 124 ]'
	fact "$name, unshare -Ur: nothing is left in /dev/shm" [ -z "$(ls -A /dev/shm | grep ucx_shm | comm -23 - <(echo "$before"))" ]
}

if ! unshare --user --map-root-user --mount true 2>/dev/null; then
	echo "skip  nodes in user namespaces of their own: no such namespaces here"
	exit 77
fi
apart ckrun "$ckrun" -n 4
if command -v mpiexec.hydra >/dev/null; then
	apart mpiexec.hydra mpiexec.hydra -n 4
else
	skip "mpiexec.hydra" "MPICH is not installed"
fi
if command -v mpirun.openmpi >/dev/null && pkg-config --exists pmix; then
	apart mpirun mpirun.openmpi -n 4
else
	skip "mpirun" "Open MPI or libpmix-dev is not installed"
fi
echo "$facts facts, $failed failed"
[ $failed = 0 ]
