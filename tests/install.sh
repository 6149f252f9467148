#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh BUILD: what `make install` puts somewhere is all that a program needs, and the first program
# runs as README.md says, without LD_LIBRARY_PATH: hello is built with the make fragment, against the
# shared and the static library, by hand, and run; a second make does nothing; the headers are read by a
# C++ compiler. Then `make uninstall` leaves no file. The same with the libraries where they were built,
# which PKG_CONFIG_PATH=BUILD finds. One line for each; exit code 1 if one failed.

cd "$(dirname "$0")/.." || exit 1
B=${1:-build} top=$PWD
here=$(realpath "$B") || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL LD_LIBRARY_PATH LD_RUN_PATH

. tests/steps.sh
greets() { # command: runs hello
	"$@" >"$tmp/out" && [ "$(grep -c '^Hello World' "$tmp/out")" = 6 ]
}
installed() { make -s B="$B" PREFIX="$tmp/there" "$@"; }
# The environment that README.md asks for, from its own lines.
settings() {
	grep '^export ' README.md | sed "s|/somewhere|$tmp/there|g"
}

# README.md's Makefile, word for word.
mkdir "$tmp/mine" && cp examples/hello/hello.c examples/hello/hello.ci "$tmp/mine" || exit 1
awk '/^```make$/ { on = 1; next } /^```/ { on = 0 } on' README.md >"$tmp/mine/Makefile"
# One of pattern rules only (make -r), to which the headers are intermediate files.
cat >"$tmp/mine/Patterns" <<'end'
include $(shell pkg-config --variable=makefragment chard)
CFLAGS = -std=c11 -O2 -Wall -Wextra -Werror
hello: hello.o
	$(CC) -o $@ $^ $(CHARD_LIBS)
%.o: %.c %.decl.h
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
end

step "make install" installed install
path=$PATH
eval "$(settings)"
step "README.md sets what is needed" test "$(command -v ckci)" = "$tmp/there/bin/ckci"
cd "$tmp/mine" || exit 1

files() { stat -c '%n %y' ./* | sort; }
quiet_build() { # make, with no word of the compiler, and keeping the headers
	make "$@" CFLAGS="-std=c11 -O2 -Wall -Wextra -Werror" >"$tmp/make" 2>&1 || { cat "$tmp/make"; return 1; }
	! grep -E '(^| )rm ' "$tmp/make" && ls hello.decl.h hello.def.h
}
# It rebuilds nothing and deletes nothing.
again() {
	files >"$tmp/before"
	make "$@" >"$tmp/make" 2>&1 || return 1
	grep -E 'up to date|Nothing to be done' "$tmp/make" && ! grep -E 'ckci|cc|rm ' "$tmp/make" &&
		files | diff "$tmp/before" -
}
clean_slate() { rm -f hello hello.o hello.decl.h hello.def.h; }

step "make, with the fragment" quiet_build
step "hello" greets ./hello 6 +p 2
step "ckrun hello" greets ckrun -n 2 ./hello 6
probes() { # where the compiler can let frames touch every page, programs are told so
	! cc -Werror -fstack-clash-protection -fsyntax-only -x c /dev/null || pkg-config --cflags chard | grep -e -fstack-clash-protection
}
step "-fstack-clash-protection" probes
traces() {
	CK_TRACE=$tmp/trace ckrun -n 2 ./hello 6 >/dev/null && cktrace "$tmp/trace" | grep -q 'Hello::PrintHello: 6 calls' &&
		cktrace --html "$tmp/trace.html" "$tmp/trace" && grep -q '^async function start' "$tmp/trace.html"
}
step "cktrace" traces
step "ckpt" ckpt --help
step "ckctl" ckctl --help
step "make again" again
stale() { sleep 0.1; touch hello.ci && make | grep -c -E '^.*ckci ' | grep -x 1 && ! make -q hello.def.h 2>&1 | grep .; }
step "one run of ckci after a change" stale
clean_slate
step "make, by pattern rules" quiet_build -r -f Patterns
step "hello, by pattern rules" greets ./hello 6
step "make again, by pattern rules" again -r -f Patterns
clean_slate
step "make, static" make CHARD_STATIC=1
linked_in() { ! ldd hello | grep libchard; }
step "static: hello needs no libchard.so" linked_in
no_rpath() { ! readelf -d hello | grep -E 'RPATH|RUNPATH'; }
step "static: no rpath" no_rpath
step "hello, static" greets ./hello 6
clean_slate
by_hand() { # README.md's command
	local command

	command=$(sed -n 's/^`\(ckci hello.ci && cc .*\)`.*/\1/p' "$top/README.md")
	[ -n "$command" ] && eval "$command"
}
step "by hand" by_hand
step "hello, by hand" greets ./hello 6
without_rpath() { # what README.md says of a program that was linked without pkg-config's flags
	# shellcheck disable=SC2046 # words
	cc hello.c -o hello $(pkg-config --cflags chard) -L"$tmp/there/lib" -lchard || return 1
	! greets ./hello 6 && greets env LD_LIBRARY_PATH="$tmp/there/lib" ./hello 6
}
step "without rpath" without_rpath

