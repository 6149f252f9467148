#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# all.sh BUILD: the benchmarks, each figure beside its reference of the same run. `make bench`.
B=$1
rounds=${ROUNDS:-5}
set -- "$B/bench/floor --reps 1" \
	"$B/bin/ckrun -n 2 $B/bench/pingpong --reps 1" \
	"$B/bin/ckrun -n 2 --ppn 2 $B/bench/pingpong --reps 1"
[ -x "$B/bench/mpi/pingpong_mpi.openmpi" ] &&
	set -- "$@" "mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
		$B/bench/mpi/pingpong_mpi.openmpi --reps 1"
[ -x "$B/bench/mpi/pingpong_mpi.mpich" ] &&
	set -- "$@" "mpiexec.hydra -n 2 $B/bench/mpi/pingpong_mpi.mpich --reps 1"
echo "round trip, microseconds: median of $rounds rounds, and ratio to bare shared memory"
sh bench/ratios.sh -n "$rounds" "$@"
echo
echo "on one PE: name, parameter, value, unit"
"$B/bench/local"
echo
echo "torn deliveries: path, puts, torn (naive and memcpy must be caught)"
for path in memory rma message naive memcpy; do
	"$B/bin/ckrun" -n 2 "$B/bench/torn" --path $path --puts "${PUTS:-1000000}"
done
