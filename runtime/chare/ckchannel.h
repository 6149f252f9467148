/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ckchannel.h: named channels, which follow both of their ends when elements of arrays move.
 *
 * A channel as in ckdirect.h belongs to two PEs: neither end can move, and its handle must be sent
 * to the other end. A named channel belongs to two elements. Its name is the receiving element, an
 * entry method, the sending element and a number, the tag. Each end states this name and its
 * buffer, in any order; the runtime joins the two, and joins them again wherever CkMigrateMe or a
 * load balancer takes them. A put, a ready and the search for arrivals are those of ckdirect.h.
 *
 * In the .ci file the receiving array has an entry method for the arrival. It has one parameter,
 * the tag:
 *
 *	array [1D] Cell {
 *		entry Cell();
 *		entry [arrival] void side(int tag);
 *	};
 *
 * ckci generates these functions:
 *
 *	void Cell_on_side(Cell *self, int tag);                   you write it: a put has arrived
 *	CkChannel *Cell_side_from(Cell *self, CProxyElement_X from, int tag, void *buf,
 *	                          size_t bytes);
 *	CkChannel *Cell_side_from_oob(Cell *self, CProxyElement_X from, int tag, void *buf,
 *	                              size_t bytes, uint64_t oob);
 *	CkChannel *Cell_side_to(const void *self, CProxyElement_Cell to, int tag, const void *buf,
 *	                        size_t bytes);
 *	CkChannel *Cell_side_to_strided(const void *self, CProxyElement_Cell to, int tag,
 *	                                const void *base, struct CkDirectStrides shape);
 *	CkChannel *Cell_side_from_device(Cell *self, CProxyElement_X from, int tag, void *dbuf,
 *	                                 size_t bytes);
 *	CkChannel *Cell_side_to_device(const void *self, CProxyElement_Cell to, int tag,
 *	                               const void *dbuf, size_t bytes);
 *	CkReducing *Cell_side_reduced(Cell *self, const CkElement *from, int n, int tag, void *buf,
 *	                              size_t bytes, CkReduction op);
 *
 * X_f_from and X_f_from_oob make the receiving end, in the element `self`. It is armed: one put may
 * come.
 *
 * Called   by one of the element's handlers, its constructor included. `from` is the element that
 *          puts, of any array X: X_at(proxy, index), or its .ck.
 * Shape    `bytes` >= 1. X_f_from tells arrivals by a counter beside the buffer
 *          (CkDirect_createHandleSeq): the buffer may have any alignment, and the data any value.
 *          X_f_from_oob tells them by the last 8 bytes of the data, which are never `oob`
 *          (CkDirect_createHandle); buf + bytes must be 8-aligned and bytes >= 8. That costs one
 *          cache line less per put.
 * Owner    `buf` stays the program's, and outlives the end. From now on, and from each ready, until
 *          X_on_f runs only the sender writes it. The CkChannel is the runtime's; it keeps its
 *          address until the element leaves its process (pup_channel) or CkChannelDestroy.
 * Done     X_on_f(self, tag) runs from the scheduler of the element's PE after each put has
 *          arrived, without a message and with no entry method around it.
 * Errors   aborts if the element has that end already, and as CkDirect_createHandle does.
 *
 * X_f_to and X_f_to_strided make the sending end, in the element `self`, of any array.
 *
 * Called   by one of the element's handlers, its constructor included; before or after the receiver
 *          makes its end.
 * Shape    `bytes` must be the receiver's, which is checked when the ends are joined. `shape` is
 *          that of CkDirect_assocLocalStrided (ckdirect.h).
 * Owner    `buf` stays the program's, and outlives the end.
 * Errors   as above.
 *
 * X_f_from_device and X_f_to_device are the same for a buffer in a device's memory (ckdevice.h),
 * as X_f_from and X_f_to; the other end may be in host memory. CkChannelPut means that the data is
 * complete, and CkChannelReady that the kernels which read it have finished. The calls with streams
 * are for channels without a name: here they abort. X_pup takes the buffer along by pup_device.
 *
 * Moves. CkMigrateMe lets an element leave when its channels are idle: their senders have been
 * asked to stop, and each earlier put has arrived. Until then the element takes calls and arrivals
 * as always. A put of a sender that is stopped, or not joined yet, is copied by the runtime and
 * sent once the ends are joined, so it may be made at any time. Within a process the ends move by
 * themselves. To another process they are packed by pup_channel in X_pup.
 *
 * Source   Charm++ has no such thing: its CkDirect was removed, partly because channels could not
 *          follow migration.
 */
#ifndef CKCHANNEL_H
#define CKCHANNEL_H

#include "ck.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** One end of a named channel. Begins with a CkDirectHandle. */
typedef struct CkChannel CkChannel;

/** For ckci's code only: the CkElement of a CProxyElement_X for any X, or of a CkElement. */
#ifdef __cplusplus
extern "C++" {
static inline CkElement CkGen_element(CkElement e) { return e; }
template <typename Proxy> CkElement CkGen_element(Proxy e)
{
	const CkElement &element = e.ck;

	return element;
}
}
#else
/* A CProxyElement_X contains a CkElement and nothing else, so it may be read as one. */
#define CkGen_element(e)                                                                           \
	(__extension__({                                                                           \
		const __typeof__(e) ck_e = (e);                                                    \
		_Static_assert(sizeof ck_e == sizeof(CkElement), "an element: X_at(proxy, index)"); \
		*(const CkElement *)(const void *)&ck_e;                                           \
	}))
#endif

