/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ckgen.h: the functions and table types for code that ckci generates. Not for users: it may change
 * with each version. At start all nodes compare a hash of the tables.
 *
 * Everything generated is constant. An entry method's number is its index in its chare (0 is the
 * constructor). So the tables need no registration into global variables, and no message carries a
 * code address.
 */
#ifndef CKGEN_H
#define CKGEN_H

#include "ck.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Calls the user's handler. `self` is the user's struct; `payload` is the stub's packed parameters
 * (16-byte aligned), the message struct of a message entry, or a CkReductionMsg. */
typedef void (*CkGenCall)(void *self, void *payload);

/** [sync]: calls the handler and writes its answer, `reply_bytes` bytes, to `reply`. If the answer
 * is a message, it writes the pointer, and the runtime owns the message from then on. */
typedef void (*CkGenAnswer)(void *self, void *payload, void *reply);

/** [when(...)]: returns whether the element takes this call now. Must have no side effects. */
typedef bool (*CkGenWhen)(const void *self, const void *payload);

enum {
	CKGEN_EXPEDITED = 1,       /* [expedited] */
	CKGEN_MESSAGE = 2,         /* the payload is a user message; the handler gets it writable */
	CKGEN_NOARGS = 4,          /* can be the target of any callback */
	CKGEN_REDUCTION = 8,       /* has `reduced` */
	CKGEN_THREADED = 0x10,     /* [threaded], also together with [sync]: runs on a stack of its own */
	CKGEN_SYNC = 0x20,         /* [sync]: has `answer` */
	CKGEN_WHEN = 0x40,         /* has `when` */
	CKGEN_EXCLUSIVE = 0x80,    /* [exclusive], of a nodegroup */
	CKGEN_IMMEDIATE = 0x100,   /* [immediate], of a nodegroup */
	CKGEN_CREATEHERE = 0x200,  /* [createhere]: a call of a missing element creates it on the caller's
				    * PE */
	CKGEN_CREATEHOME = 0x400,  /* [createhome]: ... on the element's home PE */
	CKGEN_AGGREGATE = 0x800,   /* [aggregate]: calls are sent in batches */
	CKGEN_NOCOPY = 0x1000,     /* has `ncpy`: arrays sent from the caller's memory */
	CKGEN_NOTRACE = 0x2000,    /* [notrace] */
	CKGEN_PUP = 0x4000,        /* has parameters that a pup function packs */
	CKGEN_AWAITED = 0x8000,    /* a `when` waits for it. `call` fills a struct (CkGen_take).
				    * `when(&number, payload)` says whether the call has the number
				    * (CKGEN_BY_FUNCTION); if it is NULL, the reference number decides */
	CKGEN_BODY = 0x10000,      /* has a body: CkGenChare.bodies. `call` fills a struct */

	CKGEN_ARRIVAL = 0x20000,   /* [arrival]: no message calls it. `call` gets a pointer to the tag */

	CKGEN_COUNT = 0x40000,     /* [count(n)]: has `count`. `call` gets a CkGenRound */

	CKGEN_SEEN = 0x100000,     /* beside an entry's number in CkGen_open: delivery must check its
				    * attributes */
};

/** Who takes the calls of an entry that has one attribute. ANY: delivery looks at all of them. */
enum { CKGEN_TAKER_ANY, CKGEN_TAKER_WHEN, CKGEN_TAKER_BODY, CKGEN_TAKER_COUNT, CKGEN_TAKERS };

/** Whether `payload`, of `bytes` bytes, is valid for the type or the entry: everything found by an
 * offset or a length lies within it. Called for calls from other processes. */
typedef bool (*CkGenFits)(const void *payload, size_t bytes);

/** A message type. pack and unpack are NULL unless the program packs the message itself. fix is
 * NULL if it does, and for messages without arrays. */
typedef struct CkGenMessage {
	const char *name;
	void *(*pack)(void *msg);        /* takes the message, returns one from CkAllocBuffer */
	void *(*unpack)(void *buffer);   /* the reverse */
	void (*fix)(void *msg);          /* after the message's bytes were copied: makes its array
					  * pointers point into the copy. ckci's code calls it before
					  * a handler or a caller sees the message; the runtime calls
					  * it for readonly messages */
	CkGenFits fits;                  /* NULL: only the program's unpack can tell */
} CkGenMessage;

/** The runtime's own message types, which any module may name. None has arrays to fix. */
extern const CkGenMessage ck_type_CkDataMsg, ck_type_CkQdMsg, ck_type_CkArrayCreatedMsg;
extern const CkGenMessage ck_type_CkReductionMsg, ck_type_CkMessage;
static inline void ck_message_CkReductionMsg(CkReductionMsg *m) { (void)m; }
static inline void ck_message_CkDataMsg(CkDataMsg *m) { (void)m; }
static inline void ck_message_CkQdMsg(CkQdMsg *m) { (void)m; }
static inline void ck_message_CkArrayCreatedMsg(CkArrayCreatedMsg *m) { (void)m; }
static inline void ck_message_CkMessage(CkMessage *m) { (void)m; }

/** A `nocopy` array in a payload. The stub sets ptr, own, bytes and done. When the message leaves
 * the process, the runtime replaces the pointer by a copy within the payload (at != 0) or by a
 * reference (ref != 0). */
typedef struct CkGenNcpy {
	const void *ptr;           /* the caller's memory; valid in its process only */
	uint64_t bytes;
	uint64_t at;               /* offset of the copy from the payload; 0: there is no copy, use ptr */
	uint64_t ref;              /* not 0: lent to another process; do not use ptr */
	const void *own;           /* the first value of ptr, for `done` */
	CkCallback done;           /* fires when the caller may change its memory */
} CkGenNcpy;

/** An entry with nocopypost arrays. `post` calls X_on_f_post and stores the pointers that it
 * set. */
typedef struct CkGenPost {
	void (*post)(void *self, void *payload, CkNcpyBufferPost *post);
	int n;                     /* nocopypost arrays */
	const uint32_t *ncpy;      /* offsets of their CkGenNcpy in the payload */
	const char *const *names;
} CkGenPost;

/** [count(n)]: the handler is called once for n calls with the same number. */
typedef struct CkGenCount {
	int (*count)(const void *self, int number); /* n of the round; by CkGen_count */
	int number_at;             /* offset of the call's number in the message; CKGEN_REFNUM_AT: it is
				    * the reference number */
	CkGenCall take;            /* of a message entry: write a pointer to the message to `self`; else
				    * NULL */
	size_t bytes;              /* for each call: of the X_f_call that the handler gets; of messages two
				    * pointers, of which the second one is the runtime's */
	/** CkGen_noCount, so that the linker names its room where that is left out; NULL: of channels. */
	int (*none)(const void *self, int entry, int number, long long n);
} CkGenCount;

