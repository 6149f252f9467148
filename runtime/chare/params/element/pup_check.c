/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pup_check.c: in checked mode, finds errors of a pup function before its element moves.
 *
 *	the element                        a copy of it
 *	pack, and note what memory it has
 *	                                   fill its memory with a pattern, unpack
 *	compare                     <----  pack again: the image must be the same
 *	compare                     <----  its memory: no byte may still have the pattern
 *
 * An image does not show what is missing, so the copy is compared with the element, too: with its
 * struct, and with its memory of pup_alloc. A byte that still has the pattern has been forgotten,
 * with three exceptions: it was 0, as it will be after a move; it is padding; or the function
 * skipped it (pup_skip).
 *
 * The copy is not filled with the pattern alone. A word that is 0 in the element stays 0, and one
 * that may be an address becomes NULL: functions may rely on memory being 0 before unpacking, and
 * skip fields for which they packed nothing. An error in the first copy is confirmed by a second
 * with another pattern, because a function may set a byte to the pattern's value by chance, and a
 * pointer to NULL on purpose: there the struct's pointers that the function did not need get the
 * pattern, too.
 */
#include "element.h"
#include "../../../machine/base/cmi_alloc.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/** A piece of the element's memory. */
struct region {
	size_t bytes;
	unsigned char *was;       /* ours: the element's bytes; 0 where they do not matter; NULL: not
				   * compared */
	unsigned char *left;      /* ours, after `was`: the bits that no copy has set so far; 0 where they
				   * do not matter */
	bool is_struct;
	bool padded;              /* its padding is unknown */
};

/** The contents of a copy's memory. Region 0 is the struct; region k + 1 is the memory of the k-th
 * pup_alloc. */
struct pup_fill {
	const struct region *region;
	size_t n, n_made;
	int round;
};

static const struct pup_checks checks;

/* ---- addresses ------------------------------------------------------------------------------- */

static bool may_be_address(uintptr_t word) { return word >> 32 && !(word >> 47); }

/* Small numbers may be mapped, too, but are no heap. An untouched page does not count as pointed
 * to: address sanitizers reserve large parts of the address space. */
static bool is_address(uintptr_t word)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char used = 0;

	return may_be_address(word) && !mincore((void *)(word & ~(page - 1)), page, &used) && (used & 1);
}

/* A pointer packed as bytes stays valid until the element is in another process. */
static void look_for_address(struct CkPupEr *p, const void *v)
{
	uintptr_t word;

	memcpy(&word, v, sizeof word);
	if (is_address(word))
		pup_fault(
			p,
			"packs the %zu bytes at offset %zu of the element as they are, and they look like an "
			"address (0x%llx): pack what the pointer points to, or skip it",
			sizeof word, (size_t)((const char *)v - (const char *)p->self),
			(unsigned long long)word);
}

/* ---- the element's memory -------------------------------------------------------------------- */

static void note_block(struct CkPupEr *p, struct pup_gone block)
{
	struct pup_look *look = p->look;

	if (block.p && block.memory == CKGEN_MALLOC && malloc_usable_size(block.p) < block.bytes)
		pup_fault(p, "calls pup_alloc for %zu bytes of memory that has %zu", block.bytes,
			  malloc_usable_size(block.p));
	CMI_ONE_MORE(look->block, look->n_blocks, look->room, "a check of an element");
	look->block[look->n_blocks++] = block;
}

/* The last of the sorted blocks that begins at `at` or before, or NULL. */
static const struct pup_gone *block_before(const struct pup_gone *block, size_t n, const void *at)
{
	size_t low = 0;

	while (low < n) {
		const size_t middle = low + (n - low) / 2;

		if ((uintptr_t)block[middle].p > (uintptr_t)at)
			n = middle;
		else
			low = middle + 1;
	}
	return low ? &block[low - 1] : NULL;
}

/* Data packed from a block must lie in it: the new block has the same size. */
static void check_within(const struct CkPupEr *p, const struct pup_gone *sorted, size_t n)
{
	for (size_t i = 0; i < p->look->packed.n; i++) {
		const struct csd_piece *v = &p->look->packed.piece[i];
		const struct pup_gone *b = block_before(sorted, n, v->at);
		const size_t at = b ? (size_t)((uintptr_t)v->at - (uintptr_t)b->p) : 0;

		if (b && b->p && at < b->bytes && v->bytes > b->bytes - at)
			pup_fault(p, "packs %zu bytes at byte %zu of memory for which it calls pup_alloc with %zu bytes",
				  v->bytes, at, b->bytes);
	}
}

