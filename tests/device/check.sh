#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check.sh BUILD: channels between devices' buffers on a real device, at most 5 minutes: the paths, with their data
# compared, in threads and in processes, and in checked mode. It does not test the order of data and word, for which it
# lacks a control that must fail, nor speed. Without a device: "skipped", never "passed".
# A root with the built programs and their libraries is enough: BUILD/tests/programs/device, BUILD/bin/ckrun.
set -u
build=${1:?usage: check.sh BUILD}
device=$build/tests/programs/device
end=$(($(date +%s) + 280))
unset FAKE_CUDA CK_DEVICE
failed=0 ran=0

if ! text=$(timeout 60 "$device" put 1 64 2>&1); then
	case $text in
	*"needs the device's driver"* | *"finds no device"*) echo "skip channels on a device: skipped: no device"; exit 77 ;;
	esac
	echo "FAIL device: $text"
	exit 1
fi
try() { # shape, arguments of ckrun, then of the program
	shape=$1
	shift
	[ "$(date +%s)" -lt "$end" ] || { echo "FAIL: no time for $*"; failed=1; return; }
	# shellcheck disable=SC2086
	if text=$(timeout 60 "$build/bin/ckrun" $shape "$device" "$@" 2>&1); then
		echo "ok $shape device $*: $(echo "$text" | sed -n 's/^device: \([0-9].*\)/\1/p')"
		ran=$((ran + 1))
	else
		echo "FAIL $shape device $*: $text"
		failed=1
	fi
}
for CK_CHECK in 0 1; do
	export CK_CHECK
	for shape in "-n 2 --ppn 2" "-n 2"; do
		for how in put stream all done rebind ahead; do
			try "$shape" $how 20 4096
			try "$shape" $how 4 3000000
		done
	done
done
[ $failed = 0 ] && echo "$ran runs on the device had the right data: paths and protocol, not order, not speed"
exit $failed