/** The calls of a round, for its handler. */
typedef struct CkGenRound {
	int number, n;
	void *calls;               /* [n]: of messages what `take` wrote; of values memory for them */
	const void *first;         /* of values: the calls as they have come */
} CkGenRound;

/** Abort: n is no count. */
int CkGen_noCount(const void *self, int entry, int number, long long n);
/** n, which is that of a round of this entry. */
static inline int CkGen_count(const void *self, int entry, int number, long long n)
{
	return __builtin_expect(n > 0 && n <= INT32_MAX, 1) ? (int)n :
							      CkGen_noCount(self, entry, number, n);
}

/** An entry method. Aligned, so that its size is a power of two: each call finds its entry by a
 * shift. */
typedef struct __attribute__((aligned(16))) CkGenEntry {
	const char *name;
	CkGenCall call;
	CkGenCall reduced;         /* calls the handler with a CkReductionMsg; NULL: not a callback's
				    * target */
	uint32_t flags;            /* CKGEN_* */
	uint8_t want;              /* CkDataType of a [reductiontarget]; CK_NOTYPE: any */
	uint8_t want_array;        /* 1: any count (an array parameter); 0: want_count values */
	uint16_t n_ncpy;           /* CKGEN_NOCOPY: number of CkGenNcpy in the payload */
	uint32_t want_count;
	uint32_t stack_bytes;      /* CKGEN_THREADED: [stacksize=...]; 0: the default */
	const CkGenMessage *message; /* CKGEN_MESSAGE */
	CkGenAnswer answer;        /* CKGEN_SYNC: used instead of call */
	uint32_t reply_bytes;      /* CKGEN_SYNC: 0 for void */
	uint32_t reply_message;    /* CKGEN_SYNC: 1: the answer is a message pointer */
	CkGenWhen when;            /* CKGEN_WHEN */
	const uint32_t *ncpy;      /* CKGEN_NOCOPY: offsets of the CkGenNcpy in the payload */
	const CkGenMessage *reply; /* reply_message: its type */
	uint32_t least;            /* bytes of a plain call, head included: values only, no attributes that
				    * delivery must check. UINT32_MAX: there are none; `fits` tells */
	uint32_t taker;            /* CKGEN_TAKER_* */
	CkGenFits fits;            /* of other calls; NULL: no parameters */
	CkGenCall came;            /* `call` for a plain call from another process with more than values:
				    * checks `fits`, and calls CkGen_misfit if false. NULL: only with delivery */
	const char *when_text;     /* CKGEN_WHEN: the condition as the program has it */
	const CkGenCount *count;   /* CKGEN_COUNT; of an [arrival, count(n)] only n */
} CkGenEntry;

/** [aggregate]: call the handler for one call of a batch after the other, as long as CkGen_nextCall
 * or CkGen_nextOfOne finds one. Returns the position of the first call that is left. */
struct CkGenCalls;
typedef const char *(*CkGenAll)(const struct CkGenCalls *calls);

typedef enum CkGenKind {
	CKGEN_MAINCHARE = 1, CKGEN_ARRAY, CKGEN_GROUP, CKGEN_CHARE, CKGEN_NODEGROUP
} CkGenKind;

/** [whenidle]: calls the user's handler with `self`. */
typedef bool (*CkGenIdle)(void *self);

/** A type of chare. */
typedef struct CkGenChare {
	const char *name;
	CkGenKind kind;
	int nd;                    /* dimensions of an array; 0 for other kinds, and for an array
				    * with an index type of the user's */
	const struct CkGenBody *const *bodies; /* [n_entries]: Structured Dagger; NULL where there is
					        * none */
	size_t bytes;              /* sizeof the user's struct */
	const CkGenEntry *entries; /* [0] is the constructor */
	int n_entries;
	int index_bytes;           /* sizeof the user's index type, at most 12; else 0 */
	CkPupFn pup;               /* `pup X;`: calls X_pup; NULL: an element cannot leave its process */
	void (*clear_padding)(void *self); /* zeroes the struct's padding; NULL: the compiler does not know
					    * it */
	void (*on_arrived)(void *self); /* [on_arrived]: calls X_on_arrived; or NULL */
	int resume;                /* the entry resumeFromSync of an array; 0: there is none */
	const CkGenAll *all;       /* [n_entries]: [aggregate]; NULL where there is none, or for all */
	const CkGenIdle *idle;     /* [n_entries]: [whenidle]; NULL where there is none, or for all */
} CkGenChare;

/* For checked mode, which must not mistake a field that X_pup forgets for padding: only the
 * compiler knows where it is. */
#if defined __has_builtin && !defined __cplusplus
#if __has_builtin(__builtin_clear_padding)
#define CKGEN_CLEAR_PADDING(X)                                                                     \
	static void ck_clear_padding_##X(void *x) { __builtin_clear_padding((X *)x); }
#define CKGEN_CLEARS_PADDING(X) ck_clear_padding_##X
#endif
#endif
#ifndef CKGEN_CLEAR_PADDING
#define CKGEN_CLEAR_PADDING(X)
#define CKGEN_CLEARS_PADDING(X) NULL
#endif

/** A readonly variable. */
typedef struct CkGenReadonly {
	const char *name;    /* with its type: "CProxy_Block blocks" */
	void *addr;
	size_t bytes;
	const CkGenMessage *message; /* `readonly M *m`: addr is the pointer's address; else NULL */
} CkGenReadonly;

/** A module of the .ci files. */
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
	const struct CkGenModule *const *externs; /* the modules that it names */
	int n_externs;
} CkGenModule;

/** The main program: start the runtime, run the main chares, return the job's exit code. In the
 * .def.h of a mainmodule ckci prints a main() that calls it, unless CK_NO_MAIN is defined. */
int CkMain(int argc, char **argv, const CkGenModule *mainmodule);

/* CKGEN_DATATYPE(T): the CkDataType of a number type that ckci does not know, such as a typedef. A
 * constant; the C compiler refuses any other type. */
