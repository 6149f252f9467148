#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# variables.sh BUILD: the Makefile uses the tools, flags and folders that a packager names, and shows its commands with
# V=1. The tools are stand-ins that note their call. Most objects are copies of BUILD's, so this takes seconds. One line
# for each fact; exit code 1 if one does not hold.

cd "$(dirname "$0")/.." || exit 1
B=${1:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL CC LD AR OBJCOPY PKG_CONFIG CFLAGS CPPFLAGS LDFLAGS

. tests/steps.sh
# All but what this test makes anew. What is linked seven times has no use for the debugger's tables, three quarters of it.
mkdir "$tmp/base" && cp -a "$B"/{runtime,ci-compiler,launcher,trace-reader,image-reader,job-control,bin} "$tmp/base" &&
	find "$tmp/base" -name '*.o' -exec strip -g -p {} + &&
	rm "$tmp"/base/bin/ckrun "$tmp"/base/runtime/machine/base/say.o "$tmp"/base/runtime/chare/reduce/reducers.o || exit 1
fresh() {
	rm -rf "$tmp/b" && mkdir -p "$tmp/b/examples" && cp -a "$tmp"/base/* "$tmp/b"
}
hello=$tmp/b/examples/hello/hello
made() { fresh && make B="$tmp/b" "$@" lib tools "$hello" >"$tmp/made" 2>&1 || { cat "$tmp/made"; return 1; }; }
stand_in() { # name of the tool, what it runs
	printf '#!/bin/sh\necho %s "$@" >>"%s/calls"\nexec %s "$@"\n' "$1" "$tmp" "$2" >"$tmp/$1"
	chmod +x "$tmp/$1"
}
stand_in my-cc cc
stand_in my-ld ld
stand_in my-ar ar
stand_in my-objcopy objcopy
stand_in my-pkg-config pkg-config
stand_in my-ckci "$(realpath "$B")/bin/ckci"

greets() { [ "$("$hello" 6 | grep -c '^Hello World')" = 6 ]; }
shows() { # with V=1 each command, and nothing else of ours; without it a word and a file
	made V=1 && grep -E '^cc .* -c .*say\.c$' "$tmp/made" && ! grep -E '^  (CC|AR|LINK) ' "$tmp/made" && greets &&
		made && grep -E '^  CC +.*say\.c$' "$tmp/made" && ! grep -E '^cc ' "$tmp/made"
}
tools() {
	made CC="$tmp/my-cc" LD="$tmp/my-ld" AR="$tmp/my-ar" OBJCOPY="$tmp/my-objcopy" PKG_CONFIG="$tmp/my-pkg-config" \
		CKCI_FOR_BUILD="$tmp/my-ckci" && greets || return 1
	for call in 'my-cc .*-c .*say\.c' 'my-cc .*-shared' 'my-cc .*bin/ckrun' 'my-ld -r' 'my-ar rcs' 'my-objcopy --localize' \
		'my-pkg-config --libs' 'my-pkg-config --cflags' 'my-ckci -o .*hello\.ci'; do
		grep -q -e "^$call" "$tmp/calls" || { echo "nobody called $call"; return 1; }
	done
}
# A compiler's own tools, where none are named: as a cross compiler has them.
tools_of_cc() {
	cat >"$tmp/cross-cc" <<-end
	#!/bin/sh
	case \$1 in -print-prog-name=*) echo "$tmp/my-\${1#*=}" ;; *) exec cc "\$@" ;; esac
	end
	chmod +x "$tmp/cross-cc" && rm -f "$tmp/calls" && made CC="$tmp/cross-cc" || return 1
	for tool in ld ar objcopy; do
		grep "^my-$tool " "$tmp/calls" || { echo "nobody called $tool"; return 1; }
	done
}
flags() { # given as arguments, then in the environment
	local set=(CPPFLAGS=-DMY_CPP CFLAGS="-O1 -DMY_C" LDFLAGS=-Wl,-z,now)
	made V=1 "${set[@]}" && flags_seen && (export "${set[@]}" && made V=1) && flags_seen
}
flags_seen() {
	grep -E -- '-std=c11.*-O2.* -DMY_CPP .*-O1 -DMY_C .*-c .*say\.c$' "$tmp/made" &&
		grep -E -- '-DMY_C .*-O3 .*-c .*reducers\.c$' "$tmp/made" &&
		[ "$(grep -c -E -- '-Wl,-z,now .*-o .*(libchard\.so|ckrun|hello/hello) ' "$tmp/made")" = 3 ]
}
without_optimisation() {
	made V=1 CFLAGS=-O0 && ! grep -e -O3 "$tmp/made"
}
# Other libraries, as pkg-config names them after an update: what is linked with them is linked again, and only that.
relinks() {
	printf '#!/bin/sh\n[ "$1" != --libs ] || echo -lm\nexec pkg-config "$@"\n' >"$tmp/more-pkg-config" && chmod +x "$tmp/more-pkg-config" &&
		made && make B="$tmp/b" lib tools "$hello" >"$tmp/again" && ! grep LINK "$tmp/again" &&
		make B="$tmp/b" PKG_CONFIG="$tmp/more-pkg-config" lib tools "$hello" >"$tmp/again" && ! grep CC "$tmp/again" &&
		grep 'LINK .*/libchard\.so' "$tmp/again" && grep 'LINK .*/hello' "$tmp/again" && greets
}
installs() {
	made && make -s B="$tmp/b" PREFIX=/p LIBDIR=/p/l INCLUDEDIR=/i MANDIR=/m DESTDIR="$tmp/there" install &&
		cd "$tmp/there" && ls p/bin/ck{ci,run,trace} p/l/libchard.{a,so,so.0} p/l/cmake/chard/chard-config.cmake i/chard/ck.h \
		m/man1/ckrun.1 p/share/chard/chard.mk && ! ls p/lib p/include p/share/man 2>&1 | grep -v 'No such file' &&
		grep -x 'libdir=${prefix}/l' p/l/pkgconfig/chard.pc && grep -x 'includedir=/i/chard' p/l/pkgconfig/chard.pc
}
# Where LIBDIR is a folder of another machine's files, they are not named.
no_sysroot() {
	printf '#!/bin/sh\n[ "$1" != --libs ] || echo -L/sys/root/usr/lib -lucp\n' >"$tmp/root-pkg-config" && chmod +x "$tmp/root-pkg-config" &&
		PKG_CONFIG_SYSROOT_DIR=/sys/root make -s -o "$tmp/b/libchard.so" B="$tmp/b" PKG_CONFIG="$tmp/root-pkg-config" DESTDIR="$tmp/root" install &&
		grep -x 'Libs.private: -lucp .*' "$tmp/root/usr/local/lib/pkgconfig/chard.pc" && ! grep -r /sys/root "$tmp/root/usr/local/lib/"{pkgconfig,cmake}
}
uninstalls() {
	make -s B="$tmp/b" PREFIX=/p LIBDIR=/p/l INCLUDEDIR=/i MANDIR=/m DESTDIR="$tmp/there" uninstall &&
		! find "$tmp/there" ! -type d | grep .
}

step "make V=1" shows
step "CC, LD, AR, OBJCOPY, PKG_CONFIG, CKCI_FOR_BUILD" tools
step "the compiler's own ld, ar and objcopy" tools_of_cc
step "CPPFLAGS, CFLAGS, LDFLAGS" flags
step "CFLAGS=-O0" without_optimisation
step "other libraries" relinks
step "PREFIX, LIBDIR, INCLUDEDIR, MANDIR" eval '(installs)'
step "uninstall" uninstalls
step "chard.pc without a sysroot" no_sysroot
exit $failed
