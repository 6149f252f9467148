/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cu.h: the part of CUDA's driver interface that device channels need, in declarations of our own,
 * so that no CUDA is needed to build. tests/device/cuda_types.c compares them with cuda.h where
 * that is installed. The names with _v2 are those in the library; cuda.h hides them behind macros.
 */
#ifndef DEVICE_CU_H
#define DEVICE_CU_H

#include <stddef.h>
#include <stdint.h>

typedef int cu_result;                /* CUresult */
typedef uint64_t cu_ptr;              /* CUdeviceptr */
typedef struct cu_ctx_ *cu_ctx;
typedef struct cu_stream_ *cu_stream;
typedef struct cu_graph_ *cu_graph;
typedef struct cu_node_ *cu_node;
typedef struct cu_exec_ *cu_exec;
typedef struct cu_module_ *cu_module;
typedef struct cu_func_ *cu_func;
typedef uint64_t cu_handle;           /* CUmemGenericAllocationHandle */

/** CUipcMemHandle. */
struct cu_ipc {
	char bytes[64];
};

/** CUuuid. */
struct cu_uuid {
	unsigned char bytes[16];
};

/** One end of a CUDA_MEMCPY3D, of which only one row is used here. */
struct cu_copy_end {
	size_t x, y, z, lod;
	uint32_t type;                /* CU_MEMORY_... */
	const void *host;
	cu_ptr device;
	void *array, *reserved;
	size_t pitch, height;
};

/** CUDA_MEMCPY3D. */
struct cu_copy {
	struct cu_copy_end from, to;
	size_t width, height, depth;
};

/** CUstreamBatchMemOpParams: a wait or a write. */
struct cu_memop {
	uint32_t op;                  /* CU_OP_... */
	cu_ptr addr;
	uint64_t value;
	uint32_t flags;
	cu_ptr alias;
	uint64_t pad;
};

/** CUDA_BATCH_MEM_OP_NODE_PARAMS. */
struct cu_memop_node {
	cu_ctx ctx;
	uint32_t n;
	struct cu_memop *ops;
	uint32_t flags;
};

/** CUmemLocation. */
struct cu_place {
	uint32_t type;                /* CU_PLACE_DEVICE */
	int id;                       /* CUdevice */
};

/** CUmemAllocationProp: what cuMemCreate was told. */
struct cu_prop {
	uint32_t type;                /* CU_ALLOCATION_PINNED */
	uint32_t handles;             /* CU_HANDLE_...: as what it may be exported */
	struct cu_place place;
	void *windows;
	unsigned char compression, rdma;
	uint16_t usage;
	unsigned char reserved[4];
};

/** CUmemAccessDesc. */
struct cu_access {
	struct cu_place place;
	uint32_t flags;               /* CU_ACCESS_BOTH */
};

enum {
	CU_OK = 0,
	CU_INVALID_VALUE = 1,
	CU_NO_MEMORY = 2,
	CU_NO_DEVICE = 100,
	CU_INVALID_CONTEXT = 201,
	CU_NOT_READY = 600,
	CU_REGISTERED = 712,          /* host memory is registered already */

	CU_OP_WAIT64 = 4,
	CU_OP_WRITE64 = 5,
	CU_WAIT_GEQ = 0,

	CU_MEMORY_DEVICE = 2,
	CU_STREAM_NONBLOCKING = 1,
	CU_REGISTER_PORTABLE = 1,
	CU_REGISTER_MAPPED = 2,
	CU_IPC_LAZY_PEER = 1,

	CU_PLACE_DEVICE = 1,
	CU_ALLOCATION_PINNED = 1,
	CU_HANDLE_FD = 1,             /* a file descriptor */
	CU_ACCESS_BOTH = 3,           /* reads and writes */

	CU_POINTER_MEMORY = 2,        /* attributes of a pointer */
	CU_POINTER_ORDINAL = 9,
	CU_POINTER_IPC = 10,

	CU_DEVICE_MEMOPS64 = 122,     /* attributes of a device */
	CU_DEVICE_MPS = 133,
};

