/* SPDX-License-Identifier: Apache-2.0 */
/* balance_int.h: shared by the files of this room. */
#ifndef CK_BALANCE_INT_H
#define CK_BALANCE_INT_H

#include "balance.h"
#include "../observe/observe.h"
#include "../../strategies/loads/core_share.h"
#include "../../strategies/strategies.h"

/* ---- on a node ------------------------------------------------------------------------------- */

enum { SYNC_MS_MOST = 1000 * 1000 };

/** Constant once the loops run, but for what PE 0 changes when it is asked to (balance_orders.c):
 * name and counter apart, other PEs read only the strategy's wants, at their start. */
struct balance_node {
	const char *name;         /* CK_LB; NULL: off */
	bool automatic;           /* CK_LB=auto */
	uint64_t period;          /* CK_LB_PERIOD */
	double tolerance;         /* CK_LB_TOLERANCE */
	const char *dump;         /* CK_LB_DUMP; NULL: none */
	int64_t sync_ms;          /* CK_SYNC_MS; 0 to SYNC_MS_MOST */
	bool speeds;              /* CK_LB_SPEEDS */
	struct lb_table strategies; /* CkLBRegister's; there even if this part is off */
	const struct lb_strategy *strategy;
	bool always;              /* the strategy moves elements in every step, even if they are
				   * balanced */
	bool counter;             /* cmi_ticks */
	int counts;               /* CK_STATS: the first of the numbers COUNT_* */
	uint64_t order;           /* PE 0: "balance now", to be answered; 0: nobody asks */
};

/** The numbers for CK_STATS. Syncs and steps are PE 0's; a move is its last PE's. */
enum { COUNT_SYNCS, COUNT_STEPS, COUNT_AT_REST, COUNT_MOVED, COUNT_TIME };

static inline struct balance_node *balance_of(const struct node *node)
{
	return ck_node_state(node, PART_BALANCE);
}
static inline void balance_count(struct pe *pe, int what, uint64_t n)
{
	if (pe->counts)
		pe->counts->numbers[balance_of(pe->node)->counts + what] += n;
}
/** Whether elements are measured and move. A job of one PE has nothing to balance. */
static inline bool balance_is_on(const struct pe *pe)
{
	return ck_node_of(pe->node)->parts[PART_BALANCE] && balance_of(pe->node)->name &&
	       pe->node->job->n_pes > 1;
}

/* ---- of an element --------------------------------------------------------------------------- */

/** What the loads of earlier syncs say about the next one. */
enum forecast {
	AS_LAST,                  /* it will be like the last one: loads that drift, and those that jump */
	AS_MEAN,                  /* like the mean of the last ones: noise, and loads that repeat */
	N_FORECASTS
};

/** The loads of an element, or of a PE's other work, in earlier syncs. */
struct past {
	float says[N_FORECASTS];  /* seconds */
	uint32_t n;               /* syncs that the mean is of */
};

/** The mean is of about the last eight, and newer syncs count more: elements that were busy in
 * different syncs then differ, so that greedy gives each PE its share of each kind. No sync counts
 * there with more than twice what was to be expected: a PE that loses its core for a while seems to
 * be busy, and so does an element of it. */
static inline void past_learn(struct past *p, double now)
{
	const float x = (float)now, last = p->says[AS_LAST], mean = p->says[AS_MEAN];
	const float most = 2 * (last > mean ? last : mean);

	p->n += p->n < 8;
	p->says[AS_MEAN] += ((p->n > 1 && x > most ? most : x) - mean) * 2 / (float)(p->n + 1);
	p->says[AS_LAST] = x;
}

/** After the program's struct of each element that can sync, while the part is on. It moves with
 * the element, also to another process, as bytes. */
struct lb_elem {
	uint64_t ticks;           /* its handlers ran since the last sync that looked */
	float seconds;            /* CkSetLoad: overrides the measured load, if has_load */
	float position[3];        /* CkSetPosition, if has_position */
	uint32_t round;           /* the sync that it waits for; see at_sync.c */
	uint32_t stamp;           /* struct sync_coll's when it called CkAtSync */
	int32_t to;               /* while a step moves it: its destination */
	uint8_t waits;            /* it has called CkAtSync, and resumeFromSync has not been called */
	uint8_t counted;          /* while it moves: it belongs to `round` for certain */
	uint8_t due;              /* resumeFromSync will be called */
	uint8_t moves;            /* a step moves it */
	uint8_t pinned, has_load, has_position;
	uint8_t reserved;
	struct past past;
};

