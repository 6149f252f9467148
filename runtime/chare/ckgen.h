/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ckgen.h: what the code that ckci prints calls, and the constant tables that it prints.
 * Not for users: no promise between versions; a hash of the tables is compared at start.
 *
 * Everything generated is constant: entry methods are numbered by their place in their
 * chare (0 is the constructor), so nothing is registered into global variables and no code
 * address is ever sent.
 */
#ifndef CKGEN_H
#define CKGEN_H

#include "ck.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Calls the user's handler. `self` is the user's struct; `payload` is what the stub packed
 * (16-byte aligned), the message struct of a message entry, or a CkReductionMsg. */
typedef void (*CkGenCall)(void *self, void *payload);

/** [sync]: calls the handler and writes its answer, `reply_bytes` bytes, to `reply`; a message
 * answer is written as its pointer, which then belongs to the runtime. */
typedef void (*CkGenAnswer)(void *self, void *payload, void *reply);

/** [when(...)]: whether the element takes this call now. Free of side effects. */
typedef bool (*CkGenWhen)(const void *self, const void *payload);

enum {
	CKGEN_EXPEDITED = 1,       /* [expedited] */
	CKGEN_MESSAGE = 2,         /* the payload is a user message; the handler gets it writable */
	CKGEN_NOARGS = 4,          /* can be the target of any callback */
	CKGEN_REDUCTION = 8,       /* has `reduced` */
	CKGEN_THREADED = 0x10,     /* [threaded]: runs on a stack of its own; also set by [sync] if
				    * declared so */
	CKGEN_SYNC = 0x20,         /* [sync]: has `answer` */
	CKGEN_WHEN = 0x40,         /* has `when` */
	CKGEN_EXCLUSIVE = 0x80,    /* [exclusive], of a nodegroup */
	CKGEN_IMMEDIATE = 0x100,   /* [immediate], of a nodegroup */
	CKGEN_CREATEHERE = 0x200,  /* [createhere]: a missing element is made on the caller's PE */
	CKGEN_CREATEHOME = 0x400,  /* [createhome]: ... on its home PE */
	CKGEN_AGGREGATE = 0x800,   /* [aggregate]: calls travel in batches */
	CKGEN_NOCOPY = 0x1000,     /* has `ncpy`: arrays sent from the caller's memory */
	CKGEN_NOTRACE = 0x2000,    /* [notrace] */
	CKGEN_PUP = 0x4000,        /* has parameters that a pup function packs */
	CKGEN_AWAITED = 0x8000,    /* a `when` waits for it: `call` fills a struct (CkGen_take), and
				    * `when(&number, payload)` says whether the call has the number;
				    * NULL: its reference number counts */
};

/** A message type. pack and unpack are NULL unless the program packs it itself; fix is NULL
 * then and for messages without arrays. */
typedef struct CkGenMessage {
	const char *name;
	void *(*pack)(void *msg);        /* takes the message, gives a CkAllocBuffer'ed one */
	void *(*unpack)(void *buffer);   /* the reverse */
	void (*fix)(void *msg);          /* points its arrays into it, where its bytes were copied.
					  * ckci's code does so before a handler or a caller sees
					  * it; the runtime for readonly messages */
} CkGenMessage;

/** In a payload, for a `nocopy` array. The stub sets ptr, bytes and done; the runtime may
 * replace the pointer by a copy within the payload (at != 0) or a reference when it leaves the
 * process. */
typedef struct CkGenNcpy {
	const void *ptr;           /* the caller's memory; valid in its process only */
	uint64_t bytes;
	uint64_t at;               /* 0: ptr counts; else offset of the copy from the payload */
	uint64_t ref;              /* not 0: lent to another process, ptr does not count */
	CkCallback done;           /* fired when the caller may change its memory */
} CkGenNcpy;

