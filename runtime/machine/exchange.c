/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange.c: how the nodes learn of each other before there is a network. They meet twice; each
 * time every node publishes some data, passes a fence and reads what all have published. First come
 * names and hosts, which the back end needs to choose its transports; then the wires' addresses.
 * All nodes read the same data and reach the same verdict, and only one of them prints it.
 */
#include "exchange.h"
#include "start/cores.h"
#include "start/host_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cmi_alloc.h"
#include "base/cmi_env.h"
#include "tools/cmi_hash.h"
#include "machine_int.h"
#include "start/meet.h"
#include "alive/host_watch.h"
#include "alive/hosts/pulse_net.h"
#include "filter/filter.h"
#include "base/say.h"
#include "shm/share.h"

/* Raise it when a blob, a message header or the meaning of an active message changes. */
enum { PROTOCOL_VERSION = 26 };

static const char MAGIC[8] = "chard";

enum { HOST_NAME_CAP = 64 };

/** Published as "host" in the first meeting. */
struct host_blob {
	char magic[8];
	uint32_t version;
	uint32_t n_pes;
	uint64_t host_id;
	char host_name[HOST_NAME_CAP];
	struct share_name share;
	struct devices_name devices;
	struct cores_name cores;
};

/** Published as "wires" in the second meeting: this, then for each PE a uint32_t and as many
 * bytes. */
struct wires_head {
	uint64_t fingerprint;
	struct cmi_key128 key; /* a new one; node 0's is the job's */
	struct pulse_name pulse;
	struct filter_name filters;
};

/* ---- host identity ----------------------------------------------------------------- */

static uint64_t hash_file(uint64_t h, const char *path)
{
	char text[128];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return h;
	n = read(fd, text, sizeof text);
	close(fd);
	return n > 0 ? cmi_hash(h, text, (size_t)n) : h;
}

static uint64_t hash_inode(uint64_t h, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return h;
	return cmi_hash(h, &st.st_ino, sizeof st.st_ino);
}

/** Equal for two nodes that can share memory: they run under one kernel and in the same namespaces,
 * as far as UCX's shared-memory transports require. The name distinguishes containers that agree in
 * all of that. */
static uint64_t host_id(const char *name)
{
	const char *text = cmi_env_text("CK_HOST_ID");
	uint64_t h = CMI_HASH_START;

	if (text)
		return cmi_hash(h, text, strlen(text));
	h = hash_file(h, "/proc/sys/kernel/random/boot_id");
	h = hash_inode(h, "/proc/self/ns/ipc");
	h = hash_inode(h, "/proc/self/ns/pid");
	return cmi_hash(h, name, strlen(name));
}

/* ---- first meeting ----------------------------------------------------------------- */

static void describe_self(struct cmi *m, struct host_blob *b)
{
	memset(b, 0, sizeof *b);
	memcpy(b->magic, MAGIC, sizeof b->magic);
	b->version = PROTOCOL_VERSION;
	b->n_pes = (uint32_t)m->o.n_pes;
	b->share = *share_name(m->share);
	devices_look(&m->devices);
	b->devices = m->devices.name;
	b->cores = cores_look();
	if (gethostname(b->host_name, sizeof b->host_name - 1))
		strcpy(b->host_name, "?");
	b->host_id = host_id(b->host_name);
	b->share.user_ns = hash_inode(CMI_HASH_START, "/proc/self/ns/user");
}

static void job_alloc(struct cmi *m)
{
	struct cmi_job *j = &m->job;
	size_t n = (size_t)j->n_nodes;

	j->first_pe = cmi_alloc_zero(n + 1, sizeof *j->first_pe, "the job's nodes");
	j->host_id = cmi_alloc_zero(n, sizeof *j->host_id, "the job's nodes");
}

static bool well_formed(const struct host_blob *b, size_t len)
{
	return len == sizeof *b && memcmp(b->magic, MAGIC, sizeof MAGIC) == 0 &&
	       b->n_pes >= 1 && b->n_pes <= UINT16_MAX;
}

/** Record what `node` has published. Each node compares all others with `own`, its own data. */
static int take_host(struct cmi *m, int node, const struct host_blob *own,
		     struct share_name *share_p, struct cores *cores, size_t *names_used)
{
	struct host_blob b = {.version = 0};
	size_t len = 0;
	int rc = meet_get(m, node, "host", &b, sizeof b, &len);

