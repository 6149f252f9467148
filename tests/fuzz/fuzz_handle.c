/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_handle.c: names that a program passes to the runtime: handles of channels, proxies, elements, sections,
 * futures, callbacks, buffers. All are plain bytes that have come in messages. An input is a list of uses:
 *
 *	| what | which name | number of patches, 0 to 3 | offset and byte of each patch |
 *
 * The first byte says whether it is checked mode. Some things cannot be found out, and are left alone: the address in
 * a callback of a C function; the addresses in the program's own buffer; what a bound handle says of memory (checked
 * mode finds that), and for CkDirect_put, which must be fast, its number of the sending end; a proxy that has become
 * one of another collection of the job.
 */
#include "nodes.h"

#include <stdlib.h>
#include <string.h>

#include "../../runtime/chare/core/callback.h"
#include "../../runtime/direct/core/direct_handle.h"
#include "zoo.h"
#include "zoo.decl.h"

enum { BYTES = 64, USES = 16, PATCHES = 3 };

static struct {
	double in[2][BYTES / 8], out[BYTES / 8];
	CkDirectHandle handle[6]; /* own, own in sequence mode, another PE's; then the same, bound */
	const uint8_t *data, *end;
} w;

static int next_byte(void)
{
	return w.data < w.end ? *w.data++ : 0;
}

/* Copy a name and change some of its bytes. Returns whether any is another than it was. */
static bool patch(void *name, size_t bytes)
{
	unsigned char *b = name, was[sizeof(CkDirectHandle)];
	int n = next_byte() % (PATCHES + 1);

	memcpy(was, name, bytes);
	while (n-- > 0) {
		size_t at = (size_t)next_byte() % bytes;

		b[at] = (unsigned char)next_byte();
	}
	return memcmp(was, name, bytes) != 0;
}

/* ---- channels --------------------------------------------------------------------------- */

static void open_channels(void)
{
	w.out[BYTES / 8 - 1] = 1;
	w.handle[0] = CkDirect_createHandle(w.in[0], BYTES, 0, Zoo_arrived, NULL);
	w.handle[1] = CkDirect_createHandleSeq(w.in[1], BYTES, Zoo_arrived, NULL);
	w.handle[2] = zoo_names.handle;
	for (int i = 0; i < 3; i++) {
		w.handle[3 + i] = w.handle[i];
		CkDirect_assocLocal(&w.handle[3 + i], w.out);
	}
}

/* What a put in checked mode finds out, or any does. */
static bool is_found(const struct pe *pe, const struct direct_handle *was, const struct direct_handle *h, bool put)
{
	struct direct_handle same = *h;

	if (put && h->sender != was->sender)
		return false;
	if (pe->node->check || !direct_is_bound(was))
		return true;
	same.magic = was->magic;
	same.sender_pe = was->sender_pe;
	same.sender = was->sender;
	same.sender_generation = was->sender_generation;
	return memcmp(&same, was, sizeof same) == 0;
}

/* Its data may be as long as the handle says; only checked mode tells that from what it said before. A changed handle
 * that a call takes, because it does not look there, is not kept: it would bring a put the number of a sending end. */
static void use_handle(struct pe *pe, int what)
{
	const int which = next_byte() % 6;
	CkDirectHandle copy = w.handle[which], *h = &copy;
	const CkDirectStrides shape = { .block_bytes = 8, .blocks = BYTES / 8, .stride_bytes = 8 };
	const bool patched = patch(h, sizeof *h);

	if (!is_found(pe, direct_open(&w.handle[which]), direct_open(h), what == 3))
		return;
	switch (what) {
	case 0: CkDirect_assocLocalBuffer(h, w.out, BYTES); break;
	case 1: CkDirect_assocLocal(h, w.out); break;
	case 2: CkDirect_assocLocalStrided(h, w.out, shape); break;
	case 3: CkDirect_put(h); break;
	case 4: CkDirect_putData(h, Zoo_arrived, NULL, 0); break;
	case 5: CkDirect_ready(h); break;
	case 6: CkDirect_readyMark(h); break;
	case 7: CkDirect_readyPollQ(h); break;
	case 8: CkDirect_rebind(h, w.out, BYTES); break;
	case 9: CkDirect_destroyHandle(h); break;
	default: (void)CkDirect_path(h); break;
	}
	if (!patched)
		w.handle[which] = copy;
}

