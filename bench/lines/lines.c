/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.c: which cache lines travel between threads, and which code makes them travel. lines.py, in
 * the folder above, has the usage.
 *
 * This file takes the place of the thread sanitizer's library under objects that were compiled with
 * -fsanitize=thread, which call a function for each access of memory. For each line of 64 bytes it
 * keeps who has a copy, as caches of unlimited size would. An access of a line that the thread
 * lacks, or a write to one that others have, too, is a transfer. Threads yield at random, so that a
 * few cores show what many would.
 *
 * LINES_FILE names the table. The processes of a host share it; lines of shared mappings are known
 * by their file and offset. What is not seen: accesses by libc, except memcpy, memmove and memset
 * of objects that are linked here; prefetches, so that a read and a write that follow a prefetch
 * count as two transfers.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINE = 64, TABLE = 1 << 21, SITES = 1 << 16, THREADS_MOST = 64, MAPS_MOST = 256 };

struct line {
	_Atomic uint64_t key;
	_Atomic uint64_t has;              /* bit t: thread t has a copy */
	_Atomic uint64_t wrote;            /* somebody has written it: before, nothing travels */
};

/* An instruction by which a line came: its place in the program, and what it did. */
struct site {
	_Atomic uint64_t key;              /* place << 1 | is a write */
	_Atomic uint64_t transfers;
	_Atomic uint64_t lines[4];         /* some lines that it fetched */
};

struct table {
	_Atomic uint32_t n_threads;
	_Atomic uint64_t accesses, transfers;
	_Atomic uint32_t on;
	struct line lines[TABLE];
	struct site sites[SITES];
};

static struct table *table;
static struct map { uintptr_t low, high; uint64_t base; } maps[MAPS_MOST];
static _Atomic int n_maps;
static atomic_flag maps_lock = ATOMIC_FLAG_INIT;
static uint64_t private_key;
static int every;
static _Thread_local int me = -1;
static _Thread_local uint32_t draw;
static _Thread_local bool inside;
extern char __executable_start[];

__attribute__((constructor(101))) static void lines_open(void)
{
	const char *name = getenv("LINES_FILE");
	int fd = name ? open(name, O_RDWR | O_CREAT, 0600) : -1;

	if (fd >= 0 && ftruncate(fd, sizeof *table))
		abort();
	table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE,
		     fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (table == MAP_FAILED)
		abort();
	if (fd >= 0)
		close(fd);
	private_key = (uint64_t)(getpid() & 0xffff) << 48;
	every = getenv("LINES_YIELD") ? atoi(getenv("LINES_YIELD")) : 64;
}

/* The shared mappings of this process, read again when an address is in none that is known. */
static void read_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long low, high, offset, inode;
	char mode[8], line[512];
	int n = 0;

	while (f && n < MAPS_MOST && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lx-%lx %7s %lx %*s %lu", &low, &high, mode, &offset, &inode) != 5)
			continue;
		uint64_t base = mode[3] == 's' ? (uint64_t)inode << 40 | offset | (uint64_t)1 << 63 : 0;

		maps[n++] = (struct map){ low, high, base };
	}
	if (f)
		fclose(f);
	atomic_store(&n_maps, n);
}

static const struct map *map_of(uintptr_t a)
{
	for (int i = 0; i < n_maps; i++)
		if (a >= maps[i].low && a < maps[i].high)
			return &maps[i];
	return NULL;
}

static uint64_t key_of(uintptr_t a)
{
	static _Thread_local struct map last;

	if (a < last.low || a >= last.high) {
		const struct map *m;

		while (atomic_flag_test_and_set(&maps_lock))
			sched_yield();
		m = map_of(a);
		if (!m) {
			read_maps();
			m = map_of(a);
		}
		last = m ? *m : (struct map){ a, a + 1, 0 };
		atomic_flag_clear(&maps_lock);
	}
	return last.base ? last.base + (a - last.low) / LINE : private_key | a / LINE;
}

static uint64_t spread(uint64_t k)
{
	k *= 0x9e3779b97f4a7c15u;
	return k ^ k >> 29;
}

static struct line *line_of(uint64_t key)
{
	for (uint64_t i = spread(key);; i++) {
		struct line *l = &table->lines[i % TABLE];
		uint64_t was = l->key;

		if (!was && atomic_compare_exchange_strong(&l->key, &was, key))
			was = key;
		if (was == key)
			return l;
	}
}

static void count_site(uint64_t place, bool write, uint64_t key)
{
	const uint64_t k = place << 1 | write;

	for (uint64_t i = spread(k);; i++) {
		struct site *s = &table->sites[i % SITES];
		uint64_t was = s->key;

		if (!was && atomic_compare_exchange_strong(&s->key, &was, k))
			was = k;
		if (was == k) {
			s->lines[atomic_fetch_add(&s->transfers, 1) & 3] = key;
			return;
		}
	}
}

