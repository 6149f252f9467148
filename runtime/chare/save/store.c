/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.c: where the blocks of a node's PEs go. All PEs say first how long theirs are. The first
 * that writes reserves the node's image in the slot of this checkpoint, and the last that has
 * written seals it.
 *
 * The memory is that of whoever started the nodes (CK_IMAGES), which outlives them: of ckrun, or on
 * several hosts of each host's keeper (image_keeper.h). Otherwise each node makes its own.
 */
#include "save_int.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/base/cmi_env.h"
#include "../../image/image_keeper.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct store {
	pthread_mutex_t lock;
	struct image_memory memory;  /* its page is NULL until the first checkpoint, if it is ours */
	bool kept;                   /* it is not ours alone */
	struct image_keeper keeper;  /* on several hosts: the connection to its owner */
	struct image_region region[IMAGE_SLOTS];
	struct image_head *head; /* ours: of the image that is being written. Each PE sets its block's
				  * size before it says that it is frozen; others read it after PE 0,
				  * which has heard so from all, has told them to write */
	/* Under the lock. */
	uint64_t sequence;    /* that has been reserved; 0: none is written now */
	uint32_t n_written;   /* blocks */
	bool fresh;           /* the region has memory that nobody has touched */
};

static struct store *store_of(const struct node *node) { return save_node_of(node)->store; }

static bool take(struct store *s, const char *text, uint32_t node, struct image_why *why)
{
	if (text[0] == '@')
		return image_keeper_open(&s->keeper, text, node, &s->memory, why);
	if (image_memory_inherit(&s->memory, text, why))
		return true;
	why->text[0] = '\0';
	return false;
}

/* What the nodes seal, their images among it, the keepers seal, too. */
static bool keeps_secrets(const struct store *s, const struct node *node, struct image_why *why)
{
	return !s->keeper.is_open || s->keeper.sealed || !node->job->sealed ||
	       image_says(why, "CK_WIRE has seal on node %d, but not where ckrun was started, so the "
			       "keepers would send copies of images unsealed: set it for ckrun, too",
			  node->job->node);
}

/* The variable is not for the node's children. */
static void inherit(struct store *s, const struct node *node)
{
	const char *text = cmi_env_text("CK_IMAGES");
	struct image_why why = { "" };

	if (!text)
		return;
	if (!take(s, text, (uint32_t)node->job->node, &why) && !why.text[0])
		cmi_env_refuse("CK_IMAGES", text, "set by ckrun only, which has opened what it names");
	if (why.text[0] || !keeps_secrets(s, node, &why) || !image_memory_map(&s->memory, &why))
		csd_abort(NULL, "%s", why.text);
	s->kept = true;
	unsetenv("CK_IMAGES");
}

int store_node_start(struct node *node)
{
	struct store *s = cmi_alloc_zero(1, sizeof *s, "checkpoints");

	save_node_of(node)->store = s;
	inherit(s, node);
	return -pthread_mutex_init(&s->lock, NULL);
}

const struct image_memory *store_kept(const struct node *node)
{
	const struct store *s = store_of(node);

	return s->kept ? &s->memory : NULL;
}

void store_node_stop(struct node *node)
{
	struct store *s = store_of(node);

	for (int i = 0; i < IMAGE_SLOTS; i++)
		image_region_unmap(&s->region[i]);
	if (s->memory.page)
		image_memory_close(&s->memory);
	image_keeper_close(&s->keeper);
	pthread_mutex_destroy(&s->lock);
	free(s->head);
	free(s);
}

/* Under the lock. */
static struct image_head *head_of(struct pe *pe, struct store *s)
{
	const struct cmi_job *job = pe->node->job;

	if (s->head)
		return s->head;
	s->head = cmi_alloc_zero(1, image_head_bytes((uint32_t)job->my_n_pes), "a checkpoint");
	s->head->node = (uint32_t)job->node;
	s->head->n_nodes = (uint32_t)job->n_nodes;
	s->head->first_pe = (uint32_t)job->my_first_pe;
	s->head->n_pes = (uint32_t)job->my_n_pes;
	return s->head;
}

void store_measured(struct pe *pe, size_t bytes)
{
	struct store *s = store_of(pe->node);

	pthread_mutex_lock(&s->lock);
	head_of(pe, s)->block[pe->local].bytes = bytes;
	pthread_mutex_unlock(&s->lock);
}

