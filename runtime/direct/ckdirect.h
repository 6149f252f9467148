/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ckdirect.h: CkDirect channels, persistent one-sided transfers between two PEs.
 *
 * A channel moves the same number of bytes from one send buffer to one receive buffer, again and
 * again, without a message, a copy on the receiving side, a turn of the scheduler or
 * synchronisation. It fits programs whose iterations already tell the sender that the receiver is
 * ready. The runtime does not ensure that; it checks it in checked mode (CK_CHECK=1) and in
 * sequence mode.
 *
 *   receiver: h = CkDirect_createHandle(buf, bytes, oob, fn, data)   -> armed
 *             h travels to the sender inside an entry method call
 *   sender:   CkDirect_assocLocalBuffer(&h, src, bytes), then per iteration CkDirect_put(&h)
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

/** A channel's name: plain data of 256 bytes that may be copied, stored and sent inside messages.
 *
 * All copies name the same channel. The copy that was bound (CkDirect_assocLocalBuffer), and copies
 * of that one, name the sender's end; the others name the receiver's. All fields are private. A
 * handle of zeros names nothing yet. */
typedef struct CkDirectHandle {
	uint64_t private_[32];
} CkDirectHandle;

/** Called on the receiving PE, from its scheduler, when the data of one put is complete. */
typedef void (*CkDirectFn)(void *data);

/** Create a channel into `recv_buf`. It is armed: one put may come at once.
 *
 * Called   on the receiving PE. The channel stays there.
 * Shape    recv_buf + bytes must be 8-aligned and bytes >= 8. `oob` is an 8-byte pattern that
 *          the last 8 bytes of the data never have (compared as bits: a NaN is fine). It is
 *          written there now.
 * Owner    recv_buf stays the user's memory, and must outlive the channel. From now until fn
 *          runs, only the sender writes it. Puts are fastest into memory from CkDirect_alloc.
 * Done     fn(data) runs from the scheduler of this PE after each put has arrived.
 * Misuse   a misaligned or too small buffer aborts, naming the rule.
 * Source   CkDirect_createHandle, section 2 of the paper. */
CkDirectHandle CkDirect_createHandle(void *recv_buf, size_t bytes, uint64_t oob, CkDirectFn fn,
				     void *data);

/** The same, but fn gets a private copy of the `data_bytes` (<= 128) bytes at `data`. The copy
 * lives as long as the channel. CkDirect_createHandleCb is built on it. */
CkDirectHandle CkDirect_createHandleData(void *recv_buf, size_t bytes, uint64_t oob,
					 CkDirectFn fn, const void *data, size_t data_bytes);

/** The same, but a sequence word beside the buffer tells the arrival, not a pattern inside it
 * (CKDIRECT_SEQ). The buffer may have any size >= 1 and any alignment, and the data may end in any
 * value. A second put before the first was consumed is always detected. */
CkDirectHandle CkDirect_createHandleSeq(void *recv_buf, size_t bytes, CkDirectFn fn, void *data);

/** As CkDirect_createHandle, with arrival reported to a CkCallback (needs ck.h). */
#define CkDirect_createHandleCb(recv_buf, bytes, oob, cb)                                \
	CkDirect_createHandleData((recv_buf), (bytes), (oob), CkCallbackFn,              \
				  (const CkCallback[1]){cb}, sizeof(CkCallback))

/** Bind the sending end to a local buffer, after the handle came in a message.
 *
 * Called   once per channel, on the PE that will put. Chooses the path (CkDirect_path).
 * Shape    `bytes` is the size of the data at send_buf, and must be the size with which the
 *          receiver created the channel. The end of the data must be 8-aligned, except in sequence
 *          mode. One buffer may serve many handles.
 * Owner    send_buf stays the user's. The sending end lives until CkDirect_destroyHandle on
 *          this handle.
 * Misuse   a handle that is not a channel's name, was changed on its way, or is bound already
 *          aborts, as does another size.
 * Source   CkDirect_assocLocalBuffer of Charm++'s CkDirect; CkDirect_assocLocal in the paper. */
