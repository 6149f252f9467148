/* SPDX-License-Identifier: Apache-2.0 */
/*
 * move.pml: elements that move, are destroyed and are inserted again while other PEs call them (runtime/chare/place).
 *
 * PE 0 is the home of all ELEMS elements, which begin there. The PEs of SENDERS make CALLS numbered calls of each
 * element, whenever they like. Elements leave MOVES times in all, to any other PE; DESTROYS times one is destroyed, and
 * inserted again on any PE. Between two PEs, and from a PE to itself, messages keep their order. What different PEs
 * send overtakes each other as it likes.
 *
 * How a PE calls an element:
 *
 *	NEW         by way of home, like everybody while nothing has moved; with AGGREGATE in batches
 *	HOME        by way of home
 *	CLEAN_HOME  not since FLUSH; the next call goes by way of home
 *	WAIT        its calls are held, and SWITCH, GRANT or DENY is on its way
 *	LEASE       straight to the place
 *
 * Not in the model: calls with a priority (they ask for no lease, and go along when the element leaves), threads (an
 * element begins to leave when the last one has ended), collectives (the seat calls the element like anybody).
 *
 * Proved:  once     no call is lost or handled twice.
 *          order    calls of one PE to one element are handled in the order of sending.
 *          met      a call comes only to the PE that has its element, or to its home.
 *          one      an element is on one PE, or in one MOVE.
 *          quiet    while calls are held, or an element is leaving or under way, a message that quiescence counts is
 *                   on its way.
 *          end      every element arrives, and every call is handled.
 *
 * cc: -O0
 * run: -DSENDERS=3 -DCALLS=2 -DMOVES=3
 * run: -DTHIRD -DSENDERS=2 -DCALLS=3 -DMOVES=3
 * run: -DTHIRD -DSENDERS=6 -DCALLS=2 -DMOVES=2
 * run: -DSENDERS=3 -DCALLS=2 -DMOVES=2 -DDESTROYS=1
 * run: -DTHIRD -DSENDERS=2 -DCALLS=3 -DMOVES=2 -DDESTROYS=1
 * run: -DSENDERS=2 -DCALLS=4 -DMOVES=4 -DAGGREGATE
 * run: -DTHIRD -DSENDERS=2 -DCALLS=2 -DMOVES=2 -DELEMS=2 -DAGGREGATE
 *
 * run.sh --big searches these ways, too:
 *
 * big: -DSENDERS=3 -DCALLS=3 -DMOVES=3
 * big: -DTHIRD -DSENDERS=6 -DCALLS=2 -DMOVES=3
 * big: -DTHIRD -DSENDERS=6 -DCALLS=2 -DMOVES=2 -DDESTROYS=1
 * big: -DTHIRD -DSENDERS=2 -DCALLS=4 -DMOVES=4 -DDESTROYS=1
 * big: -DTHIRD -DSENDERS=2 -DCALLS=3 -DMOVES=3 -DELEMS=2 -DAGGREGATE
 *
 * mutant 1: THIRD: LEASE_AGAIN is a lease in HOME, too
 * mutant 2: an element leaves without GO
 * mutant 3: an element leaves without its FLUSHes
 * mutant 4: THIRD: calls go by way of home in WAIT
 * mutant 5: THIRD: the old place sends BORN when it sends MOVE
 * mutant 6: AGGREGATE: SWITCH overtakes the batch
 * mutant 7: home passes calls on after WANT
 * mutant 8: THIRD: those that get LEASE_AGAIN are no holders at the new place
 * mutant 9: GRANT makes no holder
 * mutant 10: a place that is leaving grants a lease
 * mutant 11: OFFER is a lease, without SWITCH
 * mutant 12: GO overtakes what home has passed on
 * mutant 13: FLUSH overtakes the holder's calls
 * mutant 14: MOVE leaves the kept calls behind
 * mutant 15: kept calls go into the queue of the new place
 * mutant 16: DESTROYS: what GONE brings waits behind what came later
 * mutant 17: THIRD: a call by way of home leaves CLEAN_HOME as it is
 * mutant 18: a PE calls an element of its own without a lease
 * mutant 19: home calls the place without its own queue
 * mutant 20: RECALL is answered only in LEASE
 * mutant 21: THIRD: LEASE_AGAIN is a lease in WAIT
 * mutant 22: FLUSH of the place itself does not go through its queue
 * mutant 23: a call overtakes those that the element has brought
 * mutant 24: DESTROYS: home passes on what waited before it sends the new element
 * mutant 25: THIRD: what waited at home goes through its queue
 * mutant 26: DESTROYS: SWITCH waits at home for an element that does not exist
 * mutant 27: THIRD: RECALL goes out with WANT, before GO has come
 * mutant 30: SWITCH is not counted
 * mutant 31: GRANT is not counted
 * mutant 32: DENY is not counted
 * mutant 33: WANT is not counted
 * mutant 34: GO is not counted
 * mutant 35: RECALL is not counted
 * mutant 36: FLUSH is not counted
 * mutant 37: MOVE is not counted
 * mutant 38: THIRD: BORN is not counted
 * mutant 39: DESTROYS: GONE is not counted
 */
