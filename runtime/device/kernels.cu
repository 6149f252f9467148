/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.cu: many puts in one launch, and puts where the driver has no writes of words in streams.
 * Not compiled by the build: kernels.sh makes kernels_ptx.h of it.
 */
#include "kernels.h"

static __device__ void copy_bytes(char *to, const char *from, uint64_t n, uint64_t first,
				  uint64_t step)
{
	uint64_t done = 0;

	if (((uint64_t)to | (uint64_t)from) % 16 == 0) {
		const uint4 *s = (const uint4 *)from;
		uint4 *d = (uint4 *)to;
		const uint64_t m = n / 16;
		uint64_t i = first;

		for (; i + 3 * step < m; i += 4 * step) {
			const uint4 a = s[i], b = s[i + step], c = s[i + 2 * step], e = s[i + 3 * step];

			d[i] = a;
			d[i + step] = b;
			d[i + 2 * step] = c;
			d[i + 3 * step] = e;
		}
		for (; i < m; i += step)
			d[i] = s[i];
		done = m * 16;
	}
	for (uint64_t i = done + first; i < n; i += step)
		to[i] = from[i];
}

/* Every block fences what it has written and counts; the last one to count fences once more, which
 * covers what the others' fences have made visible to it, and stores the word with release: whoever
 * acquires the word, a processor too, sees all bytes (CUDA Programming Guide, Memory Fence
 * Functions). */
extern "C" __global__ void chard_puts(const __grid_constant__ struct device_puts puts)
{
	const struct device_put p = puts.put[blockIdx.y];
	uint32_t *const counter = (uint32_t *)p.counter;

	copy_bytes((char *)p.to, (const char *)p.from, p.bytes,
		   blockIdx.x * (uint64_t)blockDim.x + threadIdx.x, (uint64_t)gridDim.x * blockDim.x);
	__syncthreads();
	if (threadIdx.x)
		return;
	if (gridDim.x > 1) {
		__threadfence_system();
		if (atomicAdd(counter, 1u) != gridDim.x - 1)
			return;
		*counter = 0;
	}
	__threadfence_system();
	asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p.word), "l"(p.value) : "memory");
}
