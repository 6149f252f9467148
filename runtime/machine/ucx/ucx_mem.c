/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ucx_mem.c: memory that other nodes write, and how to reach such memory of theirs.
 *
 * A key that travels consists of a struct ucx_key_head and UCX's packed key:
 *
 *   | base, 8 bytes | shared, 8 bytes | pid, 8 bytes | packed rkey (25 bytes over posix, or more) |
 *
 * The base names the chunk within its node, so attachments to one chunk share one unpacked key. The
 * key contains its process because UCX (1.13) crashes when it unpacks a posix key whose process has
 * ended. Memory that the host's nodes share reaches this file only for other hosts. Of other memory
 * a neighbour can map only what UCX itself allocated.
 */
#include "ucx_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cmi_alloc.h"
#include "../shm/near.h"

struct ucx_key_head {
	struct mem_key_head mem;
	int64_t pid;
};

/** A registration of the user's own memory. It lives until cmi_close. */
struct foreign {
	struct foreign *next;
	const char *base;
	size_t bytes;
	ucp_mem_h mem;
	struct cmi_key key;
};

/* ---- own side ----------------------------------------------------------------------- */

/** Make the key of registered memory; without UCX's data if it does not fit. */
static void key_make(struct ucx *u, ucp_mem_h mem, const struct mem_key_head *mem_head,
		     struct cmi_key *key_p)
{
	const struct ucx_key_head head = { *mem_head, getpid() };
	void *packed;
	size_t len;

	if (ucp_rkey_pack(u->context, mem, &packed, &len) != UCS_OK)
		return;
	if (sizeof head + len <= sizeof key_p->bytes) {
		memcpy(key_p->bytes, &head, sizeof head);
		memcpy(key_p->bytes + sizeof head, packed, len);
		key_p->len = (uint8_t)(sizeof head + len);
	}
	ucp_rkey_buffer_release(packed);
}

/** Register existing memory. */
static ucs_status_t map_existing(struct ucx *u, const void *addr, size_t bytes, ucp_mem_h *mem_p)
{
	const ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
		.address = (void *)addr,
		.length = bytes,
	};

	return ucp_mem_map(u->context, &params, mem_p);
}

/* Only a transport with RMA needs the registration. Without it other hosts send their puts as
 * messages. */
static int shared_chunk_map(struct ucx *u, struct mem_chunk *c)
{
	const struct mem_key_head head = {(uintptr_t)c->base, c->shared};
	ucp_mem_h mem;

	near_key(&head, &c->key);
	if (u->true_rma && map_existing(u, c->base, c->bytes, &mem) == UCS_OK) {
		c->back = mem;
		key_make(u, mem, &head, &c->key);
	}
	return 0;
}

static int own_chunk_map(struct ucx *u, struct mem_chunk *c)
{
	struct mem_key_head head = {0};
	const ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
			      UCP_MEM_MAP_PARAM_FIELD_FLAGS,
		.address = NULL,
		.length = c->bytes,
		.flags = UCP_MEM_MAP_ALLOCATE,
	};
	ucp_mem_attr_t attr = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS |
					     UCP_MEM_ATTR_FIELD_LENGTH};
	ucp_mem_h mem;
	ucs_status_t status = ucp_mem_map(u->context, &params, &mem);

	if (status != UCS_OK)
		return -ENOMEM;
	status = ucp_mem_query(mem, &attr);
	if (status != UCS_OK) {
		ucp_mem_unmap(u->context, mem);
		return -ENOMEM;
	}
	c->base = attr.address;
	c->bytes = attr.length;
	c->back = mem;
	head.base = (uintptr_t)c->base;
	key_make(u, mem, &head, &c->key);
	return 0;
}

int ucx_chunk_map(struct cmi *m, struct mem_chunk *c)
{
	return c->base ? shared_chunk_map(m->back, c) : own_chunk_map(m->back, c);
}

void ucx_chunk_unmap(struct cmi *m, struct mem_chunk *c)
{
	struct ucx *u = m->back;

	if (c->back)
		ucp_mem_unmap(u->context, c->back);
}

static struct foreign *foreign_register(struct ucx *u, const void *addr, size_t bytes)
{
	const struct mem_key_head head = {(uintptr_t)addr, 0};
	struct foreign *f = cmi_alloc_zero(1, sizeof *f, "registered memory");

	if (map_existing(u, addr, bytes, &f->mem) != UCS_OK) {
		free(f);
		return NULL;
	}
	f->base = addr;
	f->bytes = bytes;
	key_make(u, f->mem, &head, &f->key);
	f->next = u->foreign;
	u->foreign = f;
	return f;
}

