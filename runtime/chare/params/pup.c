/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pup.c: packs and unpacks bytes for a pup function of the program. pup_object.c and pup_element.c
 * run such functions.
 */
#include "pup_er.h"

#include <string.h>

static void unpack_bytes(pup_er p, void *v, size_t n)
{
	if (n > p->limit - p->bytes)
		pup_fault(p, "unpacks more than it packed: %zu bytes behind %zu of %zu", n, p->bytes,
			  p->limit);
	if (!v)
		pup_fault(p, "unpacks %zu bytes to a pointer that is NULL: first write x->v = pup_alloc(p, x->v, "
			  "bytes)", n);
	memcpy(v, p->from + p->bytes, n);
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
	if (p->bytes <= p->limit && n <= p->limit - p->bytes)
		memcpy(p->to + p->bytes, v, n);
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
