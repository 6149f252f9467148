/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fail.c: a library for LD_PRELOAD that makes one allocation of a program fail; sweep.py uses it.
 *
 * A call site is the place to which an allocating call returns. Without FAIL_SITE the library only counts: when
 * the process ends it writes a line "MODULE OFFSET START RUN END" for each site, with how often it was
 * reached in each phase. With FAIL_SITE the FAIL_TURN-th call from that site finds no memory.
 *
 *   FAIL_PROGRAM  the name of the process that is meant
 *   FAIL_RANK     its number in the job (PMI_RANK); when not set, any
 *   FAIL_REPORT   a file to append to: the counts; or "failed PHASE", when the call has failed
 *   FAIL_WITHIN   only sites in these parts of the program count: LOW-HIGH,... (hexadecimal); when not set,
 *                 sites of all libraries do, too
 *   FAIL_SITE     MODULE:OFFSET (hexadecimal); the program itself is called "."
 *   FAIL_TURN     from 1
 *   FAIL_ON       1: everything after that fails, too
 *
 * The phases are those of a thread: until it has passed the barriers of start-up, from there to the next one,
 * and after that. A process without barriers stays in the first.
 *
 * All this works without memory: tables are static, and glibc's own names lead past the functions below.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Passed in start-up, on each PE's thread: two for each stage_ok (scheduler/node.c). */
enum { START_BARRIERS = 4, SITES = 8192, PHASES = 3, PARTS = 64 };

struct site {
	_Atomic uintptr_t at;            /* the return address; 0: free */
	_Atomic unsigned n[PHASES];
};

static struct {
	bool active;
	const char *report, *module;     /* module NULL: count */
	uintptr_t offset;
	unsigned turn;
	bool on;
	_Atomic unsigned n;              /* calls from the site so far */
	_Atomic bool failing;
	int n_parts;                     /* 0: all modules */
	struct { uintptr_t low, high; } parts[PARTS];
	struct site sites[SITES];
} all;

static _Thread_local int barriers __attribute__((tls_model("initial-exec")));

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

/* ---- settings ----------------------------------------------------------------------------- */

static bool is_meant(void)
{
	const char *program = getenv("FAIL_PROGRAM"), *rank = getenv("FAIL_RANK"), *mine = getenv("PMI_RANK");

	return program && !strcmp(program, program_invocation_short_name) &&
	       (!rank || (mine && !strcmp(rank, mine)));
}

static void take_site(const char *text)
{
	static char module[256];
	const char *colon = text ? strrchr(text, ':') : NULL;

	if (!colon || (size_t)(colon - text) >= sizeof module)
		return;
	memcpy(module, text, (size_t)(colon - text));
	all.offset = strtoull(colon + 1, NULL, 16);
	all.module = module;
}

static void take_parts(const char *text)
{
	while (text && *text && all.n_parts < PARTS) {
		char *end;

		all.parts[all.n_parts].low = strtoull(text, &end, 16);
		all.parts[all.n_parts++].high = strtoull(end + 1, &end, 16);
		text = *end ? end + 1 : end;
	}
}

static __attribute__((constructor)) void take_settings(void)
{
	const char *turn = getenv("FAIL_TURN");

	all.report = getenv("FAIL_REPORT");
	all.turn = turn ? (unsigned)strtoul(turn, NULL, 10) : 1;
	all.on = getenv("FAIL_ON") != NULL;
	take_site(getenv("FAIL_SITE"));
	take_parts(getenv("FAIL_WITHIN"));
	all.active = is_meant();
}

static int phase(void)
{
	return barriers < START_BARRIERS ? 0 : barriers == START_BARRIERS ? 1 : 2;
}

/* ---- modules ------------------------------------------------------------------------------ */

/* The module of an address, and the place in it; NULL if that is none of the sites that count.
 * _dl_find_object takes no lock and no memory. */
static const char *site_of(uintptr_t at, uintptr_t *offset_p)
{
	struct dl_find_object found;
	const char *name, *slash;
	int i = 0;

	if (_dl_find_object((void *)at, &found))
		return NULL;
	name = found.dlfo_link_map->l_name;
	slash = strrchr(name, '/');
	*offset_p = at - found.dlfo_link_map->l_addr;
	while (i < all.n_parts && (*name || *offset_p < all.parts[i].low || *offset_p >= all.parts[i].high))
		i++;
	if (all.n_parts && i == all.n_parts)
		return NULL;
	return !*name ? "." : slash ? slash + 1 : name;
}

/* ---- counting ----------------------------------------------------------------------------- */

