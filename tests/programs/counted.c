/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counted: [count] entry methods of every kind of chare, with every kind of parameter. In each
 * stage each element calls all elements, in many rounds at once and often the last round first; the
 * handler must run once for each round, with just its calls. Also: what a handler does with the
 * messages of its round, calls by callbacks, to all and to a section, and calls that wait at an
 * element when it ends.
 */
#include "check.h"

#include "counted.h"
#include "counted.decl.h"

enum { N = 6, ROUNDS = 5, PLANES = 2 };
enum stage {
	PARTS,
	TEXTS,
	SOME,
	LETTERS,
	PARCELS,
	NOTHING,
	RESULTS,
	ROWS,
	LENT,
	AGAIN,
	TO_ALL,
	TO_SECTION,
	CHANGES,
	GROUPS,
	ENDS,
	STAGES
};

struct Main {
	int n_expected, stage;
};
struct Sum {
	int n, done, n_changes, n_waited, n_twice;
	int stage;
	bool seen[ROUNDS];
	Letter *kept;
	double lent[ROUNDS][3];
};
struct Dying {
	double lent[2];
};
struct Branch {
	int done;
};
struct One {
	int done;
};

/* ---- what all stages share ---------------------------------------------------------------------
 */

static void finish(int stage)
{
	if (stage != LENT)
		Main_finished(mainProxy, stage);
}

/* The handler of a round runs; `rounds` make the stage. */
static void ran(Sum *self, int round, int rounds, int stage)
{
	CHECK(round >= 0 && round < rounds && !self->seen[round]);
	self->seen[round] = true;
	if (++self->done < rounds)
		return;
	self->done = 0;
	memset(self->seen, 0, sizeof self->seen);
	finish(stage);
}

/* Each of the N elements has sent one of these calls. */
static void check_senders(const int *from, int n)
{
	bool has[N] = { false };

	CHECK_EQ(n, N);
	for (int i = 0; i < n; i++) {
		CHECK(from[i] >= 0 && from[i] < N && !has[from[i]]);
		has[from[i]] = true;
	}
}

/* ---- values, arrays, strings
 * ----------------------------------------------------------------------- */

static void send_parts(int me)
{
	for (int round = ROUNDS; round-- > 0;)
		for (int to = 0; to < N; to++) {
			const double v[3] = { me, round, to };

			Sum_part(Sum_at(sums, to), me, round, round % 3 + 1, v);
		}
}

void Sum_on_part(Sum *self, int number, int n, const Sum_part_call *calls)
{
	int from[N];

	for (int i = 0; i < n; i++) {
		from[i] = calls[i].from;
		CHECK_EQ(calls[i].n, number % 3 + 1);
		CHECK(calls[i].v[0] == calls[i].from);
		CHECK(calls[i].n < 2 || calls[i].v[1] == number);
		CHECK(calls[i].n < 3 || calls[i].v[2] == Sum_thisIndex(self));
	}
	check_senders(from, n);
	ran(self, number, ROUNDS, PARTS);
}

static void send_texts(int me)
{
	for (int round = 0; round < ROUNDS; round++)
		for (int to = 0; to < N; to++) {
			char text[8] = { (char)('a' + me), (char)('0' + round) };

			Sum_ahead(Sum_at(sums, to), round, text);
		}
}

void Sum_on_ahead(Sum *self, int number, int n, const Sum_ahead_call *calls)
{
	int from[N];

	for (int i = 0; i < n; i++) {
		from[i] = calls[i].text[0] - 'a';
		CHECK_EQ(calls[i].text[1], '0' + number);
	}
	check_senders(from, n);
	ran(self, number, ROUNDS, TEXTS);
}

/* Round r has 2 + r % 3 calls. */
static void send_some(int me)
{
	for (int round = 0; round < ROUNDS; round++)
		for (int to = 0; to < N && me < 2 + round % 3; to++)
			Sum_some(Sum_at(sums, to), round);
}

void Sum_on_some(Sum *self, int number, int n)
{
	CHECK_EQ(n, 2 + number % 3);
	ran(self, number, ROUNDS, SOME);
}

