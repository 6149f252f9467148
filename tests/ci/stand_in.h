/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_in.h: takes the runtime's place behind generated code, in one process and at once.
 * Whatever is sent moves to another address, and the old place is overwritten, so that a
 * pointer into it would be seen; fresh memory has a pattern, so that bytes which nobody wrote
 * would be seen. With mock.remote set it behaves as if sender and receiver were processes of
 * their own: messages that the program packs are packed, nocopy arrays are copied.
 *
 * Included behind the .def.h of a test, and in that test only.
 */
#ifndef STAND_IN_H
#define STAND_IN_H

enum { HEADER = 64, ANSWER_BYTES = 256 };

/* Delivery must see these: nothing goes straight to the handler. */
enum {
	SEEN = CKGEN_NOCOPY | CKGEN_PUP | CKGEN_THREADED | CKGEN_SYNC | CKGEN_WHEN | CKGEN_AWAITED | CKGEN_BODY | CKGEN_ARRIVAL
};

/* Objects made by pup functions: freed with the call that they were made for. */
struct made {
	struct made *next;
	void *pad;
	char data[];             /* 16-byte aligned, as calloc's memory is */
};

static struct mock {
	void *self;              /* whom messages are delivered to */
	unsigned char fill;      /* pattern of fresh memory */
	int open;                /* payloads not yet freed */
	const CkGenChare *opened; /* of a call that is to be closed */
	int failures;
	bool keep;               /* the next message goes to kept, not to its handler */
	void *kept;
	bool remote;             /* across a border of processes */
	bool no_buffer;          /* a posted array has to wait */
	const char *last;        /* "send", "all", "section", "chare", "main", "array", ... */
	CkIndex index;
	uint64_t branch;         /* of CkGen_ckLocalBranch */
	uint64_t id;             /* of the section, chare or collection */
	int pe;                  /* creation */
	CkEntryOptions options;
	CkArrayOptions array;
	bool empty;              /* created without a payload */
	int callback;            /* entry of the last callback made */
	int fired;               /* callbacks sent, or nocopy buffers given back */
	void *local;             /* what CkGen_enter finds */
	int entered, left;
	const CkGenChare *waiting_chare;
	int waiting_entry;
	void *waiting;           /* a call whose condition was false */
	struct made *made;
	jmp_buf bad;
	const void *unfit;       /* the payload that did not fit */
	const char *bad_param;
	long long bad_length;
	char aborted[128];
} mock;

#define CHECK(c) ((c) ? (void)0 : fail(__FILE__, __LINE__, #c))

static void fail(const char *file, int line, const char *what)
{
	printf("%s:%d: %s\n", file, line, what);
	mock.failures++;
}

size_t CkGen_classAbove(size_t size)
{
	CHECK(size > CKGEN_FINE);
	return 1000;
}

void *CkGen_allocClass(size_t size, size_t size_class)
{
	size_t bytes = size - CKGEN_HEAD;
	char *p = (char *)aligned_alloc(64, (HEADER + bytes + 63) / 64 * 64);

	memset(p, mock.fill, HEADER + bytes);
	memcpy(p, &bytes, sizeof bytes);
	memcpy(p + HEADER - CKGEN_HEAD + CKGEN_SIZE_AT, &size, sizeof size);
	CHECK(size_class == (size > CKGEN_FINE ? 1000 : (size - 1) / 64));
	mock.open++;
	return p + HEADER;
}

void CkGen_mayAnswer(void)
{
}

void CkGen_copyBulk(void *to, const void *from, size_t bytes)
{
	CHECK(bytes > CKGEN_BULK);
	memcpy(to, from, bytes);
}

void *CkGen_allocMsg(size_t bytes)
{
	return CkGen_alloc(bytes);
}

void *CkGen_copyResult(const CkReductionMsg *m)
{
	return memcpy(CkGen_alloc(sizeof *m + m->bytes), m, sizeof *m + m->bytes);
}

bool CkGen_resultFits(const void *m, size_t bytes)
{
	return bytes >= sizeof(CkReductionMsg) && ((const CkReductionMsg *)m)->bytes <= bytes - sizeof(CkReductionMsg);
}

