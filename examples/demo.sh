#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh BUILD: run hello, stencil and matmul on 2 PEs, by messages and by channels, and print
# one table. `make demo` calls it after building. Exit code 0 only if every answer is right.
set -u
B=$1
run() { "$B/bin/ckrun" --timeout 300 "$@"; }
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT INT TERM
failed=0

echo
echo "hello: a ring of 6 chares on 2 PEs (2 processes)"
run -n 2 "$B/examples/hello/hello" 6 || failed=1

# value LINE-PREFIX: the last word of the line in the log that begins so.
value() { awk -v p="$1 " 'index($0, p) == 1 { v = $NF } END { print v }' "$log"; }

row() { # title, program name, shape, arguments...
	title=$1 name=$2 shape=$3
	shift 3
	# shellcheck disable=SC2086
	if ! run $shape "$B/examples/$name/$name" "$@" >"$log" 2>&1; then
		cat "$log" >&2
		failed=1
	fi
	printf '%-44s %12s %12s %8s%%  %s\n' "$title" "$(value "$name msg iter_us")" \
		"$(value "$name direct iter_us")" "$(value "$name gain_percent")" \
		"$(value "$name verified")"
}

echo
printf '%-44s %12s %12s %9s  %s\n' "microseconds per iteration, 2 PEs" messages channels gain verified
for shape in "-n 2" "-n 2 --ppn 2"; do
	case $shape in
	*ppn*) where="1 process" ;;
	*) where="2 processes" ;;
	esac
	row "stencil 64^3, 2 chares, $where" stencil "$shape" --mode both \
		--domain 64x64x64 --chares 2x1x1 --iters 200 --repeat 5
	row "stencil 64^3, 16 chares, $where" stencil "$shape" --mode both \
		--domain 64x64x64 --chares 4x2x2 --iters 200 --repeat 5
	row "stencil 64^3, 128 chares, $where" stencil "$shape" --mode both \
		--domain 64x64x64 --chares 8x4x4 --iters 100 --repeat 5
	row "matmul 512, 8 chares, $where" matmul "$shape" --mode both --n 512 --p 2 \
		--iters 10 --repeat 5
	row "matmul 256, 64 chares, $where" matmul "$shape" --mode both --n 256 --p 4 \
		--iters 20 --repeat 5
done
echo
[ $failed = 0 ] && echo "all answers are right" || echo "demo: something went wrong, see above" >&2
exit $failed