static void send_rows(int me)
{
	for (int round = ROUNDS; round-- > 0;)
		for (int to = 0; to < N; to++) {
			int v[2] = { me, round };
			const Row row = { 2, v };

			Sum_rows(Sum_at(sums, to), round, &row);
		}
}

void Row_pup(pup_er p, Row *x)
{
	pup_int(p, &x->n);
	x->v = (int *)pup_alloc(p, x->v, (size_t)x->n * sizeof *x->v);
	pup_bytes(p, x->v, (size_t)x->n * sizeof *x->v);
}

void Sum_on_rows(Sum *self, int number, int n, const Sum_rows_call *calls)
{
	int from[N];

	for (int i = 0; i < n; i++) {
		CHECK(calls[i].x->n == 2 && calls[i].x->v[1] == number);
		from[i] = calls[i].x->v[0];
	}
	check_senders(from, n);
	ran(self, number, ROUNDS, ROWS);
}

/* ---- messages: a round's number is their reference number
 * ------------------------------------------------ */

static void send_letters(int me)
{
	for (int round = ROUNDS; round-- > 0;)
		for (int to = 0; to < N; to++) {
			Letter *m = Letter_alloc(2);

			m->from = me;
			m->v[0] = round;
			m->v[1] = to;
			CkSetRefNum(m, round);
			Sum_letter(Sum_at(sums, to), m);
		}
}

/* Of the six, one is freed, one kept, two are sent on, and two are left. */
void Sum_on_letter(Sum *self, int number, int n, Letter **m)
{
	int from[N];

	for (int i = 0; i < n; i++) {
		from[i] = m[i]->from;
		CHECK(m[i]->v[0] == number && m[i]->v[1] == Sum_thisIndex(self));
		CHECK_EQ(CkGetRefNum(m[i]), number);
	}
	check_senders(from, n);
	CkFreeMsg(m[0]);
	if (self->kept) {
		CHECK(self->kept->v[1] == Sum_thisIndex(self));
		CkFreeMsg(self->kept);
	}
	self->kept = m[1];
	m[1] = NULL;
	CkSetRefNum(m[2], 100 + number);
	CkSetRefNum(m[3], 100 + number);
	Sum_twice(Sum_thisElement(self), m[2]);
	Sum_twice(Sum_thisElement(self), m[3]);
}

void Sum_on_twice(Sum *self, int number, int n, Letter **m)
{
	CHECK(n == 2 && m[0]->v[0] == number - 100 && m[1]->v[0] == number - 100);
	CHECK(m[0]->from != m[1]->from);
	ran(self, number - 100, ROUNDS, LETTERS);
}

void *Parcel_pack(Parcel *m)
{
	int *buffer = CkAllocBuffer(m, ((size_t)m->n + 1) * sizeof *buffer);

	buffer[0] = m->n;
	memcpy(buffer + 1, m->far, (size_t)m->n * sizeof *buffer);
	free(m->far);
	CkFreeMsg(m);
	return buffer;
}

Parcel *Parcel_unpack(void *buffer)
{
	const int *from = buffer;
	Parcel *m = CkAllocBuffer(buffer, sizeof *m);

	m->n = from[0];
	m->far = malloc((size_t)m->n * sizeof *m->far);
	CHECK(m->far);
	memcpy(m->far, from + 1, (size_t)m->n * sizeof *m->far);
	CkFreeMsg(buffer);
	return m;
}

/* Two calls make a round, and all have one number: N calls are N / 2 rounds, one after the other.
 */
static void send_parcels(int me)
{
	for (int to = 0; to < N; to++) {
		Parcel *m = Parcel_alloc(0);

		m->n = me + 1;
		m->far = calloc((size_t)m->n, sizeof *m->far);
		CHECK(m->far);
		m->far[me] = me;
		Sum_parcel(Sum_at(sums, to), m);
	}
}

void Sum_on_parcel(Sum *self, int number, int n, Parcel **m)
{
	CHECK(n == 2 && number == 0);
	for (int i = 0; i < n; i++) {
		CHECK_EQ(m[i]->far[m[i]->n - 1], m[i]->n - 1);
		free(m[i]->far);
	}
	ran(self, self->done, N / 2, PARCELS);
}