void CkGen_misfit(const void *payload)
{
	mock.unfit = payload;
	longjmp(mock.bad, 1);
}

static size_t bytes_of(void *payload)
{
	size_t bytes;

	memcpy(&bytes, (char *)payload - HEADER, sizeof bytes);
	return bytes;
}

void CkFreeMsg(void *payload)
{
	if (payload == NULL)
		return;
	free((char *)payload - HEADER);
	mock.open--;
}

void *CkAllocBuffer(void *msg, size_t bytes)
{
	(void)msg;
	return CkGen_alloc(bytes);
}

/* ---- the wire --------------------------------------------------------------------------- */

/* `more` bytes longer at another address; the old place is overwritten and freed. */
static void *moved(void *payload, size_t more)
{
	size_t bytes = bytes_of(payload);
	void *copy = CkGen_alloc(bytes + more);

	memcpy(copy, payload, bytes);
	memset(payload, 0xee, bytes);
	CkFreeMsg(payload);
	return copy;
}

/* What the program packs stays where it is within a process. */
static void *moved_message(const CkGenMessage *type, void *m)
{
	if (type->pack == NULL)
		return moved(m, 0);
	return mock.remote ? type->unpack(moved(type->pack(m), 0)) : m;
}

static void *moved_nocopy(const CkGenEntry *e, void *payload)
{
	for (int i = 0; i < e->n_ncpy; i++) {
		CkGenNcpy *n = (CkGenNcpy *)(void *)((char *)payload + e->ncpy[i]);
		size_t at = CkGen_align(bytes_of(payload));

		CHECK(n->at == 0);
		payload = moved(payload, at - bytes_of(payload) + n->bytes);
		n = (CkGenNcpy *)(void *)((char *)payload + e->ncpy[i]);
		if (n->bytes != 0)
			memcpy((char *)payload + at, n->ptr, n->bytes);
		n->ptr = NULL;
		n->at = at;
	}
	return payload;
}

static void *travelled(const CkGenEntry *e, void *payload)
{
	CHECK(((e->flags & CKGEN_MESSAGE) != 0) == (e->message != NULL));
	CHECK(((e->flags & CKGEN_NOCOPY) != 0) == (e->n_ncpy != 0));
	if (e->flags & CKGEN_MESSAGE)
		return moved_message(e->message, payload);
	if (mock.remote && e->n_ncpy != 0)
		return moved_nocopy(e, payload);
	return moved(payload, 0);
}

static void finish(const CkGenEntry *e, void *payload)
{
	mock.fired += e->n_ncpy;
	CHECK((mock.made != NULL) <= ((e->flags & CKGEN_PUP) != 0));
	while (mock.made != NULL) {
		struct made *m = mock.made;

		mock.made = m->next;
		free(m);
	}
	CkFreeMsg(payload);
}

static void deliver(const CkGenChare *chare, int entry, void *payload)
{
	const CkGenEntry *e = &chare->entries[entry];
	const bool packed = e->message != NULL && e->message->unpack != NULL;
	void *copy = travelled(e, payload);

	if (mock.keep) {
		mock.kept = copy;
		return;
	}
	CHECK(entry >= 0 && entry < chare->n_entries);
	CHECK(e->fits == NULL || e->fits(copy, bytes_of(copy)) == !packed); /* packed it would be flagged, and not asked */
	CHECK(e->least == UINT32_MAX || e->least <= CKGEN_HEAD + bytes_of(copy));
	if (e->when != NULL && !e->when(mock.self, copy)) {
		mock.waiting_chare = chare;
		mock.waiting_entry = entry;
		mock.waiting = copy;
		return;
	}
	CHECK(e->came == NULL || (e->least == UINT32_MAX && e->fits != NULL && !(e->flags & SEEN)));
	if (e->came != NULL && !packed)
		e->came(mock.self, copy); /* which calls e->call */
	else
		e->call(mock.self, copy);
	finish(e, copy);
}

