/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part.h: the table of each part of the chare layer.
 *
 * A part is a module that has state, or that others must call without knowing it. Each part has one
 * constant table, `struct ck_part`, called x_part. Only layer.c lists all parts: a new part is a
 * folder (or a file) with its table, and one line there. Rooms are folders with one or more parts.
 * A room calls the rooms below it by name. Calls upward go through these tables, on slow paths
 * only.
 *
 * Each part has a constant number, the index of its state and its handlers. Numbers rise in the
 * order of the list. A duplicate number, or one out of order, ends the job at start.
 *
 *	enum { PART_STATS = 27 };                   its number
 *	ck_state(pe, PART_STATS)                    its state on a PE: pe_bytes, zeroed at the start
 *	ck_node_state(node, PART_STATS)             its state on a node: node_bytes
 *	coll_state(c, PART_STATS)                   its state of a collection on a PE: coll_bytes
 *	ck_handler(pe, PART_STATS, H_TELL)          the number of one of its message handlers
 *
 * All members but `name` and `number` may be left out. Hooks that a single room calls are in that
 * room's header, where the parts above register when the node starts (place_watch.h, call.h,
 * wait.h, named.h).
 */
#ifndef CK_PART_H
#define CK_PART_H

#include "../../../scheduler/pe.h"
#include "../../ckgen.h"
#include "saving.h"

struct ck_env;
struct image_name;
struct image_out;
struct ck_obj;
struct collection;

enum { CK_PARTS = 35 };           /* numbers 0 .. CK_PARTS - 1 */

/** A message handler. `apart`: its messages keep their order only among themselves
 * (csd_order_apart). `early`: they are handled before the readonly variables have come
 * (csd_handle_early). `trace`: CSD_TRACE_* (traced.h). */
struct ck_handler {
	const char *name;
	CmiHandler fn;
	bool apart, early;
	struct csd_shape shape;   /* what it takes from other processes; left out: nothing */
	CmiHandler arrived;       /* see csd_expect; mostly NULL */
	uint8_t trace;
};

/** The members of a callback that name the target, by kind. */
enum ck_names {
	CK_NAMES_UNSENT,          /* never in a message of another process or of a program */
	CK_NAMES_NOTHING,
	CK_NAMES_PE,              /* pe: where it fires; valid only there */
	CK_NAMES_ENTRY,           /* pe, entry: a chare's number and its entry; the same everywhere */
};

/** One kind of callback (enum callback_kind) and its operations. */
struct ck_callback_kind {
	uint8_t kind;
	uint8_t names;            /* enum ck_names */
	/** Fire such a callback with the message, which it takes. On any PE; possibly inside a handler. */
	void (*send)(struct pe *pe, const CkCallback *cb, struct ck_env *env);
	/** The name in reports and error lines. NULL: the callback's entry method. */
	struct csd_thing (*describe)(struct pe *pe, const CkCallback *cb);
	/** Fire it with a message of the program, of this type, as its stub would; takes the message.
	 * `chare` is the entry's. NULL: it takes no message (CK_NAMES_NOTHING: it fires without). */
	void (*give)(const CkGenChare *chare, const CkCallback *cb, void *msg, const CkGenMessage *type);
	const char *instead;      /* if it takes none: advice for the program */
};

/** The stage of delivery (deliver.c) at which a part takes over a call. */
enum ck_stage {
	CK_TAKES_CALL,            /* keeps the message, instead of running the handler now */
	CK_STARTS,                /* starts the handler on another stack; parameters are ready */
	CK_RUNS,                  /* calls the handler other than as a void function */
	CK_STAGES
};

/** Returns whether it took the call. With `shared` the caller still owns the message. In stage
 * CK_RUNS it always takes the call. */
typedef bool (*ck_takes_fn)(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);

/** An attribute of entries (a CKGEN_* flag), and the function that takes their calls. */
struct ck_attribute {
	uint32_t flag;
	enum ck_stage stage;
	ck_takes_fn takes;
};

/** Operations of a kind of chare that differ from those of array elements. NULL: the same, or
 * impossible. */
struct ck_kind {
	CkGenKind kind;
	bool replaces;            /* the entry of a part below: of create/ by place/, for arrays */
	/** Groups: a new collection is announced to this PE (create/announce.c). Keep the message, which
	 * names the collection and has the constructor's parameters; construct nothing yet. */
	void (*announced)(struct pe *pe, const CkGenChare *type, struct ck_env *env);
	/** Groups: construct this PE's branch of an announced collection, unless that is done. May be
	 * called inside a handler. */
	void (*born)(struct pe *pe, const CkGenChare *type, uint64_t id);
	/** Send a call to one element; takes the message. */
	void (*send)(struct pe *pe, const CkGenChare *type, const CkElement *e, struct ck_env *env);
	/** Send a call to all elements of a collection; takes the message. */
	void (*send_all)(struct pe *pe, const CkGenChare *type, uint64_t id, struct ck_env *env);
	/** The object on this PE, or NULL. */
	struct ck_obj *(*local)(struct pe *pe, const CkGenChare *type, const CkElement *e);
	/** A call came to a PE without its element. Takes the message. NULL: the call is lost. */
	void (*missing)(struct pe *pe, struct collection *c, struct ck_env *env);
	/** Keep a call that waits for its condition; takes the message. */
	void (*keep)(struct ck_obj *obj, struct ck_env *env);
	/** `obj` contributes. Returns the collection that keeps this PE's share of the reduction; NULL:
	 * the contribution was sent elsewhere. */
	struct collection *(*contribute)(struct pe *pe, struct ck_obj *obj, const void *data,
					 uint64_t count, CkReduction op, const CkCallback *cb);
	/** CkDestroy. When it returns, calls no longer find the object. */
	void (*destroy)(struct pe *pe, struct ck_obj *obj);
	/** An array without extents gets its type; `empty`: it is made without elements. NULL: there are
	 * none. */
	void (*sparse)(struct pe *pe, struct collection *c, bool empty);
	/** The PE for a message that came before the collection's creation; -1: that of a call with this
	 * address. */
	int (*early)(struct pe *pe, const struct collection *c, const struct cmi_msg *m);
	/** seat_send (create.h). NULL: no element is OBJ_AWAY. */
	void (*seat_send)(struct pe *pe, struct ck_obj *obj, int part, struct ck_env *env);
	/** Of arrays NULL. */
	const struct ck_saving *saving;
};

