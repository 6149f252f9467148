#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check.sh BUILD [PUTS]: channels between buffers in a device's memory on a real device, within 5 minutes: order of word and
# data, all paths, hazards, ratios of times, the stencil. Without a device: "skipped", never "passed".
#
# Order: a kernel behind each arrival compares the data. The control, a driver library that stores the word before the
# data (early.so), must find wrong data, or the test is void. Two processes without MPS are switched by the device, which
# hides faults: there the result is weak evidence, and is called so.
# A tree of pack.sh is enough to run it, without compilers or packages. With PUTS it is a rehearsal, of so many puts for
# order, which never says that all is well: with the fake driver as the loader's libcuda.so.1 it goes through the script.
set -u
build=${1:?usage: check.sh BUILD [PUTS]} puts=${2:-100000}
here=$(cd "$build" && pwd)
programs=$here/tests/programs
end=$(($(date +%s) + 280))
unset FAKE_CUDA CK_DEVICE CUDA_DEVICE_MAX_CONNECTIONS
failed=0 void=0 ran=0 mps=

if ! text=$(timeout 60 "$programs/device" put 1 64 2>&1); then
	case $text in
	*"needs the device's driver"* | *"finds no device"*) echo "skip channels on a device: skipped: no device"; exit 77 ;;
	esac
	echo "FAIL device: $text"
	exit 1
fi

fail() {
	echo "FAIL $*"
	failed=1
}
# What a command prints, in $text; a longer one than there is time for is not begun.
job() { # seconds that it may take, command
	seconds=$1
	shift
	if [ $(($(date +%s) + seconds / 4)) -gt $end ]; then
		text="there is no time for it"
		return 1
	fi
	text=$(timeout "$seconds" "$@" 2>&1)
}
ck() { # seconds, shape, program ...
	seconds=$1 shape=$2
	shift 2
	# shellcheck disable=SC2086
	job "$seconds" "$here/bin/ckrun" $shape "$@"
}

# ---- order ---------------------------------------------------------------------------------------------------------

order() { # name, shape, puts, what it is worth
	if ck 80 "$2" "$programs/device_order" "$3"; then
		echo "ok order, $1: $(echo "$text" | sed -n 's/^device_order: \([0-9]* puts.*\)/\1/p')$4"
	else
		fail "order, $1: $text"
	fi
}
control() { # name, shape
	if CK_DEVICE=$here/tests/device/early.so ck 40 "$2" "$programs/device_order" $((puts / 400 + 5)) 33554432; then
		echo "VOID order, $1: a word before its data was not found"
		void=1
	elif echo "$text" | grep -q ' [1-9][0-9]* wrong words$'; then
		echo "ok control, $1: $(echo "$text" | sed -n 's/^device_order: \([0-9]* puts.*\)/\1/p')"
	else
		fail "control, $1: $text"
	fi
}
stop_mps() {
	[ -n "$mps" ] || return 0
	echo quit | nvidia-cuda-mps-control >/dev/null 2>&1
	rm -rf "$mps"
	mps=
	unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}
start_mps() {
	command -v nvidia-cuda-mps-control >/dev/null || return 1
	mps=$(mktemp -d)
	export CUDA_MPS_PIPE_DIRECTORY="$mps" CUDA_MPS_LOG_DIRECTORY="$mps"
	nvidia-cuda-mps-control -d >/dev/null 2>&1 && return 0
	stop_mps
	return 1
}
trap stop_mps EXIT

threads="-n 2 --ppn 2"
control "threads" "$threads"
order "threads" "$threads" "$puts" ""
if start_mps; then
	control "processes, MPS" "-n 2"
	order "processes, MPS" "-n 2" "$puts" ""
	stop_mps
else
	echo "skip order, processes under MPS: no MPS can be started here"
fi
order "processes without MPS" "-n 2" $((puts / 30)) ": weak evidence"

# ---- paths and protocol --------------------------------------------------------------------------------------------

