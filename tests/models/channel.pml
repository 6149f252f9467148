/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.pml: put, poll and ready, with the bell (runtime/direct: channel.h, channel.c, arrival.c, pollset.c,
 * bells.c, sender.c, put.c; runtime/scheduler: bell.h, bell.c), in memory with relaxed stores (weak.pml).
 *
 * One PE puts into CHANNELS channels of another one, PUTS times into each. The receiver may say ready in the
 * arrival's function or later, at once (CkDirect_ready) or in two steps (readyMark, readyPollQ). It tells the
 * sender of the mark in a message; this is all the order that a program must give. Whether the receiver polls
 * or is told is open at each mark: the number of its channels may have changed (must_tell). The bell has just one
 * slot more than the channels, so it goes round. Not in the model: larger rings (BELL_END), puts by message or by
 * the network, destroyed channels.
 *
 * Proved:  whole    a function that runs finds the whole put: the body, and the word.
 *          once     it runs once for each put, only for a put, and not before readyPollQ; no bell rings for a channel
 *                   that waits for none.
 *          room     the bell is never full.
 *          awake    a PE that sleeps without a limit (nap_us in idle.c) waits for no put.
 *          end      every put is found.
 *
 * run:
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
 */
#include "mutant.pml"

#define CHANNELS 2
#define PUTS 3
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
#define LAP 8                                /* BELL_LAP; below it what the slot says: 1 + channel */

mtype = { CONSUMED, MARKED, ARMED, FIRED };  /* enum channel_state */
mtype state[CHANNELS];
bool tell[CHANNELS], landed[CHANNELS], in_set[CHANNELS];
bool may_run[CHANNELS];                      /* the program has said readyPollQ */
byte iteration[CHANNELS];
byte n_bell, armed;                          /* armed: pe->armed */

chan ready = [CHANNELS] of { byte };         /* messages to the sender */

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

proctype sender()
{
	byte n[CHANNELS];                    /* puts so far */
	byte c, v, t, next, laps, lap = LAP;
	byte early[CHANNELS] = 1;            /* mutant 13 */

end:	do
	:: ready ? c -> put_memory(c); c = 0
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

/* try_mark, mark; then the program tells the sender. */
inline mark(c)
{
	if
	:: t = 0
	:: t = 1
	fi;
	if
	:: mutant != 9 -> set_tell(c, t)
	:: else -> skip
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
	:: else -> n_bell++; armed = armed + (mutant != 10)
	fi
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
	:: state[c] == MARKED && mutant != 14 && !landed[c] -> landed[c] = true
	:: else -> assert(false)             /* once: unexpected() */
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
	:: iteration[c] < PUTS -> mark(c); watch(c)          /* CkDirect_ready */
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
	bool loaded[CHANNELS], found;

	/* set_up: the first put is always told */
	do
	:: c < CHANNELS ->
		store(RECEIVER, TELL(c), 1, RELAXED);
		tell[c] = true;
		state[c] = ARMED;
		may_run[c] = true;
		n_bell++;
		armed = armed + (mutant != 10);
		c++
	:: else -> break
	od;
	c = 0;
	all_stored(RECEIVER);
	ready ! 0;
	ready ! 1;
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
	:: state[0] == CONSUMED && iteration[0] < PUTS -> mark(0)
	:: state[1] == CONSUMED && iteration[1] < PUTS -> mark(1)
	:: state[0] == MARKED -> watch(0)
	:: state[1] == MARKED -> watch(1)
	:: may_load_early(0) -> load(RECEIVER, BODY(0), early[0]); loaded[0] = true
	:: may_load_early(1) -> load(RECEIVER, BODY(1), early[1]); loaded[1] = true
	:: iteration[0] == PUTS && iteration[1] == PUTS -> break
	od
}

proctype judge()
{
end:	timeout -> assert(iteration[0] == PUTS && iteration[1] == PUTS)  /* awake, end */
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
