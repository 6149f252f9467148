/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed.c: chooses the PE of a chare that is created on CK_PE_ANY. CK_SEED sets the strategy:
 *
 *   neighbor   the default. It picks the least loaded of this PE and a few neighbours, and this PE
 *              among equals, so chares stay here while the others have as much to do. If all of
 *              these PEs have plenty and there are further PEs, it picks any PE, so that a burst of
 *              creations reaches them all.
 *   random     picks any PE with equal probability. It needs no knowledge and no messages, and
 *              spreads any tree well; but of n chares n - n/PEs are sent to other PEs.
 *
 * A PE's load is the number of its own seeds that it has not started, or the length of its queue if
 * that is more. A neighbour's load is the last one reported, or the number of seeds sent to it
 * that, as far as this PE knows, it has not started, if that is more. A PE reports when its load
 * has halved or doubled, after some seeds, and when it runs out of work, so no PE has to ask. These
 * messages do not count for quiescence, and a PE that gets no seeds sends none.
 *
 * A PE's neighbours are PE +- 1 and PE +- about the square root of the number of PEs, modulo that
 * number: a torus. A PE has at most 4 neighbours, and a load spreads to all PEs in about sqrt(PEs)
 * hops.
 */
#include "seed.h"
#include "../core/shape.h"

#include "../../machine/base/cmi_env.h"
#include "../../machine/tools/cmi_random.h"

enum {
	NEIGHBOURS = 4,
	/* The queue is a list, so its length is read only once in LOOK_EVERY seeds, and counted
	 * only up to LOOK_AT. */
	LOOK_EVERY = 16,
	LOOK_AT = 64,
	TELL_AFTER = 16,          /* report after this many seeds of neighbours, at the latest */
	PLENTY = 64,              /* seeds; a PE that has this many will not run out of work soon */
};

struct seed_neighbour {
	int pe;
	uint64_t sent;            /* seeds from here to there */
	uint64_t seen;            /* seeds of these that it had started when it reported its load */
	uint64_t load;            /* the load that it reported */
	uint64_t got;             /* seeds from there that were started here */
};

struct seed {
	uint64_t random;
	struct seed_neighbour to[NEIGHBOURS];
	int n;
	uint64_t held;            /* own seeds that stayed here and have not been started */
	uint64_t queued;          /* length of the queue when last looked at */
	uint64_t told;            /* this PE's load, as its neighbours know it */
	unsigned since;           /* seeds of neighbours started since the last report */
	unsigned looks;
};

struct seed_load {
	struct cmi_msg head;
	uint64_t load;
	uint64_t seen;            /* started seeds that came from the receiver */
};

enum { H_SEED_LOAD };

static struct seed *seed_of(const struct pe *pe) { return ck_state(pe, PART_SEED); }

/* Whether CK_SEED is neighbor (true) or random, for the whole node. */
static bool by_neighbor(const struct pe *pe)
{
	return *(const bool *)ck_node_state(pe->node, PART_SEED);
}

static uint64_t load_of(const struct seed *s)
{
	return s->held > s->queued ? s->held : s->queued;
}

/* ---- telling --------------------------------------------------------------------------------- */

static void tell_load(struct pe *pe, struct seed *s)
{
	s->told = load_of(s);
	s->since = 0;
	for (int i = 0; i < s->n; i++) {
		struct seed_load *l =
			ck_msg_new(pe, PART_SEED, H_SEED_LOAD, CMI_F_SYSTEM | CMI_F_EXPEDITED, sizeof *l);

		l->load = s->told;
		l->seen = s->to[i].got;
		csd_send(pe, s->to[i].pe, &l->head);
	}
}

/* A report is due when the load is more than twice the reported one, or less than half of it. */
static bool worth_telling(const struct seed *s)
{
	uint64_t load = load_of(s);

	return s->since >= TELL_AFTER || load > 2 * s->told + 4 || 2 * load + 4 < s->told;
}

static void look_at_queue(struct pe *pe, struct seed *s)
{
	if (s->looks++ % LOOK_EVERY == 0)
		s->queued = csd_queue_length(pe, LOOK_AT);
}

/* The PE is idle. It reports once for all the seeds that came, so that two idle PEs do not keep
 * each other awake. */
