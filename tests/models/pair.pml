/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair.pml: messages from one PE to another of its node, by the two rings of the pair (runtime/scheduler: queue/inbox.h,
 * queue/inbox.c, base/bell.h, base/bell.c; runtime/machine/base: ring.h, msg_stack.h), in memory with relaxed stores
 * (weak.pml).
 *
 * One PE sends MESSAGES messages to another. The first one goes by the stack, with the offer of the rings behind it; each
 * of the others is small or not. A small one goes by value, or by pointer if no slot is free; all others go by pointer.
 * The ring of values has VALUES slots. The ring of pointers has two at first, of which one is for BELL_END; the next one
 * has four, so both go round and the first one is replaced. Not in the model: several senders and the sleep (inbox.pml,
 * ring.pml), blocks that go back in parcels.
 *
 * Proved:  order    messages come in the order of sending, whichever way they go.
 *          whole    their bytes are there.
 *          once     none comes twice.
 *          end      each of them comes.
 *          room     BELL_END always finds a slot.
 *
 * run: -DMESSAGES=5
 * run: -DMESSAGES=6 -DVALUES=1
 *
 * mutant 1: bell_ring stores the word relaxed
 * mutant 2: ring_publish stores the tag relaxed
 * mutant 3: take_values does not look at n_past
 * mutant 4: take_pointers does not take the values before a pointer
 * mutant 5: bell_next does not acquire: a slot is looked at before the word
 * mutant 6: send_by_ring does not count n_past
 * mutant 7: ring_grow rings BELL_END before it stores `newer`
 * mutant 8: ring_turn leaves no slot for BELL_END
 * mutant 9: next_pointer ends at BELL_END
 * mutant 10: what finds no slot in the ring of pointers goes by the stack
 * mutant 11: the offer goes by the stack before the message that led to it
 * mutant 12: ring_claim does not look at n_read
 * mutant 13: bell_taken is called before the words are taken
 * mutant 14: ring_turn does not change the lap
 * mutant 15: the receiver does not count n_past before it looks on
 */
#include "mutant.pml"

#ifndef VALUES
#define VALUES 2
#endif
#define TAKE_MOST 2
#define OFFER (MESSAGES + 1)
#define RINGS 3                              /* of pointers: 2, 4 and 2 slots; the last one is never full */

/* The words of memory. Message n, from 1 on, lies at CONTENT(n); 0 is none. */
#define TAG(i) (i)
#define PAST(i) (VALUES + (i))
#define BODY(i) (2 * VALUES + (i))
#define N_READ (3 * VALUES)
#define TOP (N_READ + 1)
#define TAKEN(r) (TOP + 1 + (r))
#define NEWER(r) (TAKEN(RINGS) + (r))
#define SLOT(r, i) (NEWER(RINGS) + 4 * (r) + (i))
#define CONTENT(n) (SLOT(RINGS, 0) - 1 + (n))
#define NEXT(n) (CONTENT(OFFER) + (n))
#define WORDS (NEXT(OFFER) + 1)

#define SENDER 0
#define RECEIVER 1
#define STORES_OF 2
#include "weak.pml"

#define LAP 64                               /* BELL_LAP; below it the word: a message, or BELL_END */
#define BELL_END 63
#define n_slots(r) (2 + 2 * ((r) == 1))
#define lap_of(n) ((n) / VALUES + 1)         /* ring_lap */

byte got;                                    /* messages that have come */

/* ---- the sender ------------------------------------------------------------------------ */

/* inbox_push, msg_stack_push */
inline inbox_push(m)
{
	do
	:: atomic {
		true ->
		load(SENDER, TOP, v);
		store(SENDER, NEXT(m), v, RELAXED)
	   }
		atomic {                     /* compare and swap */
			all_stored(SENDER) ->
			if
			:: mem[TOP] == v -> mem[TOP] = m; v = 0; break
			:: else -> v = 0
			fi
		}
	od
}

inline send_by_value(m)
{
	atomic {
		store(SENDER, PAST(n_written % VALUES), n_past, RELAXED);
		store(SENDER, BODY(n_written % VALUES), m, RELAXED);
		if                           /* ring_publish */
		:: mutant == 2 -> store(SENDER, TAG(n_written % VALUES), lap_of(n_written), RELAXED)
		:: else -> store(SENDER, TAG(n_written % VALUES), lap_of(n_written), RELEASE)
		fi;
		n_written++
	}
}

