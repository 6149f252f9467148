/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weak.pml: memory as C11 gives it to threads, for the models that need it. A store goes into its thread's
 * buffer, and reaches memory later. From there a relaxed store may overtake stores to other words that were
 * made before it. A release store waits until all of these have gone. x86 never lets a store overtake
 * another one; ARM does, and so may a compiler.
 *
 * Loads are made in the order of the program. That an acquire is missing is modelled where it happens: the
 * load that it should hold back is made earlier.
 *
 * The model defines WORDS (of memory), STORES_OF (threads with a buffer), and starts a `drain` for each.
 */
#define RELAXED 0
#define RELEASE 1
#define STORES 4

typedef stores {
	byte n;
	byte at[STORES];
	byte value[STORES];
	bit release[STORES]
}

byte mem[WORDS];
stores buf[STORES_OF];
hidden byte wi;

/* The store of `what` into the word `where`. */
inline store(w, where, what, order)
{
	atomic {
		buf[w].n < STORES ->
		d_step {
			buf[w].at[buf[w].n] = where;
			buf[w].value[buf[w].n] = what;
			buf[w].release[buf[w].n] = order;
			buf[w].n++
		}
	}
}

/* A thread sees its own stores at once. */
inline load(w, where, value_p)
{
	d_step {
		value_p = mem[where];
		wi = 0;
		do
		:: wi < buf[w].n ->
			if
			:: buf[w].at[wi] == where -> value_p = buf[w].value[wi]
			:: else
			fi;
			wi++
		:: else -> break
		od;
		wi = 0
	}
}

/* What a seq_cst store is followed by; a read-modify-write that is a release begins with it. */
#define all_stored(w) (buf[w].n == 0)

/* Whether the buffer's k-th store may reach memory now. */
#define may_go0(w) (buf[w].n > 0)
#define may_go1(w) (buf[w].n > 1 && !buf[w].release[1] && buf[w].at[0] != buf[w].at[1])
#define may_go2(w) (buf[w].n > 2 && !buf[w].release[2] && \
	buf[w].at[0] != buf[w].at[2] && buf[w].at[1] != buf[w].at[2])
#define may_go3(w) (buf[w].n > 3 && !buf[w].release[3] && \
	buf[w].at[0] != buf[w].at[3] && buf[w].at[1] != buf[w].at[3] && buf[w].at[2] != buf[w].at[3])

inline go(w, k)
{
	d_step {
		mem[buf[w].at[k]] = buf[w].value[k];
		wi = k;
		do
		:: wi + 1 < buf[w].n ->
			buf[w].at[wi] = buf[w].at[wi + 1];
			buf[w].value[wi] = buf[w].value[wi + 1];
			buf[w].release[wi] = buf[w].release[wi + 1];
			wi++
		:: else -> break
		od;
		buf[w].at[wi] = 0;
		buf[w].value[wi] = 0;
		buf[w].release[wi] = 0;
		buf[w].n--;
		wi = 0
	}
}

proctype drain(byte w)
{
end:	do
	:: atomic { may_go0(w) -> go(w, 0) }
	:: atomic { may_go1(w) -> go(w, 1) }
	:: atomic { may_go2(w) -> go(w, 2) }
	:: atomic { may_go3(w) -> go(w, 3) }
	od
}
