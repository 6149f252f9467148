#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# headers.sh: every header that programs see compiles alone, as C11 and as C++17, without a warning of -Wall -Wextra
# -pedantic, by each compiler that is here; so does cmi.h, for a layer above the machine that is written in C++. And
# what ckci prints, with all of them together in one file of C++. One line for each header and language.

cd "$(dirname "$0")/.." || exit 1
CKCI=${CKCI:-build/bin/ckci}

. tests/steps.sh

# The Makefile says which headers are installed.
read -ra public <<<"$(sed -n 's/^PUBLIC *:= *//p' Makefile)"
headers=(runtime/machine/cmi.h)
for h in "${public[@]}"; do
	headers+=("$(find runtime -name "$h")")
done
[ ${#headers[@]} -ge 8 ] || { echo "FAIL the Makefile's PUBLIC names ${#headers[@]} headers"; exit 1; }

# Twice, because a header may be included twice.
alone() { # header, compiler, options...
	local header=$1
	shift
	printf '#include "%s"\n#include "%s"\nextern int x;\n' "$header" "$header" | "$@" -Wall -Wextra -pedantic -Werror -I. \
		-fsyntax-only -
}
for pair in gcc,g++ clang,clang++; do
	cc=${pair%,*} cxx=${pair#*,}
	if ! command -v "$cc" >/dev/null || ! command -v "$cxx" >/dev/null; then
		echo "skip headers by $cc: it is not installed"
		continue
	fi
	for h in "${headers[@]}"; do
		step "$cc, C11: ${h##*/}" alone "$h" "$cc" -std=c11 -x c
		step "$cxx, C++17: ${h##*/}" alone "$h" "$cxx" -std=c++17 -x c++
	done
	mkdir -p "$tmp/$cc"
	$CKCI -o "$tmp/$cc" examples/hello/hello.ci || failed=1
	{
		printf '#include "%s"\n' "${headers[@]}"
		echo '#include "hello.decl.h"'
		sed '/include/d' examples/hello/hello.c
		echo '#include "hello.def.h"'
	} >"$tmp/$cc/hello.cc"
	step "$cxx, C++17: all of them, and what ckci prints" "$cxx" -std=c++17 -Wall -Wextra -Werror -I. -Iruntime/chare \
		-Iruntime/direct -I"$tmp/$cc" -include cstdlib -fsyntax-only "$tmp/$cc/hello.cc"
done
exit $failed