/** All functions that every driver must have: X(name in the library, parameters). */
#define CU_EACH(X)                                                                             \
	X(cuInit, (unsigned flags))                                                            \
	X(cuDeviceGetCount, (int *n_p))                                                        \
	X(cuDeviceGet, (int *device_p, int ordinal))                                           \
	X(cuDeviceGetAttribute, (int *value_p, int attribute, int device))                     \
	X(cuDeviceGetUuid_v2, (struct cu_uuid *uuid_p, int device))                            \
	X(cuDevicePrimaryCtxRetain, (cu_ctx *ctx_p, int device))                               \
	X(cuDevicePrimaryCtxRelease_v2, (int device))                                          \
	X(cuCtxGetCurrent, (cu_ctx *ctx_p))                                                    \
	X(cuCtxSetCurrent, (cu_ctx ctx))                                                       \
	X(cuCtxGetStreamPriorityRange, (int *least_p, int *greatest_p))                        \
	X(cuPointerGetAttribute, (void *value_p, int attribute, cu_ptr p))                     \
	X(cuMemGetAddressRange_v2, (cu_ptr *base_p, size_t *bytes_p, cu_ptr p))                \
	X(cuMemAlloc_v2, (cu_ptr *p, size_t bytes))                                            \
	X(cuMemFree_v2, (cu_ptr p))                                                            \
	X(cuIpcGetMemHandle, (struct cu_ipc *handle_p, cu_ptr p))                              \
	X(cuIpcOpenMemHandle_v2, (cu_ptr *p, struct cu_ipc handle, unsigned flags))            \
	X(cuIpcCloseMemHandle, (cu_ptr p))                                                     \
	X(cuMemHostRegister_v2, (void *p, size_t bytes, unsigned flags))                       \
	X(cuMemHostUnregister, (void *p))                                                      \
	X(cuMemHostGetDevicePointer_v2, (cu_ptr *device_p, void *p, unsigned flags))           \
	X(cuStreamCreateWithPriority, (cu_stream *stream_p, unsigned flags, int priority))     \
	X(cuStreamDestroy_v2, (cu_stream stream))                                              \
	X(cuStreamQuery, (cu_stream stream))                                                   \
	X(cuStreamWriteValue64_v2, (cu_stream stream, cu_ptr p, uint64_t value, unsigned flags)) \
	X(cuStreamWaitValue64_v2, (cu_stream stream, cu_ptr p, uint64_t value, unsigned flags)) \
	X(cuMemcpyDtoDAsync_v2, (cu_ptr to, cu_ptr from, size_t bytes, cu_stream stream))      \
	X(cuMemcpyDtoHAsync_v2, (void *to, cu_ptr from, size_t bytes, cu_stream stream))       \
	X(cuMemcpyHtoDAsync_v2, (cu_ptr to, const void *from, size_t bytes, cu_stream stream)) \
	X(cuGraphCreate, (cu_graph *graph_p, unsigned flags))                                  \
	X(cuGraphAddMemcpyNode, (cu_node *node_p, cu_graph graph, const cu_node *after,        \
				 size_t n_after, const struct cu_copy *copy, cu_ctx ctx))      \
	X(cuGraphAddBatchMemOpNode, (cu_node *node_p, cu_graph graph, const cu_node *after,    \
				     size_t n_after, const struct cu_memop_node *ops))         \
	X(cuGraphExecBatchMemOpNodeSetParams, (cu_exec exec, cu_node node,                     \
					       const struct cu_memop_node *ops))               \
	X(cuGraphInstantiateWithFlags, (cu_exec *exec_p, cu_graph graph,                       \
					unsigned long long flags))                             \
	X(cuGraphLaunch, (cu_exec exec, cu_stream stream))                                     \
	X(cuGraphExecDestroy, (cu_exec exec))                                                  \
	X(cuGraphDestroy, (cu_graph graph))                                                    \
	X(cuModuleLoadData, (cu_module *module_p, const void *text))                           \
	X(cuModuleGetFunction, (cu_func *func_p, cu_module module, const char *name))          \
	X(cuLaunchKernel, (cu_func func, unsigned grid_x, unsigned grid_y, unsigned grid_z,    \
			   unsigned block_x, unsigned block_y, unsigned block_z,               \
			   unsigned shared_bytes, cu_stream stream, void **params, void **more)) \
	X(cuGetErrorName, (cu_result result, const char **name_p))

/** Those for memory that was made by cuMemCreate, without which it is not shared. */
#define CU_EACH_OF_VMM(X)                                                                      \
	X(cuMemRetainAllocationHandle, (cu_handle *handle_p, void *p))                         \
	X(cuMemGetAllocationPropertiesFromHandle, (struct cu_prop *prop_p, cu_handle handle))  \
	X(cuMemExportToShareableHandle, (void *fd_p, cu_handle handle, uint32_t type,          \
					 unsigned long long flags))                            \
	X(cuMemImportFromShareableHandle, (cu_handle *handle_p, void *fd, uint32_t type))      \
	X(cuMemAddressReserve, (cu_ptr *p, size_t bytes, size_t alignment, cu_ptr hint,        \
				unsigned long long flags))                                     \
	X(cuMemAddressFree, (cu_ptr p, size_t bytes))                                          \
	X(cuMemMap, (cu_ptr p, size_t bytes, size_t offset, cu_handle handle,                  \
		     unsigned long long flags))                                                \
	X(cuMemUnmap, (cu_ptr p, size_t bytes))                                                \
	X(cuMemSetAccess, (cu_ptr p, size_t bytes, const struct cu_access *access, size_t n))  \
	X(cuMemRelease, (cu_handle handle))

#endif