#ifdef __cplusplus
extern "C++" {
constexpr CkDataType CkGen_dataType(char) { return CK_CHAR; }
constexpr CkDataType CkGen_dataType(signed char) { return CK_CHAR; }
constexpr CkDataType CkGen_dataType(unsigned char) { return CK_UCHAR; }
constexpr CkDataType CkGen_dataType(short) { return CK_SHORT; }
constexpr CkDataType CkGen_dataType(unsigned short) { return CK_USHORT; }
constexpr CkDataType CkGen_dataType(int) { return CK_INT; }
constexpr CkDataType CkGen_dataType(unsigned) { return CK_UINT; }
constexpr CkDataType CkGen_dataType(long) { return CK_LONG; }
constexpr CkDataType CkGen_dataType(unsigned long) { return CK_ULONG; }
constexpr CkDataType CkGen_dataType(long long) { return CK_LONGLONG; }
constexpr CkDataType CkGen_dataType(unsigned long long) { return CK_ULONGLONG; }
constexpr CkDataType CkGen_dataType(float) { return CK_FLOAT; }
constexpr CkDataType CkGen_dataType(double) { return CK_DOUBLE; }
constexpr CkDataType CkGen_dataType(bool) { return CK_BOOL; }
}
#define CKGEN_DATATYPE(T) CkGen_dataType(T())
#else
#define CKGEN_DATATYPE(T) _Generic((T){0}, char: CK_CHAR, signed char: CK_CHAR, \
	unsigned char: CK_UCHAR, short: CK_SHORT, unsigned short: CK_USHORT, int: CK_INT, \
	unsigned: CK_UINT, long: CK_LONG, unsigned long: CK_ULONG, long long: CK_LONGLONG, \
	unsigned long long: CK_ULONGLONG, float: CK_FLOAT, double: CK_DOUBLE, bool: CK_BOOL)
#endif

enum {
	CKGEN_HEAD = 64,           /* bytes in front of a payload */
	CKGEN_SIZE_AT = 8,         /* the offset of the message's size in them */
	CKGEN_REFNUM_AT = 60,      /* and of its reference number */
	CKGEN_FINE = 1024,         /* bytes, head included: up to here one size class per 64 bytes */
	CKGEN_BULK = 192,          /* bytes: the machine layer copies a parameter above this size */
	CKGEN_BULK_HERE = 24 * 1024, /* the same where the message stays on its PE */
	CKGEN_LARGE = CKGEN_FINE,  /* bytes: an array of this size or more begins on a cache line ... */
	CKGEN_LARGE_PUT = 256,     /* ... in a call of a [channel] entry */
};

/** The parameters of the round's next call; NULL: there is none. */
static inline void *CkGen_nextCounted(CkGenRound *round)
{
	const void *call = round->first;

	if (call == NULL)
		return NULL;
	round->first = *(const void *const *)call;
	return (char *)(uintptr_t)call + CKGEN_HEAD;
}

size_t CkGen_classAbove(size_t size);
void *CkGen_allocClass(size_t size, size_t size_class);

/* The size class. `size` is mostly a constant, so the compiler computes the class. It must do so
 * before it decides whether to inline a stub into its caller: that takes 9 of 135 instructions off
 * a plain call. So this is inlined first. */
static inline __attribute__((always_inline)) size_t CkGen_class(size_t size)
{
	return size <= CKGEN_FINE ? (size - 1) / 64 : CkGen_classAbove(size);
}

/** Make a message for `bytes` bytes of payload. Returns the payload, 16-byte aligned, not zeroed.
 * The caller owns it until one of the functions below takes it. */
static inline void *CkGen_alloc(size_t bytes)
{
	return CkGen_allocClass(bytes + CKGEN_HEAD, CkGen_class(bytes + CKGEN_HEAD));
}

void CkGen_copyBulk(void *to, const void *from, size_t bytes);

/** A hint, called before the handler of a message object: such a handler mostly forwards the
 * object, and returns an object that came alone to its sender. */
void CkGen_mayAnswer(void);

/** Copy a parameter into its message. Above CKGEN_BULK bytes the machine layer chooses how to write
 * to the message's memory. Smaller messages go to other processes through a ring, so their memory
 * stays with this PE. */
static inline void CkGen_copy(void *to, const void *from, size_t bytes)
{
	if (bytes <= CKGEN_BULK)
		memcpy(to, from, bytes);
	else
		CkGen_copyBulk(to, from, bytes);
}

/** The same as CkGen_alloc for a message of the program: X_alloc. */
void *CkGen_allocMsg(size_t bytes);

/** The payload of a call with a result as its parameter: a copy. Aborts if m is NULL. */
void *CkGen_copyResult(const CkReductionMsg *m);

/** Send the payload to an entry of one element, of all elements, of a section, of a singleton
 * chare or of a main chare. These functions take the payload. o may be NULL. `chare` is the stub's
 * own table, for checks and names. */
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

/** Precedes every user struct. may_alias, because the runtime uses other types for it and for the
 * next two. */
typedef struct __attribute__((may_alias)) CkGenObj {
	const uint64_t *collection; /* its id */
	CkIndex index;
	uint32_t rest[2];          /* the runtime's */
	uint32_t extra;            /* of these bits: its waits have a record */
} CkGenObj;
#define CKGEN_EXTRA ((UINT32_C(1) << 27) - 1)

/** What a stub may read of this PE's share of a collection. */
typedef struct __attribute__((may_alias)) CkGenCollection {
	uint64_t id, first, n_here;
	uint64_t n_line;           /* elems[x - first] is element x, if x - first is less */
	CkGenObj *const *elems;
	const CkGenChare *type;
	const CkGenEntry *entries;
	uint32_t n_entries;        /* 0: calls need more than their handler */
} CkGenCollection;

/** The head of a call by place (struct ck_env). */
typedef struct __attribute__((may_alias)) CkGenHead {
	struct CkGenHead *next;
	uint64_t size, route, owner;
	uint64_t coll, place;
	uint32_t root, call;
	uint64_t refs;
} CkGenHead;

/** This PE's queue and the free messages of its small classes (struct pe). */
typedef struct __attribute__((may_alias)) CkGenQueue {
	CkGenHead *head, **tail;
	bool mixed;                /* only the library may push */
	void *other[8];
	uint64_t n_created;
	CkGenHead *free[CKGEN_FINE / 64];
} CkGenQueue;

/** What runs on this PE, as the stubs of [inline] entries set it, and what they need for a call. */
typedef struct __attribute__((may_alias)) CkGenNow {
	const void *obj;
	void *env;
	uint32_t entry;            /* 0: a constructor */
	uint32_t none;
	bool shared;
	const CkGenCollection *last; /* the collection that was used last */
	void *const *thread;       /* to NULL: no thread runs */
	uint64_t route;            /* of a call that stays here */
	CkGenQueue *queue;
} CkGenNow;
extern __thread CkGenNow *CkGen_now_ __attribute__((tls_model("initial-exec")));

/** A call that the stub is making. Two registers hold it. */
typedef struct CkGenOpen {
	void *payload;             /* the stub fills it at once */
	int64_t away;              /* not 0: the stub must close the call after that */
} CkGenOpen;

