/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdag_int.h: shared by the files that print bodies of Structured Dagger (gen_sdag.c). Each calls
 * only later ones, except that statements contain statements:
 *
 *	gen_sdag.c         the functions, tables and constants of a body
 *	gen_sdag_run.c     the struct of its run
 *	gen_sdag_jumps.c   statements around one that waits
 *	gen_sdag_parts.c   parts with machines of their own
 *	gen_sdag_when.c    places where it waits for calls
 *	gen_sdag_plain.c   statements that do not wait
 *	gen_sdag_region.c  variables, and what a machine notes
 *	gen_sdag_waits.c   what can wait
 *	gen_sdag_text.c    the user's text
 */
#ifndef CI_SDAG_INT_H
#define CI_SDAG_INT_H

#include "gen.h"
#include "gen_int.h"

/** A variable that the user's text may use. The list begins with the innermost one. */
struct scope {
	const struct scope *up;
	const char *type, *name;
	const char *dims;         /* "[2]"; mostly "" */
	const char *member;       /* of the run, without what stands before the dot */
	int level;                /* of the machine in whose run it lies */
};

/** A point where the machine waits, in the order of CkGenRun.at. */
struct place {
	struct place *next;
	const struct ci_sdag *x;  /* the statement with the calls; NULL: it waits for branches or
				   * buffers */
	int slot, n;
	int line;
	int open;                 /* number of the innermost open thing; -1: none */
};

/** The function of a body, or of a branch: of all branches of a forall. */
struct machine {
	struct ci_out *o;
	const struct ci_chare *c;
	const struct ci_entry *e;
	struct machine *next;     /* all of the entry, the outer ones first */
	const struct machine *up; /* around a branch; NULL: the body */
	const struct ci_sdag *first;    /* its statements */
	const struct ci_sdag *forall;   /* of which it is a branch, or NULL */
	const struct scope *scope;
	int level;
	const char *suffix;       /* "_X_f"; of a part "5_X_f"; of the parts of a forall "e5_X_f" */
	struct place *places, **last;
	int n_places;
	int n_open;
	const char *opens;        /* the printed constants of what is open somewhere */
	const char *parts;        /* the printed table of its branches' bodies */
	int n_parts;
};

/** The current position of the printing in a machine. */
struct at {
	const struct scope *scope;
	int slot;                 /* the first that is free */
	int around;               /* the slot of the call that runs; -1: the body's own, or the part */
	int open;
};

/** The code of a region: variables that it names may have changed. */
struct printed {
	const struct ci_sdag *from, *end;         /* statements */
	const struct ci_expr *text;               /* or one text */
	const struct ci_awaited *calls;           /* or the numbers of calls */
	const struct ci_sdag *forall;             /* or the bounds of a forall */
};

/* ---- gen_sdag_text.c ---------------------------------------------------------------------------- */

/** Print the text on lines of its own. */
void sdag_text(struct ci_out *o, const struct ci_expr *x);
void sdag_indent(struct ci_out *o, int depth);

/** A line of a machine `m`, at `depth`. */
#define PUT(...) (sdag_indent(m->o, depth), ci_put(m->o, __VA_ARGS__))

/* ---- gen_sdag_waits.c --------------------------------------------------------------------------- */

bool sdag_waits(const struct ci_sdag *x);
/** Of a list of statements. */
bool sdag_any_waits(const struct ci_sdag *x);
/** An overlap has branches that wait by themselves. */
bool sdag_has_parts(const struct ci_sdag *x);
/** The number of calls of one `when`; sdag_count_all_calls: of all in a list. */
int sdag_count_calls(const struct ci_sdag *when);
int sdag_count_all_calls(const struct ci_sdag *x);

/* ---- gen_sdag_region.c -------------------------------------------------------------------------- */

/** Note that the machine waits here, for n calls from `slot` on; returns the position's number. */
int sdag_new_place(struct machine *m, const struct ci_sdag *x, const struct at *at, int slot, int n, int line);
/** Note that something lies in the run at `member` from here on: the parameters of a call, or a
 * pointer. */
int sdag_new_open(struct machine *m, int up, int slot, int first, const char *member, const char *bytes,
		  const char *pointers);
bool sdag_is_constant(const struct scope *s);
/** Begin a region, with the variables in scope; end it, with storing those that `p` names. */
void sdag_region(const struct machine *m, const struct scope *scope, int depth);
void sdag_region_end(const struct machine *m, const struct scope *scope, const struct printed *p, int depth);
void sdag_store(const struct machine *m, const struct scope *s, int depth);
void sdag_store_changed(const struct machine *m, const struct scope *scope, const struct printed *p, int depth);

/* ---- gen_sdag_plain.c --------------------------------------------------------------------------- */

void sdag_plain_statement(const struct machine *m, const struct ci_sdag *x, int depth);
/** From x up to `end`. */
void sdag_plain_statements(const struct machine *m, const struct ci_sdag *x, const struct ci_sdag *end, int depth);
/** The bounds of a forall, as variables. */
void sdag_bounds(const struct machine *m, const struct ci_sdag *x, int depth);

/* ---- gen_sdag_when.c ---------------------------------------------------------------------------- */

void sdag_when(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth);
void sdag_case(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth);
/** An overlap without branches. */
void sdag_plain_overlap(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth);

/* ---- gen_sdag_parts.c --------------------------------------------------------------------------- */

/** The same statement, with none behind it. */
struct ci_sdag *sdag_alone(struct ci *ci, const struct ci_sdag *x);
const char *sdag_part_suffix(struct ci *ci, const struct ci_chare *c, const struct ci_entry *e,
			     const struct ci_sdag *forall, const struct ci_sdag *part);
void sdag_overlap(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth);
void sdag_forall(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth);

/* ---- gen_sdag_jumps.c --------------------------------------------------------------------------- */

/** The run's member for the variable of a `for` or `forall`; the second: the scope inside it. */
const char *sdag_local_member(struct ci *ci, const struct ci_sdag *x, const struct ci_local *v);
const struct scope *sdag_with_local(const struct machine *m, const struct ci_sdag *x, const struct ci_local *v,
				    const struct scope *scope);
/** A list of statements. Those that do not wait, up to the next one that does, share a region. */
void sdag_statements(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth);

/* ---- gen_sdag_run.c ----------------------------------------------------------------------------- */

/** How many calls' slots a list of statements needs. */
int sdag_slots_in(const struct ci_sdag *x);
void sdag_run_struct(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e, const char *suffix,
		     const struct ci_sdag *first, const struct ci_sdag *forall, bool is_part);
/** The structs of all branches in a list of statements. */
void sdag_part_structs(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e, const struct ci_sdag *x);

#endif
