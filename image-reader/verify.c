/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c: ckpt verify: whether each byte of a checkpoint is as it was written. It goes on behind
 * what is damaged, as far as it can, so that all of it is named. */
#include "ckpt.h"

#include <inttypes.h>
#include <stdio.h>

struct found {
	uint64_t records, bytes, wrong;
};

static void tell(struct found *f, const struct image_why *why)
{
	complain("%s", why->text);
	f->wrong++;
}

static void verify_pe(struct found *f, const struct image_in *in, uint32_t pe)
{
	const struct image_record *r;
	struct image_why why;
	struct image_walk w;

	if (!image_walk_begin(&w, in, pe, &why)) {
		tell(f, &why);
		return;
	}
	while ((r = image_walk_next(&w, &why))) {
		f->records++;
		if (!image_walk_check(&w, r, &why))
			tell(f, &why);
	}
	if (why.text[0])
		tell(f, &why);
	image_walk_end(&w);
}

static void verify_node(struct found *f, const struct image_set *s, uint32_t node)
{
	struct image_why why;
	struct image_map m;

	if (!image_set_check(s, node, &why))
		tell(f, &why);
	if (!image_set_map(s, node, &m, &why)) {
		tell(f, &why);
		return;
	}
	f->bytes += m.bytes;
	for (uint32_t i = 0; i < m.in.head->n_pes; i++)
		verify_pe(f, &m.in, m.in.head->first_pe + i);
	image_unmap(&m);
}

int ckpt_verify(const char *path)
{
	struct found f = { 0 };
	char bytes[CKPT_BYTES_TEXT];
	struct image_why why;
	struct image_set s;

	if (!image_set_open(&s, path, NULL, &why)) {
		complain("%s", why.text);
		return 1;
	}
	for (uint32_t i = 0; i < s.m.n_nodes; i++)
		verify_node(&f, &s, i);
	if (f.wrong)
		printf("%s is damaged\n", s.folder);
	else
		printf("%s: %" PRIu64 " records, %s, as they were written\n", s.folder, f.records,
		       bytes_text(bytes, f.bytes));
	image_set_close(&s);
	return f.wrong != 0;
}
