/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.c: gets, puts, stores and atomics as programs call them. What load and store reach is done
 * when the call returns; far.c sends the rest.
 *
 * Memory that several PEs use is read and written here by relaxed atomics, where the size allows
 * it: no other operation sees half of one. What orders them is left to what the program waits for:
 * a message that tells of a CkSync is sent by release and taken by acquire, as all messages are,
 * and stores are counted by release (stores.c).
 */
#include "global_int.h"

#include <inttypes.h>
#include <string.h>

/* ---- memory that others use ------------------------------------------------------------------ */

static inline bool is_word(const char *p, size_t n)
{
	return n <= 8 && !(n & (n - 1)) && !((uintptr_t)p & (n - 1));
}

static inline void load_word(void *to, const char *from, size_t n)
{
	switch (n) {
	case 8: {
		const uint64_t v = __atomic_load_n((const uint64_t *)(const void *)from, __ATOMIC_RELAXED);

		memcpy(to, &v, 8);
		break;
	}
	case 4: {
		const uint32_t v = __atomic_load_n((const uint32_t *)(const void *)from, __ATOMIC_RELAXED);

		memcpy(to, &v, 4);
		break;
	}
	case 2: {
		const uint16_t v = __atomic_load_n((const uint16_t *)(const void *)from, __ATOMIC_RELAXED);

		memcpy(to, &v, 2);
		break;
	}
	case 1:
		*(uint8_t *)to = __atomic_load_n((const uint8_t *)from, __ATOMIC_RELAXED);
		break;
	}
}

static inline void store_word(char *to, const void *from, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, from, n);
	switch (n) {
	case 8:
		__atomic_store_n((uint64_t *)(void *)to, v, __ATOMIC_RELAXED);
		break;
	case 4:
		__atomic_store_n((uint32_t *)(void *)to, (uint32_t)v, __ATOMIC_RELAXED);
		break;
	case 2:
		__atomic_store_n((uint16_t *)(void *)to, (uint16_t)v, __ATOMIC_RELAXED);
		break;
	case 1:
		__atomic_store_n((uint8_t *)to, (uint8_t)v, __ATOMIC_RELAXED);
		break;
	}
}

void shared_load(void *to, const char *from, size_t n)
{
	if (is_word(from, n))
		load_word(to, from, n);
	else
		memcpy(to, from, n);
}

void shared_store(char *to, const void *from, size_t n)
{
	if (is_word(to, n))
		store_word(to, from, n);
	else
		CkGen_copyBulk(to, from, n);
}

/* Words of 8 bytes are most of what programs read and write one by one: here no call is needed. */
static inline void load_here(void *to, const char *from, size_t n)
{
	if (CSD_LIKELY(n == 8 && is_word(from, 8)))
		load_word(to, from, 8);
	else
		shared_load(to, from, n);
}

static inline void store_here(char *to, const void *from, size_t n)
{
	if (CSD_LIKELY(n == 8 && is_word(to, 8)))
		store_word(to, from, 8);
	else
		shared_store(to, from, n);
}

