#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Tests of ckci. One line per case, a summary, and exit code 1 when a case failed.
#
#   accept/X.ci     accepted; --list prints X.list; the output compiles without a warning as C
#                   and as C++; accept/X.expect/ holds the exact output where it matters, X.note what
#                   ckci says, X.before.h what a program includes before the output, X.own.h its structs
#                   A line `// ckci: --cpp -DX` in any of them gives options
#   refuse/X.ci     refused with exit code 1 and just the text X.err; nothing is written
#
# CKCI=path tests that compiler; otherwise the script builds one, with sanitizers. CC and CXX choose
# compilers. FAIL_FAST=1 ends at the first failure. UPDATE=1 writes the expected files anew: read the difference before believing it.

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

# ---- build ----------------------------------------------------------------------------------

sanitize="-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined"
warn="-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes"
if [ -z "$CKCI" ]; then
	CKCI=$tmp/ckci
	$CC -std=c11 -D_GNU_SOURCE $sanitize $src/*.c -o "$CKCI" || exit 1
	check "build: ckci compiles without a warning" \
		$CC -std=c11 -D_GNU_SOURCE -O2 $warn -Werror $src/*.c -o "$tmp/plain"
fi

# ---- accepted -------------------------------------------------------------------------------

strict="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
include="-I$out -I../../runtime/chare -I../../runtime/direct -Iaccept"

# A C file as users write it, with one struct per chare, from what --list says; the members are
# what the conditions of the .ci file name.
driver() {
	members="int member;$(grep -o 'self->[a-z_]*' "$2" | sort -u | sed 's/self->/ int /; s/$/;/' |
		tr -d '\n')"
	before=$(basename "$2" .ci).before.h
	own=$(basename "$2" .ci).own.h
	[ ! -f "accept/$before" ] || echo "#include \"$before\""
	sed -n 's/^\(main\)\{0,1\}module \(.*\)/#include "\2.decl.h"/p' "$1"
	[ ! -f "accept/$own" ] || echo "#include \"$own\""
	[ -f "accept/$own" ] || sed -n 's/^  \(mainchare\|chare\|array \[.*\]\|group\|nodegroup\) \(.*\)/struct \2 { '"$members"' };/p
		s/^  message \(.*\), .* the program$/struct \1 { '"$members"' };/p' "$1"
	sed -n 's/^\(main\)\{0,1\}module \(.*\)/#include "\2.def.h"/p' "$1"
}

# What a line `// ckci: ...` of the file asks for.
options() { sed -n 's|^// ckci: ||p' "$1"; }

# accepted FILE LIST: ckci says nothing, or what stands in X.note, and --list what is expected
accepted() {
	note=${1%.ci}.note
	[ -f "$note" ] || note=/dev/null
	"$CKCI" -o "$out" $(options "$1") "$1" >"$tmp/said" 2>&1 && expect "$tmp/said" "$note" &&
		"$CKCI" --list $(options "$1") "$1" >"$tmp/$2" 2>/dev/null && expect "$tmp/$2" "accept/$2"
}

for ci in accept/*.ci; do
	check "accept: $(basename "$ci" .ci)" accepted "$ci" "$(basename "$ci" .ci).list"
done

for file in accept/*.expect/*; do
	base=$(basename "$file")
	sed "s|$out/||" "$out/$base" >"$tmp/$base"
	check "output: $base" expect "$tmp/$base" "$file"
done

# ---- refused --------------------------------------------------------------------------------

refused() { # file, expected stderr
	mkdir "$tmp/none"
	"$CKCI" -o "$tmp/none" $(options "$1") "$1" >"$tmp/stdout" 2>"$tmp/stderr"
	code=$?
	written=$(ls "$tmp/none")
	rm -r "$tmp/none"
	echo "exit code $code; written: $written; stdout: $(cat "$tmp/stdout")"
	expect "$tmp/stderr" "$2" && [ $code -eq 1 ] && [ ! -s "$tmp/stdout" ] && [ -z "$written" ]
}

for ci in refuse/*.ci; do
	check "refuse: $(basename "$ci" .ci)" refused "$ci" "${ci%.ci}.err"
done

# large NAME LINE: a file of 400 kB of such lines ends after 20 errors, in time (the limit is 1000 times
# what it takes; when the errors were all counted, the slowest took 20 s).
large() {
	{ printf '%s\n' "$3"; yes "$2"; } | head -c 400000 >"$tmp/large.ci"
	check "large: $1" stopped
}
stopped() {
	(ulimit -t 10 && "$CKCI" -o "$tmp" "$tmp/large.ci" 2>"$tmp/stderr")
	code=$?
	tail -3 "$tmp/stderr"
	echo "exit code $code; $(grep -c ': error: ' "$tmp/stderr") errors"
	[ $code -eq 1 ] && [ "$(grep -c ': error: ' "$tmp/stderr")" -eq 20 ] &&
		[ "$(tail -1 "$tmp/stderr")" = \
			"ckci: $tmp/large.ci: stopped after 20 errors, nothing written" ]
}

inside='module m { group G { entry G();'
large "the same module" 'module m { }'
large "things outside of modules" 'module m }; readonly int x;'
large "the same chare" 'group G { entry G(); };' 'module m {'
large "the same entry method" 'entry void f();' "$inside"
large "entry methods that cannot be" 'entry void f(Foo *m);' "$inside"
large "attributes" 'entry [threaded sync] void f();' "$inside"
large "other members" 'entry f; void g();' "$inside"
large "strings without an end" '" it'"'"'s' 'module m {'
large "parameters" 'int &x, int *y,' "$inside entry void f("
large "templates" 'template <class T> group A { }; template <> group B; group C<D>; x' 'module m {'
large "members of a message" 'int *x; x;' 'module m { message M {'

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
kept() {
	mkdir "$tmp/keep"
	cp "$out/Hello.decl.h" "$tmp/keep/m.decl.h"
	"$CKCI" -o "$tmp/keep" refuse/hyphen_in_entry.ci
	ls "$tmp/keep"
	cmp "$out/Hello.decl.h" "$tmp/keep/m.decl.h" && [ "$(ls "$tmp/keep")" = m.decl.h ]
}
check "output: a refused file leaves old output alone" kept
blocked() {
	mkdir -p "$tmp/blocked/Hello.decl.h"
	"$CKCI" -o "$tmp/blocked" $one 2>"$tmp/stderr"
	code=$?
	cat "$tmp/stderr"
	ls "$tmp/blocked"
	[ $code -eq 1 ] && grep -q 'cannot write .*Hello.decl.h: Is a directory' "$tmp/stderr" &&
		[ "$(ls "$tmp/blocked")" = Hello.decl.h ]
}
check "output: nothing is left when a file cannot be written" blocked

# ---- C and C++ ----------------------------------------------------------------------------------

# Behind what is faster; and a module may include the output of another.
for ci in accept/*.ci; do
	module=$(basename "$ci" .ci)
	driver "$tmp/$module.list" "$ci" >"$tmp/$module.c"
	check "C: $module" $CC -std=c11 $strict -Wcast-qual $include -c "$tmp/$module.c" -o "$tmp/x.o"
	check "C++: $module" $CXX -std=c++17 -x c++ -Wall -Wextra -Werror $include \
		-c "$tmp/$module.c" -o "$tmp/x.o"
done

# ---- #line ------------------------------------------------------------------------------------

# line NAME PATTERN: the compiler reports PATTERN for the program NAME.c
line() {
	check "#line: $1" reported "$tmp/$1.c" "$2"
}
reported() {
	if $CC -std=c11 $include -I"$tmp" -c "$1" -o "$tmp/x.o" 2>"$tmp/stderr"; then
		echo "it compiled"
		return 1
	fi
	cat "$tmp/stderr"
	grep -q "$2" "$tmp/stderr"
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

# place NAME PATTERN TEXT: the same for a program with a module of that text, whose chare A has no member
# that the text names
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
place unknown_index "place.ci:2:.*error: .Unknown. undeclared" \
	'  array [Unknown] A { entry A(); };'
place unknown_target "place.ci:3:.*in expansion of macro .CKGEN_DATATYPE" \
	'  include "wide.h"; group A { entry A();
    entry [reductiontarget] void f(wide w); };'
place unknown_size "place.ci:2:.*error: .SIZE. undeclared" '  readonly int table[SIZE];'
place unknown_length "place.ci:3:.*error: .SIZE. undeclared" \
	'  group A { entry A();
    entry void f(double v[SIZE]); };'
place unknown_message "place.ci:4:.*error: unknown type name .M" \
	'  extern message M;
  group A { entry A();
    entry void f(M *m); };'
place unknown_pup "place.ci:2:.*error: unknown type name .Unknown" \
	'  pup Unknown; group A { entry A(Unknown x); };'
place unknown_answer "place.ci:3:.*error: unknown type name .Unknown" \
	'  group A { entry A();
    entry [sync] Unknown f(); };'
place stack_size "place.ci:3:.*error: .MUCH. undeclared" \
	'  group A { entry A();
    entry [threaded, stacksize=MUCH] void f(); };'

# The compiler finds a body's text where the user wrote it, to the column.
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

# ---- lists of fields ---------------------------------------------------------------------------

# field NAME PATTERN STRUCT [LIST]: A's struct has the fields STRUCT, and pup A the list LIST, its fields a, b, c
# each on a line of its own from line 4 on. The compiler reports PATTERN.
field() {
	printf 'module field {\n  array [1D] A { entry A(); };\n  pup A {\n%s\n  };\n}\n' \
		"${4:-    int a;
    double b;
    char *c;}" >"$tmp/field.ci"
	printf '#include "field.decl.h"\ntypedef int row[2], *handle;\nstruct A { %s };\n#include "field.def.h"\n' "$3" >"$tmp/$1.c"
	"$CKCI" -o "$tmp" "$tmp/field.ci" && line "$1" "$2"
}
field before_the_first "field.ci:4:.*A: a field before .*a.* is missing in .*pup A" 'int x, a; double b; char *c;'
field between "field.ci:5:.*A: a field between .*a.* and .*b.* is missing in .*pup A" \
	'int a; double x, b; char *c;'
field before_a_pointer "field.ci:6:.*A: a field between .*b.* and .*c.* is missing in .*pup A" \
	'int a; double b; int x; char *c;'
field behind_the_last "field.ci:6:.*A: a field behind .*c.* is missing in .*pup A" \
	'int a; double b; char *c; int x;'
field hidden_in_padding "ck_A_has_a_field_that_is_missing_in_pup_A" 'int a; int x; double b; char *c;'
field hidden_in_padding_place "field.ci:[45]:.*error: missing initializer for field" 'int a; short x; short b;' '    int a;
    short b;'
field hidden_at_the_end "field.ci:4:.*error: missing initializer for field" 'double a; char b; char x;' \
	'    double a; char b;'
field swapped "field.ci:5:.*A: .*b.* stands before .*a.* in the struct" 'double b; int a; char *c;'
field unknown "field.ci:6:.*no member named .c" 'int a; double b; char *d;'
field other_number "field.ci:4:.*error: .*incompatible pointer type" 'float a; double b; char *c;'
field unsigned_number "field.ci:4:.*error: pointer targets .* differ in signedness" 'unsigned a; double b; char *c;'
field other_length "field.ci:4:.*error: .*incompatible pointer type" 'int a[3];' '    int a[4];'
field array_for_pointer "field.ci:4:.*error: .*incompatible pointer type" 'int a[4];' '    int *a [4];'
field array_type "field.ci:4:.*A: .*a.* is an array or a pointer behind a typedef" 'row a;' '    row a;'
field pointer_type "field.ci:4:.*A: .*a.* is an array or a pointer behind a typedef" 'handle a;' '    handle a;'
field skipped_array "field.ci:4:.*A: .*a.* is an array; write .*skip a\[\]" 'int a[2];' '    skip a;'
field skipped_number "field.ci:4:.*A: .*a.* is no array; write .*skip a" 'int a;' '    skip a[];'
field count "field.ci:5:.*error: request for member .m" 'int a; int *b;' '    int a;
    int *b [self->a.m];'
printf '#include "field.decl.h"\nstruct A { int a; };\nvoid A_on_arrived(A *self) { (void)self; }\n' >"$tmp/uncalled.c"
line uncalled "uncalled.c:3:.*error: .A_on_arrived. redeclared"

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
		refuse/attribute_values.ci accept/pup_lists.ci refuse/pup_lists.ci refuse/pup_list_grammar.ci
else
	fail "damaged: does not compile"
fi

mkdir "$tmp/names"
program entry_names python3 entry_names.py "$CKCI" "$tmp/names" ../../runtime/chare ../../runtime/direct

echo "ci: $passed passed, $failed failed"
[ $failed -eq 0 ]
