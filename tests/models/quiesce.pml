/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quiesce.pml: quiescence detection by waves (runtime/chare/settle/quiesce.c, core/wave.h), with puts and with
 * calls that [aggregate] holds back (call/aggregate.c).
 *
 * Three PEs; 0 is the root, 1 and 2 are its children (SHAPE 0), or 1 is its child and 2 that of 1 (SHAPE 1). The
 * program does ACTIONS things in all. A handler may send a message, put, or make an aggregated call, to any PE.
 * Messages overtake each other and the waves' messages as they like. One handler asks for quiescence. So may a
 * function that nobody counts, such as a timer's, once, after it has sent a message: what it began must
 * also be over when its own request is answered.
 *
 * Not in the model: fences, several requests at a time but that of the timer, deeper trees.
 *
 * Proved:  quiet    when a request is answered, all that was done before it, and what followed from that, is over.
 *          end      every request is answered: of two waves that find nothing under way, the second answers.
 *
 * run: -DSHAPE=0
 * run: -DSHAPE=1
 *
 * mutant 1: qd_wave_over compares the sums of one wave
 * mutant 2: qd_wave_over keeps what was sent, instead of what was handled, for the next wave
 * mutant 3: qd_maybe_answer does not send what [aggregate] holds back
 * mutant 4: a put does not count as sent
 * mutant 5: a put counts as sent only when it has been handled
 * mutant 6: a batch is sent, but not counted
 * mutant 7: qd_begin lets a detection that runs go on
 * mutant 8: qd_maybe_answer does not wait for its children
 * mutant 9: a message counts as handled when it is taken from the network
 * mutant 10: qd_begin starts no wave
 * mutant 11: the function of a put does not count as handled
 */
#include "mutant.pml"

#ifndef SHAPE
#define SHAPE 0
#endif
#define PES 3
#define ACTIONS 3

#if SHAPE == 0
#define n_children(pe) (pe == 0 -> 2 : 0)
#define parent(pe) 0
#else
#define n_children(pe) (pe == 2 -> 0 : 1)
#define parent(pe) (pe - 1)
#endif

/* What is under way to each PE: begun by the program [0 ..], or by the timer's function [PES ..]. */
byte message[2 * PES], put[2 * PES], batch[2 * PES];
byte taken[2 * PES];                         /* mutant 9: counted, and not run yet */
/* Calls that a PE holds back, for each PE. */
typedef aggregator { byte call[2 * PES] };
aggregator agg[PES];
byte n_created[PES], n_processed[PES];
byte actions;
bool requested;                              /* by a handler */
byte timer;                                  /* 1: its function has run; 2: its request has come to PE 0 */

mtype = { START, ASK, SUM };
chan qd[PES] = [4] of { mtype, byte, byte };  /* csd_send to that PE: kind, sums */

/* struct wave, struct qd */
byte n_in[PES], in_created[PES], in_processed[PES];
bool running, have_before;
byte before;
bool asked, again;                           /* wave_after: qd_start_wave is due */
byte answered, requests;
byte idle_waves;                             /* in a row that began when nothing was under way */

#define k_of(origin, pe) ((origin) * PES + (pe))
#define busy(origin) (agg_busy(0, origin) || agg_busy(1, origin) || agg_busy(2, origin) || \
	some(message, origin) || some(put, origin) || some(batch, origin) || some(taken, origin))
#define some(what, origin) (what[k_of(origin, 0)] || what[k_of(origin, 1)] || what[k_of(origin, 2)])
#define agg_busy(pe, origin) some(agg[pe].call, origin)

/* ---- the program --------------------------------------------------------------------- */

inline act(me, origin)
{
	actions++;
	select(to : 0 .. PES - 1);
	if
	:: message[k_of(origin, to)]++;      /* csd_send */
		n_created[me]++
	:: put[k_of(origin, to)]++;          /* CkDirect_put */
		if
		:: mutant != 4 && mutant != 5 -> n_created[me]++
		:: else
		fi
	:: agg[me].call[k_of(origin, to)]++  /* CkGen_itemAppend */
	fi;
	to = 0
}

inline handler(me, origin)
{
	do
	:: actions < ACTIONS -> act(me, origin)
	:: !requested && origin == 0 ->
		requested = true;            /* CkStartQD */
		requests++;
		qd[0] ! START, 0, 0
	:: break
	od
}

/* aggregate_flush. In the model each call has a batch to itself. */
inline flush(me)
{
	k = 0;
	do
	:: k < 2 * PES ->
		batch[k] = batch[k] + agg[me].call[k];
		if
		:: mutant != 6 -> n_created[me] = n_created[me] + agg[me].call[k]
		:: else
		fi;
		agg[me].call[k] = 0;
		k++
	:: else -> break
	od;
	k = 0
}

