#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# others.sh BUILD: the launchers that are not ours start Chard's programs, as far as they are installed: Open MPI's
# mpirun and srun --mpi=pmix by PMIx, mpiexec.hydra and srun --mpi=pmi2 by PMI-1. What a node finds without one of
# them is in run.sh. FAIL_FAST=1 ends at the first fact that does not hold.
. "$(dirname "$0")/facts.sh"
top=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd) || exit 2
ckrun=$build/bin/ckrun
export TMPDIR=$dir # mpirun's files
unset "${!PMI@}" "${!OMPI@}" CK_PES CK_BOOT
[ "$2" = in-slurm ] || unset "${!SLURM@}"

# Every launcher may be root here, may start more processes than cores, and needs no network.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
	OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_orte_base_help_aggregate=0

compile() { # output, flags
	local out=$1
	shift
	${CC:-gcc} -std=c11 -D_GNU_SOURCE -O1 -g -Wall -Wextra "$@" "$here"/node.c \
		"$top"/runtime/machine/{boot/{boot,boot_table,pmi1/boot_pmi1,pmix/boot_pmix},base/{cmi_env,say},tools/cmi_plain}.c -o "$out" -pthread
}
headers=$(pkg-config --cflags-only-I pmix 2>/dev/null)
# shellcheck disable=SC2086
compile "$dir/node" $headers || exit 1
node=$dir/node

run() { outcome timeout -k 1 60 "$@" </dev/null; }
# Hydra sometimes throws away what a process said just before it died (2 of 25 jobs beside a build), so there are five
# tries. None may say it twice.
is_told() { # what of PE 3, condition on the code, command...
	local what=$1 code=$2 n tries
	shift 2
	for tries in 1 2 3 4 5; do
		run "$@"
		eval "[ $code ]" || return 1
		n=$(grep -c "^chard: PE 3 .node 3. in Member::act: $what" "$dir/err")
		[ "$n" = 0 ] || break
	done
	[ "$n" = 1 ]
}
refused() { # pattern in the one line of ours
	[ $rc = 77 ] && [ "$(grep -c '^chard: ' "$dir/err")" = 1 ] && grep -q "^chard: .*$1" "$dir/err"
}
all_gone() { # files with a pid each; at most 5 s
	local f n=0
	for f; do
		while alive "$(cat "$f")"; do
			sleep 0.01
			[ $((n += 1)) -lt 500 ] || return 1
		done
	done
}

# Each of them prints one line; four jobs of one node would print four.
one_job() { [ $rc = "$1" ] && [ "$(wc -l <"$dir/out")" = 1 ]; }
programs="broadcast reductions groups channels qd"

# The readers of two hosts, where rank 2 is the second one's first; by default there is one host.
readers="0:0 1:0 2:0 3:0"
# In a job of so many nodes one of each host reads what all have published.
many() { # name, command
	local name=$1
	shift
	run "$@" "$build/tests/programs/broadcast"
	fact "$name: 12 nodes" eval '[ $rc = 0 ] && [ "$(cat "$dir/out")" = "broadcast: 5400 calls on 12 PEs" ]'
}

# What holds under each launcher: name, codes that an abort with 3 and a segmentation fault give, command.
under() {
	local name=$1 aborted=$2 crashed=$3 p
	shift 3
	run "$@" "$node" join exchange 3000 rules finish
	fact "$name: exchange of addresses, missing keys, puts after a fence" [ $rc = 0 ]
	for p in $programs; do
		run "$@" "$build/tests/programs/$p"
		fact "$name: $p, 4 nodes, which are one job" one_job 0
		run env CK_PES=2 "$@" "$build/tests/programs/$p"
		fact "$name: $p, 4 nodes of 2 PEs" one_job 0
	done
	run "$@" "$node" join reader finish
	fact "$name: all nodes of a host know who reads for it" [ "$(sort "$dir/out" | xargs)" = "$readers" ]
	run "$@" "$build/tests/programs/ends" exit 3
	fact "$name: CkExit's code" [ $rc = 7 ]
	rm -f "$dir/child"
	run env CK_SHARE=0 LINGER="$dir/child" "$@" "$build/tests/programs/forks" linger
	fact "$name: a node that dies is missed while a child lives that it has forked" \
		eval '[ $rc != 0 ] && [ $rc != 124 ] && [[ $(cat "$dir/child") =~ ^[0-9]+$ ]]'
	kill "$(cat "$dir/child")" 2>/dev/null # under some launchers it has gone with the job
	run "$@" "$node" join fence @1 abort 3 sleep
	fact "$name: an abort ends the job with its code" eval "[ $aborted ]"
	fact "$name: a crash ends the job, and is told once" is_told Segm "$crashed" "$@" "$build/tests/programs/ends" crash 3
	fact "$name: exit(0) in a handler is a failure, and is told once" \
		is_told 'exit.0. before' '$rc -gt 0 -a $rc -ne 124' "$@" "$build/tests/programs/leaves" exit 3
	fact "$name: exit with another code ends the job with that" is_told 'exit.3. before' "$aborted" "$@" \
		"$build/tests/programs/leaves" exit 3 3
	run "$@" "$node" join @0 late 200 @0 exit 5 sleep
	fact "$name: a fence that not everybody comes to ends in time" \
		eval '[ $rc != 0 ] && [ $rc != 124 ] && ! grep -q "^node: " "$dir/err"'
	run "$@" "$node" join fence finish join
	fact "$name: a second job of the same processes is refused" [ $rc != 0 -a "$(grep -c 'call CkMain once' "$dir/err")" -gt 0 ]
	run env CK_BOOT=alone "$@" "$node" join exchange 9 finish
	fact "$name: CK_BOOT=alone" [ $rc = 0 ]
}

