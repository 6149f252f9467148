/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grain: how small tasks may be that read each other's outputs, by pattern and by the way in
 * which outputs travel.
 *
 *	ckrun -n 2 [--ppn 2] build/bench/grain/grain [--way w] [options: options.h]
 *
 * Points are elements of an array, dealt to the PEs in blocks. The ways, each in a file of its own:
 *
 *	message		a call for each reader; large outputs are arrays, which the reader keeps
 *	inline		the same by [inline] calls
 *	call		the same by calls of a [channel] entry
 *	section		a call for each output: its readers are a section
 *	channel		a channel for each reader (CkDirect)
 *	named		the same by named channels
 *	near		outputs of the same PE are read where they lie; channels to other PEs
 *	count		a call for each reader; the runtime counts them ([count] entries)
 *	body		a Structured Dagger body that waits for calls
 *	member		a group runs the points of each PE; its members exchange all outputs of a step
 *			by channels
 *	outputs		the same by calls that the runtime counts
 *
 * Prints `grain-PATTERN-WAY-nodes WIDTH us`, or -threads: METG(50 %), or the granularity
 * (sweep.h); and in the latter case grain-PATTERN-WAY-nodes-efficiency in percent.
 * bench/mpi/grain_mpi.c is the same by MPI, and bench/grain.py measures both.
 */
#include <stdlib.h>
#include <string.h>

#include "point.h"

static const struct way *const ways[] = {
	&way_message, &way_inline, &way_call, &way_channel, &way_named, &way_near, &way_count,
	&way_body, &way_section, &way_member, &way_outputs,
};
enum { N_WAYS = sizeof ways / sizeof *ways };

struct Main {
	const struct way *way;
	struct sweep sweep;
	double began_us;
};

static const struct way *find_way(const char *name)
{
	for (int w = 0; w < N_WAYS; w++)
		if (!strcmp(ways[w]->name, name))
			return ways[w];
	CkAbort("grain: no way is called '%s'", name);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const char *wrong;

	self->way = ways[0];
	options = options_default;
	for (int i = 1; i < m->argc; i++)
		if (!strcmp(m->argv[i], "--way") && i + 1 < m->argc)
			self->way = find_way(m->argv[++i]);
		else if (!options_read(&options, m->argc, m->argv, &i))
			CkAbort("grain: unknown option '%s'", m->argv[i]);
	wrong = options_finish(&options, CkNumPes());
	if (wrong)
		CkAbort("grain: %s", wrong);
	mainProxy = Main_thisProxy(self);
	sweep_begin(&self->sweep, &options, CkNumPes());
	self->way->create(options.graph.points * options.n_graphs);
}

void Main_on_ready(Main *self)
{
	self->began_us = bench_now_us();
	self->way->run(self->sweep.steps, self->sweep.iterations);
}

static void report(const Main *self)
{
	const char *pattern = graph_patterns[options.graph.pattern].name;
	const char *place = CkNumNodes() > 1 ? "nodes" : "threads";

	CkPrintf("grain-%s-%s-%s %d %.4f us\n", pattern, self->way->name, place, options.width,
		 self->sweep.result_us);
	if (!options.metg)
		CkPrintf("grain-%s-%s-%s-efficiency %d %.1f %%\n", pattern, self->way->name, place, options.width,
			 sweep_percent(&self->sweep));
}

void Main_on_ran(Main *self, int tasks)
{
	const double us = bench_now_us() - self->began_us;

	if (tasks != self->sweep.steps * options.graph.points * options.n_graphs)
		CkAbort("grain: %d tasks ran in %d steps", tasks, self->sweep.steps);
	if (sweep_ran(&self->sweep, us)) {
		Main_on_ready(self);
		return;
	}
	report(self);
	CkExit();
}

#include "grain.def.h"
