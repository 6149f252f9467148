#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# footprint.sh [--smoke] [BUILD]: how much memory one PE of examples/stencil touches while it iterates,
# by messages and by channels, for few large blocks and for many small ones. What is more than the
# caches hold comes from memory again in every iteration.
#
# The kernel counts: the marks of the pages of one node are cleared (/proc/PID/clear_refs) while it
# iterates, and those it has touched half a second later are added up (smaps, Referenced). So
# memory counts by pages, and what a PE writes for the other one counts for both. Where perf can count
# cache misses (not in most virtual machines), they are printed, too.
#
# Prints `name parameter value unit`, the parameter being the blocks per PE of a domain of 64x64x64:
#	footprint-msg, footprint-direct     kB
#	misses-msg, misses-direct           1/ms    of the last level cache
set -u
cd "$(dirname "$0")/.." || exit 1
wait_s=0.5
[ "${1:-}" = --smoke ] && wait_s=0.05 && shift
B=${1:-build}
[ -w /proc/self/clear_refs ] && [ -r "/proc/self/task/$$/children" ] || {
	echo "footprint: this system does not tell which pages a process touches" >&2
	exit 0
}

# The kB that process $1 touches in wait_s.
touched() {
	echo 1 >"/proc/$1/clear_refs" || return 1
	sleep $wait_s
	awk '/^Referenced:/ { kb += $2 } END { print kb }' "/proc/$1/smaps"
}

misses() {
	perf stat -x, -e cache-misses -p "$1" sleep $wait_s 2>&1 |
		awk -F, -v s=$wait_s '$1 ~ /^[0-9]+$/ { printf "%.0f\n", $1 / s / 1000; exit }'
}

one() { # mode, blocks per PE, chares
	"$B/bin/ckrun" -n 2 "$B/examples/stencil/stencil" --mode "$1" --domain 64x64x64 \
		--chares "$3" --iters 100000 --no-verify --quiet >/dev/null 2>&1 &
	ckrun=$!
	node= tries=0
	while [ -z "$node" ] && [ $((tries += 1)) -lt 100 ]; do
		sleep 0.05
		read -r node rest <"/proc/$ckrun/task/$ckrun/children"
	done
	[ "$node" ] || return 1
	sleep $wait_s # set-up and the first iterations
	kb=$(touched "$node") && echo "footprint-$1 $2 $kb kB" || failed=1
	n=$(misses "$node" 2>/dev/null)
	[ "$n" ] && echo "misses-$1 $2 $n 1/ms"
	kill -TERM $ckrun
	wait $ckrun 2>/dev/null
	return 0
}

failed=0
for size in "64 8x4x4" "512 16x8x8" "2048 16x16x16"; do
	for mode in msg direct; do
		one $mode ${size% *} ${size#* } || failed=1
	done
done
exit $failed
