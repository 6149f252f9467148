/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c: events that end or duplicate the process without a call of the runtime.
 *
 * exit          The process ends before the job does, with a code that may be 0, which some
 *               launchers accept. So the job is ended here, before objects are destroyed that other
 *               PEs still use. _exit runs nothing of ours: only a launcher can see it.
 * pthread_exit  A PE without its thread never answers.
 * fork          The child has one thread and a copy of everything except what is shared: messages
 *               and channels of the nodes of this host, which it may read, and the launcher's
 *               connection, which it does not get.
 *
 * Registrations with libc cannot be undone, so there is one per process. The functions check
 * whether there is a job.
 */
#include "process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../boot/boot.h"
#include "../base/cmi_note.h"
#include "../base/die.h"
#include "fault.h"
#include "../base/job.h"
#include "machine_int.h"
#include "../shm/share.h"

/* Of the process, not of a job: what is registered with libc, and its consequences. */
static struct {
	bool left;               /* in a child: it has left the job */
	int code;                /* exit code, of the one thread that ends the job */
	bool told;
	bool has_key;
	pthread_key_t pe;        /* on a PE's thread: its wire */
} process;

bool process_shares(const void *at)
{
	return job_of_parent() && share_holds(job_of_parent()->share, at);
}

/* ---- exit ------------------------------------------------------------------------------ */

static void end_late(int sig)
{
	(void)sig;
	_exit(process.code);
}

/* As exit would do next. But another thread may hold a stream's lock for ever, if it reads from a
 * terminal, say. */
static void flush_streams(int code)
{
	enum { MOST_S = 2 };
	sigset_t alarms;

	process.code = code;
	signal(SIGALRM, end_late);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(MOST_S);
	fflush(NULL);
}

static const char *instead(const struct cmi *m)
{
	return m->o.guest ? "CkFinalize must come before it" :
			    "call CkExit instead, which ends all PEs, and return";
}

static void on_exit_called(int status, void *unused)
{
	struct cmi *m = job_here();
	const int kept = status & 0xff, code = kept ? kept : 1; /* as much as a parent sees */
	char who[256], line[400];

	(void)unused;
	if (!m || die_is_ours(m)) /* the abort of a host program may call exit */
		return;
	job_whoami(who, sizeof who);
	snprintf(line, sizeof line, "chard: %s: exit(%d) before the job's end; %s", who, status,
		 instead(m));
	die_say(m, code, true, line);
	cmi_note_end(CMI_NOTE_ABORT, code, NULL);
	flush_streams(code);
	die_here(m, code);
}

/* quick_exit does not pass its code. */
static void on_quick_exit(void)
{
	struct cmi *m = job_here();
	char who[256], line[400];

	if (!m || die_is_ours(m))
		return;
	job_whoami(who, sizeof who);
	snprintf(line, sizeof line, "chard: %s: quick_exit before the job's end; %s", who, instead(m));
	die_say(m, 1, true, line);
	cmi_note_end(CMI_NOTE_ABORT, 1, NULL);
	die_here(m, 1);
}

/* exit calls our function even if its object, perhaps a plug-in, has been unloaded. So keep that
 * loaded. */
static void stay_loaded(void)
{
	Dl_info here;

	if (dladdr((void *)on_exit_called, &here) && here.dli_fname)
		(void)dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* ---- threads --------------------------------------------------------------------------- */

static void on_thread_end(void *wire)
{
	struct cmi *m = ((struct cmi_pe *)wire)->m;
	char who[256], line[400];

	if (job_here() != m)
		return;
	job_whoami(who, sizeof who);
	snprintf(line, sizeof line,
		 "chard: %s: the PE's thread has ended (pthread_exit, or it was cancelled); %s",
		 who, instead(m));
	cmi_abort(m, 1, false, line);
}

void cmi_pe_watch(struct cmi_pe *w)
{
	if (process.has_key && job_here() == w->m)
		pthread_setspecific(process.pe, w);
}

void process_pe_leaves(void)
{
	if (process.has_key)
		pthread_setspecific(process.pe, NULL);
}

/* ---- fork ------------------------------------------------------------------------------ */

static void in_child(void)
{
	struct cmi *m = job_of_parent();

	if (!m || process.left) /* a child of a child: that descriptor's number may be in use for something
				 * else */
		return;
	process.left = true;
	share_forked(m->share);
	if (m->boot)
		boot_forked(m->boot);
	job_forked();
}

/* ---- begin and end --------------------------------------------------------------------- */

static void tell_libc(void)
{
	if (process.told)
		return;
	process.told = true;
	stay_loaded();
	process.has_key = pthread_key_create(&process.pe, on_thread_end) == 0;
	on_exit(on_exit_called, NULL);
	at_quick_exit(on_quick_exit);
	pthread_atfork(NULL, NULL, in_child);
}

void cmi_watch(struct cmi *m, const struct cmi_watcher *by, bool signals)
{
	process.left = false;
	job_begin(m, by, signals);
	tell_libc();
	if (signals)
		fault_catch();
}

void process_forget(const struct cmi *m)
{
	if (m->o.guest)
		fault_give_back();
	job_end(m);
}
