/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.c: end a job that cannot go on, on request (cmi_abort) or after a fault that the kernel
 * reports by signal. One line says who and why, a back-trace says where; then the launcher is told
 * and the process exits. What a forked child does is no matter of the job (process.c).
 *
 * A signal handler takes no argument of ours. What it needs to know of the job is in process.c.
 */
#define UNW_LOCAL_ONLY
#include "fault.h"

#include <dlfcn.h>
#include <libunwind.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <ucs/debug/debug.h>
#include <unistd.h>

#include "boot.h"
#include "cmi_alloc.h"
#include "machine_int.h"
#include "process.h"

enum {
	DEPTH_MAX = 48,          /* frames of a back-trace */
	STACK_BYTES = 128 << 10, /* of a handler; libunwind alone takes some 10 KB */
};

static const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { N_SIGNALS = sizeof SIGNALS / sizeof *SIGNALS };

/** Write text, and the end of its line where it lacks one, by one call of the system: the children that the handlers
 * of several PEs fork say their lines at the same time. */
static void write_stderr(const char *text)
{
	size_t len = strlen(text);
	bool ended = len > 0 && text[len - 1] == '\n';
	struct iovec part[2] = {{(char *)text, len}, {"\n", !ended}};

	while (part[0].iov_len + part[1].iov_len > 0) {
		ssize_t n = writev(STDERR_FILENO, part, 2);

		if (n <= 0)
			return;
		for (int i = 0; i < 2; i++) {
			size_t done = (size_t)n < part[i].iov_len ? (size_t)n : part[i].iov_len;

			part[i].iov_base = (char *)part[i].iov_base + done;
			part[i].iov_len -= done;
			n -= (ssize_t)done;
		}
	}
}

/** Print one line per frame, the innermost first. A signal handler may call it: in glibc, snprintf of
 * numbers and strings takes no lock and no memory. */
static void backtrace_print(unw_context_t *context, int flags)
{
	unw_cursor_t cursor;
	char name[128], line[192];

	if (unw_init_local2(&cursor, context, flags))
		return;
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		unw_word_t ip = 0, offset = 0;

		unw_get_reg(&cursor, UNW_REG_IP, &ip);
		if (unw_get_proc_name(&cursor, name, sizeof name, &offset))
			snprintf(line, sizeof line, "chard:   #%d %#lx\n", depth,
				 (unsigned long)ip);
		else
			snprintf(line, sizeof line, "chard:   #%d %s+%#lx\n", depth, name,
				 (unsigned long)offset);
		write_stderr(line);
		if (unw_step(&cursor) <= 0)
			return;
	}
}

static _Noreturn void end_job(struct cmi *m, int code)
{
	if (m && m->boot && !cmi_in_child())
		boot_abort(m->boot, code);
	_exit(code);
}

void fault_end_here(struct cmi *m, int code)
{
	if (m && m->o.boot)
		_exit(code);
	end_job(m, code);
}

/** Returns on one of all the threads that fail at the same time; the others wait here for its _exit. If
 * reporting itself fails (on a smashed stack, say), the job just ends. */
static void be_the_one(struct cmi *m, int code)
{
	int me = gettid(), ender = 0;

	if (!m || atomic_compare_exchange_strong_explicit(&m->ender, &ender, me,
							  memory_order_relaxed,
							  memory_order_relaxed))
		return;
	if (ender == me)
		end_job(m, code);
	for (;;)
		pause();
}

void fault_end_quietly(struct cmi *m, int code)
{
	be_the_one(m, code);
	end_job(m, code);
}

bool fault_ends_job(const struct cmi *m)
{
	return atomic_load_explicit(&m->ender, memory_order_relaxed) == gettid();
}

void fault_say(struct cmi *m, int code, bool backtrace, const char *line)
{
	unw_context_t context;

	be_the_one(m, code);
	write_stderr(line);
	if (backtrace && unw_getcontext(&context) == 0)
		backtrace_print(&context, 0);
}

void cmi_abort(struct cmi *m, int code, bool backtrace, const char *why)
{
	fault_say(m, code, backtrace, why);
	end_job(m, code);
}

