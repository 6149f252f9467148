/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.c: what becomes of a checkpoint when each node has its image in memory. It goes to disk: a
 * thread of the node writes it to a file while the PEs compute (image_task.h). Or it stays in
 * memory, and that of another host gets a copy: then the thread awaits the copy. A timer asks the
 * thread whether it has ended, so nothing here waits for a disk or a network.
 *
 *	PE 0: make the folder                     before the job comes to rest
 *	WRITE     PE 0 -> first PE of each node   all images are complete: write yours
 *	WRITTEN   each of them -> PE 0            its size and sum, or an error, which was printed
 *	PE 0: write the manifest, rename          the checkpoint is complete
 *
 * In memory there is no folder and no manifest.
 */
#include "save_int.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/base/cmi_note.h"
#include "../../image/image_file.h"
#include "../../image/image_folder.h"
#include "../../image/image_task.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum store_kind { STORE_WRITE, STORE_WRITTEN };

/** What a node's first PE has under way. */
struct disk {
	struct image_task task;
	void (*then)(struct pe *pe, bool ok); /* called when the task has ended */
	double ms;                 /* until the next look at it */
	/* This node's file, or copy. */
	struct node *node;
	char path[IMAGE_PATH];
	struct image_write order;
	/* PE 0. */
	char dir[IMAGE_PATH];
	struct image_folder folder;
	struct image_manifest manifest; /* `files` is ours */
	uint64_t sequence;         /* of the checkpoint under way */
	int n_written;             /* nodes that have answered */
	bool failed;               /* one of them could not */
	uint64_t from_ns;          /* when writing began */
	bool said_slow;
};

static struct disk *disk_of(struct pe *pe)
{
	struct save_pe *s = save_of(pe);

