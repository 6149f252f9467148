#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# slow_saves.sh BUILD PROGRAM SHAPE...: neither a long freeze, nor a slow disk, nor a long restart is what the watchdog ends a job
#	for; its report says what is under way, and in which epoch; and a job that ends meanwhile leaves nothing
set -u
build=$1 program=$2 seconds=60
shift 2
. "$(dirname "$0")/../shapes.sh"
export CK_WATCHDOG=1
says() { # line of stderr
	grep -qxF "chard: $1" "$dir/err" || fail "$shape: no line '$1'"
}
job() {
	run "$shape" "$dir/ck" 1300 >"$dir/out" 2>"$dir/err" || fail "$shape: exit code $?"
	grep -qx 'slow_saves: saved' "$dir/out" || fail "$shape: it was not saved"
	says "PE 0: a checkpoint in $dir/ck is under way: the nodes write their files"
}
for shape in "$@"; do
	rm -rf "$dir/ck"
	job
	grep -q 'this is epoch' "$dir/err" && fail "$shape: an epoch where there is none"
	CK_RESTART=$dir/ck job
	says 'this is epoch 1 of the job, which has gone on from checkpoint 1'
	rm -rf "$dir/ck"
	run "$shape" "$dir/ck" 1 ends >"$dir/out" 2>"$dir/err" || fail "$shape: exit code $?"
	[ -z "$(ls -A "$dir/ck")" ] || fail "$shape: a job that has ended left $(ls -A "$dir/ck")"
done
exit 0