static void note(const char *what, const CkEntryOptions *o)
{
	mock.last = what;
	memset(&mock.options, 0, sizeof mock.options);
	if (o != NULL)
		mock.options = *o;
}

void CkGen_send(const CkGenChare *chare, const CkElement *e, int entry, void *payload,
		const CkEntryOptions *o)
{
	mock.index = e->index;
	note("send", o);
	deliver(chare, entry, payload);
}

/* Always away: a message of this PE would be delivered later, too. */
CkGenOpen CkGen_openClass(const CkGenChare *chare, uint64_t id, int x, int entry, size_t size,
			  size_t size_class)
{
	const CkGenOpen c = {CkGen_allocClass(size, size_class), entry + 1};
	const CkIndex index = {{x, 0, 0}};

	(void)id;
	CHECK(chare->nd <= 1 && chare->entries[entry].flags % 2 == 0 && mock.opened == NULL);
	mock.opened = chare;
	mock.index = index;
	return c;
}

CkGenOpen CkGen_openAwayClass(const CkGenChare *chare, uint64_t id, int x, int entry, size_t size,
			      size_t size_class)
{
	return CkGen_openClass(chare, id, x, entry & ~CKGEN_SEEN, size, size_class);
}

CkGenOpen CkGen_openElementClass(const CkGenChare *chare, const CkElement *e, int entry, size_t size,
				 size_t size_class)
{
	const int number = entry & ~CKGEN_SEEN;
	const CkGenOpen c = {CkGen_allocClass(size, size_class), number + 1};

	CHECK(chare->kind == CKGEN_ARRAY && chare->entries[number].flags % 2 == 0 && mock.opened == NULL);
	mock.opened = chare;
	mock.index = e->index;
	return c;
}

CkGenOpen CkGen_openChannelClass(const CkGenChare *chare, const CkElement *e, int entry, size_t size,
				 size_t size_class)
{
	return CkGen_openElementClass(chare, e, entry, size, size_class);
}

void CkGen_close(CkGenOpen c)
{
	const CkGenChare *chare = mock.opened;

	mock.opened = NULL;
	note("send", NULL);
	deliver(chare, (int)c.away - 1, c.payload);
}

void CkGen_closeChannel(CkGenOpen c)
{
	CkGen_close(c);
	mock.last = "channel";
}

/* Nothing is held back. */
static CkGenBatch mock_batch;
static CkGenBatch *mock_batches[CKGEN_BATCHES];
__thread CkGenBatch *const *CkGen_batches_ = mock_batches;

__attribute__((constructor)) static void fill_mock_batches(void)
{
	for (int i = 0; i < CKGEN_BATCHES; i++)
		mock_batches[i] = &mock_batch;
}

CkGenBatch *CkGen_batchFor(uint64_t id, int x, uint64_t kind)
{
	uint32_t shape = (uint32_t)kind;

	(void)id;
	(void)x;
	CHECK((shape & 31) == 4 || (shape & 31) == 8 || (shape & 31) == 16);
	return NULL;
}

void CkGen_sendBatch(CkGenBatch *b)
{
	(void)b;
	CHECK(!"a batch of calls");
}

CkGenOpen CkGen_openAlone(const CkGenChare *chare, uint64_t id, int x, int entry, size_t bytes)
{
	CHECK(chare->entries[entry].flags & CKGEN_AGGREGATE);
	return CkGen_open(chare, id, x, entry, bytes);
}

void CkGen_closeAggregate(CkGenOpen c)
{
	CHECK(mock.opened->entries[c.away - 1].flags & CKGEN_AGGREGATE);
	CkGen_close(c);
	mock.last = "batch";
}

void CkGen_sendAggregate(const CkGenChare *chare, const CkElement *e, int entry, void *payload,
			 const CkEntryOptions *o)
{
	CkGen_send(chare, e, entry, payload, o);
	mock.last = "batch";
}

void CkGen_sendAll(const CkGenChare *chare, CkProxy p, int entry, void *payload,
		   const CkEntryOptions *o)
{
	(void)p;
	note("all", o);
	deliver(chare, entry, payload);
}

