/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named.pml: named channels are joined, stopped and moved (runtime/chare/channel/join.c, follow.c).
 *
 * Two elements, and a channel from each to the other. The program makes the ends in any order (JOINED: they are
 * joined at first), puts as soon as the receiver is
 * ready, and lets each element move at any time. Words between the ends come in any order: here they are even less ordered
 * than in the runtime. They wait for an element that is between two PEs, and those for an end that is not made yet are
 * dropped. What a put does is in channel.pml; here it lands at once.
 *
 * Proved:  alive    nobody puts into an end that is no more.
 *          once     no put lands on one that has not been consumed.
 *          end      every put is made and consumed, and every element that wants to leave does: two elements that
 *                   want to leave at the same time do not wait for each other.
 *
 * run: -DCHANNELS=1 -DPUTS=2 -DMOVES=2
 * run: -DCHANNELS=2 -DPUTS=1 -DMOVES=1 -DJOINED
 * big: -DCHANNELS=1 -DPUTS=3 -DMOVES=2
 * big: -DCHANNELS=2 -DPUTS=1 -DMOVES=1
 *
 * mutant 1: end_join does not wait until what was put has been consumed
 * mutant 2: receiver_rests does not wait until the sender has stopped
 * mutant 3: joined takes a JOIN that answers an older HELLO
 * mutant 4: heard takes a HELLO that was overtaken
 * mutant 5: JOINED: an element that wants to leave answers no ASK
 * mutant 6: end_join joins while the element wants to leave
 * mutant 7: receiver_rests does not wait until what was put has been consumed
 * mutant 8: a sender that moves forgets the put that waits
 * mutant 9: a sender that has arrived says no HELLO
 */
#include "mutant.pml"

#define WORDS 7
#define sender(c) (c)                  /* the elements of channel c */
#define receiver(c) (1 - (c))

mtype = { NOTHING, ASK, HELLO, JOIN };

typedef word { mtype kind; byte channel, serial, value };
word words[WORDS];

typedef sending {
	bool made, held;
	byte serial, to_end;           /* the receiver's end that it is joined to; 0: none */
	byte puts                      /* that have landed */
};
sending s[CHANNELS];

typedef receiving {
	bool made, landed, answered, asked;
	byte end, n_ends;              /* the layer's end; 0: there is none */
	byte serial, puts;             /* of the last HELLO */
	byte consumed
};
receiving r[CHANNELS];

typedef element { bool wants, flies; byte moves };
element e[2];

byte program_puts[CHANNELS];

/* ---- words ---- */

inline tell(k, c, n, v)
{
	w = 0;
	do
	:: w < WORDS && words[w].kind != NOTHING -> w++
	:: else -> break
	od;
	assert(w < WORDS);
	words[w].kind = k;
	words[w].channel = c;
	words[w].serial = n;
	words[w].value = v
}

#define to_receiver(i) (words[i].kind == HELLO)
#define goes_to(i) (to_receiver(i) -> receiver(words[i].channel) : sender(words[i].channel))
#define can_come(i) (words[i].kind != NOTHING && !e[goes_to(i)].flies && \
		     !(mutant == 5 && words[i].kind == ASK && e[goes_to(i)].wants))

/* ---- the sender ---- */

inline land(c)
{
	assert(r[c].end == s[c].to_end);  /* alive */
	assert(!r[c].landed);             /* once */
	r[c].landed = true;
	s[c].puts++
}

inline end_hello(c)
{
	s[c].to_end = 0;
	s[c].serial++;
	tell(HELLO, c, s[c].serial, s[c].puts)
}

inline joined(c, n, v)
{
	if
	:: n == s[c].serial || (mutant == 3 && !s[c].to_end) ->
		s[c].to_end = v;
		if
		:: s[c].held -> s[c].held = false; land(c)
		:: else
		fi
	:: else
	fi
}

/* ---- the receiver ---- */

inline end_ask(c)
{
	r[c].asked = true;
	tell(ASK, c, 0, 0)
}

inline end_begin(c)
{
	r[c].n_ends++;
	r[c].end = r[c].n_ends
}

inline end_join(c)
{
	if
	:: r[c].serial && !r[c].answered && (!e[receiver(c)].wants || mutant == 6) && !e[receiver(c)].flies &&
	   (r[c].consumed == r[c].puts || mutant == 1) ->
		end_begin(c);
		r[c].landed = false;
		r[c].answered = true;
		tell(JOIN, c, r[c].serial, r[c].end)
	:: else
	fi
}