# The guide and the examples, where links between them hold; an example of several files, from there.
documents() { ( cd "$tmp/there/share/doc/chard" && grep -q stencil examples/README.md && missing_links docs/GUIDE.md docs/CHANNELS.md docs/HALO.md ); }
missing_links() { # files that the pages refer to, below this folder
	local page to
	for page; do
		for to in $(grep -o '](\(\.\./examples/\|pictures/\|[A-Z]*\.md\)[^)#]*' "$page" | sed 's/^](//' | sort -u); do
			[ -e "${page%/*}/$to" ] || { echo "$page: $to is not there"; return 1; }
		done
	done
}
step "the guide is installed" documents
examples() {
	cp -r "$tmp/there/share/doc/chard/examples" "$tmp/examples" && cd "$tmp/examples" && make -s hello/hello stencil/stencil &&
		greets ckrun -n 2 hello/hello 6 && ckrun -n 2 stencil/stencil --domain 8x8x8 --chares 2x2x2 --iters 4 --mode both --verify
}
step "examples, from where they are installed" eval '(examples)'

# A host program in Python, with the module and the headers that are installed.
python_host() {
	ckci -o . "$top/examples/embed/embed.ci" || return 1
	# shellcheck disable=SC2046 # words
	cc -std=c11 -shared -fPIC -I. -o libembed.so "$top/examples/embed/chares.c" $(pkg-config --cflags --libs chard) &&
		PYTHONPATH=$tmp/there/share/chard python3 -B "$top/examples/embed/python/host.py" ./libembed.so 2 >"$tmp/out" &&
		grep -x 'host.py: both runs: checked' "$tmp/out"
}
step "Chard inside a Python program" python_host

# Handlers that leave parameters unused, and CkAssert that is off.
cat >unused.c <<'end'
#include "hello.decl.h"
struct Main { int x; };
struct Hello { int x; };
void Main_on_new(Main *self, CkArgMsg *m) {}
void Main_on_Finished(Main *self) {}
#ifdef OFF
void Main_on_Sum(Main *self, int total) { CkAssert(nobody_declared(this)); CkExit(); }
#else
void Main_on_Sum(Main *self, int total) { CkAssert(total % 2 == 0); CkExit(); }
#endif
void Hello_on_new(Hello *self) {}
void Hello_on_PrintHello(Hello *self) {}
void Hello_on_Count(Hello *self, int weight) {}
#include "hello.def.h"
end
compiles() { # compiler, options...
	# shellcheck disable=SC2046
	"$@" -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only $(pkg-config --cflags chard) unused.c
}
refused() { # the error's text, compiler, options...
	local text=$1
	shift
	! compiles "$@" >"$tmp/errors" 2>&1 && grep "$text" "$tmp/errors"
}
for cc in gcc clang; do
	if ! command -v $cc >/dev/null; then
		echo "skip $cc, unused parameters: it is not installed"
		continue
	fi
	step "$cc: unused parameters" compiles $cc
	step "$cc: CK_WARN_UNUSED_PARAMETERS" refused "unused parameter .*self" $cc -DCK_WARN_UNUSED_PARAMETERS
done
step "CkAssert is off with NDEBUG" compiles cc -DOFF -DNDEBUG
step "CkAssert is off with CMK_OPTIMIZE=1" compiles cc -DOFF -DCMK_OPTIMIZE=1
step "CkAssert is on with CMK_OPTIMIZE=0" refused nobody_declared cc -DOFF -DCMK_OPTIMIZE=0
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
		CkAssert(m != nullptr);
		if (m)
			CkExit(3);
		CkExit();
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

# Packagers' prefix has no rpath, and goes where DESTDIR says.
packaged() {
	make -s B="$B" PREFIX=/usr DESTDIR="$tmp/package" install &&
		! grep -r rpath "$tmp/package/usr/lib/pkgconfig" &&
		grep -F "Libs: -L\${libdir} -lchard" "$tmp/package/usr/lib/pkgconfig/chard.pc"
}
step "PREFIX=/usr, DESTDIR" packaged

# Where it was built.
PATH=$path
export PKG_CONFIG_PATH=$here
cd "$tmp/mine" || exit 1
clean_slate
step "not installed: make" quiet_build
step "not installed: hello" greets ./hello 6 +p 2
step "not installed: ckrun hello" greets "$here/bin/ckrun" -n 2 ./hello 6
step "not installed: make again" again
clean_slate
step "not installed: make, static" make CHARD_STATIC=1
step "not installed: static" linked_in
step "not installed: hello, static" greets ./hello 6
clean_slate
PATH=$here/bin:$path
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