path() { # CK_CHECK, shape, arguments of device
	check=$1 shape=$2
	shift 2
	if CK_CHECK=$check ck 30 "$shape" "$programs/device" "$@"; then
		ran=$((ran + 1))
		case $text in
		*"device, "*) echo "ok CK_CHECK=$check $shape device $*: $(echo "$text" | sed -n 's/^device: \([0-9].*\)/\1/p')" ;;
		esac
	else
		fail "CK_CHECK=$check $shape device $*: $text"
	fi
}
for shape in "$threads" "-n 2"; do
	for how in put stream all "done" rebind ahead; do
		path 0 "$shape" $how 20 4096
		path 1 "$shape" $how 4 3000000
	done
done
CK_SHARE=0 path 0 "-n 2" put 4 3000000
# Memory of cuMemCreate: mapped in the other process, or staged where a buffer lies in two mappings.
for how in put stream all part; do
	path 0 "-n 2" $how 20 4096 whole
	echo "$text" | grep -q ' [1-9][0-9]* device-vmm,' || fail "memory of cuMemCreate is not shared: $text"
done
path 1 "-n 2" put 4 3000000 whole
path 0 "$threads" put 20 4096 pieces
path 0 "-n 2" put 20 4096 pieces
for shape in "$threads" "-n 2"; do
	ck 60 "$shape" "$programs/named_device" 1 10 40 || fail "named_device $shape: $text"
	ck 60 "$shape" "$programs/named_device" 1 10 40 1000 5 created || fail "named_device $shape, cuMemCreate: $text"
done

# ---- hazards -------------------------------------------------------------------------------------------------------

# One hardware queue: refused for streams that wait, and puts go on.
CUDA_DEVICE_MAX_CONNECTIONS=1 job 30 "$programs/device" ahead && fail "one queue: a stream that waits was let through"
echo "$text" | grep -q "CUDA_DEVICE_MAX_CONNECTIONS=1: a stream that waits would hold up all others" ||
	fail "one queue: $text"
CUDA_DEVICE_MAX_CONNECTIONS=1 job 30 "$programs/device" stream || fail "one queue: $text"
CK_CHECK=1 ck 30 "-n 2 --ppn 2" "$programs/device" many && fail "more than 64 puts under way were let through"
job 30 "$programs/device" beyond && fail "a buffer beyond its allocation was let through"
if ck 30 "-n 2" "$programs/device" put && [ -z "${CUDA_MPS_PIPE_DIRECTORY-}" ]; then
	echo "$text" | grep -q "share a device without MPS" || fail "two processes of a device without MPS are not told: $text"
fi

# ---- ratios --------------------------------------------------------------------------------------------------------

if job 60 "$programs/device_speed" 300; then
	echo "$text"
	echo "$text" | grep -q "TOO SLOW" && fail "a ratio is above its bar"
else
	fail "device_speed: $text"
fi
sizes="32 64 128 256"
[ $# -gt 1 ] && sizes=32
for n in $sizes; do
	if ! ck 60 "$threads" "$here/examples/stencil/stencil" --device --domain "${n}x${n}x$n" --chares 2x2x2 --iters 200 --repeat 3 \
		"$([ "$n" -gt 64 ] && echo --no-verify || echo --verify)"; then
		fail "stencil $n: $text"
		continue
	fi
	echo "$text" | sed -n "s/^stencil \(device.*\|staging\|verified.*\) iter_us/stencil ${n}: \1/p"
	echo "$text" | sed -n 's/^stencil \([a-z-]*\) iter_us \([0-9]*\).*/\1=\2/p' | {
		device=0 staging=0
		while IFS='=' read -r name us; do
			[ "$name" = device ] && device=$us
			[ "$name" = staging ] && staging=$us
		done
		[ "$device" -le "$staging" ]
	} || fail "stencil $n: staging is faster than device channels"
done

if [ $# -gt 1 ]; then
	echo "channels on a device: a rehearsal: $failed failed, $void void"
elif [ $failed = 0 ] && [ $void = 0 ]; then
	echo "channels on a device: order, $ran runs of all paths, hazards, ratios: ok"
elif [ $failed = 0 ]; then
	echo "channels on a device: the test for order is VOID"
	failed=1
fi
exit $failed
