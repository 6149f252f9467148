/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.pml: put, poll and ready, with the bell (runtime/direct: channel.h, channel.c, arrival.c, pollset.c,
 * bells.c, sender.c, put.c; runtime/scheduler: bell.h, bell.c), in memory with relaxed stores (weak.pml).
 *
 * One PE puts into CHANNELS channels of another one, some times into each. The receiver may say ready in the
 * arrival's function or later, at once (CkDirect_ready) or in two steps (readyMark, readyPollQ). It tells the
 * sender of the mark in a message; this is all the order that a program must give. Whether the receiver polls
 * or is told is open at each mark: the number of its channels may have changed (must_tell). The bell has just one
 * slot more than the channels, so it goes round. With FAR the puts of a channel may also be made by the network, which looks
 * at no flag and rings no bell, or by message; the receiver hears of that (BOUND) at any time. And the end may be one
 * of a named channel that was made anew (direct_channel_receive) when its receiver had used the data of the last sender, whose
 * last word is still in the buffer. Not in the model: larger rings (BELL_END), destroyed channels.
 *
 * Proved:  whole    a function that runs finds the whole put: the body, and the word.
 *          once     it runs once for each put, only for a put, and not before readyPollQ; no bell rings for a channel
 *                   that waits for none.
 *          room     the bell is never full.
 *          awake    a PE that sleeps without a limit (nap_us in idle.c) waits for no put.
 *          end      every put is found.
 *          unseen   direct_unseen_put tells of a put only if one was made, and of the first one of the network even before
 *                   BOUND (named channels, quiescence).
 *
 * run:
 * run: -DFAR
 *
 * mutant 1: put_memory stores the word relaxed
 * mutant 2: bell_ring stores the slot relaxed
 * mutant 3: pollset_scan does not acquire
 * mutant 4: bell_next does not acquire
 * mutant 5: bell_taken is left out
 * mutant 6: watch does not look at `landed`
 * mutant 7: mark does not write the idle word
 * mutant 8: the idle word is written in watch instead of in mark
 * mutant 9: the flag `tell` is set in watch instead of in mark
 * mutant 10: channels of which a bell will tell are not counted as armed
 * mutant 11: put_memory rings before it stores the word
 * mutant 12: bell_turn does not change the lap
 * mutant 13: put_memory looks at `tell` before it knows that the receiver is ready
 * mutant 14: heard takes a channel that is MARKED for one that is ARMED
 * mutant 15: put_memory looks at `tell` after it has stored the word
 * mutant 16: FAR: an end that is made with a word that is not idle is told from the beginning
 * mutant 17: FAR: begin_telling does not write the idle word
 * mutant 18: FAR: direct_unseen_put looks at the word of a channel whose puts come by message
 * mutant 19: FAR: direct_unseen_put looks at the word only where the channel is polled
 * mutant 20: FAR: the network writes the word before the body
 * mutant 21: FAR: must_tell asks for a bell that the network cannot ring
 * mutant 22: FAR: direct_make_rma does not add an armed channel to those that are polled
 * mutant 23: FAR: direct_make_own leaves an armed channel among those that are polled
 */
#include "mutant.pml"

#define CHANNELS 2
#ifdef FAR
#define PUTS(c) (2 - (c))
#else
#define PUTS(c) 3
#endif
#define SLOTS (CHANNELS + 1)

/* The words of memory. */
#define BODY(c) (c)
#define WORD(c) (CHANNELS + (c))
#define TELL(c) (2 * CHANNELS + (c))
#define SLOT(i) (3 * CHANNELS + (i))
#define TAKEN (3 * CHANNELS + SLOTS)
#define WORDS (TAKEN + 1)

#define SENDER 0
#define RECEIVER 1
#define STORES_OF 2
#include "weak.pml"

#define IDLE 0                               /* the out-of-band value; put n has the last word n */
#define LAST 7                               /* a word of the last sender */
#define LAP 8                                /* BELL_LAP; below it what the slot says: 1 + channel */

mtype = { CONSUMED, MARKED, ARMED, FIRED };  /* enum channel_state */
mtype state[CHANNELS];
bool tell[CHANNELS], landed[CHANNELS], in_set[CHANNELS];
bool may_run[CHANNELS];                      /* the program has said readyPollQ */
byte iteration[CHANNELS];
byte n_bell, armed;                          /* armed: pe->armed */