/** Whether elements of this collection have a record. */
static inline bool coll_syncs(const struct collection *c) { return c->more_at; }
static inline struct lb_elem *elem_of(struct ck_obj *obj) { return obj_more(obj); }

/* ---- measure.c ------------------------------------------------------------------------------- */

/** Charges a PE's time. */
struct meter {
	bool counter;
	int n_arrays;             /* that sync */
	uint64_t since;           /* ticks: the last change */
	uint64_t *to;             /* what runs and takes time: an element's ticks, `other` or `idle`; NULL:
				   * the runtime, whose time goes to the handler that follows */
	uint64_t *nobody;         /* what takes the time while no handler runs: `idle`, or NULL */
	uint64_t *aside;          /* while idle: what called the loop that is idle */
	uint64_t other, idle, all;    /* in all; all: of elements, too */
	uint64_t made;            /* constructors of elements: nobody's load */
	uint64_t from_ticks, from_ns; /* when the PE began */
	bool speeds;              /* `share` is measured */
	struct share share;
};

/** What elements and others have taken. */
static inline uint64_t meter_busy(const struct meter *m) { return m->all - m->idle - m->made; }
/** Give the time until now to what runs. */
void meter_look(struct pe *pe);
/** Charge the time since the last handler to none. */
void meter_skip(struct pe *pe);
double meter_seconds_per_tick(const struct pe *pe);
/** A PE's measured speed, for other PEs. */
struct pace {
	double tick;              /* seconds of a tick, if the PE had always been as fast as `speed` */
	double speed;             /* the share of its core that the PE gets, in (0, 1] */
};
/** Since share.all was `before` and the meter's busy ticks were `busy_before`. */
struct pace meter_pace(struct pe *pe, const struct share_time *before, uint64_t busy_before);
/** How long the element's handlers ran in this sync, or CkSetLoad's value for this PE. */
double elem_seconds_now(const struct lb_elem *e, const struct pace *pace);
void measure_node_start(struct node *node);
void measure_pe_start(struct pe *pe);

/* ---- choose.c -------------------------------------------------------------------------------- */

/** Read the variables. False: the part is off. */
bool choose_read(struct balance_node *b);
/** Whether a job of one PE may be saved at a sync, too. */
bool choose_alone(const struct balance_node *b);
/** Find the strategy; ends the process if there is none of that name. */
void choose_strategy(struct node *node);

/** What happens to the measurements when a sync is over. */
enum measuring {
	MEASURE_ON,               /* nothing: they have not been used */
	MEASURE_ANEW,             /* start again, and forget these */
	MEASURE_LEARN,            /* start again; they belong to the past now */
	MEASURE_OFF,              /* they belong to the past, and nothing is measured until MEASURE_ANEW */
};

/** Sums over all PEs about one kind of forecast. */
struct sync_forecast {
	double sum, square, both; /* of what it said about this sync: the seconds of PEs, their squares,
				   * and their products with what PEs took */
	double max, work;         /* what it says about the next sync: seconds of the PE with most; seconds
				   * times speed of all */
};

/** The sums over all PEs when an array's elements have called CkAtSync. */
struct sync_sums {
	uint64_t sent, done;      /* insertions and moves: the difference is under way */
	uint64_t n;               /* elements */
	uint64_t dynamic;         /* PEs where elements were created, destroyed or moved */
	uint64_t alone;           /* elements that cannot move together with others */
	uint64_t pes;             /* that measure */
	double seconds, speed;    /* of all PEs: what they took, and speeds; without other programs the
				   * number of PEs */
	struct sync_forecast by[N_FORECASTS]; /* AS_LAST: max and work are this sync's */
};