inline heard(c, n, v)
{
	if
	:: n > r[c].serial || mutant == 4 ->
		r[c].serial = n;
		r[c].puts = v;
		r[c].answered = false;
		r[c].asked = false;
		end_join(c)
	:: else
	fi
}

#define receiver_rests(c) (!r[c].made || !r[c].serial || ((!r[c].answered || mutant == 2) && \
			   (r[c].consumed == r[c].puts || mutant == 7)))

/* ---- moves ---- */

/* The channel whose receiver, or sender, is an element. */
#define into(x) (1 - (x))
#define outof(x) (x)

#define may_leave(x) (e[x].wants && !e[x].flies && (into(x) >= CHANNELS || receiver_rests(into(x))))

inline named_rests(x)
{
	e[x].flies = true;
	e[x].wants = false;
	if
	:: into(x) < CHANNELS && r[into(x)].made -> r[into(x)].end = 0; r[into(x)].landed = false
	:: else
	fi;
	if
	:: outof(x) < CHANNELS && s[outof(x)].made ->
		s[outof(x)].to_end = 0;
		if
		:: mutant == 8 -> s[outof(x)].held = false
		:: else
		fi
	:: else
	fi
}

inline named_arrived(x)
{
	e[x].flies = false;
	if
	:: outof(x) < CHANNELS && s[outof(x)].made && mutant != 9 -> end_hello(outof(x))
	:: else
	fi;
	if
	:: into(x) < CHANNELS && r[into(x)].made -> end_begin(into(x)); end_join(into(x))
	:: else
	fi
}

inline told(i)
{
	c = words[i].channel;
	k = words[i].kind;
	n = words[i].serial;
	v = words[i].value;
	words[i].kind = NOTHING;
	words[i].channel = 0;
	words[i].serial = 0;
	words[i].value = 0;
	if
	:: k == ASK && s[c].made -> end_hello(c)
	:: k == JOIN && s[c].made -> joined(c, n, v)
	:: k == HELLO && r[c].made -> heard(c, n, v)
	:: else
	fi
}

/* ---- everything that can happen ---- */

#define done(c) (r[c].consumed == PUTS)
#define all_done (done(0) && done(CHANNELS - 1) && !e[0].wants && !e[1].wants && !e[0].flies && !e[1].flies)
#define forget i = 0; w = 0; c = 0; n = 0; v = 0; k = NOTHING

inline put(c)
{
	program_puts[c]++;
	if
	:: s[c].to_end -> land(c)
	:: else -> assert(!s[c].held); s[c].held = true
	fi
}

/* Behind the function of an arrival the end may be joined. */
inline arrived(c)
{
	r[c].landed = false;
	r[c].consumed++;
	end_join(c)
}

#define CHANNEL(c) \
	:: atomic { !s[c].made && !e[sender(c)].flies -> s[c].made = true; end_hello(c); forget } \
	:: atomic { !r[c].made && !e[receiver(c)].flies -> r[c].made = true; end_begin(c); end_ask(c); forget } \
	:: atomic { s[c].made && !e[sender(c)].flies && program_puts[c] < PUTS && program_puts[c] == r[c].consumed -> \
		    put(c); forget } \
	:: atomic { r[c].landed && !e[receiver(c)].flies -> arrived(c); forget } \
	:: atomic { e[receiver(c)].wants && r[c].made && r[c].answered && !r[c].asked -> end_ask(c); forget }
#define ELEMENT(x) \
	:: atomic { e[x].moves < MOVES && !e[x].wants && !e[x].flies -> e[x].moves++; e[x].wants = true } \
	:: atomic { may_leave(x) -> named_rests(x); forget } \
	:: atomic { e[x].flies -> named_arrived(x); forget }
#define WORD(x) :: atomic { can_come(x) -> i = x; told(i); forget }

active proctype job()
{
	byte i, w, c, n, v;
	mtype k = NOTHING;

	atomic { mutant_from_environment(); i = 0; do :: i < WORDS -> words[i].kind = NOTHING; i++ :: else -> break od; i = 0 };
#ifdef JOINED
	atomic {
		do
		:: c < CHANNELS ->
			s[c].made = true; s[c].serial = 1; s[c].to_end = 1;
			r[c].made = true; r[c].n_ends = 1; r[c].end = 1; r[c].serial = 1; r[c].answered = true; c++
		:: else -> break
		od;
		c = 0
	}
#endif
	do
	:: all_done -> break
	CHANNEL(0)
#if CHANNELS == 2
	CHANNEL(1)
#endif
	ELEMENT(0)
	ELEMENT(1)
	WORD(0) WORD(1) WORD(2) WORD(3) WORD(4) WORD(5) WORD(6)
	od
}