/** Events of elements and collections that a part observes. The layer calls these functions for all
 * kinds of chares, on the PE of the event. */
struct ck_watch {
	/** An element is in its tables and is constructed next. */
	void (*created)(struct pe *pe, struct ck_obj *obj);
	/** Calls no longer find the element; its memory still exists. */
	void (*destroyed)(struct pe *pe, struct ck_obj *obj);
	/** This PE's elements of a new collection exist; none is constructed yet. */
	void (*constructed)(struct pe *pe, struct collection *c);
	/** The job ends: free what coll_state(c) points to. */
	void (*fini)(struct pe *pe, struct collection *c);
};

/** Returned by node_start if the part has nothing to do in this job; then the layer does not call
 * it again. */
enum { CK_PART_OFF = 1 };

/** A list in a part's table, of an array of the same file. */
#define CK_LIST(array) { array, (int)(sizeof(array) / sizeof *(array)) }

/** A part's table. */
struct ck_part {
	const char *name;
	int number;
	size_t node_bytes, pe_bytes, coll_bytes;
	size_t elem_bytes;        /* of each element of an array that has resumeFromSync, in a job of
				   * several PEs; moves with the element as bytes (obj_more). Only load balancing uses it: more
				   * users would need offsets */

	struct { const struct ck_handler *list; int n; } handlers; /* CK_LIST */
	struct { const struct ck_callback_kind *list; int n; } callbacks; /* CK_LIST */
	struct { const struct ck_attribute *list; int n; } attributes; /* CK_LIST */
	struct { const struct ck_kind *list; int n; } kinds; /* CK_LIST */
	struct ck_watch watch;

	/** Once per node, on the main thread, before any PE runs and before the program's
	 * tables are known. 0, CK_PART_OFF, or a negative errno after printing why. */
	int (*node_start)(struct node *node);
	/** On each PE's thread before its loop; the parts below have started. */
	void (*pe_start)(struct pe *pe);
	/** On each PE's thread after its loop; the parts above have stopped. Drop what waits. All elements
	 * and collections still exist. */
	void (*pe_stop)(struct pe *pe);
	/** As csd_layer.forked. */
	void (*forked)(struct pe *pe);
	/** When all parts have stopped: free objects that others may have used until now. */
	void (*pe_free)(struct pe *pe);
	void (*node_stop)(struct node *node);

	/** Describe what waits on this PE and for what, one record each, for the watchdog. If the PEs of a
	 * node share the described state, only if csd_at_rest. */
	void (*describe)(struct pe *pe, struct csd_told *to);

	/** As csd_layer.obey. */
	bool (*obey)(struct pe *pe, const struct csd_order *o);
	/** As csd_layer.let_go. */
	bool (*let_go)(struct pe *pe);

	/** Checkpoints (save/). The job is at rest and frozen: no handler runs on any PE. */
	struct {
		/** Describe what cannot be saved, one record each; the checkpoint is not taken then. The line
		 * names the thing, and says what the program can do if that is not plain. */
		void (*refuse)(struct pe *pe, struct csd_told *to);
		/** Write records (out->add). Called twice: the first call measures, and nothing may change. */
		void (*write)(struct pe *pe, struct image_out *out);
		/** With elem_bytes: `more` is a copy of an element's, for the image. Clear what only this run
		 * knows. Returns whether the element waits until the part calls its resumeFromSync. */
		bool (*clear)(void *more);
		/** Kinds of records that `read` takes: bits 1 << enum image_kind. */
		uint32_t kinds;
		/** Restart: whether this PE keeps what the record has. Called on every PE for every record of
		 * these kinds of the whole image, so that a part can also note where others' things live. */
		bool (*mine)(struct pe *pe, const struct image_name *name);
		/** Restart, after `mine` said so: make it anew from the record's bytes, which are 16-aligned and
		 * whose sum is right. Returns NULL, or what is wrong with them. */
		const char *(*read)(struct pe *pe, const struct image_name *name, const void *bytes, size_t n);
		/** Restart: all records of all PEs have been read. Then queued messages are handled. */
		void (*read_all)(struct pe *pe);
	} save;
};

#endif
