#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian (or Ubuntu) packages that Chard needs. It says which, and does nothing when all of
# them are there. It runs as root, or through sudo.
#
#	deps.sh [--bench] [--hosts] [--fuzz] [--browser] [--cross] [--packages] [--list]
#
#	          what building, the examples and the tests need
#	--bench   that, and what only the benchmarks need: two MPIs and UCX's own benchmark to compare
#	          with, and gnuplot; FFTW and ScaLAPACK; with gdb and OTF2's tools, which only one test each needs
#	--hosts   that, and the launchers that the tests try: Open MPI's, MPICH's, and a Slurm (13 MB)
#	--fuzz    that, and what make fuzz and make check-clang need: clang, whose libFuzzer makes the inputs
#	--browser  that, and a browser for the test of the page that cktrace --html writes
#	--cross   that, and what make check-cross needs: a compiler for aarch64, and qemu-user
#	--packages  that, and what make check-packages needs: the tools that make and judge Debian packages, and CMake
#	--list    only print what is missing

packages=(build-essential pkg-config libucx-dev libhwloc-dev libunwind-dev libdw-dev libboost-context-dev
	libxxhash-dev libopenblas-dev libcmocka-dev libpmix-dev libmetis5 libscotch-7.0 libsodium23 liblz4-1 libzstd1 procps python3 spin locales)
fuzz_packages=(clang libclang-rt-dev)
hosts_packages=(openmpi-bin mpich iproute2 slurm-wlm slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge)
bench_packages=(openmpi-bin libopenmpi-dev mpich libmpich-dev ucx-utils libpng-dev libfftw3-dev gnuplot-nox gdb valgrind
	libfftw3-mpi-dev libscalapack-openmpi-dev libscalapack-mpich-dev libotf2-trace-dev otf2-tools)
browser_packages=(chromium)
cross_packages=(gcc-aarch64-linux-gnu qemu-user)
packages_packages=(debhelper dpkg-dev lintian git cmake libotf2-trace-dev)

fail() { echo "deps: $*" >&2; exit 1; }
list= what=
for option; do
	case $option in
	--bench) packages+=("${bench_packages[@]}") what=" for the benchmarks" ;;
	--hosts) packages+=("${hosts_packages[@]}") what=" for the launchers" ;;
	--fuzz) packages+=("${fuzz_packages[@]}") what=" for fuzzing" ;;
	--cross) packages+=("${cross_packages[@]}") what=" for the cross build" ;;
	--packages) packages+=("${packages_packages[@]}") what=" for the packages" ;;
	--browser) packages+=("${browser_packages[@]}") what=" for the browser's test" ;;
	--list) list=1 ;;
	*) echo "usage: $0 [--bench] [--hosts] [--fuzz] [--browser] [--cross] [--packages] [--list]" >&2; exit 2 ;;
	esac
done

missing() {
	local p
	for p in "${packages[@]}"; do
		dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed ||
			echo "$p"
	done
}

command -v dpkg-query >/dev/null || fail "this is not Debian or Ubuntu; install the equivalents" \
	"of: ${packages[*]}"
mapfile -t need < <(missing)
if [ "$list" ]; then
	[ ${#need[@]} = 0 ] || printf '%s\n' "${need[@]}"
	exit 0
fi
[ ${#need[@]} -gt 0 ] || exit 0

root=()
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || fail "missing: ${need[*]}. Only root can install them and" \
		"there is no sudo: run this script as root"
	# Without a terminal sudo could not ask for a password: better a clear line than a hang.
	root=(sudo)
	[ -t 0 ] || root=(sudo -n)
	"${root[@]}" true || fail "missing: ${need[*]}. sudo does not let us: run this as root"
fi
echo "deps: installing$what ${need[*]}"
apt() {
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 \
		-o DPkg::Lock::Timeout=300 "$@" </dev/null >"$log" 2>&1
}
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
apt update || { tail -5 "$log" >&2; fail "apt-get update failed"; }
apt install -y --no-install-recommends "${need[@]}" ||
	{ tail -15 "$log" >&2; fail "apt-get install failed"; }