CkGenOpen CkGen_openClass(const CkGenChare *chare, uint64_t id, int x, int entry, size_t size,
			  size_t size_class);
void CkGen_close(CkGenOpen call);

/** CkGen_alloc and CkGen_send in one, for an element whose index is one number and an entry without
 * attributes. A call of an element on this PE is in the queue when CkGen_open returns; CkGen_close
 * sends any other call. Until then the stub may only write the payload. */
static inline __attribute__((always_inline)) CkGenOpen
CkGen_open(const CkGenChare *chare, uint64_t id, int x, int entry, size_t bytes)
{
	return CkGen_openClass(chare, id, x, entry, bytes + CKGEN_HEAD,
			       CkGen_class(bytes + CKGEN_HEAD));
}

/** The same, if the element is probably on another PE. */
CkGenOpen CkGen_openAwayClass(const CkGenChare *chare, uint64_t id, int x, int entry, size_t size,
			      size_t size_class);
static inline CkGenOpen CkGen_openAway(const CkGenChare *chare, uint64_t id, int x, int entry,
				       size_t bytes)
{
	return CkGen_openAwayClass(chare, id, x, entry, bytes + CKGEN_HEAD,
				   CkGen_class(bytes + CKGEN_HEAD));
}

/** Whether this is the usual call: of an element of this PE that is found by its place alone, in
 * the collection that was used last. */
static inline bool CkGen_isHere(uint64_t id, int x)
{
	const CkGenCollection *c = CkGen_now_->last;

	return __builtin_expect(c->id == id && (uint32_t)x - c->first < c->n_line, 1);
}

/** CkGen_open for such a call with arrays. NULL: the message is not small, or the library must make
 * it; nothing has been done. `lengths`: those of the arrays, joined by |; negative ones give NULL.
 * Inline, and the stub then calls nothing but memcpy, so it saves few registers: that took such a
 * call from 201 to 159 instructions (docs/decisions/0091). */
static inline __attribute__((always_inline)) void *
CkGen_openHere(uint64_t id, int x, int entry, size_t bytes, uint64_t lengths)
{
	const size_t size = bytes + CKGEN_HEAD;
	const CkGenNow *now = CkGen_now_;
	CkGenQueue *q = now->queue;
	CkGenHead *m;

	if (__builtin_expect(lengths >= CKGEN_FINE || size > CKGEN_FINE || q->mixed ||
			     (m = q->free[(size - 1) / 64]) == NULL, 0))
		return NULL;
	q->free[(size - 1) / 64] = m->next;
	m->next = NULL;
	m->size = size;
	m->route = now->route;
	m->coll = id;
	m->place = (uint32_t)x;
	m->call = (uint32_t)entry;
	m->refs = 1;
	q->n_created++;
	*q->tail = m;
	q->tail = &m->next;
	return m + 1;
}

/** The same for an element of an array, whatever its index. `bytes` need not be constant. */
CkGenOpen CkGen_openElementClass(const CkGenChare *chare, const CkElement *e, int entry,
				 size_t size, size_t size_class);
static inline CkGenOpen CkGen_openElement(const CkGenChare *chare, const CkElement *e, int entry,
					  size_t bytes)
{
	return CkGen_openElementClass(chare, e, entry, bytes + CKGEN_HEAD,
				      CkGen_class(bytes + CKGEN_HEAD));
}

/** The same for a [channel] entry, whose payload may be written directly where the call will be
 * handled. */
CkGenOpen CkGen_openChannelClass(const CkGenChare *chare, const CkElement *e, int entry,
				 size_t size, size_t size_class);
static inline CkGenOpen CkGen_openChannel(const CkGenChare *chare, const CkElement *e, int entry,
					  size_t bytes)
{
	return CkGen_openChannelClass(chare, e, entry, bytes + CKGEN_HEAD,
				      CkGen_class(bytes + CKGEN_HEAD));
}
void CkGen_closeChannel(CkGenOpen call);

/** For X_f_prepare: the caller of the stub writes the arrays and commits the call. */
CkPrepared CkGen_preparedAway(CkPrepared call);
static inline CkPrepared CkGen_prepared(CkGenOpen call)
{
	const CkPrepared p = { call.payload, call.away };

	return call.away ? CkGen_preparedAway(p) : p;
}

/** CkGen_copy; `here`: into a message that stays on this PE, so that no other core has its
 * lines. */
static inline void CkGen_copyTo(bool here, void *to, const void *from, size_t bytes)
{
	if (here && bytes < CKGEN_BULK_HERE)
		memcpy(to, from, bytes);
	else
		CkGen_copy(to, from, bytes);
}

/** The same into a small message that stays on this PE. Few bytes take less than a call of
 * memcpy. */
static inline void CkGen_copyHere(void *to, const void *from, size_t bytes)
{
	if (bytes - 16 <= 16) {
		char first[16], last[16];

		memcpy(first, from, 16);
		memcpy(last, (const char *)from + bytes - 16, 16);
		memcpy(to, first, 16);
		memcpy((char *)to + bytes - 16, last, 16);
	} else if (bytes != 0) {
		memcpy(to, from, bytes);
	}
}

/** The kind of a batched call, as one word: its entry, the bytes of its payload, and the payload's
 * alignment (4, 8 or 16). The alignment is also the size of the slot before the payload, which
 * contains the element's place. */
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

/** Calls of one [aggregate] entry that travel together to one PE. */
typedef struct CkGenBatch {
	uint64_t coll, kind;       /* collection and kind of the last calls; coll 0: there are none */
	uint64_t first, n;         /* the collection's places on the same PE */
	char *at;                  /* the position of the next call */
	char *stop;                /* the batch is full here */
	uint32_t lead, stride;     /* bytes from a call to its payload (the slot, or 0 if the batch omits
	                            * the place), and from call to call */
} CkGenBatch;
/** By the low bits of a call's place: the batch that took the last such call of this PE. Where
 * calls go to one PE and another in turn, as in a sort, each finds its batch without a branch
 * that depends on it. */
enum { CKGEN_BATCHES = 64 };
extern __thread CkGenBatch *const *CkGen_batches_ __attribute__((tls_model("initial-exec")));

/** Append one more call of this kind, and return its payload. Zeroes what the caller will not
 * write: the end of the slot, and the padding to a multiple of the slot. Writes the place even if
 * the batch omits it; then the payload overwrites it. */
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

/** The batch for a call of this kind, with space for the call; NULL: the call is sent by itself. */
CkGenBatch *CkGen_batchFor(uint64_t id, int x, uint64_t kind);
/** Open a call that cannot be batched, in order with those that can. */
CkGenOpen CkGen_openAlone(const CkGenChare *chare, uint64_t id, int x, int entry, size_t bytes);
/** `away` is that of CkGen_open, or the negative address of a batch that is full. */
void CkGen_closeAggregate(CkGenOpen call);