/** How much of the imbalance that a forecast says comes true: sums that older syncs fade from. */
struct trust {
	double both, square;
};
/** CK_LB=auto, of an array on PE 0; see auto.c. */
struct choice {
	double worked;            /* seconds of the PEs with most, in all */
	uint32_t looked;          /* syncs that were looked at, */
	uint32_t since;           /* and those after the last step */
	uint32_t pause, rest;     /* the last pause, and its remaining syncs without measurement */
	bool settled;             /* loads were balanced once, so an imbalance is new, or noise */
	bool tried;               /* there was a step */
	double cost;              /* seconds of the last step; 0: there were fewer than two */
	struct trust trust[N_FORECASTS];
	enum forecast by;         /* the forecast that is trusted more */
	double owed;              /* seconds that a step would have saved by now */
	double unsaid, unsaid_of; /* seconds lost to imbalances that no forecast sees, and all */
	uint32_t n_unsaid;        /* such syncs */
	double before_step;       /* the imbalance before the last step; 0: it has been judged */
	double before_lost;       /* and the seconds that a sync lost by it, */
	double gained;            /* and what the syncs since then have lost less than that */
	uint32_t patience;        /* steps in a row that did not pay */
	double left;              /* the imbalance that the last step could not remove */
	/* Cuts, or elements scattered over all PEs? */
	bool scattered;
	bool deal;                /* this step scatters them, */
	bool again;               /* which already were */
	bool back;                /* the next step brings them together again, and is taken at once */
	bool apart;               /* the last step was not by cuts */
	struct work {
		uint32_t n;           /* syncs, at most eight, */
		double mean;          /* and the seconds of all PEs */
	} work[2];                /* while elements were together, and while they were apart */
	uint32_t n_usual;         /* syncs since the first step, or since that changed, */
	double usual;             /* and the mean seconds of the PE with most, steps included */
	uint32_t trial;           /* the next sync of the trial that is under way, from 1; 0: none is */
	double tried_sum, before; /* what they took in all, and what was usual before */
	uint32_t bar, bar_length; /* no trial before so many syncs; doubled by each failure */
	double step_cost;         /* seconds of a step since the last sync, but of one that scatters */
};
/** PE 0: whether the sync `round` of an array measures loads. */
bool choose_looks(const struct balance_node *b, struct choice *ch, uint32_t round);
/** Whether a step pays. only: no other array syncs, so this one's share is not needed. */
bool choose_step(const struct balance_node *b, struct choice *ch, const struct sync_sums *s,
		 bool only);
/** How elements are measured after a sync without a step, depending on whether it used loads. */
enum measuring choose_measuring(const struct choice *ch, bool looked);
/** Run the strategy of CK_LB, or the one that CK_LB=auto chooses, for an array with or without
 * extents. Returns the result of lb_strategy_run; *st_p is the strategy used. */
int choose_answer(const struct node *node, struct choice *ch, const CkLBStats *s, bool extents,
		  int32_t *to, size_t *which_p, const struct lb_strategy **st_p);

/* ---- balance_orders.c ------------------------------------------------------------------------ */

/** As ck_part.obey. */
bool balance_obey(struct pe *pe, const struct csd_order *o);
/** PE 0, before choose_looks: whether this sync must have a step, since somebody asks for one. */
bool order_wants_step(struct pe *pe, struct choice *ch);
/** PE 0: a step is over. */
void order_step_over(struct pe *pe, const struct collection *c, double seconds);

/* ---- auto.c ---------------------------------------------------------------------------------- */

/** Whether a step pays. pauses: measuring may stop while loads are balanced. */
bool auto_step(const struct balance_node *b, struct choice *ch, const struct sync_sums *s,
	       bool pauses);
/** The step has taken this many seconds. */
void auto_took(struct choice *ch, double seconds);
/** Whether elements may be dealt out to all PEs now; and the caller does so in this step. `before`:
 * seconds that the PE with most would take otherwise. */
bool auto_may_deal(const struct choice *ch);
void auto_deals(struct choice *ch, double before);

/* ---- auto_ask.c ------------------------------------------------------------------------------ */

/** Ask the cheapest strategy that helps; see choose_answer. */
int auto_answer(const struct lb_table *t, struct choice *ch, const CkLBStats *s, bool extents,
		int32_t *to, size_t *which_p, const struct lb_strategy **st_p);

/* ---- balance_part.c -------------------------------------------------------------------------- */

enum { H_SYNC };                  /* handler of PART_BALANCE */

/* ---- sync_messages.c ------------------------------------------------------------------------- */

enum sync_kind {
	SYNC_CHECK,               /* to the own PE: check again whether all have called */
	SYNC_ANSWER,              /* to the parent: all elements below have called */
	SYNC_ASK,                 /* from the parent: is that still so? */
	SYNC_POKE,                /* to PE 0: there are elements now */
	SYNC_RESUME,              /* from the parent: the sync is over */
	SYNC_CLOSE,               /* from the parent: hold back messages to the array */
	SYNC_STEP,                /* from the parent: send the loads */
	SYNC_STATS,               /* to the parent: the loads */
	SYNC_MOVES,               /* from the parent: the destinations */
	SYNC_CANCEL,              /* to a PE: an element does not come */
	SYNC_DONE,                /* to the parent: all expected elements have arrived */
	SYNC_KINDS
};