inline ring_claim()
{
	atomic {
		if
		:: n_written == limit ->
			load(SENDER, N_READ, v);
			limit = (mutant == 12 -> n_written : v) + VALUES;
			v = 0
		:: else
		fi
	}
}

/* bell_ring; `next` is below `stop` */
inline bell_ring(word)
{
	atomic {
		assert(next < n_slots(out)); /* room */
		if
		:: mutant == 1 -> store(SENDER, SLOT(out, next), lap + word, RELAXED)
		:: else -> store(SENDER, SLOT(out, next), lap + word, RELEASE)
		fi;
		next++
	}
}

/* ring_turn, bell_turn, bell_pending */
inline ring_turn()
{
	atomic {
		if
		:: next == n_slots(out) ->
			next = 0;
			laps = laps + n_slots(out);
			if
			:: mutant != 14 -> lap = LAP - lap
			:: else
			fi
		:: else
		fi;
		load(SENDER, TAKEN(out), v);
		v = n_slots(out) - (laps + next - v); /* free */
		stop = (v < n_slots(out) - next -> next + v : n_slots(out));
		if
		:: stop - next == v && mutant != 8 -> stop--
		:: else
		fi;
		v = 0
	}
}

inline ring_begin(r)
{
	out = r;
	next = 0;
	laps = 0;
	lap = LAP;
	ring_turn()
}

inline ring_grow()
{
	atomic {
		assert(out + 1 < RINGS);
		assert(stop < n_slots(out)); /* room */
		if
		:: mutant != 7 -> store(SENDER, NEWER(out), out + 1, RELAXED)
		:: else
		fi
	}
	bell_ring(BELL_END);
	if
	:: mutant == 7 -> store(SENDER, NEWER(out), out + 1, RELAXED)
	:: else
	fi;
	ring_begin(out + 1)
}

inline send_by_ring(m)
{
	store(SENDER, CONTENT(m), m, RELAXED);
	if
	:: next == stop -> ring_turn()
	:: else
	fi;
	if
	:: next == stop && mutant == 10 -> inbox_push(m)
	:: next == stop && mutant != 10 -> ring_grow(); bell_ring(m)
	:: else -> bell_ring(m)
	fi;
	if
	:: mutant != 6 -> n_past++
	:: else
	fi
}

inline ring_offer()
{
	inbox_push(OFFER);
	ring_begin(0)
}

/* inbox_send */
proctype sender()
{
	byte m = 1, v, n_past, n_written, limit = VALUES, out, next, stop, lap, laps;
	bool by_value;

	if
	:: mutant == 11 -> ring_offer()
	:: else
	fi;
	store(SENDER, CONTENT(m), m, RELAXED);
	inbox_push(m);
	if
	:: mutant != 11 -> ring_offer()
	:: else
	fi;
	m++;
	do
	:: m <= MESSAGES ->
		if                           /* goes_by_value */
		:: by_value = true; ring_claim()
		:: by_value = false
		fi;
		if
		:: by_value && n_written < limit -> send_by_value(m)
		:: else -> send_by_ring(m)
		fi;
		atomic { by_value = false; m++ }
	:: else -> break
	od
}

/* ---- the receiver ---------------------------------------------------------------------- */

/* msgq_push */
inline arrived(n)
{
	got++;
	assert(n == got)                     /* order, whole, once */
}

inline ring_release()
{
	n_read++;
	store(RECEIVER, N_READ, n_read, RELEASE)
}

/* take_values, ring_look, value_arrived */
inline take_values(seen)
{
	do
	:: atomic {
		n_values < VALUES ->
		if
		:: seen -> v = seen - 1; seen = 0
		:: else -> load(RECEIVER, TAG(n_read % VALUES), v)
		fi;
		if
		:: v != lap_of(n_read) -> break
		:: else
		fi
	   }
		atomic {
			load(RECEIVER, PAST(n_read % VALUES), v);
			if
			:: v != in_past && mutant != 3 -> break
			:: else
			fi
		}
		atomic {
			load(RECEIVER, BODY(n_read % VALUES), v);
			arrived(v);
			ring_release();
			n_values++;
			v = 0
		}
	:: n_values == VALUES -> break
	od;
	atomic { n_values = 0; v = 0; seen = 0 }
}