/** [aggregate]: the open batch for a call with a payload of `bytes` bytes, aligned to `align`, if
 * the library knows it by the place; else NULL. Inline, because all of `kind` is constant: that
 * took a call in a stream between two processes from 6.7 to 5.7 ns (bench/kpings). */
static inline CkGenBatch *CkGen_batchOf(uint64_t id, int x, int entry, size_t bytes, size_t align)
{
	CkGenBatch *b = CkGen_batches_[(uint32_t)x % CKGEN_BATCHES];

	if (__builtin_expect(align > 16 || bytes >= 65536 || b->coll != id ||
			     b->kind != CkGen_itemKind(entry, (uint32_t)bytes, (uint32_t)align) ||
			     (uint32_t)x - b->first >= b->n, 0))
		return NULL;
	return b;
}
/** Of a stub: C compilers may inline it in the file that includes the .def.h. C++ compilers would
 * then leave it out for other files, and clang warns of what is static in it. */
#if defined __cplusplus || defined __clang__
#define CKGEN_INLINED
#else
#define CKGEN_INLINED inline
#endif
/** Send a batch that is full. */
void CkGen_sendBatch(CkGenBatch *b);

/** [aggregate]: like CkGen_open, for a call whose batch must be found or opened, or that cannot be
 * batched. The stub closes it with CkGen_closeAggregate if `away` is not 0. */
static inline CkGenOpen CkGen_openAggregate(const CkGenChare *chare, uint64_t id, int x, int entry,
					    size_t bytes, size_t align)
{
	const uint64_t kind = CkGen_itemKind(entry, (uint32_t)bytes, (uint32_t)align);
	CkGenBatch *b;
	CkGenOpen call;

	if (align > 16 || bytes >= 65536)
		return CkGen_openAlone(chare, id, x, entry, bytes);
	b = CkGen_batchFor(id, x, kind);
	if (b == NULL)
		return CkGen_open(chare, id, x, entry, bytes);
	call.payload = CkGen_itemAppend(b, (uint32_t)x, kind);
	call.away = b->at == b->stop ? -(int64_t)(uintptr_t)b : 0;
	return call;
}

/** Those calls of one run of a batch that have come and are still to be handled. */
typedef struct CkGenCalls {
	const CkGenCollection *coll;
	CkGenNow *now;
	void *batch;               /* what now->env is for each of them */
	const void **item;         /* for the library: the payload of the call that runs */
	const char *at, *end;      /* the first one; where the last one ends */
	uint64_t kind;             /* of all; the entry's own, or the library delivers them */
	uint32_t entry;
	bool of_one;               /* they say no place: all are for the only element of this PE */
	void *self, *payload;      /* of the call to make now. of_one: self is that element, if the
				    * collection says that it is here */
} CkGenCalls;

/* Bytes: the batch is prefetched this far ahead of the current call. A call in a stream then took
 * 4.2 ns instead of 5.5. */
enum { CKGEN_AHEAD = 256 };

static inline void CkGen_beginCall(CkGenCalls *c, uint32_t lead, uint32_t stride)
{
	c->now->obj = (CkGenObj *)c->self - 1;
	c->now->env = c->batch;
	c->now->entry = c->entry;
	c->payload = (void *)(uintptr_t)(c->at + lead);
	*c->item = c->payload;
	c->at += stride;
}

/** The next call: its element and its parameters. False: there is none, or the library must
 * deliver it. Looks at the collection for each, because a handler may change that. */
static inline bool CkGen_nextCall(CkGenCalls *c, uint64_t kind)
{
	uint64_t at;

	if (c->at >= c->end)
		return false;
	at = *(const uint32_t *)(const void *)c->at - c->coll->first;
	__builtin_prefetch(c->at + CKGEN_AHEAD);
	if (__builtin_expect(at >= c->coll->n_here || c->entry >= c->coll->n_entries, 0))
		return false;
	c->self = c->coll->elems[at] + 1;
	CkGen_beginCall(c, CkGen_itemSlot(kind), CkGen_itemStride(kind));
	return true;
}

/** The same if all calls are for one element. It is the one of the first call while the
 * collection finds elements by their place: one that goes makes n_here 0. */
static inline bool CkGen_nextOfOne(CkGenCalls *c, uint64_t kind)
{
	if (c->at >= c->end)
		return false;
	__builtin_prefetch(c->at + CKGEN_AHEAD);
	if (__builtin_expect(c->coll->n_here == 0 || c->entry >= c->coll->n_entries, 0))
		return false;
	CkGen_beginCall(c, 0, CkGen_itemStride(kind) - CkGen_itemSlot(kind));
	return true;
}

/** [aggregate]: like CkGen_send, but the call goes into a batch if it can. A call with options is
 * sent by itself. */
void CkGen_sendAggregate(const CkGenChare *chare, const CkElement *e, int entry, void *payload,
			 const CkEntryOptions *o);

/** [sync]: send the call, and suspend the calling thread until the answer is at `reply`. e names an
 * element; id names a singleton chare. Aborts outside a [threaded] entry method. */
void CkGen_sync(const CkGenChare *chare, const CkElement *e, int entry, void *payload, void *reply);
void CkGen_syncChare(const CkGenChare *chare, CkChareID id, int entry, void *payload, void *reply);

/** [inline], [local]: begin a call inside its caller. Returns the element's struct if the element
 * lives on this PE and its attributes allow the call now; then the stub calls the handler and
 * CkGen_leave after it. Otherwise it returns NULL ([local]: aborts). `frame` is on the caller's
 * stack: what ran before, and whether the call counts as a thread of the element. */
typedef struct CkGenFrame {
	const void *obj;
	void *env;
	uint32_t entry;
	bool shared, counted;
} CkGenFrame;
void *CkGen_enter(const CkGenChare *chare, const CkElement *e, int entry, CkGenFrame *frame);
void *CkGen_enterLocal(const CkGenChare *chare, const CkElement *e, int entry, CkGenFrame *frame);
void *CkGen_enterOther(const CkGenChare *chare, uint64_t id, int x, int entry, CkGenFrame *frame)
	__attribute__((cold));
void CkGen_left(const void *obj, bool counted) __attribute__((cold));

static inline void *CkGen_enterObj(CkGenObj *obj, int entry, CkGenFrame *frame)
{
	CkGenNow *now = CkGen_now_;

	frame->obj = now->obj;
	frame->env = now->env;
	frame->entry = now->entry;
	frame->shared = now->shared;
	frame->counted = false;
	now->obj = obj;
	now->env = NULL;
	now->entry = (uint32_t)entry;
	now->shared = false;
	return obj + 1;
}

