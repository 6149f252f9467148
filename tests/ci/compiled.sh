#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# compiled.sh: the output of ckci for accept/X.ci compiles without a warning as C and as C++. X.before.h is what a program
# includes before the output, X.own.h its structs.

[ -z "$CKCI" ] || CKCI=$(realpath "$CKCI")
cd "$(dirname "$0")" || exit 1
. ./common.sh

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


translate_all
for ci in accept/*.ci; do
	module=$(basename "$ci" .ci)
	driver "$tmp/$module.list" "$ci" >"$tmp/$module.c"
	check "C: $module" $CC -std=c11 $strict -Wcast-qual $include -c "$tmp/$module.c" -o "$tmp/x.o"
	# Code was made of it already.
	check "C++: $module" $CXX -std=c++17 -x c++ -Wall -Wextra -Werror $include \
		-fsyntax-only "$tmp/$module.c"
done

told
