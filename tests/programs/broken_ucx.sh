#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# broken_ucx.sh COMMAND...: runs the command where libucp.so.0 is not a library.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
echo "no library" >"$dir/libucp.so.0"
LD_LIBRARY_PATH=$dir "$@"
