/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_file.c: writes the files of a checkpoint.
 *
 * Whole pages of an image go to the disk straight from its memory (O_DIRECT): a copy in the
 * kernel's cache takes thirty times the processor time, which the program would lose. The last
 * bytes go through the cache, and so does everything where the file system cannot do it.
 */
#include "image_file.h"
#include "image_head.h"
#include "image_sum.h"
#include "image_zstd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A piece's sum is made while it is in the cache, and a slow disk shows its progress. Pieces are
 * short because PEs that exchange data in each step wait for the one that is held up: the longer
 * the pieces are, the seldomer two are held up together. */
enum { PIECE = 1 << 20, MODE = 0666 };

struct out {
	int fd;
	const char *path;
	off_t at;
	bool direct;                 /* past the cache */
	XXH3_state_t sum;
	_Atomic uint64_t *written;   /* may be NULL */
	struct image_why *why;
};

static bool cannot(const struct out *o, const char *what)
{
	return image_says(o->why, "%s: cannot %s, at byte %lld: %s", o->path, what, (long long)o->at,
			  strerror(errno));
}

/* ---- bytes to a file ---------------------------------------------------------------------- */

static void through_cache(struct out *o)
{
	if (o->direct)
		fcntl(o->fd, F_SETFL, 0);
	o->direct = false;
}

/* What is no whole page is refused, and some file systems refuse all only here. */
static bool write_piece(struct out *o, const char *p, size_t n)
{
	while (n > 0) {
		const ssize_t done = pwrite(o->fd, p, n, o->at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EINVAL && o->direct) {
			through_cache(o);
			continue;
		}
		if (done <= 0) {
			errno = done ? errno : ENOSPC;
			return cannot(o, "write");
		}
		p += done;
		n -= (size_t)done;
		o->at += done;
	}
	if (o->written)
		atomic_store_explicit(o->written, (uint64_t)o->at, memory_order_relaxed); /* a hint */
	return true;
}

static bool write_bytes(struct out *o, const char *p, size_t n)
{
	for (size_t piece; n > 0; p += piece, n -= piece) {
		piece = n < PIECE ? n : PIECE;
		image_sum_add(&o->sum, p, piece);
		if (!write_piece(o, p, piece))
			return false;
	}
	return true;
}

/* Of an earlier trial there may be a file: it is not ours, and stays an error. */
static bool out_open(struct out *o, const char *path, bool direct, struct image_why *why)
{
	*o = (struct out){ .path = path, .why = why };
	XXH3_64bits_reset(&o->sum);
	o->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
	o->direct = o->fd >= 0 && direct && fcntl(o->fd, F_SETFL, O_DIRECT) == 0;
	return o->fd >= 0 || cannot(o, "create it");
}

/* The error of close is one of writing, on NFS. */
static bool out_close(struct out *o, bool ok)
{
	ok = ok && (fdatasync(o->fd) == 0 || cannot(o, "write it to the disk"));
	if (close(o->fd) && ok)
		ok = cannot(o, "close it");
	if (!ok)
		unlink(o->path);
	return ok;
}

/* ---- the image of a process --------------------------------------------------------------- */

static bool write_plain(struct out *o, const char *image)
{
	const uint64_t bytes = ((const struct image_head *)(const void *)image)->bytes;
	const uint64_t whole = bytes / IMAGE_PAGE * IMAGE_PAGE;

	return write_bytes(o, image, whole) && write_bytes(o, image + whole, bytes - whole);
}

static bool write_zeros(struct out *o, uint64_t until)
{
	static const char zero[IMAGE_PAGE];

	return until - (uint64_t)o->at == 0 || write_bytes(o, zero, until - (uint64_t)o->at);
}

/* The blocks, as they are packed one after the other: how long each one is decides where the next
 * begins, so the head is written last, and the sum of the file is made by a pass over the packed
 * blocks, which are kept. */
struct packed {
	struct image_head *head;
	char **block;                /* NULL: as it is in the image */
};

static void packed_free(struct packed *p)
{
	for (uint32_t i = 0; p->block && i < p->head->n_pes; i++)
		free(p->block[i]);
	free(p->block);
	free(p->head);
}

static void pack_block(struct packed *p, uint32_t i, const char *from)
{
	struct image_block *b = &p->head->block[i];
	const size_t most = image_zstd_most(b->bytes);
	char *to = malloc(most);
	const size_t n = to ? image_zstd_pack(to, most, from, b->bytes) : 0;

	if (n) {
		p->block[i] = realloc(to, n) ?: to;
		b->stored = n;
		b->sum = image_sum(p->block[i], n);
	} else {
		free(to);
	}
}

static bool pack(struct packed *p, const struct image_head *h)
{
	*p = (struct packed){ .head = malloc(h->head_bytes), .block = calloc(h->n_pes, sizeof(char *)) };
	if (!p->head || !p->block)
		return false;
	memcpy(p->head, h, h->head_bytes);

	uint64_t at = h->head_bytes;

	for (uint32_t i = 0; i < h->n_pes; i++) {
		struct image_block *b = &p->head->block[i];

		if (b->bytes)
			pack_block(p, i, (const char *)h + b->offset);
		b->offset = at;
		p->head->bytes = at + b->stored;
		at = (p->head->bytes + IMAGE_PAGE - 1) / IMAGE_PAGE * IMAGE_PAGE;
	}
	image_seal(p->head);
	return true;
}

static bool write_packed(struct out *o, const struct image_head *h)
{
	struct packed p;
	bool ok = pack(&p, h);

	if (!ok) {
		errno = ENOMEM;
		cannot(o, "compress");
	}
	ok = ok && write_bytes(o, (const char *)p.head, h->head_bytes);
	for (uint32_t i = 0; ok && i < h->n_pes; i++) {
		const struct image_block *b = &p.head->block[i];

		ok = write_zeros(o, b->offset) &&
		     write_bytes(o, p.block[i] ? p.block[i] : (const char *)h + h->block[i].offset, b->stored);
	}
	packed_free(&p);
	return ok;
}

bool image_write_file(void *order, struct image_why *why)
{
	struct image_write *w = order;
	struct out o;

	w->bytes = w->sum = 0;
	if (w->zstd && !image_zstd_is_there(why))
		return false;
	if (!out_open(&o, w->path, !w->zstd, why))
		return false;
	o.written = &w->written;

	const bool ok = w->zstd ? write_packed(&o, (const void *)w->image) : write_plain(&o, w->image);

	w->bytes = (uint64_t)o.at;
	w->sum = XXH3_64bits_digest(&o.sum);
	return out_close(&o, ok);
}

/* ---- others ------------------------------------------------------------------------------- */

bool image_write_text(const char *path, const char *text, size_t bytes, struct image_why *why)
{
	struct out o;

	return out_open(&o, path, false, why) && out_close(&o, write_bytes(&o, text, bytes));
}

bool image_sync_folder(const char *path, struct image_why *why)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const bool ok = fd >= 0 && fsync(fd) == 0;
	const int e = errno;

	if (fd >= 0)
		close(fd);
	/* Some network file systems write folders at once, and have no call for it. */
	return ok || (fd >= 0 && e == EINVAL) ||
	       image_says(why, "%s: cannot write the folder to the disk: %s", path, strerror(e));
}
