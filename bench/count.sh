# SPDX-License-Identifier: Apache-2.0
#
# count.sh: how instructions.sh and steps.sh count, which read it with `.`. Each series of such a program begins with
# a function that is not inlined, before which valgrind writes down what it has counted since the one before.

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

count() { # valgrind's options, program, arguments
	valgrind --tool=callgrind --callgrind-out-file="$dir/count" "$@" >"$dir/out" 2>&1 ||
		{ tail -5 "$dir/out" >&2; exit 1; }
}

# One line for each part in its order: before what it ended, and what it cost.
parts() {
	part=1
	while [ -f "$dir/count.$part" ]; do
		awk '/^desc: Trigger:/ { sub(/.*=/, ""); trigger = $0 } /^summary:/ { cost = $2 }
			END { print trigger, cost }' "$dir/count.$part"
		part=$((part + 1))
	done
}

# The parts as results: RULES, in awk, give each part its name, the first time that it has one. There must be N names;
# each part is of CALLS calls.
results() { # RULES N CALLS
	parts | awk -v n="$3" -v names="$2" '{ name = "" } '"$1"'
		name && !(name in seen) {
			seen[name] = 1
			count++
			printf "%s 0 %.1f instructions\n", name, $2 / n
		}
		END { exit count != names }'
}
