#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh BUILD: run hello, heat1d, particles, stencil and matmul on 2 PEs, kill a process of particles, which goes on from a
# checkpoint, and print one table that compares messages with channels, from coarse grains to fine ones. `make demo` calls it after building. Exit
# code 0 only if every run ended well and every answer is right.
set -u
B=$1
rounds=5
failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
log=$dir/log times=$dir/times
run() { "$B/bin/ckrun" --timeout 300 "$@"; }

echo
echo "hello: a ring of 6 chares on 2 PEs (2 processes)"
run -n 2 "$B/examples/hello/hello" 6 || failed=1
echo
echo "heat1d: the smallest program with channels"
run -n 2 "$B/examples/heat1d/heat1d" --cells 100 || failed=1
echo
echo "particles: cells that move to another process or stay there, every 5 steps"
run -n 2 "$B/examples/particles/particles" --particles 5000 --steps 100 --move 5 || failed=1
echo
echo "particles that are saved as they run (CK_CHECKPOINT), and a process that is killed (kill -9)"
"$(dirname "$0")/survive.sh" "$B" particles --particles 20000 --move 0 --lb 5 --steps || failed=1

# Program, what the table calls the row, transfers in an iteration, arguments; separated by tabs.
# Of each program from the coarsest grain to the finest.
cat >"$dir/rows" <<'END'
stencil	64x64x64, 1 block of 32x64x64 a PE	2	--domain 64x64x64 --chares 2x1x1 --iters 200
stencil	64x64x64, 8 blocks of 16x32x32 a PE	56	--domain 64x64x64 --chares 4x2x2 --iters 200
stencil	64x64x64, 64 blocks of 8x16x16 a PE	608	--domain 64x64x64 --chares 8x4x4 --iters 100
stencil	32x32x32, 64 blocks of 4x8x8 a PE	608	--domain 32x32x32 --chares 8x4x4 --iters 400
matmul	512, slices of 256 kB	24	--n 512 --p 2 --iters 10
matmul	256, slices of 8 kB	576	--n 256 --p 4 --iters 20
matmul	32, slices of 128 bytes	576	--n 32 --p 4 --iters 500 --map spread --sync barrier
END

# of NAME LINE: the last word of the line in the log that begins so.
of() { awk -v p="$1 $2 " 'index($0, p) == 1 { v = $NF } END { print v }' "$log"; }

# A run has three timed turns of each mode, and all rows take turns, so that whatever else the machine
# does meanwhile falls on all of them.
measure() { # where, ckrun's options, program, row, transfers, arguments
	where=$1 shape=$2 name=$3 title=$4 transfers=$5
	# shellcheck disable=SC2086
	run $shape "$B/examples/$name/$name" --mode both --repeat 3 --verify $6 >"$log" 2>&1 </dev/null
	code=$?
	answer=$(of "$name" verified)
	if [ $code != 0 ] || [ "$answer" != yes ]; then
		echo "demo: $name $6: exit code $code" >&2
		cat "$log" >&2
		failed=1
	fi
	printf '%s\t%s %s\t%s\t%s\t%s\t%s\n' "$where" "$name" "$title" "$transfers" \
		"$(of "$name" "msg iter_us")" "$(of "$name" "direct iter_us")" "$answer" >>"$times"
}

tab=$(printf '\t')
round=0
while [ $round -lt $rounds ]; do
	round=$((round + 1))
	for shape in "-n 2" "-n 2 --ppn 2"; do
		case $shape in
		*ppn*) where="one process with two threads" ;;
		*) where="two processes" ;;
		esac
		while IFS=$tab read -r name title transfers arguments; do
			measure "$where" "$shape" "$name" "$title" "$transfers" "$arguments"
		done <"$dir/rows"
	done
done

echo
echo "Messages and channels on 2 PEs: microseconds of an iteration, medians of $rounds runs in turn."
echo "\"Each\" is the time of both PEs by messages, divided by the transfers of an iteration."
awk -F '\t' '
function median(list, n, v, i, j, x) {
	n = split(list, v, " ")
	for (i = 2; i <= n; i++) {
		x = v[i] + 0
		for (j = i; j > 1 && v[j - 1] + 0 > x; j--) v[j] = v[j - 1]
		v[j] = x
	}
	return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}
{
	key = $1 FS $2
	if (!(key in transfers)) order[++n] = key
	transfers[key] = $3
	messages[key] = messages[key] " " $4
	channels[key] = channels[key] " " $5
	if ($6 != "yes") wrong[key] = 1
}
END {
	for (i = 1; i <= n; i++) {
		key = order[i]
		split(key, part, FS)
		if (part[1] != where) {
			where = part[1]
			printf "\n%-46s %10s %10s %6s %9s  %s\n", where, "messages", "channels", "gain",
				"each", "answer"
		}
		m = median(messages[key])
		c = median(channels[key])
		printf "%-46s %10.1f %10.1f %5.0f%% %9.2f  %s\n", part[2], m, c,
			m ? (m - c) / m * 100 : 0, m * 2 / transfers[key],
			key in wrong ? "WRONG" : "right"
	}
}' "$times"
cat <<'END'

The gain depends on the work per transfer: a channel saves some tens of nanoseconds, which is much of a fifth of a
microsecond and nothing of a hundred microseconds.
END
echo
[ $failed = 0 ] && echo "all answers are right" || echo "demo: something went wrong, see above" >&2
exit $failed