void CkDirect_assocLocalBuffer(CkDirectHandle *h, const void *send_buf, size_t bytes);

/** The same without a size, so nothing is checked: each put reads as many bytes as the receiver
 * created the channel with. Prefer CkDirect_assocLocalBuffer. */
void CkDirect_assocLocal(CkDirectHandle *h, const void *send_buf);

/** Put from another buffer from now on: for two send buffers in turn, one of which is filled while
 * the other is being sent.
 *
 * Called   on the PE that bound the channel, before the put, when the last put is locally complete.
 *          It sends nothing, and nothing is registered: a network that registers send buffers does
 *          so at the first put from each and remembers it.
 * Shape    as for CkDirect_assocLocalBuffer. Where the sending end is strided, send_buf is the new
 *          base, the shape stays, and `bytes` is still the channel's size.
 * Owner    the old buffer is the user's again. Copies of the handle made before this call cannot
 *          put any more: the buffer is part of the handle.
 * Misuse   aborts as CkDirect_assocLocalBuffer and CkDirect_put do. */
void CkDirect_rebind(CkDirectHandle *h, const void *send_buf, size_t bytes);

/** Blocks of `block_bytes` bytes, `stride_bytes` from the beginning of one to that of the next.
 * `blocks` of them make a plane. There are `planes` planes (0 means 1), `plane_stride_bytes` apart.
 * Of a field double u[X][Y][Z], from &u[x][y][z]:
 *
 *	one x plane   {.block_bytes = 8 * Z, .blocks = Y, .stride_bytes = 8 * Z}
 *	one y plane   {.block_bytes = 8 * Z, .blocks = X, .stride_bytes = 8 * Y * Z}
 *	one z plane   {.block_bytes = 8, .blocks = Y, .stride_bytes = 8 * Z,
 *	               .planes = X, .plane_stride_bytes = 8 * Y * Z}
 *
 * Fewer blocks make a part of each. Strides may be negative, and blocks may overlap. */
typedef struct CkDirectStrides {
	size_t block_bytes, blocks;
	ptrdiff_t stride_bytes;
	size_t planes;
	ptrdiff_t plane_stride_bytes;
} CkDirectStrides;

/** Bind the sending end to data that does not lie in one piece: a put gathers it, in order,
 * straight into the receive buffer.
 *
 * Called   instead of CkDirect_assocLocalBuffer, with the same rules.
 * Shape    `shape` describes exactly the channel's size in bytes; nothing need be aligned.
 * Owner    the data stays the user's; a put has read all of it when it returns. On the rma and
 *          message paths it gathers into memory of the runtime, as large as the channel's data,
 *          which lives until CkDirect_destroyHandle.
 * Misuse   another size aborts, as does the misuse of CkDirect_assocLocalBuffer. */
void CkDirect_assocLocalStrided(CkDirectHandle *h, const void *base, CkDirectStrides shape);

/** Start one transfer of the whole buffer.
 *
 * Called   on the PE that bound the send buffer, from an entry method or a callback.
 *          Never blocks, allocates nothing, takes no lock.
 * Owner    the send buffer is the runtime's until local completion, which CkDirect_putData
 *          reports; on the memory path, and of strided data on any path, that is when put
 *          returns. The receive buffer is the runtime's from ready until the receiver's
 *          function runs.
 * Done     remote: the receiver's function runs on its PE. Local completion says nothing
 *          about remote completion.
 * Misuse   an unbound or destroyed handle, the wrong PE, a put while the last one is not yet
 *          locally complete, or data whose last word is the out-of-band value aborts.
 *          A put before the receiver said ready, or into a channel that it has destroyed, aborts
 *          in checked mode (CK_CHECK=1), and otherwise wherever the receiver's runtime can see it;
 *          docs/CHANNELS.md tells where.
 * Errors   none returned: a broken transport ends the job. */
void CkDirect_put(CkDirectHandle *h);

/** As CkDirect_put. When the send buffer may be reused (local completion), the scheduler of this PE
 * calls `fn` with a pointer to a copy of the `data_bytes` (<= 128) bytes at `data`. */
