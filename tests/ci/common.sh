# SPDX-License-Identifier: Apache-2.0
#
# common.sh: read by the tests of ckci ("." from their folder). Each of them prints one line per case and a summary; its
# exit code is 1 when a case failed.
#
# CKCI=path tests that compiler; otherwise each script builds one, with sanitizers. CC and CXX choose compilers.
# FAIL_FAST=1 ends at the first failure. UPDATE=1 writes the expected files anew: read the difference before believing it.

CC=${CC:-gcc}
CXX=${CXX:-g++}
src=../../ci-compiler
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT INT TERM
out=$tmp/out
mkdir "$out"
passed=0
failed=0

pass() { passed=$((passed + 1)); echo "ok     $1"; }
fail() {
	failed=$((failed + 1))
	echo "FAIL   $1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | head -20
	[ -z "$FAIL_FAST" ] || exit 1
}

# check NAME COMMAND...: the command ends with 0; what it prints is shown if not
check() {
	name=$1
	shift
	if log=$("$@" 2>&1); then pass "$name"; else fail "$name" "$log"; fi
}

# expect RESULT EXPECTED-FILE: equal, or made so by UPDATE=1
expect() {
	[ -z "$UPDATE" ] || cp "$1" "$2"
	diff "$2" "$1"
}


told() {
	echo "ci: $passed passed, $failed failed"
	[ $failed -eq 0 ]
}

# Without optimization: with it the compiler takes three times as long, far more than the programs then save.
sanitize="-g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined"
if [ -z "$CKCI" ]; then
	CKCI=$tmp/ckci
	$CC -std=c11 -D_GNU_SOURCE $sanitize $src/*.c -o "$CKCI" || exit 1
fi

strict="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
include="-I$out -I../../runtime/chare -I../../runtime/direct -Iaccept"

# What a line `// ckci: ...` of the file asks for.
options() { sed -n 's|^// ckci: ||p' "$1"; }

# accepted FILE LIST: ckci says nothing, or what stands in X.note, and --list what is expected
accepted() {
	note=${1%.ci}.note
	[ -f "$note" ] || note=/dev/null
	"$CKCI" -o "$out" $(options "$1") "$1" >"$tmp/said" 2>&1 && expect "$tmp/said" "$note" &&
		"$CKCI" --list $(options "$1") "$1" >"$tmp/$2" 2>/dev/null && expect "$tmp/$2" "accept/$2"
}

# The output of all that is accepted; a module may include that of another.
translate_all() {
	for ci in accept/*.ci; do
		accepted "$ci" "$(basename "$ci" .ci).list" >/dev/null
	done
}
