#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cxx_frames.sh BUILD: back-traces name functions of C++ as their source does, with and without debug information, and of a
# program in C they load no library of C++. One line for each fact; exit code 1 if one does not hold.
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${1:-build}") || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CPPFLAGS CK_BACKTRACE
export PKG_CONFIG_PATH=$B

. tests/steps.sh
if ! command -v c++ >/dev/null || ! ldconfig -p | grep -q 'libdw[.]so[.]1' || [ ! -e /usr/include/elfutils/libdwfl.h ]; then
	echo "skip names of C++ in back-traces: there is no c++, or no libdw"
	exit 77
fi
cd "$tmp" || exit 1
cat >cxx.ci <<'end'
mainmodule cxx { mainchare Main { entry Main(CkArgMsg *m); }; }
end
cat >cxx.c <<'end'
#include "ck.h"
#include "cxx.decl.h"
struct Main { int unused; };
void cxx_fail(int n);
void Main_on_new(Main *self, CkArgMsg *m) { (void)self; cxx_fail(m->argc); }
#include "cxx.def.h"
end
cat >grid.cc <<'end'
#include <cstdlib>
namespace grid {
struct Block { int unused; void step(int n); };
__attribute__((noinline)) void Block::step(int n) { if (n) std::abort(); unused = n; }
}
extern "C" void cxx_fail(int n) { grid::Block block; block.step(n); std::exit(block.unused); }
end
built() { # options for the C++ compiler
	# shellcheck disable=SC2046 # words
	"$B/bin/ckci" cxx.ci && cc -std=gnu11 -c cxx.c $(pkg-config --cflags chard) && c++ "$@" -O1 -c grid.cc &&
		c++ -o cxx cxx.o grid.o $(pkg-config --libs chard)
}
named() { # what the line says
	./cxx 2>err
	grep -q "^chard:   #[0-9]* $1\$" err || { cat err; return 1; }
}
step "a program with debug information" built -g
step "its functions have their class, with file and line" named 'grid::Block::step(int) at .*grid.cc:4'
step "a program without it" built -g0
step "its functions have their class" named 'grid::Block::step(int)+0x[0-9a-f]* in cxx'
no_cxx() {
	LD_DEBUG=files "$B/tests/programs/misuse" all-fail 2>err
	grep -q 'libdw.so.1' err && ! grep -q 'libstdc++' err
}
step "a program in C loads no library of C++" no_cxx
exit $failed