typedef struct CkGenEntry {
	const char *name;
	CkGenCall call;
	CkGenCall reduced;         /* from a CkReductionMsg; NULL when no callback may target it */
	uint32_t flags;            /* CKGEN_* */
	uint8_t want;              /* CkDataType of a [reductiontarget]; CK_NOTYPE: any */
	uint8_t want_array;        /* 1: any count (an array parameter); 0: want_count values */
	uint16_t n_ncpy;           /* CKGEN_NOCOPY: descriptors in the payload */
	uint32_t want_count;
	uint32_t stack_bytes;      /* CKGEN_THREADED: [stacksize=...]; 0: the default */
	const CkGenMessage *message; /* CKGEN_MESSAGE */
	CkGenAnswer answer;        /* CKGEN_SYNC: in place of call */
	uint32_t reply_bytes;      /* CKGEN_SYNC: 0 for void */
	uint32_t reply_message;    /* CKGEN_SYNC: 1: the answer is a message pointer */
	CkGenWhen when;            /* CKGEN_WHEN */
	const uint32_t *ncpy;      /* CKGEN_NOCOPY: offsets of the CkGenNcpy in the payload */
	const CkGenMessage *reply; /* reply_message: its type */
} CkGenEntry;

typedef enum CkGenKind {
	CKGEN_MAINCHARE = 1, CKGEN_ARRAY, CKGEN_GROUP, CKGEN_CHARE, CKGEN_NODEGROUP
} CkGenKind;

typedef struct CkGenChare {
	const char *name;
	CkGenKind kind;
	int nd;                    /* dimensions of an array; 0 for other kinds and for an array
				    * with an index type of the user's */
	size_t bytes;              /* sizeof the user's struct */
	const CkGenEntry *entries; /* [0] is the constructor */
	int n_entries;
	int index_bytes;           /* sizeof the user's index type, at most 12; else 0 */
} CkGenChare;

typedef struct CkGenReadonly {
	const char *name;
	void *addr;
	size_t bytes;
	const CkGenMessage *message; /* `readonly M *m`: addr is that of the pointer; else NULL */
} CkGenReadonly;

typedef struct CkGenModule {
	const char *name;
	const CkGenChare *const *chares;
	int n_chares;
	const CkGenReadonly *readonlies;
	int n_readonlies;
	void (*const *initnodes)(void); /* run once per node, before any chare */
	int n_initnodes;
	void (*const *initprocs)(void); /* run on each PE, after all initnodes, before any chare */
	int n_initprocs;
	const struct CkGenModule *const *externs; /* modules this one names */
	int n_externs;
} CkGenModule;

/** The main program: start the runtime, run the main chares, return the job's exit code.
 * ckci prints a main() that calls it in the .def.h of a mainmodule, unless CK_NO_MAIN. */
int CkMain(int argc, char **argv, const CkGenModule *mainmodule);

enum {
	CKGEN_HEAD = 64,           /* bytes in front of a payload */
	CKGEN_FINE = 1024,         /* up to this size, head included, one class per 64 bytes */
	CKGEN_BULK = 192,          /* above this size a parameter is copied by the machine */
	CKGEN_LARGE = 1024,        /* from this size on an array begins on a cache line */
};

size_t CkGen_classAbove(size_t size);
void *CkGen_allocClass(size_t size, size_t size_class);

/* Mostly a constant: then the compiler computes it. */
static inline size_t CkGen_class(size_t size)
{
	return size <= CKGEN_FINE ? (size - 1) / 64 : CkGen_classAbove(size);
}

/** A message with room for `bytes` of payload; returns the payload, 16-byte aligned, not
 * zeroed. The caller owns it until one of the functions below takes it. */
static inline void *CkGen_alloc(size_t bytes)
{
	return CkGen_allocClass(bytes + CKGEN_HEAD, CkGen_class(bytes + CKGEN_HEAD));
}

void CkGen_copyBulk(void *to, const void *from, size_t bytes);

/** A hint, before the handler of a message object: it mostly sends it on, and to whom it came from when
 * it came alone. */
void CkGen_mayAnswer(void);

/** A parameter into its message; above CKGEN_BULK bytes as its memory wants it. Smaller ones go to other
 * processes through a ring: their messages' memory stays with this PE. */
static inline void CkGen_copy(void *to, const void *from, size_t bytes)
{
	if (bytes <= CKGEN_BULK)
		memcpy(to, from, bytes);
	else
		CkGen_copyBulk(to, from, bytes);
}

/** The same for a message of the program's: X_alloc. */
void *CkGen_allocMsg(size_t bytes);

/** Send the payload to an entry of one element, of all elements, of a section, of a singleton
 * chare or of a main chare. They take the payload. o may be NULL. `chare` is the stub's own
 * table, for checks and names. */
void CkGen_send(const CkGenChare *chare, const CkElement *e, int entry, void *payload,
		const CkEntryOptions *o);