#include "mutant.pml"

#ifdef THIRD
#define PES 3
#else
#define PES 2
#endif
#ifndef ELEMS
#define ELEMS 1
#endif
#ifndef DESTROYS
#define DESTROYS 0
#endif
#ifdef AGGREGATE
#define aggregates 1
#else
#define aggregates 0
#endif

#define ROOM 14                              /* messages under way from one PE to another */
#define KEPT (PES * CALLS)
#define AT_HOME 0                            /* the home of all elements */
#define NOWHERE PES

#define of(s, e) ((s) * ELEMS + (e))
#define way(from, to) ((from) * PES + (to))
#define bit(pe) (1 << (pe))

mtype = { CALL, OFFER, SWITCH, GRANT, DENY, WANT, GO, RECALL, FLUSH, MOVE, BORN, GONE, AGAIN };

/* Kind, element, for CALL and SWITCH the PE that called, number of the call. */
chan q[PES * PES] = [ROOM] of { mtype, byte, byte, byte };
byte n_counted;                              /* messages under way that quiescence counts */

/* A PE as a sender. */
#define NEW 0
#define HOME 1
#define CLEAN_HOME 2
#define WAIT 3
#define LEASE 4
byte route[PES * ELEMS], lease[PES * ELEMS];
byte made[PES * ELEMS], sent[PES * ELEMS];   /* the calls between them are held */
chan batch[PES] = [KEPT * ELEMS] of { byte, byte };

/* The element, wherever it is. */
byte place[ELEMS];
bool under_way[ELEMS], leaving[ELEMS], go[ELEMS];
byte to[ELEMS], holders[ELEMS], flushes[ELEMS];
chan kept[ELEMS] = [KEPT] of { byte, byte };
byte handled[PES * ELEMS];

/* What its home knows. */
#define THERE 0
#define MOVING 1
#define MISSING 2
byte known[ELEMS], state[ELEMS];
chan waiting[ELEMS] = [KEPT + PES] of { mtype, byte, byte };

byte moves, destroys;

/* Scratch within one atomic step. */
hidden mtype k, wk;
hidden byte e, s, n, from, i, w_s, w_n, count;

#define is_counted(kind) !( \
	(mutant == 30 && kind == SWITCH) || (mutant == 31 && kind == GRANT) || (mutant == 32 && kind == DENY) || \
	(mutant == 33 && kind == WANT) || (mutant == 34 && kind == GO) || (mutant == 35 && kind == RECALL) || \
	(mutant == 36 && kind == FLUSH) || (mutant == 37 && kind == MOVE) || (mutant == 38 && kind == BORN) || \
	(mutant == 39 && kind == GONE))