chan ready = [CHANNELS] of { byte };         /* messages to the sender */

mtype = { MEMORY, NETWORK, MESSAGE };        /* enum direct_path */
mtype path[CHANNELS];
bool anew[CHANNELS];                         /* the end was made when its receiver had used the data */
bool own[CHANNELS], rma[CHANNELS];
byte made[CHANNELS];                         /* puts */
chan bound = [CHANNELS] of { byte };         /* BOUND */
chan puts = [CHANNELS] of { byte };          /* by message */

/* ---- the sender ------------------------------------------------------------------------ */

/* bell_ring, bell_turn */
inline bell_ring(c)
{
	if
	:: next == SLOTS ->
		next = 0;
		laps = laps + SLOTS;
		if
		:: mutant != 12 -> lap = LAP - lap
		:: else
		fi
	:: else
	fi;
	load(SENDER, TAKEN, v);
	assert(laps + next - v < SLOTS);     /* room */
	v = 0;
	if
	:: mutant == 2 -> store(SENDER, SLOT(next), lap + 1 + c, RELAXED)
	:: else -> store(SENDER, SLOT(next), lap + 1 + c, RELEASE)
	fi;
	next++
}

/* CkDirect_put, put_memory */
inline put_memory(c)
{
	n[c]++;
	store(SENDER, BODY(c), n[c], RELAXED);                   /* copy_out */
	if
	:: mutant == 13 -> t = early[c]
	:: else -> load(SENDER, TELL(c), t)
	fi;
	if
	:: mutant == 11 && t -> bell_ring(c); t = 0
	:: else
	fi;
	if
	:: mutant == 1 -> store(SENDER, WORD(c), n[c], RELAXED)
	:: else -> store(SENDER, WORD(c), n[c], RELEASE)
	fi;
	if
	:: mutant == 15 -> load(SENDER, TELL(c), t)
	:: else
	fi;
	if
	:: t -> bell_ring(c)                                     /* direct_tell */
	:: else
	fi;
	if
	:: mutant == 13 -> load(SENDER, TELL(c), early[c])
	:: else
	fi;
	t = 0
}

/* cmi_put: body, flush, word */
inline put_rma(c)
{
	n[c]++;
	store(SENDER, BODY(c), n[c], RELAXED);
	if
	:: mutant == 20 -> store(SENDER, WORD(c), n[c], RELAXED)
	:: else -> store(SENDER, WORD(c), n[c], RELEASE)
	fi
}

inline CkDirect_put(c)
{
	made[c]++;
	if
	:: path[c] == MEMORY -> put_memory(c)
	:: path[c] == NETWORK -> put_rma(c)
	:: else -> puts ! c
	fi
}

proctype sender()
{
	byte n[CHANNELS];                    /* puts so far */
	byte c, v, t, next, laps, lap = LAP;
	byte early[CHANNELS] = 1;            /* mutant 13 */

	do
	:: c < CHANNELS ->
		if
		:: path[c] != MEMORY -> bound ! c
		:: else
		fi;
		c++
	:: else -> break
	od;
end:	do
	:: ready ? c -> CkDirect_put(c); c = 0
	od
}

/* ---- the receiver ---------------------------------------------------------------------- */

inline set_tell(c, yes)
{
	if
	:: tell[c] != yes -> tell[c] = yes; store(RECEIVER, TELL(c), yes, RELAXED)
	:: else
	fi
}

inline write_idle(c)
{
	store(RECEIVER, WORD(c), IDLE, RELAXED)
}

inline begin_telling(c)
{
	if
	:: mutant != 17 -> write_idle(c)
	:: else
	fi;
	set_tell(c, 1)
}

/* must_tell, try_mark, mark; then the program tells the sender. */
inline mark(c)
{
	if
	:: !own[c] -> t = 0
	:: !rma[c] || mutant == 21 -> t = 1
	fi;
	if
	:: t && !tell[c] && mutant != 9 -> begin_telling(c)
	:: !t && mutant != 9 -> set_tell(c, 0)
	:: else
	fi;
	if
	:: !t && mutant != 7 && mutant != 8 -> write_idle(c)
	:: else
	fi;
	t = 0;
	state[c] = MARKED;
	atomic {
		all_stored(RECEIVER) ->      /* a message is a release, and the sender acquires it */
		ready ! c
	}
}

