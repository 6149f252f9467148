#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# frames.sh BUILD: frames of any size are found in programs that are built with the flags that Chard hands out: those of
# pkg-config, and of the make fragment, which leaves out what a compiler does not know. One line for each fact; exit code
# 1 if one does not hold.
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${1:-build}") || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CPPFLAGS
export PKG_CONFIG_PATH=$B CK_BACKTRACE=plain # no files and lines in each of many runs

. tests/steps.sh
flag=-fstack-clash-protection
knows() { "$1" -Werror $flag -fsyntax-only -x c /dev/null 2>/dev/null; }
for cc in cc gcc clang; do
	command -v $cc >/dev/null && knows $cc && break
	cc=
done
if [ ! "$cc" ] || ! pkg-config --cflags chard | grep -q -e $flag; then
	echo "skip frames of any size: this compiler does not know $flag"
	exit 77
fi
sources=$PWD/tests/programs
cp "$sources"/frames.{c,ci} "$tmp" && cd "$tmp" || exit 1

export sources
cat >Makefile <<'end'
include $(shell pkg-config --variable=makefragment chard)
CFLAGS = -std=gnu11 -O1 -I$(sources)
frames: frames.o
	$(CC) -o $@ $^ $(CHARD_LIBS)
frames.o: frames.decl.h
end
by_pkg_config() {
	# shellcheck disable=SC2046 # words
	"$B/bin/ckci" frames.ci && $cc -std=gnu11 -O1 -I"$sources" frames.c -o frames $(pkg-config --cflags --libs chard)
}
by_make() { make -B CC=$cc | grep -e "$cc.*$flag"; }
named() { # entry, words of the shape
	local entry=$1 n
	shift
	for n in 300000 600000 2000000 10000000 50000000 400000000; do
		for _ in 1 2 3 4 5; do
			"$@" ./frames "$entry" $n 1 $plus >out 2>err
			[ $? = 139 ] && [ "$(grep -c "^chard: PE 1 .*stack overflow" err)" = 1 ] || { echo "$n bytes"; head -3 err; return 1; }
		done
	done
}
# The main thread's stack has nothing below it for 100 MB, and a PE's own thread has a wide guard.
handlers_named() { (ulimit -s 256 && named handler); }
all_named() { # how it was built
	plus="+p 2"
	step "$1: threads" named thread
	step "$1: threads of CthCreate" named cth
	step "$1: handlers" handlers_named
	plus=
	step "$1: threads of two nodes" named thread "$B/bin/ckrun" -n 2
}
step "pkg-config's flags" by_pkg_config
all_named "pkg-config's flags"
step "the make fragment" by_make
all_named "the make fragment"

# A compiler that does not know it, as those of other machines may not.
cat >old-cc <<end
#!/bin/sh
for word; do
	[ "\$word" != $flag ] || { echo "unknown option: $flag" >&2; exit 1; }
done
exec $cc "\$@"
end
chmod +x old-cc
by_old() { make -B CC=./old-cc && ./frames thread 10000 0 | grep 'it fitted'; }
step "a compiler without the flag" by_old
exit $failed
