/* SPDX-License-Identifier: Apache-2.0 */
/* show.c: ckpt show: what a checkpoint has, by kind and collection. */
#include "ckpt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sum {
	uint32_t kind;
	uint64_t coll, n, bytes, least, most;
};

static void show_job(const struct ckpt *c)
{
	const struct image_manifest *m = &c->set.m;
	char time[CKPT_TIME_TEXT];

	printf("%s\n", c->set.folder);
	printf("checkpoint   %" PRIu64 " of job %016" PRIx64 ", epoch %" PRIu64 "\n", m->sequence, m->job,
	       m->epoch);
	printf("written      %s, after %" PRIu64 " s\n", time_text(time, m->time), m->wall);
	printf("program      %s %s\n", m->program, m->args);
	printf("fingerprint  %016" PRIx64 ", Chard %s, %s\n", m->fingerprint, m->version, m->abi);
	printf("shape        %" PRIu32 " PEs on %" PRIu32 " nodes; at most %" PRIu32 " PEs so far\n", m->n_pes,
	       m->n_nodes, m->most_pes);
}

static void show_files(const struct ckpt *c)
{
	char bytes[CKPT_BYTES_TEXT];

	for (uint32_t i = 0; i < c->set.m.n_nodes; i++) {
		const struct image_file *f = &c->set.m.files[i];

		printf("node-%05" PRIu32 "   PEs %" PRIu32 " to %" PRIu32 ", %s\n", i, f->first_pe,
		       f->first_pe + f->n_pes - 1, bytes_text(bytes, f->bytes));
	}
}

static int by_collection(const void *a, const void *b)
{
	const struct image_name *x = &(*(const struct image_record *const *)a)->name;
	const struct image_name *y = &(*(const struct image_record *const *)b)->name;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->coll > y->coll) - (x->coll < y->coll);
}

static void print_sum(const struct sum *s)
{
	const struct image_name name = { .kind = s->kind, .coll = s->coll };
	char text[CKPT_NAME_TEXT], all[CKPT_BYTES_TEXT];
	char *index = strstr(image_name_text(text, sizeof text, &name), " (0, 0, 0)");

	if (index)
		memmove(index, index + strlen(" (0, 0, 0)"), strlen(index + strlen(" (0, 0, 0)")) + 1);
	printf("%10" PRIu64 "  %8s  %8" PRIu64 "  %8" PRIu64 "  %s\n", s->n, bytes_text(all, s->bytes),
	       s->least, s->most, text);
}

static void show_records(struct ckpt *c)
{
	struct sum s = { 0 };

	qsort(c->records, c->n_records, sizeof *c->records, by_collection);
	printf("%10s  %8s  %8s  %8s\n", "records", "all", "least B", "most B");
	for (size_t i = 0; i < c->n_records; i++) {
		const struct image_record *r = c->records[i];

		if (i && by_collection(&c->records[i - 1], &c->records[i])) {
			print_sum(&s);
			s.n = 0;
		}
		if (s.n == 0)
			s = (struct sum){ .kind = r->name.kind, .coll = r->name.coll, .least = UINT64_MAX };
		s.n++;
		s.bytes += r->bytes;
		s.least = r->bytes < s.least ? r->bytes : s.least;
		s.most = r->bytes > s.most ? r->bytes : s.most;
	}
	if (s.n)
		print_sum(&s);
}

int ckpt_show(const char *path)
{
	struct ckpt c;

	ckpt_load(&c, path);
	show_job(&c);
	show_files(&c);
	show_records(&c);
	ckpt_free(&c);
	return 0;
}