inline send(src, dst, kind, sender, number)
{
	assert(len(q[way(src, dst)]) < ROOM);
	q[way(src, dst)] ! kind, e, sender, number;
	n_counted = n_counted + is_counted(kind)
}

/* ---- a PE as a sender --------------------------------------------------------------------- */

inline send_call(who, dst)
{
	sent[of(who, e)]++;
	send(who, dst, CALL, who, sent[of(who, e)])
}

inline send_held(who, dst)
{
	do
	:: sent[of(who, e)] < made[of(who, e)] -> send_call(who, dst)
	:: else -> break
	od
}

inline call(me)
{
	made[of(me, e)]++;
	if
	:: mutant == 18 && place[e] == me && route[of(me, e)] != WAIT -> send_call(me, me)
	:: mutant == 19 && me == AT_HOME && place[e] != me && route[of(me, e)] <= HOME && state[e] == THERE ->
		send_call(me, known[e])
	:: else ->
		if
		:: route[of(me, e)] == NEW && aggregates && me != AT_HOME ->
			sent[of(me, e)]++;
			batch[me] ! e, sent[of(me, e)];
		:: route[of(me, e)] == NEW && !(aggregates && me != AT_HOME) -> send_call(me, AT_HOME)
		:: route[of(me, e)] == HOME -> send_call(me, AT_HOME)
		:: route[of(me, e)] == CLEAN_HOME ->
			if
			:: mutant != 17 -> route[of(me, e)] = HOME
			:: else
			fi;
			send_call(me, AT_HOME)
		:: route[of(me, e)] == WAIT ->
			if
			:: mutant == 4 -> send_call(me, AT_HOME)
			:: else
			fi
		:: route[of(me, e)] == LEASE -> send_call(me, lease[of(me, e)])
		fi
	fi
}

/* All that is in the batch for home. Its calls are one message; here they follow each other. */
inline flush_batch(me)
{
	do
	:: len(batch[me]) ->
		batch[me] ? i, w_n;
		assert(len(q[way(me, AT_HOME)]) < ROOM);
		q[way(me, AT_HOME)] ! CALL, i, me, w_n;
		n_counted++
	:: else -> break
	od
}

inline ask_for_lease(me)
{
	if
	:: mutant != 6 -> flush_batch(me)
	:: else
	fi;
	route[of(me, e)] = WAIT;
	send(me, AT_HOME, SWITCH, me, 0)
}

inline offer_arrived(me)
{
	if
	:: route[of(me, e)] == NEW || route[of(me, e)] == HOME ->
		if
		:: mutant == 11 -> route[of(me, e)] = LEASE; lease[of(me, e)] = known[e]
		:: else -> ask_for_lease(me)
		fi
	:: else
	fi
}

inline grant_arrived(me)
{
	assert(route[of(me, e)] == WAIT || mutant == 21);
	route[of(me, e)] = LEASE;
	lease[of(me, e)] = from;
	send_held(me, from)
}

inline deny_arrived(me)
{
	assert(route[of(me, e)] == WAIT || mutant == 21);
	route[of(me, e)] = HOME;
	send_held(me, AT_HOME)
}

inline recall_arrived(me)
{
	assert(route[of(me, e)] != LEASE || lease[of(me, e)] == from);
	if
	:: mutant == 20 && route[of(me, e)] != LEASE
	:: else ->
		if
		:: route[of(me, e)] == LEASE -> route[of(me, e)] = CLEAN_HOME
		:: else
		fi;
		if
		:: mutant == 13 -> flushes[e] = flushes[e] & ~bit(me); leave_if_flushed(from)
		:: mutant == 22 && me == from -> flushes[e] = flushes[e] & ~bit(me); leave_if_flushed(from)
		:: else -> send(me, from, FLUSH, me, 0)
		fi
	fi
}