# Chard between two phases of an MPI program: the connection to the launcher is MPI's. It says "both phases" if MPI works
# before and after; "twice" runs Chard a second time.
cat >"$dir/in_mpi.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "broadcast.decl.h"
#include "ckgen.h"

static int sum_of_ranks(void)
{
	int rank, sum = 0;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	return sum;
}

int main(int argc, char **argv)
{
	const int twice = argc > 1 && !strcmp(argv[1], "twice");
	char *own[] = {argv[0], NULL};
	int rank, size, before, after, code;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	before = sum_of_ranks();
	code = CkMain(1, own, &ck_module_broadcast);
	if (twice)
		code = CkMain(1, own, &ck_module_broadcast);
	after = sum_of_ranks();
	if (rank == 0 && before == after && before == size * (size - 1) / 2)
		puts("both phases");
	MPI_Finalize();
	return code;
}
END
in_mpi() { # which MPI, command
	local mpi=$1
	shift
	if ! command -v mpicc.$mpi >/dev/null; then
		skip "inside a program of $mpi" "mpicc.$mpi is not installed"
		return
	fi
	mpicc.$mpi -std=gnu11 -O1 -DCK_NO_MAIN -I"$build/tests/programs" -I"$top/tests/programs" -I"$top/runtime/chare" \
		-I"$top/runtime/direct" -I"$top/runtime/scheduler" -I"$top/runtime/machine" "$dir/in_mpi.c" \
		"$top/tests/programs/broadcast.c" "$build/libchard.a" -o "$dir/in_mpi.$mpi" \
		$(pkg-config --libs ucx hwloc libunwind) -pthread -ldl || exit 1
	run "$@" "$dir/in_mpi.$mpi"
	fact "$1: inside an MPI program, which goes on" eval '[ $rc = 0 ] && [ "$(sort "$dir/out" | tr "\n" :)" = \
		"both phases:broadcast: 1800 calls on 4 PEs:" ]'
	run "$@" "$dir/in_mpi.$mpi" twice
	fact "$1: inside an MPI program, a second time: refused" eval '[ $rc != 0 ] && [ $rc != 124 ] && \
		[ $(grep -c "4 PEs$" "$dir/out") = 1 ] && grep -q "^chard: this process has been in a job" "$dir/err"'
}

hydra() {
	if command -v mpiexec.hydra >/dev/null; then
		under mpiexec.hydra '$rc = 3' '$rc = 139' mpiexec.hydra -n 4
		in_mpi mpich mpiexec.hydra -n 4
		many mpiexec.hydra mpiexec.hydra -n 12
	else
		skip mpiexec.hydra "MPICH is not installed"
	fi
}

