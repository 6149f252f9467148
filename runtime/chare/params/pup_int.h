/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pup_int.h: what pup.c, which has the functions that a program's pup functions call, and element.c, which
 * packs elements, share.
 */
#ifndef CK_PUP_INT_H
#define CK_PUP_INT_H

#include "params.h"

enum pup_mode { SIZING, PACKING, UNPACKING, DELETING };

/** Memory of one pup_alloc that goes when the pup function has returned: until then it may be read. */
struct pup_gone {
	void *p;
	size_t bytes;
};

struct CkPupEr {
	enum pup_mode mode;
	const struct ck_obj *obj; /* the element; NULL: it is not about one */
	struct pup_block **made;  /* unpacking: the running handler's list; NULL: the program's memory */
	char *to;                 /* packing */
	const char *from;         /* unpacking */
	size_t bytes;             /* so far */
	size_t limit;             /* packing, unpacking: of bytes */
	struct pup_gone *gone;    /* deleting: [n_gone], of malloc */
	size_t n_gone, room;
};

/** End the job because a pup function did something wrong; the line begins with the element's name. */
_Noreturn void pup_fault(const struct CkPupEr *p, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));

#endif