/** How elements move in a step. */
enum step_way {
	UNDER_WAY,                /* as with CkMigrateMe, while the job goes on */
	AT_REST,                  /* in bulk; nothing of the array is under way */
	NO_REST,                  /* under way, because the job has not become quiescent in time */
};

struct sync_msg {
	struct cmi_msg head;
	uint64_t coll;
	uint32_t kind, round;
	uint32_t wave;            /* of SYNC_ASK, SYNC_ANSWER; SYNC_RESUME: enum measuring; SYNC_STEP: enum
				   * step_way; SYNC_STATS: number of PEs; SYNC_MOVES: not 0: cuts */
	uint32_t n;               /* records after it; SYNC_STEP: enum forecast, by which loads it goes */
	struct sync_sums sums;    /* SYNC_ANSWER; SYNC_STATS: n: edges */
};

/** Calls of one element to another, as they are sent, and on the PE of the first. */
struct edge_record {
	CkIndex from, to;
	uint32_t messages, reserved;
	uint64_t bytes;
};
struct edges {
	struct idmap at;          /* from a hash of the ends to the number in the list, from 1 */
	struct edge_record *list; /* ours */
	size_t n, cap;
};

/** Of an array that can sync, on a PE. */
struct sync_coll {
	uint32_t round;           /* syncs that are over */
	uint32_t wave;            /* of this sync's questions, from 0 */
	uint32_t stamp;           /* questions that this PE has answered */
	bool open;                /* the question has not been answered */
	bool asked;               /* a SYNC_CHECK is under way to this PE */
	bool anew;                /* PE 0: the job has another number of PEs than the one it goes on */
	bool poked;               /* PE 0 knows that there are elements / PE 0: it has been told */
	uint64_t n_live;          /* elements of this PE */
	uint64_t n_waiting;       /* those that wait */
	uint64_t n_due;           /* those for which resumeFromSync will be called */
	uint64_t n_made, n_left, n_came; /* elements that were made after the array; that left; that
					  * came */
	bool roams;               /* some left other than in a step */
	bool unmeasured;          /* no call of its elements is measured now */
	bool known;               /* it is one of the meter's arrays */
	struct call_route counted; /* edges.c: on the route if the strategy wants edges */
	struct edges edges;       /* since measuring began; none unless the strategy wants them */
	uint64_t busy_at;         /* meter_busy when measuring began, */
	struct share_time share_at; /* and share.all */
	struct past background;   /* of this PE */
	int n_in;                 /* children that have answered */
	struct sync_sums in;      /* their sums */
	/* PE 0. */
	bool have_before, idle;   /* idle: there are no elements; no PE is asked */
	uint64_t done_before;
	struct wave_pause pause;
	struct sync_sums all;     /* of the sync that goes on next */
	/* A step. */
	struct step *step;        /* ours; NULL: none is under way */
	/* PE 0, of a step. */
	uint64_t began;           /* ticks; 0: none is under way */
	bool closing;             /* it waits until the job is quiescent, */
	uint64_t until_ns;        /* but no longer than until then */
	bool timer;               /* a timer will look */
	uint32_t n_stale;         /* requests for quiescence that are no longer awaited */
	struct choice choice;
	bool told;                /* the strategy's failure has been reported */
	uint32_t restless, skip;  /* how often in a row the job did not become quiescent; this many steps
				   * do not try */
	uint32_t n_steps;
};

static inline struct sync_coll *sync_of(const struct collection *c)
{
	return coll_state(c, PART_BALANCE);
}

/** A message about the collection with space for `bytes` more. The caller owns it until
 * sync_send. */
struct sync_msg *sync_msg_new(struct pe *pe, const struct collection *c, enum sync_kind kind,
			      size_t bytes);
void sync_send(struct pe *pe, int dst_pe, struct sync_msg *m);
/** Send copies to this PE's children in PE 0's tree. */
void sync_forward(struct pe *pe, const struct sync_msg *m);
/** PE 0: to all PEs, itself included. */
void sync_tell_all(struct pe *pe, const struct collection *c, enum sync_kind kind, uint32_t wave);

