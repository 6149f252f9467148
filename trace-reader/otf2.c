/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otf2.c: a trace as an OTF2 archive, for Vampir and the tools around Score-P. It is written
 * through libotf2; if that is missing the Makefile uses otf2_none.c instead.
 *
 * A host is a node of the system tree, a node of the job a location group, a PE a location.
 * Entries, the runtime's handlers, functions of puts, idle times and the program's own spans are
 * regions. Counters of the program are metrics, its marks are markers. The attribute `element` of
 * an entry is its element, Block(0, 3); the others are the numbers in it.
 *
 * A message is a pair of MpiSend and MpiRecv, and PEs are the ranks: readers draw arrows between
 * two moments from these records. Records of one-sided transfers have only the sender's time, so
 * puts are pairs, too, in a communicator of their own. Readers match pairs by ranks, communicator
 * and tag, in order. Messages are handled in any order, so the tag is the message's number. A
 * message with only one end in the trace is left out, because readers report such a record as an
 * error of the program.
 */
#include "model.h"

#include <otf2/otf2.h>
#include <stdlib.h>
#include <string.h>

enum { EVENT_CHUNK = 1 << 20, DEFINITION_CHUNK = 4 << 20 };
enum { COMM_MESSAGES, COMM_PUTS };
enum { GROUP_LOCATIONS, GROUP_PES };
/* Regions: these two, then entries, handlers and the program's events, by their numbers. */
enum { REGION_IDLE, REGION_PUT, REGION_FIRST };
enum { NS_PER_S = 1000000000, INDICES = 3, ATTRIBUTE_ELEMENT = INDICES };
/* What a name of the program represents. */
enum use_kind { USE_REGION, USE_METRIC, USE_MARK, USE_KINDS };

/* The names with one of these uses, numbered consecutively: readers want definitions without
 * gaps. */
struct use {
	uint32_t *number;            /* [j->events.n]: 1 + its number; 0: none yet */
	unsigned *event;             /* [n]: by its number */
	uint32_t n;
};

/* The elements that events name: the first strings of the archive, by their numbers. */
struct element_names {
	char **text;                 /* [n] */
	uint32_t n;
	uint32_t *slots;             /* [n_slots], a power of two, by hash: 1 + a number; 0: free */
	uint32_t n_slots;
};

struct otf2 {
	const struct job *j;
	const char *folder;
	OTF2_Archive *archive;
	uint32_t *rank;              /* [n_pes]: among the PEs whose files are there; its location, too */
	uint32_t n_ranks;
	uint64_t *n_events;          /* [n_pes] */
	struct use uses[USE_KINDS];
	struct elements elements;
	struct element_names element_names;
	/* The PE whose events are written. */
	const struct pe_trace *p;
	OTF2_EvtWriter *events;
	OTF2_MarkerWriter *marks;
	OTF2_AttributeList *attributes;
	/* Definitions. */
	OTF2_GlobalDefWriter *defs;
	OTF2_StringRef n_strings;
};

/* ---- errors ------------------------------------------------------------------------------------------- */

/* OTF2 reports every error here first. Its own line would name its source file. */
static OTF2_ErrorCode on_error(void *arg, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
			       const char *format, va_list values)
{
	const bool fatal = code != OTF2_WARNING && code != OTF2_DEPRECATED;
	char why[512];

	(void)file, (void)line, (void)function;
	vsnprintf(why, sizeof why, format, values);
	complain("%s: OTF2: %s%s%s", (const char *)arg, fatal ? OTF2_Error_GetDescription(code) :
		"warning", why[0] ? ": " : "", why);
	if (fatal)
		exit(1);
	return code;
}

static void must(const struct otf2 *o, OTF2_ErrorCode code)
{
	if (code == OTF2_SUCCESS)
		return;
	complain("%s: OTF2: %s", o->folder, OTF2_Error_GetDescription(code));
	exit(1);
}