/* private */
struct CkDirectHandle;
void CkDirect_put(struct CkDirectHandle *h);
void CkDirect_ready(struct CkDirectHandle *h);
void CkDirect_readyMark(struct CkDirectHandle *h);
void CkDirect_readyPollQ(struct CkDirectHandle *h);

/** Start one transfer of the whole buffer: CkDirect_put of ckdirect.h, with its rules.
 *
 * Called   on the sending element's PE, by one of its handlers or arrivals. Never blocks.
 * Owner    as for CkDirect_put. A put while the ends are not joined copies the data, which may be
 *          changed when it has returned.
 * Misuse   a second put before the ends are joined aborts: the receiver cannot have called ready.
 *          Otherwise as CkDirect_put. */
static inline void CkChannelPut(CkChannel *c) { CkDirect_put((struct CkDirectHandle *)c); }

/** CkChannelPut of each of `n` channels of this PE, mostly of one send buffer: a multicast. Each
 * receiver may begin while the data for the next one are copied. */
static inline void CkChannelPutAll(CkChannel *const *c, int n)
{
	for (int i = 0; i < n; i++)
		CkChannelPut(c[i]);
}

/** Arm the channel for the next put: CkDirect_ready. CkChannelReadyMark and CkChannelReadyPollQ are
 * its two halves.
 *
 * Called   on the receiving element's PE, by one of its handlers or arrivals. The program orders it
 *          before the sender's next put. */
static inline void CkChannelReady(CkChannel *c) { CkDirect_ready((struct CkDirectHandle *)c); }
static inline void CkChannelReadyMark(CkChannel *c)
{
	CkDirect_readyMark((struct CkDirectHandle *)c);
}
static inline void CkChannelReadyPollQ(CkChannel *c)
{
	CkDirect_readyPollQ((struct CkDirectHandle *)c);
}

/** Destroy one end. The other end may still exist, but no put may be under way, and none may be
 * made afterwards.
 *
 * Called   on the element's PE. The element's destruction destroys its ends.
 * Done     at the receiving end no arrival is called any more, and the buffer is the program's. The
 *          same name may be used again once both ends have been destroyed. */
void CkChannelDestroy(CkChannel *c);

/** In X_pup, for each end of the element: pup_channel(p, &x->from, x->buf). `buf` is the end's
 * buffer: its address where the element is now. So the buffer is packed first, as in x->v =
 * pup_alloc(p, x->v, n); pup_channel(p, &x->from, x->v).
 *
 * Shape    packs the name, whether the end is ready, how many puts there were, and the data of a
 *          put that has arrived and whose X_on_f has not run. NULL stays NULL. X_pup packs the
 *          buffer itself if its contents matter otherwise.
 * Errors   aborts if an element leaves its process and X_pup has not packed all of its ends. */
void pup_channel(pup_er p, CkChannel **c, void *buf);

/** In X_pup, before pup_channel: a buffer in a device's memory, x->d = pup_device(p, x->d, bytes).
 * Its contents go through host memory. NULL stays NULL.
 *
 * Owner    unpacking makes new memory, of CkDirect_allocDevice; deleting frees the old at once,
 *          which must be of that, too. No kernel uses it meanwhile.
 * Errors   aborts if there is no device's memory left. */
void *pup_device(pup_er p, void *dbuf, size_t bytes);

/* ---- several channels, one function ---------------------------------------------------------- */

/* A set: all receiving ends of one entry of an element, which has a count:
 *
 *	entry [arrival, count(self->n)] void sides();
 *
 *	void Cell_on_sides(Cell *self);              you write it: n of them have had their put
 *	void Cell_sides_ready(const Cell *self);     in place of Cell_sides_reduced: arms all
 *
 * Shape    each end has its own buffer, and a tag or a sender that differs from the others'. The
 *          count is evaluated at each arrival.
 * Owner    of ends that have arrived in an incomplete round, pup_channel packs the data.
 * Misuse   the count is less than 1, or an end has had a second put before the set was complete:
 *          aborts. So make no end ready by itself while others are missing. */

/* ---- several senders, one buffer ------------------------------------------------------------- */

/** A reducing channel: `n` elements put, the receiver's runtime combines their data, and
 * X_on_f(self, tag) runs once, when all have arrived.
 *
 * X_f_reduced makes its receiving side, which is armed. Each of the elements `from`, all different,
 * makes an end with X_f_to(self, to, tag, ...) as for any channel and puts once for each ready.
 * `from` is copied.
 *
 * Shape    `bytes` is a multiple of the operation's value. `op` combines value by value: sum,
 *          product, max, min, and, or, xor, statistics (CkReduction_set, concat, random, tuple and
 *          the program's reducers of messages do not). The values are combined in the order of the
 *          senders' collections and indices, not of arrival, so the bits are the same in each run,
 *          on any number of PEs, and wherever the elements have moved.
 * Owner    `buf` stays the program's and gets the result just before X_on_f; the runtime has n *
 *          bytes bytes more for what arrives. The CkReducing is the runtime's until
 *          CkReducingDestroy.
 * Done     as for X_f_from. The ends follow both sides; to another process pup_reducing packs them.
 */
typedef struct CkReducing CkReducing;

/** Arm it for the next put of each sender. The program orders it before all of them. */
void CkReducingReady(CkReducing *r);
/** As CkChannelDestroy of all receiving ends. */
void CkReducingDestroy(CkReducing *r);
/** In X_pup: as pup_channel. Arrivals of an incomplete round move along. */
void pup_reducing(pup_er p, CkReducing **r, void *buf);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
