#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# kernels.sh: compiles FILE.cu to PTX text, as a C string, for those who change a kernel; needs nvcc.
#
#   runtime/device/kernels.sh FILE.cu NAME >FILE_ptx.h
#
# nvcc names its own version of PTX, which older drivers refuse. The text needs no more than PTX 7.0 and sm_70, so
# that is what it says, and ptxas agrees.
set -eu

ptx=$(mktemp)
trap 'rm -f "$ptx" "$ptx.o"' EXIT
nvcc -ptx -O3 -I"$(dirname "$1")" -o "$ptx" "$1"
sed -i -e 's/^\.version .*/.version 7.0/' -e 's/^\.target .*/.target sm_70/' -e '/^\/\//d' -e '/^[[:space:]]*$/d' "$ptx"
ptxas -arch=sm_75 -o "$ptx.o" "$ptx"
printf '/* SPDX-License-Identifier: Apache-2.0 */\n/* Made of %s by kernels.sh. */\nstatic const char %s[] =\n' \
	"$(basename "$1")" "$2"
sed -e 's/\\/\\\\/g; s/"/\\"/g; s/\t/\\t/g; s/^/\t"/; s/$/\\n"/' "$ptx"
printf '\t"";\n'
