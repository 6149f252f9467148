#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Tests of ckci. One line per case, a summary, and exit code 1 when a case failed.
#
#   accept/X.ci     accepted; --list prints X.list; the output compiles without a warning as C
#                   and as C++; accept/X.expect/ holds the exact output where it matters
#                   A line `// ckci: --cpp -DX` in any of them gives options
#   refuse/X.ci     refused with exit code 1 and just the text X.err; nothing is written
#
# CKCI=path tests that compiler; else one is built here, with sanitizers. CC and CXX choose
# compilers. UPDATE=1 writes the expected files anew: read the difference before believing it.

[ -z "$CKCI" ] || CKCI=$(realpath "$CKCI")
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

# A C file as users write it, with one struct per chare, from what --list says; the members are
# what the conditions of the .ci file name.
driver() {
	members="int member;$(grep -o 'self->[a-z_]*' "$2" | sort -u | sed 's/self->/ int /; s/$/;/' |
		tr -d '\n')"
	sed -n 's/^\(main\)\{0,1\}module \(.*\)/#include "\2.decl.h"/p' "$1"
	sed -n 's/^  \(mainchare\|chare\|array \[.*\]\|group\|nodegroup\) \(.*\)/struct \2 { '"$members"' };/p
		s/^  message \(.*\), packed by the program/struct \1 { '"$members"' };/p' "$1"
	sed -n 's/^\(main\)\{0,1\}module \(.*\)/#include "\2.def.h"/p' "$1"
}

# What a line `// ckci: ...` of the file asks for.
options() { sed -n 's|^// ckci: ||p' "$1"; }

for ci in accept/*.ci; do
	name=$(basename "$ci" .ci)
	if log=$("$CKCI" -o "$out" $(options "$ci") "$ci" 2>&1) && [ -z "$log" ] &&
	   "$CKCI" --list $(options "$ci") "$ci" >"$tmp/$name.list" 2>&1 &&
	   expect "$tmp/$name.list" "accept/$name.list"; then
		pass "accept: $name"
	else
		fail "accept: $name" "$log" "$(diff "accept/$name.list" "$tmp/$name.list" 2>&1)"
	fi
done

for ci in accept/*.ci; do
	name=$(basename "$ci" .ci)
	driver "$tmp/$name.list" "$ci" >"$tmp/$name.c"
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
	"$CKCI" -o "$tmp/none" $(options "$ci") "$ci" >"$tmp/stdout" 2>"$tmp/stderr"
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
run 2 "ckci: only with --cpp: '-DX'; try ckci --help" -DX $one
run 2 "ckci: unknown option '-Z'; try ckci --help" --cpp -Z $one
run 1 "ckci: cannot read no-such.ci: No such file or directory" no-such.ci
run 1 "ckci: cannot read no-such.ci: No such file or directory" --cpp no-such.ci
run 1 "*ckci: refuse/preprocessor.ci: the preprocessor failed, nothing written" \
	--cpp -DFAIL refuse/preprocessor.ci
run 1 "ckci: cannot read accept: Is a directory" accept
run 1 "ckci: -o no-such-dir: No such file or directory" -o no-such-dir $one
run 1 "ckci: -o run.sh: this is no directory" -o run.sh $one
run 0 "Hello.decl.h Hello.def.h: $one" -M $one
run 0 "d/Hello.decl.h d/Hello.def.h: $one" -M -o d $one
run 0 "d/Hello.decl.h d/Hello.def.h: $one" -M -o d/ -- $one
run 0 "leaf.decl.h leaf.def.h middle.decl.h middle.def.h several.decl.h several.def.h: *" \
	-M accept/several_modules.ci
run 0 "preprocessed.decl.h preprocessed.def.h: accept/cpp.ci *accept/cpp_part.h" \
	-M --cpp -D ROWS=3 -D WITH_GROUP -Iaccept accept/cpp.ci
real_cc=$CC CC=false
export CC
run 1 "ckci: $one: the preprocessor failed, nothing written" --cpp $one
CC=$real_cc
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

printf 'typedef struct wide { long a, b; } wide;\n' >"$tmp/wide.h"
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

# place NAME PATTERN MODULE-TEXT: a module `place` with a chare A, whose struct has no members
place() {
	printf 'module place {\n%s\n}\n' "$3" >"$tmp/place.ci"
	printf '#include "place.decl.h"\nstruct A { int x; };\n#include "place.def.h"\n' \
		>"$tmp/$1.c"
	"$CKCI" -o "$tmp" "$tmp/place.ci" && line "$1" "$2"
}
place condition "place.ci:4:.*error: .*no member named .iter" '  array [1D] A {
    entry A();
    entry [when(n > 0 && n == self->iter)] void f(int n); };'
place wide_index "place.ci:3:.*error: static assertion failed: .*array A has more than 12" \
	'  include "wide.h";
  array [wide] A { entry A(); };'
place unknown_pup "place.ci:2:.*error: unknown type name .Unknown" \
	'  pup Unknown; group A { entry A(Unknown x); };'
place unknown_answer "place.ci:3:.*error: unknown type name .Unknown" \
	'  group A { entry A();
    entry [sync] Unknown f(); };'
place stack_size "place.ci:3:.*error: .MUCH. undeclared" \
	'  group A { entry A();
    entry [threaded, stacksize=MUCH] void f(); };'

# A body's text stands where the user wrote it, to the column.
place serial_code "place.ci:5:34: error: .*no member named .y" \
	'  group A { entry A();
    entry void f() {
      serial { self->x = 0; // one
           /* two */ int z = self->y; (void)z; } }; };'
place when_number "place.ci:3:33: error: .*no member named .iter" \
	'  group A { entry A();
    entry void f() { when g[self->iter](int n) { } }; };'
place for_head "place.ci:4:14: error: .i. undeclared" \
	'  group A { entry A();
    entry void f() {
        for (i = 0; i < 3; i++) serial { self->x++; } } };'
place overlap_constant "place.ci:3:[0-9]*: error: increment of read-only variable .k" \
	'  group A { entry A();
    entry void f(int k) { overlap { { when g() {} when h() serial { k++; } } } } };'
place no_handler "place.ci:2:.*error: unknown type name .Unknown" \
	'  group A { entry A(); entry void f() { when g(Unknown u) {} } };'

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
if $CC -std=c11 -D_GNU_SOURCE $sanitize -I$src test_damaged.c \
   $(ls $src/*.c | grep -v '/main\.c$') -o "$tmp/damaged"; then
	program damaged "$tmp/damaged" accept/hello.ci accept/types.ci accept/lengths.ci \
		accept/several_modules.ci accept/compact.ci accept/when.ci accept/cpp.i \
		refuse/no_cascade.ci accept/sdag.ci accept/sdag_text.ci refuse/messages.ci \
		refuse/attribute_values.ci
else
	fail "damaged: does not compile"
fi

echo "ci: $passed passed, $failed failed"
[ $failed -eq 0 ]