/** What ran before runs again. Returns the object that has been called. */
static inline const CkGenObj *CkGen_back(const CkGenFrame *frame)
{
	CkGenNow *now = CkGen_now_;
	const CkGenObj *obj = (const CkGenObj *)now->obj;

	now->obj = frame->obj;
	now->env = frame->env;
	now->entry = frame->entry;
	now->shared = frame->shared;
	return obj;
}

static inline void CkGen_leave(const CkGenFrame *frame)
{
	const CkGenObj *obj = CkGen_back(frame);

	if (__builtin_expect(frame->counted || (obj->extra & CKGEN_EXTRA) != 0, 0))
		CkGen_left(obj, frame->counted);
}

/** CkGen_enter for an element whose index is one number. Inline for the usual call: of an element
 * that is found by its place alone, in the collection that was used last, from a handler that is no
 * thread. (No such element is a nodegroup's, so its entry is not [exclusive].)
 * That took the call from 203 to 62 instructions (docs/decisions/0091). */
static inline void *CkGen_enterLine(const CkGenChare *chare, uint64_t id, int x, int entry,
				    CkGenFrame *frame)
{
	const CkGenNow *now = CkGen_now_;
	const CkGenCollection *c = now->last;
	const uint64_t at = (uint32_t)x - c->first;

	if (__builtin_expect(c->id == id && c->type == chare && at < c->n_line &&
			     *now->thread == NULL, 1))
		return CkGen_enterObj(c->elems[at], entry, frame);
	return CkGen_enterOther(chare, id, x, entry, frame);
}

/** [whenidle]: call the handler for this element while the PE is idle, until it returns false. */
void CkGen_whenIdle(const CkGenChare *chare, const void *self, int entry);

/** [arrival]: make a receiving end in the element `self`, of the entry's chare; oob NULL: arrivals
 * are counted beside the buffer. Make a sending end in the element `self`, of any array; shape
 * NULL: the `bytes` bytes at buf. */
struct CkChannel;
struct CkDirectStrides;
struct CkChannel *CkGen_channelFrom(const CkGenChare *chare, void *self, int entry, CkElement from,
				    int tag, void *buf, size_t bytes, const uint64_t *oob);
struct CkChannel *CkGen_channelTo(const CkGenChare *chare, const void *self, int entry,
				  CkElement to, int tag, const void *buf, size_t bytes,
				  const struct CkDirectStrides *shape);

/** The same, of ends whose buffers are in a device's memory. */
struct CkChannel *CkGen_channelFromDevice(const CkGenChare *chare, void *self, int entry,
					  CkElement from, int tag, void *dbuf, size_t bytes);
struct CkChannel *CkGen_channelToDevice(const CkGenChare *chare, const void *self, int entry,
					CkElement to, int tag, const void *dbuf, size_t bytes);

/** [arrival, count(n)]: make all receiving ends of this entry of `self` ready. The count: n, or
 * aborts. */
void CkGen_channelsReady(const CkGenChare *chare, const void *self, int entry);
int CkGen_channelsCount(const void *self, int entry, long long n);

struct CkReducing;
struct CkReducing *CkGen_channelReduced(const CkGenChare *chare, void *self, int entry,
					const CkElement *from, int n, int tag, void *buf,
					size_t bytes, CkReduction op);

/* ---- Structured Dagger: state machines ---- */

enum { CKGEN_BY_FUNCTION = 1 };
enum {
	CKGEN_ALONE,               /* one call */
	CKGEN_SEVERAL,             /* calls of different entries */
	CKGEN_HARD,                /* CKGEN_BY_FUNCTION, or calls of one entry */
};

/** One call that a `when` waits for. */
typedef struct CkGenWanted {
	uint16_t entry;
	uint16_t kind;             /* of this alternative: CKGEN_ALONE, ... */
	int alternative;           /* of its `case` or overlap, counted from 0 in order */
	int by_number;             /* 0: any call; else only one with the slot's number: CKGEN_BY_FUNCTION,
				    * or the offset in the message of its number, an int */
	uint16_t first, calls;     /* of this alternative: index of the first, and how many */
} CkGenWanted;

/** A call of a run: one that it waits for, or has taken. */
typedef struct CkGenSlot {
	void *env;                 /* the runtime's: the call; NULL: none, given away, or the running
				    * one */
	void *before;              /* the runtime's: objects of pup functions that were made before it */
	int number;
	uint8_t done;              /* the alternative has been run */
	uint8_t plain;             /* not the last of its `when`: CkGenRun.plain would be its payload */
	uint16_t entry;            /* the runtime's: of the call that was taken */
} CkGenSlot;

/** Where a pointer in a struct ck_in_X_f points. */
enum CkGenTarget {
	CKGEN_OF_CALL,             /* into the call's message */
	CKGEN_OF_CALLER,           /* nocopy: into the caller's memory, or a copy within the message */
	CKGEN_OF_PUP,              /* to an object that a pup function has made */
	CKGEN_OF_PROGRAM,          /* nocopypost: to the program's buffer */
};
typedef struct CkGenPointer {
	size_t at;
	int target;                /* enum CkGenTarget */
	const char *name;
} CkGenPointer;

/** The contents of a run at one wait of its body, innermost first: the parameters of a call that
 * was taken, or a variable that is a pointer. */
typedef struct CkGenOpened {
	const struct CkGenOpened *up;
	int slot;                  /* of the call; -1: the body's own; -2: a variable */
	int first;                 /* slot of the first call of the same `when` */
	uint32_t at;               /* in the run */
	uint32_t bytes;            /* of the parameters; 0: the call has none */
	const CkGenPointer *pointers;
	int n_pointers;
	const char *name;          /* of the variable */
} CkGenOpened;

/** A point where a body waits: for calls; or, if wanted is NULL, for its branches or for the
 * buffers of a call. */
typedef struct CkGenPlace {
	const CkGenWanted *wanted; /* [n] */
	int n;                     /* buffers: 1 if the call is the last of its `when` */
	int slot;                  /* the first call's */
	int line;                  /* in the .ci file */
	const CkGenOpened *open;
} CkGenPlace;

struct CkGenRun;

/** A body, or a branch of one that waits by itself. */
typedef struct CkGenBody {
	bool (*go)(void *self, struct CkGenRun *run); /* continue from run->at; false: it waits, true: it
						       * has ended */
	const char *file;          /* the .ci file's name */
	int entry;
	size_t bytes;              /* of its run */
	size_t input;              /* offset in the run: the parameters, the number of a forall's branch;
				    * 0: none */
	int n_slots;
	const CkGenPlace *places;  /* [n_places], by run->at; 0 is the beginning */
	int n_places;
	const struct CkGenBody *const *parts; /* [n_parts] */
	int n_parts;
} CkGenBody;