/* ---- no parameters; callbacks
 * --------------------------------------------------------------------------- */

static void send_nothing(int me)
{
	for (int round = ROUNDS; round-- > 0;)
		for (int to = 0; to < N; to++) {
			CkCallback cb = Sum_cb_nothing(Sum_at(sums, to));
			const CkEntryOptions o = { .refnum = round };

			CkCallbackSetRefNum(&cb, round);
			if (me % 2)
				CkCallbackSend(cb, NULL, 0);
			else
				Sum_nothing_opt(&o, Sum_at(sums, to));
		}
}

static void send_to_all(void) { Sum_nothing_all(sums); }

static void send_to_section(void)
{
	CkIndex list[N];

	for (int i = 0; i < N; i++)
		list[i] = Sum_index(i);
	Sum_nothing_section(Sum_ckSection(sums, list, N));
}

void Sum_on_nothing(Sum *self, int number, int n)
{
	CHECK_EQ(n, N);
	ran(self, number, self->stage == NOTHING ? ROUNDS : 1, self->stage);
}

static void send_results(int me)
{
	for (int to = 0; to < N && me < 3; to++) {
		CkCallback cb = Sum_cb_result(Sum_at(sums, to));

		CkCallbackSetRefNum(&cb, 3);
		CkCallbackSend(cb, &me, sizeof me);
	}
}

void Sum_on_result(Sum *self, int number, int n, CkDataMsg **m)
{
	int sum = 0;

	(void)self;
	CHECK(n == 3 && number == 3);
	for (int i = 0; i < n; i++)
		sum += 1 << *(const int *)CkDataMsg_getData(m[i]);
	CHECK_EQ(sum, 7);
	finish(RESULTS);
}

/* ---- the caller's memory
 * ---------------------------------------------------------------------------------- */

static void send_lent(Sum *self, int me)
{
	for (int round = ROUNDS; round-- > 0;) {
		self->lent[round][0] = me;
		self->lent[round][1] = round;
		for (int to = 0; to < N; to++)
			Sum_far(Sum_at(sums, to), round, 3,
				CkSendBufferCb(self->lent[round], Main_cb_lent(mainProxy)));
	}
}

void Sum_on_far(Sum *self, int number, int n, const Sum_far_call *calls)
{
	int from[N];

	for (int i = 0; i < n; i++) {
		from[i] = (int)calls[i].v[0];
		CHECK(calls[i].n == 3 && calls[i].v[1] == number);
	}
	check_senders(from, n);
	ran(self, number, ROUNDS, LENT);
}

/* Calls that repeat, and are put from the third on. */
static void send_again(int me, int round)
{
	const double v[2] = { me, round };

	for (int to = 0; to < N; to++)
		Sum_again(Sum_at(sums, to), round, 2, v);
}

void Sum_on_again(Sum *self, int number, int n, const Sum_again_call *calls)
{
	int from[N];

	for (int i = 0; i < n; i++) {
		from[i] = (int)calls[i].v[0];
		CHECK(calls[i].n == 2 && calls[i].v[1] == number);
	}
	check_senders(from, n);
	if (number == 8 * ROUNDS)
		finish(AGAIN);
	else
		send_again(Sum_thisIndex(self), number + 1);
}

/* ---- other attributes, other chares
 * --------------------------------------------------------------------------- */

/* A round of one, and a round's handler that makes a condition true. */
void Sum_on_all(Sum *self, int number, int n, const Sum_all_call *calls)
{
	CHECK(number == 0 && n == 1 && calls[0].from == 0);
	Sum_waits(Sum_thisElement(self), self->n_changes);
	Sum_changes(Sum_thisElement(self));
	Sum_changes(Sum_thisElement(self));
}

void Sum_on_changes(Sum *self, int number, int n)
{
	CHECK(number == 0 && n == 2);
	self->n_changes++;
}

void Sum_on_waits(Sum *self, int n)
{
	CHECK_EQ(self->n_changes, n + 1);
	finish(CHANGES);
}

