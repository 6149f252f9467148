#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# traced.sh BUILD: puts from device to device, and the functions of their arrivals, are in a trace.
set -eu
build=${1:?usage: traced.sh BUILD}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CK_TRACE=$dir/t "$build/bin/ckrun" -n 2 "$build/tests/programs/device" put 3 100 >/dev/null 2>&1
"$build/bin/cktrace" "$dir/t" >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }
# 4 cells, 3 rounds, 3 puts each; not the layer's own words and pieces.
n=$(sed -n 's/^ *(functions of puts): \([0-9]*\) calls.*/\1/p' "$dir/out")
[ "${n:-0}" = 36 ] || { echo "FAIL a trace has $n functions of puts, not 36"; exit 1; }
echo "ok a trace has the puts of devices"
