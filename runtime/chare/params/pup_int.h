/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pup_int.h: what the files share that run a program's pup functions: pup.c (the modes, bytes,
 * memory, parameters), pup_field.c (strings, callbacks, kept messages), pup_element.c (elements)
 * and pup_check.c (checked mode).
 */
#ifndef CK_PUP_INT_H
#define CK_PUP_INT_H

#include "params.h"

enum pup_mode { SIZING, PACKING, UNPACKING, DELETING };

/** Memory of the object that goes when the pup function has returned: until then the function may
 * look at it. */
struct pup_gone {
	void *p;
	size_t bytes;
	int memory;               /* CKGEN_*, or GONE_MESSAGE */
	const CkGenMessage *type; /* of a message that the program packs; else NULL */
};
enum { GONE_MESSAGE = 3 };

struct CkPupEr {
	enum pup_mode mode;
	const struct ck_obj *obj; /* the element; NULL: it is not about one */
	struct pup_block **made;  /* unpacking: the running handler's list; NULL: the program's memory */
	char *to;                 /* packing */
	const char *from;         /* unpacking */
	size_t bytes;             /* so far */
	size_t limit;             /* packing, unpacking: of bytes */
	struct pup_look *look;    /* packing: a check wants to know what memory it is; NULL: nobody asks */
	struct pup_fill *fill;    /* unpacking for a check: what new memory is filled with; NULL: with 0 */
	const void *self;         /* packing: look for addresses in the self_bytes of this struct; NULL: do
				   * not */
	size_t self_bytes;
	struct pup_gone *gone;    /* deleting: [n_gone], of malloc */
	size_t n_gone, room;
	struct pup_pieces *pieces; /* sizing: where the memory is; NULL: nobody asks */
};

/** Pieces of memory, in any order. */
struct pup_pieces {
	struct csd_piece *piece;  /* [n], of malloc */
	size_t n, room;
};
void pup_piece(struct pup_pieces *all, const void *at, size_t bytes);

/** What memory is filled with in checked mode: what unpacking has to set, and what an element has
 * left. */
enum { PUP_UNSET = 0xa5, PUP_LEFT = 0xd5 };

/** What a check learns while an element is packed (pup_check.c). All of malloc. */
struct pup_look {
	struct pup_gone *block;   /* [n_blocks]: what pup_alloc was given, call by call; p is NULL where
				   * there is nothing */
	size_t n_blocks, room;
	struct pup_pieces skipped, packed;
};
void pup_note_block(struct CkPupEr *p, struct pup_gone block);
/** Unpacking, in pup_alloc: abort unless the element has as many bytes there; then fill the new
 * ones. */
void pup_fill_size(struct CkPupEr *p, size_t bytes);
void pup_fill_new(struct CkPupEr *p, void *mem);
/** Abort if the word at v, of the struct p->self, is an address. */
void pup_look_for_address(struct CkPupEr *p, const void *v);

/** Run the pup function, with no handler running. */
void element_run(struct pe *pe, struct CkPupEr *p, struct ck_obj *obj);
/** The bytes of the user's struct, packed by X_pup. */
size_t element_struct_size(struct pe *pe, struct ck_obj *obj);

/** Behind the pup function: abort unless it packed as many bytes as it said, or unpacked as many as
 * it packed. */
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
/** Deleting: gone.p goes when the pup function has returned. NULL is allowed. */
void pup_let_go(struct CkPupEr *p, struct pup_gone gone);
/** Sort the list; abort if the same memory is in it twice. */
void pup_check_apart(const struct CkPupEr *p, struct pup_gone *gone, size_t n);
/** Behind the pup function: free what it let go. */
void pup_free_gone(struct pe *pe, struct CkPupEr *p);
/** Unpacking: abort unless there are as many bytes left as the object says it has. */
void pup_must_have(const struct CkPupEr *p, uint64_t n, uint64_t bytes, const char *name);

/** Free a message that an element kept, with what it points to. */
void pup_free_message(struct pe *pe, void *msg, const CkGenMessage *type);

#endif