/* Under the lock. */
static bool reserve(struct store *s, uint64_t sequence, uint64_t job, struct image_why *why)
{
	struct image_region *r = &s->region[sequence % IMAGE_SLOTS];
	const size_t had = r->bytes;

	if (!s->memory.page && !image_memory_make(&s->memory, why))
		return false;
	image_lay_out(s->head);
	s->head->sequence = sequence;
	s->head->job = job;
	if (!image_region_reserve(&s->memory, r, sequence, s->head->node, s->head->bytes, why))
		return false;
	s->sequence = sequence;
	s->n_written = 0;
	s->fresh = r->bytes > had;
	return true;
}

char *store_block(struct pe *pe, uint64_t sequence, uint64_t job, struct image_why *why)
{
	struct store *s = store_of(pe->node);
	bool made, fresh;
	char *to;

	pthread_mutex_lock(&s->lock);
	made = s->sequence == sequence || reserve(s, sequence, job, why);
	fresh = s->fresh;
	pthread_mutex_unlock(&s->lock);
	if (!made)
		return NULL;
	to = s->region[sequence % IMAGE_SLOTS].base + s->head->block[pe->local].offset;
	if (fresh)
		image_region_touch(to, s->head->block[pe->local].bytes);
	return to;
}

/* All its blocks are complete: their writers have been under the lock since. */
static void seal(struct store *s)
{
	struct image_head *to = (struct image_head *)(void *)s->region[s->sequence % IMAGE_SLOTS].base;

	memcpy(to, s->head, image_head_bytes(s->head->n_pes));
	image_seal(to);
}

void store_written(struct pe *pe)
{
	struct store *s = store_of(pe->node);

	pthread_mutex_lock(&s->lock);
	if (++s->n_written == s->head->n_pes)
		seal(s);
	pthread_mutex_unlock(&s->lock);
}

const char *store_image(const struct node *node, uint64_t sequence)
{
	const char *base = store_of(node)->region[sequence % IMAGE_SLOTS].base;
	const struct image_head *h = (const void *)base;

	return base && h->sequence == sequence && !memcmp(h->magic, IMAGE_MAGIC, sizeof h->magic) ?
	       base : NULL;
}

void store_over(struct pe *pe)
{
	struct store *s = store_of(pe->node);

	pthread_mutex_lock(&s->lock);
	s->sequence = 0;
	pthread_mutex_unlock(&s->lock);
}

/* The one before is not needed any more. The nodes that the job has now use their regions of it
 * again; those that it had before it shrank do not. */
void store_commit(struct pe *pe, uint64_t sequence, uint64_t bytes)
{
	const struct cmi_job *job = pe->node->job;
	const struct save_node *n = save_node_of(pe->node);
	const uint64_t now_ns = csd_now_ns();
	const struct store *s = store_of(pe->node);
	const struct image_info info = {
		.bytes = bytes, .at_ns = now_ns, .wall_ns = now_ns - pe->node->start_ns,
		.n_nodes = (uint32_t)job->n_nodes, .n_pes = (uint32_t)job->n_pes,
		.most_pes = (uint32_t)save_most_pes(pe->node), .job = n->job,
		.fingerprint = save_fingerprint(ck_node_of(pe->node)), .epoch = n->epoch - n->restarts,
	};

	image_memory_commit(&s->memory, sequence, &info);
	if (s->memory.page->info[(sequence + 1) % IMAGE_SLOTS].n_nodes > info.n_nodes)
		image_memory_forget(&s->memory, sequence + 1, info.n_nodes);
}

/* ---- the keeper ------------------------------------------------------------------------------ */

bool store_read(const struct node *node, struct image_region *r, uint64_t sequence, uint32_t of,
		size_t *bytes, struct image_why *why)
{
	struct store *s = store_of(node);

	return s->keeper.is_open ? image_keeper_get(&s->keeper, r, sequence, of, bytes, why) :
				   image_region_read(&s->memory, r, sequence, of, bytes, why);
}

bool store_copies(const struct node *node) { return store_of(node)->keeper.is_open; }

void store_all_read(const struct node *node) { image_keeper_read(&store_of(node)->keeper); }

bool store_mirrors(const struct node *node) { return store_of(node)->keeper.mirrors; }

/* Node 0 has committed it, and commits no other before all have mirrored this one. Without a keeper
 * there is no mirror, and the job goes on. */
bool store_mirror(const struct node *node, uint64_t sequence, struct image_why *why)
{
	struct store *s = store_of(node);
	const struct image_info *info = &s->memory.page->info[sequence % IMAGE_SLOTS];

	return image_keeper_mirror(&s->keeper, sequence, node->job->node ? NULL : info, why) ||
	       image_keeper_is_gone(&s->keeper);
}

void store_mirror_no_more(const struct node *node)
{
	image_keeper_hang_up(&store_of(node)->keeper);
}