void CkGen_sendMain(const CkGenChare *chare, CkProxy p, int entry, void *payload,
		    const CkEntryOptions *o)
{
	(void)p;
	note("main", o);
	deliver(chare, entry, payload);
}

CkProxy CkGen_newArray(const CkGenChare *chare, const CkArrayOptions *o, void *payload)
{
	CkProxy p = {77};

	mock.array = *o;
	mock.empty = payload == NULL;
	note("array", NULL);
	if (payload != NULL)
		deliver(chare, 0, payload);
	return p;
}

CkProxy CkGen_newGroup(const CkGenChare *chare, void *payload)
{
	CkProxy p = {78};

	note("group", NULL);
	deliver(chare, 0, payload);
	return p;
}

CkProxy CkGen_newNodegroup(const CkGenChare *chare, void *payload)
{
	return CkGen_newGroup(chare, payload);
}

void *CkGen_ckLocal(const CkGenChare *chare, const CkElement *e)
{
	(void)chare;
	mock.index = e->index;
	return mock.self;
}

void *CkGen_ckLocalBranch(const CkGenChare *chare, CkProxy p)
{
	note(chare->name, NULL);
	mock.branch = p.id;
	return mock.self;
}

static CkCallback callback(const char *what, int entry)
{
	CkCallback cb;

	memset(&cb, 0, sizeof cb);
	note(what, NULL);
	mock.callback = entry;
	return cb;
}

CkCallback CkGen_cb(const CkGenChare *chare, const CkElement *e, int entry)
{
	(void)chare;
	mock.index = e->index;
	return callback("cb", entry);
}

CkCallback CkGen_cbAll(const CkGenChare *chare, CkProxy p, int entry)
{
	(void)chare;
	(void)p;
	return callback("cbAll", entry);
}

CkCallback CkGen_cbSection(const CkGenChare *chare, const CkSection *s, int entry)
{
	(void)chare;
	mock.id = s->id;
	return callback("cbSection", entry);
}

CkCallback CkGen_cbChare(const CkGenChare *chare, CkChareID id, int entry)
{
	(void)chare;
	mock.id = id.id;
	return callback("cbChare", entry);
}

CkCallback CkGen_cbMain(const CkGenChare *chare, CkProxy p, int entry)
{
	(void)chare;
	(void)p;
	return callback("cbMain", entry);
}

void CkGen_badLength(const CkGenChare *chare, int entry, const char *param, long long n)
{
	(void)chare;
	(void)entry;
	mock.bad_param = param;
	mock.bad_length = n;
	longjmp(mock.bad, 1);
}

void CkAbort(const char *fmt, ...)
{
	strncpy(mock.aborted, fmt, sizeof mock.aborted - 1);
	longjmp(mock.bad, 1);
}

int CkMyPe(void)
{
	return 3;
}

int CkMyNode(void)
{
	return 2;
}

/* ---- chares and sections ---------------------------------------------------------------- */

void CkGen_sendSection(const CkGenChare *chare, const CkSection *s, int entry, void *payload,
		       const CkEntryOptions *o)
{
	mock.id = s->id;
	note("section", o);
	deliver(chare, entry, payload);
}

void CkGen_sendChare(const CkGenChare *chare, CkChareID id, int entry, void *payload,
		     const CkEntryOptions *o)
{
	mock.id = id.id;
	note("chare", o);
	deliver(chare, entry, payload);
}

CkChareID CkGen_newChare(const CkGenChare *chare, int pe, void *payload, const CkEntryOptions *o)
{
	CkChareID id = {79, 4, 0};

	mock.pe = pe;
	note("newChare", o);
	deliver(chare, 0, payload);
	return id;
}

CkChareID CkGen_thisChare(const void *self)
{
	CkChareID id = {80, 5, 0};

	(void)self;
	return id;
}

void CkGen_insert(const CkGenChare *chare, const CkElement *e, int pe, void *payload)
{
	mock.index = e->index;
	mock.pe = pe;
	note("insert", NULL);
	deliver(chare, 0, payload);
}