void CkGen_sendAll(const CkGenChare *chare, CkProxy p, int entry, void *payload,
		   const CkEntryOptions *o);
void CkGen_sendSection(const CkGenChare *chare, const CkSection *s, int entry, void *payload,
		       const CkEntryOptions *o);
void CkGen_sendChare(const CkGenChare *chare, CkChareID id, int entry, void *payload,
		     const CkEntryOptions *o);
void CkGen_sendMain(const CkGenChare *chare, CkProxy p, int entry, void *payload,
		    const CkEntryOptions *o);

/** A call that is under way, as two registers hold it. */
typedef struct CkGenOpen {
	void *payload;             /* to be filled at once */
	int64_t away;              /* not 0: then to be closed */
} CkGenOpen;

CkGenOpen CkGen_openClass(const CkGenChare *chare, uint64_t id, int x, int entry, size_t size,
			  size_t size_class);
void CkGen_close(CkGenOpen call);

/** CkGen_alloc and CkGen_send at once, of an element with one number for an index and an entry
 * without attributes. What stays on this PE is in its queue already; what does not, waits for
 * CkGen_close. Between the two only the payload may be written. */
static inline CkGenOpen CkGen_open(const CkGenChare *chare, uint64_t id, int x, int entry,
				   size_t bytes)
{
	return CkGen_openClass(chare, id, x, entry, bytes + CKGEN_HEAD,
			       CkGen_class(bytes + CKGEN_HEAD));
}

/** What a call in a batch is, as one word: its entry, its bytes of payload, and their alignment, 4, 8
 * or 16, which is also the slot in front of them where the element's place stands. */
static inline uint64_t CkGen_itemKind(int entry, uint32_t bytes, uint32_t align)
{
	return (uint64_t)(uint32_t)entry << 32 | bytes << 5 | (align <= 4 ? 4 : align <= 8 ? 8 : 16);
}
static inline uint32_t CkGen_itemSlot(uint64_t kind) { return (uint32_t)kind & 31; }
static inline uint32_t CkGen_itemBytes(uint64_t kind) { return (uint32_t)kind >> 5; }
static inline uint32_t CkGen_itemStride(uint64_t kind)
{
	uint32_t slot = CkGen_itemSlot(kind);

	return slot + ((CkGen_itemBytes(kind) + slot - 1) & ~(slot - 1));
}

/** The batch of calls that the last [aggregate] call of this thread went to. */
typedef struct CkGenBatch {
	uint64_t coll, kind;       /* what the last calls were; coll 0: there are none */
	uint64_t first, n;         /* places of that collection on the same PE */
	char *at;                  /* where the next call goes */
	char *stop;                /* the batch is full here */
	uint32_t lead, stride;     /* from a call to its payload: the slot, or 0 where the place need not
	                            * be said; from call to call */
} CkGenBatch;
extern __thread CkGenBatch *CkGen_batch_ __attribute__((tls_model("initial-exec")));

/** Takes room for one more call of this kind: its payload. What the caller will not write is zeroed:
 * the rest of the slot, and what is missing to a multiple of it. A place that need not be said is
 * written all the same, and the payload over it. */
static inline void *CkGen_itemAppend(CkGenBatch *b, uint32_t place, uint64_t kind)
{
	const uint32_t slot = CkGen_itemSlot(kind), bytes = CkGen_itemBytes(kind);
	char *p = b->at, *payload = p + b->lead;

	memcpy(p, &place, sizeof place);
	if (slot > 4)
		memset(p + 4, 0, slot - 4);
	if (bytes & (slot - 1))
		memset(payload + (bytes & ~(slot - 1)), 0, slot);
	b->at = p + b->stride;
	return payload;
}

/** The batch for a call of this kind, with room for it; NULL: it travels by itself. */
CkGenBatch *CkGen_batchFor(uint64_t id, int x, uint64_t kind);
/** One that cannot travel in a batch, but keeps its order with those that do. */
CkGenOpen CkGen_openAlone(const CkGenChare *chare, uint64_t id, int x, int entry, size_t bytes);
void CkGen_closeAggregate(CkGenOpen call);

/** [aggregate]: as CkGen_open, but the call goes into a batch where it can; then
 * CkGen_closeAggregate. `align` is the payload's. Inline, because all of `kind` is constant: that
 * took a call in a stream between two processes from 6.7 to 5.7 ns (bench/kpings). */