/* Without RMA a registration is useless: UCX would emulate the put by an active message and an
 * acknowledgement, which is slower than cmi_put_am. */
void ucx_foreign_key(struct cmi *m, const void *addr, size_t bytes, struct cmi_key *key_p)
{
	struct ucx *u = m->back;
	const char *p = addr;
	struct foreign *f;

	if (!u->true_rma || bytes == 0)
		return;
	pthread_mutex_lock(&u->lock);
	for (f = u->foreign; f; f = f->next)
		if (p >= f->base && bytes <= f->bytes &&
		    (size_t)(p - f->base) <= f->bytes - bytes)
			break;
	if (!f)
		f = foreign_register(u, addr, bytes);
	if (f)
		*key_p = f->key;
	pthread_mutex_unlock(&u->lock);
}

void ucx_foreign_free(struct ucx *u)
{
	while (u->foreign) {
		struct foreign *f = u->foreign;

		u->foreign = f->next;
		ucp_mem_unmap(u->context, f->mem);
		free(f);
	}
}

/* ---- attaching ---------------------------------------------------------------------- */

static bool same_key(const struct cmi_key *a, const struct cmi_key *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* A list is enough: a program has few chunks, and attaching is not a hot path. */
static struct ucx_remote *remote_find(struct ucx_pe *w, int pe, const struct cmi_key *key)
{
	struct ucx_remote *r = w->remotes;

	while (r && !(r->base.pe == pe && same_key(&r->key, key)))
		r = r->next;
	return r;
}

/* On this host. A process that has ended, but has not been waited for, has no executable either. */
static bool has_ended(const struct cmi *m, int pe, const struct cmi_key *key)
{
	const struct cmi_job *job = &m->job;
	struct ucx_key_head head;
	char path[32], exe[1];

	memcpy(&head, key->bytes, sizeof head);
	snprintf(path, sizeof path, "/proc/%lld/exe", (long long)head.pid);
	return job->host_id[job->node_of[pe]] == job->host_id[job->node] &&
	       readlink(path, exe, sizeof exe) < 0 && errno == ENOENT;
}

static struct ucx_remote *remote_new(struct ucx_pe *w, int pe, const struct cmi_key *key)
{
	if (has_ended(w->base.m, pe, key))
		ucx_failed(w, pe, "lost the connection to", UCS_ERR_CONNECTION_RESET);

	struct ucx_remote *r = cmi_alloc_zero(1, sizeof *r, "attached memory");

	r->base.w = &w->base;
	r->base.pe = pe;
	r->e = ucx_ep(w, pe, UCX_PUTS);
	r->key = *key;
	if (ucp_ep_rkey_unpack(r->e->ep, key->bytes + sizeof(struct ucx_key_head),
			       &r->rkey) != UCS_OK) {
		free(r);
		return NULL;
	}
	r->next = w->remotes;
	w->remotes = r;
	return r;
}

struct cmi_remote *ucx_attach(struct cmi_pe *base, int pe, const struct cmi_key *key,
			      uint64_t addr)
{
	struct ucx_pe *w = ucx_pe(base);
	struct ucx_remote *r;

	(void)addr; /* the key covers the whole chunk */
	if (key->len <= sizeof(struct ucx_key_head))
		return NULL;
	r = remote_find(w, pe, key);
	if (!r)
		r = remote_new(w, pe, key);
	if (!r)
		return NULL;
	r->n_users++;
	return &r->base;
}

void ucx_detach(struct cmi_pe *base, struct cmi_remote *remote)
{
	struct ucx_remote *r = (struct ucx_remote *)remote, **at = &ucx_pe(base)->remotes;

	if (--r->n_users > 0)
		return;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	ucp_rkey_destroy(r->rkey);
	free(r);
}

void ucx_remotes_free(struct ucx_pe *w)
{
	while (w->remotes) {
		w->remotes->n_users = 1;
		ucx_detach(&w->base, &w->remotes->base);
	}
}

void *ucx_remote_ptr(struct cmi_remote *remote, uint64_t addr)
{
	struct ucx_remote *r = (struct ucx_remote *)remote;
	void *p;

	return ucp_rkey_ptr(r->rkey, addr, &p) == UCS_OK ? p : NULL;
}

bool ucx_has_rma(const struct cmi *m)
{
	return ((const struct ucx *)m->back)->true_rma;
}

bool ucx_remote_rma(const struct cmi_remote *remote)
{
	return ((const struct ucx_remote *)remote)->e->rma;
}
