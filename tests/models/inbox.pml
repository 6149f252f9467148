/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inbox.pml: messages between the PEs of a node, the node's queue, and how a PE sleeps (runtime/scheduler: inbox.c,
 * node_queue.c, idle.c; runtime/machine: base/msg_stack.h, local/wake.c), in memory with relaxed stores (weak.pml).
 *
 * PEs receive, and sleep until they are woken. In one run two others send to PE 0: SENT messages, and one. In the
 * other run (QUEUE) a third PE sends two messages to the node, and PE 0 or PE 1 handles them.
 *
 * Proved:  order    the messages of one sender come in the order of sending.
 *          whole    their bytes are there.
 *          end      nobody sleeps while there is something for him.
 *
 * run:
 * run: -DQUEUE
 *
 * mutant 1: no second look before the sleep (nap)
 * mutant 2: nap stores `sleeping` relaxed
 * mutant 3: inbox_push looks at `sleeping` before its push is visible
 * mutant 4: msg_stack_push is relaxed
 * mutant 5: inbox_take_slow does not turn the list round
 * mutant 6: QUEUE: nap does not look at the node's queue
 * mutant 7: QUEUE: push_to_node looks at n_sleeping before it raises `n`
 * mutant 8: a wake before the sleep is lost
 * mutant 9: inbox_push wakes nobody
 * mutant 10: QUEUE: nap raises n_sleeping relaxed, after its look
 * mutant 11: msg_stack_take is two steps, a load and a store
 */
#include "mutant.pml"

#define SENT 2
#define MESSAGES (SENT + 1)                  /* to PE 0 */

/* The words of memory. Message m, from 1 on, lies at CONTENT(m); 0 is none. */
#define TOP 0                                /* PE 0's inbox */
#define SLEEPING(pe) (1 + (pe))
#define N_SLEEPING 3                         /* csd_node_queue: only read-modify-writes */
#define N 4
#define CONTENT(m) (4 + (m))
#define NEXT(m) (CONTENT(MESSAGES) + (m))
#define WORDS (NEXT(MESSAGES) + 1)

/* Threads with a buffer: PEs 0 and 1, the senders 2 and 3. */
#define STORES_OF 4
#include "weak.pml"

#ifdef QUEUE
#define over (handled == 2)
#else
#define over (got == MESSAGES)
#endif

bool wake_fd[2];
byte got_of[2], got;                         /* per sender; all */
byte node_messages, handled;                 /* in the node's queue; handled */

/* ---- the senders ------------------------------------------------------------------------ */

inline cmi_wake(pe)
{
	wake_fd[pe] = true
}

/* inbox_push, msg_stack_push */
inline inbox_push(w, place, number)
{
	if
	:: mutant == 3 -> load(w, SLEEPING(0), asleep)
	:: else
	fi;
	store(w, CONTENT(place), number, RELAXED);
	do
	:: atomic {
		true ->
		load(w, TOP, v);
		store(w, NEXT(place), v, RELAXED)
	   }
		atomic {
			all_stored(w) || mutant == 4 ->
			if
			:: mem[TOP] == v -> mem[TOP] = place; v = 0; break
			:: else -> v = 0
			fi
		}
	od;
	if
	:: mutant != 3 -> load(w, SLEEPING(0), asleep)
	:: else
	fi;
	atomic {
		if
		:: asleep && mutant != 9 -> cmi_wake(0)
		:: else
		fi;
		asleep = 0
	}
}

/* wake_one: one of those that sleep */
inline wake_one(w)
{
	i = 0;
	do
	:: i < 2 ->
		load(w, SLEEPING(i), asleep);
		if
		:: asleep ->
			atomic {             /* exchange */
				all_stored(w) ->
				asleep = mem[SLEEPING(i)];
				mem[SLEEPING(i)] = 0
			}
			if
			:: asleep -> cmi_wake(i); break
			:: else
			fi
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0;
	asleep = 0
}

