/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.pml: calls of a [channel] entry that repeat (runtime/chare/channel/pattern.c, landing.c, scheduler/standing.h),
 * on memory with relaxed stores (weak.pml).
 *
 * One PE makes CALLS calls of a pattern, each as a put where it may, or as a counted message, which it may choose at any
 * time: the bell may be full, or messages held back. The other handles them, and keeps what has been put as long as
 * it likes. At last the caller closes the pattern, and writes its memory again when it is over.
 *
 * Proved:  order    calls are handled in the order in which they were made, each once.
 *          whole    a handler finds its call's parameters, and so does whoever has kept them.
 *          end      nothing waits for ever.
 *
 * run:
 *
 * mutant 1: bell_ring is a relaxed store
 * mutant 2: landing_counted_arrived does not hear
 * mutant 3: landing_counted_arrived hears one word only
 * mutant 4: may_put does not ask whether the messages before have been taken
 * mutant 5: may_put does not ask whether the message is free
 * mutant 6: a message is free when its handler has ended, though it is kept
 * mutant 7: is_over does not ask whether all messages are free
 * mutant 8: landing_close_arrived does not hear
 */
#include "mutant.pml"

#define CALLS 4
#define MESSAGES 2
#define CLOSE CALLS

#define CALLER 0
#define RECEIVER 1
#define STORES_OF 2

/* Words of memory. */
#define PAYLOAD 0                     /* of each message: the call's number + 1 */
#define FREED (PAYLOAD + MESSAGES)    /* of each message */
#define TAKEN (FREED + MESSAGES)
#define STATE (TAKEN + 1)
#define BELL (STATE + 1)              /* words: the message + 1 */
#define WORDS (BELL + CALLS)
#include "weak.pml"

chan messages = [CALLS + 1] of { byte };
byte n_put[MESSAGES];
byte rung, counted;
byte next;                            /* the call that is to be handled next */
byte heard, n_freed[MESSAGES], kept[MESSAGES];
bool over;

/* ---- the caller ------------------------------------------------------------------------------------ */

inline may_put(i, yes_p)
{
	load(CALLER, TAKEN, x);
	yes_p = x == counted || mutant == 4;
	load(CALLER, FREED + i, x);
	yes_p = yes_p && (x == n_put[i] || mutant == 5);
	x = 0
}

inline put(i, number)
{
	store(CALLER, PAYLOAD + i, number + 1, RELAXED);
	store(CALLER, BELL + rung, i + 1, (mutant == 1 -> RELAXED : RELEASE));
	rung++;
	n_put[i]++
}

/* A push is a release: it comes after the stores before it. */
inline send(what)
{
	atomic { all_stored(CALLER) -> messages ! what }
}

/* Its own stores do not touch these words. */
inline is_over()
{
	mem[STATE] == 1 &&
		(mutant == 7 || (mem[FREED] == n_put[0] && mem[FREED + 1] == n_put[1]))
}

proctype caller()
{
	byte n, at, x;
	bool yes;

	do
	:: n < CALLS ->
		may_put(at, yes);
		if
		:: yes -> put(at, n); at = (at + 1) % MESSAGES
		:: true -> counted++; send(n)
		fi;
		n++;
		yes = false
	:: else -> break
	od;
	send(CLOSE);
	is_over();
	store(CALLER, PAYLOAD, 99, RELAXED);
	store(CALLER, PAYLOAD + 1, 99, RELAXED);
	over = true
}

/* ---- the receiver ----------------------------------------------------------------------------------- */

inline standing_free(i)
{
	n_freed[i]++;
	store(RECEIVER, FREED + i, n_freed[i], RELEASE)
}

inline land(i)
{
	load(RECEIVER, PAYLOAD + i, x);
	assert(x == next + 1);                                      /* order, whole */
	next++;
	if
	:: standing_free(i)
	:: kept[i] = x;
		if
		:: mutant == 6 -> standing_free(i)
		:: else
		fi
	fi;
	x = 0
}

/* Up to `most` words. */
inline hear(most)
{
	j = 0;
	do
	:: j < most && heard < CALLS ->
		load(RECEIVER, BELL + heard, k);
		if
		:: k == 0 -> break
		:: else -> heard++; land(k - 1); j++
		fi
	:: else -> break
	od;
	j = 0;
	k = 0
}

inline landing_counted_arrived(number)
{
	hear((mutant == 2 -> 0 : (mutant == 3 -> 1 : CALLS)));
	taken++;
	store(RECEIVER, TAKEN, taken, RELEASE);
	assert(number == next);                                     /* order */
	next++
}

inline landing_close_arrived()
{
	hear((mutant == 8 -> 0 : CALLS));
	assert(next == CALLS);                                      /* order */
	store(RECEIVER, STATE, 1, RELEASE)
}

inline let_go(i)
{
	load(RECEIVER, PAYLOAD + i, x);
	assert(x == kept[i]);                                       /* whole */
	kept[i] = 0;
	if
	:: mutant != 6 -> standing_free(i)
	:: else
	fi;
	x = 0
}

proctype receiver()
{
	byte x, j, k, m, taken;

end:	do
	:: heard < rung -> hear(CALLS)
	:: messages ? m ->
		if
		:: m == CLOSE -> landing_close_arrived()
		:: else -> landing_counted_arrived(m)
		fi;
		m = 0
	:: kept[0] -> let_go(0)
	:: kept[1] -> let_go(1)
	od
}

proctype judge()
{
	timeout -> assert(over && next == CALLS)                    /* end */
}

init {
	atomic {
		mutant_from_environment();
		run caller();
		run receiver();
		run drain(CALLER);
		run drain(RECEIVER);
		run judge()
	}
}