/* Relaxed, here and below: numbers that nothing depends on while the program runs. */
static void count(uintptr_t at)
{
	for (size_t i = at * 2654435761u % SITES, tries = 0; tries < SITES; i = (i + 1) % SITES, tries++) {
		uintptr_t there = 0;

		if (atomic_compare_exchange_strong_explicit(&all.sites[i].at, &there, at,
							    memory_order_relaxed, memory_order_relaxed) ||
		    there == at) {
			atomic_fetch_add_explicit(&all.sites[i].n[phase()], 1, memory_order_relaxed);
			return;
		}
	}
}

static void report(const char *format, ...)
{
	char line[400];
	va_list ap;
	int fd, n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof line, format, ap);
	va_end(ap);
	fd = open(all.report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		abort();
	close(fd);
}

static __attribute__((destructor)) void report_counts(void)
{
	if (!all.active || all.module)
		return;
	all.active = false;
	for (struct site *s = all.sites; s < all.sites + SITES; s++) {
		uintptr_t offset;
		const char *module = s->at ? site_of(s->at, &offset) : NULL;

		if (module)
			report("%s %lx %u %u %u\n", module, (unsigned long)offset, s->n[0], s->n[1], s->n[2]);
	}
}

/* ---- failing ------------------------------------------------------------------------------ */

static bool is_the_one(uintptr_t at)
{
	static const char *const names[PHASES] = { "start", "run", "end" };
	uintptr_t offset;
	const char *module = site_of(at, &offset);

	if (!module)
		return false;
	if (all.on && atomic_load_explicit(&all.failing, memory_order_relaxed))
		return true;
	if (offset != all.offset || strcmp(module, all.module) ||
	    atomic_fetch_add_explicit(&all.n, 1, memory_order_relaxed) + 1 != all.turn)
		return false;
	atomic_store_explicit(&all.failing, true, memory_order_relaxed);
	report("failed %s\n", names[phase()]);
	return true;
}

static bool fails(void *caller)
{
	int before = errno;
	bool no = false;

	if (!all.active)
		return false;
	if (all.module)
		no = is_the_one((uintptr_t)caller);
	else
		count((uintptr_t)caller);
	errno = no ? ENOMEM : before;
	return no;
}

#define FAILS() fails(__builtin_return_address(0))
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* ---- the functions ------------------------------------------------------------------------ */

#pragma GCC visibility push(default)

void *malloc(size_t bytes)
{
	return FAILS() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	return FAILS() ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return FAILS() ? NULL : __libc_realloc(old, bytes);
}

void *reallocarray(void *old, size_t n, size_t bytes)
{
	return FAILS() ? NULL : __libc_realloc(old, n * bytes);
}

void *memalign(size_t align, size_t bytes)
{
	return FAILS() ? NULL : __libc_memalign(align, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
	return FAILS() ? NULL : __libc_memalign(align, bytes);
}

int posix_memalign(void **p, size_t align, size_t bytes)
{
	void *got = FAILS() ? NULL : __libc_memalign(align, bytes);

	if (got)
		*p = got;
	return got ? 0 : ENOMEM;
}

static char *copy_of(const char *s, size_t len)
{
	char *copy = __libc_malloc(len + 1);

	if (copy) {
		memcpy(copy, s, len);
		copy[len] = 0;
	}
	return copy;
}

char *strdup(const char *s)
{
	return FAILS() ? NULL : copy_of(s, strlen(s));
}

char *strndup(const char *s, size_t most)
{
	return FAILS() ? NULL : copy_of(s, strnlen(s, most));
}

/* By the system call: what hooks into mmap (UCX does, unless it is told not to) does not see these. */
void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return FAILS() ? MAP_FAILED : (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
}

int memfd_create(const char *name, unsigned flags)
{
	return FAILS() ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

int ftruncate(int fd, off_t bytes)
{
	return FAILS() ? -1 : (int)syscall(SYS_ftruncate, fd, bytes);
}

FILE *fopen(const char *path, const char *mode)
{
	return FAILS() ? NULL : REAL(fopen)(path, mode);
}

FILE *popen(const char *command, const char *mode)
{
	return FAILS() ? NULL : REAL(popen)(command, mode);
}

FILE *open_memstream(char **text, size_t *len)
{
	return FAILS() ? NULL : REAL(open_memstream)(text, len);
}

DIR *opendir(const char *path)
{
	return FAILS() ? NULL : REAL(opendir)(path);
}

int setenv(const char *name, const char *value, int over)
{
	return FAILS() ? -1 : REAL(setenv)(name, value, over);
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	return FAILS() ? EAGAIN : REAL(pthread_create)(t, attr, run, arg);
}

int pthread_barrier_wait(pthread_barrier_t *b)
{
	int rc = REAL(pthread_barrier_wait)(b);

	barriers++;
	return rc;
}
