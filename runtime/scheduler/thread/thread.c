/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c: Cth threads. Boost.Context switches stacks (two functions in assembly for many
 * processors). This file manages the states of a thread, its message in the queue, its memory.
 *
 *   CthCreate       CthAwaken          dispatch           CthSuspend
 *   ---------> NEW -----------> QUEUED ---------> RUNNING -----------> SUSPENDED
 *                                  ^                 | fn ends             |
 *                                  |                 v                     |
 *                                  |               free list     CthAwaken |
 *                                  +---------------------------------------+
 *
 * An awakened thread is an ordinary message in the queue of its PE, so priorities, order,
 * quiescence and the randomised policy hold for threads without further code.
 */
#include "thread.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/base/cmi_env.h"
#include "cth.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

/* Boost.Context's C functions (boost/context/detail/fcontext.hpp, which is C++). A context is a
 * stack pointer: the state that a jump saves, and where the next jump there continues. */
struct transfer {
	void *from;
	void *data;
};
struct transfer jump_fcontext(void *to, void *data);
void *make_fcontext(void *stack_top, size_t bytes, void (*fn)(struct transfer));

enum thread_debt { OWES_NOTHING, OWES, OWES_STACK, SETTLES };
enum thread_state { THREAD_NEW, THREAD_QUEUED, THREAD_RUNNING, THREAD_SUSPENDED, THREAD_ENDED };

/** At the upper end of a thread's one mapping. The thread's private variables lie below it, and
 * below them its stack begins. */
struct csd_thread {
	void *context;               /* where it continues; while it runs: garbage */
	void *resumer;               /* while it runs: who gets the PE back */
	CthThread outer;             /* ... and which thread that is, or NULL */
	CthVoidFn fn;
	void *arg;
	struct pe *pe;
	uint64_t running[CSD_RUNNING_WORDS + 1]; /* while it runs: its resumer's; else its own; the last is
						  * counted.c's */
	CthThread next, *link;       /* live list, or free list (next only) */
	void *mapping;
	size_t bytes, guard;         /* of the mapping, and of its inaccessible lower end */
	uint8_t state;
	uint8_t size_class;
	bool trimmed;                /* in a free list: only its upper end is kept */
	bool told;                   /* a report has said what it waits for */
	uint32_t n_private;          /* bytes of private variables */
	uint8_t owes;                /* enum thread_debt, see csd_thread_owes */
#if defined(__SANITIZE_ADDRESS__)
	void *fake;                  /* its fake stack, while it does not run */
	void *resumer_fake;
	const void *resumer_bottom;
	size_t resumer_bytes;
#endif
#if defined(__SANITIZE_THREAD__)
	void *fiber, *resumer_fiber;
#endif
};

enum {
	STACK_CLASSES = 32,          /* powers of two of pages */
	/* The PEs of a node keep this many bytes of free stacks untrimmed, each PE its share, counted as
	 * if every stack had been used to its end: 2048 of the usual size. They hold no more memory than
	 * the program had in use at one time. With 2000 threads at a time one takes 92 ns from its making
	 * to its end; if each mapped and unmapped its stack it would take 9.6 us. */
	KEPT_WHOLE = 512 << 20,
	/* Of further free stacks only this much of the upper end is kept, which is all that most threads
	 * touch. Returning the lower end is a system call, which costs the thread 0.75 us. */
	KEPT_TOP = 8 << 10,
	/* Free stacks in all: 128 MB of upper ends, and half of the mappings that Linux allows. */
	KEPT_MOST = 16384,
	/* Below a stack. A function whose variables extend beyond it overwrites other memory, unless it
	 * was compiled to touch every page (-fstack-clash-protection). A wide guard and a stack of the
	 * usual size are what one page of page tables maps. If stacks lay farther apart, 4000 threads that
	 * take turns would need 500 ns for a hop instead of 130, because the tables themselves fall out of
	 * the caches. */
	GUARD_BYTES = 64 << 10,
	GUARD_WIDE = (2 << 20) - CTH_STACK_DEFAULT,
	/* This many stacks of a process have wide guards. With more, a page of page tables for each stack
	 * would double the memory of small threads. */
	WIDE_MOST = 4096,
};
static const size_t STACK_MOST = (size_t)64 << 30; /* for CK_STACK */

struct pe_threads {
	CthThread live;
	CthThread free[STACK_CLASSES];
	size_t n_kept, kept_most;    /* in all free lists; this PE's share, 0: the job is not known yet */
	size_t whole, whole_most;    /* bytes of those that are not trimmed */
	size_t n_wide, wide_most;    /* stacks with wide guards; this PE's share */
	size_t page, guard, stack_bytes;
	char *own;                   /* the PE's own private variables; NULL: not used so far */
};

