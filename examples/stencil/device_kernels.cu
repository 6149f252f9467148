/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_kernels.cu: the arithmetic of --device. Not compiled by the build: who changes it makes
 * device_ptx.h of it, by runtime/device/kernels.sh examples/stencil/device_kernels.cu stencil_ptx.
 *
 * The sum is added in the order of kernel.h, and nothing in it is a product that could be fused
 * with an addition. So the result is the processor's, bit for bit.
 */
#include "device_kernels.h"

extern "C" __global__ void stencil_pack(const __grid_constant__ struct stencil_pack p)
{
	const int64_t nx = p.nx, ny = p.ny, nz = p.nz;
	const int side = blockIdx.y;
	const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	const double *const u = (const double *)p.field;
	double *const out = (double *)p.side[side];
	const bool last = side % 2;

	if (!out)
		return;
	if (side < 2 && i < ny * nz)
		out[i] = u[(last ? (nx - 1) * ny * nz : 0) + i];
	else if (side / 2 == 1 && i < nx * nz)
		out[i] = u[(i / nz * ny + (last ? ny - 1 : 0)) * nz + i % nz];
	else if (side / 2 == 2 && i < nx * ny)
		out[i] = u[i * nz + (last ? nz - 1 : 0)];
}

extern "C" __global__ void stencil_step(const __grid_constant__ struct stencil_step p)
{
	const int64_t nx = p.nx, ny = p.ny, nz = p.nz;
	const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	const int64_t z = i % nz, y = i / nz % ny, x = i / nz / ny;
	const double *const u = (const double *)p.from;
	const double *const *const ghost = (const double *const *)p.ghost;

	if (i >= nx * ny * nz)
		return;
	((double *)p.to)[i] =
		(u[i] + (x > 0 ? u[i - ny * nz] : ghost[0][y * nz + z]) +
		 (x < nx - 1 ? u[i + ny * nz] : ghost[1][y * nz + z]) +
		 (y > 0 ? u[i - nz] : ghost[2][x * nz + z]) +
		 (y < ny - 1 ? u[i + nz] : ghost[3][x * nz + z]) +
		 (z > 0 ? u[i - 1] : ghost[4][x * ny + y]) +
		 (z < nz - 1 ? u[i + 1] : ghost[5][x * ny + y])) / 7.0;
}
