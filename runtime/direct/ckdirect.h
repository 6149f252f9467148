/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ckdirect.h: CkDirect channels, persistent one-sided transfers between two PEs.
 *
 * A channel moves the same number of bytes from one send buffer to one receive buffer,
 * again and again: no message, no copy on the receiving side, no scheduler cost, no
 * synchronisation. It fits programs whose iterations already tell the sender that the
 * receiver is ready; it does not create that knowledge.
 *
 *   receiver: h = CkDirect_createHandle(buf, bytes, oob, fn, data)   -> armed
 *             h travels to the sender inside an entry method call
 *   sender:   CkDirect_assocLocal(&h, src), then per iteration CkDirect_put(&h)
 *   receiver: fn(data) runs when the data is there; when the buffer has been used,
 *             CkDirect_ready(&h) arms the channel again
 *
 * Source: Bohm et al., "CkDirect: Unsynchronized One-Sided Communication in a
 * Message-Driven Paradigm", P2S2 2009.
 */
#ifndef CKDIRECT_H
#define CKDIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** A channel's name: a POD of 256 bytes that may be copied, stored and sent inside messages.
 *
 * The receiver's copies and the sender's copies name the same channel; a copy on which
 * CkDirect_assocLocal was called is the sender's end. All fields are private. */
typedef struct CkDirectHandle {
	uint64_t private_[32];
} CkDirectHandle;

/** Called on the receiving PE, from its scheduler, when the data of one put is complete. */
typedef void (*CkDirectFn)(void *data);

/** Create a channel into `recv_buf`; it is armed: one put may come at once.
 *
 * Called   on the receiving PE, which the channel stays bound to.
 * Shape    recv_buf + bytes must be 8-aligned and bytes >= 8. `oob` is an 8-byte pattern that
 *          the last 8 bytes of the data never take (compared as bits: a NaN is fine);
 *          it is written there now.
 * Owner    recv_buf stays the user's memory; from now until fn runs only the sender writes
 *          it. It must outlive the channel. Memory from CkDirect_alloc is the fast path.
 * Done     fn(data) runs from the scheduler of this PE after each put has arrived.
 * Misuse   a misaligned or too small buffer aborts, naming the rule.
 * Source   CkDirect_createHandle, section 2 of the paper. */
CkDirectHandle CkDirect_createHandle(void *recv_buf, size_t bytes, uint64_t oob, CkDirectFn fn,
				     void *data);

/** The same, but fn gets a private copy of `data_bytes` (<= 128) bytes at `data`, which lives
 * as long as the channel. CkDirect_createHandleCb is built on it. */
CkDirectHandle CkDirect_createHandleData(void *recv_buf, size_t bytes, uint64_t oob,
					 CkDirectFn fn, const void *data, size_t data_bytes);

/** The same, with arrival told by a sequence word beside the buffer instead of a pattern
 * inside it (CKDIRECT_SEQ): any size >= 1, any alignment, no forbidden value, and a second
 * put before the first was consumed is always detected. */
CkDirectHandle CkDirect_createHandleSeq(void *recv_buf, size_t bytes, CkDirectFn fn, void *data);

/** As CkDirect_createHandle, with arrival reported to a CkCallback (needs ck.h). */
#define CkDirect_createHandleCb(recv_buf, bytes, oob, cb)                                \
	CkDirect_createHandleData((recv_buf), (bytes), (oob), CkCallbackFn,              \
				  (const CkCallback[1]){cb}, sizeof(CkCallback))

/** Bind the sending end to a local buffer, after the handle came in a message.
 *
 * Called   once per channel, on the PE that will put. Chooses the path (CkDirect_path).
 * Owner    send_buf stays the user's; it must hold the channel's size in bytes and be
 *          8-aligned at its end in pattern mode. One buffer may serve many handles. The
 *          sending end lives until CkDirect_destroyHandle on this handle.
 * Misuse   a handle that is not a channel's name, or is bound already, aborts. */
void CkDirect_assocLocal(CkDirectHandle *h, const void *send_buf);