struct wake_msg {
	struct cmi_msg head;
	CthThread thread;
};

/* ---- memory -------------------------------------------------------------------------------- */

static unsigned stack_class(const struct pe_threads *ts, size_t bytes)
{
	unsigned cls = 0;

	while (cls + 1 < STACK_CLASSES && ts->page << cls < bytes)
		cls++;
	return cls;
}

static size_t stack_bytes(CthThread t)
{
	return t->bytes - t->guard;
}

static char *stack_low(CthThread t)
{
	return (char *)t->mapping + t->guard;
}

static void stack_unmap(struct pe_threads *ts, CthThread t)
{
	ts->n_wide -= t->guard == GUARD_WIDE;
	munmap(t->mapping, t->bytes);
}

static void kept_unmap(struct pe_threads *ts)
{
	for (int i = 0; i < STACK_CLASSES; i++) {
		for (CthThread t = ts->free[i], next; t; t = next) {
			next = t->next;
			stack_unmap(ts, t);
		}
		ts->free[i] = NULL;
	}
	ts->n_kept = 0;
	ts->whole = 0;
}

/* NULL: there is no memory, or there are too many mappings. */
static char *try_map(size_t stack, size_t guard)
{
	char *p = mmap(NULL, guard + stack, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (mprotect(p + guard, stack, PROT_READ | PROT_WRITE)) {
		munmap(p, guard + stack);
		return NULL;
	}
	return p;
}

static CthThread stack_map(struct pe *pe, unsigned cls)
{
	struct pe_threads *ts = pe->threads;
	size_t guard = ts->n_wide < ts->wide_most ? GUARD_WIDE : ts->guard, stack = ts->page << cls;
	char *p = try_map(stack, guard);

	if (!p) {
		kept_unmap(ts); /* of other sizes */
		p = try_map(stack, guard);
	}
	if (!p)
		csd_abort(pe, "no memory for a thread's stack of %zu KiB (%s); use fewer threads at a "
			  "time, smaller stacks (CK_STACK, [stacksize]) or raise vm.max_map_count",
			  stack >> 10, strerror(errno));
	CthThread t = (CthThread)(void *)(p + guard + stack) - 1;

	t = (CthThread)((uintptr_t)t & ~(uintptr_t)63);
	t->mapping = p;
	t->bytes = guard + stack;
	t->guard = guard;
	t->size_class = (uint8_t)cls;
	ts->n_wide += guard == GUARD_WIDE;
	return t;
}

static CthThread stack_take(struct pe *pe, size_t bytes)
{
	struct pe_threads *ts = pe->threads;
	unsigned cls = stack_class(ts, bytes);
	CthThread t = ts->free[cls];

	if (!t)
		return stack_map(pe, cls);
	ts->free[cls] = t->next;
	ts->n_kept--;
	ts->whole -= t->trimmed ? 0 : stack_bytes(t);
	return t;
}

/* Keep only the upper end, which contains struct csd_thread and the first frames of the next
 * thread. */
static void stack_trim(const struct pe_threads *ts, CthThread t)
{
	size_t bytes = stack_bytes(t);

	if (bytes > KEPT_TOP && ts->page <= KEPT_TOP)
		madvise(stack_low(t), bytes - KEPT_TOP, MADV_DONTNEED);
}

static void stack_give(struct pe_threads *ts, CthThread t)
{
	unsigned cls = t->size_class;

#if defined(__SANITIZE_ADDRESS__)
	/* Dead frames leave poison, which the next thread would hit. */
	ASAN_UNPOISON_MEMORY_REGION(stack_low(t), stack_bytes(t));
#endif
	if (ts->n_kept >= ts->kept_most) {
		stack_unmap(ts, t);
		return;
	}
	t->trimmed = ts->whole + stack_bytes(t) > ts->whole_most;
	if (t->trimmed)
		stack_trim(ts, t);
	else
		ts->whole += stack_bytes(t);
	t->next = ts->free[cls];
	ts->free[cls] = t;
	ts->n_kept++;
}

/* ---- switching ------------------------------------------------------------------------------- */

/* Tell a sanitizer about a jump into `t`, and back out of it. */

static void before_in(CthThread t, void **fake)
{
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_start_switch_fiber(fake, stack_low(t), (size_t)((char *)t - stack_low(t)));
#endif
#if defined(__SANITIZE_THREAD__)
	t->resumer_fiber = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(t->fiber, 0);
#endif
	(void)t, (void)fake;
}

static void after_in(CthThread t, void *fake)
{
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(fake, &t->resumer_bottom, &t->resumer_bytes);
#endif
	(void)t, (void)fake;
}

static void before_out(CthThread t, void **fake)
{
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_start_switch_fiber(fake, t->resumer_bottom, t->resumer_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
	__tsan_switch_to_fiber(t->resumer_fiber, 0);
#endif
	(void)t, (void)fake;
}

static void after_out(void *fake)
{
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
	(void)fake;
}

/* Out of `t`, to whoever resumed it. */
static void switch_out(CthThread t, bool for_ever)
{
	void *fake = NULL;

	before_out(t, for_ever ? NULL : &fake);
	t->resumer = jump_fcontext(t->resumer, t).from;
	after_in(t, fake);
}

static void thread_main(struct transfer in)
{
	CthThread t = in.data;

	t->resumer = in.from;
	after_in(t, NULL);
	t->fn(t->arg);
	csd_thread_settle(t->pe);
	t->state = THREAD_ENDED;
	switch_out(t, true);
	__builtin_unreachable();
}

/* ---- what outlasts a thread ------------------------------------------------------------------ */

static bool is_on_stack(CthThread t, const void *p)
{
	return (uintptr_t)p - (uintptr_t)stack_low(t) < stack_bytes(t);
}

void csd_thread_owes(CthThread t, const void *memory)
{
	if (is_on_stack(t, memory))
		t->owes = OWES_STACK;
	else if (!t->owes)
		t->owes = OWES;
}

/* Other code may have awakened it. */
void csd_thread_paid(CthThread t)
{
	const bool waits = t->owes == SETTLES && t->state == THREAD_SUSPENDED;

	t->owes = OWES_NOTHING;
	if (waits)
		CthAwaken(t);
}

bool csd_thread_settles(CthThread t)
{
	return t->owes == SETTLES;
}

void csd_thread_settle(struct pe *pe)
{
	CthThread t = pe->thread;

	if (CSD_LIKELY(!t->owes))
		return;
	if (t->owes == OWES_STACK)
		csd_abort(pe, "a thread ends while gets or puts use its stack: call CkSync before");
	t->owes = SETTLES;
	while (t->owes)
		CthSuspend();
}

/* ---- watches --------------------------------------------------------------------------------- */

/* In place of up.swap_running, where somebody watches. */
static void swap_watched(struct pe *pe, uint64_t running[CSD_RUNNING_WORDS])
{
	const struct csd_swaps *s = &pe->node->swaps;

	for (int i = s->n; i-- > 0;)
		s->watches[i](pe, running, false);
	if (s->layer)
		s->layer(pe, running);
	for (int i = 0; i < s->n; i++)
		s->watches[i](pe, running, true);
}

void csd_watch_swaps(struct node *node, csd_swap_fn fn)
{
	struct csd_swaps *s = &node->swaps;

	if (s->n == CSD_SWAP_WATCHES)
		csd_abort(NULL, "internal: more than %d watch threads", s->n);
	if (!s->n) {
		s->layer = node->up.swap_running;
		node->up.swap_running = swap_watched;
	}
	s->watches[s->n++] = fn;
}

static void thread_end(struct pe_threads *ts, CthThread t)
{
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
#if defined(__SANITIZE_THREAD__)
	__tsan_destroy_fiber(t->fiber);
#endif
	stack_give(ts, t);
}

static void thread_run(struct pe *pe, CthThread t)
{
	struct pe_threads *ts = pe->threads;
	void *fake = NULL;

	t->state = THREAD_RUNNING;
	t->outer = pe->thread;
	pe->thread = t;
	if (pe->node->up.swap_running)
		pe->node->up.swap_running(pe, t->running);
	before_in(t, &fake);
	t->context = jump_fcontext(t->context, t).from;
	after_out(fake);
	if (pe->node->up.swap_running)
		pe->node->up.swap_running(pe, t->running);
	pe->thread = t->outer;
	if (t->state == THREAD_ENDED)
		thread_end(ts, t);
}

/* ---- private variables ----------------------------------------------------------------------- */

/* For the whole process, because the variables' offsets are variables of the program: the first PE
 * to register a variable assigns its offset below the end of a block. */
static struct {
	pthread_mutex_t lock;
	_Atomic uint32_t end;        /* of the last variable; written under the lock */
} private_places = { .lock = PTHREAD_MUTEX_INITIALIZER };

enum { PRIVATE_ALIGN = 64 };

/* The bytes of all variables for a thread made now. Relaxed: a PE that uses a variable has passed
 * its CtvRegister, and so the lock, after which it sees this size or a larger one; it does not use
 * other variables. */
static uint32_t private_bytes(void)
{
	uint32_t end = atomic_load_explicit(&private_places.end, memory_order_relaxed);

	return (end + PRIVATE_ALIGN - 1) & -(uint32_t)PRIVATE_ALIGN;
}

/* Zero the thread's private variables. Returns their lower end, where the stack begins. */
static __attribute__((noinline)) char *private_make(CthThread t)
{
	return memset((char *)t - t->n_private, 0, t->n_private);
}

/* Sizes of stacks are powers of two: a few bytes must not double them. */
static __attribute__((noinline)) size_t private_room(size_t stack_bytes, uint32_t n_private)
{
	return n_private > stack_bytes / 8 ? stack_bytes + n_private : stack_bytes;
}

void CtvRegister(int *place, const char *name, size_t bytes, size_t align)
{
	if (align > PRIVATE_ALIGN)
		csd_abort(csd_self(), "CtvInitialize(%s): its type is aligned to %zu bytes; %d is the "
			  "most", name, align, PRIVATE_ALIGN);
	pthread_mutex_lock(&private_places.lock);
	size_t total = atomic_load_explicit(&private_places.end, memory_order_relaxed);
	size_t end = (total + (bytes ? bytes : 1) + align - 1) & ~(align - 1);
	bool fits = bytes <= CTV_MOST && end <= CTV_MOST;

	if (!*place && fits) {
		*place = (int)end;
		atomic_store_explicit(&private_places.end, (uint32_t)end, memory_order_relaxed);
	}
	fits = *place != 0;
	pthread_mutex_unlock(&private_places.lock);
	if (!fits)
		csd_abort(csd_self(), "CtvInitialize(%s): thread-private variables would have %zu "
			  "bytes; %d is the most", name, end, CTV_MOST);
}

/* The PE's own: address space for the most, memory only where touched. */
static void private_map(struct pe *pe)
{
	char *p = mmap(NULL, CTV_MOST, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		cmi_no_memory(CTV_MOST, "a PE's thread-private variables");
	pe->threads->own = p;
}

void *CtvAddress(int place, const char *name)
{
	struct pe *pe = pe_here("CtvAccess");
	CthThread t = pe->thread;

	if (CSD_UNLIKELY(!place))
		csd_abort(pe, "CtvAccess(%s) before its CtvInitialize, which belongs in an initnode "
			  "or initproc function", name);
	if (!t) {
		if (CSD_UNLIKELY(!pe->threads->own))
			private_map(pe);
		return pe->threads->own + CTV_MOST - place;
	}
	if (CSD_UNLIKELY((uint32_t)place > t->n_private))
		csd_abort(pe, "CtvAccess(%s) in a thread that was made before its CtvInitialize, "
			  "which belongs in an initnode or initproc function", name);
	return (char *)t - place;
}

/* ---- making and running ---------------------------------------------------------------------- */

CthThread CthCreate(CthVoidFn fn, void *arg, size_t stack_bytes)
{
	struct pe *pe = pe_here("CthCreate");
	struct pe_threads *ts = pe->threads;
	uint32_t n_private = private_bytes();

	if (!stack_bytes)
		stack_bytes = ts->stack_bytes;
	if (stack_bytes < CTH_STACK_MIN)
		stack_bytes = CTH_STACK_MIN;
	if (CSD_UNLIKELY(n_private != 0))
		stack_bytes = private_room(stack_bytes, n_private);
	CthThread t = stack_take(pe, stack_bytes);
	char *top = (char *)t;

	t->fn = fn;
	t->arg = arg;
	t->pe = pe;
	memset(t->running, 0, sizeof t->running);
	t->state = THREAD_NEW;
	t->told = false;
	t->n_private = n_private;
	if (CSD_UNLIKELY(n_private != 0))
		top = private_make(t);
	t->context = make_fcontext(top, (size_t)(top - stack_low(t)), thread_main);
	t->next = ts->live;
	t->link = &ts->live;
	if (ts->live)
		ts->live->link = &t->next;
	ts->live = t;
#if defined(__SANITIZE_THREAD__)
	t->fiber = __tsan_create_fiber(0);
#endif
	return t;
}

CthThread CthSelf(void)
{
	return pe_here("CthSelf")->thread;
}

static struct pe *check_waiting(const char *what, CthThread t)
{
	struct pe *pe = pe_here(what);

	if (CSD_UNLIKELY(t->pe != pe))
		csd_abort(pe, "%s of a thread of PE %d; only its own PE may do that", what, t->pe->id);
	if (CSD_UNLIKELY(t->state != THREAD_NEW && t->state != THREAD_SUSPENDED))
		csd_abort(pe, "%s of a thread that is %s", what,
			  t->state == THREAD_QUEUED ? "awakened already" :
			  t->state == THREAD_RUNNING ? "running" : "over");
	return pe;
}

static void awaken(CthThread t, int prio, uint8_t flags)
{
	struct pe *pe = check_waiting("CthAwaken", t);
	struct wake_msg *m = (struct wake_msg *)csd_msg_alloc(pe, sizeof *m);

	t->state = THREAD_QUEUED;
	m->head.handler = (uint16_t)pe->node->h_thread;
	m->head.flags = flags;
	m->head.prio = prio;
	m->thread = t;
	csd_send(pe, pe->id, &m->head);
}

void CthAwaken(CthThread t)
{
	awaken(t, 0, 0);
}

void CthAwakenPrio(CthThread t, int prio)
{
	awaken(t, prio, CMI_F_PRIO);
}

void CthResume(CthThread t)
{
	thread_run(check_waiting("CthResume", t), t);
}

void CthSuspend(void)
{
	struct pe *pe = pe_here("CthSuspend");
	CthThread t = pe->thread;

	if (CSD_UNLIKELY(!t))
		csd_abort(pe, "CthSuspend: no thread runs here; a handler that waits must be "
			  "[threaded]");
	t->state = THREAD_SUSPENDED;
	switch_out(t, false);
}

void CthYield(void)
{
	struct pe *pe = pe_here("CthYield");
	CthThread t = pe->thread;

	if (CSD_UNLIKELY(!t))
		csd_abort(pe, "CthYield: no thread runs here; a handler that waits must be [threaded]");
	t->state = THREAD_SUSPENDED;
	CthAwaken(t);
	switch_out(t, false);
}

void csd_each_thread(struct pe *pe,
		     void (*fn)(struct pe *pe, const uint64_t running[CSD_RUNNING_WORDS], void *arg), void *arg)
{
	for (CthThread t = pe->threads->live; t; t = t->next)
		if (t->state != THREAD_RUNNING)
			fn(pe, t->running, arg);
}

const uint64_t *csd_thread_tell(CthThread t)
{
	t->told = true;
	return t->running;
}

void csd_each_silent_thread(struct pe *pe,
			    void (*fn)(void *arg, const uint64_t running[CSD_RUNNING_WORDS],
				       bool begun),
			    void *arg)
{
	for (CthThread t = pe->threads->live; t; t = t->next) {
		if (!t->told && (t->state == THREAD_SUSPENDED || t->state == THREAD_NEW))
			fn(arg, t->running, t->state != THREAD_NEW);
		t->told = false;
	}
}

/* ---- the scheduler's side -------------------------------------------------------------------- */

static void thread_arrived(struct pe *pe, struct cmi_msg *m)
{
	CthThread t = ((struct wake_msg *)m)->thread;

	csd_msg_free(pe, m);
	thread_run(pe, t);
}

void thread_register(struct node *node)
{
	static const struct csd_shape shape = { .least = 0 };

	node->h_thread = csd_register(node, "thread", thread_arrived);
	csd_expect(node, node->h_thread, &shape, NULL);
}

void threads_init(struct pe *pe)
{
	pe->threads = cmi_alloc_zero(1, sizeof *pe->threads, "the threads of a PE");
	pe->threads->page = (size_t)sysconf(_SC_PAGESIZE);
	pe->threads->guard = pe->threads->page > GUARD_BYTES ? pe->threads->page : GUARD_BYTES;
	pe->threads->stack_bytes = cmi_env_kib("CK_STACK", CTH_STACK_DEFAULT, CTH_STACK_MIN,
					       STACK_MOST);
}

void threads_know_job(struct pe *pe)
{
	struct pe_threads *ts = pe->threads;
	size_t n_pes = (size_t)pe->node->job->my_n_pes;

	ts->kept_most = KEPT_MOST / n_pes + 1;
	ts->whole_most = KEPT_WHOLE / n_pes;
	ts->wide_most = overflow_guards_are_free() ? WIDE_MOST / n_pes + 1 : 0;
}

struct csd_stack thread_stack(const struct pe *pe)
{
	CthThread t = pe->thread;

	return t ? (struct csd_stack){ stack_low(t), stack_bytes(t) } : (struct csd_stack){ NULL, 0 };
}

/* Threads that still wait when the job ends are dropped, as queued messages are. */
void threads_fini(struct pe *pe)
{
	struct pe_threads *ts = pe->threads;

	while (ts->live)
		thread_end(ts, ts->live);
	kept_unmap(ts);
	if (ts->own)
		munmap(ts->own, CTV_MOST);
	free(ts);
}