/* N elements expect to finish: PE 0's branch does for all but one. */
void Branch_on_new(Branch *self) { self->done = 0; }
void Branch_on_part(Branch *self, int number, int n, const Branch_part_call *calls)
{
	CHECK_EQ(n, CkNumPes());
	for (int i = 0; i < n; i++)
		CHECK(calls[i].from >= 0 && calls[i].from < n);
	for (int to = 0; number == 0 && to < n; to++)
		Branch_part(Branch_at(branches, to), 1, CkMyPe());
	if (number == 1)
		One_part(one, 0, CkMyPe());
	self->done++;
}

void One_on_new(One *self) { self->done = 0; }
void One_on_part(One *self, int number, int n, const One_part_call *calls)
{
	CHECK(number == 0 && n == CkNumPes() && calls[0].from >= 0);
	self->done++;
	for (int i = 0; i < N; i++)
		finish(GROUPS);
}

/* Calls that wait where an element ends: their callers get their memory back. */
static void send_dying(Sum *self, int me)
{
	if (me > 0)
		return;
	for (int i = 0; i < PLANES; i++) {
		Dying_never(Dying_at(dying, i, 0), 2,
			    CkSendBufferCb(self->lent[0], Main_cb_lent(mainProxy)));
		Dying_never(Dying_at(dying, i, 0), 2,
			    CkSendBufferCb(self->lent[1], Main_cb_lent(mainProxy)));
		Dying_die(Dying_at(dying, i, 0));
	}
}

void Dying_on_new(Dying *self) { self->lent[0] = 1; }
void Dying_on_die(Dying *self) { CkDestroy(self); }
void Dying_on_never(Dying *self, int number, int n, const Dying_never_call *calls)
{
	CkAbort("two calls are not three: %d %d %p %p", number, n, (void *)self,
		(const void *)calls);
}

/* ---- from stage to stage
 * ------------------------------------------------------------------------------------- */

void Sum_on_new(Sum *self) { self->n = N; }

void Sum_on_start(Sum *self, int stage)
{
	const int me = Sum_thisIndex(self);

	self->stage = stage;
	switch (stage) {
	case PARTS:
		send_parts(me);
		break;
	case TEXTS:
		send_texts(me);
		break;
	case SOME:
		send_some(me);
		break;
	case LETTERS:
		send_letters(me);
		break;
	case PARCELS:
		send_parcels(me);
		break;
	case NOTHING:
		send_nothing(me);
		break;
	case RESULTS:
		send_results(me);
		break;
	case ROWS:
		send_rows(me);
		break;
	case LENT:
		send_lent(self, me);
		break;
	case AGAIN:
		send_again(me, 0);
		break;
	case TO_ALL:
		send_to_all();
		break;
	case TO_SECTION:
		send_to_section();
		break;
	case ENDS:
		send_dying(self, me);
		break;
	default:
		break;
	}
}

void Main_on_finished(Main *self, int number, int n)
{
	CHECK(n == N && number == self->stage);
	Main_next(mainProxy);
}

/* All memory that was lent is back, so all handlers have run. */
void Main_on_lent(Main *self, int number, int n)
{
	CHECK(number == 0 && n == (self->stage == LENT ? N * N * ROUNDS : 2 * PLANES));
	Main_next(mainProxy);
}

void Main_on_next(Main *self)
{
	if (++self->stage == STAGES) {
		CkPrintf("%d stages\n", STAGES);
		CkExit(0);
		return;
	}
	self->n_expected = self->stage == LENT   ? N * N * ROUNDS
			   : self->stage == ENDS ? 2 * PLANES
						 : N;
	Sum_start_all(sums, self->stage);
	if (self->stage == CHANGES)
		Sum_all_all(sums, 0);
	if (self->stage == GROUPS)
		for (int pe = 0; pe < CkNumPes(); pe++)
			for (int from = 0; from < CkNumPes(); from++)
				Branch_part(Branch_at(branches, pe), 0, from);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	sums = Sum_ckNew(CkDims(N));
	dying = Dying_ckNew(CkDims2(PLANES, 1));
	branches = Branch_ckNew();
	one = One_ckNew(CkNumPes() - 1);
	self->stage = -1;
	Main_next(mainProxy);
}

#include "counted.def.h"
