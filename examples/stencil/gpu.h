/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h: what --device asks of CUDA's driver beyond channels: the two kernels, streams, copies.
 * The program is built without CUDA. The library has loaded the driver already.
 */
#ifndef STENCIL_GPU_H
#define STENCIL_GPU_H

#include <stddef.h>

#include "device_kernels.h"

struct gpu;

/** The driver and the kernels, for this PE. After the first CkDirect_allocDevice, and before any
 * stream waits: loading blocks then. */
struct gpu *gpu_open(void);
void gpu_close(struct gpu *g);

void *gpu_stream(const struct gpu *g);
/** Wait until all that is queued there is done. */
void gpu_finish(const struct gpu *g, void *stream);
void gpu_stream_end(const struct gpu *g, void *stream);

void gpu_pack(const struct gpu *g, void *stream, struct stencil_pack p, int most_cells);
void gpu_step(const struct gpu *g, void *stream, struct stencil_step s);

void gpu_to_host(const struct gpu *g, void *stream, void *to, const void *from, size_t bytes);
void gpu_from_host(const struct gpu *g, void *stream, void *to, const void *from, size_t bytes);

/** Make copies of whole pages of host memory fast, and undo it. */
void gpu_pin(const struct gpu *g, void *pages, size_t bytes);
void gpu_unpin(const struct gpu *g, void *pages);

#endif
