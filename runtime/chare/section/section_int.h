/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_int.h: what the files of sections share.
 *
 *	section_record.c  the records by number, members here, misuse
 *	section_newborn.c which multicasts elements get that are inserted
 *	section_make.c    who belongs to it: its list and its tree
 *	section_reduce.c  reductions over its members
 *	section_save.c    sections in checkpoints
 *	section.c         multicast, the end
 */
#ifndef CK_SECTION_INT_H
#define CK_SECTION_INT_H

#include "section.h"

/* Handlers of PART_SECTION. */
enum { H_MULTICAST, H_CONTROL };

struct section_member {
	CkIndex index;
	uint32_t n_contributed;
};

/* The members of one array (or group) on one PE: first .. first + n - 1. Most sections have one
 * array. */
struct section_array {
	struct collection *coll;
	uint32_t first, n;
};

/** One PE's share of a section. The tree is fixed when the section is made: the PE that made it is
 * the root, and the PEs that have members are below it. A record without a type has messages that
 * came before the section's list. */
struct section {
	uint64_t id;              /* contains the PE that made it, as a collection's id does */
	int root;                 /* of its tree: section_home */
	const CkGenChare *type;   /* of all members */
	struct section_array *arrays; /* arrays of this PE's members, by id */
	uint32_t n_arrays;
	struct section_member *members; /* of this PE, by array, in index order */
	struct ck_obj **objs;     /* space for n_members: the elements that a message goes to */
	uint32_t n_members, next; /* next: the member whose contribution is expected */
	struct reduce_tree tree;
	int n_pes, *pes;          /* at the root: the PEs that have members */
	uint64_t n_sent;          /* multicasts that went to the children */
	uint64_t n_delivered;     /* multicasts that have been handled here */
	uint64_t end;             /* destroyed after this many multicasts; UINT64_MAX: exists */
	bool asked;               /* this PE has asked the root whether it has members */
	bool hears;               /* it has asked the root to be told of the section's end, unless it has
				   * members */
	bool is_outside;          /* it has none */
	struct reduction *reductions;
	uint32_t n_passed;        /* reductions whose partial result has gone up, or whose callback has
				   * fired */
	struct msg_fifo waiting;  /* messages that came too early */
	/* section_newborn.c */
	uint64_t n_begun;         /* multicasts that this PE has begun: their numbers */
	struct spans came, seen;  /* multicasts that have been handled here / that this PE has seen,
				   * besides its own */
	struct section *next_seen, **link_seen; /* in the list of an array's sections; not in it: link_seen
						 * is NULL */
	uint32_t n_newborns;      /* elements here that do not get some */
	uint32_t n_unsure;
	CkElement *unsure;        /* ours: those of them that may be no members, as the list has not
				   * arrived */
	int n_outside, *outside;  /* ours; at the root: PEs without members that know the section */
};

/* Elements that call their neighbours have a section each, so a PE remembers where several are. A
 * power of two: as many as the elements of a PE in a fine-grained program. */
enum { SECTIONS_RECENT = 64 };

/** On a PE. */
struct sections {
	struct idmap by_id;
	struct section *recent[SECTIONS_RECENT]; /* found lately, by section_recent; or NULL */
	struct section *mixed;    /* those that may have members of several arrays */
	uint32_t n_made;          /* sections that this PE made */
	struct idmap saved;       /* a restart: struct section_saved by id, until all are read */
};

/** Of a collection on a PE. */
struct section_coll {
	struct section *seen;     /* those whose members are all of this array */
	struct idmap newborns;    /* struct section_newborn by index */
};

static inline struct sections *sections_of(const struct pe *pe)
{
	return ck_state(pe, PART_SECTION);
}
static inline struct section_coll *section_coll_of(const struct collection *c)
{
	return coll_state(c, PART_SECTION);
}

/* Messages besides multicasts. The kind is in `section.kind` of a struct ck_env whose `coll` is
 * the section. */
enum section_kind {
	SECTION_START,            /* waits at the root for an array's extents */
	SECTION_CREATE,           /* down: struct section_list of a subtree */
	SECTION_CONTRIBUTE,       /* waits at a PE for the creation */
	SECTION_PART,             /* up: the partial result of a subtree */
	SECTION_ASK,              /* to the root: has this PE members? */
	SECTION_DESTROY,          /* to the root, then down */
	SECTION_HEAR,             /* to the root: this PE asks whether it has members, and for news of the
				   * end */
	SECTION_OUTSIDE,          /* from the root: it has none / the section has ended */
	SECTION_OVER,
};

/* A section's id: the root's PE, the section's number there, and whether its members may be of
 * several arrays. */
#define SECTION_MIXED (UINT32_C(1) << 31)

static inline int section_root(uint64_t id) { return (int)(id >> 32); }
/** The root of its tree: the PE that made it, or the one that has taken its place in a job that was
 * restarted with fewer PEs. */
static inline int section_home(const struct pe *pe, uint64_t id)
{
	const int maker = section_root(id), n_pes = pe->node->job->n_pes;

	return CSD_LIKELY(maker < n_pes) ? maker : maker % n_pes;
}
static inline unsigned section_no(uint64_t id) { return (uint32_t)id & ~SECTION_MIXED; }
static inline bool section_mixed(uint64_t id) { return (uint32_t)id & SECTION_MIXED; }
static inline bool section_known(const struct section *s) { return s && s->type; }