	if (rc)
		return rc;
	if (!well_formed(&b, len) || b.version != PROTOCOL_VERSION) {
		machine_say("node %d speaks protocol %u, node %d another (%u): all nodes must "
			    "run the same program",
			    m->job.node, PROTOCOL_VERSION, node, b.version);
		return -EPROTO;
	}
	m->job.first_pe[node + 1] = m->job.first_pe[node] + (int)b.n_pes;
	m->job.host_id[node] = b.host_id;
	*share_p = b.share;
	devices_compare(&m->devices, &b.devices);
	if (b.host_id == own->host_id)
		cores_add(cores, &b.cores);
	m->apart |= b.host_id == own->host_id && b.share.user_ns != own->share.user_ns;
	host_name_add(m, node, names_used, b.host_name, HOST_NAME_CAP);
	return 0;
}

/** Derive the rest of the job from first_pe and host_id. */
static void finish_job(struct cmi *m)
{
	struct cmi_job *j = &m->job;

	j->n_pes = j->first_pe[j->n_nodes];
	j->my_first_pe = j->first_pe[j->node];
	j->my_n_pes = m->o.n_pes;
	j->node_of = cmi_alloc_zero((size_t)j->n_pes, sizeof *j->node_of, "the job's PEs");
	for (int node = 0; node < j->n_nodes; node++) {
		int n = j->first_pe[node + 1] - j->first_pe[node];

		for (int pe = j->first_pe[node]; pe < j->first_pe[node + 1]; pe++)
			j->node_of[pe] = node;
		if (j->host_id[node] != j->host_id[j->node])
			continue;
		j->pes_on_host += n;
		if (node < j->node)
			j->first_on_host += n;
	}
	m->job_known = true;
}

/** Map the memory of this host's nodes; then agree on who has done so. All nodes see the same
 * names, so either all of them call the fence or none does. */
static int meet_in_memory(struct cmi *m, const struct share_name *names)
{
	int rc = share_map(m, names), n_offers = 0;

	for (int node = 0; node < m->job.n_nodes; node++)
		n_offers += names[node].pid != 0;
	if (!rc && n_offers > 1)
		rc = meet_fence(m);
	if (!rc)
		share_agree(m);
	return rc;
}

int exchange_hosts(struct cmi *m)
{
	struct share_name *shares;
	struct cores cores = { 0 };
	struct host_blob b;
	size_t names_used = 0;
	int rc;

	m->job.node = meet_rank(m);
	m->job.n_nodes = meet_size(m);
	job_alloc(m);
	describe_self(m, &b);
	rc = meet_prepare(m);
	if (!rc)
		rc = meet_put(m, "host", &b, sizeof b);
	if (!rc)
		rc = meet_fence(m);
	if (!rc)
		rc = meet_collect(m, 0, "host", sizeof b);
	shares = cmi_alloc_zero((size_t)m->job.n_nodes, sizeof *shares, "the job's nodes");
	for (int node = 0; !rc && node < m->job.n_nodes; node++)
		rc = take_host(m, node, &b, &shares[node], &cores, &names_used);
	if (!rc) {
		m->job.cores_on_host = cores.n;
		finish_job(m);
		rc = meet_in_memory(m, shares);
	}
	free(cores.sets);
	free(shares);
	return rc;
}

/* ---- second meeting ---------------------------------------------------------------- */

/** From the kernel. That fails only where the system call is forbidden; the key is then
 * guessable. */
static void new_key(struct cmi_key128 *key_p)
{
	if (getrandom(key_p, sizeof *key_p, 0) != sizeof *key_p)
		memset(key_p, 0, sizeof *key_p);
}

/* The seal goes into hashes that can be inverted by an observer, so it must not reveal the key. */
static void make_seal(struct cmi *m)
{
	static const char what[] = "seal";

	m->job.seal = cmi_mac(m->key, what, sizeof what);
}

static int publish_wires(struct cmi *m, uint64_t fingerprint)
{
	struct wires_head head = {.fingerprint = fingerprint};
	size_t one = sizeof(uint32_t) + CMI_ADDR_MAX, used = sizeof head;
	unsigned char *blob = cmi_alloc(sizeof head + (size_t)m->o.n_pes * one, "the PEs' addresses");
	struct wire_address a;
	int rc = 0;

	new_key(&head.key);
	HOST_WATCHES(m, describe, m, &head.pulse);
	if (m->filters)
		m->filters_room->describe(m, &head.filters);
	memcpy(blob, &head, sizeof head);
	for (int i = 0; !rc && i < m->o.n_pes; i++) {
		uint32_t len;

		a.len = 0;
		rc = m->ops->pe_address(m->wire[i], &a);
		len = (uint32_t)a.len;
		memcpy(blob + used, &len, sizeof len);
		memcpy(blob + used + sizeof len, a.bytes, a.len);
		used += sizeof len + a.len;
	}
	if (!rc)
		rc = meet_put(m, "wires", blob, used);
	free(blob);
	return rc;
}

