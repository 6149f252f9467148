#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# mpi.sh BUILD: MPI programs that have Chard inside (examples/embed/mpi), by each MPI that is here: two runs in a row, with
# MPI's messages before, during and after them; in several shapes, through shared memory and through UCX. A run that
# cannot begin ends all processes. One line for each; exit code 1 if one failed, 77 if no MPI is here.

cd "$(dirname "$0")/../.." || exit 1
B=${1:-build}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0 ran=0
# More processes than cores, which yield; as root, in a container.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1

verdict() { # name, 0 if it is right
	if [ "$2" = 0 ]; then
		echo "ok $1"
	else
		echo "FAIL $1"
		tail -20 "$tmp/out"
		failed=1
	fi
}
start() { # processes, arguments...
	local n=$1
	shift
	case $mpi in
	openmpi) timeout 100 mpirun.openmpi --oversubscribe -n "$n" "$B/examples/embed/host.openmpi" "$@" ;;
	mpich) timeout 100 mpiexec.mpich -n "$n" "$B/examples/embed/host.mpich" "$@" ;;
	esac >"$tmp/out" 2>&1 </dev/null
}
right() { # processes
	grep -qx "$1 processes, 2 runs, 6057 primes: checked" "$tmp/out"
}

for mpi in openmpi mpich; do
	if [ ! -x "$B/examples/embed/host.$mpi" ]; then
		echo "skip MPI programs with $mpi: it is not installed, or the program was not built"
		continue
	fi
	ran=1
	for shape in 1:1 2:1 2:2 3:1; do
		n=${shape%:*} pes=${shape#*:}
		start "$n" +p "$pes" && right "$n"
		verdict "$mpi, $n processes of $pes PEs" $?
	done
	CK_SHARE=0 start 2 && right 2
	verdict "$mpi, through UCX" $?
	CK_CHECK=1 start 2 && right 2
	verdict "$mpi, checked mode" $?
	! start 2 +p 0 && grep -q "^chard: +p 0 is refused" "$tmp/out" && ! grep -q checked "$tmp/out"
	verdict "$mpi, a wrong argument ends it" $?
done
[ $ran = 1 ] || exit 77
exit $failed
