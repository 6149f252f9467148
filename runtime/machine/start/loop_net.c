/* SPDX-License-Identifier: Apache-2.0 */
/* loop_net.c: see loop_net.h. */
#include "loop_net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "cmi.h"
#include "../base/cmi_alloc.h"
#include "../base/say.h"

/** Something that a node has published. It never changes. */
struct loop_blob {
	struct loop_blob *next;
	char key[32];
	size_t len;
	unsigned char value[];
};

struct cmi_loop_net *cmi_loop_net_create(int n_nodes, uint64_t seed)
{
	struct cmi_loop_net *net = cmi_alloc_zero(1, sizeof *net, "a loopback net");
	pthread_condattr_t attr;

	net->node = cmi_alloc_zero((size_t)n_nodes, sizeof *net->node, "a loopback net");
	net->blobs = cmi_alloc_zero((size_t)n_nodes, sizeof *net->blobs, "a loopback net");
	net->n_nodes = n_nodes;
	net->seed = seed;
	pthread_mutex_init(&net->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&net->moved, &attr);
	pthread_condattr_destroy(&attr);
	return net;
}

void cmi_loop_net_share(struct cmi_loop_net *net)
{
	net->shared = true;
}

static void free_blobs(struct loop_blob *b)
{
	while (b) {
		struct loop_blob *next = b->next;

		free(b);
		b = next;
	}
}

void cmi_loop_net_destroy(struct cmi_loop_net *net)
{
	for (int rank = 0; rank < net->n_nodes; rank++)
		free_blobs(net->blobs[rank]);
	free(net->blobs);
	if (net->room)
		munmap(net->room, net->room_bytes);
	pthread_cond_destroy(&net->moved);
	pthread_mutex_destroy(&net->lock);
	free(net->node);
	free(net);
}

int loop_net_size(const struct cmi_loop_net *net)
{
	return net->n_nodes;
}

char *loop_net_room(struct cmi_loop_net *net, size_t bytes)
{
	char *room;

	pthread_mutex_lock(&net->lock);
	if (!net->room) {
		room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			    -1, 0);
		net->room = room == MAP_FAILED ? NULL : room;
		net->room_bytes = bytes;
	}
	room = net->room;
	pthread_mutex_unlock(&net->lock);
	return room;
}

int loop_net_join(struct cmi_loop_net *net, int rank, struct cmi *m)
{
	int rc = 0;

	pthread_mutex_lock(&net->lock);
	if (rank < 0 || rank >= net->n_nodes || net->node[rank])
		rc = -EINVAL;
	else
		net->node[rank] = m;
	pthread_mutex_unlock(&net->lock);
	if (rc)
		machine_say("rank %d cannot join a loopback net of %d nodes", rank, net->n_nodes);
	return rc;
}

int loop_net_put(struct cmi_loop_net *net, int rank, const char *key, const void *value,
		 size_t len)
{
	struct loop_blob *b = cmi_alloc_zero(1, sizeof *b + len, "a loopback net");

	snprintf(b->key, sizeof b->key, "%s", key);
	b->len = len;
	memcpy(b->value, value, len);
	/* Relaxed: nobody else writes this rank's list. Release: pairs with the acquire in
	 * loop_net_get. */
	b->next = atomic_load_explicit(&net->blobs[rank], memory_order_relaxed);
	atomic_store_explicit(&net->blobs[rank], b, memory_order_release);
	return 0;
}

int loop_net_get(struct cmi_loop_net *net, int rank, const char *key, void *value, size_t cap,
		 size_t *len_p)
{
	/* Acquire: pairs with the release in loop_net_put; the blob and all after it are written. */
	const struct loop_blob *b =
		atomic_load_explicit(&net->blobs[rank], memory_order_acquire);

	while (b && strcmp(b->key, key) != 0)
		b = b->next;
	if (!b)
		return -ENOENT;
	if (b->len > cap)
		return -EMSGSIZE;
	memcpy(value, b->value, b->len);
	*len_p = b->len;
	return 0;
}

int loop_net_fence(struct cmi_loop_net *net, int timeout_ms)
{
	struct timespec limit;
	unsigned long round;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &limit);
	limit.tv_sec += timeout_ms / 1000;
	pthread_mutex_lock(&net->lock);
	round = net->round;
	if (++net->n_at_fence == net->n_nodes) {
		net->n_at_fence = 0;
		net->round++;
		pthread_cond_broadcast(&net->moved);
	}
	while (net->round == round && !rc)
		rc = pthread_cond_timedwait(&net->moved, &net->lock, &limit);
	if (net->round != round)
		rc = 0;
	pthread_mutex_unlock(&net->lock);
	return -rc;
}