static uint32_t use(struct otf2 *o, enum use_kind kind, const struct span *s)
{
	struct use *u = &o->uses[kind];
	const unsigned event = trace_event_of(o->p, s->what);

	if (!u->number[event]) {
		u->event[u->n] = event;
		u->number[event] = ++u->n;
	}
	return u->number[event] - 1;
}

static const char *used_name(const struct otf2 *o, enum use_kind kind, uint32_t number)
{
	return o->j->events.text[o->uses[kind].event[number]];
}

/* ---- elements ------------------------------------------------------------------------------- */

static uint32_t *slot_of(const struct element_names *e, const char *text)
{
	uint64_t hash = 14695981039346656037u;

	for (const char *c = text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211u;
	for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
		uint32_t *slot = &e->slots[i & (e->n_slots - 1)];

		if (!*slot || strcmp(e->text[*slot - 1], text) == 0)
			return slot;
	}
}

/* At least half of the slots stay free. */
static void double_slots(struct element_names *e)
{
	free(e->slots);
	e->n_slots = e->n_slots ? 2 * e->n_slots : 1024;
	e->slots = need(calloc(e->n_slots, sizeof *e->slots));
	e->text = need(realloc(e->text, e->n_slots / 2 * sizeof *e->text));
	for (uint32_t i = 0; i < e->n; i++)
		*slot_of(e, e->text[i]) = i + 1;
}

static OTF2_StringRef element_name(struct otf2 *o, const struct trace_record *r)
{
	struct element_names *e = &o->element_names;
	char text[ELEMENT_TEXT];
	uint32_t *slot;

	if (e->n == e->n_slots / 2)
		double_slots(e);
	slot = slot_of(e, element_text(&o->elements, o->j, r, text, sizeof text));
	if (!*slot) {
		e->text[e->n] = need(strdup(text));
		*slot = ++e->n;
	}
	return *slot - 1;
}

/* ---- regions ------------------------------------------------------------------------------------------ */

static OTF2_RegionRef first_region(const struct job *j, enum trace_name_kind kind)
{
	size_t first = REGION_FIRST;

	if (kind > TRACE_NAME_HANDLER)
		first += n_names(j, TRACE_NAME_HANDLER);
	if (kind > TRACE_NAME_ENTRY)
		first += n_names(j, TRACE_NAME_ENTRY);
	return (OTF2_RegionRef)first;
}

static OTF2_RegionRef region_of(struct otf2 *o, const struct span *s)
{
	switch (s->kind) {
	case SPAN_IDLE: return REGION_IDLE;
	case SPAN_PUT: return REGION_PUT;
	case SPAN_HANDLER: return first_region(o->j, TRACE_NAME_HANDLER) + s->what;
	case SPAN_ENTRY: return first_region(o->j, TRACE_NAME_ENTRY) + s->what;
	default: return first_region(o->j, TRACE_NAME_EVENT) + use(o, USE_REGION, s);
	}
}

/* ---- events ------------------------------------------------------------------------------------------- */

/* The message that a record sends or takes, with both ends; NULL: none. */
static const struct message *message_of(const struct otf2 *o, const struct span *s, uint32_t *tag_p)
{
	const uint32_t number = o->p->message[s->record];

	if (!number || s->resumed || o->j->messages[number - 1].to == NONE)
		return NULL;
	*tag_p = number;
	return &o->j->messages[number - 1];
}

static uint64_t bytes_of(const struct otf2 *o, const struct message *m)
{
	return record_at(&o->j->pes[m->from], m->sent)->bytes;
}

static void write_sent(struct otf2 *o, const struct span *s)
{
	uint32_t tag;
	const struct message *m = message_of(o, s, &tag);

	if (m)
		must(o, OTF2_EvtWriter_MpiSend(o->events, NULL, (OTF2_TimeStamp)s->start, o->rank[m->to],
					       m->put ? COMM_PUTS : COMM_MESSAGES, tag, bytes_of(o, m)));
}