_Noreturn void machine_die(struct cmi *m, const char *format, ...)
{
	char line[512] = "chard: ";
	size_t used = strlen(line);
	va_list ap;

	va_start(ap, format);
	vsnprintf(line + used, sizeof line - used, format, ap);
	va_end(ap);
	cmi_abort(m, 1, false, line);
}

/* For programs, who want to know what to do. snprintf of numbers and strings takes no memory. */
void cmi_no_memory(size_t bytes, const char *what)
{
	char who[160] = "", line[512];

	process_whoami(who, sizeof who);
	snprintf(line, sizeof line, "chard: %s%sno memory for %s (%zu bytes); raise what limits it (ulimit -v, the "
		 "container's memory), or start fewer nodes on a host", who, who[0] ? ": " : "", what, bytes);
	cmi_abort(process_job(), 1, false, line);
}

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

/* Where the thread was. 0: not known on such processors. */
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

/* As if no handler were there: SA_RESETHAND has taken ours away, and the signal is let through when this returns. */
static void fault_of_child(int sig, const siginfo_t *info)
{
	char line[320];

	if (info->si_code > 0 && process_shares(info->si_addr)) {
		snprintf(line, sizeof line, "chard: process %d, a child of fork, wrote to the job's memory, or the handler that "
			 "called fork has returned; a child must end with _exit or exec\n", (int)getpid());
		write_stderr(line);
	}
	raise(sig);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	char who[160], why[256] = "", line[480];

	if (cmi_in_child()) {
		fault_of_child(sig, info);
		return;
	}
	be_the_one(process_job(), 128 + sig);
	process_whoami(who, sizeof who);
	if (info->si_code > 0 && (sig == SIGSEGV || sig == SIGBUS))
		process_explain(info->si_addr, stack_pointer(context), why, sizeof why);
	if (why[0])
		snprintf(line, sizeof line, "chard: %s: %s\n", who, why);
	else if (info->si_code <= 0) /* sent by kill, raise or abort: no address */
		snprintf(line, sizeof line, "chard: %s: %s (signal %d from process %d)\n", who,
			 signal_text(sig), sig, (int)info->si_pid);
	else
		snprintf(line, sizeof line, "chard: %s: %s at address %p\n", who,
			 signal_text(sig), info->si_addr);
	write_stderr(line);
	backtrace_print(context, UNW_INIT_SIGNAL_FRAME);
	fault_end_here(process_job(), 128 + sig);
}

void cmi_signal_trace(const char *line, void *context)
{
	write_stderr(line);
	backtrace_print(context, UNW_INIT_SIGNAL_FRAME);
}

void cmi_signal_abort(struct cmi *m, int code, const char *line, void *context)
{
	be_the_one(m, code);
	cmi_signal_trace(line, context);
	fault_end_here(m, code);
}

/** Whether a handler is one of those that UCX installs when it is loaded. */
static bool belongs_to_ucx(const struct sigaction *a)
{
	Dl_info handler, ucx;

	return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN &&
	       dladdr((void *)a->sa_handler, &handler) &&
	       dladdr((void *)ucs_debug_disable_signal, &ucx) &&
	       handler.dli_fbase == ucx.dli_fbase;
}

/** If UCX handles this signal, let it do again what it did before. UCX has its own sigaction, which leaves
 * its handlers where they are, so only UCX can take them away. */
static void take_from_ucx(int sig)
{
	struct sigaction now;

	if (sigaction(sig, NULL, &now) == 0 && belongs_to_ucx(&now))
		ucs_debug_disable_signal(sig);
}

/* UCX takes SIGHUP when it is loaded (UCX_DEBUG_SIGNO), and what UCX_ERROR_SIGNALS names. */
void fault_let_signals_end_us(void)
{
	static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		take_from_ucx(ends[i]);
}

/* What the host program of a guest had, which is nothing: we take no signal that has a handler. */
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
	/* A test with one thread for all may close it elsewhere than it was opened. Then it may still
	 * be in use, and stays. */
	if (sigaltstack(NULL, &now) || now.ss_sp != stack)
		return;
	sigaltstack(&none, NULL);
	munmap(stack, STACK_BYTES);
}
