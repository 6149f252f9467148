/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host: a C++ program with a main() of its own and chares in C++. A vector goes round a ring of cells, through
 * channels (ckdirect.h); each cell adds to it. Then the first process gets it in a message below the chares (csd.h).
 *
 *	./host [+p PEs]
 */
#define CK_NO_MAIN
#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "ck.h"
#include "ckdirect.h"
#include "ckembed.h"
#include "csd.h"
#include "ring.decl.h"

namespace {

constexpr int length = 1000;
constexpr uint64_t no_value = UINT64_C(0x7ff8c0dec0dec0de); // a NaN, which the last number never is

/* A run, from CkInit to the end of the block. */
class Run {
public:
	Run(int &argc, char **&argv, const CkBoot &boot)
	{
		if (CkInit(&argc, &argv, &ck_module_ring, &boot))
			throw std::runtime_error("Chard does not start");
	}
	~Run() { CkFinalize(); }
	Run(const Run &) = delete;
	Run &operator=(const Run &) = delete;
};

int done;
std::vector<double> answer;

struct result_msg {
	cmi_msg head;
	double values[length];
};
int h_result;

void result_arrived(struct pe *, cmi_msg *m)
{
	const auto *r = reinterpret_cast<result_msg *>(m);

	answer.assign(r->values, r->values + length);
	done = 1;
	CmiFree(m);
}

} // namespace

void register_handlers()
{
	h_result = CmiRegisterHandler("ring.result", result_arrived);
}

/* ---- chares ------------------------------------------------------------------------------------------ */

struct Main { int unused; };

/* The runtime makes the memory zero, and frees it without a destructor: only plain data here. */
struct Cell {
	std::array<double, length> seen; // the neighbour before us writes it
	std::array<double, length> mine; // and we put this to the next one
	CkDirectHandle from, to;
};

void Main_on_new(Main *self, CkArgMsg *)
{
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(2 * CkNumPes()));
}

void Main_on_Bound(Main *)
{
	Cell_Start(Cell_at(cells, 0));
}

static void pass_on(Cell *self)
{
	for (double &x : self->mine)
		x += 1;
	CkDirect_put(&self->to);
}

/* The vector is here: the first cell has it back, another one passes it on. */
static void arrived(void *arg)
{
	auto *self = static_cast<Cell *>(arg);

	if (Cell_thisIndex(self) != 0) {
		self->mine = self->seen;
		pass_on(self);
		return;
	}
	auto *r = static_cast<result_msg *>(CmiAlloc(sizeof(result_msg)));

	std::copy(self->seen.begin(), self->seen.end(), r->values);
	CmiSetHandler(r, h_result);
	CmiSyncSendAndFree(0, sizeof *r, r);
}

void Cell_on_new(Cell *self)
{
	const int n = 2 * CkNumPes(), before = (Cell_thisIndex(self) + n - 1) % n;

	self->from = CkDirect_createHandle(self->seen.data(), sizeof self->seen, no_value, arrived, self);
	Cell_Bind(Cell_at(cells, before), self->from);
}

void Cell_on_Bind(Cell *self, CkDirectHandle h)
{
	self->to = h;
	CkDirect_assocLocalBuffer(&self->to, self->mine.data(), sizeof self->mine);
	CkContributeBarrier(self, Main_cb_Bound(mainProxy));
}

void Cell_on_Start(Cell *self)
{
	std::iota(self->mine.begin(), self->mine.end(), 0.0);
	pass_on(self);
}

#include "ring.def.h"

/* ---- the host program ------------------------------------------------------------------------------- */

/* The vector after one way round. Throws if the run ends before it is back. */
static std::vector<double> round_trip(int &argc, char **&argv, CkBoot &boot)
{
	Run run(argc, argv, boot);

	done = 0;
	boot.pes = CkMyNodeSize(); // the first run takes +p out of argv
	if (!CkRunUntil(&done))
		throw std::runtime_error("the run has ended too early");
	std::vector<double> expected(length);
	std::iota(expected.begin(), expected.end(), 2.0 * CkNumPes()); // each cell has added 1
	return answer == expected ? answer : std::vector<double>();
}

int main(int argc, char **argv)
{
	CkBoot boot = {};

	for (int i = 0; i < 2; i++) {
		const auto v = round_trip(argc, argv, boot);

		if (v.empty()) {
			std::fprintf(stderr, "ring: a wrong answer\n");
			return 1;
		}
		std::printf("run %d: the last number is %g\n", i, v.back());
	}
	std::printf("ring: 2 runs: checked\n");
	return 0;
}