inline again_arrived(me)
{
	assert(route[of(me, e)] != LEASE && route[of(me, e)] != NEW);
	if
	:: route[of(me, e)] == CLEAN_HOME || mutant == 1 && route[of(me, e)] == HOME ||
	   mutant == 21 && route[of(me, e)] == WAIT ->
		route[of(me, e)] = LEASE;
		lease[of(me, e)] = from;
		send_held(me, from)
	:: route[of(me, e)] == HOME && mutant != 1 -> ask_for_lease(me)
	:: route[of(me, e)] == WAIT && mutant != 21   /* the answer to SWITCH is on its way */
	fi
}

/* ---- the place ------------------------------------------------------------------------------ */

inline handle(sender, number)
{
	handled[of(sender, e)]++;
	assert(number == handled[of(sender, e)])     /* once, order */
}

inline call_at_place()
{
	if
	:: leaving[e] || len(kept[e]) && mutant != 23 -> kept[e] ! s, n
	:: else -> handle(s, n)
	fi
}

inline switch_at_place(me)
{
	if
	:: leaving[e] && mutant != 10 -> send(me, s, DENY, 0, 0)
	:: else ->
		if
		:: mutant != 9 -> holders[e] = holders[e] | bit(s)
		:: else
		fi;
		send(me, s, GRANT, 0, 0)
	fi
}

/* Leaves, or ends; the home knows what follows. */
inline leave_if_flushed(me)
{
	if
	:: leaving[e] && (go[e] || mutant == 2) && (!flushes[e] || mutant == 3) ->
		leaving[e] = false;
		go[e] = false;
		flushes[e] = 0;
		place[e] = NOWHERE;
		if
		:: to[e] == NOWHERE && me == AT_HOME -> gone()
		:: to[e] == NOWHERE && me != AT_HOME -> send(me, AT_HOME, GONE, 0, 0)
		:: else -> depart(me)
		fi;
		to[e] = 0
	:: else
	fi
}

/* From its home: calls are passed on behind MOVE. */
inline depart(me)
{
	assert(!under_way[e]);                       /* one */
	under_way[e] = true;
	if
	:: mutant == 14 ->
		do
		:: len(kept[e]) -> kept[e] ? _, _
		:: else -> break
		od
	:: else
	fi;
	send(me, to[e], MOVE, me, 0);
	if
	:: me == AT_HOME ->
		assert(!len(waiting[e]));            /* its calls were kept */
		known[e] = to[e];
		state[e] = THERE
	:: mutant == 5 && me != AT_HOME -> send(me, AT_HOME, BORN, to[e], 0)
	:: else
	fi
}

inline recall_all(me)
{
	flushes[e] = holders[e];
	i = 0;
	do
	:: i < PES ->
		if
		:: holders[e] & bit(i) -> send(me, i, RECALL, 0, 0)
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0
}

/* RECALL waits for GO: what a holder sends to home after FLUSH finds that home holds. */
inline begin_to_leave(me)
{
	leaving[e] = true;
	if
	:: me == AT_HOME -> go[e] = true
	:: else -> send(me, AT_HOME, WANT, 0, 0)
	fi;
	if
	:: me == AT_HOME || mutant == 2 || mutant == 27 -> recall_all(me); leave_if_flushed(me)
	:: else
	fi
}

inline go_arrived(me)
{
	if
	:: mutant == 2
	:: else ->
		assert(place[e] == me && leaving[e]);
		go[e] = true;
		if
		:: mutant != 27 -> recall_all(me)
		:: else
		fi;
		leave_if_flushed(me)
	fi
}

inline flush_arrived(me)
{
	if
	:: mutant == 3
	:: else ->
		assert(place[e] == me && leaving[e] && flushes[e] & bit(from));
		flushes[e] = flushes[e] & ~bit(from);
		leave_if_flushed(me)
	fi
}

