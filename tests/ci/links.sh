#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# links.sh BUILD: what a beginner reads whose program lacks a piece: the include of x.def.h, the `main` of mainmodule,
# pkg-config's file. One line for each fact; exit code 1 if one does not hold.
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${1:-build}") || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CPPFLAGS
export PKG_CONFIG_PATH=$B LC_ALL=C

. tests/steps.sh
cp examples/hello/hello.ci "$tmp" && grep -v 'hello.def.h' examples/hello/hello.c >"$tmp/without.c" &&
	cp examples/hello/hello.c "$tmp" && cd "$tmp" || exit 1
links() { # source
	"$B/bin/ckci" hello.ci || return 2
	# shellcheck disable=SC2046 # words
	cc -std=gnu11 "$1" -o hello $(pkg-config --cflags --libs chard) >ld 2>&1
}
lacks() { # source, the name in the last line before the compiler's own
	! links "$1" && cat ld && grep undefined ld | tail -1 | grep -E "undefined reference to .$2'"
}
instead() { sed -i s/^mainmodule/module/ hello.ci; }
both() { grep "undefined reference to .main'" ld; }
# The Makefile of GUIDE.md.
without_chard() {
	printf 'include $(or $(shell pkg-config --variable=makefragment chard),%s)\n' \
		'$(error pkg-config does not find chard.pc; set PKG_CONFIG_PATH to its folder)' >Makefile &&
		grep -F -f Makefile "$OLDPWD/docs/GUIDE.md" && ! PKG_CONFIG_PATH=/nowhere make >out 2>&1 &&
		tail -1 out | grep -F 'Makefile:1: *** pkg-config does not find chard.pc; set PKG_CONFIG_PATH to its folder.  Stop.'
}
step "the whole program" links hello.c
step "without hello.def.h" lacks without.c hello_def_h_is_included_in_no_file
instead
step "module instead of mainmodule" lacks hello.c ck_no_module_of_the_program_is_a_mainmodule
step "and main is missing" both
step "make where pkg-config does not find Chard" without_chard
exit $failed
