/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program of the torture writes down: one note for each thing that somebody did or got.
 *
 * Each PE has a file of notes, which is mapped, so that they are there after a crash or at the end of a time limit.
 * A number names a note: (PE + 1) << 32 | its place in that PE's file. A call, a broadcast, an insertion carries the
 * number of the note that its caller made, and what it brings follows from that number. notes.py reads the files; the
 * two lists of kinds and the layout must agree.
 */
#ifndef NOTE_H
#define NOTE_H

#include <stdbool.h>
#include <stdint.h>
#include "ck.h"

enum note_kind {
	NOTE_SEND = 1,    /* a call; the target is an element's number */
	NOTE_ALL,         /* a call of all, or of a section */
	NOTE_GOT,         /* the handler of either */
	NOTE_INSERT,      /* value: the time after it */
	NOTE_BORN,
	NOTE_GONE,
	NOTE_MOVE,        /* target: the PE that it wants to go to */
	NOTE_ARRIVED,
	NOTE_GIVE,        /* a contribution: value, and the round of its part */
	NOTE_RESULT,
	NOTE_PUT,         /* value: the round */
	NOTE_LANDED,      /* value: the round that is in the buffer */
	NOTE_QUIET_ASKED,
	NOTE_QUIET,
	NOTE_END,         /* the program has come to its end */
	NOTE_WAIT,        /* somebody waits for something ... */
	NOTE_WENT_ON      /* ... and has got it */
};

/* Who makes notes: the first member of each chare's struct. It travels with an element. */
struct being {
	int32_t coll, number; /* of the collection in the program, of the element in it */
	uint32_t born;        /* of this life of the element; unique in the job */
	uint32_t seq;         /* notes of this life so far */
	uint32_t stay;        /* moves so far */
	uint64_t random;      /* state of the choices that it makes */
};

struct note {
	uint64_t time, id, value, more;
	uint32_t lane;        /* which calls keep their order: the lists of lanes are in program.py */
	uint16_t part, kind;
	int16_t coll, flags;
	int32_t number, target;
	uint32_t born, seq, stay;
};
enum { NOTE_WRONG = 1 }; /* flag: the bytes that came are not those that were sent */

/* On each PE, before any chare (initproc). */
void note_open(void);

/* Of a group, on each PE: what has been noted before the checkpoint stays, the rest goes. */
void note_pup(pup_er p);

/* One more note. Returns it, to be filled in. */
struct note *note_new(struct being *me, int kind, int part);
uint64_t note_id(const struct note *n);
uint64_t note_time(void);

void note_birth(struct being *me, int coll, int number, uint64_t id);
uint64_t note_send(struct being *me, int part, uint32_t lane, int coll, int target);
uint64_t note_all(struct being *me, int part, uint32_t lane, int coll);
void note_got(struct being *me, int part, uint64_t id, bool right, int refnum);
/* Before X_insert; and after it, with what note_insert returned. */
uint64_t note_insert(struct being *me, int part, int coll, int target);
void note_inserted(uint64_t id);
void note_plain(struct being *me, int kind, int part, int target, uint64_t value, uint64_t more);

/* The bytes that a call with this number brings. */
void note_fill(void *v, int words, uint64_t id);
bool note_same(const void *v, int words, uint64_t id);
/* The same as text of 8 n characters. */
const char *note_text(char *to, int n, uint64_t id);

/* Memory that the runtime reads or writes in place, with the number of the call that it is for. */
struct lent {
	uint64_t id;
	int words;
	bool rdma;           /* from CkRdmaAlloc */
	CkNcpyBuffer b;
	uint64_t v[];
};
struct lent *note_lend(uint64_t id, int words, bool rdma);
/* Nobody uses it any more: whoever still does finds nonsense. */
void note_spoil(struct lent *l);
/* Makes the notes of this PE's callback functions. */
struct being *note_lender(void);

uint64_t note_mix(uint64_t x);
/* A choice of 0 .. n - 1. */
int note_choose(struct being *me, int n);

#endif