static void seed_idle(void *arg)
{
	struct pe *pe = arg;
	struct seed *s = seed_of(pe);

	s->queued = 0;
	if (s->since || s->told)
		tell_load(pe, s);
}

static void seed_load_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct seed_load *l = (struct seed_load *)m;
	struct seed *s = seed_of(pe);

	for (int i = 0; i < s->n; i++) {
		if (s->to[i].pe == m->src_pe) {
			s->to[i].load = l->load;
			s->to[i].seen = l->seen;
		}
	}
	csd_msg_free(pe, m);
}

/* ---- start ----------------------------------------------------------------------------------- */

static void add_neighbour(struct pe *pe, struct seed *s, int distance)
{
	int n_pes = pe->node->job->n_pes, other = (pe->id + distance % n_pes + n_pes) % n_pes;

	for (int i = 0; i < s->n; i++)
		if (s->to[i].pe == other)
			return;
	if (other != pe->id)
		s->to[s->n++].pe = other;
}

static int seed_node_start(struct node *node)
{
	static const char *const words[] = { "random", "neighbor" };

	*(bool *)ck_node_state(node, PART_SEED) = cmi_env_word("CK_SEED", words, 2, 1);
	return 0;
}

static void seed_pe_start(struct pe *pe)
{
	struct seed *s = seed_of(pe);
	int far = 1;

	s->random = cmi_random_seed((uint64_t)pe->id);
	while (far * far < pe->node->job->n_pes)
		far++;
	add_neighbour(pe, s, 1);
	add_neighbour(pe, s, -1);
	add_neighbour(pe, s, far);
	add_neighbour(pe, s, -far);
	if (by_neighbor(pe))
		csd_hook(CcdPROCESSOR_BEGIN_IDLE, seed_idle, pe, true);
}

/* ---- choosing -------------------------------------------------------------------------------- */

static int random_pe(struct pe *pe, struct seed *s)
{
	return (int)cmi_random_below(&s->random, (uint64_t)pe->node->job->n_pes);
}

/* Choose any PE. If that is this PE or a neighbour, count the seed as theirs. */
static int anywhere(struct pe *pe, struct seed *s)
{
	int to = random_pe(pe, s);

	if (to == pe->id)
		s->held++;
	for (int i = 0; i < s->n; i++)
		s->to[i].sent += s->to[i].pe == to;
	return to;
}

static int least_loaded(struct pe *pe, struct seed *s)
{
	uint64_t least;
	struct seed_neighbour *best = NULL;

	look_at_queue(pe, s);
	least = load_of(s);
	for (int i = 0; i < s->n; i++) {
		uint64_t away = s->to[i].sent - s->to[i].seen;
		uint64_t load = s->to[i].load > away ? s->to[i].load : away;

		if (load < least) {
			least = load;
			best = &s->to[i];
		}
	}
	if (least >= PLENTY && s->n + 1 < pe->node->job->n_pes)
		return anywhere(pe, s);
	if (!best) {
		s->held++;
		return pe->id;
	}
	best->sent++;
	return best->pe;
}

int seed_place(struct pe *pe)
{
	struct seed *s = seed_of(pe);

	return by_neighbor(pe) ? least_loaded(pe, s) : random_pe(pe, s);
}

void seed_started(struct pe *pe, int src_pe)
{
	struct seed *s = seed_of(pe);

	if (!by_neighbor(pe))
		return;
	if (src_pe == pe->id)
		s->held--;
	for (int i = 0; i < s->n; i++) {
		if (s->to[i].pe == src_pe) {
			s->to[i].got++;
			s->since++;
		}
	}
	look_at_queue(pe, s);
	if (worth_telling(s))
		tell_load(pe, s);
}

static const struct ck_handler handlers[] = {
	[H_SEED_LOAD] = { "ck.seed.load", seed_load_arrived,
			.shape = { .least = sizeof(struct seed_load), .exact = true,
				   .always = CMI_F_SYSTEM | CMI_F_EXPEDITED } },
};

const struct ck_part seed_part = {
	.name = "seed",
	.number = PART_SEED,
	.node_bytes = sizeof(bool),
	.pe_bytes = sizeof(struct seed),
	.handlers = CK_LIST(handlers),
	.node_start = seed_node_start,
	.pe_start = seed_pe_start,
};