/* push_to_node, wake_sleepers */
inline push_to_node(w)
{
	if
	:: mutant == 7 -> v = mem[N_SLEEPING]
	:: else
	fi;
	atomic { all_stored(w) -> mem[N] = mem[N] + 1 }
	node_messages++;                    /* msg_stack_local_push */
	if
	:: mutant != 7 -> v = mem[N_SLEEPING]
	:: else
	fi;
	if
	:: v -> wake_one(w)
	:: else
	fi;
	v = 0
}

proctype many()
{
	byte v, asleep, m = 1;

	do
	:: m <= SENT -> inbox_push(2, m, m); m++
	:: else -> break
	od
}

proctype one()
{
	byte v, asleep;

	inbox_push(3, MESSAGES, SENT + 1)
}

proctype to_node()
{
	byte v, asleep, i;

	push_to_node(2);
	push_to_node(2)
}

/* ---- the receivers ---------------------------------------------------------------------- */

/* inbox_take, inbox_take_slow */
inline inbox_take()
{
	if
	:: mem[TOP] ->
		if
		:: mutant == 11 -> top = mem[TOP]; mem[TOP] = 0
		:: else -> atomic { top = mem[TOP]; mem[TOP] = 0 }
		fi;
		do
		:: atomic {                  /* msg_stack_in_order */
			top && mutant != 5 ->
			v = mem[NEXT(top)];
			mem[NEXT(top)] = first;
			first = top;
			top = v;
			v = 0
		   }
		:: else -> break
		od;
		if
		:: mutant == 5 -> first = top; top = 0
		:: else
		fi;
		do
		:: atomic {
			first ->
			v = mem[CONTENT(first)];
			got_of[v > SENT]++;
			got++;
			assert(v == (v > SENT -> SENT + 1 : got_of[0])); /* order, whole */
			v = mem[NEXT(first)];
			mem[NEXT(first)] = 0;
			first = v;
			v = 0
		   }
		:: else -> break
		od
	:: else
	fi
}

/* node_queue_run */
inline node_queue_run()
{
	atomic {
		if
		:: mem[N] && node_messages ->
			node_messages--;
			mem[N] = mem[N] - 1;
			handled++
		:: else
		fi
	}
}

inline nap(me)
{
	store(me, SLEEPING(me), 1, RELAXED);
	if
	:: mutant != 2 -> all_stored(me)     /* seq_cst */
	:: else
	fi;
	if
	:: mutant != 10 ->
		atomic { all_stored(me) || mutant == 2 -> mem[N_SLEEPING] = mem[N_SLEEPING] + 1 }
	:: else
	fi;
	came = mutant != 1 && me == 0 && mem[TOP];
	came = came || mutant != 1 && mutant != 6 && mem[N];
	if
	:: mutant == 10 -> atomic { mem[N_SLEEPING] = mem[N_SLEEPING] + 1 }
	:: else
	fi;
	if
	:: !came ->                          /* cmi_sleep */
		if
		:: mutant == 8 -> wake_fd[me] = false
		:: else
		fi;
end_nap:	atomic { wake_fd[me] -> wake_fd[me] = false }
	:: else
	fi;
	came = false;
	atomic { mem[N_SLEEPING] = mem[N_SLEEPING] - 1 }
	store(me, SLEEPING(me), 0, RELAXED)
}

proctype pe(byte me)
{
	byte v, top, first;
	bool came;

	do
	:: over -> break
	:: else ->
		if
		:: me == 0 -> inbox_take()
		:: else
		fi;
		node_queue_run();
		if
		:: over -> break
		:: else -> nap(me)
		fi
	od
}

proctype judge()
{
	timeout -> assert(over) /* end */
}

init {
	atomic {
		mutant_from_environment();
		run pe(0);
		run drain(0);
#ifdef QUEUE
		run pe(1);
		run to_node();
		run drain(1);
#else
		run many();
		run one();
		run drain(3);
#endif
		run drain(2);
		run judge()
	}
}
