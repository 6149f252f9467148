#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# shown.sh BUILD: frames of programs without debug information, and without symbols. One line for each fact; exit code
# 1 if one does not hold.
cd "$(dirname "$0")/../.." || exit 1
B=${1:-build}
. tests/steps.sh
cp "$B/tests/programs/shown" "$tmp/shown" && strip -g "$tmp/shown" -o "$tmp/names" && strip "$tmp/shown" -o "$tmp/bare" || exit 1

frames() { # program, way; the frames
	"$tmp/$1" "$2" 2>"$tmp/err"
	grep '^chard:   #' "$tmp/err"
}
# Names, where they are known; the library's frames are left out all the same. The entry method may be inlined.
names() {
	frames names 1 | tee /dev/stderr | grep -E '^chard:   #1 (Block_on_step|ck_call_Block_step)\+0x[0-9a-f]+ in names$' &&
		! grep -E '#.*(CkAbort|cmi_abort|loop_run)' "$tmp/err"
}
# Else the place in the file, as addr2line takes it.
bare() {
	local at
	at=$(frames bare 1 | sed -n 's/^chard:   #0 \(0x[0-9a-f]*\) in bare$/\1/p')
	[ "$at" ] && addr2line -e "$tmp/shown" "$(printf '%#x' $((at - 1)))" | tee /dev/stderr | grep 'shown.c:205'
}
bare_fault() { frames bare 2 | grep -E '^chard:   #0 0x[0-9a-f]+ in bare$'; }
step "without debug information" names
step "without symbols" bare
step "a fault without symbols" bare_fault
exit $failed
