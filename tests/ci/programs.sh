#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# programs.sh: programs with what ckci has made, by themselves and as C++: they call what it generates, without a runtime.

[ -z "$CKCI" ] || CKCI=$(realpath "$CKCI")
cd "$(dirname "$0")" || exit 1
. ./common.sh

translate_all

# ---- programs ---------------------------------------------------------------------------------

# program NAME COMMAND...: run it and count its lines
program() {
	name=$1
	shift
	"$@" >"$tmp/log" 2>&1
	code=$?
	cat "$tmp/log"
	passed=$((passed + $(grep -c '^ok ' "$tmp/log")))
	failed=$((failed + $(grep -c '^FAIL' "$tmp/log")))
	[ $code -eq 0 ] || grep -q '^FAIL' "$tmp/log" || fail "$name: exit code $code"
}

for test in roundtrip model; do
	if $CC -std=c11 -D_GNU_SOURCE $sanitize $include test_$test.c -o "$tmp/$test" &&
	   $CXX -std=c++17 -x c++ -D_GNU_SOURCE $sanitize $include test_$test.c -o "$tmp/$test++"
	then
		program $test "$tmp/$test"
		program $test++ "$tmp/$test++"
	else
		fail "$test: does not compile"
	fi
done

told