void CkGen_doneInserting(CkProxy p) { mock.id = p.id; note("done", NULL); }
void CkGen_beginInserting(CkProxy p) { mock.id = p.id; note("begin", NULL); }
void CkGen_destroy(const CkElement *e) { mock.index = e->index; note("destroy", NULL); }

void *CkGen_nextLocal(const CkGenChare *chare, CkProxy p, const void *after)
{
	(void)chare;
	(void)p;
	return after == NULL ? mock.self : NULL;
}

CkSection CkGen_section(const CkGenChare *chare, CkProxy p, const CkIndex *list, size_t n)
{
	CkSection s = {p.id, n};

	(void)chare;
	mock.index = list[n - 1];
	return s;
}

CkSection CkGen_sectionOf(const CkGenChare *chare, const CkElement *list, size_t n)
{
	CkSection s = {list[0].id, n};

	(void)chare;
	mock.index = list[n - 1].index;
	return s;
}

/* ---- answers, direct calls -------------------------------------------------------------- */

static void answer(const CkGenChare *chare, int entry, void *payload, void *reply)
{
	const CkGenEntry *e = &chare->entries[entry];
	void *copy = travelled(e, payload);
	char bytes[ANSWER_BYTES];
	void *m;

	CHECK(e->call == NULL && (e->flags & CKGEN_SYNC) && e->reply_bytes <= sizeof bytes);
	memset(bytes, mock.fill, sizeof bytes);
	e->answer(mock.self, copy, bytes);
	if (e->reply_message) {
		memcpy(&m, bytes, sizeof m);
		if (m != NULL)
			m = moved_message(e->reply, m);
		memcpy(bytes, &m, sizeof m);
	}
	if (e->reply_bytes != 0)
		memcpy(reply, bytes, e->reply_bytes);
	else
		CHECK(reply == NULL);
	finish(e, copy);
}

void CkGen_sync(const CkGenChare *chare, const CkElement *e, int entry, void *payload, void *reply)
{
	mock.index = e->index;
	mock.id = e->id;
	note("sync", NULL);
	answer(chare, entry, payload, reply);
}

void CkGen_syncChare(const CkGenChare *chare, CkChareID id, int entry, void *payload, void *reply)
{
	mock.id = id.id;
	note("syncChare", NULL);
	answer(chare, entry, payload, reply);
}

/* No call is the usual one here, and each ends in CkGen_left. */
static CkGenObj mock_obj = {NULL, {{0, 0, 0}}, {0, 0}, 1};
static const CkGenCollection mock_last = {UINT64_MAX, 0, 0, 0, NULL, NULL};
static void *const mock_thread = NULL;
static CkGenNow mock_now = {NULL, NULL, 0, 0, false, &mock_last, &mock_thread, 0, NULL};
__thread CkGenNow *CkGen_now_ = &mock_now;

void *CkGen_enter(const CkGenChare *chare, const CkElement *e, int entry, CkGenFrame *frame)
{
	(void)chare;
	mock.index = e->index;
	if (mock.local == NULL)
		return NULL;
	mock.entered++;
	CkGen_enterObj(&mock_obj, entry, frame);
	return mock.local;
}

void *CkGen_enterOther(const CkGenChare *chare, uint64_t id, int x, int entry, CkGenFrame *frame)
{
	const CkElement e = {id, {{x, 0, 0}}, 0};

	return CkGen_enter(chare, &e, entry, frame);
}

void *CkGen_enterLocal(const CkGenChare *chare, const CkElement *e, int entry, CkGenFrame *frame)
{
	if (mock.local == NULL)
		CkAbort("not on this PE");
	return CkGen_enter(chare, e, entry, frame);
}

void CkGen_left(const void *obj, bool counted)
{
	CHECK(obj == &mock_obj && !counted && mock_now.obj == NULL);
	mock.left++;
}

void CkCallbackSend(CkCallback cb, const void *data, size_t bytes)
{
	(void)cb;
	(void)data;
	(void)bytes;
	mock.fired++;
}