open_mpi() {
	if ! command -v mpirun.openmpi >/dev/null; then
		skip mpirun "Open MPI is not installed"
	elif [ ! "$headers" ]; then
		skip mpirun "Chard was built without PMIx (libpmix-dev)"
	else
		under mpirun '$rc = 3' '$rc = 139' mpirun.openmpi -n 4
		in_mpi openmpi mpirun.openmpi -n 4
		many mpirun mpirun.openmpi -n 12
		run mpirun.openmpi -n 2 "$node" join leak finish
		fact "mpirun: children do not find what named our connection" \
			[ "$(grep -c "variable no" "$dir/out")" = 2 ]
		mpirun.openmpi -n 2 "$node" pid "$dir/k" join fence ready "$dir/s" sleep >"$dir/out" 2>"$dir/err" </dev/null &
		until [ -e "$dir/s.0" ] && [ -e "$dir/s.1" ]; do sleep 0.01; done
		{ kill -9 $!; wait $!; } 2>/dev/null
		rc=$?
		fact "mpirun: kill -9 of it leaves no nodes" all_gone "$dir"/k.*
		rm -rf "$dir"/ompi.* "$dir"/pmix*

		# Which of two launchers, and which not at all.
		run "$ckrun" -n 2 env PMIX_NAMESPACE=x PMIX_RANK=0 "$node" join exchange 9 finish
		fact "an open PMI_FD goes before PMIx" [ $rc = 0 ]
		run mpirun.openmpi -n 2 env PMI_FD=77 PMI_RANK=0 PMI_SIZE=2 "$node" join exchange 9 finish
		fact "PMIx goes before a dead PMI_FD" [ $rc = 0 ]
		run mpirun.openmpi -n 2 "$ckrun" -n 2 "$node" join exchange 9 finish
		fact "ckrun under mpirun: two jobs of two" [ $rc = 0 ]
		run env PMIX_NAMESPACE=x PMIX_RANK=0 "$node" join
		fact "PMIx variables of nobody: refused" refused "no launcher answers (PMIx_Init: UNREACH"
		run env CK_BOOT=pmix "$node" join
		fact "CK_BOOT=pmix without a launcher: refused" refused "PMIX_NAMESPACE or PMIX_RANK is not set"
		mkdir "$dir/empty"
		echo 'int nothing;' | ${CC:-gcc} -shared -fPIC -x c - -o "$dir/empty/libpmix.so.2"
		run env LD_LIBRARY_PATH="$dir/empty" PMIX_NAMESPACE=x PMIX_RANK=0 "$node" join
		fact "a libpmix that is none: refused" refused "cannot be loaded: .*PMIx_Init.* install libpmix2"
	fi
}

# Nodes that cannot open the reader's file read for themselves: here each sees other numbers of processes.
apart() {
	if ! unshare --pid --fork true 2>/dev/null; then
		skip "nodes that do not see each other's processes" "no namespaces here"
		return
	fi
	many "nodes that do not see each other's processes" "$ckrun" -n 12 unshare --pid --fork
}

without_headers() {
	if [ -e /usr/include/pmix.h ] || [ -e /usr/local/include/pmix.h ]; then
		skip "built without PMIx" "its headers lie where every compiler finds them"
	else
		compile "$dir/without" || exit 1
		run env PMIX_NAMESPACE=x PMIX_RANK=0 "$dir/without" join
		fact "built without PMIx: refused" refused "this Chard was built without it: install libpmix-dev"
	fi
}

in_slurm() {
	readers="0:0 1:0 2:2 3:2"
	local mpi
	for mpi in pmix pmi2; do
		[ $mpi = pmi2 ] || [ "$headers" ] || continue
		# What srun returns for a killed task depends on which one it hears of first.
		under "srun --mpi=$mpi" '$rc -gt 0 -a $rc -ne 124' '$rc -gt 0 -a $rc -ne 124' \
			srun -K1 -O -N2 -n4 --ntasks-per-node=2 --mpi=$mpi
		many "srun --mpi=$mpi" srun -K1 -O -N2 -n12 --mpi=$mpi
		run srun -K1 -O -N2 -n4 --mpi=$mpi --distribution=cyclic "$node" join reader finish
		fact "srun --mpi=$mpi: ranks in turn on two hosts" [ "$(sort "$dir/out" | xargs)" = "0:0 1:1 2:0 3:1" ]
	done
	run srun -K1 -O -N2 -n4 --mpi=none "$build/tests/programs/broadcast"
	fact "srun --mpi=none: each process refuses to run alone" \
		[ $rc = 1 -a "$(grep -c '^chard: SLURM_STEP_NUM_TASKS is set.*--mpi=pmix' "$dir/err")" = 4 ]
}

if [ "$2" = in-slurm ]; then
	in_slurm
else
	hydra
	open_mpi
	without_headers
	many ckrun "$ckrun" -n 12
	apart
	"$top/tests/rig/slurm.sh" "$0" "$build" in-slurm # says "skip ..." where it cannot
	rc=$?
	[ $rc = 0 ] || [ $rc = 77 ] || failed=$((failed + 1))
fi
echo "$facts facts, $failed failed"
[ $failed = 0 ]