/** One run of a body. Its slots and the body's variables follow. Only `at`, `found` and `plain` are
 * not the runtime's alone. */
typedef struct CkGenRun {
	const CkGenBody *body;
	struct CkGenRun *up;       /* a branch: the run around it */
	struct CkGenRun *next, **link; /* all runs of the element */
	union {
		struct CkGenRun *behind; /* it waits for calls: the next run that does */
		void *plain;       /* it has taken them: payload of the last, if the entry's `call` may have
				    * it as it is; else NULL */
	};
	void *obj, *sdag;
	void *thread;              /* [threaded]: what runs it; else NULL */
	void *own;                 /* the body's call */
	void *env;                 /* the same while calls of whens run inside it */
	void *posted;              /* the call that waits for buffers */
	void *watched;             /* the watch's */
	uint64_t running[6];       /* while it waits: its state; while it runs inside other code: that
				    * of its caller */
	uint32_t at;               /* where it waits, in body->places */
	int found;                 /* the alternative whose calls have arrived */
	int inner;                 /* slot of the running call; -1: its own, or none */
	int n_parts;               /* that have not ended */
	bool waits;                /* for calls */
	bool joins;                /* waits for its branches */
	bool shared, holds, special; /* of its own call */
	bool inside;               /* of other code that runs, or somebody observes what runs */
	uint16_t from;             /* index of the first of the calls that it has taken */
} CkGenRun;

/** Clear the slots. */
static inline void CkGen_ask(CkGenSlot *slot, int n)
{
	for (int i = 0; i < n; i++) {
		slot[i].env = NULL;
		slot[i].done = 0;
	}
}

/** Take the calls of one alternative and set run->found. False: they have not arrived; the body
 * returns, and continues here when they have. CkGen_done ends the last one, as after a handler,
 * CkGen_doneOne another one; CkGen_doneAll all n, which may have nocopy arrays or objects of pup
 * functions. `around` is the slot of the call that ran before them, or -1. */
bool CkGen_wait(CkGenRun *run, int place);
void CkGen_done(CkGenRun *run, int slot, int around);
void CkGen_doneOne(CkGenRun *run, int slot);
void CkGen_doneAll(CkGenRun *run, int slot, int n, int around);

/** The payload of a call that is not the last of its `when`, as CkGenRun.plain. */
static inline void *CkGen_plain(const CkGenSlot *slot)
{
	return slot->plain ? (char *)slot->env + CKGEN_HEAD : NULL;
}

/** Write a call's parameters to `in`, its entry's struct ck_in_X_f. The second has nocopypost
 * arrays; false: it waits for their buffers, and the body continues here. */
void CkGen_take(CkGenRun *run, int slot, void *in);
bool CkGen_takePosted(CkGenRun *run, int place, void *in);

/** Branches of a body that run side by side. CkGen_split prepares, CkGen_part starts one branch,
 * which may end at once, CkGen_join says whether all have ended; if not, the body continues here
 * when they have. CkGen_joined follows. */
void CkGen_split(CkGenRun *run);
void CkGen_part(CkGenRun *run, int part, int i);
bool CkGen_join(CkGenRun *run, int place);
void CkGen_joined(CkGenRun *run);

/** The number of branches of a forall; aborts for a step of 0. */
int CkGen_steps(int low, int high, int step);

/** Create an array, a group or nodegroup, or a singleton chare. `payload` holds the constructor's
 * parameters; these functions take it. With payload NULL the array starts empty, and the program
 * inserts its elements. */
CkProxy CkGen_newArray(const CkGenChare *chare, const CkArrayOptions *o, void *payload);
CkProxy CkGen_newGroup(const CkGenChare *chare, void *payload);
CkProxy CkGen_newNodegroup(const CkGenChare *chare, void *payload);
CkChareID CkGen_newChare(const CkGenChare *chare, int pe, void *payload, const CkEntryOptions *o);

/** Insert one element on `pe`; CK_PE_ANY means its home PE. Takes the payload. */
void CkGen_insert(const CkGenChare *chare, const CkElement *e, int pe, void *payload);

void CkGen_doneInserting(CkProxy p);
void CkGen_beginInserting(CkProxy p);
void CkGen_destroy(const CkElement *e);

/** The collection, the index or the chare of a user struct. */
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
static inline CkChareID CkGen_thisMain(const void *self)
{
	const uint64_t id = CkGen_thisProxy(self).id;
	CkChareID chare = {id, (int32_t)(id >> 32), 0}; /* an id contains its creator */

	return chare;
}
static inline CkProxy CkGen_main(CkChareID chare)
{
	CkProxy p = {chare.id};

	return p;
}

/** The user's struct if the element lives on this PE (nodegroup: on this node), else NULL. */
void *CkGen_ckLocal(const CkGenChare *chare, const CkElement *e);

/** The user's struct of this PE's branch of a group, or of this node's of a nodegroup. Aborts for a
 * proxy that no group's creation returned, and on a thread that is not a PE. */
void *CkGen_ckLocalBranch(const CkGenChare *chare, CkProxy p);

/** The next element of this PE in index order. NULL begins; NULL is the end. */
void *CkGen_nextLocal(const CkGenChare *chare, CkProxy p, const void *after);

/** Make a section of the listed elements, of one collection or of any collections of this type.
 * `list` is copied. */
CkSection CkGen_section(const CkGenChare *chare, CkProxy p, const CkIndex *list, size_t n);
CkSection CkGen_sectionOf(const CkGenChare *chare, const CkElement *list, size_t n);

/** Make a callback to an entry of one element, of all elements, of a section, of a singleton chare
 * or of a main chare. */
CkCallback CkGen_cb(const CkGenChare *chare, const CkElement *e, int entry);
CkCallback CkGen_cbAll(const CkGenChare *chare, CkProxy p, int entry);
CkCallback CkGen_cbSection(const CkGenChare *chare, const CkSection *s, int entry);
CkCallback CkGen_cbChare(const CkGenChare *chare, CkChareID id, int entry);
CkCallback CkGen_cbMain(const CkGenChare *chare, CkProxy p, int entry);

/** Parameters packed by a pup function (see ck.h): `n` objects of `bytes` bytes each, at `objs`.
 * CkGen_pupSize returns their packed size; CkGen_pupPack packs them to the `size` bytes at `to`;
 * CkGen_pupUnpack makes them anew from the bytes at `from`, and the runtime frees them when the
 * handler has returned.
 *
 * Sizing and packing give `pup` a copy of each object, because it assigns to members, as in x->v =
 * pup_alloc(...). The caller's object may be constant, or two PEs may pack it at once. */