	if (!s->disk)
		s->disk = cmi_alloc_zero(1, sizeof *s->disk, "a checkpoint");
	return s->disk;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void say_why(const struct pe *pe, const struct image_why *why)
{
	fprintf(stderr, "chard: no checkpoint: node %d: %s\n", pe->node->job->node, why->text);
}

/* Its timer is no chatter: a job that waits for its disk does not hang. */
static void look(void *arg)
{
	enum { MOST_MS = 20 };
	struct pe *pe = arg;
	struct disk *d = disk_of(pe);

	if (!image_task_done(&d->task)) {
		d->ms = d->ms < MOST_MS ? 2 * d->ms : MOST_MS;
		csd_timer(look, pe, d->ms);
		return;
	}
	if (!d->task.ok)
		say_why(pe, &d->task.why);
	d->then(pe, d->task.ok);
}

static void start(struct pe *pe, bool (*run)(void *arg, struct image_why *why), void *arg,
		  void (*then)(struct pe *pe, bool ok))
{
	struct disk *d = disk_of(pe);

	d->then = then;
	d->ms = 0.1;
	image_task_start(&d->task, run, arg, 0, NULL);
	csd_timer(look, pe, d->ms);
}

/* ---- before the job comes to rest: PE 0 ------------------------------------------------------ */

static bool make_folder(void *arg, struct image_why *why)
{
	struct disk *d = arg;
	const uint64_t newest = image_folder_newest(d->dir), last = d->sequence - 1;

	/* What is saved last in memory stays there until this one is complete. */
	while (newest >= d->sequence || (last && !store_may_follow(last, d->sequence)))
		d->sequence++;
	return image_folder_begin(&d->folder, d->sequence, why);
}

static void folder_made(struct pe *pe, bool ok)
{
	if (ok) {
		save_prepared(pe);
		return;
	}
	when_thawed(pe);
	save_over(pe, CK_CHECKPOINT_FAILURE);
}

void disk_prepare(struct pe *pe, const char *dir, uint64_t sequence)
{
	struct disk *d = disk_of(pe);

	if (strcmp(d->dir, dir)) {
		image_folder_close(&d->folder);
		snprintf(d->dir, sizeof d->dir, "%s", dir);
		d->folder = (struct image_folder){ .dir = d->dir, .job = cmi_note_job(),
						  .keep = save_node_of(pe->node)->when.keep };
	}
	d->sequence = sequence;
	start(pe, make_folder, d, folder_made);
}

uint64_t disk_sequence(struct pe *pe) { return disk_of(pe)->sequence; }

/* ---- a checkpoint that came to nothing -------------------------------------------------------- */

static bool remove_folder(void *arg, struct image_why *why)
{
	struct disk *d = arg;

	(void)why;
	image_folder_abandon(&d->folder, d->sequence);
	return true;
}

static void folder_removed(struct pe *pe, bool ok)
{
	(void)ok;
	save_over(pe, save_of(pe)->status);
}

void disk_abandon(struct pe *pe, int status)
{
	save_of(pe)->status = status;
	start(pe, remove_folder, disk_of(pe), folder_removed);
}

/* ---- each node's file ------------------------------------------------------------------------ */

static struct store_msg *store_msg_new(struct pe *pe, enum store_kind kind, uint64_t sequence,
				       size_t more)
{
	struct store_msg *m = save_msg_zeroed(pe, H_STORE, sizeof *m, more);

	m->kind = kind;
	m->sequence = sequence;
	return m;
}

static void file_written(struct pe *pe, bool ok)
{
	const struct disk *d = disk_of(pe);
	struct store_msg *m = store_msg_new(pe, STORE_WRITTEN, d->sequence, 0);

	m->failed = !ok;
	m->bytes = d->order.bytes;
	m->sum = d->order.sum;
	csd_send_now(pe, 0, &m->head);
}

static bool mirror(void *arg, struct image_why *why)
{
	const struct disk *d = arg;

	return store_mirror(d->node, d->sequence, why);
}

static void write_file(struct pe *pe, const struct store_msg *m)
{
	struct disk *d = disk_of(pe);

	d->sequence = m->sequence;
	if (!m->dir[0]) {
		d->node = pe->node;
		start(pe, mirror, d, file_written);
		return;
	}
	image_folder_node(d->path, m->dir, m->sequence, (uint32_t)pe->node->job->node);
	d->order = (struct image_write){ .path = d->path, .image = store_image(pe->node, m->sequence),
					  .zstd = save_node_of(pe->node)->when.zstd };
	d->task.hurries = m->hurries;
	start(pe, image_write_file, &d->order, file_written);
}

/* Whoever warns of the job's end gives it a time. */
static bool job_leaves(const struct save_pe *s)
{
	const struct save_wish *w = s->wishes;

	for (int i = 0; i < s->n_served; i++, w = w->next)
		if (w->then.leaves)
			return true;
	return false;
}

void disk_write(struct pe *pe)
{
	const struct cmi_job *job = pe->node->job;
	const char *dir = save_of(pe)->wishes->ask.dir;
	struct disk *d = disk_of(pe);

	d->sequence = save_of(pe)->sequence;
	free(d->manifest.files);
	d->manifest.files = cmi_alloc_zero((size_t)job->n_nodes, sizeof *d->manifest.files, "a checkpoint");
	d->n_written = 0;
	d->failed = false;
	d->from_ns = csd_now_ns();
	for (int i = 0; i < job->n_nodes; i++) {
		struct store_msg *m = store_msg_new(pe, STORE_WRITE, d->sequence, strlen(dir) + 1);

		m->hurries = job_leaves(save_of(pe));
		memcpy(m->dir, dir, strlen(dir) + 1);
		csd_send_now(pe, job->first_pe[i], &m->head);
	}
}

/* By the file of node 0, whose thread counts. */
void disk_is_late(struct pe *pe)
{
	struct disk *d = disk_of(pe);
	const double seconds = (double)(csd_now_ns() - d->from_ns) / 1e9;
	/* Relaxed: a hint. */
	const uint64_t bytes = atomic_load_explicit(&d->order.written, memory_order_relaxed);

	if (d->said_slow)
		return;
	d->said_slow = true;
	if (!save_is_on_disk(pe))
		fprintf(stderr, "chard: checkpoint %llu is still being copied to other hosts, for %.1f s now; "
			"the next one waits for it. This is said once\n", (unsigned long long)d->sequence,
			seconds);
	else
		fprintf(stderr, "chard: checkpoint %llu is still being written to %s, for %.1f s now; the next "
			"one waits for it (node 0 has written %.1f MB, %.1f MB/s). This is said once\n",
			(unsigned long long)d->sequence, d->dir, seconds, (double)bytes / 1e6,
			(double)bytes / 1e6 / seconds);
}

/* ---- the manifest: PE 0 ---------------------------------------------------------------------- */

static void args_text(char to[IMAGE_TEXT], const struct csd_config *cfg)
{
	size_t n = 0;

	to[0] = 0;
	for (int i = 1; i < cfg->argc && n < IMAGE_TEXT; i++)
		n += (size_t)snprintf(to + n, IMAGE_TEXT - n, "%s%s", i > 1 ? " " : "", cfg->argv[i]);
}

static void describe(struct pe *pe, struct image_manifest *m)
{
	const struct cmi_job *job = pe->node->job;
	const struct save_node *n = save_node_of(pe->node);

	snprintf(m->version, sizeof m->version, "%s", CHARD_VERSION);
	image_abi(m->abi, sizeof(CkIndex));
	snprintf(m->program, sizeof m->program, "%s", save_program_name(pe->node));
	args_text(m->args, pe->node->cfg);
	m->fingerprint = save_fingerprint(ck_node_of(pe->node));
	m->job = n->job;
	m->sequence = disk_of(pe)->sequence;
	m->epoch = n->epoch;
	m->time = (uint64_t)time(NULL);
	m->wall = (csd_now_ns() - pe->node->start_ns) / 1000000000u;
	m->n_pes = (uint32_t)job->n_pes;
	m->n_nodes = (uint32_t)job->n_nodes;
	m->most_pes = (uint32_t)save_most_pes(pe->node);
}

static bool commit(void *arg, struct image_why *why)
{
	struct disk *d = arg;

	return image_folder_commit(&d->folder, &d->manifest, why);
}

static void committed(struct pe *pe, bool ok)
{
	save_over(pe, ok ? CK_CHECKPOINT_SUCCESS : CK_CHECKPOINT_FAILURE);
}

static void node_has_written(struct pe *pe, const struct store_msg *m)
{
	const struct cmi_job *job = pe->node->job;
	const int node = job->node_of[m->head.src_pe];
	struct disk *d = disk_of(pe);

	d->failed |= m->failed;
	d->manifest.files[node] = (struct image_file){
		(uint32_t)node, (uint32_t)job->first_pe[node],
		(uint32_t)(job->first_pe[node + 1] - job->first_pe[node]), m->bytes, m->sum
	};
	if (++d->n_written < job->n_nodes)
		return;
	if (!save_is_on_disk(pe)) {
		save_over(pe, d->failed ? CK_CHECKPOINT_FAILURE : CK_CHECKPOINT_SUCCESS);
		return;
	}
	if (d->failed) {
		disk_abandon(pe, CK_CHECKPOINT_FAILURE);
		return;
	}
	describe(pe, &d->manifest);
	start(pe, commit, d, committed);
}

/* ---- messages, start, end -------------------------------------------------------------------- */

void disk_arrived(struct pe *pe, struct cmi_msg *head)
{
	const struct store_msg *m = (const struct store_msg *)head;

	if (m->kind == STORE_WRITE)
		write_file(pe, m);
	else
		node_has_written(pe, m);
	csd_msg_free(pe, head);
}

const char *disk_misfit(struct pe *pe, const struct cmi_msg *head)
{
	const struct store_msg *m = (const struct store_msg *)head;
	const struct cmi_job *job = pe->node->job;
	const size_t more = head->size - sizeof *m;

	if (m->kind == STORE_WRITE)
		return !head->src_pe && !pe->local && more && more <= IMAGE_PATH && !m->dir[more - 1] &&
		       store_image(pe->node, m->sequence) ? NULL : "nobody can have asked for that file";
	return m->kind == STORE_WRITTEN && !pe->id && !more && save_of(pe)->stage == SAVE_STORES &&
	       m->sequence == disk_of(pe)->sequence &&
	       job->first_pe[job->node_of[head->src_pe]] == head->src_pe ?
	       NULL : "it is no answer to a request";
}

/* The job ends while a thread still writes, or waits for a copy. */
void disk_stop(struct pe *pe)
{
	struct disk *d = save_of(pe)->disk;

	if (!d)
		return;
	store_mirror_no_more(pe->node);
	image_task_wait(&d->task);
	if (save_of(pe)->stage != SAVE_NONE && save_is_on_disk(pe))
		image_folder_abandon(&d->folder, d->sequence);
	image_folder_close(&d->folder);
	free(d->manifest.files);
	free(d);
	save_of(pe)->disk = NULL;
}