inline direct_ring(c)
{
	state[c] = FIRED
}

inline watch(c)
{
	if
	:: mutant == 9 ->
		if
		:: true -> set_tell(c, 0)
		:: true -> set_tell(c, 1)
		fi
	:: mutant == 8 && !tell[c] -> write_idle(c)
	:: else
	fi;
	state[c] = ARMED;
	may_run[c] = true;
	if
	:: landed[c] && mutant != 6 -> landed[c] = false; direct_ring(c)
	:: !(landed[c] && mutant != 6) && !tell[c] -> in_set[c] = true; armed++
	:: !(landed[c] && mutant != 6) && tell[c] && own[c]
	:: else -> n_bell++; armed = armed + (mutant != 10)
	fi
}

inline direct_landed(c)
{
	if
	:: state[c] == ARMED -> direct_ring(c)
	:: state[c] == MARKED && !landed[c] -> landed[c] = true
	:: else -> assert(false)             /* once: direct_unexpected() */
	fi
}

/* ---- who puts: BOUND, and puts by message -------------------------------------------------- */

inline direct_make_rma(c)
{
	rma[c] = true;
	if
	:: tell[c] ->
		set_tell(c, 0);
		if
		:: state[c] == ARMED -> n_bell--; in_set[c] = (mutant != 22)
		:: else
		fi
	:: else
	fi
}

inline direct_make_own(c)
{
	if
	:: own[c]
	:: else ->
		if
		:: state[c] == ARMED && tell[c] -> n_bell--; armed--
		:: state[c] == ARMED && !tell[c] && mutant != 23 -> in_set[c] = false; armed--
		:: else
		fi;
		own[c] = true;
		set_tell(c, 1)
	fi
}

inline direct_put_arrived(c)
{
	store(RECEIVER, BODY(c), made[c], RELAXED);
	store(RECEIVER, WORD(c), made[c], RELAXED);
	direct_make_own(c);
	direct_landed(c)
}

/* direct_channel_look, direct_channel_retire: once all bells have been heard. */
inline direct_unseen_put(c)
{
	load(RECEIVER, WORD(c), v);
	if
	:: landed[c] || state[c] == FIRED -> t = 1
	:: else ->
		t = (state[c] == MARKED || state[c] == ARMED) && (mutant == 18 || !own[c]) &&
		    !(tell[c] && (mutant == 19 || iteration[c] > 0)) && v != IDLE
	fi;
	assert(!t || made[c] == iteration[c] + 1);
	assert(t || state[c] == CONSUMED || path[c] != NETWORK || iteration[c] > 0 || v == IDLE);
	t = 0;
	v = 0
}

inline heard(c)
{
	assert(c < CHANNELS && tell[c]);
	if
	:: state[c] == ARMED || (mutant == 14 && state[c] == MARKED) ->
		if
		:: state[c] == ARMED -> n_bell--; armed = armed - (mutant != 10)
		:: else
		fi;
		direct_ring(c)
	:: else -> direct_landed(c)
	fi
}

/* direct_bells_take, bell_next, bell_taken */
inline direct_bells_take()
{
	do
	:: true ->
		load(RECEIVER, SLOT(next), v);
		if
		:: v >= LAP && lap || v < LAP && v > 0 && !lap ->
			c = (v & (LAP - 1)) - 1;
			heard(c);
			taken++;
			next++;
			if
			:: next == SLOTS -> next = 0; lap = LAP - lap
			:: else
			fi;
			found = true
		:: else -> break
		fi
	od;
	if
	:: found && mutant != 5 -> store(RECEIVER, TAKEN, taken, RELEASE)
	:: else
	fi;
	found = false;
	v = 0
}

/* run_function: the program looks at its buffer, and goes on. */
inline run_function(c)
{
	assert(state[c] == FIRED && may_run[c]);
	may_run[c] = false;
	iteration[c]++;
	if
	:: loaded[c] -> v = early[c]
	:: else -> load(RECEIVER, BODY(c), v)
	fi;
	assert(v == iteration[c]);           /* whole, once */
	load(RECEIVER, WORD(c), v);
	assert(v == iteration[c]);
	v = 0;
	loaded[c] = false;
	early[c] = 0;
	state[c] = CONSUMED;
	if
	:: iteration[c] < PUTS(c) -> mark(c); watch(c)          /* CkDirect_ready */
	:: true                                              /* later */
	fi
}