static void check_blocks(struct CkPupEr *p)
{
	const size_t n = p->look->n_blocks;
	struct pup_gone *sorted = cmi_alloc(n * sizeof *sorted + 1, "a check of an element");

	if (n)
		memcpy(sorted, p->look->block, n * sizeof *sorted);
	pup_check_apart(p, sorted, n);
	check_within(p, sorted, n);
	free(sorted);
}

/* The image; self: of the element, where addresses must not be packed as they are. */
static unsigned char *packed(struct pe *pe, struct ck_obj *obj, size_t n, const void *self,
			     struct pup_look *look)
{
	unsigned char *to = cmi_alloc(n, "a check of an element");
	struct CkPupEr p = {
		.mode = PACKING, .obj = obj, .to = (char *)to, .limit = n, .checks = &checks,
		.look = look, .self = self, .self_bytes = obj->coll->type->bytes,
	};

	element_run(pe, &p, obj);
	pup_check_packed(&p);
	check_blocks(&p);
	return to;
}

static void look_end(struct pup_look *look)
{
	free(look->block);
	free(look->skipped.piece);
	free(look->packed.piece);
}

/* ---- regions --------------------------------------------------------------------------------- */

/* Bits of padding do not matter; nor do bytes that the function skips. These are not even read:
 * they may be the buffer of a channel, into which another PE puts. */
static void ignore(struct region *r, const unsigned char *at, const struct pup_pieces *skipped)
{
	for (size_t i = 0; i < skipped->n; i++) {
		const uintptr_t from = (uintptr_t)skipped->piece[i].at, begin = (uintptr_t)at;
		const uintptr_t to = from + skipped->piece[i].bytes, end = begin + r->bytes;
		const uintptr_t low = from > begin ? from : begin, high = to < end ? to : end;

		if (low < high)
			memset(r->left + (low - begin), 0, high - low);
	}
}

static struct region region_of(const unsigned char *at, size_t bytes, void (*clear_padding)(void *),
			       const struct pup_look *look)
{
	struct region r = { .bytes = bytes, .padded = !clear_padding };

	if (!at)
		return r;
	r.was = cmi_alloc(2 * bytes + 1, "a check of an element");
	r.left = r.was + bytes;
	memset(r.left, 0xff, bytes);
	if (clear_padding)
		clear_padding(r.left);
	ignore(&r, at, &look->skipped);
	for (size_t i = 0; i < bytes; i++)
		r.was[i] = r.left[i] ? at[i] : 0;
	return r;
}

static struct region *regions_of(struct ck_obj *obj, const struct pup_look *look)
{
	struct region *r = cmi_alloc((look->n_blocks + 1) * sizeof *r, "a check of an element");

	r[0] = region_of(self_of(obj), obj->coll->type->bytes, obj->coll->type->clear_padding, look);
	r[0].is_struct = true;
	for (size_t k = 0; k < look->n_blocks; k++)
		r[k + 1] = region_of(look->block[k].p, look->block[k].bytes, NULL, look);
	return r;
}

/* A word that begins at byte i, padded with 0 at the region's end. */
static uint64_t region_word(const struct region *r, const unsigned char *bytes, size_t i)
{
	uint64_t word = 0;

	memcpy(&word, bytes + i, r->bytes - i < sizeof word ? r->bytes - i : sizeof word);
	return word;
}

/* Whether a byte of the word was not set in the copies so far. */
static bool is_unset(const struct region *r, size_t i)
{
	return region_word(r, r->was, i) & region_word(r, r->left, i);
}

/* The copy's initial value for the word at i. */
static uint64_t pattern(const struct region *r, size_t i, int round)
{
	static const unsigned char byte[] = { PUP_UNSET, (unsigned char)~PUP_UNSET };
	const uint64_t word = region_word(r, r->was, i);

	if (!word ||
	    (round ? is_address(word) && !(r->is_struct && is_unset(r, i)) : may_be_address(word)))
		return 0;
	return byte[round] * UINT64_C(0x0101010101010101);
}

static void fill(const struct region *r, unsigned char *to, int round)
{
	for (size_t i = 0; i < r->bytes; i += sizeof(uint64_t)) {
		const uint64_t word = pattern(r, i, round);

		memcpy(to + i, &word, r->bytes - i < sizeof word ? r->bytes - i : sizeof word);
	}
}

/* Note which bytes of a word the copy has set. If one address replaces another, some bytes may be
 * 0. */