/* ---- other names -------------------------------------------------------------------------- */

static void use_element(int what)
{
	CkElement e = zoo_names.one;
	static const int ints[] = { 1, 2, 3 };

	patch(&e, sizeof e);
	if (!zoo_is_told(zoo_names.one.id, e.id))
		return;
	switch (what % 5) {
	case 0: Cell_none((CProxyElement_Cell){ e }); break;
	case 1: Cell_fast((CProxyElement_Cell){ e }, 3, ints); break;
	case 2: Cell_small((CProxyElement_Cell){ e }, 3, ints, "text"); break;
	case 3: (void)Cell_ckLocal((CProxyElement_Cell){ e }); break;
	default: Cell_insert((CProxyElement_Cell){ e }, next_byte() - 1, 0, NULL, "again"); break;
	}
}

static void use_proxy(int what)
{
	static const int ints[] = { 1, 2, 3 };
	const CkProxy was = what % 4 ? zoo_names.all : zoo_names.team;
	CkProxy p = was;

	patch(&p, sizeof p);
	if (!zoo_is_told(was.id, p.id))
		return;
	switch (what % 4) {
	case 0: Team_call_all((CProxy_Team){ p }, 3, ints); break;
	case 1: Cell_none_all((CProxy_Cell){ p }); break;
	case 2: Cell_fast_all((CProxy_Cell){ p }, 3, ints); break;
	default: Cell_doneInserting((CProxy_Cell){ p }); break;
	}
}

static void use_section(int what)
{
	CkSection s = zoo_names.section;

	patch(&s, sizeof s);
	if (!zoo_is_told(zoo_names.section.coll, s.coll))
		return;
	if (what % 2)
		Cell_none_section((CProxySection_Cell){ s });
	else
		CkSectionDestroy(s);
}

static void use_future(int what)
{
	static const int value = 1;
	CkFuture f = zoo_names.future;

	patch(&f, sizeof f);
	switch (what % 4) {
	case 0: CkSendToFutureTyped(f, CK_INT, &value, 1); break;
	case 1: (void)CkProbeFuture(f); break;
	case 2: CkReleaseFuture(f); break;
	default: CkSendToFuture(f, Plain_alloc()); break;
	}
}

static void use_callback(void)
{
	static const int value = 1;
	CkCallback cb = zoo_names.back;

	if (patch(&cb, sizeof cb) && (cb.kind & ~CB_MARKED) == CB_FUNCTION)
		return;
	CkCallbackSendTyped(cb, CK_INT, &value, 1);
}

static void use_buffer(int what)
{
	CkNcpyBuffer far = zoo_names.buffer, own;

	if (patch(&far, sizeof far) && (far.pe == CkMyPe() || (far.done.kind & ~CB_MARKED) == CB_FUNCTION))
		return;
	CkNcpyBufferInit(&own, w.out, sizeof w.out, CkCallbackIgnore());
	if (what % 2)
		(void)CkNcpyGet(&own, &far);
	else
		(void)CkNcpyPut(&own, &far);
}

/* ---- all ------------------------------------------------------------------------------------ */

static void use(struct pe *pe)
{
	const int what = next_byte();

	switch (what % 8) {
	case 0: use_element(what / 8); break;
	case 1: use_proxy(what / 8); break;
	case 2: use_section(what / 8); break;
	case 3: use_future(what / 8); break;
	case 4: use_callback(); break;
	case 5: use_buffer(what / 8); break;
	default: use_handle(pe, what / 8 % 11); break;
	}
}

void fuzz_input(struct pe *pe, const uint8_t *data, size_t size)
{
	w.data = data;
	w.end = data + size;
	((struct node *)(uintptr_t)pe->node)->check = next_byte() & 1;
	open_channels();
	for (int i = 0; i < USES && w.data < w.end; i++) {
		use(pe);
		CsdScheduler(8);
	}
}

void fuzz_arrived(struct pe *pe, const struct cmi_msg *m)
{
	(void)pe;
	(void)m;
}