static void touch_line(uintptr_t a, bool write, uint64_t place)
{
	const uint64_t key = key_of(a), bit = (uint64_t)1 << me;
	struct line *l = line_of(key);
	const uint64_t has = l->has;
	bool came = l->wrote && (write ? has != bit : !(has & bit));

	/* A thread that has it alone, or reads a copy, changes nothing. */
	if (write) {
		l->wrote = 1;
		l->has = bit;
	} else if (!(has & bit)) {
		atomic_fetch_or(&l->has, bit);
	}
	if (came && (has & ~bit) && table->on) {
		atomic_fetch_add(&table->transfers, 1);
		count_site(place, write, key);
	}
}

static void touch(const void *p, size_t n, bool write, void *ret)
{
	if (!table || inside || !n)
		return;
	inside = true;
	if (me < 0) {
		me = (int)(atomic_fetch_add(&table->n_threads, 1) % THREADS_MOST);
		draw = (uint32_t)me * 2654435761u + 1;
	}
	for (uintptr_t a = (uintptr_t)p & ~(uintptr_t)(LINE - 1); a < (uintptr_t)p + n; a += LINE)
		touch_line(a, write, (uint64_t)((char *)ret - __executable_start));
	draw = draw * 1664525u + 1013904223u;
	if (every && (draw >> 8) % (uint32_t)every == 0)
		sched_yield();
	inside = false;
}

#define HERE __builtin_return_address(0)

#define PLAIN_OF(what, n, write) \
	void __tsan_##what##n(void *p) \
	{ \
		touch(p, n, write, HERE); \
	}
#define PLAIN(n) \
	PLAIN_OF(read, n, false) \
	PLAIN_OF(write, n, true) \
	PLAIN_OF(unaligned_read, n, false) \
	PLAIN_OF(unaligned_write, n, true) \
	PLAIN_OF(volatile_read, n, false) \
	PLAIN_OF(volatile_write, n, true)
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
void __tsan_read_range(void *p, long n)
{
	touch(p, (size_t)n, false, HERE);
}
void __tsan_write_range(void *p, long n)
{
	touch(p, (size_t)n, true, HERE);
}

/* The orders of the program do not matter: all are seq_cst. */
#define SEQ __ATOMIC_SEQ_CST
#define FETCH(type, bits, name) \
	type __tsan_atomic##bits##_fetch_##name(type *p, type v, int order) \
	{ \
		(void)order; \
		touch(p, sizeof v, true, HERE); \
		return __atomic_fetch_##name(p, v, SEQ); \
	}
#define SWAP(type, bits, name) \
	int __tsan_atomic##bits##_compare_exchange_##name(type *p, type *old, type v, int order, \
							  int otherwise) \
	{ \
		(void)order; \
		(void)otherwise; \
		touch(p, sizeof v, true, HERE); \
		return __atomic_compare_exchange_n(p, old, v, false, SEQ, SEQ); \
	}
#define ATOMIC(type, bits) \
	type __tsan_atomic##bits##_load(type *p, int order) \
	{ \
		(void)order; \
		touch(p, sizeof *p, false, HERE); \
		return __atomic_load_n(p, SEQ); \
	} \
	void __tsan_atomic##bits##_store(type *p, type v, int order) \
	{ \
		(void)order; \
		touch(p, sizeof v, true, HERE); \
		__atomic_store_n(p, v, SEQ); \
	} \
	type __tsan_atomic##bits##_exchange(type *p, type v, int order) \
	{ \
		(void)order; \
		touch(p, sizeof v, true, HERE); \
		return __atomic_exchange_n(p, v, SEQ); \
	} \
	FETCH(type, bits, add) \
	FETCH(type, bits, sub) \
	FETCH(type, bits, and) \
	FETCH(type, bits, or) \
	FETCH(type, bits, xor) \
	SWAP(type, bits, strong) \
	SWAP(type, bits, weak)
ATOMIC(uint8_t, 8)
ATOMIC(uint16_t, 16)
ATOMIC(uint32_t, 32)
ATOMIC(uint64_t, 64)

void __tsan_atomic_thread_fence(int mo) { (void)mo; __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int mo) { (void)mo; }
void __tsan_init(void) {}
void __tsan_func_entry(void *p) { (void)p; }
void __tsan_func_exit(void) {}
void __tsan_acquire(void *p) { (void)p; }
void __tsan_release(void *p) { (void)p; }
void *__tsan_get_current_fiber(void) { return NULL; }
void *__tsan_create_fiber(unsigned flags) { (void)flags; return NULL; }
void __tsan_destroy_fiber(void *f) { (void)f; }
void __tsan_switch_to_fiber(void *f, unsigned flags) { (void)f; (void)flags; }

/* -Wl,--wrap: the program's copies. */
void *__real_memcpy(void *to, const void *from, size_t n);
void *__real_memmove(void *to, const void *from, size_t n);
void *__real_memset(void *to, int c, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
	touch(from, n, false, HERE);
	touch(to, n, true, HERE);
	return __real_memcpy(to, from, n);
}
void *__wrap_memmove(void *to, const void *from, size_t n)
{
	touch(from, n, false, HERE);
	touch(to, n, true, HERE);
	return __real_memmove(to, from, n);
}
void *__wrap_memset(void *to, int c, size_t n)
{
	touch(to, n, true, HERE);
	return __real_memset(to, c, n);
}
__attribute__((constructor)) static void lines_on(void)
{
	table->on = 1;
}