/** Append the addresses that a node published in `blob` to m->addresses, which has space for *cap
 * bytes. -EPROTO: the lengths in the blob contradict its size. */
static int take_wires(struct cmi *m, int node, const unsigned char *blob, size_t len, size_t *cap)
{
	struct wire_addresses *a = &m->addresses;
	size_t at = sizeof(struct wires_head), end = a->at[m->job.first_pe[node]];

	if (end + len > UINT32_MAX)
		return -E2BIG;
	if (end + len > *cap) {
		*cap = 2 * *cap + len;
		a->bytes = cmi_realloc(a->bytes, *cap, 1, "the PEs' addresses");
	}
	for (int pe = m->job.first_pe[node]; pe < m->job.first_pe[node + 1]; pe++) {
		uint32_t n;

		if (len - at < sizeof n)
			return -EPROTO;
		memcpy(&n, blob + at, sizeof n);
		at += sizeof n;
		if (n > CMI_ADDR_MAX || n > len - at)
			return -EPROTO;
		memcpy(a->bytes + end, blob + at, n);
		at += n;
		end += n;
		a->at[pe + 1] = (uint32_t)end;
	}
	return at == len ? 0 : -EPROTO;
}

/** The nodes that differ from node 0 print it; the others fail silently. */
static int compare_fingerprints(const struct cmi *m, const uint64_t *fingerprint)
{
	for (int node = 1; node < m->job.n_nodes; node++) {
		if (fingerprint[node] == fingerprint[0])
			continue;
		if (m->job.node == node)
			machine_say("node %d (host %s) runs another program than node 0 (host "
				    "%s): what they register differs. Start the same binary on "
				    "all nodes",
				    node, host_name(m, node), host_name(m, 0));
		return -EPROTO;
	}
	return 0;
}

static int collect_wires(struct cmi *m, unsigned char *blob, size_t blob_cap,
			 uint64_t *fingerprint)
{
	struct wires_head head;
	size_t len = 0, cap = 0;

	for (int node = 0; node < m->job.n_nodes; node++) {
		int rc = meet_get(m, node, "wires", blob, blob_cap, &len);

		if (rc)
			return rc;
		rc = len < sizeof(struct wires_head) ? -EPROTO
						     : take_wires(m, node, blob, len, &cap);
		if (rc) {
			machine_say("node %d cannot accept the addresses of node %d (%zu bytes): "
				    "%s", m->job.node, node, len, strerror(-rc));
			return rc;
		}
		memcpy(&head, blob, sizeof head);
		fingerprint[node] = head.fingerprint;
		HOST_WATCHES(m, learn, m, node, &head.pulse);
		if (m->filters)
			m->filters_room->learn(m, node, &head.filters);
		if (node == 0)
			m->key = head.key;
	}
	m->addresses.bytes = cmi_realloc(m->addresses.bytes, (size_t)m->addresses.at[m->job.n_pes] + 1, 1,
					 "the PEs' addresses");
	return compare_fingerprints(m, fingerprint);
}

int exchange_wires(struct cmi *m, uint64_t fingerprint)
{
	const struct cmi_job *j = &m->job;
	size_t most = 0, cap;
	unsigned char *blob;
	uint64_t *fingerprints;
	int rc;

	for (int node = 0; node < j->n_nodes; node++)
		if ((size_t)(j->first_pe[node + 1] - j->first_pe[node]) > most)
			most = (size_t)(j->first_pe[node + 1] - j->first_pe[node]);
	cap = sizeof(struct wires_head) + most * (sizeof(uint32_t) + CMI_ADDR_MAX);
	blob = cmi_alloc(cap, "the PEs' addresses");
	fingerprints = cmi_alloc_zero((size_t)j->n_nodes, sizeof *fingerprints, "the job's nodes");
	m->addresses.at =
		cmi_alloc_zero((size_t)j->n_pes + 1, sizeof *m->addresses.at, "the PEs' addresses");
	rc = publish_wires(m, fingerprint);
	if (!rc)
		rc = meet_fence(m);
	if (!rc)
		rc = meet_collect(m, 1, "wires", cap);
	if (!rc)
		rc = collect_wires(m, blob, cap, fingerprints);
	if (!rc && m->filters)
		rc = m->filters_room->agree(m);
	if (!rc)
		make_seal(m);
	/* Not after the first meeting: a fast node may already have published its wires. */
	meet_forget(m);
	free(fingerprints);
	free(blob);
	return rc;
}

void exchange_free(struct cmi *m)
{
	free(m->job.first_pe);
	free(m->job.node_of);
	free(m->job.host_id);
	free(m->host_names);
	free(m->addresses.bytes);
	free(m->addresses.at);
}