/* ---- at_sync.c ------------------------------------------------------------------------------- */

/** The array has been constructed on this PE: its first sync begins. */
void sync_constructed(struct pe *pe, struct collection *c);
void sync_arrived(struct pe *pe, struct cmi_msg *head);
/** Elements have come, gone or begun to wait: check whether all wait, when no handler runs. */
void sync_check_soon(struct pe *pe, struct collection *c);
/** The sync of a waiting element is over: resumeFromSync will be called. */
void sync_become_due(struct sync_coll *s, struct lb_elem *e);

/* ---- lb_element.c ---------------------------------------------------------------------------- */

/** Of the watch (part.h). */
void elem_created(struct pe *pe, struct ck_obj *obj);
void elem_arrived(struct pe *pe, struct ck_obj *obj);
void elem_leaving(struct pe *pe, struct ck_obj *obj);
void elem_stayed(struct pe *pe, struct ck_obj *obj);
void elem_destroyed(struct pe *pe, struct ck_obj *obj);

/* ---- lb_element.c, for checkpoints ----------------------------------------------------------- */

/** Of the watch: how many syncs are over. */
void syncs_still(struct pe *pe, struct collection *c, struct place_still *still);
/** A restart: the elements that waited in CkAtSync do so again. */
void syncs_remade(struct pe *pe, struct collection *c, const struct place_still *saved);
/** Of the part's `save`. */
bool elem_save(void *more);

/* ---- edges.c --------------------------------------------------------------------------------- */

/** From now on calls of the collection are recorded. */
void edges_want(struct collection *c);
/** Add the puts that this PE's elements have made into named channels. */
void edges_add_puts(struct pe *pe, struct collection *c);
/** Measuring begins anew. */
void edges_begin(struct pe *pe, struct collection *c);
void edges_free(struct edges *e);
/** Edges with the numbers of elements, sorted, each pair of ends once. The caller frees the
 * result. */
CkLBEdge *edges_number(const struct edge_record *list, size_t n, const CkIndex *elements,
		       size_t n_elements, size_t *n_p);

/* ---- describe_sync.c ------------------------------------------------------------------------- */

void syncs_describe(struct pe *pe, struct csd_told *to);
/** Steps that are under way, for a checkpoint. */
void syncs_refuse(struct pe *pe, struct csd_told *to);

/* ---- statistics.c ---------------------------------------------------------------------------- */

/** The PE's pace since measuring of the array began. */
struct pace sync_pace(struct pe *pe, const struct collection *c);
/** Seconds that the PE has been busy in this sync. */
double sync_busy(struct pe *pe, const struct collection *c, const struct pace *pace);
/** Of these, the seconds that belong to no element of the array; `measured` belong to some.
 * Elements that came from another PE have brought their time there, so that it may seem less. */
static inline double sync_background(double busy, double measured)
{
	return busy > measured ? busy - measured : 0;
}

/* ---- step_rest.c ----------------------------------------------------------------------------- */

/** PE 0: a step pays. `alone`: not in bulk, because elements cannot move together. */
void step_start(struct pe *pe, struct collection *c, bool alone);
/** PE 0: nothing is under way any more. */
void step_at_rest(struct pe *pe, const CkCallback *cb, struct ck_env *env);
struct csd_thing step_describe_rest(struct pe *pe, const CkCallback *cb);

/* ---- step.c ---------------------------------------------------------------------------------- */

/** On each PE: send the loads, as forecast. */
void step_begin(struct pe *pe, struct collection *c, enum step_way way, enum forecast by);
/** A message of the step has arrived. The caller frees it. */
void step_arrived(struct pe *pe, struct collection *c, const struct sync_msg *m);
/** An element that the step moves has come to this PE. */
void step_element_came(struct pe *pe, struct ck_obj *obj);
/** An element that the step moves stays after all, or is destroyed. */
void step_element_stays(struct pe *pe, struct ck_obj *obj);
void step_free(struct sync_coll *s);
void step_describe(struct collection *c, struct csd_thing what, struct csd_told *to);
/** The error of a message of the step, or NULL. */
const char *step_misfit(struct pe *pe, const struct sync_msg *m);

/* at_sync.c */
/** CB_SYNC: a checkpoint has been taken between the last CkAtSync and what follows. */
void sync_goes_on(struct pe *pe, const CkCallback *cb, struct ck_env *env);

#endif
