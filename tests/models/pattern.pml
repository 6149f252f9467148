/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.pml: calls of a [channel] entry that repeat (runtime/chare/channel/pattern.c, landing.c, scheduler/standing.h;
 * place/insert.c, home.c), on memory with relaxed stores (weak.pml).
 *
 * One PE makes CALLS calls of a pattern, each as a put where it may, or as a counted message, which it may choose at any
 * time: the bell may be full, or messages held back. The other handles them, and keeps what has been put as long as
 * it likes. At last the caller closes the pattern, and writes its memory again when it is over.
 *
 * With MOVES the element goes away and comes back, whenever it likes. Calls wait meanwhile, and so does a message about the
 * element (DESTROY, SWITCH, TELL), which the caller sends at any time and which hears before it does anything else. When the
 * element is back all of them are handled again, in their order.
 *
 * Proved:  order    calls are handled in the order in which they were made, each once.
 *          whole    a handler finds its call's parameters, and so does whoever has kept them.
 *          end      nothing waits for ever.
 *
 * run:
 * run: -DMOVES
 *
 * mutant 1: bell_ring is a relaxed store
 * mutant 2: landing_counted_arrived does not hear
 * mutant 3: landing_counted_arrived hears one word only
 * mutant 4: may_put does not ask whether the messages before have been taken
 * mutant 5: may_put does not ask whether the message is free
 * mutant 6: a message is free when its handler has ended, though it is kept
 * mutant 7: is_over does not ask whether all messages are free
 * mutant 8: landing_close_arrived does not hear
 * mutant 9: MOVES: a message about the element hears again when it has waited
 * mutant 10: MOVES: a counted call hears again when it has waited
 * mutant 11: MOVES: what is heard while the element is away does not wait behind what waits
 * mutant 12: MOVES: what waits is handled in another order
 */
#include "mutant.pml"

#define CALLS 4
#define MESSAGES 2
#define CLOSE CALLS
#define ABOUT (CALLS + 1)
#define COUNTED 8                     /* mutant 10: beside the number of a call that waits */

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

chan messages = [CALLS + 2] of { byte };
chan waiting = [CALLS + 1] of { byte }; /* for the element */
bool away, told;
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
#ifdef MOVES
	:: !told && n < CALLS -> told = true; send(ABOUT)
#endif
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

inline handle(number)
{
	assert(number == next);                                     /* order, whole */
	next++
}

/* own_copy, seek */
inline wait_for(number)
{
	if
	:: mutant == 12 && len(waiting) > 0 -> waiting ? y; waiting ! number; waiting ! y; y = 0
	:: else -> waiting ! number
	fi
}

inline land(i)
{
	load(RECEIVER, PAYLOAD + i, x);
	if
	:: away && mutant != 11 -> wait_for(x - 1); standing_free(i)
	:: else ->
		handle(x - 1);
		if
		:: standing_free(i)
		:: kept[i] = x;
			if
			:: mutant == 6 -> standing_free(i)
			:: else
			fi
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
	if
	:: away -> wait_for((mutant == 10 -> COUNTED + number : number))
	:: else -> handle(number)
	fi
}

/* about_arrived: it hears only where it comes first. */
inline hear_once(first)
{
	if
	:: first || mutant == 9 -> hear(CALLS)
	:: else
	fi
}

inline about_arrived()
{
	hear_once(true);
	if
	:: away -> wait_for(ABOUT)
	:: else
	fi
}

/* The element is back. What comes now does not wait. */
inline resume()
{
	away = false;
	do
	:: waiting ? m ->
		if
		:: m == ABOUT -> hear_once(false)
		:: m >= COUNTED -> hear(CALLS); handle(m - COUNTED)
		:: else -> handle(m)
		fi
	:: empty(waiting) -> break
	od;
	m = 0
}

inline landing_close_arrived()
{
	hear((mutant == 8 -> 0 : CALLS));
	assert(away || next == CALLS);                              /* order */
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
	byte x, y, j, k, m, taken, leaves;

end:	do
	:: heard < rung -> hear(CALLS)
	:: messages ? m ->
		if
		:: m == CLOSE -> landing_close_arrived()
		:: m == ABOUT -> about_arrived()
		:: else -> landing_counted_arrived(m)
		fi;
		m = 0
#ifdef MOVES
	:: !away && leaves < 1 -> away = true; leaves++
	:: away -> resume()
#endif
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