CkNcpyBuffer CkSendBufferCb(const void *ptr, CkCallback done)
{
	CkNcpyBuffer b;

	memset(&b, 0, sizeof b);
	b.ptr = ptr;
	b.done = done;
	return b;
}

bool CkGen_post(const CkGenPost *p, void *payload, CkNcpyBufferPost *post)
{
	const CkGenNcpy *n[4];

	CHECK(p->n > 0 && p->n <= 4);
	memset(post, 0, (size_t)p->n * sizeof *post);
	for (int i = 0; i < p->n; i++) {
		n[i] = (const CkGenNcpy *)(const void *)((char *)payload + p->ncpy[i]);
		post[i].bytes = n[i]->bytes;
	}
	p->post(mock.self, payload, post);
	for (int i = 0; i < p->n && !mock.no_buffer; i++)
		memcpy(post[i].ptr, n[i]->at != 0 ? (char *)payload + n[i]->at : n[i]->ptr,
		       n[i]->bytes);
	return !mock.no_buffer;
}

/* ---- packing ---------------------------------------------------------------------------- */

enum { SIZING, PACKING, UNPACKING };

struct CkPupEr {
	int mode;
	size_t bytes;
	char *to;
	const char *from;
};

static void *make(size_t bytes)
{
	struct made *m = (struct made *)calloc(1, sizeof *m + bytes);

	m->next = mock.made;
	mock.made = m;
	return m->data;
}

int pup_isSizing(const pup_er p) { return p->mode == SIZING; }
int pup_isPacking(const pup_er p) { return p->mode == PACKING; }
int pup_isUnpacking(const pup_er p) { return p->mode == UNPACKING; }

void pup_bytes(pup_er p, void *v, size_t n)
{
	if (n == 0)
		return;         /* v may be NULL */
	if (pup_isPacking(p))
		memcpy(p->to + p->bytes, v, n);
	if (pup_isUnpacking(p))
		memcpy(v, p->from + p->bytes, n);
	p->bytes += n;
}

void *pup_alloc(pup_er p, void *old, size_t bytes)
{
	return pup_isUnpacking(p) ? make(bytes) : old;
}

/* Of copies: a caller's object may be constant, and pup_alloc's result is assigned anyway. */
static size_t pup_all(struct CkPupEr *p, void (*pup)(pup_er, void *), const void *objs,
		      size_t bytes, size_t n)
{
	void *copy = malloc(bytes);

	for (size_t i = 0; i < n; i++) {
		memcpy(copy, (const char *)objs + i * bytes, bytes);
		pup(p, copy);
	}
	free(copy);
	return p->bytes;
}

size_t CkGen_pupSize(void (*pup)(pup_er p, void *obj), const void *objs, size_t bytes, size_t n)
{
	struct CkPupEr p = {SIZING, 0, NULL, NULL};

	return sizeof(uint64_t) + pup_all(&p, pup, objs, bytes, n);
}

void CkGen_pupPack(void (*pup)(pup_er p, void *obj), const void *objs, size_t bytes, size_t n,
		   void *to, size_t size)
{
	struct CkPupEr p = {PACKING, 0, (char *)to + sizeof(uint64_t), NULL};
	uint64_t packed = pup_all(&p, pup, objs, bytes, n);

	CHECK(packed == size - sizeof packed);
	memcpy(to, &packed, sizeof packed);
}

const void *CkGen_pupUnpack(void (*pup)(pup_er p, void *obj), size_t bytes, size_t n,
			    const void *from, void *payload)
{
	struct CkPupEr p = {UNPACKING, 0, NULL, (const char *)from + sizeof(uint64_t)};
	void *objs = make(bytes * n);
	uint64_t packed;

	(void)payload;
	for (size_t i = 0; i < n; i++)
		pup(&p, (char *)objs + i * bytes);
	memcpy(&packed, from, sizeof packed);
	CHECK(p.bytes == packed);
	return objs;
}

/* Elements are not packed here; the functions of messages name it. */
void *CkGen_pupMessage(pup_er p, void *old, const CkGenMessage *type)
{
	(void)p;
	(void)type;
	CHECK(false);
	return old;
}

#endif