inline move_arrived(me)
{
	assert(under_way[e] && place[e] == NOWHERE); /* one */
	under_way[e] = false;
	place[e] = me;
	i = 0;
	do
	:: i < PES ->
		if
		:: holders[e] & bit(i) -> send(me, i, AGAIN, 0, 0)
		:: else
		fi;
		i++
	:: else -> break
	od;
	if
	:: mutant == 8 -> holders[e] = 0
	:: else
	fi;
	if
	:: mutant == 15 ->
		do
		:: len(kept[e]) -> kept[e] ? w_s, w_n; send(me, me, CALL, w_s, w_n)
		:: else -> break
		od
	:: else
	fi;
	if
	:: me == AT_HOME -> born(me)
	:: s != AT_HOME && me != AT_HOME && mutant != 5 -> send(me, AT_HOME, BORN, me, 0)
	:: else
	fi
}

/* ---- the home ------------------------------------------------------------------------------- */

inline pass_on_waiting()
{
	do
	:: len(waiting[e]) ->
		waiting[e] ? wk, w_s, w_n;
		if
		:: mutant == 25 -> send(AT_HOME, AT_HOME, wk, w_s, w_n)
		:: else -> send(AT_HOME, known[e], wk, w_s, w_n)
		fi
	:: else -> break
	od
}

inline take_waiting(me)
{
	do
	:: len(waiting[e]) ->
		waiting[e] ? k, s, n;
		if
		:: k == CALL -> call_at_place()
		:: else -> switch_at_place(me)
		fi
	:: else -> break
	od
}

/* On the same PE: behind the calls that the element brings. */
inline born(at)
{
	known[e] = at;
	state[e] = THERE;
	if
	:: at == AT_HOME -> take_waiting(AT_HOME)
	:: else -> pass_on_waiting()
	fi
}

/* What the place kept is older than what waits here. */
inline gone()
{
	state[e] = MISSING;
	known[e] = 0;
	holders[e] = 0;
	count = len(waiting[e]);
	do
	:: len(kept[e]) && mutant != 16 -> kept[e] ? w_s, w_n; waiting[e] ! CALL, w_s, w_n
	:: else -> break
	od;
	do
	:: count > 0 ->
		waiting[e] ? wk, w_s, w_n;
		if
		:: wk == SWITCH && mutant != 26 -> send(AT_HOME, w_s, DENY, 0, 0)
		:: else -> waiting[e] ! wk, w_s, w_n
		fi;
		count--
	:: else -> break
	od;
	do
	:: len(kept[e]) -> kept[e] ? w_s, w_n; waiting[e] ! CALL, w_s, w_n
	:: else -> break
	od
}

inline insert()
{
	select(i : 0 .. PES - 1);
	known[e] = i;
	state[e] = THERE;
	if
	:: i == AT_HOME -> place[e] = AT_HOME; take_waiting(AT_HOME)
	:: else ->
		under_way[e] = true;
		if
		:: mutant == 24 -> pass_on_waiting()
		:: else
		fi;
		send(AT_HOME, i, MOVE, AT_HOME, 0);
		pass_on_waiting()
	fi
}

inline want_arrived()
{
	assert(state[e] == THERE && known[e] == from);
	if
	:: mutant != 7 -> state[e] = MOVING
	:: else
	fi;
	if
	:: mutant == 12 -> go_arrived(from)
	:: else -> send(AT_HOME, from, GO, 0, 0)
	fi
}

inline call_at_home()
{
	if
	:: state[e] != THERE -> waiting[e] ! CALL, s, n
	:: else ->
		if
		:: from == s -> send(AT_HOME, s, OFFER, 0, 0)
		:: true
		fi;
		send(AT_HOME, known[e], CALL, s, n)
	fi
}

inline switch_at_home()
{
	if
	:: state[e] == MOVING || state[e] == MISSING && mutant == 26 -> waiting[e] ! SWITCH, s, n
	:: state[e] == MISSING && mutant != 26 -> send(AT_HOME, s, DENY, 0, 0)
	:: state[e] == THERE -> send(AT_HOME, known[e], SWITCH, s, n)
	fi
}

/* ---- PEs -------------------------------------------------------------------------------------- */

