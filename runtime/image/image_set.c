/* SPDX-License-Identifier: Apache-2.0 */
/* image_set.c: opens a checkpoint on disk. */
#include "image_set.h"
#include "image_folder.h"
#include "image_sum.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = 32, MANIFEST_MOST = 1 << 30, PIECE = 8 << 20 };

static bool cannot(struct image_why *why, const char *path, const char *what)
{
	return image_says(why, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* ---- the folder ----------------------------------------------------------------------------- */

static bool has(const char *folder, const char *name)
{
	char path[IMAGE_PATH + NAME];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

/* A job that was killed after its first checkpoint got its name has no `latest`. */
bool image_set_find(char to[IMAGE_PATH], const char *path, struct image_why *why)
{
	const uint64_t newest = image_folder_newest(path);

	to[0] = '\0';
	if (strlen(path) > IMAGE_PATH - NAME)
		return why && image_says(why, "%.100s...: the name is too long", path);
	if (has(path, "MANIFEST"))
		snprintf(to, IMAGE_PATH, "%s", path);
	else if (has(path, "latest"))
		snprintf(to, IMAGE_PATH, "%s/latest", path);
	else if (newest)
		image_folder_path(to, path, newest);
	else if (why)
		return access(path, F_OK) ? cannot(why, path, "open it") :
		       image_says(why, "%s: there is no checkpoint in it", path);
	return to[0];
}

/* ---- the manifest --------------------------------------------------------------------------- */

static bool read_whole(int fd, char *to, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		const ssize_t n = pread(fd, to + at, bytes - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n ? errno : ENODATA;
			return false;
		}
		at += (size_t)n;
	}
	return true;
}

static char *read_text(const char *path, size_t *bytes, struct image_why *why)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text = NULL;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size <= MANIFEST_MOST)
		text = malloc((size_t)st.st_size + 1);
	if (text && !read_whole(fd, text, *bytes = (size_t)st.st_size)) {
		free(text);
		text = NULL;
	}
	if (!text)
		cannot(why, path, "read it");
	if (fd >= 0)
		close(fd);
	return text;
}

static bool fits(const struct image_set *s, const struct image_expect *e, struct image_why *why)
{
	const struct image_manifest *m = &s->m;

	if (strcmp(m->abi, e->abi))
		return image_says(why, "%s was written on another kind of machine: %s; here: %s", s->folder,
				  m->abi, e->abi);
	if (strcmp(m->program, e->program))
		return image_says(why, "%s is of the program %s; this is %s", s->folder, m->program,
				  e->program);
	if (m->fingerprint != e->fingerprint)
		return image_says(why, "%s is of another version of %s: its chares, entry methods or their "
				  "fields differ", s->folder, e->program);
	return true;
}

bool image_set_open(struct image_set *s, const char *path, const struct image_expect *expect,
		    struct image_why *why)
{
	char name[IMAGE_PATH + NAME];
	size_t bytes = 0;

	*s = (struct image_set){ 0 };
	if (!image_set_find(s->folder, path, why))
		return false;
	snprintf(name, sizeof name, "%s/MANIFEST", s->folder);

	char *text = read_text(name, &bytes, why);
	bool ok = text && image_manifest_parse(&s->m, name, text, bytes, why);

	free(text);
	ok = ok && (!expect || fits(s, expect, why));
	if (!ok)
		image_set_close(s);
	return ok;
}

void image_set_close(struct image_set *s)
{
	image_manifest_free(&s->m);
}

/* ---- the files ------------------------------------------------------------------------------ */

static void name_file(const struct image_set *s, uint32_t node, char to[IMAGE_PATH])
{
	snprintf(to, IMAGE_PATH, "%.4000s/node-%05" PRIu32, s->folder, node);
}

static bool size_fits(int fd, const char *name, uint64_t bytes, struct image_why *why)
{
	struct stat st;

	if (fstat(fd, &st))
		return cannot(why, name, "read it");
	return (uint64_t)st.st_size == bytes ||
	       image_says(why, "%s has %lld bytes; the manifest says %" PRIu64, name,
			  (long long)st.st_size, bytes);
}

/* A file of another checkpoint may have got here, by hand. */
static bool head_fits(const struct image_set *s, const struct image_map *m,
		      const struct image_file *f, struct image_why *why)
{
	const struct image_head *h = m->in.head;

	if (h->sequence != s->m.sequence || h->job != s->m.job)
		return image_says(why, "%s is of checkpoint %" PRIu64 " of job %016" PRIx64 "; the manifest is "
				  "of checkpoint %" PRIu64 " of job %016" PRIx64, m->name, h->sequence,
				  h->job, s->m.sequence, s->m.job);
	return (h->node == f->node && h->n_nodes == s->m.n_nodes && h->first_pe == f->first_pe &&
		h->n_pes == f->n_pes) ||
	       image_says(why, "%s is the image of node %" PRIu32 " of %" PRIu32 ", PEs %" PRIu32 " to %" PRIu32
			  "; the manifest says another", m->name, h->node, h->n_nodes, h->first_pe,
			  h->first_pe + h->n_pes - 1);
}

static bool map_file(struct image_map *m, const struct image_file *f, struct image_why *why)
{
	const int fd = open(m->name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return cannot(why, m->name, "open it");

	bool ok = size_fits(fd, m->name, f->bytes, why);

	if (ok && f->bytes) {
		m->bytes = f->bytes;
		m->base = mmap(NULL, m->bytes, PROT_READ, MAP_SHARED, fd, 0);
		if (m->base == MAP_FAILED) {
			m->base = NULL;
			ok = cannot(why, m->name, "map it");
		}
	}
	close(fd);
	return ok && image_in_open(&m->in, m->name, m->base, m->bytes, why);
}

bool image_set_map(const struct image_set *s, uint32_t node, struct image_map *m,
		   struct image_why *why)
{
	*m = (struct image_map){ 0 };
	name_file(s, node, m->name);
	if (map_file(m, &s->m.files[node], why) && head_fits(s, m, &s->m.files[node], why))
		return true;
	image_unmap(m);
	return false;
}

void image_unmap(struct image_map *m)
{
	if (m->base)
		munmap(m->base, m->bytes);
	m->base = NULL;
}

static bool sum_file(int fd, const char *name, char *piece, uint64_t bytes, uint64_t *sum,
		     struct image_why *why)
{
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	for (uint64_t at = 0; at < bytes;) {
		const ssize_t n = pread(fd, piece, PIECE, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return image_says(why, "%s: cannot read it, at byte %" PRIu64 ": %s", name, at,
					  n ? strerror(errno) : "it ends there");
		image_sum_add(&state, piece, (size_t)n);
		at += (uint64_t)n;
	}
	*sum = XXH3_64bits_digest(&state);
	return true;
}

bool image_set_check(const struct image_set *s, uint32_t node, struct image_why *why)
{
	const struct image_file *f = &s->m.files[node];
	char name[IMAGE_PATH], *piece = malloc(PIECE);
	uint64_t sum = 0;

	name_file(s, node, name);

	const int fd = open(name, O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0 || cannot(why, name, "open it");

	ok = ok && (piece || image_says(why, "%s: no memory", name)) && size_fits(fd, name, f->bytes, why) &&
	     sum_file(fd, name, piece, f->bytes, &sum, why) &&
	     (sum == f->sum || image_says(why, "%s is damaged: its sum is not that of the manifest", name));
	if (fd >= 0)
		close(fd);
	free(piece);
	return ok;
}
