#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# rehearse.sh BUILD: the tree of pack.sh in a root that has nothing else but a shell, what the script calls, and the C
# library. Without a device there, check must say "skipped: no device". Needs namespaces of users, else it is skipped.
set -eu
build=${1:?usage: rehearse.sh BUILD}
if ! unshare -rm true 2>/dev/null; then
	echo "skip a bare root: this user may make no namespaces"
	exit 77
fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/tmp" "$root/dev/shm"
sh "$(dirname "$0")/pack.sh" "$build" "$root/chard"
for tool in sh date timeout sed grep mktemp rm dirname cat; do
	cp -L "$(command -v $tool)" "$root/bin/$tool"
	ldd "$root/bin/$tool" | grep -o '/[^ ]*' | while read -r lib; do
		mkdir -p "$root$(dirname "$lib")"
		cp -L "$lib" "$root$lib"
	done
done
for lib in $(ldd "$build/tests/programs/device" | grep -o '/[^ ]*/lib[cm]\.so[^ ]*'); do
	cp -L "$lib" "$root$lib"
done
# shellcheck disable=SC2016
if text=$(unshare -rm sh -c 'mount --rbind /proc "$1/proc" && PATH=/bin exec /usr/sbin/chroot "$1" /bin/sh /chard/check' - "$root" 2>&1); then
	echo "FAIL a bare root: there is no device, but: $text"
	exit 1
fi
case $text in
*"skipped: no device") echo "ok in a bare root: $text" ;;
*) echo "FAIL a bare root: $text"; exit 1 ;;
esac
