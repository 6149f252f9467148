/* SPDX-License-Identifier: Apache-2.0 */
/*
 * announce.pml: groups are announced before anyone can know them (runtime/chare/create/announce.c,
 * runtime/scheduler/route/hold.c).
 *
 * Four PEs, of which 2 and 3 are of one node. PE 0 makes a group and a nodegroup, PE 1 makes a group. Any PE
 * that knows a proxy may pass on all that it knows, to any PE, at any time, up to PASSES times in all. Messages
 * of programs come in any order. Announcements and their answers come in the order of their sender, and
 * may overtake those of programs.
 *
 *	tree of PE 0's group:    0 -> 1, 0 -> 2 -> 3       its nodegroup:  0 -> 1, 0 -> 2
 *	tree of PE 1's group:    1 -> 0, 1 -> 2 -> 3
 *
 * Proved:  found    whoever knows a proxy finds the creation, third parties included.
 *          earlier  a PE that has a creation has those that its creator made before: a constructor finds them.
 *          order    held messages leave in the order of sending.
 *          end      nothing is held for ever, and all branches are constructed.
 *
 * run:
 *
 * mutant 1: csd_hold holds nothing
 * mutant 2: known_arrived does not wait for all children
 * mutant 3: announce_arrived answers before its children have
 * mutant 4: csd_release lets all go when one reason is gone
 * mutant 5: csd_release compares with <= instead of <
 * mutant 6: announce_arrived keeps the creation after it has answered
 * mutant 7: announce_arrived constructs the branch
 * mutant 8: announcements are held, too, and wait for their own answers (csd_send instead of csd_send_now)
 * mutant 9: csd_release does not look at what is held
 * mutant 10: an announcement overtakes another one of the same creator
 */
#include "mutant.pml"

#define PES 4
#define GROUPS 3
#define PASSES 2
#define bit(g) (1 << (g))
#define creator(g) (g == 2 -> 1 : 0)
#define is_nodegroup(g) (g == 1)
#define home(pe, g) (is_nodegroup(g) && pe == 3 -> 2 : pe)   /* who keeps the creation for this PE */

mtype = { ANNOUNCE, KNOWN, BORN };
chan sys[16] = [6] of { mtype, byte };       /* [from * PES + to] */
chan app[PES] = [PASSES] of { byte };        /* what is known to the sender */

byte has[PES];                               /* creations, as bits */
byte constructed[PES];
byte knows[PES];                             /* what a program on this PE may use */
byte passes;

/* struct announcement */
typedef announcements { byte n_missing[GROUPS] };
announcements open[PES];
byte reason_of[GROUPS];

/* struct csd_hold */
typedef hold {
	byte n_begun;
	byte reasons;                        /* as bits: bit n is reason n */
	byte n, done;                        /* messages held so far, and gone again */
	byte after[PASSES], to[PASSES], what[PASSES]
};
hold held[PES];

inline csd_hold(pe, g)
{
	held[pe].n_begun++;
	reason_of[g] = held[pe].n_begun;
	held[pe].reasons = held[pe].reasons | bit(held[pe].n_begun)
}

#define oldest(r) ((r) & bit(1) -> 1 : ((r) & bit(2) -> 2 : 9))

inline csd_release(pe, g)
{
	held[pe].reasons = held[pe].reasons & ~bit(reason_of[g]);
	do
	:: held[pe].done < held[pe].n && mutant != 9 &&
	   (mutant == 4 || held[pe].after[held[pe].done] < oldest(held[pe].reasons) ||
	    (mutant == 5 && held[pe].after[held[pe].done] <= oldest(held[pe].reasons))) ->
		app[held[pe].to[held[pe].done]] ! held[pe].what[held[pe].done];
		held[pe].done++
	:: else -> break
	od
}

/* csd_send_away */
inline send_away(pe, dst)
{
	if
	:: held[pe].reasons && mutant != 1 ->
		held[pe].after[held[pe].n] = held[pe].n_begun;
		held[pe].to[held[pe].n] = dst;
		held[pe].what[held[pe].n] = knows[pe];
		held[pe].n++
	:: else ->
		assert(mutant == 1 || held[pe].n == held[pe].done);      /* order */
		app[dst] ! knows[pe]
	fi
}

inline to_children(pe, g, what)
{
	if
	:: pe == creator(g) -> sys[pe * PES + (1 - pe)] ! what, g; sys[pe * PES + 2] ! what, g
	:: pe == 2 && !is_nodegroup(g) -> sys[2 * PES + 3] ! what, g
	:: else
	fi
}

#define n_children(pe, g) (pe == creator(g) -> 2 : (pe == 2 && !is_nodegroup(g) -> 1 : 0))
#define parent(pe, g) (pe == 3 -> 2 : creator(g))

inline construct(pe, g)
{
	assert(has[home(pe, g)] & bit(g));                               /* found */
	assert((has[home(pe, g)] & (bit(g) - 1) & (g == 2 -> 0 : 1)) ==
	       ((bit(g) - 1) & (g == 2 -> 0 : 1)));                      /* earlier */
	constructed[pe] = constructed[pe] | bit(g);
	knows[pe] = knows[pe] | bit(g)
}

