/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: puts the layers together, the one place that knows them all: for a program of its own
 * (CkMain), and for one that has Chard inside (ckembed.h).
 */
#include "chare/chare_layer.h"
#include "chare/ckembed.h"
#include "chare/ckgen.h"
#include "device/device_layer.h"
#include "direct/direct_layer.h"
#include "rooms.gen.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#define ADDRESS(layer) &layer,
static const struct csd_layer *const layers[] = { LAYER(ADDRESS) };

enum state {
	NO_RUN,
	STARTING,   /* in CkInit */
	OUTSIDE,    /* the host program has its thread */
	INSIDE,     /* in CkProgress, CkRunUntil or CkFinalize */
};

/* The one run of this process. Written by the host's thread; other threads, which may not call
 * anything here, look at `state` only to be told so. Relaxed: the threads of the run begin after
 * the store, and what else they may see is as wrong as the call. */
static struct {
	_Atomic enum state state;
	struct node *node;
	struct csd_config cfg;
	struct cmi_host_boot boot;
	char *argv[2];
} run;

static void set_state(enum state state)
{
	atomic_store_explicit(&run.state, state, memory_order_relaxed);
}

static enum state state_now(void)
{
	return atomic_load_explicit(&run.state, memory_order_relaxed);
}

/* End the job because of a call; on any thread. */
__attribute__((format(printf, 2, 3), cold)) static _Noreturn void misuse(const char *call,
									 const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	csd_abort(csd_self_early(), "%s %s", call, why);
}

/* Whether this is the thread that called CkInit: it is the first PE of the process. */
static bool on_host_thread(void)
{
	return csd_self_early() && csd_self_early()->local == 0;
}

static void check_call(const char *call)
{
	const enum state state = state_now();

	if (state == NO_RUN && csd_self_early())
		misuse(call,
		       "in a program that CkMain runs: its handlers run by themselves; return from this one");
	if (state == NO_RUN)
		misuse(call, "without a run: call CkInit first, and again after each CkFinalize");
	if (!csd_self_early())
		misuse(call, "on another thread than CkInit: the thread that called CkInit must make this call");
	if (state != OUTSIDE || !on_host_thread())
		misuse(call,
		       "in a handler: return from it instead; CkExit ends the run, and then CkFinalize returns");
}

static void check_init(void)
{
	if (state_now() == NO_RUN && csd_self_early())
		misuse("CkInit", "in a program that CkMain runs: use one of them");
	if (state_now() != NO_RUN)
		misuse("CkInit", "twice: a process has one run at a time; call CkFinalize first");
}

int CkMain(int argc, char **argv, const CkGenModule *mainmodule)
{
	struct csd_config cfg = {
		.argc = argc,
		.argv = argv,
		.layers = layers,
		.n_layers = sizeof layers / sizeof layers[0],
		.program = mainmodule,
	};

	if (state_now() != NO_RUN || csd_self_early())
		misuse("CkMain", "in a run that goes on already: a process has one run at a time");
	return csd_run(&cfg);
}

/* ---- inside another program ------------------------------------------------------------------ */

/* What the main chares get if the program has no arguments for them. */
static void set_arguments(struct csd_config *cfg, const int *argc, char ***argv)
{
	static char name[] = "chard";

	if (argc && argv && *argv) {
		cfg->argc = *argc;
		cfg->argv = *argv;
		return;
	}
	run.argv[0] = name;
	run.argv[1] = NULL;
	cfg->argc = 1;
	cfg->argv = run.argv;
}

static void set_boot(struct csd_config *cfg, const CkBoot *boot)
{
	if (!boot)
		return;
	cfg->signals = boot->signals;
	cfg->pes = boot->pes;
	if (!boot->allgather)
		return;
	run.boot = (struct cmi_host_boot){ boot->rank, boot->size, boot->allgather, boot->abort,
					   boot->arg };
	cfg->boot = &run.boot;
}

int CkInit(int *argc, char ***argv, const struct CkGenModule *module, const CkBoot *boot)
{
	int code;

	check_init();
	set_state(STARTING);
	run.cfg = (struct csd_config){
		.layers = layers,
		.n_layers = sizeof layers / sizeof layers[0],
		.program = module,
		.guest = true,
	};
	set_arguments(&run.cfg, argc, argv);
	set_boot(&run.cfg, boot);
	code = csd_start(&run.cfg, &run.node);
	if (argc && argv && *argv)
		*argc = run.cfg.argc;
	set_state(code ? NO_RUN : OUTSIDE);
	return code;
}

int CkProgress(int n)
{
	int found;

	check_call("CkProgress");
	set_state(INSIDE);
	found = csd_step(run.node, n);
	set_state(OUTSIDE);
	return found;
}

bool CkRunUntil(const volatile int *flag)
{
	bool set;

	check_call("CkRunUntil");
	set_state(INSIDE);
	set = csd_until(run.node, flag);
	set_state(OUTSIDE);
	return set;
}

int CkFinalize(void)
{
	int code;

	check_call("CkFinalize");
	set_state(INSIDE);
	code = csd_stop(run.node);
	run.node = NULL;
	set_state(NO_RUN);
	return code;
}