struct section_list;
struct image_name;
struct image_out;

/* section_make.c */
/** The error of a SECTION_CREATE of another process; NULL: none. */
const char *section_list_misfit(struct pe *pe, const struct ck_env *env);
/** Begin with a SECTION_START message; the call takes it over. Like calls, it waits until this PE
 * knows the extents of all its arrays. */
void section_start(struct pe *pe, struct section *s, struct ck_env *env);
/** The same for a section of a checkpoint, with these members; every PE knows its arrays. */
void section_remake(struct pe *pe, struct section *s, const CkGenChare *type, const CkElement *list,
		    uint32_t n);
/** The section's list has arrived: take our members, forward the others, and handle the messages
 * that came too early. */
void section_install(struct pe *pe, struct section *s, struct section_list *l);

/* section_record.c */
uint64_t section_new_id(struct pe *pe);
void *section_zeroed(size_t n, size_t bytes);
struct section *section_search(const struct pe *pe, uint64_t id);
struct section *section_get_slow(struct pe *pe, uint64_t id);

/** Where a section is remembered. The factor keeps the sections that two PEs make first apart. */
static inline struct section **section_recent(const struct pe *pe, uint64_t id)
{
	return &sections_of(pe)->recent[((uint32_t)id + section_root(id) * 37u) % SECTIONS_RECENT];
}

static inline struct section *section_find(const struct pe *pe, uint64_t id)
{
	struct section *s = *section_recent(pe, id);

	return CSD_LIKELY(s && s->id == id) ? s : section_search(pe, id);
}
/** The same; makes it if there is none. */
static inline struct section *section_get(struct pe *pe, uint64_t id)
{
	struct section *s = *section_recent(pe, id);

	return CSD_LIKELY(s && s->id == id) ? s : section_get_slow(pe, id);
}
bool section_is_set(const struct pe *pe, uint64_t id);
_Noreturn void section_unset(struct pe *pe, const char *what);
/** who: what the section was used for, "PE 2 called Cell::note on it". */
_Noreturn void section_gone(struct pe *pe, uint64_t id, const char *who);
void section_post(struct pe *pe, int dst_pe, uint64_t id, enum section_kind kind,
		  struct ck_env *env);

void section_free(struct pe *pe, struct section *s);
/** Take the record out of its table, and free it. */
void section_remove(struct pe *pe, struct section *s);
/** Whether the element is a member that is counted here. */
bool section_has(const struct section *s, const struct collection *c, CkIndex i);
/** The number of c among the section's arrays on this PE; n_arrays: it is none of them. */
uint32_t section_array_of(const struct section *s, const struct collection *c);
/** From now on insertions of this PE say what it has seen of the section. c: a collection that has
 * members. */
void section_list_seen(struct pe *pe, struct section *s, const struct collection *c);

/* section_newborn.c */
/** The section's record, on a PE that need not have members; at the root NULL: it has ended, or was
 * never made. */
struct section *section_heard_of(struct pe *pe, uint64_t id);
/** At the root: a PE has sent SECTION_HEAR. */
void section_hears(struct pe *pe, struct section *s, int from);
/** The section ends: tell the PEs without members. */
void section_tell_over(struct pe *pe, const struct section *s);
/** Such a PE is told. */
void section_over(struct pe *pe, struct section *s);
/** Whether the element must not get this multicast, which has come to its home. */
bool section_passes_over(struct pe *pe, struct section *s, struct collection *c, CkIndex i,
			 const struct ck_of_all *of);
/** It is known now whether this PE has members, and which. */
void section_sure(struct pe *pe, struct section *s);
void section_newborns_fini(struct pe *pe, struct collection *c);
/* Functions of the part (part.h). */
void section_stamp(struct pe *pe, const struct collection *c, struct spans *to);
void section_inserted(struct pe *pe, struct collection *c, CkIndex i, const struct span *list,
		      uint32_t n, struct msg_fifo *waiting);
void section_copy_began(struct pe *pe, CkSection section, int root, uint64_t no);

/* section_reduce.c */
void section_contribution(struct pe *pe, struct section *s, struct ck_env *env);
void section_filed(struct pe *pe, struct ck_obj *seat, struct ck_env *env, int from); /* part.h */
const char *section_filed_misfit(struct pe *pe, const struct ck_env *env);
void section_ask(struct pe *pe, struct section *s, CkIndex index, uint16_t chare);
void section_part_came(struct pe *pe, struct section *s, struct ck_env *env);
const char *section_values_misfit(struct pe *pe,
				  const struct ck_env *env); /* of a part or a contribution */
void section_describe(struct pe *pe, const struct section *s, struct csd_told *to);
/** Only what has begun. */
void section_describe_open(struct pe *pe, const struct section *s, struct csd_told *to);

/* section_save.c: functions of the part's `save` */
void sections_refuse(struct pe *pe, struct csd_told *to);
void sections_write(struct pe *pe, struct image_out *out);
bool section_is_mine(struct pe *pe, const struct image_name *name);
const char *section_read(struct pe *pe, const struct image_name *name, const void *bytes, size_t n);
void sections_read_all(struct pe *pe);

#endif
