/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.pml: flow control between two PEs (runtime/scheduler/route/flow.c), with csd_wait_for's hold_for_later (loop.c) and with
 * the end of the job (drop_arrived in exit.c).
 *
 * One PE sends N messages of any sizes, and then a last one that must get through: its exit message. The
 * other handles them; at any time it may begin to wait for a later message (held ones do not run), or stop.
 * Budgets from 1 to 8 stand for all relations of budget and sizes: quarters that are 0, that are rounded, messages
 * beyond the budget.
 *
 * Proved:  bound    what is under way and not handled stays within the budget; or it is one message beyond it,
 *                   and at most a quarter of the budget besides.
 *          credits  at most four are under way, if the budget has whole quarters.
 *          order    messages are handled in the order of sending.
 *          end      nothing waits for ever.
 *
 * run:
 *
 * mutant 1: may_send is always true
 * mutant 2: may_send lets no message beyond the budget go
 * mutant 3: may_send lets it go only when all has been reported
 * mutant 4: flow_consumed reports after half of the budget
 * mutant 5: flow_send does not look whether others wait
 * mutant 6: drop_arrived gives no credit
 * mutant 7: hold gives no credit before the awaited message has come
 * mutant 8: credit_arrived lets only one message go
 * mutant 9: credits overtake each other
 * mutant 10: flow_consumed reports every byte at once
 */
#include "mutant.pml"

#define N 5
#define LAST N

byte budget;
/* struct csd_peer of the sender, and of the receiver */
byte sent, acked;
byte consumed, reported;
chan waiting = [N + 1] of { byte, byte };  /* size, number */
chan network = [N + 1] of { byte, byte };  /* and the receiver's queue */
chan credits = [8] of { byte };
byte handled;
bool over;

#define under_way (sent - acked)

inline may_send(size, yes_p)
{
	yes_p = under_way + size <= budget || under_way <= budget / 4;
	if
	:: mutant == 1 -> yes_p = true
	:: mutant == 2 -> yes_p = under_way + size <= budget
	:: mutant == 3 -> yes_p = under_way + size <= budget || under_way == 0
	:: else
	fi
}

inline send_in_budget(size, number)
{
	sent = sent + size;
	assert(sent - consumed <= budget || sent - consumed - size <= budget / 4); /* bound */
	network ! size, number
}

inline flow_send(size, number)
{
	may_send(size, yes);
	if
	:: (len(waiting) == 0 || mutant == 5) && yes -> send_in_budget(size, number)
	:: else -> waiting ! size, number
	fi;
	yes = false
}

inline credit_arrived()
{
	if
	:: mutant == 9 && len(credits) > 1 -> credits ? c; credits ! c; credits ? c
	:: else -> credits ? c
	fi;
	acked = c;
	c = 0;
	do
	:: len(waiting) > 0 ->
		waiting ? <s, k>;
		may_send(s, yes);
		if
		:: yes ->
			waiting ? s, k;
			send_in_budget(s, k);
			if
			:: mutant == 8 -> break
			:: else
			fi
		:: else -> break
		fi
	:: len(waiting) == 0 -> break
	od;
	s = 0;
	k = 0;
	yes = false
}

proctype sender()
{
	byte n, s, k, c;
	bool yes;

end:	do
	:: atomic {
		n < LAST ->
		if
		:: s = 1
		:: s = 3
		:: s = 9
		fi;
		flow_send(s, n);
		n++;
		s = 0
	}
	:: atomic {
		n == LAST ->
		flow_send(1, LAST); /* subtree_stopped: EXIT_ACK */
		n++
	}
	:: atomic { len(credits) > 0 -> credit_arrived() }
	od
}

inline flow_consumed(bytes)
{
	consumed = consumed + bytes;
	if
	:: consumed - reported < (mutant == 4 -> budget / 2 + 1 : (mutant == 10 -> 0 : budget / 4))
	:: else ->
		reported = consumed;
		credits ! consumed;
		assert(budget % 4 || len(credits) <= 4)             /* credits */
	fi
}

proctype receiver()
{
	byte s, k, owed, awaited;
	bool stopped;

end:	do
	:: atomic {
		network ? s, k ->
		assert(k == handled);                               /* order */
		handled++;
		if
		:: k == LAST -> over = true   /* N_OWN_HANDLERS: an exit message is never dropped */
		:: k != LAST && stopped ->    /* drop_arrived */
			if
			:: mutant != 6 -> flow_consumed(s)
			:: else -> consumed = consumed + s
			fi
		:: k != LAST && !stopped && k < awaited -> /* hold */
			if
			:: mutant != 7 -> flow_consumed(s)
			:: else -> owed = owed + s
			fi
		:: else ->                    /* dispatch_marked */
			flow_consumed(s + owed);
			owed = 0
		fi;
		s = 0;
		k = 0
	}
	:: atomic { !stopped && !awaited && handled < LAST -> awaited = LAST - 1 } /* csd_wait_for */
	:: atomic { !stopped && handled >= awaited -> stopped = true }             /* stop_loop */
	od
}

proctype judge()
{
	timeout -> assert(over && len(waiting) == 0)                /* end */
}

init {
	atomic {
		mutant_from_environment();
		select(budget : 1 .. 8);
		run sender();
		run receiver();
		run judge()
	}
}
