/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine_int.h: shared by the files of this folder: the machine, the wire, and the table of
 * operations that a back end fills in. Nothing above the machine layer includes this.
 */
#ifndef MACHINE_INT_H
#define MACHINE_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "bind.h"
#include "cmi.h"
#include "tools/cmi_mac.h"
#include "start/devices.h"
#include "start/host_table.h"
#include "shm/mem.h"
#include "alive/neighbour.h"

/** A wire's address as its back end wrote it. */
struct wire_address {
	size_t len;
	unsigned char bytes[CMI_ADDR_MAX];
};

/** The addresses of all PEs, concatenated: PE p's is at[p] to at[p + 1]. Every node keeps them all,
 * so each uses only what it needs: 178 bytes with tcp, none without a network. */
struct wire_addresses {
	unsigned char *bytes;
	uint32_t *at; /* [n_pes + 1] */
};

/** One back end. "Main" is the node's main thread, "PE" the wire's own. */
struct cmi_ops {
	const char *name;

	/** Main. Allocate m->back. The job is known, except in a loopback net. */
	int (*open)(struct cmi *m);
	/** Main, after every pe_stop; the last call. Free all wires and m->back. */
	void (*close)(struct cmi *m);

	/** PE. Allocate the wire, whose first member is a struct cmi_pe. */
	int (*pe_open)(struct cmi *m, struct cmi_pe **w_p);
	/** Main. Write what other nodes need to reach the wire; len may stay 0. */
	int (*pe_address)(struct cmi_pe *w, struct wire_address *a);
	/** PE. Finish what was sent. The wire's memory stays until close. */
	void (*pe_stop)(struct cmi_pe *w);

	/* PE. As in cmi.h: */
	void (*send)(struct cmi_pe *w, int dst_pe, struct cmi_msg *m);
	void (*flush)(struct cmi_pe *w);
	int (*progress)(struct cmi_pe *w);
	uint64_t (*pass)(struct cmi_pe *w); /* called only while w->holds is set */
	int (*poll_period)(const struct cmi_pe *w);
	int (*n_connections)(const struct cmi_pe *w);
	void (*release)(struct cmi_pe *w, struct cmi_msg *m);
	bool (*put_am)(struct cmi_pe *w, int dst_pe, const struct cmi_put_head *h,
		       const void *src, size_t bytes, struct cmi_op *op);

	/** PE. Get ready to sleep; false: something has arrived already. *fd_p becomes readable at a
	 * network event; -1: no descriptor does. */
	bool (*arm)(struct cmi_pe *w, int *fd_p);

	/** Any thread, under the arena's lock. Map at least c->bytes of memory that other nodes can write,
	 * 64-byte aligned, zeroed or not; fill in base, bytes, back and key. If there is a base already,
	 * the nodes of the host share that memory under the name c->shared, and it is only to be
	 * registered with the network. */
	int (*chunk_map)(struct cmi *m, struct mem_chunk *c);
	void (*chunk_unmap)(struct cmi *m, struct mem_chunk *c);
	/** Any thread. Make the key of memory that is in no chunk. */
	void (*foreign_key)(struct cmi *m, const void *addr, size_t bytes,
			    struct cmi_key *key_p);

	/* PE. As in cmi.h; `key` is never empty: */
	struct cmi_remote *(*attach)(struct cmi_pe *w, int pe, const struct cmi_key *key,
				     uint64_t addr);
	void (*detach)(struct cmi_pe *w, struct cmi_remote *r);
	void *(*remote_ptr)(struct cmi_remote *r, uint64_t addr);
	bool (*remote_rma)(const struct cmi_remote *r);
	bool (*put)(struct cmi_remote *body, uint64_t body_addr, const void *src,
		    size_t bytes, struct cmi_op *op); /* op->tail and what follows are filled in;
						       * tail_addr 0 (cmi_write): no word follows */
	bool (*put_naive)(struct cmi_remote *body, uint64_t body_addr, const void *src,
			  size_t bytes, struct cmi_op *op);
	/* NULL, all: no transport has RMA. */
	bool (*has_rma)(const struct cmi *m);
	bool (*get)(struct cmi_remote *r, uint64_t addr, void *dst, size_t bytes, struct cmi_op *op);
	bool (*atomic)(struct cmi_remote *r, uint64_t addr, enum cmi_atomic what, size_t bytes,
		       uint64_t a, uint64_t b, void *old, struct cmi_op *op);
};

