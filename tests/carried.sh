#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# carried.sh BUILD: whether what manycore.sh --carry packs runs where nothing is installed. This machine's own copies of the
# libraries in the package are hidden meanwhile, and so are MPI's launchers and BUILD.
set -u
top=$(realpath "$(dirname "$0")/..")
most=$((64 << 20))

# In a mount namespace of its own: what is mounted here is seen by nobody else.
bare() { # build, package
	hidden=$(for name in $(tar tzf "$2/carried.tar.gz" | sed -n 's|^lib/||p'); do
		/sbin/ldconfig -p | awk -v name="${name##*/}" '$1 == name { print $NF }'
	done; for tool in mpiexec.hydra hydra_pmi_proxy mpirun.openmpi; do command -v $tool; done)
	for file in $hidden; do
		mount --bind /dev/null "$(realpath "$file")" || exit 1
	done
	mount -t tmpfs none "$1" || exit 1
	env -i PATH=/usr/bin:/bin bash "$2/manycore.sh" --smoke --pes 2
}

if [ "$1" = --bare ]; then
	bare "$2" "$3"
	exit
fi
build=$(realpath "$1")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
unshare -rm true 2>/dev/null || { echo "skip carried: no mount namespaces"; exit 77; }
"$top/bench/manycore.sh" --carry "$dir/package" "$build" || exit 1
size=$(stat -c %s "$dir/package/carried.tar.gz")
[ "$size" -lt $most ] || { echo "carried: the package has $size bytes, more than $most"; exit 1; }
unshare -rm bash "$0" --bare "$build" "$dir/package" >"$dir/out" 2>&1
rc=$?
cat "$dir/out"
if [ -x "$build/bench/mpi/collectives_mpi.mpich" ] && command -v mpiexec.hydra >/dev/null; then
	! grep -q '^left out: mpich' "$dir/out" || rc=1
fi
[ $rc = 0 ] && echo "ok a carried build runs where nothing is installed"
exit $rc
