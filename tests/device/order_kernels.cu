/* SPDX-License-Identifier: Apache-2.0 */
/* order_kernels.cu: compiled to order_ptx.h by runtime/device/kernels.sh tests/device/order_kernels.cu order_ptx. */
#include "order_kernels.h"

extern "C" __global__ void order_fill(const __grid_constant__ struct order_words w)
{
	const uint64_t step = (uint64_t)gridDim.x * blockDim.x;

	for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < w.words; i += step)
		((uint64_t *)w.at)[i] = (w.seed + i) * 0x9e3779b97f4a7c15u;
}

extern "C" __global__ void order_check(const __grid_constant__ struct order_words w)
{
	const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
	unsigned long long n = 0;

	for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < w.words; i += step)
		n += ((const uint64_t *)w.at)[i] != (w.seed + i) * 0x9e3779b97f4a7c15u;
	if (n)
		atomicAdd((unsigned long long *)w.wrong, n);
}
