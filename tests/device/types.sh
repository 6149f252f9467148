#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# types.sh: whether runtime/device/cu.h agrees with cuda.h, and the PTX texts with their sources' compiler, where they are.

cd "$(dirname "$0")/../.." || exit 1
cuda=${CUDA_HOME:-/usr/local/cuda}
if [ ! -f "$cuda/include/cuda.h" ]; then
	echo "skip cu.h: there is no $cuda/include/cuda.h to compare it with"
	exit 77
fi
${CC:-cc} -std=c11 -fsyntax-only -I"$cuda/include" tests/device/cuda_types.c || exit 1
echo "ok cu.h agrees with cuda.h"