size_t CkGen_pupSize(CkPupFn pup, const void *objs, size_t bytes, size_t n);
void CkGen_pupPack(CkPupFn pup, const void *objs, size_t bytes, size_t n, void *to, size_t size);
const void *CkGen_pupUnpack(CkPupFn pup, size_t bytes, size_t n, const void *from, void *payload);

/** For one field of an X_pup that ckci generated from a list: size, pack or delete the target of
 * `old`, or unpack it. Each returns the field's new value. NULL stays NULL. CkGen_pupPointed: n
 * values of `bytes` bytes, each by `pup` unless that is NULL. `name` is the field's.
 * CkGen_pupMessage: a message that the element keeps. */
enum { CKGEN_MALLOC, CKGEN_RDMA, CKGEN_DIRECT };
void *CkGen_pupPointed(pup_er p, void *old, long long n, size_t bytes, CkPupFn pup, int memory,
		       const char *name);
/* A row of n pointers, which the caller packs. */
void *CkGen_pupRow(pup_er p, void *old, long long n, const char *name);
char *CkGen_pupString(pup_er p, const char *old);
void *CkGen_pupMessage(pup_er p, void *old, const CkGenMessage *type);
static inline void CkGen_pupCallback(pup_er p, void *cb) { pup_callback(p, (CkCallback *)cb); }

/* For the checks that such a list is complete: where field b begins if it follows field a, where
 * the struct ends if a is its last field, and what kind of thing a field is (5 is gcc's class of
 * pointers; arrays become them). CKGEN_SOME is any value of the type of `value`. */
#define CKGEN_ROUND(n, align) (((n) + (align) - 1) / (align) * (align))
#define CKGEN_FIELD_END(T, a) (offsetof(T, a) + sizeof(((T *)0)->a))
#define CKGEN_AFTER(T, a, b) CKGEN_ROUND(CKGEN_FIELD_END(T, a), __alignof__(((T *)0)->b))
#define CKGEN_END(T, a) CKGEN_ROUND(CKGEN_FIELD_END(T, a), __alignof__(T))
#define CKGEN_IS_POINTER(value) (__builtin_classify_type(value) == 5)
#ifdef __cplusplus
#define CKGEN_IS_ARRAY(value) CkGen_isArray<decltype(value)>::is
#define CKGEN_SOME(value) {}
extern "C++" {
template <typename T> struct CkGen_isArray { static constexpr bool is = false; };
template <typename T> struct CkGen_isArray<T &> : CkGen_isArray<T> {};
template <typename T, size_t n> struct CkGen_isArray<T[n]> { static constexpr bool is = true; };
}
#else
#define CKGEN_AS_POINTER(value) __builtin_choose_expr(CKGEN_IS_POINTER(value), value, (char *)0)
#define CKGEN_IS_ARRAY(value) (!__builtin_types_compatible_p(__typeof__(CKGEN_AS_POINTER(value)), \
	__typeof__(&*CKGEN_AS_POINTER(value))))
#define CKGEN_SOME(...) __VA_ARGS__
#endif

/** Before the handler of an entry with nocopypost arrays: ask the program for buffers, and copy the
 * arrays there. post[p->n] then has the pointers. False: the call waits for a buffer, and the
 * runtime keeps it; do not run the handler. */
bool CkGen_post(const CkGenPost *p, void *payload, CkNcpyBufferPost *post);

/** Round up to the alignment of strings and small arrays inside a payload. */
static inline size_t CkGen_align(size_t n) { return (n + 15) & ~(size_t)15; }

/** The offset of an array of `bytes` bytes that comes after offset `end`. A large array begins on a
 * cache line; at any other address each vector instruction of 64 bytes touches two lines. In
 * examples/matmul dgemm reads slices of 64 kB out of the message; this took an iteration from 690
 * to 600 us (Intel Xeon with AVX-512). */
static inline size_t CkGen_place(size_t end, size_t bytes)
{
	return bytes < CKGEN_LARGE ? CkGen_align(end) : (end + 63) & ~(size_t)63;
}
/** The same in a call of a [channel] entry, whose bytes may be written to lines that another core
 * has. A store that touches two such lines waits for both. */
static inline size_t CkGen_placePut(size_t end, size_t bytes)
{
	return bytes < CKGEN_LARGE_PUT ? CkGen_align(end) : (end + 63) & ~(size_t)63;
}

/* For `fits` functions: whether an array of n elements, a string, or a result at `at` lies within
 * `bytes` bytes. */
static inline bool CkGen_arrayFits(size_t bytes, uint64_t at, long long n, size_t each)
{
	return n >= 0 && at <= bytes && at % 16 == 0 && (uint64_t)n <= (bytes - at) / each;
}
static inline bool CkGen_stringFits(const void *m, size_t bytes, uint64_t at)
{
	return at < bytes && memchr((const char *)m + at, 0, bytes - at) != NULL;
}
static inline bool CkGen_ncpyFits(const CkGenNcpy *d, long long n, size_t each)
{
	return n >= 0 && d->bytes % each == 0 && d->bytes / each == (uint64_t)n;
}
bool CkGen_resultFits(const void *m, size_t bytes);

/** The bytes of a payload, from the head before it. */
static inline size_t CkGen_bytes(const void *payload)
{
	uint64_t size;

	memcpy(&size, (const char *)payload - CKGEN_HEAD + CKGEN_SIZE_AT, sizeof size);
	return (size_t)size - CKGEN_HEAD;
}

/** End the job, because the call with this payload is invalid. Only for CkGenEntry.came. */
__attribute__((noreturn)) void CkGen_misfit(const void *payload);

/** Zero a gap of less than 80 bytes. Compilers turn a memset of unknown but bounded size into
 * `rep stos`, which takes longer than the rest of a stub: with one, a round trip of 100 bytes
 * between threads took 1.16 times as long (AMD EPYC). The empty asm keeps the compiler from making
 * a memset of this loop. */
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

/** Zero the gap between the values, which end at the constant `from`, and the first array. It
 * begins there or on the next line (CkGen_place), so this is a few stores of constant size. */
static inline void CkGen_zeroToLine(void *payload, size_t from, size_t to)
{
	if (to != from)
		memset((char *)payload + from, 0, ((from + 63) & ~(size_t)63) - from);
}

/** Abort because an array length in a call was negative. */
__attribute__((noreturn)) void CkGen_badLength(const CkGenChare *chare, int entry,
					       const char *param, long long n);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