/** Blocks of `block_bytes` bytes, `stride_bytes` from the beginning of one to that of the next;
 * `blocks` of them make a plane, and `planes` planes (0 is taken for 1) lie `plane_stride_bytes`
 * apart. Of a field double u[X][Y][Z], from &u[x][y][z]:
 *
 *	one x plane   {.block_bytes = 8 * Z, .blocks = Y, .stride_bytes = 8 * Z}
 *	one y plane   {.block_bytes = 8 * Z, .blocks = X, .stride_bytes = 8 * Y * Z}
 *	one z plane   {.block_bytes = 8, .blocks = Y, .stride_bytes = 8 * Z,
 *	               .planes = X, .plane_stride_bytes = 8 * Y * Z}
 *
 * and with fewer blocks a part of each. Strides may be negative, and blocks may overlap. */
typedef struct CkDirectStrides {
	size_t block_bytes, blocks;
	ptrdiff_t stride_bytes;
	size_t planes;
	ptrdiff_t plane_stride_bytes;
} CkDirectStrides;

/** Bind the sending end to data that does not lie in one piece: a put gathers it, in order,
 * straight into the receive buffer.
 *
 * Called   instead of CkDirect_assocLocal, with the same rules.
 * Shape    `shape` describes exactly the channel's size in bytes; nothing need be aligned.
 * Owner    what lies there stays the user's; put has read all of it when it returns. On the rma
 *          and message paths it was copied into memory of the runtime, as much as the channel
 *          moves, which lives until CkDirect_destroyHandle.
 * Misuse   another size aborts, as does what CkDirect_assocLocal aborts for. */
void CkDirect_assocLocalStrided(CkDirectHandle *h, const void *base, CkDirectStrides shape);

/** Start one transfer of the whole buffer.
 *
 * Called   on the PE that bound the send buffer, from an entry method or a callback.
 *          Never blocks, allocates nothing, takes no lock.
 * Owner    the send buffer is the runtime's until local completion (CkDirect_putData; on the
 *          memory path, and strided on any path: when put returns); the receive buffer is the runtime's from ready
 *          until the receiver's function runs.
 * Done     remote: the receiver's function runs on its PE. Local completion says nothing
 *          about remote completion.
 * Misuse   an unbound or destroyed handle, the wrong PE, a put while the last one is not yet
 *          locally complete, or data whose last word is the out-of-band value aborts.
 *          Putting again before the receiver said ready: checked mode (CK_CHECK=1), and
 *          always in sequence mode.
 * Errors   none returned: a broken transport ends the job. */
void CkDirect_put(CkDirectHandle *h);

/** As CkDirect_put; `fn` gets a pointer to a copy of `data_bytes` (<= 128) bytes at `data`,
 * on this PE, from the scheduler, once the send buffer may be reused (local completion). */
void CkDirect_putData(CkDirectHandle *h, CkDirectFn fn, const void *data, size_t data_bytes);

/** As CkDirect_put, with local completion reported to a CkCallback (needs ck.h). */
#define CkDirect_putCb(h, cb) \
	CkDirect_putData((h), CkCallbackFn, (const CkCallback[1]){cb}, sizeof(CkCallback))

/** Arm the channel for the next put: CkDirect_readyMark and CkDirect_readyPollQ.
 * No message, no synchronisation: the program itself must order this before the sender's
 * next put. Receiving PE; may be called in the arrival function. Ready while armed is
 * caught in checked mode. */
void CkDirect_ready(CkDirectHandle *h);

/** First half: the buffer is free for the next put; nothing is polled yet. Call it as soon
 * as the data has been used. (CkDirect_ReadyMark in the paper.) */
void CkDirect_readyMark(CkDirectHandle *h);

/** Second half: look for arrivals from now on; one that came since the mark is found at
 * once. Call it when the program enters the phase in which data is expected: channels
 * that are not polled cost nothing. (CkDirect_ReadyPollQ in the paper.) */
void CkDirect_readyPollQ(CkDirectHandle *h);

/** End this side's end of the channel. Receiver: no callback comes any more, the buffer is
 * the user's again; the program must know that no put is on its way. Sender: after the
 * last put's local completion. Allowed inside the channel's own callback. */
void CkDirect_destroyHandle(CkDirectHandle *h);

/** Memory for receive buffers that other processes of the host can write directly:
 * 64-byte aligned, zeroed. NULL when there is none left. Any PE may free it. */
void *CkDirect_alloc(size_t bytes);
void CkDirect_free(void *p);

/** How this channel's puts travel; "memory" (1: copy, then a release store through shared
 * memory), "rma" (2: body, flush, last word), "message" (3: active message), or "unbound"
 * before CkDirect_assocLocal. CK_DIRECT_PATH=memory|rma|message forces one where possible. */
const char *CkDirect_path(const CkDirectHandle *h);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
