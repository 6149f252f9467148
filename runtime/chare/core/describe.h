/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.h: how reports name elements, collections and threads, and what all parts have to say of what waits
 * (`describe` of struct ck_part).
 */
#ifndef CK_DESCRIBE_H
#define CK_DESCRIBE_H

#include "../../scheduler/cth.h"
#include "state.h"

/** Say a line. */
void say_line(csd_line_fn line, void *arg, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/** "Cell(3, 4)", "Member of PE 2", "Branch of node 1", "Main", "Lone 5 of PE 0" (the fifth that PE 0 made). */
const char *element_describe(const CkGenChare *type, CkIndex index, char *buf, size_t len);
static inline const char *obj_describe(const struct ck_obj *obj, char *buf, size_t len)
{
	return element_describe(obj->coll->type, obj->index, buf, len);
}

/** Names in a row, the first of them only: "Cell(3), Cell(4) and 93 more". Zeroed but for buf and len. */
struct name_list {
	char *buf;                /* the caller's */
	size_t len, at;
	uint64_t n;               /* names so far, with those that are not shown */
};
/** Count one more; true: it is shown, so the caller adds its name. */
bool names_next(struct name_list *l);
void names_add(struct name_list *l, const char *name);
/** Returns how many there were. */
uint64_t names_end(struct name_list *l);

/** "array Cell (2 of PE 0)": the second collection that PE 0 made. */
const char *coll_describe(const struct collection *c, char *buf, size_t len);

/** "thread of Cell(3) in Cell::run". The caller says what the thread waits for. */
const char *thread_describe(CthThread t, char *buf, size_t len);

/** Say that the element of a thread waits for another one. */
void say_waits(csd_line_fn line, void *arg, CthThread t, const CkGenChare *type, uint64_t coll, CkIndex index);

/** The same of anything that has a name. */
void say_waits_for(csd_line_fn line, void *arg, CthThread t, const char *what);

/** The layer's: all parts, then the threads that no part knows of. */
void ck_describe_waits(struct pe *pe, csd_line_fn line, void *arg);

#endif