static void write_taken(struct otf2 *o, const struct span *s)
{
	uint32_t tag;
	const struct message *m = message_of(o, s, &tag);

	if (m)
		must(o, OTF2_EvtWriter_MpiRecv(o->events, NULL, (OTF2_TimeStamp)s->start, o->rank[m->from],
					       m->put ? COMM_PUTS : COMM_MESSAGES, tag, bytes_of(o, m)));
}

static void write_counter(struct otf2 *o, const struct span *s)
{
	const OTF2_Type type = OTF2_TYPE_DOUBLE;
	const OTF2_MetricValue value = { .unsigned_int = record_value(record_at(o->p, s->record)) };

	must(o, OTF2_EvtWriter_Metric(o->events, NULL, (OTF2_TimeStamp)s->start, use(o, USE_METRIC, s), 1, &type, &value));
}

/* Marks lie in one file for all PEs, together with their definitions. */
static void write_mark(struct otf2 *o, const struct span *s)
{
	const uint32_t known = o->uses[USE_MARK].n, id = use(o, USE_MARK, s);

	if (id == known)
		must(o, OTF2_MarkerWriter_WriteDefMarker(o->marks, id, "program", used_name(o, USE_MARK, id),
							 OTF2_SEVERITY_NONE));
	must(o, OTF2_MarkerWriter_WriteMarker(o->marks, (OTF2_TimeStamp)s->start, 0, id, OTF2_MARKER_SCOPE_LOCATION,
					      o->rank[o->p->head->pe], ""));
}

static void attach_element(struct otf2 *o, const struct trace_record *r)
{
	for (int i = 0; i < INDICES; i++)
		must(o, OTF2_AttributeList_AddInt32(o->attributes, (OTF2_AttributeRef)i, r->index[i]));
	must(o, OTF2_AttributeList_AddStringRef(o->attributes, ATTRIBUTE_ELEMENT, element_name(o, r)));
}

static void on_begin(void *arg, const struct span *s)
{
	struct otf2 *o = arg;

	if (s->kind == SPAN_ENTRY && !s->resumed)
		attach_element(o, record_at(o->p, s->record));
	must(o, OTF2_EvtWriter_Enter(o->events, o->attributes, (OTF2_TimeStamp)s->start, region_of(o, s)));
	write_taken(o, s);
}

static void on_end(void *arg, const struct span *s)
{
	struct otf2 *o = arg;

	must(o, OTF2_EvtWriter_Leave(o->events, NULL, (OTF2_TimeStamp)s->end, region_of(o, s)));
}

static void on_moment(void *arg, const struct span *s)
{
	struct otf2 *o = arg;

	switch (s->kind) {
	case SPAN_SEND: case SPAN_PUT_SENT: write_sent(o, s); break;
	case SPAN_TAKEN: write_taken(o, s); break;
	case SPAN_COUNTER: write_counter(o, s); break;
	case SPAN_MARK: write_mark(o, s); break;
	default: break;
	}
}

static void write_pe(struct otf2 *o)
{
	const struct walker walker = { o, on_begin, on_end, on_moment };
	const int pe = o->p->head->pe;

	o->events = OTF2_Archive_GetEvtWriter(o->archive, o->rank[pe]);
	trace_walk(o->j, o->p, &walker);
	must(o, OTF2_EvtWriter_GetNumberOfEvents(o->events, &o->n_events[pe]));
	must(o, OTF2_Archive_CloseEvtWriter(o->archive, o->events));
}

static void write_events(struct otf2 *o)
{
	must(o, OTF2_Archive_OpenEvtFiles(o->archive));
	o->marks = OTF2_Archive_GetMarkerWriter(o->archive);
	o->attributes = need(OTF2_AttributeList_New());
	for (int i = 0; i < o->j->n_pes; i++) {
		o->p = &o->j->pes[i];
		if (o->p->head)
			write_pe(o);
	}
	must(o, OTF2_AttributeList_Delete(o->attributes));
	must(o, OTF2_Archive_CloseMarkerWriter(o->archive, o->marks));
	must(o, OTF2_Archive_CloseEvtFiles(o->archive));
}

