/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.c: end a job after a fault that the kernel reports by signal. A signal handler gets no
 * argument from us; it takes what it needs to know of the job from job.c.
 */
#include "fault.h"

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "cmi.h"
#include "../base/cmi_note.h"
#include "../base/die.h"
#include "../base/job.h"
#include "process.h"

enum { STACK_BYTES = 128 << 10 }; /* of a handler; libunwind alone takes some 10 KB */

static const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { N_SIGNALS = sizeof SIGNALS / sizeof *SIGNALS };

/* ---- faults -------------------------------------------------------------------------- */

static const char *signal_text(int sig)
{
	switch (sig) {
	case SIGSEGV:
		return "Segmentation fault";
	case SIGBUS:
		return "Bus error";
	case SIGFPE:
		return "Arithmetic exception";
	case SIGILL:
		return "Illegal instruction";
	default:
		return "Aborted";
	}
}

/* The stack pointer of the interrupted code. 0: not known on this processor. */
static uintptr_t stack_pointer(const void *context)
{
	const ucontext_t *u = context;

#if defined(__x86_64__)
	return (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
	return u->uc_mcontext.sp;
#else
	(void)u;
	return 0;
#endif
}

/* As if there were no handler: SA_RESETHAND has removed ours, and the signal is delivered again
 * when this returns. */
static void fault_of_child(int sig, const siginfo_t *info)
{
	char line[320];

	if (info->si_code > 0 && process_shares(info->si_addr)) {
		snprintf(
			line, sizeof line,
			"chard: process %d, a child of fork, wrote to the job's memory, or the handler that "
			"called fork has returned; a child must end with _exit or exec\n",
			(int)getpid());
		die_write(line);
	}
	raise(sig);
}

/* libucs, libuct and libucp. */
static bool is_in_ucx(uintptr_t ip)
{
	Dl_info at;

	/* NOLINTNEXTLINE(performance-no-int-to-ptr): libunwind's numbers are addresses */
	return dladdr((const void *)ip, &at) && at.dli_fname && strstr(at.dli_fname, "/libuc");
}

/* Whether UCX called abort, or failed by itself, as it does when it receives what no UCX sends. */
static bool ucx_gave_up(int sig, void *context)
{
	enum { NEAR = 8 }; /* abort, raise and what they call are between */
	unw_cursor_t cursor;
	unw_word_t ip;

	if (unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME))
		return false;
	for (int depth = 0; depth < (sig == SIGABRT ? NEAR : 1); depth++) {
		if (unw_get_reg(&cursor, UNW_REG_IP, &ip) == 0 && is_in_ucx(ip))
			return true;
		if (unw_step(&cursor) <= 0)
			return false;
	}
	return false;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	char who[160], why[256] = "", line[480];

	if (cmi_in_child()) {
		fault_of_child(sig, info);
		return;
	}
	die_first(job_here(), 128 + sig);
	cmi_note_end(CMI_NOTE_FAULT, sig, NULL);
	job_whoami(who, sizeof who);
	if (info->si_code > 0 && (sig == SIGSEGV || sig == SIGBUS))
		job_explain(info->si_addr, stack_pointer(context), why, sizeof why);
	if (why[0])
		snprintf(line, sizeof line, "chard: %s: %s\n", who, why);
	else if (ucx_gave_up(sig, context))
		snprintf(line, sizeof line,
			 "chard: %s: UCX gave up (signal %d; it may have said more above): if no UCX setting "
			 "is wrong, the network changed what it carried, or the nodes have different "
			 "versions of UCX; see who can reach the network between the hosts\n",
			 who, sig);
	else if (info->si_code <= 0) /* sent by kill, raise or abort: no address */
		snprintf(line, sizeof line, "chard: %s: %s (signal %d from process %d)\n", who,
			 signal_text(sig), sig, (int)info->si_pid);
	else
		snprintf(line, sizeof line, "chard: %s: %s at address %p\n", who,
			 signal_text(sig), info->si_addr);
	die_trace(job_here(), line, context);
	die_here(job_here(), 128 + sig);
}

/** Whether it is one of the handlers that UCX installs when it is loaded; `of_ucx` is a function of
 * UCX's. */
static bool belongs_to_ucx(const struct sigaction *a, void *of_ucx)
{
	Dl_info handler, ucx;

	return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN &&
	       dladdr((void *)a->sa_handler, &handler) && dladdr(of_ucx, &ucx) &&
	       handler.dli_fbase == ucx.dli_fbase;
}

/** If UCX handles this signal, restore the previous action. UCX has its own sigaction, which keeps
 * its handlers installed, so only UCX can remove them. */
static void take_from_ucx(int sig)
{
	void *found = dlsym(RTLD_DEFAULT, "ucs_debug_disable_signal"); /* NULL: UCX is not loaded */
	struct sigaction now;
	void (*disable)(int);

	*(void **)&disable = found;
	if (found && sigaction(sig, NULL, &now) == 0 && belongs_to_ucx(&now, found))
		disable(sig);
}

/* UCX takes SIGHUP when it is loaded (UCX_DEBUG_SIGNO), and the signals of UCX_ERROR_SIGNALS. */
void fault_let_signals_end_us(void)
{
	static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		take_from_ucx(ends[i]);
}

void fault_ucx_has_come(void)
{
	fault_let_signals_end_us();
	for (int i = 0; i < N_SIGNALS; i++)
		take_from_ucx(SIGNALS[i]);
}

/* Restore a guest's default action: we take no signal that has a handler. */
void fault_give_back(void)
{
	struct sigaction now;

	for (int i = 0; i < N_SIGNALS; i++)
		if (sigaction(SIGNALS[i], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
		    now.sa_sigaction == on_fault)
			signal(SIGNALS[i], SIG_DFL);
}

void fault_catch(void)
{
	struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND}, now;

	ours.sa_sigaction = on_fault;
	sigemptyset(&ours.sa_mask);
	for (int i = 0; i < N_SIGNALS; i++) {
		take_from_ucx(SIGNALS[i]);
		if (sigaction(SIGNALS[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			sigaction(SIGNALS[i], &ours, NULL);
	}
}

void *fault_stack_open(void)
{
	stack_t now, ours = {.ss_size = STACK_BYTES};

	if (sigaltstack(NULL, &now) || !(now.ss_flags & SS_DISABLE))
		return NULL; /* a sanitizer's, or an earlier wire's on this thread */
	ours.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (ours.ss_sp == MAP_FAILED)
		return NULL;
	if (sigaltstack(&ours, NULL)) {
		munmap(ours.ss_sp, STACK_BYTES);
		return NULL;
	}
	return ours.ss_sp;
}

void fault_stack_close(void *stack)
{
	const stack_t none = {.ss_flags = SS_DISABLE};
	stack_t now;

	if (!stack)
		return;
	/* A test with one thread for everything may close it on another thread. Then it may still be in
	 * use, and is kept. */
	if (sigaltstack(NULL, &now) || now.ss_sp != stack)
		return;
	sigaltstack(&none, NULL);
	munmap(stack, STACK_BYTES);
}
