#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# texts.sh: what ckci accepts and refuses, its output, its command line; common.sh has the rest.
#
#   accept/X.ci     accepted; --list prints X.list; accept/X.expect/ holds the exact output where it matters, X.note what
#                   ckci says. A line `// ckci: --cpp -DX` in any of them gives options
#   refuse/X.ci     refused with exit code 1 and just the text X.err; nothing is written

[ -z "$CKCI" ] || CKCI=$(realpath "$CKCI")
cd "$(dirname "$0")" || exit 1
. ./common.sh

warn="-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes"
[ "$CKCI" != "$tmp/ckci" ] || check "build: ckci compiles without a warning" \
	$CC -std=c11 -D_GNU_SOURCE -O2 $warn -Werror $src/*.c -o "$tmp/plain"

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
run 2 "ckci: only one file at a time, not also '$one'; try ckci --help" $one $one
run 2 "ckci: -o needs a directory; try ckci --help" $one -o
run 2 "ckci: allowed only with --cpp: '-DX'; try ckci --help" -DX $one
run 2 "ckci: unknown option '-Z'; try ckci --help" --cpp -Z $one
run 1 "ckci: cannot read no-such.ci: No such file or directory" no-such.ci
run 1 "ckci: cannot read no-such.ci: No such file or directory" --cpp no-such.ci
run 1 "*ckci: refuse/preprocessor.ci: the preprocessor failed, nothing written" \
	--cpp -DFAIL refuse/preprocessor.ci
run 1 "ckci: cannot read accept: Is a directory" accept
run 1 "ckci: -o no-such-dir: No such file or directory" -o no-such-dir $one
run 1 "ckci: -o texts.sh: not a directory" -o texts.sh $one
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

told