/* Each location needs a file of definitions, although all of them are global. */
static void write_local_definitions(struct otf2 *o)
{
	must(o, OTF2_Archive_OpenDefFiles(o->archive));
	for (uint32_t i = 0; i < o->n_ranks; i++)
		must(o, OTF2_Archive_CloseDefWriter(o->archive, OTF2_Archive_GetDefWriter(o->archive, i)));
	must(o, OTF2_Archive_CloseDefFiles(o->archive));
}

/* ---- global definitions ---------------------------------------------------------------------------------- */

static OTF2_StringRef string(struct otf2 *o, const char *text)
{
	must(o, OTF2_GlobalDefWriter_WriteString(o->defs, o->n_strings, text));
	return o->n_strings++;
}

static void define_region(struct otf2 *o, OTF2_RegionRef id, const char *name, OTF2_RegionRole role, OTF2_Paradigm by)
{
	const OTF2_StringRef text = string(o, name);

	must(o, OTF2_GlobalDefWriter_WriteRegion(o->defs, id, text, text, OTF2_UNDEFINED_STRING, role, by,
						 OTF2_REGION_FLAG_NONE, OTF2_UNDEFINED_STRING, 0, 0));
}

static void define_named(struct otf2 *o, enum trace_name_kind kind)
{
	for (unsigned i = 0; i < n_names(o->j, kind); i++)
		define_region(o, first_region(o->j, kind) + i, trace_any_name(o->j, kind, i), OTF2_REGION_ROLE_FUNCTION,
			      kind == TRACE_NAME_ENTRY ? OTF2_PARADIGM_USER : OTF2_PARADIGM_MEASUREMENT_SYSTEM);
}

static void define_regions(struct otf2 *o)
{
	define_region(o, REGION_IDLE, "idle", OTF2_REGION_ROLE_TASK_WAIT, OTF2_PARADIGM_MEASUREMENT_SYSTEM);
	define_region(o, REGION_PUT, "put arrived", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MEASUREMENT_SYSTEM);
	define_named(o, TRACE_NAME_HANDLER);
	define_named(o, TRACE_NAME_ENTRY);
	for (uint32_t i = 0; i < o->uses[USE_REGION].n; i++)
		define_region(o, first_region(o->j, TRACE_NAME_EVENT) + i, used_name(o, USE_REGION, i),
			      OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER);
}

static void define_metric(struct otf2 *o, uint32_t id, const char *name)
{
	const OTF2_MetricMemberRef member = id;
	const OTF2_StringRef text = string(o, name), unit = string(o, "");

	must(o, OTF2_GlobalDefWriter_WriteMetricMember(o->defs, member, text, text, OTF2_METRIC_TYPE_USER,
						       OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL, 0,
						       unit));
	must(o, OTF2_GlobalDefWriter_WriteMetricClass(o->defs, id, 1, &member, OTF2_METRIC_ASYNCHRONOUS,
						      OTF2_RECORDER_KIND_CPU));
}

static void define_metrics(struct otf2 *o)
{
	for (uint32_t i = 0; i < o->uses[USE_METRIC].n; i++)
		define_metric(o, i, used_name(o, USE_METRIC, i));
}

