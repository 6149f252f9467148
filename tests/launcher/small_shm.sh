#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# small_shm.sh CKRUN COMMAND...: the command runs as a job of 64 nodes with a /dev/shm of 1 MB, and as a smaller
# one when /dev/shm is full or can only be read. So it does with UCX between the nodes, which then finds
# another place for its files. Nothing is left in these places. And UCX makes files only where ckrun removes them.
set -u
ckrun=$1
shift
if [ -z "${CHARD_TEST_OWN_SHM:-}" ]; then
	if ! unshare --mount mount -t tmpfs tmpfs /dev/shm 2>/dev/null; then
		echo "skip  a small /dev/shm: no right to mount one"
		exit 77
	fi
	CHARD_TEST_OWN_SHM=1 exec unshare --mount "$0" "$ckrun" "$@"
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mount -t tmpfs -o size=1m tmpfs /dev/shm || exit 1
mkdir "$dir/elsewhere"
export TMPDIR=$dir/elsewhere
failed=0

fact() { # what, number of nodes, command
	local what=$1 n=$2
	shift 2
	if "$ckrun" -n "$n" "$@" >"$dir/out" 2>"$dir/err" && [ ! -s "$dir/err" ] &&
		[ -z "$(ls /dev/shm "$TMPDIR" | grep -v -e '^full$' -e : -e '^$')" ]; then
		echo "ok    $what"
	else
		echo "FAIL  $what"
		head -5 "$dir/err"
		ls -A /dev/shm "$TMPDIR"
		failed=1
	fi
}

transports() { # command
	"$@" >"$dir/out" 2>&1 && grep -q 'UCX *INFO *ep_cfg' "$dir/out"
}
told() { # what, whether it is so
	if [ "$2" = 0 ]; then
		echo "ok    $1"
	else
		echo "FAIL  $1"
		head -5 "$dir/out"
		failed=1
	fi
}

export UCX_LOG_LEVEL=info
CK_SHARE=0 transports "$ckrun" -n 2 "$@" && grep -q posix/memory "$dir/out"
told "UCX shares memory where ckrun has made a folder for its files" $?
transports "$ckrun" -n 2 sh -c 'CK_SHARE=0 exec "$@"' sh "$@" && ! grep -q posix/memory "$dir/out"
told "it makes no files where ckrun did not expect any" $?
unset UCX_LOG_LEVEL
fact "64 nodes in 1 MB" 64 "$@"
CK_SHARE=0 fact "8 nodes in 1 MB, over UCX" 8 "$@"
dd if=/dev/zero of=/dev/shm/full bs=64k 2>/dev/null
fact "16 nodes, no room at all" 16 "$@"
CK_SHARE=0 fact "2 nodes, no room at all, over UCX" 2 "$@"
mount -o remount,ro /dev/shm || exit 1
fact "16 nodes, read-only" 16 "$@"
# The folder's place may be read-only with room in it.
umount /dev/shm && mount -t tmpfs -o ro tmpfs /dev/shm || exit 1
CK_SHARE=0 fact "2 nodes, read-only, over UCX" 2 "$@"
exit $failed
