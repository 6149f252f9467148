#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# packages.sh: what is handed out can be built and used. `make dist` gives the same bytes from two checkouts of a
# commit, whatever the user's settings. The tree in it builds: the Debian packages of packaging/debian, of which lintian
# has no error or warning; without debhelper, the library and hello. Programs are built against the packages where
# dpkg -x put them, and where they are really installed: over this system, in a mount that goes away. This is about what
# is committed. One line for each fact; exit code 1 if one does not hold.

cd "$(dirname "$0")/.." || exit 1
top=$PWD
unset MAKEFLAGS MFLAGS MAKELEVEL LD_LIBRARY_PATH PKG_CONFIG_PATH
if ! git rev-parse --verify -q HEAD >/dev/null; then
	echo "skip packages: this is no checkout of git, from which make dist takes the files"
	exit 77
fi

. tests/steps.sh
has() { command -v "$1" >/dev/null || { echo "skip $2: $1 is not installed"; return 1; }; }

# ---- make dist -----------------------------------------------------------------------------------
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
tarball=chard-$version.tar.gz
# A clone has other times and other rights than the tree here.
same_bytes() {
	(umask 077 && git clone -q . "$tmp/clone") && make -s B="$tmp/one" dist &&
		(cd "$tmp/clone" && umask 077 && TZ=Asia/Tokyo LC_ALL=C GZIP_ENV=x make -s B="$tmp/two" dist) &&
		cmp "$tmp/one/$tarball" "$tmp/two/$tarball"
}
all_files() {
	mkdir "$tmp/tree" && tar xzf "$tmp/one/$tarball" -C "$tmp/tree" && mv "$tmp/tree/chard-$version" "$tmp/chard" &&
		diff <(cd "$tmp/chard" && find . -type f -printf '%P\n' | sort) <(git ls-tree -r --name-only HEAD | sort)
}
no_checkout() { # what make dist says elsewhere
	! make -s -C "$tmp/chard" B="$tmp/none" dist 2>"$tmp/said" && grep "not a git repository" "$tmp/said" && [ ! -e "$tmp/none/$tarball" ]
}
same_version() { # in all that names it
	head -1 packaging/debian/changelog | grep -F "(${version}-" && grep -F "\"$version\"" packaging/spack/package.py
}
step "make dist, twice" same_bytes
[ $failed = 0 ] || exit 1
step "make dist has all files" all_files
step "make dist without git" no_checkout
step "one version" same_version

# ---- the tree builds -----------------------------------------------------------------------------
greets() { "$@" >"$tmp/out" && [ "$(grep -c '^Hello World' "$tmp/out")" = 6 ]; }
builds() {
	make -s -j"$(nproc)" B="$tmp/b" lib tools "$tmp/b/examples/hello/hello" && greets "$tmp/b/bin/ckrun" -n 2 "$tmp/b/examples/hello/hello" 6
}
if ! has dh "Debian packages" || ! has lintian "Debian packages"; then
	cd "$tmp/chard" || exit 1
	step "the tree builds" builds
	exit $failed
fi
mv "$tmp/one/$tarball" "$tmp/chard_$version.orig.tar.gz"
cp -r "$tmp/chard/packaging/debian" "$tmp/chard/debian"
cd "$tmp/chard" || exit 1
packages() { dpkg-buildpackage -us -uc >"$tmp/build" 2>&1 || { tail -20 "$tmp/build"; return 1; }; }
no_compiler_warning() { ! grep -E '(warning|error):' "$tmp/build"; }
step "dpkg-buildpackage" packages
step "no warning of the compiler" no_compiler_warning
[ $failed = 0 ] || exit 1
cd "$tmp" || exit 1
no_warning() { lintian --allow-root --tag-display-limit 0 --fail-on error,warning ./*.changes >"$tmp/tags" && ! grep . "$tmp/tags"; }
step "lintian" no_warning

# ---- the packages serve --------------------------------------------------------------------------
root=$tmp/root
unpack() { for p in libchard0 libchard-dev chard-tools chard-doc; do dpkg -x "$p"_*.deb "$root" || return 1; done; }
lib=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
unpacked_hello() {
	mkdir "$tmp/mine" && cp "$tmp/chard/examples/hello/"hello.{c,ci} "$tmp/mine" && cd "$tmp/mine" || return 1
	export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=$root/$lib/pkgconfig LD_LIBRARY_PATH=$root/$lib PATH=$root/usr/bin:$PATH
	# shellcheck disable=SC2046 # words
	ckci hello.ci && cc -o hello hello.c $(pkg-config --cflags --libs chard) && ldd hello | grep "$root/$lib/libchard.so.0" &&
		greets ckrun -n 2 ./hello 6
}
step "dpkg -x" unpack
step "hello, against what was unpacked" eval '(unpacked_hello)'
hardened() { # the library and the programs
	for f in "$lib"/libchard.so.0 usr/bin/{ckci,ckrun,cktrace,ckpt,ckctl}; do
		readelf -dlW "$root/$f" >"$tmp/elf"
		if ! grep -q GNU_RELRO "$tmp/elf" || ! grep -q 'BIND_NOW' "$tmp/elf"; then
			echo "$f"
			return 1
		fi
	done
	nm -D "$root/$lib/libchard.so.0" | grep __stack_chk_fail && nm -D "$root/$lib/libchard.so.0" | grep -E '__[a-z]+_chk@'
}
step "hardened" hardened

# Root of a mount namespace of its own sees this system with a layer above, into which the packages go.
cat >"$tmp/layer.sh" <<'end'
set -e
mount -t tmpfs tmpfs "$1/mnt" && cd "$1/mnt" && mkdir up work root
mount -t overlay overlay -o lowerdir=/,upperdir=up,workdir=work root
for f in proc sys dev; do mount --rbind /$f root/$f; done
[ "$2" ] || exit 0
mkdir root/packages && cp "$1"/*.deb root/packages && rm root/packages/*dbgsym* && cp -r "$1/chard" root/packages
exec chroot root sh -e /packages/chard/tests/packages_in.sh
end
mkdir mnt
layer() { unshare -m --propagation private sh "$tmp/layer.sh" "$tmp" "$1"; } # "run", or "" to try it
if why=$(layer "" 2>&1); then
	step "installed, the package's own test, and purged" layer run
else
	echo "skip packages, installed: no layer above this system: ${why##*: }"
fi
cd "$top" || exit 1
exit $failed
