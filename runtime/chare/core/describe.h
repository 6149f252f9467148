/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.h: how reports name elements, collections and threads, and the descriptions of waits by
 * all parts (`describe` of struct ck_part).
 */
#ifndef CK_DESCRIBE_H
#define CK_DESCRIBE_H

#include "../../scheduler/cth.h"
#include "objects/state.h"

/** "Cell(3, 4)", "Member of PE 2", "Branch of node 1", "Main", "Lone 5 of PE 0" (the fifth that PE
 * 0 made). */
const char *element_describe(const CkGenChare *type, CkIndex index, char *buf, size_t len);
static inline const char *obj_describe(const struct ck_obj *obj, char *buf, size_t len)
{
	return element_describe(obj->coll->type, obj->index, buf, len);
}

/* ---- things in reports (tell.h of the scheduler) --------------------------------------------- */

/** Kinds of things that the watchdog distinguishes. */
enum {
	THING_ELEMENT = 'e', THING_FUTURE = 'f', THING_REDUCTION = 'r', THING_SECTION_REDUCTION = 'R',
	THING_SCAN = 's', THING_SYNC = 'y',
};

struct csd_thing element_thing(const CkGenChare *type, uint64_t coll, CkIndex index);
static inline struct csd_thing obj_thing(const struct ck_obj *obj)
{
	return element_thing(obj->coll->type, obj->coll->id, obj->index);
}
/** "thread of Cell(3) in Cell::run"; otherwise the same thing as its element. */
struct csd_thing thread_thing(CthThread t);
/** "array Cell (2 of PE 0)": the second collection that PE 0 made. */
struct csd_thing coll_thing(const struct collection *c);
struct csd_thing entry_thing(const CkGenChare *type, uint32_t entry);
/** "Main::sum", "future 3 of PE 0" */
struct csd_thing callback_thing(struct pe *pe, const CkCallback *cb);

/* ---- waits for all elements ------------------------------------------------------------------ */

/** Elements of this PE that have not called a reduction, a scan or a sync. Zero at first. */
struct missing {
	uint64_t n;
	struct csd_thing first;
	char names[640];          /* "Cell(3), Cell(4) (away)" */
	size_t len;
};
void missing_add(struct missing *m, struct csd_thing element, bool away);

/** A wait for all elements, to be described. */
struct for_all {
	struct csd_thing what;    /* "scan 3 of array Cell (2 of PE 0)" */
	bool is_open;             /* it waits here; false: no element here has called, described on
				   * request */
	const char *more;         /* "sum_int, inclusive"; NULL: nothing */
	const char *act, *done;   /* " to call CkAtSync" or "", "called CkAtSync" */
	const char *others;       /* what it waits for if none is missing here: "other PEs" */
};
void tell_for_all(struct csd_told *to, const struct for_all *w, const struct missing *m);

/** The layer's: all parts, then the threads that no part has described. */
void ck_describe_waits(struct pe *pe, struct csd_told *to);

#endif
