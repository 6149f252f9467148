#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pack.sh BUILD DIR: copies into DIR what check.sh needs, with its libraries, for a machine with a device and without
# compilers, packages or a network:  DIR/check [PUTS]  runs it there. `make check-device` has built it all.
set -eu
build=${1:?usage: pack.sh BUILD DIR} dir=${2:?usage: pack.sh BUILD DIR}
most=$((64 * 1024)) # KiB

files="bin/ckrun tests/programs/device tests/programs/device_order tests/programs/device_speed
	tests/programs/named_device examples/stencil/stencil tests/device/early.so"
mkdir -p "$dir/lib"
for f in $files; do
	mkdir -p "$dir/$(dirname "$f")"
	strip -o "$dir/$f" "$build/$f"
	# The driver is the other machine's, and the C library is, too.
	ldd "$build/$f" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' |
		grep -v -e '/libcuda\.so' -e '/libc\.so' -e '/libm\.so' -e '/libdl\.so' -e '/libpthread\.so' |
		while read -r lib; do cp -L "$lib" "$dir/lib"; done
done
cp "$(dirname "$0")/check.sh" "$dir/check.sh"
cat >"$dir/check" <<'END'
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec sh "$here/check.sh" "$here" "$@"
END
chmod +x "$dir/check"
size=$(du -sk "$dir" | cut -f1)
if [ "$size" -gt $most ]; then
	echo "pack.sh: $dir has $size KiB, more than $most" >&2
	exit 1
fi
echo "$dir: $size KiB"