/* The job, and below it the hosts. */
static void define_hosts(struct otf2 *o)
{
	const struct job *j = o->j;
	bool *done = need(calloc((size_t)j->n_hosts, sizeof *done));
	const OTF2_StringRef host = string(o, "host");

	must(o, OTF2_GlobalDefWriter_WriteSystemTreeNode(o->defs, 0, string(o, "job"), string(o, "machine"),
							 OTF2_UNDEFINED_SYSTEM_TREE_NODE));
	for (int i = 0; i < j->n_pes; i++) {
		const struct pe_trace *p = &j->pes[i];
		const OTF2_SystemTreeNodeRef id = (OTF2_SystemTreeNodeRef)p->host + 1;

		if (!p->head || done[p->host])
			continue;
		done[p->host] = true;
		must(o, OTF2_GlobalDefWriter_WriteSystemTreeNode(o->defs, id, string(o, p->head->host), host, 0));
		must(o, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(o->defs, id, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
	}
	free(done);
}

static void define_node(struct otf2 *o, OTF2_LocationGroupRef id, const struct pe_trace *p)
{
	char name[32];

	snprintf(name, sizeof name, "node %d", p->head->node);
	must(o, OTF2_GlobalDefWriter_WriteLocationGroup(o->defs, id, string(o, name), OTF2_LOCATION_GROUP_TYPE_PROCESS,
							(OTF2_SystemTreeNodeRef)p->host + 1,
							OTF2_UNDEFINED_LOCATION_GROUP));
}

static void define_pe(struct otf2 *o, OTF2_LocationGroupRef node, int pe)
{
	char name[32];

	snprintf(name, sizeof name, "PE %d", pe);
	must(o, OTF2_GlobalDefWriter_WriteLocation(o->defs, o->rank[pe], string(o, name), OTF2_LOCATION_TYPE_CPU_THREAD,
						   o->n_events[pe], node));
}

/* The PEs of a node follow each other. */
static void define_pes(struct otf2 *o)
{
	OTF2_LocationGroupRef n_nodes = 0;
	int node = NONE;

	for (int i = 0; i < o->j->n_pes; i++) {
		const struct pe_trace *p = &o->j->pes[i];

		if (!p->head)
			continue;
		if (p->head->node != node)
			define_node(o, n_nodes++, p);
		node = p->head->node;
		define_pe(o, n_nodes - 1, i);
	}
}

static void define_comms(struct otf2 *o)
{
	uint64_t *ranks = need(calloc(o->n_ranks, sizeof *ranks));
	const OTF2_StringRef text = string(o, "PEs");

	for (uint32_t i = 0; i < o->n_ranks; i++)
		ranks[i] = i;
	must(o, OTF2_GlobalDefWriter_WriteGroup(o->defs, GROUP_LOCATIONS, text, OTF2_GROUP_TYPE_COMM_LOCATIONS,
						OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, o->n_ranks, ranks));
	must(o, OTF2_GlobalDefWriter_WriteGroup(o->defs, GROUP_PES, text, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
						OTF2_GROUP_FLAG_NONE, o->n_ranks, ranks));
	must(o, OTF2_GlobalDefWriter_WriteComm(o->defs, COMM_MESSAGES, string(o, "messages"), GROUP_PES,
					       OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
	must(o, OTF2_GlobalDefWriter_WriteComm(o->defs, COMM_PUTS, string(o, "puts"), GROUP_PES, OTF2_UNDEFINED_COMM,
					       OTF2_COMM_FLAG_NONE));
	free(ranks);
}

static void define_attributes(struct otf2 *o)
{
	static const char *const names[INDICES] = { "element, first index", "element, second index",
						    "element, third index" };

	for (int i = 0; i < INDICES; i++) {
		const OTF2_StringRef text = string(o, names[i]);

		must(o, OTF2_GlobalDefWriter_WriteAttribute(o->defs, (OTF2_AttributeRef)i, text, text, OTF2_TYPE_INT32));
	}
	const OTF2_StringRef element = string(o, "element");

	must(o, OTF2_GlobalDefWriter_WriteAttribute(o->defs, ATTRIBUTE_ELEMENT, element, element,
						    OTF2_TYPE_STRING));
}

static void define_elements(struct otf2 *o)
{
	for (uint32_t i = 0; i < o->element_names.n; i++)
		string(o, o->element_names.text[i]);
}

/* Time 0 is the first record, by the first host's clock. */
static void define_clock(struct otf2 *o)
{
	const struct job *j = o->j;
	const struct trace_head *h = NULL;

	for (int i = j->n_pes; i-- > 0;)
		if (j->pes[i].head && j->pes[i].host == 0)
			h = j->pes[i].head;
	must(o, OTF2_GlobalDefWriter_WriteClockProperties(o->defs, NS_PER_S, 0, (uint64_t)j->end_ns + 1,
							  h->start_real_ns + (uint64_t)(j->start_ns - (int64_t)h->start.ns)));
}

static void write_definitions(struct otf2 *o)
{
	o->defs = OTF2_Archive_GetGlobalDefWriter(o->archive);
	define_clock(o);
	define_elements(o);
	must(o, OTF2_GlobalDefWriter_WriteParadigm(o->defs, OTF2_PARADIGM_MPI, string(o, "Chard"),
						   OTF2_PARADIGM_CLASS_PROCESS));
	define_hosts(o);
	define_pes(o);
	define_attributes(o);
	define_regions(o);
	define_metrics(o);
	define_comms(o);
	must(o, OTF2_Archive_CloseGlobalDefWriter(o->archive, o->defs));
}

/* ---- the archive ---------------------------------------------------------------------------------------- */

static OTF2_FlushType flush_always(void *arg, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
	(void)arg, (void)type, (void)location, (void)caller, (void)final;
	return OTF2_FLUSH;
}

static void set_number(struct otf2 *o, const char *name, uint64_t n)
{
	char text[32];

	snprintf(text, sizeof text, "%llu", (unsigned long long)n);
	must(o, OTF2_Archive_SetProperty(o->archive, name, text, true));
}

static void open_archive(struct otf2 *o)
{
	static const OTF2_FlushCallbacks flush = { .otf2_pre_flush = flush_always };

	OTF2_Error_RegisterCallback(on_error, (void *)(uintptr_t)o->folder);
	o->archive = OTF2_Archive_Open(o->folder, "traces", OTF2_FILEMODE_WRITE, EVENT_CHUNK, DEFINITION_CHUNK,
				       OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (!o->archive)
		must(o, OTF2_ERROR_FILE_INTERACTION);
	must(o, OTF2_Archive_SetFlushCallbacks(o->archive, &flush, NULL));
	must(o, OTF2_Archive_SetSerialCollectiveCallbacks(o->archive));
	must(o, OTF2_Archive_SetCreator(o->archive, "Chard, cktrace"));
	set_number(o, "CHARD::EPOCH", o->j->epoch->no);
	set_number(o, "CHARD::CHECKPOINT", o->j->epoch->checkpoint);
}

void write_otf2(const struct job *j, const char *folder)
{
	struct otf2 o = { .j = j, .folder = folder };

	o.rank = need(calloc((size_t)j->n_pes, sizeof *o.rank));
	for (int k = 0; k < USE_KINDS; k++) {
		o.uses[k].number = need(calloc(j->events.n, sizeof *o.uses[k].number));
		o.uses[k].event = need(calloc(j->events.n, sizeof *o.uses[k].event));
	}
	o.n_events = need(calloc((size_t)j->n_pes, sizeof *o.n_events));
	for (int i = 0; i < j->n_pes; i++)
		if (j->pes[i].head)
			o.rank[i] = o.n_ranks++;
	elements_init(&o.elements, j);
	open_archive(&o);
	write_events(&o);
	write_local_definitions(&o);
	write_definitions(&o);
	must(&o, OTF2_Archive_Close(o.archive));
	free(o.rank);
	for (int k = 0; k < USE_KINDS; k++) {
		free(o.uses[k].number);
		free(o.uses[k].event);
	}
	free(o.n_events);
	elements_free(&o.elements);
	for (uint32_t i = 0; i < o.element_names.n; i++)
		free(o.element_names.text[i]);
	free(o.element_names.text);
	free(o.element_names.slots);
}
