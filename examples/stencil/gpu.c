/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.c: see gpu.h. The declarations are CUDA's, of its driver interface. */
#include "gpu.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "ck.h"
#include "device_ptx.h"

enum { NOT_READY = 600, NONBLOCKING = 1, PORTABLE_MAPPED = 3 };

struct gpu {
	int (*load)(void **module_p, const void *text);
	int (*function)(void **function_p, void *module, const char *name);
	int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
		      unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,
		      void **params, void **more);
	int (*new_stream)(void **stream_p, unsigned flags, int priority);
	int (*end_stream)(void *stream);
	int (*query)(void *stream);
	int (*to_host)(void *to, uint64_t from, size_t bytes, void *stream);
	int (*from_host)(uint64_t to, const void *from, size_t bytes, void *stream);
	int (*pin)(void *p, size_t bytes, unsigned flags);
	int (*unpin)(void *p);
	void *pack, *step;            /* the kernels */
};

static void must(const char *what, int result)
{
	if (result)
		CkAbort("stencil: the device's driver: %s has failed: error %d", what, result);
}

/* Loaded, or the program would have no device's memory. */
static void *driver(void)
{
	const char *name = getenv("CK_DEVICE");
	void *library = dlopen(name && strchr(name, '/') ? name : "libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	if (!library)
		CkAbort("stencil: the device's driver is not loaded");
	return library;
}

static void find(void *library, const char *name, void *call_p)
{
	*(void **)call_p = dlsym(library, name);
	if (!*(void **)call_p)
		CkAbort("stencil: the device's driver has no %s", name);
}

struct gpu *gpu_open(void)
{
	struct gpu *g = calloc(1, sizeof *g);
	void *library = driver(), *module;

	if (!g)
		CkAbort("stencil: no memory for the device's driver");
	find(library, "cuModuleLoadData", &g->load);
	find(library, "cuModuleGetFunction", &g->function);
	find(library, "cuLaunchKernel", &g->launch);
	find(library, "cuStreamCreateWithPriority", &g->new_stream);
	find(library, "cuStreamDestroy_v2", &g->end_stream);
	find(library, "cuStreamQuery", &g->query);
	find(library, "cuMemcpyDtoHAsync_v2", &g->to_host);
	find(library, "cuMemcpyHtoDAsync_v2", &g->from_host);
	find(library, "cuMemHostRegister_v2", &g->pin);
	find(library, "cuMemHostUnregister", &g->unpin);
	must("loading the kernels", g->load(&module, stencil_ptx));
	must("finding a kernel", g->function(&g->pack, module, "stencil_pack"));
	must("finding a kernel", g->function(&g->step, module, "stencil_step"));
	return g;
}

/* The kernels stay until the process ends, as the driver does. */
void gpu_close(struct gpu *g) { free(g); }

void *gpu_stream(const struct gpu *g)
{
	void *stream;

	must("making a stream", g->new_stream(&stream, NONBLOCKING, 0));
	return stream;
}

void gpu_finish(const struct gpu *g, void *stream)
{
	int result;

	while ((result = g->query(stream)) == NOT_READY)
		;
	must("a kernel or a copy", result);
}

void gpu_stream_end(const struct gpu *g, void *stream)
{
	must("ending a stream", g->end_stream(stream));
}

static unsigned blocks(int64_t cells)
{
	return (unsigned)((cells + STENCIL_THREADS - 1) / STENCIL_THREADS);
}

void gpu_pack(const struct gpu *g, void *stream, struct stencil_pack p, int most_cells)
{
	void *params[] = { &p };

	must("launching a kernel", g->launch(g->pack, blocks(most_cells), STENCIL_SIDES, 1,
					     STENCIL_THREADS, 1, 1, 0, stream, params, NULL));
}

void gpu_step(const struct gpu *g, void *stream, struct stencil_step s)
{
	void *params[] = { &s };

	must("launching a kernel", g->launch(g->step, blocks((int64_t)s.nx * s.ny * s.nz), 1, 1,
					     STENCIL_THREADS, 1, 1, 0, stream, params, NULL));
}

void gpu_to_host(const struct gpu *g, void *stream, void *to, const void *from, size_t bytes)
{
	must("a copy to the host", g->to_host(to, (uintptr_t)from, bytes, stream));
}

void gpu_from_host(const struct gpu *g, void *stream, void *to, const void *from, size_t bytes)
{
	must("a copy to the device", g->from_host((uintptr_t)to, from, bytes, stream));
}

void gpu_pin(const struct gpu *g, void *pages, size_t bytes)
{
	must("pinning memory", g->pin(pages, bytes, PORTABLE_MAPPED));
}

void gpu_unpin(const struct gpu *g, void *pages) { must("unpinning memory", g->unpin(pages)); }
