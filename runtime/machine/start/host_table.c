/* SPDX-License-Identifier: Apache-2.0 */
/* host_table.c: see host_table.h. */
#include "host_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../boot/boot.h"
#include "../base/cmi_alloc.h"
#include "../tools/fd_of.h"
#include "machine_int.h"
#include "meet.h"

static const char NAME_KEY[] = "table", WHAT[] = "the job's nodes";

/** A file: this, then n_nodes + 1 offsets, then the values, concatenated. */
struct head {
	uint64_t nonce, n_nodes;
	uint64_t at[]; /* of a node's value, from the beginning of the file */
};

static size_t head_bytes(const struct cmi *m)
{
	return sizeof(struct head) + ((size_t)m->job.n_nodes + 1) * sizeof(uint64_t);
}

/* Without files the other nodes read the launcher's data themselves. */
static void make_files(struct host_table_name *n)
{
	n->pid = getpid();
	if (getrandom(&n->nonce, sizeof n->nonce, 0) != sizeof n->nonce)
		n->pid = 0;
	for (int i = 0; i < HOST_TABLES; i++)
		n->fd[i] = memfd_create("chard-table", MFD_CLOEXEC);
}

int host_table_open(struct cmi *m)
{
	struct host_table *t = &m->table;

	t->reader = boot_reader(m->boot);
	if (t->reader != m->job.node)
		return 0;
	make_files(&t->name);
	t->named = true;
	return meet_put(m, NAME_KEY, &t->name, sizeof t->name);
}

static bool write_table(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno != EINTR)
			return false;
		bytes += n < 0 ? 0 : n;
		len -= n < 0 ? 0 : (size_t)n;
	}
	return true;
}

int host_table_write(struct cmi *m, int which, const char *key, size_t cap)
{
	const struct host_table *t = &m->table;
	size_t used = head_bytes(m), room = used + cap, len = 0;
	char *all = cmi_alloc_zero(1, room, WHAT);
	int rc = 0;

	for (int node = 0; !rc && node < m->job.n_nodes; node++) {
		if (room - used < cap) {
			room = 2 * room + cap;
			all = cmi_realloc(all, room, 1, WHAT);
		}
		rc = meet_get(m, node, key, all + used, cap, &len);
		((struct head *)(void *)all)->at[node] = used;
		used += rc ? 0 : len;
	}
	((struct head *)(void *)all)->at[m->job.n_nodes] = used;
	((struct head *)(void *)all)->n_nodes = (uint64_t)m->job.n_nodes;
	((struct head *)(void *)all)->nonce = t->name.nonce;
	/* Nodes that map a truncated file detect that. */
	if (!rc && t->name.fd[which] >= 0)
		(void)write_table(t->name.fd[which], all, used);
	free(all);
	return rc;
}

/* The offsets rise and lie in the file. Another process's file may contain anything. */
static bool is_whole(const struct cmi *m, const struct head *h, size_t bytes)
{
	if (bytes < head_bytes(m) || h->nonce != m->table.name.nonce ||
	    h->n_nodes != (uint64_t)m->job.n_nodes || h->at[0] != head_bytes(m) ||
	    h->at[h->n_nodes] != bytes)
		return false;
	for (uint64_t i = 0; i < h->n_nodes; i++)
		if (h->at[i] > h->at[i + 1])
			return false;
	return true;
}

/* Once; it is there after the first fence. */
static bool learn_name(struct cmi *m)
{
	struct host_table *t = &m->table;
	size_t len = 0;

	if (!t->named && t->reader >= 0)
		t->named = !boot_get(m->boot, t->reader, NAME_KEY, &t->name, sizeof t->name, &len) &&
			   len == sizeof t->name;
	return t->named && t->name.pid > 0;
}

static void unmap(struct host_table *t)
{
	if (t->map)
		munmap((void *)(uintptr_t)t->map, t->bytes);
	t->map = NULL;
}

void host_table_map(struct cmi *m, int which, const char *key)
{
	struct host_table *t = &m->table;
	struct stat st;
	void *map = MAP_FAILED;
	int fd;

	unmap(t);
	fd = learn_name(m) ? fd_of_process(t->name.pid, t->name.fd[which], O_RDONLY) : -1;
	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (map == MAP_FAILED)
		return;
	t->map = map;
	t->bytes = (size_t)st.st_size;
	t->key = key;
	if (!is_whole(m, map, t->bytes))
		unmap(t);
}

int host_table_get(const struct cmi *m, int node, const char *key, void *value, size_t cap,
		   size_t *len_p)
{
	const struct host_table *t = &m->table;
	const struct head *h = (const void *)t->map;

	if (!h || strcmp(t->key, key))
		return -ENODATA;
	*len_p = (size_t)(h->at[node + 1] - h->at[node]);
	if (*len_p > cap)
		return -EMSGSIZE;
	memcpy(value, t->map + h->at[node], *len_p);
	return 0;
}

void host_table_close(struct cmi *m)
{
	struct host_table *t = &m->table;

	unmap(t);
	for (int i = 0; i < HOST_TABLES && t->reader == m->job.node && t->named; i++)
		if (t->name.fd[i] >= 0)
			close(t->name.fd[i]);
	t->named = false;
}
