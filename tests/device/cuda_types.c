/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_types.c: compiles where cuda.h is installed and runtime/device/cu.h agrees with it
 * (types.sh). */
#include <cuda.h>
#include <stddef.h>

#include "../../runtime/device/cu.h"

#define SIZE(own, theirs) \
	_Static_assert(sizeof(own) == sizeof(theirs) && _Alignof(own) == _Alignof(theirs), #theirs)
#define VALUE(own, theirs) _Static_assert((int)(own) == (int)(theirs), #theirs)
#define PLACE(own, member, theirs, their_member) \
	_Static_assert(offsetof(own, member) == offsetof(theirs, their_member), #theirs "." #their_member)

SIZE(cu_result, CUresult);
SIZE(cu_ptr, CUdeviceptr);
SIZE(struct cu_ipc, CUipcMemHandle);
SIZE(struct cu_uuid, CUuuid);
SIZE(struct cu_copy, CUDA_MEMCPY3D);
SIZE(struct cu_memop, CUstreamBatchMemOpParams);
SIZE(struct cu_memop_node, CUDA_BATCH_MEM_OP_NODE_PARAMS);
SIZE(cu_handle, CUmemGenericAllocationHandle);
SIZE(struct cu_place, CUmemLocation);
SIZE(struct cu_prop, CUmemAllocationProp);
SIZE(struct cu_access, CUmemAccessDesc);
PLACE(struct cu_place, id, CUmemLocation, id);
PLACE(struct cu_prop, handles, CUmemAllocationProp, requestedHandleTypes);
PLACE(struct cu_prop, place, CUmemAllocationProp, location);
PLACE(struct cu_prop, windows, CUmemAllocationProp, win32HandleMetaData);
PLACE(struct cu_prop, compression, CUmemAllocationProp, allocFlags.compressionType);
PLACE(struct cu_prop, usage, CUmemAllocationProp, allocFlags.usage);
PLACE(struct cu_access, flags, CUmemAccessDesc, flags);
PLACE(struct cu_copy, from.type, CUDA_MEMCPY3D, srcMemoryType);
PLACE(struct cu_copy, from.host, CUDA_MEMCPY3D, srcHost);
PLACE(struct cu_copy, from.device, CUDA_MEMCPY3D, srcDevice);
PLACE(struct cu_copy, from.pitch, CUDA_MEMCPY3D, srcPitch);
PLACE(struct cu_copy, to.type, CUDA_MEMCPY3D, dstMemoryType);
PLACE(struct cu_copy, to.device, CUDA_MEMCPY3D, dstDevice);
PLACE(struct cu_copy, to.pitch, CUDA_MEMCPY3D, dstPitch);
PLACE(struct cu_copy, to.height, CUDA_MEMCPY3D, dstHeight);
PLACE(struct cu_copy, width, CUDA_MEMCPY3D, WidthInBytes);
PLACE(struct cu_copy, height, CUDA_MEMCPY3D, Height);
PLACE(struct cu_copy, depth, CUDA_MEMCPY3D, Depth);
PLACE(struct cu_memop, addr, CUstreamBatchMemOpParams, writeValue.address);
PLACE(struct cu_memop, value, CUstreamBatchMemOpParams, writeValue.value64);
PLACE(struct cu_memop, flags, CUstreamBatchMemOpParams, waitValue.flags);
PLACE(struct cu_memop, alias, CUstreamBatchMemOpParams, waitValue.alias);
PLACE(struct cu_memop_node, n, CUDA_BATCH_MEM_OP_NODE_PARAMS, count);
PLACE(struct cu_memop_node, ops, CUDA_BATCH_MEM_OP_NODE_PARAMS, paramArray);
PLACE(struct cu_memop_node, flags, CUDA_BATCH_MEM_OP_NODE_PARAMS, flags);
VALUE(CU_OK, CUDA_SUCCESS);
VALUE(CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
VALUE(CU_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
VALUE(CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
VALUE(CU_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
VALUE(CU_NOT_READY, CUDA_ERROR_NOT_READY);
VALUE(CU_REGISTERED, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
VALUE(CU_OP_WAIT64, CU_STREAM_MEM_OP_WAIT_VALUE_64);
VALUE(CU_OP_WRITE64, CU_STREAM_MEM_OP_WRITE_VALUE_64);
VALUE(CU_WAIT_GEQ, CU_STREAM_WAIT_VALUE_GEQ);
VALUE(CU_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE);
VALUE(CU_STREAM_NONBLOCKING, CU_STREAM_NON_BLOCKING);
VALUE(CU_REGISTER_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);
VALUE(CU_REGISTER_MAPPED, CU_MEMHOSTREGISTER_DEVICEMAP);
VALUE(CU_IPC_LAZY_PEER, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
VALUE(CU_PLACE_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
VALUE(CU_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
VALUE(CU_HANDLE_FD, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
VALUE(CU_ACCESS_BOTH, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
VALUE(CU_POINTER_MEMORY, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
VALUE(CU_POINTER_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
VALUE(CU_POINTER_IPC, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
VALUE(CU_DEVICE_MEMOPS64, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);
#if CUDA_VERSION >= 12050
VALUE(CU_DEVICE_MPS, CU_DEVICE_ATTRIBUTE_MPS_ENABLED);
#endif

