/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ckdevice.h: CkDirect channels whose buffers are in a device's memory (CUDA).
 *
 *   receiver: h = CkDirect_createHandleDevice(dbuf, bytes, fn, data)
 *   sender:   CkDirect_assocLocalDevice(&h, dsrc, bytes), then CkDirect_put(&h) per iteration
 *
 * One end may be in host memory: a channel of CkDirect_createHandle or CkDirect_createHandleSeq
 * may be bound with CkDirect_assocLocalDevice, and one of CkDirect_createHandleDevice with
 * CkDirect_assocLocalBuffer. All other calls of ckdirect.h are as for every channel. The rules
 * are, too: with work in streams, "the buffer has been used" means that the kernels which read it
 * have finished, or that a stream says so (CkDirect_readyStream).
 *
 * A stream is a CUstream or a cudaStream_t, as a pointer, of the device in whose memory this end's
 * buffer is, and of its primary context, as cudaStreamCreate makes it. The driver is loaded at the
 * first of these calls, and never in a job without them. docs/CHANNELS.md has a chapter.
 */
#ifndef CKDEVICE_H
#define CKDEVICE_H

#include "../direct/ckdirect.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** As CkDirect_createHandleSeq, into a buffer in a device's memory.
 *
 * Shape    any size >= 1 and any alignment; all of it in one allocation, or in mappings of cuMemMap
 *          one behind the other.
 * Owner    dbuf stays the user's, and must be freed after the channel has been destroyed and every
 *          sender has destroyed its end. Memory of cuMemCreate that other processes have mapped
 *          is held by them until then.
 * Misuse   memory that is no device's aborts, as does a job without a driver or a device, and
 *          CkDirect_createSet with such a channel. */
CkDirectHandle CkDirect_createHandleDevice(void *dbuf, size_t bytes, CkDirectFn fn, void *data);

/** As CkDirect_assocLocalBuffer, of a send buffer in a device's memory. */
void CkDirect_assocLocalDevice(CkDirectHandle *h, const void *dbuf, size_t bytes);

/** As CkDirect_put, when all that is queued in `stream` is done. What is queued there later may
 * overwrite the send buffer.
 *
 * Called   on the PE that bound the channel with CkDirect_assocLocalDevice. It returns at once: up
 *          to 64 puts of a channel may be under way.
 * Misuse   a send buffer in host memory, and more puts, abort. */
void CkDirect_putStream(CkDirectHandle *h, void *stream);

/** The same for n channels, in one launch where the receive buffers can be written from here: for
 * the neighbours of a stencil. */
void CkDirect_putAllStream(CkDirectHandle *const *h, int n, void *stream);

/** What is queued in `stream` later waits for the put that the channel waits for now; after
 * CkDirect_readyStream has been called ahead, for the one after it. The processor waits for
 * nothing, and the channel's function runs as always.
 *
 * Called   on the receiving PE, of a channel of CkDirect_createHandleDevice.
 * Misuse   aborts where the driver cannot wait in streams, and with CUDA_DEVICE_MAX_CONNECTIONS=1,
 *          where a waiting stream holds up all others. */
void CkDirect_waitStream(const CkDirectHandle *h, void *stream);

/** As CkDirect_ready, when `stream` gets here.
 *
 * Called   as CkDirect_ready, or ahead: before the put's function has run, if CkDirect_waitStream
 *          was called for that put. Then the function runs later, when the put is seen, and calls
 *          no ready.
 * Owner    the stream must have got here when the job ends, or the channel.
 * Misuse   a call ahead without CkDirect_waitStream, and more than 64 of them, abort. */
void CkDirect_readyStream(CkDirectHandle *h, void *stream);

/** Memory of the device for buffers of channels, 256-byte aligned, not zeroed; cut from large
 * allocations that other processes can map. Of the device of the calling thread's current context,
 * else of one that the runtime chooses by the number of the process on its host. Aborts if there
 * is no driver; NULL when there is no memory left. Any PE of the process may free it. */
void *CkDirect_allocDevice(size_t bytes);
void CkDirect_freeDevice(void *dbuf);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
