# SPDX-License-Identifier: Apache-2.0
#
# shapes.sh: for scripts that run $program of $build in a shape (nodes x PEs of a node),
# with files in $dir, for at most $seconds

dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT

run() { # shape, arguments of the program
	local nodes=${1%x*} ppn=${1#*x}
	shift
	"$build/bin/ckrun" --timeout "$seconds" -n $((nodes * ppn)) --ppn "$ppn" "$program" "$@"
}
fail() {
	echo "$*; it printed:"
	cat "$dir"/out "$dir"/err 2>/dev/null
	exit 1
}
# The shapes before "--" go into `from`, those behind it into `to`.
read_shapes() {
	from=()
	while [ "$1" != -- ]; do
		from+=("$1")
		shift
	done
	shift
	to=("$@")
}
