/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pup.c: packs and unpacks bytes for a pup function of the program. pup_object.c and pup_element.c
 * run such functions.
 */
#include "pup_er.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* PIECE fits into the caches of a core. Of larger pages than PAGE_MOST the kernel refuses parts. */
enum { LARGE = 256 << 10, PIECE = 256 << 10, PAGE_MOST = 64 << 10 };

/* To let the kernel make the pages of a piece by one call costs half of what faults cost, one a
 * page. If it cannot (before Linux 5.14), they come by faults. */
static void make_pages(char *mem, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	const size_t skip = -(uintptr_t)mem % PAGE_MOST;

	if (bytes >= skip + PAGE_MOST)
		madvise(mem + skip, (bytes - skip) / PAGE_MOST * PAGE_MOST, MADV_POPULATE_WRITE);
#else
	(void)mem, (void)bytes;
#endif
}

/* Large blocks come to memory that nobody has touched, and most of the time of a job that starts
 * again is first touch. */
static void copy_large(char *to, const char *from, size_t n)
{
	for (size_t at = 0, piece; at < n; at += piece) { /* pieces end where pages end */
		piece = PIECE - (uintptr_t)(to + at) % PIECE;
		piece = piece < n - at ? piece : n - at;
		make_pages(to + at, piece);
		memcpy(to + at, from + at, piece);
	}
}

static void unpack_bytes(pup_er p, void *v, size_t n)
{
	if (n > p->limit - p->bytes)
		pup_fault(p, "unpacks more than it packed: %zu bytes behind %zu of %zu", n, p->bytes,
			  p->limit);
	if (!v)
		pup_fault(p, "unpacks %zu bytes to a pointer that is NULL: first write x->v = pup_alloc(p, x->v, "
			  "bytes)", n);
	if (n < LARGE)
		memcpy(v, p->from + p->bytes, n);
	else
		copy_large(v, p->from + p->bytes, n);
	p->bytes += n;
}

/* Beyond the size from sizing, the bytes are only counted. The caller compares the counts. */
static void pack_bytes(pup_er p, const void *v, size_t n)
{
	if (!v)
		pup_fault(p, "packs %zu bytes at a pointer that is NULL", n);
	if (p->self && n == sizeof(uintptr_t) && (uintptr_t)v - (uintptr_t)p->self < p->self_bytes)
		p->checks->look_for_address(p, v);
	if (p->look)
		pup_piece(&p->look->packed, v, n);
	if (p->bytes <= p->limit && n <= p->limit - p->bytes) {
		if (n >= IMAGE_COPY_MIN && p->out)
			p->out->copy(p->out, p->to + p->bytes, v, n);
		else
			memcpy(p->to + p->bytes, v, n);
	}
	p->bytes += n;
}

void pup_bytes(pup_er p, void *v, size_t n)
{
	if (!n)
		return;
	switch (p->mode) {
	case SIZING:
		p->bytes += n;
		if (p->pieces)
			pup_piece(p->pieces, v, n);
		break;
	case PACKING:
		pack_bytes(p, v, n);
		break;
	case UNPACKING:
		unpack_bytes(p, v, n);
		break;
	case DELETING:
		break;
	}
}