/* Acquire and release: programs pass things on by atomics. */
static uint64_t atomic_on_8(uint64_t *p, int what, uint64_t a, uint64_t b)
{
	switch (what) {
	case CK_ATOMIC_ADD:
		return __atomic_fetch_add(p, a, __ATOMIC_ACQ_REL);
	case CK_ATOMIC_SWAP:
		return __atomic_exchange_n(p, a, __ATOMIC_ACQ_REL);
	default:
		__atomic_compare_exchange_n(p, &a, b, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
		return a;
	}
}

static uint32_t atomic_on_4(uint32_t *p, int what, uint32_t a, uint32_t b)
{
	switch (what) {
	case CK_ATOMIC_ADD:
		return __atomic_fetch_add(p, a, __ATOMIC_ACQ_REL);
	case CK_ATOMIC_SWAP:
		return __atomic_exchange_n(p, a, __ATOMIC_ACQ_REL);
	default:
		__atomic_compare_exchange_n(p, &a, b, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
		return a;
	}
}

uint64_t atomic_on(char *p, int what, size_t bytes, uint64_t a, uint64_t b)
{
	return bytes == 8 ? atomic_on_8((uint64_t *)(void *)p, what, a, b) :
			    atomic_on_4((uint32_t *)(void *)p, what, (uint32_t)a, (uint32_t)b);
}

/* ---- where it lies --------------------------------------------------------------------------- */

static void check_raw(struct pe *pe, CkGlobal g)
{
	if (g.of == GLOBAL_NONE)
		csd_abort(pe, "a CkGlobal names nothing: it is CkGlobalNull()");
	if (g.of > GLOBAL_FOREIGN || g.pe < 0 || g.pe >= pe->node->job->n_pes)
		csd_abort(pe, "a CkGlobal is damaged, or was never set: PE %d, kind %u", (int)g.pe,
			  (unsigned)g.of);
}

static char *reach_raw(struct pe *pe, CkGlobal g, size_t bytes, int *pe_p)
{
	check_raw(pe, g);
	*pe_p = g.pe;
	if (is_far(pe, g.pe))
		return NULL;
	if (pe->node->check)
		return own_memory(pe, g, bytes, "an operation", pe->id);
	if (g.of == GLOBAL_PLACE)
		return cmi_shared_at(pe->wire, g.pe, g.at);
	return pe_is_here(pe, g.pe) ? (char *)(uintptr_t)g.at : NULL;
}

char *reach(struct pe *pe, CkGlobal g, size_t bytes, int *pe_p)
{
	const struct spread *s;
	uint64_t at;

	if (g.of < GLOBAL_SPREADS)
		return reach_raw(pe, g, bytes, pe_p);
	s = spread_of(pe, g.of);
	at = g.at < s->all ? spread_where(s, g.at, pe_p) : 0;
	if (g.at >= s->all || bytes > s->part - at)
		spread_beyond(pe, g, bytes);
	if (*pe_p == pe->id)
		return s->mine + at;
	return s->here[*pe_p] ? s->here[*pe_p] + at : NULL;
}

static char *own_raw(struct pe *pe, CkGlobal g, size_t bytes, const char *call, int for_pe)
{
	char *p = (char *)(uintptr_t)g.at;

	check_raw(pe, g);
	if (g.of == GLOBAL_PLACE) {
		p = cmi_shared_at(pe->wire, pe->id, g.at);
		if (!p || !cmi_shared_fits(pe->node->machine, g.at, bytes))
			csd_abort(pe, "%s by PE %d: %zu bytes do not lie in memory of PE %d", call, for_pe, bytes,
				  pe->id);
	}
	if (pe->node->check && g.of != GLOBAL_FOREIGN)
		heap_check(pe, p, bytes, call, for_pe);
	return p;
}

char *own_memory(struct pe *pe, CkGlobal g, size_t bytes, const char *call, int for_pe)
{
	const struct spread *s;
	uint64_t at;
	int whose = g.pe;

	if (g.of < GLOBAL_SPREADS) {
		if (whose != pe->id)
			csd_abort(pe, "%s by PE %d: the memory is not that of PE %d", call, for_pe, pe->id);
		return own_raw(pe, g, bytes, call, for_pe);
	}
	s = spread_of(pe, g.of);
	at = g.at < s->all ? spread_where(s, g.at, &whose) : 0;
	if (g.at >= s->all || bytes > s->part - at || whose != pe->id)
		spread_beyond(pe, g, bytes);
	return s->mine + at;
}

int CkGlobalPe(CkGlobal g)
{
	int whose;

	(void)reach(ck_self(), g, 0, &whose);
	return whose;
}

void *CkGlobalLocal(CkGlobal g)
{
	int whose;

	return reach(ck_self(), g, 1, &whose);
}

const char *CkGlobalPath(CkGlobal g)
{
	struct pe *pe = ck_self();
	int whose;

	if (reach(pe, g, 1, &whose))
		return "load and store";
	return rma_reaches(pe, whose, g) ? "remote access" : "messages";
}

/* ---- split phase ----------------------------------------------------------------------------- */

/* What reach_fast does not find goes the slow ways, by functions of their own, so that the fast
 * ways need few registers. */
#define SLOWLY __attribute__((noinline)) static

SLOWLY void get_slowly(struct pe *pe, void *dst, CkGlobal from, size_t bytes)
{
	int whose;
	const char *p = reach(pe, from, bytes, &whose);

	if (p)
		shared_load(dst, p, bytes);
	else
		far_get(pe, whose, set_open(pe, dst), dst, from, bytes);
}

void CkGet(void *dst, CkGlobal from, size_t bytes)
{
	struct pe *pe = ck_self();
	int whose;
	const char *p = reach_fast(pe, from, bytes, &whose);

	if (CSD_LIKELY(p != NULL))
		load_here(dst, p, bytes);
	else
		get_slowly(pe, dst, from, bytes);
}

SLOWLY void put_slowly(struct pe *pe, CkGlobal to, const void *src, size_t bytes)
{
	int whose;
	char *p = reach(pe, to, bytes, &whose);

	if (p)
		shared_store(p, src, bytes);
	else
		far_put(pe, whose, set_open(pe, src), to, src, bytes);
}

void CkPut(CkGlobal to, const void *src, size_t bytes)
{
	struct pe *pe = ck_self();
	int whose;
	char *p = reach_fast(pe, to, bytes, &whose);

	if (CSD_LIKELY(p != NULL))
		store_here(p, src, bytes);
	else
		put_slowly(pe, to, src, bytes);
}

SLOWLY void store_slowly(struct pe *pe, CkGlobal to, const void *src, size_t bytes)
{
	int whose;
	char *p = reach(pe, to, bytes, &whose);

	if (p) {
		shared_store(p, src, bytes);
		stores_count(pe, whose, bytes);
	} else {
		far_store(pe, whose, to, src, bytes, stores_count_far(pe, whose, bytes));
	}
}

void CkStore(CkGlobal to, const void *src, size_t bytes)
{
	struct pe *pe = ck_self();
	int whose;
	char *p = reach_fast(pe, to, bytes, &whose);

	if (CSD_LIKELY(p != NULL)) {
		store_here(p, src, bytes);
		stores_count(pe, whose, bytes);
	} else {
		store_slowly(pe, to, src, bytes);
	}
}

static void check_atomic(struct pe *pe, int what, CkGlobal g, size_t bytes)
{
	if (what < CK_ATOMIC_ADD || what > CK_ATOMIC_COMPARE_SWAP)
		csd_abort(pe, "CkAtomic: there is no operation %d", what);
	if (bytes != 4 && bytes != 8)
		csd_abort(pe, "CkAtomic: %zu bytes; there are atomics on 4 and on 8", bytes);
	if (g.at % bytes)
		csd_abort(pe, "CkAtomic: the %zu bytes are not aligned", bytes);
}

/* The low bytes come first on all that Chard runs on. */
static inline void atomic_here(void *old, char *p, int what, size_t bytes, uint64_t a, uint64_t b)
{
	const uint64_t before = atomic_on(p, what, bytes, a, b);

	if (old)
		memcpy(old, &before, bytes);
}

SLOWLY void atomic_get_slowly(struct pe *pe, void *old, int what, CkGlobal g, size_t bytes,
			      uint64_t a, uint64_t b)
{
	int whose;
	char *p = reach(pe, g, bytes, &whose);

	if (p)
		atomic_here(old, p, what, bytes, a, b);
	else
		far_atomic(pe, whose, set_open(pe, old), old, what, g, bytes, a, b);
}

void CkAtomicGet(void *old, int what, CkGlobal g, size_t bytes, uint64_t a, uint64_t b)
{
	struct pe *pe = ck_self();
	int whose;
	char *p;

	check_atomic(pe, what, g, bytes);
	p = reach_fast(pe, g, bytes, &whose);
	if (CSD_LIKELY(p != NULL))
		atomic_here(old, p, what, bytes, a, b);
	else
		atomic_get_slowly(pe, old, what, g, bytes, a, b);
}

/* ---- at once --------------------------------------------------------------------------------- */

/* Also in checked mode. */
SLOWLY void read_slowly(struct pe *pe, void *dst, CkGlobal from, size_t bytes)
{
	int whose;
	const char *p = reach(pe, from, bytes, &whose);
	uint32_t set;

	if (!p || pe->node->check)
		check_thread(pe, "CkRead", "CkGet and CkSyncThen");
	if (p) {
		shared_load(dst, p, bytes);
		return;
	}
	set = set_alone(pe);
	far_get(pe, whose, set, dst, from, bytes);
	set_wait(pe, set);
}

void CkReadBytes(void *dst, CkGlobal from, size_t bytes)
{
	struct pe *pe = ck_self();
	int whose;
	const char *p = reach_fast(pe, from, bytes, &whose);

	if (CSD_LIKELY(p != NULL))
		load_here(dst, p, bytes);
	else
		read_slowly(pe, dst, from, bytes);
}

SLOWLY void write_slowly(struct pe *pe, CkGlobal to, const void *src, size_t bytes)
{
	int whose;
	char *p = reach(pe, to, bytes, &whose);
	uint32_t set;

	if (!p || pe->node->check)
		check_thread(pe, "CkWrite", "CkPut and CkSyncThen");
	if (p) {
		shared_store(p, src, bytes);
		return;
	}
	set = set_alone(pe);
	far_put(pe, whose, set, to, src, bytes);
	set_wait(pe, set);
}

void CkWriteBytes(CkGlobal to, const void *src, size_t bytes)
{
	struct pe *pe = ck_self();
	int whose;
	char *p = reach_fast(pe, to, bytes, &whose);

	if (CSD_LIKELY(p != NULL))
		store_here(p, src, bytes);
	else
		write_slowly(pe, to, src, bytes);
}

SLOWLY uint64_t atomic_slowly(struct pe *pe, int what, CkGlobal g, size_t bytes, uint64_t a,
			      uint64_t b)
{
	uint64_t old = 0;
	uint32_t set;
	int whose;
	char *p = reach(pe, g, bytes, &whose);

	if (!p || pe->node->check)
		check_thread(pe, "CkAtomic", "CkAtomicGet and CkSyncThen");
	if (p)
		return atomic_on(p, what, bytes, a, b);
	set = set_alone(pe);
	far_atomic(pe, whose, set, &old, what, g, bytes, a, b);
	set_wait(pe, set);
	return old;
}

uint64_t CkAtomic(int what, CkGlobal g, size_t bytes, uint64_t a, uint64_t b)
{
	struct pe *pe = ck_self();
	int whose;
	char *p;

	check_atomic(pe, what, g, bytes);
	p = reach_fast(pe, g, bytes, &whose);
	if (CSD_LIKELY(p != NULL))
		return atomic_on(p, what, bytes, a, b);
	return atomic_slowly(pe, what, g, bytes, a, b);
}
