/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.pml: messages from one PE to one of another process of the host (runtime/machine/shm: share.c, ring.h,
 * msg_stack.h; cmi_sleep in machine.c), in memory with relaxed stores (weak.pml).
 *
 * One PE sends MESSAGES messages: by the stack until it has offered a ring, then by the ring, by value or by
 * reference, and by the stack again when the ring is full. The other PE takes them and sleeps in between. The ring
 * has RING_SLOTS slots, so it goes round. Not in the model: several senders (inbox.pml has them), blocks that go
 * back by the stack of returns.
 *
 * Proved:  order    messages come in the order of sending, whichever way they go.
 *          whole    their bytes are there.
 *          end      each of them is taken, if no nap lasts for ever. Without a ring naps need no end.
 *
 * run: -DMESSAGES=5
 * run: -DMESSAGES=3 -DSLEEP
 * run: -DMESSAGES=3 -DSLEEP -DSTACK_ONLY
 *
 * mutant 1: ring_publish stores the tag relaxed
 * mutant 2: ring_look does not acquire
 * mutant 3: ring_release stores n_read relaxed
 * mutant 4: the tag has no lap
 * mutant 5: take_ring does not look at n_past
 * mutant 6: take_earlier is left out
 * mutant 7: msg_stack_push is relaxed
 * mutant 8: SLEEP: a nap without an end
 * mutant 9: ring_claim does not look at n_read
 * mutant 10: msg_stack_in_order does not turn the list round
 * mutant 11: STACK: no second look (something_came)
 * mutant 12: STACK: share_sleep_begin stores `sleeping` relaxed
 * mutant 13: STACK: share_send looks at `sleeping` before its push is visible
 * mutant 14: STACK: share_send does not look at `sleeping`
 * mutant 15: take_ring returns after the first message, also before a message of the stack
 */
#include "mutant.pml"

#define RING_SLOTS 2
#define RING_REPORT 1
#define RING_AFTER 1
#define OFFER (MESSAGES + 1)                 /* the message of offer_ring */

/* The words of memory. Message n, from 1 on, lies at CONTENT(n); 0 is none. */
#define TAG(i) (i)
#define PAST(i) (RING_SLOTS + (i))
#define BODY(i) (2 * RING_SLOTS + (i))
#define N_READ (3 * RING_SLOTS)
#define TOP (N_READ + 1)                     /* share_line.inbox */
#define SLEEPING (N_READ + 2)
#define CONTENT(n) (N_READ + 2 + (n))
#define NEXT(n) (CONTENT(OFFER) + (n))
#define MARK(n) (NEXT(OFFER) + (n))
#define WORDS (MARK(OFFER) + 1)

#define SENDER 0
#define RECEIVER 1
#define STORES_OF 2
#include "weak.pml"

/* A tag: the lap, and whether the slot holds a reference. */
#define tag(lap, is_ref) ((lap) * 2 + (is_ref))
#define lap_of(n) (mutant == 4 -> 1 : (n) / RING_SLOTS + 1)

bool woken;                                  /* wake_socket is readable */
byte got;                                    /* messages taken */

#ifdef STACK_ONLY
#define stack_only true
#define naps_end false
#else
#define stack_only false
#define naps_end (mutant != 8)
#endif
#ifdef SLEEP
#define sleeps true
#else
#define sleeps false
#endif

/* ---- the sender ------------------------------------------------------------------------ */

/* send_by_stack, msg_stack_push */
inline send_by_stack(m)
{
	atomic {
		store(SENDER, CONTENT(m), m, RELAXED);
		store(SENDER, MARK(m), mark, RELAXED);
		n_past++
	}
	do
	:: atomic {
		true ->
		load(SENDER, TOP, v);
		store(SENDER, NEXT(m), v, RELAXED)
	   }
		atomic {                     /* compare and swap */
			all_stored(SENDER) || mutant == 7 ->
			if
			:: mem[TOP] == v -> mem[TOP] = m; v = 0; break
			:: else -> v = 0
			fi
		}
	od
}

inline ring_publish(slot, what)
{
	if
	:: mutant == 1 -> store(SENDER, TAG(slot), what, RELAXED)
	:: else -> store(SENDER, TAG(slot), what, RELEASE)
	fi
}

/* send_by_ring, send_ref_by_ring */
inline send_by_ring(m, slot)
{
	atomic {
		if
		:: true -> by_ref = 0
		:: true -> by_ref = 1; store(SENDER, CONTENT(m), m, RELAXED)
		fi;
		store(SENDER, PAST(slot), n_past, RELAXED);
		store(SENDER, BODY(slot), m, RELAXED);
		ring_publish(slot, tag(lap_of(n_written), by_ref));
		by_ref = 0;
		n_written++
	}
}

inline ring_claim()
{
	atomic {
		if
		:: mark && n_written == limit ->
			load(SENDER, N_READ, v);
			limit = (mutant == 9 -> n_written : v) + RING_SLOTS;
			v = 0
		:: else
		fi
	}
}

inline offer_ring()
{
	if
	:: !stack_only && m == RING_AFTER ->
		send_by_stack(OFFER);
		mark = 1;
		n_past = 0;
		limit = RING_SLOTS
	:: else
	fi
}

inline wake_other()
{
	if
	:: asleep && mutant != 14 ->
		store(SENDER, SLEEPING, 0, RELAXED);
		atomic { all_stored(SENDER) -> woken = true } /* a system call */
	:: else
	fi;
	asleep = 0
}

