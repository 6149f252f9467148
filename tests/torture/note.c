/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "ck.h"
#include "note.h"

enum { NOTES = 1 << 17 };        /* 8 MiB of a PE; only what is written takes memory */

static _Thread_local struct note *notes;
static _Thread_local uint32_t n_notes;
static _Thread_local struct being lender;

static struct note *map_notes(int pe, int flags)
{
	const char *dir = getenv("TORTURE_NOTES");
	char name[4096];

	if (!dir)
		CkAbort("TORTURE_NOTES names no folder for the notes");
	snprintf(name, sizeof name, "%s/pe%d.notes", dir, pe);

	int fd = open(name, O_RDWR | O_CREAT | flags, 0600);

	if (fd < 0 || ftruncate(fd, NOTES * (off_t)sizeof *notes))
		CkAbort("cannot make %s", name);

	void *p = mmap(NULL, NOTES * sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		CkAbort("cannot map %s", name);
	close(fd);
	return p;
}

void note_open(void)
{
	notes = map_notes(CkMyPe(), CkRestartedFrom(NULL) ? 0 : O_TRUNC);
	n_notes = 0;
}

static void forget_from(struct note *n, uint32_t first)
{
	for (uint32_t i = first; i < NOTES && (n[i].kind || n[i].time); i++)
		memset(&n[i], 0, sizeof n[i]);
}

static uint32_t count_until(const struct note *n, uint64_t time)
{
	uint32_t i = 0;

	while (i < NOTES && n[i].kind && n[i].time <= time)
		i++;
	return i;
}

/* Once, when the job starts again; checked mode unpacks whatever it has packed, too. The files of
 * PEs that are no more are looked after by those that have their share. */
static void go_back(uint32_t stay, uint64_t time)
{
	static _Thread_local bool is_back;
	CkRestart from;

	if (is_back || !CkRestartedFrom(&from))
		return;
	is_back = true;
	if (CkMyPe() >= from.pes) { /* this is another PE's branch */
		memset(&lender, 0, sizeof lender);
		return;
	}
	n_notes = stay;
	forget_from(notes, stay);
	for (int pe = CkMyPe() + CkNumPes(); pe < from.pes; pe += CkNumPes()) {
		struct note *theirs = map_notes(pe, 0);

		forget_from(theirs, count_until(theirs, time));
		munmap(theirs, NOTES * sizeof *theirs);
	}
}

/* Nobody makes notes while a checkpoint is taken: those before it are older than the time, the
 * others newer. */
void note_pup(pup_er p)
{
	uint64_t now = getenv("CK_CHECK") ? 0 : note_time(); /* packed again it must be the same */
	uint32_t stay = n_notes;

	pup_bytes(p, &now, sizeof now);
	pup_bytes(p, &stay, sizeof stay);
	pup_bytes(p, &lender, sizeof lender);
	if (pup_isUnpacking(p))
		go_back(stay, now);
}

uint64_t note_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct note *note_new(struct being *me, int kind, int part)
{
	if (n_notes == NOTES)
		CkAbort("more notes than there is room for");

	struct note *n = &notes[n_notes++];

	*n = (struct note){.time = note_time(), .part = (uint16_t)part, .coll = (int16_t)me->coll, .number = me->number,
			   .born = me->born, .seq = me->seq++, .stay = me->stay};
	n->kind = (uint16_t)kind;
	return n;
}

uint64_t note_id(const struct note *n)
{
	return (uint64_t)(CkMyPe() + 1) << 32 | (uint64_t)(n - notes);
}

void note_birth(struct being *me, int coll, int number, uint64_t id)
{
	*me = (struct being){.coll = coll, .number = number};

	struct note *n = note_new(me, NOTE_BORN, 0);

	n->id = id;
	me->born = (uint32_t)(CkMyPe() + 1) << 24 | (uint32_t)(n - notes);
	n->born = me->born;
	me->random = note_mix((uint64_t)coll << 32 | (uint32_t)number);
}

uint64_t note_send(struct being *me, int part, uint32_t lane, int coll, int target)
{
	struct note *n = note_new(me, NOTE_SEND, part);

	n->lane = lane;
	n->target = target;
	n->value = (uint64_t)coll;
	return n->id = note_id(n);
}

uint64_t note_all(struct being *me, int part, uint32_t lane, int coll)
{
	uint64_t id = note_send(me, part, lane, coll, -1);

	notes[(uint32_t)id].kind = NOTE_ALL;
	return id;
}

void note_got(struct being *me, int part, uint64_t id, bool right, int refnum)
{
	struct note *n = note_new(me, NOTE_GOT, part);

	n->id = id;
	n->flags = right ? 0 : NOTE_WRONG;
	n->value = (uint64_t)(int64_t)refnum;
}

uint64_t note_insert(struct being *me, int part, int coll, int target)
{
	uint64_t id = note_send(me, part, 0, coll, target);

	notes[(uint32_t)id].kind = NOTE_INSERT;
	return id;
}

void note_inserted(uint64_t id)
{
	notes[(uint32_t)id].more = note_time();
}

void note_plain(struct being *me, int kind, int part, int target, uint64_t value, uint64_t more)
{
	struct note *n = note_new(me, kind, part);

	n->target = target;
	n->value = value;
	n->more = more;
}

struct lent *note_lend(uint64_t id, int words, bool rdma)
{
	size_t bytes = sizeof(struct lent) + 8 * (size_t)words;
	struct lent *l = rdma ? CkRdmaAlloc(bytes) : malloc(bytes);

	if (!l)
		CkAbort("no memory to lend");
	l->id = id;
	l->words = words;
	l->rdma = rdma;
	return l;
}

void note_spoil(struct lent *l)
{
	memset(l->v, 0x5a, 8 * (size_t)l->words);
	if (l->rdma)
		CkRdmaFree(l);
	else
		free(l);
}

struct being *note_lender(void)
{
	if (!lender.born)
		note_birth(&lender, 0, 1 << 20, 0);
	return &lender;
}

/* splitmix64 */
uint64_t note_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

void note_fill(void *v, int words, uint64_t id)
{
	for (int i = 0; i < words; i++) {
		uint64_t w = note_mix(id + (uint64_t)i);

		memcpy((char *)v + 8 * (size_t)i, &w, 8);
	}
}

bool note_same(const void *v, int words, uint64_t id)
{
	for (int i = 0; i < words; i++) {
		uint64_t w = note_mix(id + (uint64_t)i);

		if (memcmp((const char *)v + 8 * (size_t)i, &w, 8))
			return false;
	}
	return true;
}

const char *note_text(char *to, int n, uint64_t id)
{
	to[0] = 0;
	for (int i = 0; i < n; i++)
		snprintf(to + 8 * i, 9, "%08x", (unsigned)note_mix(id + (uint64_t)i));
	return to;
}

int note_choose(struct being *me, int n)
{
	me->random = note_mix(me->random);
	return (int)(me->random % (uint64_t)n);
}