static void look_at_word(struct region *r, size_t i, uint64_t copy, int round)
{
	const uint64_t was = region_word(r, r->was, i), set = copy ^ pattern(r, i, round);
	const size_t n = r->bytes - i < sizeof was ? r->bytes - i : sizeof was;

	for (size_t j = 0; j < n; j++)
		if (set >> 8 * j & 0xff)
			r->left[i + j] = 0;
	if (set == copy && copy && is_unset(r, i) && is_address(was))
		memset(r->left + i, 0, n);
}

static void look_at_copy(struct region *r, const unsigned char *copy, int round)
{
	for (size_t i = 0; i < r->bytes; i += sizeof(uint64_t))
		look_at_word(r, i, region_word(r, copy, i), round);
}

/* The function will use the copy again, and must not find a pattern in a pointer. */
static void clear_pointers(const struct region *r, unsigned char *copy)
{
	for (size_t i = 0; i + sizeof(void *) <= r->bytes; i += sizeof(void *))
		if (is_unset(r, i) && is_address(region_word(r, r->was, i)))
			memset(copy + i, 0, sizeof(void *));
}

/* ---- a copy ---------------------------------------------------------------------------------- */

static void fill_size(struct CkPupEr *p, size_t bytes)
{
	const struct pup_fill *f = p->fill;
	const struct region *r = f->n_made < f->n ? &f->region[f->n_made + 1] : NULL;

	if (r && r->bytes != bytes)
		pup_fault(
			p,
			"calls pup_alloc for %zu bytes when it unpacks, and for %zu when it packs (call %zu): "
			"it must do "
			"the same each time, so unpack first what the size depends on",
			bytes, r->bytes, f->n_made + 1);
}

static void fill_new(struct CkPupEr *p, void *mem)
{
	struct pup_fill *f = p->fill;
	const struct region *r = f->n_made < f->n ? &f->region[f->n_made + 1] : NULL;

	if (r && r->was)
		fill(r, mem, f->round);
	f->n_made++;
}

static const struct pup_checks checks = { note_block, fill_size, fill_new, look_for_address };

/* Another object that claims to be this element: X_pup may ask for its index. */
static struct ck_obj *unpacked(struct pe *pe, const struct ck_obj *obj, const unsigned char *from,
			       size_t n, struct pup_fill *f)
{
	struct ck_obj *copy = cmi_alloc(sizeof *obj + obj->coll->type->bytes, "a check of an element");
	struct CkPupEr p = {
		.mode = UNPACKING, .obj = copy, .from = (const char *)from, .limit = n, .checks = &checks,
		.fill = f
	};

	memcpy(copy, obj, sizeof *obj);
	fill(&f->region[0], self_of(copy), f->round);
	element_run(pe, &p, copy);
	pup_check_unpacked(&p);
	return copy;
}

static void compare_images(const struct ck_obj *obj, const unsigned char *a, const unsigned char *b,
			   size_t n)
{
	const struct CkPupEr p = { .obj = obj };

	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i])
			pup_fault(&p, "does not restore what it packs: packed again, byte %zu of %zu is 0x%02x "
				  "instead of 0x%02x", i, n, b[i], a[i]);
}

/* Memory that the copy does not have is not compared: a pointer to it has been forgotten, and is
 * found in the struct. */
static void look_at_blocks(struct region *region, size_t n, const struct pup_look *its, int round)
{
	for (size_t k = 0; k < n; k++) {
		struct region *r = &region[k + 1];

		if (r->was && k < its->n_blocks && its->block[k].p && its->block[k].bytes == r->bytes)
			look_at_copy(r, its->block[k].p, round);
		else if (r->was)
			memset(r->left, 0, r->bytes);
	}
}

static void try_out(struct pe *pe, const struct ck_obj *obj, const unsigned char *image, size_t n,
		    struct region *region, size_t n_blocks, int round)
{
	struct pup_fill f = { .region = region, .n = n_blocks, .round = round };
	struct ck_obj *copy = unpacked(pe, obj, image, n, &f);
	const struct CkPupEr p = { .obj = obj };
	struct pup_look its = { 0 };

	look_at_copy(&region[0], self_of(copy), round);
	clear_pointers(&region[0], self_of(copy));

	const size_t again = element_struct_size(pe, copy);

	if (again != n)
		pup_fault(&p, "does not restore what it packs: packed again, it takes %zu bytes instead of %zu",
			  again, n);

	unsigned char *b = packed(pe, copy, n, NULL, &its);

	compare_images(obj, image, b, n);
	look_at_blocks(region, n_blocks, &its, round);
	element_delete(pe, copy);
	look_end(&its);
	free(copy);
	free(b);
}

/* ---- forgotten bytes ------------------------------------------------------------------------- */