/** Attached memory; first member of the back end's own struct. */
struct cmi_remote {
	struct cmi_pe *w;
	int pe;
	char *here;      /* where it is mapped (near.c); NULL: the back end reaches it */
	uint64_t there;  /* the address by which its own node knows it */
};

/** One PE's wire; first member of the back end's own struct. Its PE writes it in cmi_pe_open; from
 * cmi_connect on it is constant, except for `holds`, the two counters and the back end's
 * additions. */
struct cmi_pe {
	struct cmi *m;
	const struct cmi_ops *ops; /* m->ops, to save a load */
	void *owner;
	int local;
	int pe;          /* global number; -1 until the job is known */
	int wake_fd;     /* wake.c's eventfd, written from any thread */
	int wake_pipe; /* share.c's, written by the other nodes of the host; -1: none */
	struct neighbour neighbour; /* PE 0's: the node that it watches */
	unsigned n_late_returns; /* share.c's: polls that postponed taking blocks back */
	unsigned n_skipped;      /* machine.c's: polls that skipped the back end */
	bool holds;      /* the back end's: something may wait for the end of the pass */
	int64_t nap_us;  /* the back end's, in `arm`: the longest sleep; 0: any */
	bool network;    /* another node exists */
	bool all_shared; /* and all of them are reached through shared memory */
	struct share_pe *share;  /* share.c's; NULL: no other node shares memory with us */
	struct filter_pe *filter; /* frame.c's; NULL: what the network carries leaves as it is */
	void *alt_stack; /* the fault handlers' stack on this thread, or NULL */
};

struct cmi {
	const struct cmi_ops *ops;
	void *back; /* the back end's own */
	struct cmi_client client;
	struct cmi_options o;
	struct boot *boot;    /* NULL in a loopback net */
	void (*ask_end)(struct boot *, int code); /* boot_abort, for die.c, which lies below it */
	struct cmi_job job;
	bool job_known;
	/* Another node of this host is in another user namespace (a rootless container): the kernel lets
	 * neither open the other's files in /proc, nor copy its memory. */
	bool apart;
	struct devices devices; /* of the network, on this host; for UCX, before it opens */
	struct share *share;  /* message memory, and the path to the host's other nodes */
	char *host_names;                 /* host_names.c's */
	struct wire_addresses addresses;  /* of all PEs, from cmi_connect on */
	struct cmi_pe **wire;             /* [o.n_pes], each slot written by its own PE */
	struct mem_arena arena;
	struct binding binding;
	struct host_table table;          /* meet.c's, at start-up */
	int boot_timeout_ms;              /* meet.c's */
	struct cmi_key128 key;            /* of the job, from cmi_connect on; a secret of its nodes */
	const struct filters_room *filters_room; /* of rooms.list; NULL: it has been left out */
	struct filters *filters;          /* what CK_WIRE says; NULL: nothing */
	const struct host_watch *const *host_watches; /* of rooms.list; then NULL */
	struct traffic *traffic;          /* NULL: the job is not sealed */
	struct pulse *pulse;              /* NULL: a job on one host, or CK_PEER_TIMEOUT=0 */
	/* The thread that ends the job, 0 until then. Compare-and-swap, relaxed: it decides who prints,
	 * and no data depends on it. */
	atomic_int *frames;       /* of all nodes of the host, share_head; NULL: they share no memory */
	atomic_int ender;
	char at_end[108];         /* a file that end_job removes; "": none */
};

/** Whether there are nodes on other hosts; the same on all nodes. The job is known. */
static inline bool spans_hosts(const struct cmi *m)
{
	return !m->o.net && m->job.pes_on_host != m->job.n_pes;
}

extern const struct cmi_ops ucx_ops, host_ops, loop_ops;

#endif
