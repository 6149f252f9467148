/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part.h: what a part of the chare layer brings along.
 *
 * The layer is made of parts: modules that have state or that others must call without knowing them.
 * Each part has one constant table, `struct ck_part`, called x_part. The list of all parts stands in
 * layer.c, and nowhere else: a new part is a folder (or a file) with its table, and one line there. Rooms are
 * folders with one or more parts. A room calls rooms below it by name; everything that has to
 * go upward goes through these tables, on slow paths only.
 *
 * A part has a number, constant and its own, by which it finds its state and its handlers without a
 * search. Numbers rise in the order of the list; a number that is taken, or out of order, ends the
 * job when it starts.
 *
 *	enum { PART_STATS = 24 };                   its number
 *	ck_state(pe, PART_STATS)                    its state on a PE: pe_bytes, zeroed at the start
 *	ck_node_state(node, PART_STATS)             on a node: node_bytes
 *	coll_state(c, PART_STATS)                   of a collection on a PE: coll_bytes
 *	ck_handler(pe, PART_STATS, H_TELL)          the number of one of its message handlers
 *
 * All members but `name` and `number` may be left out.
 */
#ifndef CK_PART_H
#define CK_PART_H

#include "../../scheduler/pe.h"
#include "../ckgen.h"

struct ck_env;
struct ck_obj;
struct collection;

enum { CK_PARTS = 32 };           /* numbers 0 .. CK_PARTS - 1 */

/** A message handler. `apart`: its messages keep their order among themselves only
 * (csd_order_apart). */
struct ck_handler {
	const char *name;
	CmiHandler fn;
	bool apart;
};

/** One kind of callback (enum callback_kind). */
struct ck_callback_kind {
	uint8_t kind;
	/** Takes the message. On any PE; may be inside a handler. */
	void (*send)(struct pe *pe, const CkCallback *cb, struct ck_env *env);
	/** In error lines. NULL: its entry method. */
	void (*describe)(struct pe *pe, const CkCallback *cb, char *buf, size_t len);
};

/** When a part takes a call over from the plain way (deliver.c). */
enum ck_stage {
	CK_TAKES_CALL,            /* instead of running the handler now; it keeps the message */
	CK_STARTS,                /* instead of calling it on this stack; parameters are ready */
	CK_RUNS,                  /* instead of calling it as a function that returns nothing */
	CK_STAGES
};

/** An attribute of entries (a CKGEN_* flag), and who takes such calls. */
struct ck_attribute {
	uint32_t flag;
	enum ck_stage stage;
	/** Returns whether the call was taken. The message is the element's own, or, `shared`, its
	 * caller's. CK_RUNS always takes. */
	bool (*takes)(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
};

/** What a kind of chare does in its own way. NULL: as an element of an array, or an error. */
struct ck_kind {
	CkGenKind kind;
	/** Create a collection of these; takes the message, which has the constructor's parameters. */
	CkProxy (*create)(struct pe *pe, struct ck_env *env);
	/** To one of them; takes the message. */
	void (*send)(struct pe *pe, const CkGenChare *type, const CkElement *e, struct ck_env *env);
	/** To all of a collection; takes the message. */
	void (*send_all)(struct pe *pe, const CkGenChare *type, uint64_t id, struct ck_env *env);
	/** The object on this PE, or NULL. */
	struct ck_obj *(*local)(struct pe *pe, const CkGenChare *type, const CkElement *e);
	/** A call that waits for its condition. Takes the message. */
	void (*keep)(struct ck_obj *obj, struct ck_env *env);
	/** One of them contributes. Returns the collection that keeps this PE's part of the
	 * reduction; NULL: the contribution went elsewhere. */
	struct collection *(*contribute)(struct pe *pe, struct ck_obj *obj, const void *data,
					 uint64_t count, CkReduction op, const CkCallback *cb);
	/** CkDestroy. From its return on nobody finds the object. */
	void (*destroy)(struct pe *pe, struct ck_obj *obj);
};

/** What a part wants to be told about elements and collections, of all kinds of chares, on the PE
 * where it happens. */
struct ck_watch {
	/** An element is in its tables and is constructed next. */
	void (*created)(struct pe *pe, struct ck_obj *obj);
	/** It has come from another PE. / It is about to go to another PE. */
	void (*arrived)(struct pe *pe, struct ck_obj *obj);
	void (*leaving)(struct pe *pe, struct ck_obj *obj);
	/** Nobody finds it any more; its memory is still there. */
	void (*destroyed)(struct pe *pe, struct ck_obj *obj);
	/** The elements of this PE that belong to a new collection exist; none is constructed. */
	void (*constructed)(struct pe *pe, struct collection *c);
	/** From now on elements of it come and go: c->dynamic is set. */
	void (*dynamic)(struct pe *pe, struct collection *c);
	/** The job ends: free what hangs on coll_state(c). */
	void (*fini)(struct pe *pe, struct collection *c);
};

/** Where bytes go to and come from: a checkpoint, another PE, another node. */
struct ck_pup;

/** Returned by node_start: this part has nothing to do in this job; nobody calls it again. */
enum { CK_PART_OFF = 1 };

struct ck_part {
	const char *name;
	int number;
	size_t node_bytes, pe_bytes, coll_bytes;

	const struct ck_handler *handlers;
	int n_handlers;
	const struct ck_callback_kind *callbacks;
	int n_callbacks;
	const struct ck_attribute *attributes;
	int n_attributes;
	const struct ck_kind *kinds;
	int n_kinds;
	struct ck_watch watch;

	/** Once per node, on the main thread, before any PE runs and before the program's
	 * tables are known. 0, CK_PART_OFF, or a negative errno after printing why. */
	int (*node_start)(struct node *node);
	/** On each PE's thread before its loop; the parts below have started. */
	void (*pe_start)(struct pe *pe);
	/** After the loop, parts above first: drop what waits. All elements and collections are still
	 * there. */
	void (*pe_stop)(struct pe *pe);
	/** When all parts have stopped: free objects that others may have looked at until now. */
	void (*pe_free)(struct pe *pe);
	void (*node_stop)(struct node *node);

	/** A call that no element took where it arrived: the array is sparse, or the element is
	 * not there. Takes the message. One part has this. */
	void (*seek)(struct pe *pe, struct collection *c, struct ck_env *env);
	/** A handler of an element with obj->extra has ended on the PE's own stack. One part. */
	void (*behind)(struct pe *pe, struct ck_obj *obj);

	/* Places for what comes: nobody calls these yet. */

	/** Write, or read back, what the part keeps of an element (obj), of a collection (obj NULL),
	 * or of the PE (both NULL): for moves, checkpoints, restarts. */
	void (*save)(struct pe *pe, struct collection *c, struct ck_obj *obj, struct ck_pup *to);
	void (*restore)(struct pe *pe, struct collection *c, struct ck_obj *obj, struct ck_pup *from);
	/** Say what waits here and for what, a line each: for the watchdog, and the dump at the end
	 * of a job. */
	void (*describe)(struct pe *pe, void (*line)(void *arg, const char *text), void *arg);
	/** What is under way here that the scheduler's counts do not show: for quiescence. */
	uint64_t (*count)(struct pe *pe);
};

#endif