/* share_send */
proctype sender()
{
	byte m = 1, v, mark, n_past, n_written, limit, asleep, by_ref;

	do
	:: m <= MESSAGES ->
		if
		:: mutant == 13 -> load(SENDER, SLEEPING, asleep)
		:: else
		fi;
		ring_claim();
		if
		:: mark && n_written < limit -> send_by_ring(m, n_written % RING_SLOTS)
		:: else -> send_by_stack(m); offer_ring()
		fi;
		atomic {
			m++;
			if
			:: mutant != 13 -> load(SENDER, SLEEPING, asleep)
			:: else
			fi
		}
		wake_other()
	:: else -> break
	od
}

/* ---- the receiver ---------------------------------------------------------------------- */

/* arrived, slot_arrived */
inline arrived(n)
{
	if
	:: n == OFFER -> ring = true         /* offer_arrived */
	:: else ->
		got++;
		assert(n == got)             /* order, whole */
	fi
}

inline ring_release()
{
	n_read++;
	if
	:: n_read % RING_REPORT == 0 -> store(RECEIVER, N_READ, n_read, RELEASE)
	:: else
	fi
}

/* take_ring, ring_look. A message that comes alone ends it, but not before one of the stack (in_stack). */
inline take_ring(in_stack)
{
	n = 0;
	do
	:: ring && n < RING_SLOTS ->
		if
		:: mutant == 2 ->
			load(RECEIVER, BODY(n_read % RING_SLOTS), body);
			load(RECEIVER, PAST(n_read % RING_SLOTS), past)
		:: else
		fi;
		atomic {
			load(RECEIVER, TAG(n_read % RING_SLOTS), v);
			if
			:: v / 2 != lap_of(n_read) -> break
			:: else
			fi
		}
		atomic {
			if
			:: mutant != 2 -> load(RECEIVER, PAST(n_read % RING_SLOTS), past)
			:: else
			fi;
			if
			:: past != in_past && mutant != 5 -> break
			:: else
			fi
		}
		if
		:: mutant == 3 -> ring_release(); n_read--
		:: else
		fi;
		if
		:: mutant != 2 -> load(RECEIVER, BODY(n_read % RING_SLOTS), body)
		:: else
		fi;
		if
		:: v % 2 -> load(RECEIVER, CONTENT(body), body) /* ref_arrived */
		:: else
		fi;
		atomic {
			arrived(body);
			if
			:: mutant == 3 -> n_read++
			:: else -> ring_release()
			fi;
			n++;
			v = 0;
			body = 0;
			past = 0;
			if
			:: !streams && (!in_stack || mutant == 15) -> alone = true; break
			:: else
			fi
		}
	:: else -> break
	od;
	atomic {
		streams = alone || n == RING_SLOTS;
		alone = false;
		n = 0;
		v = 0;
		body = 0;
		past = 0
	}
}

/* msg_stack_in_order: word NEXT(m) is the receiver's now. */
inline in_order()
{
	do
	:: atomic {
		top ->
		load(RECEIVER, NEXT(top), v);
		mem[NEXT(top)] = first;
		first = top;
		top = v;
		v = 0
	   }
	:: else -> break
	od
}

/* take_earlier */
inline take_earlier(m)
{
	load(RECEIVER, MARK(m), v);
	if
	:: v && mutant != 6 -> v = 0; take_ring(true); in_past++
	:: v && mutant == 6 -> v = 0; in_past++
	:: else
	fi
}

inline take_stack()
{
	atomic { top = mem[TOP]; mem[TOP] = 0 } /* msg_stack_take */
	if
	:: mutant != 10 -> in_order()
	:: else -> first = top; top = 0
	fi;
	do
	:: first ->
		load(RECEIVER, NEXT(first), top);
		take_earlier(first);
		atomic {
			load(RECEIVER, CONTENT(first), v);
			arrived(v);
			mem[NEXT(first)] = 0;
			first = top;
			top = 0;
			v = 0
		}
	:: else -> break
	od
}

inline something_came()
{
	came = mutant != 11 && mem[TOP];
	if
	:: !came && ring && mutant != 11 ->
		load(RECEIVER, TAG(n_read % RING_SLOTS), v);
		came = v / 2 == lap_of(n_read);
		v = 0
	:: else
	fi
}

/* cmi_sleep. How long the PE looks on for ring slots does not matter here. */
inline share_sleep_begin()
{
	store(RECEIVER, SLEEPING, 1, RELAXED);
	if
	:: mutant != 12 -> all_stored(RECEIVER) /* seq_cst */
	:: else
	fi;
	something_came();
	if
	:: !came && !naps_end -> woken       /* ppoll */
	:: else                              /* or at any time */
	fi;
	came = false;
	store(RECEIVER, SLEEPING, 0, RELAXED); /* share_sleep_end */
	woken = false
}

proctype receiver()
{
	byte v, body, past, n, n_read, in_past, top, first;
	bool ring, came, streams, alone;

	do
	:: got < MESSAGES ->                 /* share_progress */
		take_ring(false);
		if
		:: mem[TOP] -> take_stack()
		:: else
		fi;
		if
		:: got < MESSAGES && sleeps -> share_sleep_begin()
		:: else
		fi
	:: else -> break
	od
}

proctype judge()
{
	timeout -> assert(got == MESSAGES)   /* end */
}

init {
	atomic {
		mutant_from_environment();
		run sender();
		run receiver();
		run drain(SENDER);
		run drain(RECEIVER);
		run judge()
	}
}
