#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# exports.sh BUILD: libchard.so exports what the installed headers declare: each function and each variable of them,
# nothing else, and all with a version. One line for each fact; exit code 1 if one does not hold.

cd "$(dirname "$0")/.." || exit 1
B=${1:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL

. tests/steps.sh
exported() { # letters of nm
	nm -D --defined-only "$B/libchard.so" | awk -v kinds="$1" 'index(kinds, $2) { sub(/@.*/, "", $3); print $3 }' | sort
}

make -s B="$B" PREFIX=/x DESTDIR="$tmp/there" install >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
headers=$tmp/there/x/include/chard
(cd "$headers" && printf '#include "%s"\n' ./*.h) >"$tmp/all.c"

# -aux-info is gcc's: each function's declaration, with its file.
functions() {
	gcc -std=c11 -I"$headers" -fsyntax-only -aux-info "$tmp/declared" "$tmp/all.c" || return 1
	grep -F "$headers/" "$tmp/declared" | grep ' extern ' |
		sed -E 's/ \([^()]*(\([^()]*\)[^()]*)*\);.*//; s/.*[ *]//' | sort -u >"$tmp/functions"
	[ -s "$tmp/functions" ] && diff "$tmp/functions" <(exported T)
}
# The names in `extern type a, b;`, with their attributes.
variables() {
	gcc -std=c11 -I"$headers" -E -P "$tmp/all.c" | tr '\n' ' ' | sed -E 's/__attribute__ *\(\([^)]*(\([^)]*\))?\)\)//g' |
		grep -o -E 'extern [^;("{]*;' | tr -d '*[];' | awk -F, '
			{ for (i = 1; i <= NF; i++) { n = split($i, word, " "); print word[n] } }' |
		grep -v -x -E 'std(in|out|err)' | sort -u >"$tmp/variables"
	[ -s "$tmp/variables" ] && diff "$tmp/variables" <(exported BDR)
}
versions() {
	! nm -D --defined-only "$B/libchard.so" | awk '$2 != "A" { print $3 }' | grep -v '@@CHARD_0$'
}
soname() { readelf -d "$B/libchard.so" | grep 'SONAME.*\[libchard\.so\.0\]'; }

step "exported functions are the headers'" functions
step "exported variables are the headers'" variables
step "all have the version CHARD_0" versions
step "soname" soname
exit $failed
