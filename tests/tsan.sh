#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tsan.sh BUILD: a program that is built with the thread sanitizer. Against the usual library one with two PEs in a process ends
# with a line that says what to do. Against a library that is built so, too, and installed, a right program is not reported,
# and one with a race is.

cd "$(dirname "$0")/.." || exit 1
here=$(realpath "${1:-build}") || exit 1
B=$1 top=$PWD
unset MAKEFLAGS MFLAGS MAKELEVEL LD_LIBRARY_PATH LD_RUN_PATH

. tests/steps.sh
# As GUIDE.md says.
export UCX_MEM_MMAP_HOOK_MODE=none TSAN_OPTIONS=ignore_noninstrumented_modules=1
cp examples/hello/hello.c examples/hello/hello.ci "$tmp" || exit 1
cat >"$tmp/race.ci" <<'end'
mainmodule race {
	mainchare Main { entry Main(CkArgMsg *m); };
	group Racer { entry Racer(); entry void go(); };
};
end
cat >"$tmp/race.c" <<'end'
#include "ck.h"
#include "race.decl.h"
struct Main { int unused; };
struct Racer { int n; };
static volatile int shared;
void Main_on_new(Main *self, CkArgMsg *m) { (void)self; (void)m; Racer_go_all(Racer_ckNew()); }
void Racer_on_new(Racer *self) { self->n = 0; }
void Racer_on_go(Racer *self)
{
	for (int i = 0; i < 100000; i++)
		shared++;
	if (++self->n < 20)
		Racer_go(Racer_thisElement(self));
	else
		CkContribute(self, NULL, 0, CkReduction_nop, CkCallbackExit());
}
#include "race.def.h"
end

built() { # program, flags...
	local name=$1
	shift
	# shellcheck disable=SC2046 # words
	(cd "$tmp" && ckci "$name.ci" && cc -std=c11 -g -O1 "$@" -o "$name" "$name.c" $(pkg-config --cflags --libs chard))
}
told() {
	! "$tmp/hello" 6 +p 2 2>"$tmp/err" && [ "$(wc -l <"$tmp/err")" = 1 ] && grep 'make SANITIZE=thread install' "$tmp/err"
}
greets() { "$tmp/hello" 6 "$@" >"$tmp/out" 2>&1 && [ "$(grep -c '^Hello World' "$tmp/out")" = 6 ] && ! grep ThreadSanitizer "$tmp/out"; }
reported() { ! "$tmp/race" +p 2 >"$tmp/out" 2>&1 && grep 'ThreadSanitizer: data race.*/race.c' "$tmp/out"; }

if [ -n "$(nm "$here/libchard.so" | grep ' U __tsan_func_entry')" ]; then
	step "make install" make -s SANITIZE=thread B="$B" PREFIX="$tmp/there" install
	export PATH=$tmp/there/bin:$PATH PKG_CONFIG_PATH=$tmp/there/lib/pkgconfig
	step "a program against that library" built hello
	step "it runs" greets +p 2
	step "one with a race" built race
	step "the race is reported" reported
else
	export PATH=$here/bin:$PATH PKG_CONFIG_PATH=$here
	step "a program against the usual library" built hello -fsanitize=thread
	step "it is told what to do" told
	step "with one PE it runs" greets
fi
exit "$failed"
