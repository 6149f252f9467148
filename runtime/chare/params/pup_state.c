/* SPDX-License-Identifier: Apache-2.0 */
/* pup_state.c: the state of a program's pup function, and the line about its errors. */
#include "pup_er.h"

#include <stdarg.h>
#include <stdio.h>

int pup_isSizing(const pup_er p) { return p->mode == SIZING; }
int pup_isPacking(const pup_er p) { return p->mode == PACKING; }
int pup_isUnpacking(const pup_er p) { return p->mode == UNPACKING; }
int pup_isDeleting(const pup_er p) { return p->mode == DELETING; }

struct ck_obj *pup_element(pup_er p) { return (struct ck_obj *)(uintptr_t)p->obj; }

void pup_fault(const struct CkPupEr *p, const char *fmt, ...)
{
	char what[640], name[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	if (p->obj)
		csd_abort(ck_self(), "%s: %s_pup %s", obj_describe(p->obj, name, sizeof name),
			  p->obj->coll->type->name, what);
	csd_abort(ck_self(), "a pup function %s", what);
}

void pup_must_have(const struct CkPupEr *p, uint64_t n, uint64_t bytes, const char *name)
{
	if (bytes && n > (p->limit - p->bytes) / bytes)
		pup_fault(p, "unpacks more than it packed: %llu of %s, behind %zu of %zu bytes",
			  (unsigned long long)n, name, p->bytes, p->limit);
}

void pup_check_packed(const struct CkPupEr *p)
{
	if (p->bytes != p->limit)
		pup_fault(p, "packs %zu bytes, and said %zu when it was sized: it must do the same each time",
			  p->bytes, p->limit);
}

void pup_check_unpacked(const struct CkPupEr *p)
{
	if (p->bytes != p->limit)
		pup_fault(p, "unpacks %zu bytes, and packed %zu: it must do the same each time", p->bytes,
			  p->limit);
}