static inline CkGenOpen CkGen_openAggregate(const CkGenChare *chare, uint64_t id, int x, int entry,
					    size_t bytes, size_t align)
{
	const uint64_t kind = CkGen_itemKind(entry, (uint32_t)bytes, (uint32_t)align);
	CkGenBatch *b = CkGen_batch_;
	CkGenOpen call;

	if (align > 16 || bytes >= 65536)
		return CkGen_openAlone(chare, id, x, entry, bytes);
	if (__builtin_expect(b->coll != id || b->kind != kind ||
			     (uint32_t)x - b->first >= b->n, 0)) {
		b = CkGen_batchFor(id, x, kind);
		if (b == NULL)
			return CkGen_open(chare, id, x, entry, bytes);
	}
	call.payload = CkGen_itemAppend(b, (uint32_t)x, kind);
	call.away = b->at == b->stop ? -1 : 0;
	return call;
}

/** [aggregate]: as CkGen_send. With options it travels by itself. */
void CkGen_sendAggregate(const CkGenChare *chare, const CkElement *e, int entry, void *payload,
			 const CkEntryOptions *o);

/** [sync]: send, and suspend the calling thread until the answer is at `reply`. e names an
 * element; id a singleton chare. Aborts where no threaded entry method runs. */
void CkGen_sync(const CkGenChare *chare, const CkElement *e, int entry, void *payload, void *reply);
void CkGen_syncChare(const CkGenChare *chare, CkChareID id, int entry, void *payload, void *reply);

/** [inline], [local]: the element's struct when it lives on this PE, no handler of it would be
 * entered twice against its attributes, and it may be called at once; then CkGen_leave after
 * the handler. NULL otherwise ([local] aborts instead). `frame` is on the caller's stack. */
typedef struct CkGenFrame { const void *saved[4]; } CkGenFrame;
void *CkGen_enter(const CkGenChare *chare, const CkElement *e, int entry, CkGenFrame *frame);
void *CkGen_enterLocal(const CkGenChare *chare, const CkElement *e, int entry, CkGenFrame *frame);
void CkGen_leave(CkGenFrame *frame);

/* ---- Structured Dagger: what bodies call, on the threads that they run on ---- */

/** One call that a `when` waits for. */
typedef struct CkGenWanted {
	int entry;
	int alternative;           /* of the case that it belongs to; from 0, in order. -1: done */
	int by_number, number;     /* only a call with that number */
	void *env;                 /* the runtime's: the call; NULL: none, or given away */
} CkGenWanted;

/** What a thread ran when it took the calls of a `when`, and these. The runtime's, on the stack of
 * the body. */
typedef struct CkGenTook {
	void *obj, *env;
	void *unpacked;
	CkGenWanted *first;
	struct CkGenTook *next, **link; /* the element's others */
	uint32_t entry;
	int n;
	bool shared;
} CkGenTook;

/** Wait until all calls of one alternative are there, take them, and return its number. Behind
 * the body, CkGen_done: what was taken ends as behind a handler, and that alternative is done. */
int CkGen_await(void *self, CkGenWanted *w, int n, CkGenTook *took);
void CkGen_done(CkGenTook *took);

/** A call's parameters, into its entry's struct ck_in_X_f. */
void CkGen_take(const CkGenWanted *w, void *in);

/** Parts that run side by side, each on a thread: begun one after another, awaited all. */
typedef struct CkGenParts {
	void *waiting;             /* the thread in CkGen_join */
	int n;                     /* that have not ended */
	CkGenTook around;          /* what runs around them; n is 0 */
} CkGenParts;
void CkGen_split(void *self, CkGenParts *parts);
void CkGen_part(void *self, CkGenParts *parts, int entry, void (*part)(const void *scope, int i),
		const void *scope, int i);
void CkGen_join(CkGenParts *parts);

/** How often a forall runs; aborts for a step of 0. */
int CkGen_steps(int low, int high, int step);

/** Create an array, a group or nodegroup, a singleton chare; `payload` holds the constructor's
 * parameters. Without a payload (NULL) the array is empty: elements are inserted. */
CkProxy CkGen_newArray(const CkGenChare *chare, const CkArrayOptions *o, void *payload);
CkProxy CkGen_newGroup(const CkGenChare *chare, void *payload);
CkChareID CkGen_newChare(const CkGenChare *chare, int pe, void *payload, const CkEntryOptions *o);

