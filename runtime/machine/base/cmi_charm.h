/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_charm.h: options of Charm++'s programs and of its charmrun that Chard does not have, with
 * their replacements. ckrun refuses them among its own options. Among a program's arguments they
 * may be the program's, so the runtime only prints a line and passes them on. docs/CHARM.md has the
 * same table.
 */
#ifndef CMI_CHARM_H
#define CMI_CHARM_H

#include <stddef.h>
#include <string.h>

/** The end of the sentence "ARG is an option of Charm++: here ..."; NULL: it is none, or one that
 * works here, too. */
static inline const char *cmi_charm_option(const char *arg)
{
	static const struct { const char *word, *here; } table[] = {
		{ "+balancer", "CK_LB=NAME chooses the strategy" },
		{ "+LBPeriod", "CK_LB_PERIOD=N balances in every Nth sync" },
		{ "+LBOff", "CK_LB=off, the default, balances nothing" },
		{ "+LBDump", "CK_LB_DUMP=FILE writes what was measured" },
		{ "+setcpuaffinity", "PEs are bound to cores by default (ckrun --bind, CK_BIND)" },
		{ "+pemap", "--bind core or socket (CK_BIND) binds PEs, within the cores that taskset allows" },
		{ "+commap", "no PE is a communication thread" },
		{ "+excludecore", "taskset says which cores a job may have" },
		{ "+showcpuaffinity", "--verbose (CK_VERBOSE=1) shows where PEs are bound" },
		{ "+traceroot", "CK_TRACE=FOLDER records a trace there" },
		{ "+logsize", "CK_TRACE=FOLDER,MB says how much memory a trace has" },
		{ "+stacksize", "CK_STACK=KIB is the stack of a thread" },
		{ "+restart", "CK_RESTART=DIR starts the job from a checkpoint" },
		{ "++nodelist", "--hostfile FILE or --hosts A,B names the hosts" },
		{ "++mpiexec", "--launcher mpirun, hydra or srun starts nodes on other hosts" },
		{ "++n", "-n is the number of PEs, and --ppn how many of them a process has" },
		{ "++processPerHost", "--hosts A:N,B:N says how many slots for PEs a host has" },
		{ "++timeout", "CK_BOOT_TIMEOUT=S is how long nodes wait for each other at the start" },
		{ "++timelimit", "--timeout S ends the job after S seconds" },
		{ "++verbose", "it is --verbose" },
		{ "++quiet", "ckrun says nothing unless something is wrong" },
		{ "++debug", "gdb attaches to a running process, and knows chares (chard-gdb.py)" },
		{ "++server", "there is no client-server interface" },
		{ "++help", "it is --help" },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(arg, table[i].word) == 0)
			return table[i].here;
	return NULL;
}

#endif
