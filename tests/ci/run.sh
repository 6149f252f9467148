#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Tests of ckci. One line per case, a summary, and exit code 1 when a case failed.
#
#   accept/X.ci     accepted; --list prints X.list; the output compiles without a warning as C
#                   and as C++; accept/X.expect/ holds the exact output where it matters
#   refuse/X.ci     refused with exit code 1 and just the text X.err; nothing is written
#
# CKCI=path tests that compiler; else one is built here, with sanitizers. CC and CXX choose
# compilers. UPDATE=1 writes the expected files anew: read the difference before believing it.

cd "$(dirname "$0")" || exit 1
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
}

# expect FILE-WITH-RESULT EXPECTED-FILE: equal, or made so by UPDATE=1
expect() {
	[ -z "$UPDATE" ] || cp "$1" "$2"
	cmp -s "$1" "$2"
}

# ---- build ----------------------------------------------------------------------------------

sanitize="-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined"
warn="-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes"
if [ -z "$CKCI" ]; then
	CKCI=$tmp/ckci
	$CC -std=c11 -D_GNU_SOURCE $sanitize $src/*.c -o "$CKCI" || exit 1
	if log=$($CC -std=c11 -D_GNU_SOURCE -O2 $warn -Werror $src/*.c -o "$tmp/plain" 2>&1); then
		pass "build: ckci compiles without a warning"
	else
		fail "build: ckci compiles without a warning" "$log"
	fi
fi

# ---- accepted -------------------------------------------------------------------------------

strict="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
include="-I$out -I../../runtime/chare -I../../runtime/direct -Iaccept"

# A C file as users write it, with one struct per chare, from what --list says.
driver() {
	sed -n 's/^\(main\)\{0,1\}module \(.*\)/#include "\2.decl.h"/p' "$1"
	sed -n 's/^  \(mainchare\|chare\|array \[.*\]\|group\|nodegroup\) \(.*\)/struct \2 { int n; };/p
		s/^  message \(.*\), packed by the program/struct \1 { int n; };/p' "$1"
	sed -n 's/^\(main\)\{0,1\}module \(.*\)/#include "\2.def.h"/p' "$1"
}

for ci in accept/*.ci; do
	name=$(basename "$ci" .ci)
	if log=$("$CKCI" -o "$out" "$ci" 2>&1) && [ -z "$log" ] &&
	   "$CKCI" --list "$ci" >"$tmp/$name.list" 2>&1 &&
	   expect "$tmp/$name.list" "accept/$name.list"; then
		pass "accept: $name"
	else
		fail "accept: $name" "$log" "$(diff "accept/$name.list" "$tmp/$name.list" 2>&1)"
	fi
done

for ci in accept/*.ci; do
	name=$(basename "$ci" .ci)
	driver "$tmp/$name.list" >"$tmp/$name.c"
	if log=$($CC -std=c11 $strict -Wcast-qual $include -c "$tmp/$name.c" \
		 -o "$tmp/x.o" 2>&1); then
		pass "C: $name"
	else
		fail "C: $name" "$log"
	fi
	if log=$($CXX -std=c++17 -x c++ -Wall -Wextra -Werror $include -c "$tmp/$name.c" \
		 -o "$tmp/x.o" 2>&1); then
		pass "C++: $name"
	else
		fail "C++: $name" "$log"
	fi
done

for dir in accept/*.expect; do
	for file in "$dir"/*; do
		base=$(basename "$file")
		sed "s|$out/||" "$out/$base" >"$tmp/$base"
		if expect "$tmp/$base" "$file"; then
			pass "output: $base"
		else
			fail "output: $base" "$(diff "$file" "$tmp/$base")"
		fi
	done
done

# ---- refused --------------------------------------------------------------------------------

mkdir "$tmp/none"
for ci in refuse/*.ci; do
	name=$(basename "$ci" .ci)
	rm -f "$tmp/none"/*
	"$CKCI" -o "$tmp/none" "$ci" >"$tmp/stdout" 2>"$tmp/stderr"
	code=$?
	if [ $code -eq 1 ] && [ ! -s "$tmp/stdout" ] && [ -z "$(ls "$tmp/none")" ] &&
	   expect "$tmp/stderr" "refuse/$name.err"; then
		pass "refuse: $name"
	else
		fail "refuse: $name (exit code $code)" "$(diff "refuse/$name.err" "$tmp/stderr")"
	fi
done

# ---- the command line -------------------------------------------------------------------------

# run CODE TEXT ARGS...: ckci ARGS ends with CODE and prints TEXT (a shell pattern)
run() {
	want=$1 text=$2
	shift 2
	got=$("$CKCI" "$@" 2>&1)
	code=$?
	case $got in
	$text) [ $code -eq "$want" ] && { pass "command: ckci $*"; return; } ;;
	esac
	fail "command: ckci $*" "exit code $code, not $want; printed:" "$got"
}

one=accept/hello.ci
run 0 'Usage: ckci *--version*' --help
run 0 'ckci (Chard) [0-9]*' --version
run 2 "ckci: no .ci file given; try ckci --help"
run 2 "ckci: unknown option '-x'; try ckci --help" -x $one
run 2 "ckci: unknown option '--lists'; try ckci --help" --lists $one
run 2 "ckci: unknown option '-Mfoo'; try ckci --help" -Mfoo $one
run 2 "ckci: one file at a time, not also '$one'; try ckci --help" $one $one
run 2 "ckci: -o needs a directory; try ckci --help" $one -o
run 1 "ckci: cannot read no-such.ci: No such file or directory" no-such.ci
run 1 "ckci: cannot read accept: Is a directory" accept
run 1 "ckci: -o no-such-dir: No such file or directory" -o no-such-dir $one
run 1 "ckci: -o run.sh: this is no directory" -o run.sh $one
run 0 "Hello.decl.h Hello.def.h: $one" -M $one
run 0 "d/Hello.decl.h d/Hello.def.h: $one" -M -o d $one
run 0 "d/Hello.decl.h d/Hello.def.h: $one" -M -o d/ -- $one
run 0 "leaf.decl.h leaf.def.h middle.decl.h middle.def.h several.decl.h several.def.h: *" \
	-M accept/several_modules.ci
run 1 "*1 error, nothing written" -M refuse/no_module.ci

# What was there stays when the new file is refused, and no temporary file is left.
mkdir "$tmp/keep"
cp "$out/Hello.decl.h" "$tmp/keep/m.decl.h"
"$CKCI" -o "$tmp/keep" refuse/hyphen_in_entry.ci 2>"$tmp/stderr"
if cmp -s "$out/Hello.decl.h" "$tmp/keep/m.decl.h" && [ "$(ls "$tmp/keep")" = m.decl.h ]; then
	pass "output: a refused file leaves old output alone"
else
	fail "output: a refused file leaves old output alone" "$(ls "$tmp/keep")"
fi
mkdir "$tmp/blocked" "$tmp/blocked/Hello.decl.h"
"$CKCI" -o "$tmp/blocked" $one 2>"$tmp/stderr"
if [ $? -eq 1 ] && grep -q 'cannot write .*Hello.decl.h: Is a directory' "$tmp/stderr" &&
   [ "$(ls "$tmp/blocked")" = Hello.decl.h ]; then
	pass "output: nothing is left when a file cannot be written"
else
	fail "output: nothing is left when a file cannot be written" "$(cat "$tmp/stderr")"
fi

# ---- #line ------------------------------------------------------------------------------------

# line NAME PATTERN: compiling the program below reports PATTERN
line() {
	if $CC -std=c11 $include -I"$tmp" -c "$tmp/$1.c" -o "$tmp/x.o" 2>"$tmp/stderr"; then
		fail "#line: $1" "it compiled"
	elif grep -q "$2" "$tmp/stderr"; then
		pass "#line: $1"
	else
		fail "#line: $1" "$(cat "$tmp/stderr")"
	fi
}

printf 'module lost {\n  array [1D] A {\n    entry A();\n    entry void f(int n,\n%s' \
	'      Unknown u);
  };
};
' >"$tmp/lost.ci"
"$CKCI" -o "$tmp" "$tmp/lost.ci"
printf '#include "lost.decl.h"\nstruct A { int x; };\n#include "lost.def.h"\n' \
	>"$tmp/unknown_type.c"
line unknown_type "lost.ci:4:.*error: unknown type name .Unknown"
printf '#include "Hello.decl.h"\nstruct HelloMain { int x; };\n#include "Hello.def.h"\n' \
	>"$tmp/missing_struct.c"
line missing_struct "accept/hello.ci:[0-9]*:.*error: invalid application of .sizeof.*HelloArray"

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

if $CC -std=c11 -D_GNU_SOURCE $sanitize $include test_roundtrip.c -o "$tmp/roundtrip" &&
   $CXX -std=c++17 -x c++ -D_GNU_SOURCE $sanitize $include test_roundtrip.c -o "$tmp/roundtrip++"
then
	program roundtrip "$tmp/roundtrip"
	program roundtrip++ "$tmp/roundtrip++"
else
	fail "roundtrip: does not compile"
fi
if $CC -std=c11 -D_GNU_SOURCE $sanitize -I$src test_damaged.c \
   $(ls $src/*.c | grep -v '/main\.c$') -o "$tmp/damaged"; then
	program damaged "$tmp/damaged" accept/hello.ci accept/types.ci accept/lengths.ci \
		accept/several_modules.ci refuse/no_cascade.ci refuse/later_sdag.ci \
		refuse/messages.ci
else
	fail "damaged: does not compile"
fi

echo "ci: $passed passed, $failed failed"
[ $failed -eq 0 ]
