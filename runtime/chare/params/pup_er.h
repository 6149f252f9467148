/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pup_er.h: shared by the files that run a program's pup functions: pup.c (the modes, bytes,
 * memory, parameters), pup_field.c (strings, callbacks, kept messages), and the room element/:
 * pup_element.c (elements) and pup_check.c (checked mode).
 */
#ifndef CK_PUP_ER_H
#define CK_PUP_ER_H

#include "params.h"
#include "../../image/image.h"

enum pup_mode { SIZING, PACKING, UNPACKING, DELETING };

/** Memory to be freed when the pup function has returned: until then the function may use it. */
struct pup_gone {
	void *p;
	size_t bytes;
	int memory;               /* CKGEN_*, or GONE_MESSAGE */
	const CkGenMessage *type; /* of a message that the program packs; else NULL */
};
enum { GONE_MESSAGE = 3 };

struct CkPupEr {
	enum pup_mode mode;
	const struct ck_obj *obj; /* the element; NULL: another object */
	struct pup_block **made;  /* unpacking: the running handler's list; NULL: the program's memory */
	char *to;                 /* packing */
	struct image_out *out;    /* packing: whose record it is, or NULL */
	const char *from;         /* unpacking */
	size_t bytes;             /* so far */
	size_t limit;             /* packing, unpacking: of bytes */
	const struct pup_checks *checks; /* of the next three, which are NULL without */
	struct pup_look *look;    /* packing: records its memory for a check, or NULL */
	struct pup_fill *fill;    /* unpacking for a check: the contents of new memory; NULL: zero */
	const void *self;         /* packing: look for addresses in the self_bytes of this struct; NULL: do
				   * not */
	size_t self_bytes;
	struct pup_gone *gone;    /* deleting: [n_gone], of malloc */
	size_t n_gone, room;
	struct pup_pieces *pieces; /* sizing: collects its memory, or NULL */
};

/** Pieces of memory, in any order. */
struct pup_pieces {
	struct csd_piece *piece;  /* [n], of malloc */
	size_t n, room;
};
void pup_piece(struct pup_pieces *all, const void *at, size_t bytes);

/** Patterns in memory in checked mode: of bytes that unpacking must set, and of a freed element. */
enum { PUP_UNSET = 0xa5, PUP_LEFT = 0xd5 };

/** Data of a check about an element while it is packed (pup_check.c). All of malloc. */
struct pup_look {
	struct pup_gone *block;   /* [n_blocks]: what pup_alloc was given, call by call; p is NULL where
				   * there is nothing */
	size_t n_blocks, room;
	struct pup_pieces skipped, packed;
};
struct pup_checks {
	/** Packing, in pup_alloc, with p->look. */
	void (*note_block)(struct CkPupEr *p, struct pup_gone block);
	/** Unpacking, in pup_alloc, with p->fill: abort unless the element has the same size there; then
	 * fill the new memory. */
	void (*fill_size)(struct CkPupEr *p, size_t bytes);
	void (*fill_new)(struct CkPupEr *p, void *mem);
	/** Abort if the word at v, of the struct p->self, is an address. */
	void (*look_for_address)(struct CkPupEr *p, const void *v);
};

/** Elements lose in a move what X_pup does not restore, other chares only in a restart. */
static inline bool pup_moves(const struct CkPupEr *p)
{
	return p->obj->coll->type->kind == CKGEN_ARRAY;
}

/** After the pup function: abort unless it packed as many bytes as sizing gave, or unpacked as many
 * as it packed. */
void pup_check_packed(const struct CkPupEr *p);
void pup_check_unpacked(const struct CkPupEr *p);

/** Memory for the parameters of the running handler: the first of the list. */
/* Memory of one pup_alloc; the bytes follow. */
struct pup_block {
	struct pup_block *next;
	uint64_t pad;
};
_Static_assert(sizeof(struct pup_block) == 16, "the object stays 16-aligned");

void *pup_block_new(struct pup_block **list, size_t bytes);

/** Memory of the kind CKGEN_*, as pup_alloc. */
void *pup_alloc_of(struct CkPupEr *p, void *old, size_t bytes, int memory);
/** Deleting: free gone.p when the pup function has returned. NULL is allowed. */
void pup_let_go(struct CkPupEr *p, struct pup_gone gone);
/** Sort the list; abort if the same memory is in it twice. */
void pup_check_apart(const struct CkPupEr *p, struct pup_gone *gone, size_t n);
/** After the pup function: free the memory that it gave up. */
void pup_free_gone(struct pe *pe, struct CkPupEr *p);
/** Unpacking: abort unless as many bytes remain as the object claims. */
void pup_must_have(const struct CkPupEr *p, uint64_t n, uint64_t bytes, const char *name);

/** Free a message that an element kept, with what it points to. */
void pup_free_message(struct pe *pe, void *msg, const CkGenMessage *type);

#endif