inline dispatch(me)
{
	q[way(from, me)] ? k, e, s, n;
	n_counted = n_counted - is_counted(k);
	if
	:: k == CALL && place[e] == me -> call_at_place()
	:: k == CALL && place[e] != me ->
		assert(me == AT_HOME);               /* met */
		call_at_home()
	:: k == SWITCH && place[e] == me -> switch_at_place(me)
	:: k == SWITCH && place[e] != me ->
		assert(me == AT_HOME);
		switch_at_home()
	:: k == OFFER -> offer_arrived(me)
	:: k == GRANT -> grant_arrived(me)
	:: k == DENY -> deny_arrived(me)
	:: k == WANT -> want_arrived()
	:: k == GO -> go_arrived(me)
	:: k == RECALL -> recall_arrived(me)
	:: k == FLUSH -> flush_arrived(me)
	:: k == MOVE -> move_arrived(me)
	:: k == BORN -> born(s)
	:: k == GONE -> gone()
	:: k == AGAIN -> again_arrived(me)
	fi
}

#define may_call(me, x) (SENDERS & bit(me) && made[of(me, x)] < CALLS)
#define is_at_rest(me, x) (place[x] == me && !leaving[x])
#define may_go_on(me, x) (is_at_rest(me, x) && len(kept[x]))
#define may_leave(me, x) (is_at_rest(me, x) && moves < MOVES)
#define may_end(me, x) (is_at_rest(me, x) && destroys < DESTROYS)
#define is_missing(me, x) (me == AT_HOME && state[x] == MISSING)
#if ELEMS == 1
#define pick(may, me) may(me, 0) -> e = 0
#else
#define pick(may, me) if :: may(me, 0) -> e = 0 :: may(me, 1) -> e = 1 fi
#endif

proctype pe(byte me)
{
end:	do
	:: atomic {
		if
		:: len(q[way(0, me)]) -> from = 0
		:: len(q[way(1, me)]) -> from = 1
#ifdef THIRD
		:: len(q[way(2, me)]) -> from = 2
#endif
		fi;
		dispatch(me)
	   }
	:: atomic { pick(may_call, me); call(me) }
	:: atomic { len(batch[me]) -> flush_batch(me) }
	:: atomic { pick(may_go_on, me); kept[e] ? s, n; handle(s, n) }
	:: atomic {
		pick(may_leave, me);
		moves++;
		select(i : 0 .. PES - 2);
		to[e] = i + (i >= me);
		begin_to_leave(me)
	   }
	:: atomic {
		pick(may_end, me);
		destroys++;
		to[e] = NOWHERE;
		begin_to_leave(me)
	   }
	:: atomic { pick(is_missing, me); insert() }
	od
}

#define holds(pe, x) (route[of(pe, x)] == WAIT && sent[of(pe, x)] < made[of(pe, x)])
#define is_even(pe, x) (handled[of(pe, x)] == made[of(pe, x)])
#ifdef THIRD
#define any_holds(x) (holds(0, x) || holds(1, x) || holds(2, x))
#define all_handled(x) (is_even(0, x) && is_even(1, x) && is_even(2, x))
#else
#define any_holds(x) (holds(0, x) || holds(1, x))
#define all_handled(x) (is_even(0, x) && is_even(1, x))
#endif
#define is_busy(x) (leaving[x] || under_way[x] || any_holds(x) || state[x] == MOVING || \
	state[x] != MISSING && len(waiting[x]))
#if ELEMS == 1
#define busy is_busy(0)
#define is_over (place[0] != NOWHERE && all_handled(0))
#else
#define busy (is_busy(0) || is_busy(1))
#define is_over (place[0] != NOWHERE && place[1] != NOWHERE && all_handled(0) && all_handled(1))
#endif

proctype judge()
{
end:	do
	:: atomic { !n_counted && busy -> assert(false) }      /* quiet */
	:: timeout -> assert(is_over && !busy); break          /* end */
	od
}

init {
	atomic {
		mutant_from_environment();
		run pe(0);
		run pe(1);
#ifdef THIRD
		run pe(2);
#endif
		run judge()
	}
}