/* next_pointer, bell_next; 0: there is none */
inline next_pointer()
{
	atomic {
		word = 0;
		load(RECEIVER, SLOT(in, at), word);
		if
		:: (word >= LAP) != (in_lap == LAP) -> word = 0
		:: else ->
			word = word % LAP;
			taken++;
			at++;
			if
			:: at == n_slots(in) -> at = 0; in_lap = LAP - in_lap
			:: else
			fi
		fi
	}
	if
	:: word == BELL_END && mutant != 9 ->
		atomic {
			load(RECEIVER, NEWER(in), v);
			assert(v == in + 1);
			in = v;              /* ring_read */
			v = 0;
			at = 0;
			taken = 0;
			in_lap = LAP;
			load(RECEIVER, SLOT(in, at), word);
			if
			:: word < LAP -> word = 0
			:: else ->
				word = word - LAP;
				taken++;
				at++
			fi
		}
	:: word == BELL_END && mutant == 9 -> word = 0
	:: else
	fi
}

inline bell_taken(number)
{
	store(RECEIVER, TAKEN(in), number, RELEASE)
}

inline take_pointers()
{
	do
	:: n < TAKE_MOST ->
		if
		:: mutant == 5 -> load(RECEIVER, TAG(n_read % VALUES), early); early++
		:: mutant == 13 -> bell_taken(taken + 1)
		:: else
		fi;
		next_pointer();
		if
		:: word == 0 -> break
		:: else
		fi;
		if
		:: mutant == 15 -> in_past++
		:: else
		fi;
		if
		:: mutant != 4 -> take_values(early)
		:: else
		fi;
		atomic {
			load(RECEIVER, CONTENT(word), v);
			arrived(v);
			v = 0;
			word = 0;
			if
			:: mutant != 15 -> in_past++
			:: else
			fi;
			n++
		}
	:: else -> break
	od;
	atomic { n = 0; early = 0; word = 0 }
	bell_taken(taken)
}

inline bell_rings()
{
	atomic {
		load(RECEIVER, SLOT(in, at), v);
		any = (v >= LAP) == (in_lap == LAP);
		v = 0
	}
}

inline inbox_take_rings()
{
	take_values(early);
	bell_rings();
	if
	:: any -> any = false; take_pointers()
	:: else
	fi
}

/* inbox_take_slow, inbox_offer_arrived: word NEXT(m) is the receiver's now. */
inline inbox_take()
{
	atomic {
		word = mem[TOP];             /* msg_stack_take */
		mem[TOP] = 0;
		do                           /* msg_stack_in_order */
		:: word ->
			v = mem[NEXT(word)];
			mem[NEXT(word)] = first;
			first = word;
			word = v
		:: else -> break
		od;
		do
		:: first == OFFER ->
			rings = true;
			v = mem[NEXT(first)];
			mem[NEXT(first)] = 0;
			first = v
		:: first && first != OFFER ->
			load(RECEIVER, CONTENT(first), v);
			arrived(v);
			v = mem[NEXT(first)];
			mem[NEXT(first)] = 0;
			first = v
		:: else -> break
		od;
		v = 0
	}
}

/* Whether a pass of the loop would find anything: a model that polls on would hide that a message is lost. */
#define value_there (mem[TAG(n_read % VALUES)] == lap_of(n_read) && mem[PAST(n_read % VALUES)] == in_past)
#define word_there ((mem[SLOT(in, at)] >= LAP) == (in_lap == LAP))

proctype receiver()
{
	byte v, word, first, n, n_values, n_read, in_past, in, at, taken, in_lap = LAP, early;
	bool rings, any;

	do
	:: got < MESSAGES ->
		(mem[TOP] || rings && (value_there || word_there || mutant == 3));
		if
		:: mem[TOP] -> inbox_take()
		:: else
		fi;
		if
		:: rings -> inbox_take_rings()
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