inline known(pe, g)
{
	if
	:: pe != creator(g) -> sys[pe * PES + parent(pe, g)] ! KNOWN, g
	:: else ->
		to_children(pe, g, BORN);
		csd_release(pe, g)
	fi
}

inline keep(pe, g)
{
	has[pe] = has[pe] | bit(g);
	if
	:: mutant == 7 -> construct(pe, g)
	:: else
	fi
}

/* CkGen_newGroup */
inline new_group(pe, g)
{
	open[pe].n_missing[g] = n_children(pe, g);
	csd_hold(pe, g);
	if
	:: mutant == 8 -> skip
	:: else -> to_children(pe, g, ANNOUNCE)
	fi;
	has[pe] = has[pe] | bit(g);
	construct(pe, g)
}

inline announce_arrived(pe, g)
{
	if
	:: mutant != 6 -> keep(pe, g)
	:: else
	fi;
	open[pe].n_missing[g] = n_children(pe, g);
	to_children(pe, g, ANNOUNCE);
	if
	:: open[pe].n_missing[g] == 0 || mutant == 3 -> known(pe, g)
	:: else
	fi
}

inline known_arrived(pe, g)
{
	if
	:: mutant == 3 && pe != creator(g) -> skip
	:: open[pe].n_missing[g] > 0 && !(mutant == 3 && pe != creator(g)) ->
		open[pe].n_missing[g] = (mutant == 2 -> 0 : open[pe].n_missing[g] - 1);
		if
		:: open[pe].n_missing[g] == 0 -> known(pe, g)
		:: else
		fi
	:: else -> assert(mutant == 2)
	fi
}

inline born_arrived(pe, g)
{
	to_children(pe, g, BORN);
	construct(pe, g)
}

inline arrived(pe, from)
{
	if
	:: mutant == 10 && len(sys[from * PES + pe]) > 1 ->
		sys[from * PES + pe] ? what, g;
		sys[from * PES + pe] ! what, g;
	:: else
	fi;
	sys[from * PES + pe] ? what, g;
	if
	:: what == ANNOUNCE -> announce_arrived(pe, g)
	:: what == KNOWN -> known_arrived(pe, g)
	:: what == BORN -> born_arrived(pe, g)
	fi
}

/* Mutant 6: the rest of the handler, while another PE of the node goes on. */
inline kept(pe)
{
	if
	:: mutant == 6 && what == ANNOUNCE -> kept_late = g + 1
	:: else
	fi
}

/* The use of a proxy on this PE: coll_there, CkGen_ckLocalBranch. */
inline use_all(pe)
{
	g = 0;
	do
	:: g < GROUPS ->
		if
		:: v & bit(g) -> construct(pe, g)
		:: else
		fi;
		g++
	:: else -> break
	od;
	v = 0
}

proctype pe(byte me)
{
	byte g, v, next, kept_late;
	mtype what;

	if
	:: me == 0 -> next = 0
	:: me == 1 -> next = 2
	:: else -> next = GROUPS
	fi;
end:	do
	:: atomic { next < (me == 0 -> 2 : GROUPS) -> new_group(me, next); next++ }
	:: atomic { len(sys[0 * PES + me]) > 0 && !kept_late -> arrived(me, 0); kept(me); g = 0; what = 0 }
	:: atomic { len(sys[1 * PES + me]) > 0 && !kept_late -> arrived(me, 1); kept(me); g = 0; what = 0 }
	:: atomic { len(sys[2 * PES + me]) > 0 && !kept_late -> arrived(me, 2); kept(me); g = 0; what = 0 }
	:: atomic { len(sys[3 * PES + me]) > 0 && !kept_late -> arrived(me, 3); kept(me); g = 0; what = 0 }
	:: atomic { kept_late -> has[me] = has[me] | bit(kept_late - 1); kept_late = 0 }
	:: atomic {
		len(app[me]) > 0 && !kept_late ->
		if
		:: app[me] ? v
		:: len(app[me]) > 1 -> app[me] ? v; app[me] ! v; app[me] ? v /* overtaken */
		fi;
		use_all(me);
		g = 0
	}
	:: atomic {
		passes < PASSES && knows[me] && !kept_late ->
		passes++;
		if
		:: me != 0 -> send_away(me, 0)
		:: me != 1 -> send_away(me, 1)
		:: me != 2 -> send_away(me, 2)
		:: me != 3 -> send_away(me, 3)
		fi
	}
	od
}

proctype judge()
{
	timeout ->                                                       /* end */
	assert(!held[0].reasons && !held[1].reasons);
	assert(held[0].n == held[0].done && held[1].n == held[1].done);
	assert(constructed[0] == 7 && constructed[1] == 7 && constructed[2] == 7);
	assert(constructed[3] == (knows[3] & bit(1) -> 7 : 5)) /* a nodegroup has one branch per node */
}

init {
	atomic {
		mutant_from_environment();
		run pe(0);
		run pe(1);
		run pe(2);
		run pe(3);
		run judge()
	}
}
