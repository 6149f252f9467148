/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega_sync: a thread of a chare sends questions, one after the other, to chares that have reported
 * to it, to elements of an array and to members of a group. Each answer is a message with the value
 * that the one who was asked was made with.
 */
#include "mega.h"

#include "mega_sync.decl.h"

enum { CHILDREN = 10, OF_CELLS = 23, OF_MEMBERS = 1000 };

struct Main { struct mega runs; };
struct Tester { CProxy_Child children[CHILDREN]; CProxy_Cell cells; int n; };
struct Child { int value; };
struct Cell { int value; };
struct Tally { int questions; };

/* ---- those who are asked --------------------------------------------------------------------- */

static Answer *answer(Question *q, int value)
{
	Answer *a = Answer_alloc();

	if (strcmp(q->text, "How much is") != 0)
		CkAbort("mega_sync: a question was corrupted: \"%.12s\"", q->text);
	a->value = value;
	a->no = q->no;
	CkFreeMsg(q);
	Tally_ckLocalBranch(tallies)->questions++;
	return a;
}

void Child_on_new(Child *self, Init *i)
{
	Reply *r = Reply_alloc();

	self->value = i->value;
	r->child = Child_thisProxy(self);
	Tester_reply(i->tester, r);
	CkFreeMsg(i);
}

void Cell_on_new(Cell *self, Init *i)
{
	self->value = i->value;
	CkFreeMsg(i);
}

void Tally_on_new(Tally *self) { (void)self; }

Answer *Child_on_test(Child *self, Question *q) { return answer(q, self->value); }
Answer *Cell_on_test(Cell *self, Question *q) { return answer(q, self->value); }

Answer *Tally_on_test(Tally *self, Question *q)
{
	(void)self;
	return answer(q, OF_MEMBERS + CkMyPe());
}

void Tally_on_report(Tally *self)
{
	CkContribute(self, &self->questions, 1, CkReduction_sum_int, Main_cb_counted(mainProxy));
}

/* ---- who asks -------------------------------------------------------------------------------- */

static Init *init(Tester *self, int value)
{
	Init *i = Init_alloc();

	i->value = value;
	i->tester = Tester_thisProxy(self);
	return i;
}

void Tester_on_new(Tester *self)
{
	for (int i = 0; i < CHILDREN; i++)
		Child_ckNew(i % 2 ? CK_PE_ANY : i % CkNumPes(), init(self, i + 1));
	self->cells = Cell_ckNew(CkDims(CHILDREN), init(self, OF_CELLS));
}

void Tester_on_reply(Tester *self, Reply *r)
{
	CHECK(self->n < CHILDREN);
	self->children[self->n++] = r->child;
	CkFreeMsg(r);
	if (self->n == CHILDREN)
		Tester_doTest(Tester_thisProxy(self));
}

static Question *question(int no)
{
	Question *q = Question_alloc();

	strcpy(q->text, "How much is");
	q->no = no;
	return q;
}

/* The value of an answer to question `no`, which ends with it. */
static int value_of(Answer *a, int no)
{
	int value = a->value;

	CHECK_EQ(a->no, no);
	CkFreeMsg(a);
	return value;
}

void Tester_on_doTest(Tester *self)
{
	int sum = 0, squares = 0;

	for (int i = 0; i < CHILDREN; i++) {
		int v = value_of(Child_test_sync(self->children[i], question(i)), i);

		sum += v;
		squares += v * v;
	}
	CHECK_EQ(sum, CHILDREN * (CHILDREN + 1) / 2);
	CHECK_EQ(squares, CHILDREN * (CHILDREN + 1) * (2 * CHILDREN + 1) / 6);
	for (int i = 0; i < CHILDREN; i++)
		CHECK_EQ(value_of(Cell_test_sync(Cell_at(self->cells, i), question(i)), i), OF_CELLS);
	for (int pe = 0; pe < CkNumPes(); pe++)
		CHECK_EQ(value_of(Tally_test_sync(Tally_at(tallies, pe), question(pe)), pe), OF_MEMBERS + pe);
	Main_finish(mainProxy, sum);
	CkDestroy(self);
}

static void begin(int no)
{
	Tester_ckNew((CkNumPes() - 1 + no) % CkNumPes());
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	tallies = Tally_ckNew();
	mainProxy = Main_thisProxy(self);
	mega_start(&self->runs, begin);
}

void Main_on_finish(Main *self, int sum)
{
	CHECK_EQ(sum, CHILDREN * (CHILDREN + 1) / 2);
	if (mega_ended(&self->runs, begin))
		Tally_report_all(tallies);
}

void Main_on_counted(Main *self, int questions)
{
	(void)self;
	CHECK_EQ(questions, MEGA_RUNS * (2 * CHILDREN + CkNumPes()));
	CkPrintf("mega_sync: %d questions answered\n", questions);
	CkExit(0);
}

#include "mega_sync.def.h"