static bool none_set(const struct region *r, size_t from, size_t to)
{
	for (; from < to && from < r->bytes; from++)
		if (!r->left[from])
			return false;
	return true;
}

/* Whether an unset byte can be padding. Padding follows a field, is shorter than the alignment of
 * what it ends at, and no type is aligned to more than a word here. So a word of which no byte was
 * set has none, nor has a word's first byte. */
static bool may_be_padding(const struct region *r, size_t i)
{
	const size_t word = i / 8 * 8, at = i % 8;

	if (!at || none_set(r, word, word + 8))
		return false;
	return none_set(r, i, word + 8) || (at < 4 && none_set(r, i, word + 4)) || at == 1 || at == 5;
}

static bool is_forgotten(const struct region *r, size_t i)
{
	return r->was && (r->was[i] & r->left[i]) && !(r->padded && may_be_padding(r, i));
}

/* The first byte that is forgotten; r->bytes: none is. */
static size_t forgotten(const struct region *r)
{
	size_t i = 0;

	while (i < r->bytes && !is_forgotten(r, i))
		i++;
	return i;
}

static bool any_forgotten(const struct region *region, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (forgotten(&region[k]) < region[k].bytes)
			return true;
	return false;
}

/* "the 80 bytes that byte 16 of the struct points to" */
static void describe_region(const struct region *region, size_t k, const void *at, char *buf,
			    size_t len)
{
	const struct region *self = &region[0];

	if (!k) {
		snprintf(buf, len, "the struct");
		return;
	}
	for (size_t i = 0; i + sizeof at <= self->bytes; i += sizeof at)
		if (region_word(self, self->was, i) == (uintptr_t)at) {
			snprintf(buf, len, "the %zu bytes that byte %zu of the struct points to", region[k].bytes, i);
			return;
		}
	snprintf(buf, len, "the %zu bytes of its pup_alloc number %zu", region[k].bytes, k);
}

/* "the pointer in bytes 16 to 23" */
static void describe_bytes(const struct region *r, size_t from, size_t to, char *buf, size_t len)
{
	const bool pointer = to - from == sizeof(void *) && is_address(region_word(r, r->was, from));

	if (to - from == 1)
		snprintf(buf, len, "byte %zu", from);
	else
		snprintf(buf, len, "%sbytes %zu to %zu", pointer ? "the pointer in " : "", from, to - 1);
}

/* Adjacent unset bytes that were 0 most likely belong to the same field, or to others that are
 * forgotten. */
static void report_region(const struct ck_obj *obj, const struct region *region, size_t k,
			  const struct pup_look *look)
{
	const struct CkPupEr p = { .obj = obj };
	const struct region *r = &region[k];
	size_t from = forgotten(r), to = from + 1;
	char what[64], where[96];

	while (from % 8 && r->left[from - 1])
		from--;
	for (size_t i = to; i < r->bytes && r->left[i]; i++)
		if (is_forgotten(r, i))
			to = i + 1;
	while (to % 8 && to < r->bytes && r->left[to])
		to++;
	describe_bytes(r, from, to, what, sizeof what);
	describe_region(region, k, k ? look->block[k - 1].p : NULL, where, sizeof where);
	pup_fault(
		&p,
		"forgets %s of %s, which would be 0 after a %s: pack it, or call pup_skip if it need not "
		"come back",
		what, where, pup_moves(&p) ? "move" : "restart");
}

void element_check(struct pe *pe, struct ck_obj *obj)
{
	const size_t n = element_struct_size(pe, obj);
	struct pup_look look = { 0 };
	unsigned char *image = packed(pe, obj, n, self_of(obj), &look);
	const size_t n_regions = look.n_blocks + 1;
	struct region *region = regions_of(obj, &look);

	for (int round = 0; round < 2 && (!round || any_forgotten(region, n_regions)); round++)
		try_out(pe, obj, image, n, region, look.n_blocks, round);
	for (size_t k = 0; k < n_regions; k++)
		if (forgotten(&region[k]) < region[k].bytes)
			report_region(obj, region, k, &look);
	for (size_t k = 0; k < n_regions; k++)
		free(region[k].was);
	free(region);
	look_end(&look);
	free(image);
}

void CkPupCheck(void *self)
{
	struct pe *pe = ck_self();
	const CkGenChare *type = obj_of(self)->coll->type;

	if (!type->pup)
		csd_abort(pe, "CkPupCheck: %s is not packed; declare 'pup %s;' in the .ci file", type->name,
			  type->name);
	element_check(pe, obj_of(self));
}
