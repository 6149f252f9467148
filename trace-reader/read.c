/* SPDX-License-Identifier: Apache-2.0 */
/* read.c: the files of an epoch, mapped and checked. The file's job may still run or have been
 * killed. */
#include "epochs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../runtime/machine/tools/one_line.h"

void *need(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "cktrace: no memory\n");
	exit(1);
}

_Noreturn void bad_file(const char *name, const char *why)
{
	complain("%s: %s", name, why);
	exit(1);
}

const char *what_is_wrong(const struct trace_head *h, size_t bytes)
{
	if (bytes < TRACE_HEAD_BYTES || memcmp(h->magic, TRACE_MAGIC, sizeof TRACE_MAGIC))
		return "is not a trace of Chard";
	if (h->version != TRACE_VERSION || h->record_bytes != sizeof(struct trace_record))
		return "was written by another version of Chard";
	if (!h->n_records || h->head_bytes < TRACE_HEAD_BYTES || h->head_bytes % 32 || h->head_bytes > bytes ||
	    h->n_records > (bytes - h->head_bytes) / sizeof(struct trace_record) || h->n_records > UINT32_MAX ||
	    h->names_bytes > h->head_bytes - TRACE_HEAD_BYTES || h->n_pes < 1 || h->n_pes > 1 << 24 ||
	    h->pe < 0 || h->pe >= h->n_pes || h->node < 0 || h->node >= h->n_nodes || !memchr(h->host, 0, sizeof h->host) ||
	    !memchr(h->command, 0, sizeof h->command))
		return "is damaged";
	return NULL;
}

static void add_number(struct names *all, unsigned id)
{
	if (id >= all->cap) {
		size_t cap = 2 * (id + 32u);

		all->text = need(realloc(all->text, cap * sizeof *all->text));
		memset(all->text + all->cap, 0, (cap - all->cap) * sizeof *all->text);
		all->cap = cap;
	}
	if (id >= all->n)
		all->n = id + 1u;
}

static void add_name(struct names *all, unsigned id, const char *text, size_t len)
{
	add_number(all, id);
	if (all->text[id])
		return;
	all->text[id] = need(strndup(text, len));
	one_line_mask(all->text[id]); /* the program's, or a damaged file's */
}

static void read_names(struct pe_trace *p)
{
	const char *at = (const char *)p->head + TRACE_HEAD_BYTES, *end = at + p->head->names_bytes;
	const struct trace_name *n;

	for (; at + sizeof *n <= end; at += n->bytes) {
		n = (const struct trace_name *)(const void *)at;
		if (n->bytes <= sizeof *n || n->bytes > (size_t)(end - at) || n->bytes % 8)
			return;
		if (n->kind < TRACE_NAME_KINDS)
			add_name(&p->names[n->kind], n->id, n->text, n->bytes - sizeof *n);
	}
}

const char *trace_name_of(const struct pe_trace *p, enum trace_name_kind kind, unsigned id)
{
	const struct names *all = &p->names[kind];

	return id < all->n && all->text[id] ? all->text[id] : "?";
}

const char *trace_any_name(const struct job *j, enum trace_name_kind kind, unsigned id)
{
	for (int i = 0; i < j->n_pes; i++)
		if (id < j->pes[i].names[kind].n && j->pes[i].names[kind].text[id])
			return j->pes[i].names[kind].text[id];
	return "?";
}

unsigned trace_event_of(const struct pe_trace *p, unsigned id)
{
	return id < p->names[TRACE_NAME_EVENT].n ? p->event[id] : 0;
}

/* Number 0 is for events without a name. */
static unsigned add_event(struct names *all, const char *text)
{
	unsigned id = 0;

	while (id < all->n && strcmp(all->text[id], text))
		id++;
	if (id == all->n)
		add_name(all, id, text, strlen(text));
	return id;
}

static void number_events(struct job *j)
{
	add_event(&j->events, "?");
	for (int i = 0; i < j->n_pes; i++) {
		struct pe_trace *p = &j->pes[i];
		const size_t n = p->names[TRACE_NAME_EVENT].n;

		p->event = need(calloc(n + 1, sizeof *p->event));
		for (unsigned e = 0; e < n; e++)
			p->event[e] = (uint16_t)add_event(&j->events, trace_name_of(p, TRACE_NAME_EVENT, e));
	}
}

/* The name of a record may be missing: the table was full, or the job runs and has added it since
 * the names were read. Writers count numbers, so it gets one, and is "?". */
static void add_unnamed(struct pe_trace *p, const struct trace_record *r)
{
	switch (r->kind) {
	case TRACE_HANDLE: add_number(&p->names[TRACE_NAME_HANDLER], r->what); break;
	case TRACE_BEGIN: add_number(&p->names[TRACE_NAME_ENTRY], r->what); break;
	case TRACE_USER_BEGIN: case TRACE_USER_MARK: case TRACE_USER_COUNTER:
		add_number(&p->names[TRACE_NAME_EVENT], r->what);
		break;
	default: break;
	}
}

