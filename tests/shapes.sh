# SPDX-License-Identifier: Apache-2.0
#
# shapes.sh: for scripts that run $program of $build in a shape (2x3: nodes x PEs of a node; 5/2: 5 PEs, 2 of each node
# but the last), with files in $dir, for at most $seconds; $launch has more options of ckrun

dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT

run() { # shape, arguments of the program
	local pes ppn
	case $1 in
	*x*) ppn=${1#*x} pes=$((${1%x*} * ${1#*x})) ;;
	*/*) ppn=${1#*/} pes=${1%/*} ;;
	esac
	shift
	"$build/bin/ckrun" ${launch-} --timeout "$seconds" -n "$pes" --ppn "$ppn" "$program" "$@"
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
