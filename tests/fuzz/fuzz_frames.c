/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_frames.c: what arrives where CK_WIRE is lz4 or zstd, without a seal: frames of any bytes.
 * The first byte of an
 * input says which of them; then come frames, each after its length in two bytes. With a seal
 * nothing of a frame is read that does not open, and no input opens.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "../../runtime/machine/alive/traffic.h"
#include "../../runtime/machine/filter/filter.h"
#include "../../runtime/machine/filter/filter_int.h"
#include "../../runtime/machine/machine_int.h"

enum { NODES = 2, LARGEST = 1 << 20 };

static struct cmi m;
static struct cmi_pe pe, *wire = &pe;
static int first_pe[NODES + 1] = { 0, 1, 2 }, node_of[NODES] = { 0, 1 };
static uint64_t host_id[NODES] = { 0, 1 };

static struct cmi_msg *msg_alloc(void *owner, size_t size)
{
	struct cmi_msg *msg = aligned_alloc(CMI_MSG_ALIGN, (size + 15) / 16 * 16);

	(void)owner;
	if (!msg)
		abort();
	memset(msg, 0, size);
	msg->size = size;
	return msg;
}

static void msg_free(void *owner, struct cmi_msg *msg)
{
	(void)owner;
	free(msg);
}

static void begin(const char *words)
{
	struct filter_name name;

	setenv("CK_WIRE", words, 1);
	m = (struct cmi){ .filters_room = &filters_room, .wire = &wire };
	m.client = (struct cmi_client){ .msg_alloc = msg_alloc, .msg_free = msg_free };
	m.o.n_pes = 1;
	m.job = (struct cmi_job){ .n_nodes = NODES, .n_pes = NODES, .my_n_pes = 1, .first_pe = first_pe,
				  .node_of = node_of, .host_id = host_id };
	pe = (struct cmi_pe){ .m = &m };
	filters_room.open(&m, true);
	filters_room.describe(&m, &name);
	for (int node = 0; node < NODES; node++)
		filters_room.learn(&m, node, &name);
	if (filters_room.agree(&m))
		abort();
}

/* All bytes of an item are there. */
static void look_at(const struct item_arrived *a)
{
	unsigned sum = 0;

	for (size_t i = 0; i < a->header_len; i++)
		sum += ((const unsigned char *)a->header)[i];
	for (size_t i = 0; !a->m && i < a->bytes; i++)
		sum += ((const unsigned char *)a->data)[i];
	for (size_t i = 0; a->m && i < a->bytes; i++)
		sum += ((const unsigned char *)a->m)[i];
	if (sum > 255 * (a->header_len + a->bytes))
		abort();
	free(a->m);
}

/* Only what would take much memory is kept from it: as a message of that size would. */
static bool is_small(const unsigned char *frame, size_t bytes)
{
	struct frame_head h;

	if (bytes < sizeof h)
		return true;
	memcpy(&h, frame, sizeof h);
	return h.all <= LARGEST;
}

static int take(const uint8_t *data, size_t size)
{
	struct item_arrived a;
	const char *why = NULL;

	if (size == 0)
		return 0;
	begin(data[0] % 2 ? "zstd" : "lz4");
	for (size_t at = 1; !why && at + 2 <= size;) {
		const size_t said = (size_t)data[at] | (size_t)data[at + 1] << 8;
		const size_t bytes = said < size - at - 2 ? said : size - at - 2;
		unsigned char *frame = malloc(bytes + !bytes);

		memcpy(frame, data + at + 2, bytes);
		at += 2 + bytes;
		if (is_small(frame, bytes))
			why = filters_room.decode(&pe, frame, bytes, &a);
		if (!why && is_small(frame, bytes) && a.whole)
			look_at(&a);
		free(frame);
	}
	/* The messages under way. */
	for (int i = ITEM_STREAMS; i < 2 * ITEM_STREAMS; i++)
		if (pe.filter->pair[i])
			free(pe.filter->pair[i]->m);
	filters_room.close(&m);
	traffic_close(&m);
	return 0;
}

int main(int argc, char **argv)
{
	return LLVMFuzzerRunDriver(&argc, &argv, take);
}