/* dispatch; batch_arrived; run_function */
inline dispatch(me, origin)
{
	if
	:: message[k_of(origin, me)] ->
		message[k_of(origin, me)]--;
		if
		:: mutant == 9 -> taken[k_of(origin, me)]++
		:: else -> handler(me, origin)
		fi;
		n_processed[me]++
	:: taken[k_of(origin, me)] ->
		taken[k_of(origin, me)]--;
		handler(me, origin)
	:: batch[k_of(origin, me)] ->
		batch[k_of(origin, me)]--;
		handler(me, origin);
		if
		:: mutant != 6 -> n_processed[me]++
		:: else
		fi
	:: put[k_of(origin, me)] ->
		put[k_of(origin, me)]--;
		handler(me, origin);
		if
		:: mutant == 5 -> n_created[me]++
		:: else
		fi;
		if
		:: mutant != 4 && mutant != 11 -> n_processed[me]++
		:: else
		fi
	fi
}

#define may_run(me, origin) (message[k_of(origin, me)] || taken[k_of(origin, me)] || \
	batch[k_of(origin, me)] || put[k_of(origin, me)])

/* ---- the waves ----------------------------------------------------------------------- */

inline quiescent()
{
	assert(!busy(0));                    /* quiet */
	assert(timer < 2 || !busy(1));
	running = false;
	have_before = false;                 /* as the next qd_begin does; fewer states */
	before = 0;
	answered = requests - (timer == 1)
}

/* `asked`: the question to PE 0 itself, which waits in its queue. */
inline qd_wave_over(created, processed)
{
	if
	:: (have_before && created == before && mutant != 1) || (mutant == 1 && created == processed) ->
		quiescent()
	:: else ->
		before = (mutant == 2 -> created : processed);
		have_before = true;
		assert(idle_waves < 2);      /* end */
		if
		:: created == processed -> asked = true
		:: else -> again = true
		fi
	fi
}

inline qd_maybe_answer(me)
{
	if
	:: n_in[me] < n_children(me) && mutant != 8 -> skip
	:: else ->
		if
		:: mutant != 3 -> flush(me)
		:: else
		fi;
		in_created[me] = in_created[me] + n_created[me];
		in_processed[me] = in_processed[me] + n_processed[me];
		if
		:: me == 0 -> qd_wave_over(in_created[0], in_processed[0])
		:: else -> qd[parent(me)] ! SUM, in_created[me], in_processed[me]
		fi
	fi
}

inline qd_ask(me)
{
	n_in[me] = 0;
	in_created[me] = 0;
	in_processed[me] = 0;
	if
	:: me == 0 && n_children(0) == 2 -> qd[1] ! ASK, 0, 0; qd[2] ! ASK, 0, 0
	:: n_children(me) == 1 -> qd[me + 1] ! ASK, 0, 0
	:: else
	fi;
	qd_maybe_answer(me)
}

inline qd_begin()
{
	idle_waves = 0;
	if
	:: mutant != 7 || !running -> have_before = false
	:: else
	fi;
	if
	:: !running -> running = true; asked = mutant != 10
	:: else
	fi
}

inline qd_arrived(me)
{
	qd[me] ? what, a, b;
	if
	:: what == START ->
		if
		:: a -> timer = 2
		:: else
		fi;
		qd_begin()
	:: what == ASK -> qd_ask(me)
	:: what == SUM ->                    /* wave_take */
		n_in[me]++;
		in_created[me] = in_created[me] + a;
		in_processed[me] = in_processed[me] + b;
		qd_maybe_answer(me)
	fi;
	what = 0;
	a = 0;
	b = 0
}

proctype pe(byte me)
{
	byte to, k, a, b;
	mtype what;

end:	do
	:: atomic { may_run(me, 0) -> dispatch(me, 0) }
	:: atomic { may_run(me, 1) -> dispatch(me, 1) }
	:: atomic { agg_busy(me, 0) || agg_busy(me, 1) -> flush(me) }  /* flush_arrived */
	:: atomic { len(qd[me]) > 0 -> qd_arrived(me) }
	:: atomic { me == 0 && asked ->
		asked = false;
		idle_waves = (busy(0) || busy(1) -> 0 : idle_waves + 1);
		qd_ask(0)
	}
	:: atomic { me == 0 && again -> again = false; asked = true }
	:: atomic {
		me == 1 && timer == 0 && actions < ACTIONS ->
		act(1, 1);
		timer = 1;
		idle_waves = 0;
		requests++;
		qd[0] ! START, 1, 0
	}
	od
}

proctype judge()
{
	timeout -> assert(answered == requests && !busy(0) && !busy(1))  /* end */
}

init {
	atomic {
		mutant_from_environment();
		message[0] = 1;              /* the main chare's constructor */
		n_created[0] = 1;
		run pe(0);
		run pe(1);
		run pe(2);
		run judge()
	}
}