/* The oldest record of a ring that has wrapped may be half overwritten. */
static void find_records(struct pe_trace *p)
{
	uint64_t count = __atomic_load_n(&p->head->count, __ATOMIC_ACQUIRE), n = p->head->n_records;

	p->n = (uint32_t)(count < n ? count : n - 1);
	p->first = count - p->n;
	p->whole = p->first == 0;
	for (uint32_t i = 0; i < p->n; i++) {
		add_unnamed(p, record_at(p, i));
		if (record_at(p, i)->kind == TRACE_OFF)
			p->whole = false;
	}
	p->message = need(calloc(p->n + 1u, sizeof *p->message));
}

static void read_file(struct job *j, const char *name, int pe)
{
	struct stat st;
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		bad_file(name, strerror(errno));
	const struct trace_head *h = st.st_size < TRACE_HEAD_BYTES ? NULL :
				     mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);

	close(fd);
	if (h == MAP_FAILED)
		bad_file(name, strerror(errno));
	const char *why = h ? what_is_wrong(h, (size_t)st.st_size) : "is not a trace of Chard";

	if (why)
		bad_file(name, why);
	if (h->n_pes != j->n_pes || h->pe != pe)
		bad_file(name, "belongs to another job than the files before it");
	struct pe_trace *p = &j->pes[pe];

	p->head = h;
	p->mapped = (size_t)st.st_size;
	p->ring = (const struct trace_record *)(const void *)((const char *)h + h->head_bytes);
	read_names(p);
	find_records(p);
	j->n_files++;
}

/* Host of a file: the job's PEs by the clocks that they share. */
static int host_of(struct job *j, uint64_t id)
{
	for (int i = 0; i < j->n_hosts; i++)
		if (j->hosts[i].id == id)
			return i;
	j->hosts = need(realloc(j->hosts, ((size_t)j->n_hosts + 1) * sizeof *j->hosts));
	j->hosts[j->n_hosts] = (struct host){ .id = id, .ns_per_tick = 1 };
	return j->n_hosts++;
}

/* The rate of a host's counter, from the PE that has compared both clocks over the longest time.
 * All PEs of the host use it, so that their order in time is exact. */
static void find_speeds(struct job *j)
{
	uint64_t *longest = need(calloc((size_t)j->n_hosts, sizeof *longest));

	for (int i = 0; i < j->n_pes; i++) {
		const struct pe_trace *p = &j->pes[i];

		if (!p->head)
			continue;
		const struct trace_moment *a = &p->head->start, *b = &p->head->last;
		struct host *h = &j->hosts[p->host];

		if (!h->base_ticks)
			*h = (struct host){ h->id, 1, a->ticks, (double)a->ns, 0, 0, false };
		if (b->ticks <= a->ticks || b->ns <= a->ns || b->ticks - a->ticks <= longest[p->host])
			continue;
		longest[p->host] = b->ticks - a->ticks;
		h->ns_per_tick = (double)(b->ns - a->ns) / (double)(b->ticks - a->ticks);
		h->base_ticks = a->ticks;
		h->base_ns = (double)a->ns;
	}
	free(longest);
}

void trace_read(struct job *j, const char *folder, const uint64_t *epoch)
{
	char name[4096];

	epochs_find(j, folder, epoch);
	j->n_pes = j->epoch->n_pes;
	j->pes = need(calloc((size_t)j->n_pes, sizeof *j->pes));
	for (int i = 0; i < j->n_pes; i++) {
		trace_file_name(name, sizeof name, folder, j->epoch->no, i);
		if (!access(name, F_OK))
			read_file(j, name, i);
	}
	if (j->n_files < j->n_pes)
		complain("%s: %d of the job's %d PEs are missing", folder, j->n_pes - j->n_files,
			j->n_pes);
	for (int i = 0; i < j->n_pes; i++)
		if (j->pes[i].head)
			j->pes[i].host = host_of(j, j->pes[i].head->host_id);
	find_speeds(j);
	number_events(j);
}

static void names_free(struct names *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->text[i]);
	free(all->text);
}

void trace_free(struct job *j)
{
	for (int i = 0; i < j->n_pes; i++) {
		struct pe_trace *p = &j->pes[i];

		free(p->event);
		if (!p->head)
			continue;
		for (int k = 0; k < TRACE_NAME_KINDS; k++)
			names_free(&p->names[k]);
		free(p->message);
		munmap((void *)(uintptr_t)p->head, p->mapped);
	}
	names_free(&j->events);
	free(j->epochs);
	free(j->pes);
	free(j->hosts);
	free(j->messages);
}