/** Insert one element; pe CK_PE_ANY: on its home PE. */
void CkGen_insert(const CkGenChare *chare, const CkElement *e, int pe, void *payload);

void CkGen_doneInserting(CkProxy p);
void CkGen_beginInserting(CkProxy p);
void CkGen_destroy(const CkElement *e);

/** What lies in front of every user struct. may_alias: the runtime has other names for it. */
typedef struct __attribute__((may_alias)) CkGenObj {
	const uint64_t *collection; /* its id */
	CkIndex index;
	uint32_t rest[3];          /* the runtime's */
} CkGenObj;

/** What an element knows of itself. */
static inline CkProxy CkGen_thisProxy(const void *self)
{
	CkProxy p = {*((const CkGenObj *)self)[-1].collection};

	return p;
}
static inline CkIndex CkGen_thisIndex(const void *self)
{
	return ((const CkGenObj *)self)[-1].index;
}
CkChareID CkGen_thisChare(const void *self);

/** The user's struct when the element lives on this PE (nodegroup: node), else NULL. */
void *CkGen_ckLocal(const CkGenChare *chare, const CkElement *e);

/** The local elements of an array in index order: NULL starts, NULL ends. */
void *CkGen_nextLocal(const CkGenChare *chare, CkProxy p, const void *after);

/** Sections: of the listed elements of one collection, or of any collections of this type. `list` is
 * copied. */
CkSection CkGen_section(const CkGenChare *chare, CkProxy p, const CkIndex *list, size_t n);
CkSection CkGen_sectionOf(const CkGenChare *chare, const CkElement *list, size_t n);

/** Callbacks to an entry of one element, of all, of a section, of a chare, of a main chare. */
CkCallback CkGen_cb(const CkGenChare *chare, const CkElement *e, int entry);
CkCallback CkGen_cbAll(const CkGenChare *chare, CkProxy p, int entry);
CkCallback CkGen_cbSection(const CkGenChare *chare, const CkSection *s, int entry);
CkCallback CkGen_cbChare(const CkGenChare *chare, CkChareID id, int entry);
CkCallback CkGen_cbMain(const CkGenChare *chare, CkProxy p, int entry);

/** Parameters that a pup function packs (see ck.h). Sizing and packing, the function is given a
 * copy of each object (its `bytes` bytes): it assigns to members, as in x->v = pup_alloc(...), and
 * the caller's object may be constant or packed by two PEs at a time. The size of what `pup` packs
 * of `n` objects of `bytes` bytes at `objs`; packing them to `to`; making them anew from `from`:
 * the objects are freed when the handler has returned. */
size_t CkGen_pupSize(CkPupFn pup, const void *objs, size_t bytes, size_t n);
void CkGen_pupPack(CkPupFn pup, const void *objs, size_t bytes, size_t n, void *to);
const void *CkGen_pupUnpack(CkPupFn pup, size_t bytes, size_t n, const void *from, void *payload);

/** Round up to the alignment of strings and small arrays inside a payload. */
static inline size_t CkGen_align(size_t n) { return (n + 15) & ~(size_t)15; }

/** Where an array of `bytes` bytes lies that comes behind `end`. A large one begins on a cache line:
 * vector instructions of 64 bytes touch two everywhere else. An iteration of examples/matmul with slices
 * of 64 kB, which dgemm reads where they came, took 690 us, now 600 (Intel Xeon with AVX-512). */
static inline size_t CkGen_place(size_t end, size_t bytes)
{
	return bytes < CKGEN_LARGE ? CkGen_align(end) : (end + 63) & ~(size_t)63;
}

/** Zero a gap of less than 80 bytes. Of memset with a size that is bounded but not known compilers make
 * `rep stos`, which takes longer than the rest of a stub: a round trip of 100 bytes between threads took
 * 1.16 times as long with one in it (AMD EPYC). The empty statement keeps them from seeing a memset. */
static inline void CkGen_zero(void *to, size_t n)
{
	char *p = (char *)to;

	for (; n >= 8; n -= 8, p += 8) {
		memset(p, 0, 8);
		__asm__("" : "+r"(p));
	}
	for (; n > 0; n--, p++) {
		*p = 0;
		__asm__("" : "+r"(p));
	}
}

/** Abort: an array length in a call was negative. */
__attribute__((noreturn)) void CkGen_badLength(const CkGenChare *chare, int entry, const char *param,
			       long long n);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