void CkDirect_putData(CkDirectHandle *h, CkDirectFn fn, const void *data, size_t data_bytes);

/** As CkDirect_put, with local completion reported to a CkCallback (needs ck.h). */
#define CkDirect_putCb(h, cb) \
	CkDirect_putData((h), CkCallbackFn, (const CkCallback[1]){cb}, sizeof(CkCallback))

/** Arm the channel for the next put: CkDirect_readyMark and CkDirect_readyPollQ in one.
 *
 * Called   on the receiving PE, also in the arrival function. It sends nothing: the program
 *          itself must order this call before the sender's next put.
 * Misuse   ready while the channel is armed: aborts in checked mode, else does nothing. */
void CkDirect_ready(CkDirectHandle *h);

/** The first half: the buffer is free for the next put, but the PE does not look for it yet. Call
 * it as soon as the data has been used. (CkDirect_ReadyMark in the paper.) */
void CkDirect_readyMark(CkDirectHandle *h);

/** The second half: the PE looks for arrivals from now on, and finds one that has come since the
 * mark at once. Call it when the program enters the phase in which it expects data: channels that
 * are not polled cost nothing. (CkDirect_ReadyPollQ in the paper.) */
void CkDirect_readyPollQ(CkDirectHandle *h);

/** A set of channels with one function.
 *
 * CkDirect_createSet makes a set of the receiving ends that h[0] to h[n - 1] name. From then on
 * their own functions are not called any more: fn(data) runs once, when each has had a put.
 * CkDirect_readySet then arms all of them for the next round, as CkDirect_ready does for one;
 * CkDirect_readyMarkSet and CkDirect_readyPollQSet are its halves.
 *
 * Called   on the receiving PE, before the first put is consumed: mostly where the channels are
 *          made. The handles may travel to their senders before or after.
 * Owner    the set is the runtime's until CkDirect_destroySet, which also ends all of its channels,
 *          by the rules of CkDirect_destroyHandle. It may be called in fn.
 * Done     fn(data) runs from the scheduler of this PE, after the last put of the round.
 *          CkDirect_setRounds says how often it has been called: 1 in the first call.
 * Misuse   a channel in two sets, CkDirect_destroyHandle of one in a set, and a set without
 *          channels abort. In checked mode CkDirect_ready of one channel aborts while others of its
 *          round have no put yet: the round would be complete without them. */
typedef struct CkDirectSet CkDirectSet;
CkDirectSet *CkDirect_createSet(CkDirectHandle *const *h, int n, CkDirectFn fn, void *data);
void CkDirect_readySet(CkDirectSet *set);
void CkDirect_readyMarkSet(CkDirectSet *set);
void CkDirect_readyPollQSet(CkDirectSet *set);
uint64_t CkDirect_setRounds(const CkDirectSet *set);
void CkDirect_destroySet(CkDirectSet *set);

/** Destroy one end of the channel: the one that `h` names.
 *
 * Called   on the PE of that end, also in the channel's own function. At the receiving end the
 *          program must know that no put is on its way; at the sending end the last put must be
 *          locally complete.
 * Done     at the receiving end no function is called any more, and the buffer is the user's. */
void CkDirect_destroyHandle(CkDirectHandle *h);

/** Memory for receive buffers that other processes of the host can write directly, 64-byte aligned
 * and zeroed. NULL when there is none left. Any PE may free it, after the channels into it have
 * been destroyed: in checked mode CkDirect_free aborts if a channel of its PE is still there. */
void *CkDirect_alloc(size_t bytes);
void CkDirect_free(void *p);

/** How the puts of this channel travel:
 *
 *	"memory"    a copy, then a release store, through shared memory
 *	"rma"       the network writes the body, then, after a flush, the last word
 *	"message"   an active message
 *	"unbound"   not at all, before CkDirect_assocLocalBuffer
 *
 * CK_DIRECT_PATH=memory, rma or message asks for one of them, which is taken where possible. */
const char *CkDirect_path(const CkDirectHandle *h);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
