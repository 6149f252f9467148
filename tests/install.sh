#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh BUILD: what `make install` puts somewhere is all that a program needs: hello is built
# with the make fragment, against the shared and the static library, by hand as README.md has it, and
# run; the headers are read by a C++ compiler. Then `make uninstall` leaves no file. The same with the
# libraries where they were built, which PKG_CONFIG_PATH=BUILD finds. One line for each; exit code 1
# if one failed.

cd "$(dirname "$0")/.." || exit 1
B=${1:-build} top=$PWD
here=$(realpath "$B") || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
failed=0

step() { # name, command...
	local name=$1
	shift
	if "$@" >"$tmp/log" 2>&1; then
		echo "ok $name"
	else
		echo "FAIL $name"
		tail -20 "$tmp/log"
		failed=1
	fi
}
greets() { # command: runs hello
	"$@" >"$tmp/out" && [ "$(grep -c '^Hello World' "$tmp/out")" = 6 ]
}
installed() { make -s B="$B" PREFIX="$tmp/there" "$1"; }

# README.md's Makefile, word for word.
mkdir "$tmp/mine" && cp examples/hello/hello.c examples/hello/hello.ci "$tmp/mine" || exit 1
awk '/^```make$/ { on = 1; next } /^```/ { on = 0 } on' README.md >"$tmp/mine/Makefile"
export PKG_CONFIG_PATH=$tmp/there/lib/pkgconfig LD_LIBRARY_PATH=$tmp/there/lib

step "make install" installed install
cd "$tmp/mine" || exit 1
step "make, with the fragment" make
step "hello" greets ./hello 6 +p 2
step "ckrun hello" greets "$tmp/there/bin/ckrun" -n 2 ./hello 6
clean_slate() { rm -f hello hello.o hello.decl.h hello.def.h; }
clean_slate
step "make, static" make CHARD_STATIC=1
step "hello, static" env -u LD_LIBRARY_PATH ./hello 6
clean_slate
by_hand() { # pkg-config's options
	PATH=$(pkg-config --variable=bindir chard):$PATH
	# shellcheck disable=SC2046 # words
	ckci hello.ci && cc hello.c -o hello $(pkg-config --cflags --libs "$@" chard)
}
step "by hand" by_hand
step "hello, by hand" greets ./hello 6
cxx() {
	cat >x.cc <<-'end'
	#include "hello.decl.h"
	#include "ckdirect.h"
	#include "csd.h"
	#include "cth.h"
	CtvExtern(int *, where);
	CtvDeclare(int *, where);
	CtvStaticDeclare(double[3], three);
	static void arrived(pe *, cmi_msg *m) { CmiFree(m); }
	int main()
	{
		CtvInitialize(int *, where);
		CtvInitialize(double[3], three);
		CtvAccess(where)[1] = 2;
		CtvAccess(three)[2] = 1;
		void *m = CmiAlloc(sizeof(cmi_msg));
		CmiSetHandler(m, CmiRegisterHandler("arrived", arrived));
		CmiSyncSendAndFree(CmiMyPe(), sizeof(cmi_msg), m);
	}
	end
	# shellcheck disable=SC2046
	g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags chard) x.cc
}
step "headers in C++" cxx
cd "$top" || exit 1
step "make uninstall" installed uninstall
none_left() { ! find "$tmp/there" -type f -o -type l | grep .; }
step "nothing is left" none_left

# Where it was built.
export PKG_CONFIG_PATH=$here
unset LD_LIBRARY_PATH
cd "$tmp/mine" || exit 1
clean_slate
step "not installed: make" make
step "not installed: hello" greets ./hello 6 +p 2
step "not installed: ckrun hello" greets "$here/bin/ckrun" -n 2 ./hello 6
clean_slate
step "not installed: make, static" make CHARD_STATIC=1
linked_in() { ! ldd hello | grep libchard; }
step "not installed: static" linked_in
step "not installed: hello, static" greets ./hello 6
clean_slate
step "not installed: by hand" by_hand
step "not installed: hello, by hand" greets ./hello 6
# The archive by its name: its libraries are what pkg-config says.
by_name() {
	# shellcheck disable=SC2046
	cc hello.c -o hello $(pkg-config --cflags chard) "$here/libchard.a" \
		$(pkg-config --static --libs chard | sed 's/-lchard//')
}
step "not installed: libchard.a" by_name
step "not installed: libchard.a is linked" linked_in
step "not installed: hello, libchard.a" greets ./hello 6
step "not installed: headers in C++" cxx
exit $failed
