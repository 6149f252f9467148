#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cross.sh [BUILD]: builds Chard for aarch64 with Debian's cross compiler, and runs programs and unit tests of it under
# qemu-user. BUILD (build-cross) keeps the foreign system's files between runs. What `make` gets is what a packager gives it:
# CC, CKCI_FOR_BUILD, and where pkg-config looks. The launcher is this machine's: it starts qemu, once for each node.
#
# The tests are those that lean on the machine: puts, rings, bells, stacks without locks, copies, threads' stacks, and
# programs that cross between threads and processes. qemu-user translates a guest's barriers and atomics for this
# processor. On x86 it hardly reorders other accesses, so this does not show that the code is right on hardware with weak
# order; the models in tests/models/ and the thread sanitizer are about that.
#
# One line for each fact; exit code 1 if one does not hold, 77 where the compiler, qemu or the packages cannot be had.
# CROSS_SECONDS (170) bounds the time of all that is built and run.

cd "$(dirname "$0")/.." || exit 1
W=${1:-build-cross}
target=aarch64-linux-gnu arch=arm64
unset MAKEFLAGS MFLAGS MAKELEVEL LD_LIBRARY_PATH PKG_CONFIG_PATH
failed=0 end=$((SECONDS + ${CROSS_SECONDS:-170}))

cannot() {
	echo "skip cross build: $*"
	exit 77
}
for tool in $target-gcc qemu-aarch64 apt-get dpkg; do
	command -v "$tool" >/dev/null || cannot "$tool is not installed (deps.sh --cross)"
done
mkdir -p "$W" && W=$(realpath "$W") || exit 1
root=$W/root B=$W/$target N=$W/native

# The foreign system: only the packages that programs need, unpacked. The system here knows nothing of it: apt gets lists,
# a cache and a record of installed packages of its own.
fetch() {
	local apt=$W/apt to=$W/root.new names

	mkdir -p "$apt"/{lists/partial,cache/archives/partial} "$to" && : >"$apt/status"
	options=(-qq -o APT::Architecture=$arch -o APT::Architectures=$arch -o APT::Sandbox::User=root -o Dir::State="$apt"
		-o Dir::State::Lists="$apt/lists" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache"
		-o Acquire::http::Timeout=20 -o Acquire::Retries=1)
	apt-get "${options[@]}" update || return 1
	names=$(apt-get "${options[@]}" -s --no-install-recommends install libc6-dev libucx-dev libhwloc-dev libunwind-dev \
		libboost-context-dev libxxhash-dev libcmocka-dev | awk '$1 == "Inst" { print $2 }' | grep -E "^($needed)") || return 1
	# shellcheck disable=SC2086 # words
	(cd "$apt" && apt-get "${options[@]}" download $names) || return 1
	for package in "$apt"/*.deb; do
		dpkg -x "$package" "$to" || return 1
	done
	rm -rf "$apt" && mv "$to" "$root"
}
# Of what apt would install: not perl, adduser and such, on which some of them depend.
needed='libc6|linux-libc-dev|libgcc-s1|libucx|libhwloc|libunwind|liblzma5|zlib1g|libudev1|libcap2|libnuma1|libnl-'
needed+='|libibverbs1|librdmacm1|libboost-context[0-9.]*-dev|libxxhash|libcmocka'
if [ ! -d "$root" ]; then
	rm -rf "$W/root.new"
	timeout 60 bash -c "$(declare -f fetch); W='$W' root='$root' arch='$arch' needed='$needed'; fetch" >"$W/fetch.log" 2>&1 ||
		cannot "the packages for $arch cannot be had: $(tail -1 "$W/fetch.log")"
fi

step() { # name, command...
	local name=$1
	shift
	if timeout $((end > SECONDS ? end - SECONDS : 1)) "$@" >"$W/log" 2>&1; then
		echo "ok $name"
	else
		echo "FAIL $name"
		tail -20 "$W/log"
		failed=1
	fi
}

examples="hello heat1d threadring nqueens histogram"
programs="channels messages getput params reductions order lend groups"
units="machine/test_ring machine/test_msg_stack machine/test_copy machine/test_wake_host scheduler/test_bell direct/test_pollset
	scheduler/test_queue scheduler/test_node_queue scheduler/test_prio scheduler/test_thread"
files=$(for e in $examples; do echo "$B/examples/$e/$e"; done
	for p in $programs; do echo "$B/tests/programs/$p"; done
	for u in $units; do echo "$B/tests/$u"; done)
# ckci, for here, and the launcher that starts qemu.
native() { make -s -j"$(nproc)" B="$N" "$N/bin/ckci" "$N/bin/ckrun"; }
cross() {
	# shellcheck disable=SC2086 # words
	PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/$target/pkgconfig \
		make -s -j"$(nproc)" B="$B" CC="$target-gcc --sysroot=$root" CKCI_FOR_BUILD="$N/bin/ckci" lib tools $files
}
export -f native cross
export B N root target files
step "tools of this machine" bash -c native
step "cross build, $target" bash -c cross
[ $failed = 0 ] || exit 1
no_warning() { ! grep -E '(warning|error):' "$W/log"; }
no_warning || { echo "FAIL a warning of the cross compiler"; failed=1; }
foreign() { readelf -h "$B/libchard.so" "$B/bin/ckci" "$B/examples/hello/hello" | grep -c 'Machine: *AArch64' | grep -x 3; }
export -f foreign
step "all is for $target" bash -c foreign

# Each node reserves address space for the messages of the host's nodes, as much as the host has memory. That costs
# nothing, but qemu-user keeps a record of 24 bytes and more for each page of it: gigabytes on a large host. So the guest's
# address space ends at 256 GiB; beyond that the nodes talk through UCX instead of rings, which `rings` says.
# Unit tests that run nodes get 64 GiB.
segment=1 memory=$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)
while [ $((segment * 1048576)) -lt "$memory" ]; do segment=$((segment * 2)); done
run="qemu-aarch64 -R 0x4000000000 -L $root"
unit="qemu-aarch64 -R 0x1000000000 -L $root"
[ $segment -le 64 ] || echo "skip rings between processes under qemu: this host has too much memory"
on() { # shape, program...
	local shape=$1
	shift
	# shellcheck disable=SC2086 # words
	case $shape in
	+p*) $run "$@" $shape ;;
	*) "$N/bin/ckrun" -n $((${shape%x*} * ${shape#*x})) --ppn "${shape#*x}" --timeout 100 $run "$@" ;;
	esac
}
exe() { case " $examples " in *" $1 "*) echo "$B/examples/$1/$1" ;; *) echo "$B/tests/programs/$1" ;; esac; }
# Each checks its own answer, and its exit code tells.
cases="2x1 hello 6
+p2 hello 6
2x1 heat1d --cells 7 --steps 20
1x2 threadring --members 7 --rounds 12 --tokens 4
2x1 nqueens --queens 7 --grain 2 --prio row
2x1 histogram --values 500
2x1 channels
1x2 channels
2x2 channels 3 7 malloc
2x1 messages
2x1 getput
2x1 lend
2x1 order
1x2 order
1x2 params
2x2 reductions
1x2 groups"
export -f on exe
export run unit examples
while read -r shape program args; do
	[ $SECONDS -lt $end ] || { echo "FAIL $program $shape: no time is left"; failed=1; continue; }
	# shellcheck disable=SC2086 # words
	step "$program $args, $shape" bash -c "on $shape $(exe $program) $args </dev/null"
done <<<"$cases"
for u in $units; do
	step "unit test $u" bash -c "$unit $B/tests/$u </dev/null"
done
exit $failed