/* direct_run_rung */
inline direct_run_rung()
{
	c = 0;
	do
	:: c < CHANNELS ->
		if
		:: state[c] == FIRED -> run_function(c)
		:: else
		fi;
		c++
	:: else -> break
	od;
	c = 0
}

/* direct_run_polled, pollset_scan */
inline direct_run_polled()
{
	c = 0;
	do
	:: c < CHANNELS ->
		if
		:: in_set[c] ->
			load(RECEIVER, WORD(c), v);
			if
			:: v != IDLE ->
				in_set[c] = false;
				armed--;
				state[c] = FIRED;
				run_function(c)
			:: else
			fi
		:: else
		fi;
		c++
	:: else -> break
	od;
	c = 0;
	v = 0
}

/* A pass that finds nothing changes nothing, so the model leaves it out. */
#define rings(i) (next == i && (lap -> mem[SLOT(i)] >= LAP : mem[SLOT(i)] < LAP))
#define fires(c) (in_set[c] && mem[WORD(c)] != IDLE)
#define something_there (n_bell && (rings(0) || rings(1) || rings(2)) || fires(0) || fires(1))

/* Without an acquire the body may be loaded long before the word or the slot. */
#define may_load_early(c) (state[c] == ARMED && !loaded[c] && \
	(mutant == 3 && in_set[c] || mutant == 4 && tell[c]))

proctype receiver()
{
	byte c, v, t, next, lap = LAP, taken;
	byte early[CHANNELS];
	bool loaded[CHANNELS], found, looked;

	/* set_up: the first put is always told. direct_channel_receive: put_back */
	do
	:: c < CHANNELS ->
		if
		:: anew[c] ->
			store(RECEIVER, WORD(c), LAST, RELAXED);
			set_tell(c, (mutant == 16));
			state[c] = CONSUMED
		:: else ->
			begin_telling(c);
			state[c] = ARMED;
			may_run[c] = true;
			n_bell++;
			armed = armed + (mutant != 10);
			atomic { all_stored(RECEIVER) -> ready ! c }
		fi;
		c++
	:: else -> break
	od;
	c = 0;
	/* poll_all; between passes handlers run */
end:	do
	:: armed > 0 && something_there ->   /* armed is 0: the PE sleeps until a message comes */
		if
		:: n_bell -> direct_bells_take()
		:: else
		fi;
		direct_run_rung();
		direct_run_polled()
	:: state[0] == FIRED || state[1] == FIRED -> direct_run_rung()
	:: state[0] == CONSUMED && iteration[0] < PUTS(0) -> mark(0)
	:: state[1] == CONSUMED && iteration[1] < PUTS(1) -> mark(1)
	:: state[0] == MARKED -> watch(0)
	:: state[1] == MARKED -> watch(1)
	:: bound ? c ->
		if
		:: path[c] == NETWORK -> direct_make_rma(c)
		:: else -> direct_make_own(c)
		fi;
		c = 0
	:: puts ? c -> direct_put_arrived(c); c = 0
#ifdef FAR
	:: !looked && state[0] != CONSUMED -> looked = true; direct_bells_take(); direct_unseen_put(0)
#endif
	:: may_load_early(0) -> load(RECEIVER, BODY(0), early[0]); loaded[0] = true
	:: may_load_early(1) -> load(RECEIVER, BODY(1), early[1]); loaded[1] = true
	:: iteration[0] == PUTS(0) && iteration[1] == PUTS(1) -> break
	od
}

proctype judge()
{
end:	timeout -> assert(iteration[0] == PUTS(0) && iteration[1] == PUTS(1))  /* awake, end */
}

/* Of one channel; the other one's bell goes on. */
inline any_path(c)
{
	if
	:: path[c] = NETWORK
	:: path[c] = MESSAGE
	:: skip
	fi;
	if
	:: anew[c] = true
	:: skip
	fi
}

init {
	atomic {
		mutant_from_environment();
		path[0] = MEMORY;
		path[1] = MEMORY;
#ifdef FAR
		any_path(0);
#endif
		run sender();
		run receiver();
		run drain(SENDER);
		run drain(RECEIVER);
		run judge()
	}
}
