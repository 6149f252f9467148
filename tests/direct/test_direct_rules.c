/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_direct_rules.c: a program that breaks a rule of channels ends with exit code 1 and a line
 * that names the call, the channel, both PEs, the iteration and the rule.
 *
 * Each case is a small program of two PEs: PE 1 creates channel 0 and sends its handle to PE 0,
 * which binds it and then breaks the rule, or lets PE 1 break it.
 */
#include <setjmp.h>
#include <stddef.h>

#include "world.h"
#include "../../runtime/direct/transfer/arrival.h"
#include "../../runtime/direct/core/direct_handle.h"

#include <cmocka.h>

enum { BYTES = 64, WORDS = BYTES / 8, GIVE_UP_MS = 3000 };
enum { HANDLE, STEP }; /* kinds of messages */

struct rule_case;

/* The program's data. */
struct stage {
	struct world w; /* first */
	const struct rule_case *rule;
	uint64_t *buf;                 /* PE 1: from CkDirect_alloc */
	uint64_t src[WORDS];           /* PE 0 */
	CkDirectHandle from, to, copy; /* PE 1's end; PE 0's end and a copy of it */
	int arrivals;                  /* PE 1 */
};

struct rule_case {
	const char *says;              /* must be in the line, */
	const char *or_says;           /* or this, where the outcome depends on time, */
	const char *or_even;           /* or this */
	int nodes;                     /* 0: both one and two */
	const char *path;              /* CK_DIRECT_PATH, NULL: any */
	const char *poll_max;          /* CK_DIRECT_POLL_MAX */
	bool check, seq;
	void (*bound)(struct stage *s);               /* PE 0, after assocLocal */
	void (*arrival)(struct stage *s);             /* PE 1, after each arrival */
	void (*step)(struct stage *s, struct pe *pe, int step, CkDirectHandle *h); /* any PE */
	void (*start)(struct stage *s);               /* PE 1, in place of everything above */
};

static struct stage *stage(void)
{
	return (struct stage *)(uintptr_t)csd_self()->node->program;
}

static void go_on(int pe, int step, const CkDirectHandle *h)
{
	world_send(csd_self(), pe, STEP, step, h);
}

static void put(struct stage *s)
{
	CkDirect_put(&s->to);
}

static void nothing(void *data)
{
	(void)data;
}

/* ---- the stage --------------------------------------------------------------------- */

static void arrived(void *data)
{
	struct stage *s = data;

	s->arrivals++;
	if (s->rule->arrival)
		s->rule->arrival(s);
}

static void give_up(void *arg)
{
	csd_exit(arg, 0);
}

static void stage_start(struct pe *pe)
{
	struct stage *s = stage();

	if (pe->id == 0)
		CcdCallFnAfter(give_up, pe, GIVE_UP_MS);
	if (pe->id != 1)
		return;
	s->buf = CkDirect_alloc(BYTES);
	if (s->rule->start) {
		s->rule->start(s);
		return;
	}
	s->from = s->rule->seq ? CkDirect_createHandleSeq(s->buf, BYTES, arrived, s)
			       : CkDirect_createHandle(s->buf, BYTES, 0, arrived, s);
	world_send(pe, 0, HANDLE, 0, &s->from);
}

static void stage_message(struct pe *pe, int kind, int index, CkDirectHandle *h)
{
	struct stage *s = stage();

	if (kind == STEP) {
		s->rule->step(s, pe, index, h);
		return;
	}
	s->to = *h;
	for (int i = 0; i < WORDS; i++)
		s->src[i] = 1;
	CkDirect_assocLocalBuffer(&s->to, s->src, BYTES);
	s->copy = s->to;
	s->rule->bound(s);
}

static void play(void *arg)
{
	const struct rule_case *rule = arg;
	struct stage s = {
		.w = {.start = stage_start, .message = stage_message, .nodes = rule->nodes,
		      .pes = rule->nodes > 1 ? 1 : 2},
		.rule = rule,
	};

	if (rule->path)
		setenv("CK_DIRECT_PATH", rule->path, 1);
	if (rule->poll_max)
		setenv("CK_DIRECT_POLL_MAX", rule->poll_max, 1);
	if (rule->check)
		setenv("CK_CHECK", "1", 1);
	_exit(world_run(&s.w));
}

static void expect_line(const struct rule_case *rule)
{
	struct world_outcome o;
	const char *said = rule->says;
	char *line;

	world_in_child(play, (void *)(uintptr_t)rule, &o);
	line = strstr(o.text, "chard: ");
	if (line && rule->or_says && strstr(line, rule->or_says))
		said = rule->or_says;
	if (line && rule->or_even && strstr(line, rule->or_even))
		said = rule->or_even;
	if (o.code != 1 || !line || !strstr(line, said))
		print_message("nodes %d path %s: code %d, said:\n%s\nnot: %s\n", rule->nodes,
			      rule->path ? rule->path : "any", o.code, o.text, rule->says);
	assert_int_equal(o.code, 1);
	assert_non_null(line);
	*strchrnul(line, '\n') = '\0';
	assert_non_null(strstr(line, said));
}

/* The rule of `base`, on both kinds of jobs unless it names one. */
static void expect(struct rule_case base)
{
	if (base.nodes) {
		expect_line(&base);
		return;
	}
	for (base.nodes = 1; base.nodes <= 2; base.nodes++)
		expect_line(&base);
}

static const char *const paths[] = {"memory", "rma", "message"};

/* ---- creating and binding ---------------------------------------------------------- */

static void create_misaligned(struct stage *s)
{
	CkDirect_createHandle((char *)s->buf + 4, 16, 0, nothing, NULL);
}

static void a_receive_buffer_must_end_aligned(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "is not 8-aligned", .start = create_misaligned});
}

static void create_small(struct stage *s)
{
	CkDirect_createHandle((char *)s->buf + 4, 4, 0, nothing, NULL);
}

static void a_receive_buffer_must_hold_a_word(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "4 bytes, but the last 8 tell the arrival",
				  .start = create_small});
}

static void create_empty(struct stage *s)
{
	CkDirect_createHandleSeq(s->buf, 0, nothing, NULL);
}

static void a_channel_moves_something(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "0 bytes", .start = create_empty});
}

static void create_without_function(struct stage *s)
{
	CkDirect_createHandle(s->buf, BYTES, 0, NULL, NULL);
}

static void a_channel_needs_a_function(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "the arrival function is NULL",
				  .start = create_without_function});
}

static void bind_misaligned(struct stage *s)
{
	CkDirectHandle h = CkDirect_createHandle(s->buf, 8, 0, nothing, NULL);

	CkDirect_assocLocal(&h, (char *)s->src + 1);
}

static void a_send_buffer_must_end_aligned(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "CkDirect_assocLocal: channel 0 (receiver PE 1, sender PE 1, iteration 0): "
			"the end of the send buffer",
		.start = bind_misaligned});
}

static void bind_nothing(struct stage *s)
{
	CkDirectHandle none = {{0}};

	CkDirect_assocLocal(&none, s->src);
}

static void a_handle_must_name_a_channel(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "the handle is empty", .start = bind_nothing});
}

/* The head of the first put to a new channel. */
static struct cmi_put_head first_put(struct stage *s)
{
	CkDirectHandle h = CkDirect_createHandle(s->buf, BYTES, 0, nothing, NULL);
	const struct direct_handle *in = direct_open(&h);

	return (struct cmi_put_head){
		.channel = in->channel, .generation = in->generation, .iteration = 1, .word = 1,
	};
}

/* As if a put had come by message and been damaged on its way. */
static void take_short_put(struct stage *s)
{
	const struct cmi_put_head head = first_put(s);

	direct_put_arrived(csd_self(), 0, &head, s->src, BYTES / 2);
}

static void a_put_has_the_size_of_its_channel(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "32 bytes came, the channel has 64", .start = take_short_put});
}

/* It would reach behind the buffer. */
static void take_long_piece(struct stage *s)
{
	const struct cmi_put_head head = first_put(s);

	direct_put_piece(csd_self(), 0, &head, 0, s->src, BYTES / 2);
	direct_put_piece(csd_self(), 0, &head, BYTES / 2, s->src, BYTES / 2 + 1);
}

static void a_piece_of_a_put_lies_within_its_channel(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "65 bytes came, the channel has 64", .start = take_long_piece});
}

/* Its buffer has been changed since it was given to the sender. */
static void take_first_piece(struct stage *s)
{
	const struct cmi_put_head head = first_put(s);

	s->buf[0] ^= 1;
	direct_put_piece(csd_self(), 0, &head, 0, s->src, BYTES / 2);
}

static void checked_mode_looks_at_the_first_piece_of_a_put(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "the receive buffer changed while it was the sender's", .check = true,
				  .start = take_first_piece});
}

static int damage; /* which half word of a handle */

static void spoil_half(CkDirectHandle *h)
{
	uint32_t half;

	memcpy(&half, (char *)h + 4 * damage, 4);
	half ^= 2; /* 1 would make a living handle a dead one */
	memcpy((char *)h + 4 * damage, &half, 4);
}

static void bind_spoiled(struct stage *s)
{
	s->to = CkDirect_createHandle(s->buf, BYTES, 0, nothing, NULL);
	spoil_half(&s->to);
	CkDirect_assocLocalBuffer(&s->to, s->src, BYTES);
}

static void binding_finds_every_change_of_a_handle(void **state)
{
	(void)state;
	for (damage = 0; damage < (int)sizeof(CkDirectHandle) / 4; damage++)
		expect((struct rule_case){.says = "the handle names no channel",
					  .or_says = "the channel is bound already", .nodes = 1,
					  .start = bind_spoiled});
}

static void put_spoiled(struct stage *s)
{
	spoil_half(&s->to);
	put(s);
}

static void checked_mode_finds_every_change_of_a_bound_handle(void **state)
{
	static const char *const says[] = {
		"the handle names no channel",                   /* magic */
		[4] = "called on PE 0", [6] = "the channel has another send buffer",
	};
	enum { SAYS = sizeof(says) / sizeof(says[0]) };

	(void)state;
	for (int p = 0; p < 3; p++)
		for (damage = 0; damage < (int)sizeof(CkDirectHandle) / 4; damage++)
			expect((struct rule_case){
				.says = damage < SAYS && says[damage]
						? says[damage]
						: "the handle was changed after it was bound",
				.nodes = 2, .path = paths[p], .check = true, .bound = put_spoiled});
}

/* Which bytes of a handle a put may take from it: what tells the sending end apart. */
static void put_with_other_buffers(struct stage *s)
{
	for (damage = 8; damage < 16; damage++)
		spoil_half(&s->to);
	put(s);
}

static void arrived_whole(struct stage *s)
{
	for (int i = 0; i < WORDS; i++)
		assert_int_equal(s->buf[i], 1);
	csd_exit(csd_self(), 1);
	fprintf(stderr, "chard: whole\n");
}

static void away_from_memory_a_put_does_not_trust_the_handle(void **state)
{
	(void)state;
	for (int p = 1; p < 3; p++)
		expect((struct rule_case){.says = "whole", .nodes = 2, .path = paths[p],
					  .bound = put_with_other_buffers, .arrival = arrived_whole});
}

static size_t other_size;

static void bind_other_size(struct stage *s)
{
	CkDirectHandle h = CkDirect_createHandle(s->buf, BYTES, 0, nothing, NULL);

	CkDirect_assocLocalBuffer(&h, s->src, other_size);
}

static void a_send_buffer_has_the_size_of_the_channel(void **state)
{
	(void)state;
	other_size = BYTES - 8;
	expect((struct rule_case){
		.says = "CkDirect_assocLocalBuffer: channel 0 (receiver PE 1, sender PE 1, iteration 0): "
			"the send buffer has 56 bytes, but the channel moves 64",
		.start = bind_other_size});
	other_size = BYTES + 8;
	expect((struct rule_case){.says = "the send buffer has 72 bytes, but the channel moves 64",
				  .start = bind_other_size});
}

static void bind_again(struct stage *s)
{
	CkDirect_assocLocalBuffer(&s->to, s->src, BYTES);
}

static void a_handle_is_bound_once(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "CkDirect_assocLocalBuffer: channel 0 (receiver PE 1, sender PE 0, iteration 0): "
			"the channel is bound already",
		.bound = bind_again});
}

static void bind_elsewhere(struct stage *s, struct pe *pe, int step, CkDirectHandle *h)
{
	static uint64_t other[WORDS];

	(void)s;
	(void)step;
	if (pe->id == 1)
		CkDirect_assocLocal(h, other);
}

static void ask_to_bind_elsewhere(struct stage *s)
{
	(void)s;
	go_on(1, 0, NULL);
}

static void bind_own(struct stage *s, struct pe *pe, int step, CkDirectHandle *h)
{
	CkDirectHandle second = s->from;

	(void)h;
	bind_elsewhere(s, pe, step, &second);
}

static void a_channel_has_one_sender(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "the channel is bound already, and PE 1 binds it again",
				  .bound = ask_to_bind_elsewhere, .step = bind_own});
}

/* ---- putting ----------------------------------------------------------------------- */

static void put_idle_pattern(struct stage *s)
{
	s->src[WORDS - 1] = 0;
	put(s);
}

static void data_must_not_end_in_the_out_of_band_value(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, iteration 1): "
			"the last 8 bytes of the data are the out-of-band value",
		.bound = put_idle_pattern});
}

static void put_unbound(struct stage *s)
{
	CkDirect_put(&s->from);
}

static void start_put_unbound(struct stage *s)
{
	s->from = CkDirect_createHandle(s->buf, BYTES, 0, nothing, NULL);
	put_unbound(s);
}

static void a_put_needs_a_bound_handle(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "this handle has no send buffer",
				  .start = start_put_unbound});
}

static void put_destroyed(struct stage *s)
{
	CkDirect_destroyHandle(&s->to);
	put(s);
}

static void put_destroyed_copy(struct stage *s)
{
	CkDirect_destroyHandle(&s->to);
	CkDirect_put(&s->copy);
}

static void a_put_needs_a_living_handle(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "the sending end was destroyed through this handle",
				  .bound = put_destroyed});
	expect((struct rule_case){.says = "the sending end was destroyed;",
				  .bound = put_destroyed_copy});
}

static void put_here(struct stage *s, struct pe *pe, int step, CkDirectHandle *h)
{
	(void)s;
	(void)pe;
	(void)step;
	CkDirect_put(h);
}

static void send_away(struct stage *s)
{
	go_on(1, 0, &s->to);
}

static void a_put_belongs_on_the_pe_that_bound(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, iteration 0): "
			"called on PE 1",
		.bound = send_away, .step = put_here});
}

/* ---- another send buffer ------------------------------------------------------------- */

static void rebind_short(struct stage *s)
{
	CkDirect_rebind(&s->to, s->src, 8);
}

static void rebind_to_nothing(struct stage *s)
{
	CkDirect_rebind(&s->to, NULL, BYTES);
}

static void rebind_misaligned(struct stage *s)
{
	CkDirect_rebind(&s->to, (char *)s->src + 4, BYTES);
}

static void rebind_unbound(struct stage *s)
{
	s->from = CkDirect_createHandle(s->buf, BYTES, 0, nothing, NULL);
	CkDirect_rebind(&s->from, s->src, BYTES);
}

static void another_send_buffer_has_the_same_shape(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "CkDirect_rebind: channel 0 (receiver PE 1, sender PE 0, iteration 0): "
			"the send buffer has 8 bytes, but the channel moves 64",
		.bound = rebind_short});
	expect((struct rule_case){.says = "the send buffer is NULL", .bound = rebind_to_nothing});
	expect((struct rule_case){.says = "is not 8-aligned", .bound = rebind_misaligned});
	expect((struct rule_case){.says = "this handle has no send buffer", .start = rebind_unbound});
}

static void rebind_and_put_copy(struct stage *s)
{
	static uint64_t other[WORDS] = {[WORDS - 1] = 1};

	CkDirect_rebind(&s->to, other, BYTES);
	CkDirect_put(&s->copy);
}

static void a_copy_from_before_a_rebind_cannot_put(void **state)
{
	(void)state;
	for (int p = 0; p < 3; p++)
		expect((struct rule_case){
			.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, "
				"iteration 0): the channel has another send buffer since this "
				"copy was made",
			.path = paths[p], .bound = rebind_and_put_copy});
}

static void rebind_in_flight(struct stage *s)
{
	CkDirect_putData(&s->to, nothing, NULL, 0);
	CkDirect_rebind(&s->to, s->src, BYTES);
}

static void a_rebind_waits_for_local_completion(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "CkDirect_rebind: channel 0 (receiver PE 1, sender PE 0, iteration 1): "
			"the last put is not locally complete",
		.bound = rebind_in_flight});
}

/* ---- local completion ---------------------------------------------------------------- */

static void put_and_spoil(struct stage *s)
{
	put(s);
	s->src[3] = 99;
}

static void checked_mode_finds_a_send_buffer_changed_early(void **state)
{
	(void)state;
	for (int p = 1; p < 3; p++)
		for (int seq = 0; seq < 2; seq++)
			expect((struct rule_case){
				.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, "
					"iteration 1): the send buffer changed before the put was "
					"locally complete",
				.nodes = 2, .check = true, .seq = seq, .path = paths[p],
				.bound = put_and_spoil});
}

static void put_twice_with_data(struct stage *s)
{
	CkDirect_putData(&s->to, nothing, NULL, 0);
	CkDirect_putData(&s->to, nothing, NULL, 0);
}

static void a_put_waits_for_local_completion(void **state)
{
	(void)state;
	for (int p = 0; p < 3; p++)
		expect((struct rule_case){
			.says = "iteration 1): the last put is not locally complete",
			.path = paths[p], .bound = put_twice_with_data});
}

static void destroy_in_flight(struct stage *s)
{
	CkDirect_putData(&s->to, nothing, NULL, 0);
	CkDirect_destroyHandle(&s->to);
}

static void a_sender_is_not_destroyed_with_a_put_in_flight(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "CkDirect_destroyHandle: channel 0 (receiver PE 1, "
					  "sender PE 0, iteration 1): the last put is not",
				  .bound = destroy_in_flight});
}

/* ---- arming ------------------------------------------------------------------------ */

static void poll_unmarked(struct stage *s)
{
	CkDirect_readyPollQ(&s->from);
}

static void polling_needs_a_mark(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "the channel was not marked ready since its last arrival",
				  .bound = put, .arrival = poll_unmarked});
}

static void ready_on_sender(struct stage *s)
{
	CkDirect_ready(&s->to);
}

static void ready_belongs_on_the_receiver(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "CkDirect_ready: channel 0 (receiver PE 1, sender PE 0, iteration 0): "
			"called on PE 0",
		.bound = ready_on_sender});
}

static void ready_destroyed(struct stage *s)
{
	CkDirectHandle copy = s->from;

	CkDirect_destroyHandle(&s->from);
	CkDirect_ready(&copy);
}

static void ready_needs_a_living_channel(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "the channel was destroyed", .bound = put,
				  .arrival = ready_destroyed});
}

static void ready_armed(struct stage *s)
{
	CkDirect_ready(&s->from);
	CkDirect_ready(&s->from);
}

static void checked_mode_finds_ready_while_armed(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "CkDirect_ready: channel 0 (receiver PE 1, sender PE 0, iteration 2): "
			"ready while the channel is armed",
		.check = true, .bound = put, .arrival = ready_armed});
}

static void ready_armed_then_leave(struct stage *s)
{
	ready_armed(s);
	csd_exit(csd_self(), 1);
	fprintf(stderr, "chard: no harm was done\n");
}

static void otherwise_ready_while_armed_does_nothing(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "no harm was done", .bound = put,
				  .arrival = ready_armed_then_leave});
}

/* ---- freeing too early ------------------------------------------------------------- */

static void free_buffer(struct stage *s)
{
	CkDirect_free(s->buf);
}

static void checked_mode_finds_a_receive_buffer_freed_by_its_pe(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "CkDirect_free: channel 0 (receiver PE 1, sender PE 0, iteration 1): "
			"the receive buffer is freed, but the channel lives",
		.check = true, .bound = put, .arrival = free_buffer});
}

static void free_and_put(struct stage *s)
{
	free_buffer(s);
	put(s);
}

static void checked_mode_finds_a_receive_buffer_freed_by_another_pe(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "iteration 1): the receive buffer changed while it was the sender's",
		.check = true, .nodes = 1, .bound = free_and_put});
}

/* ---- putting too early ------------------------------------------------------------- */

static void put_twice(struct stage *s)
{
	put(s);
	put(s);
}

static void answer(struct stage *s)
{
	(void)s;
	go_on(0, 0, NULL);
}

static void put_third(struct stage *s, struct pe *pe, int step, CkDirectHandle *h)
{
	(void)step;
	(void)h;
	(void)pe;
	put(s);
}

/* PE 0 has put twice already: let PE 1 say ready. */
static void let_ready(struct stage *s, struct pe *pe, int step, CkDirectHandle *h)
{
	(void)step;
	(void)h;
	if (pe->id == 0)
		go_on(1, 0, NULL);
	else
		CkDirect_ready(&s->from);
}

static void sequence_mode_finds_an_overrun(void **state)
{
	(void)state;
	/* The receiver may see the two puts together, or the second at its next ready. A second
	 * put that comes as a message of its own may also find that the first was consumed. */
	for (int p = 0; p < 3; p++)
		expect((struct rule_case){
			.says = "2 puts came before the first was consumed",
			.or_says = "a put came before the last one was consumed",
			.or_even = strcmp(paths[p], "message") ? NULL : "CkDirect_put: channel 0 "
				"(receiver PE 1, sender PE 0, iteration 2): "
				"a put came before the receiver said ready", .seq = true,
			.path = paths[p], .nodes = 2, .bound = put_twice, .arrival = answer,
			.step = let_ready});
}

/* PE 0: put once more; then let PE 1 say ready, too late. */
static void put_then_ready(struct stage *s, struct pe *pe, int step, CkDirectHandle *h)
{
	(void)step;
	(void)h;
	if (pe->id == 0) {
		put(s);
		go_on(1, 0, NULL);
	} else {
		CkDirect_ready(&s->from);
	}
}

static void sequence_mode_finds_a_put_before_ready(void **state)
{
	(void)state;
	for (int p = 0; p < 3; p++)
		expect((struct rule_case){
			.says = "CkDirect_ready: channel 0 (receiver PE 1, sender PE 0, "
				"iteration 1): a put came before the last one was consumed",
			.or_says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, "
				   "iteration 2): a put came before the receiver said ready",
			.seq = true, .path = paths[p], .bound = put, .arrival = answer,
			.step = put_then_ready});
}

static void the_message_path_always_finds_an_early_put(void **state)
{
	(void)state;
	for (int seq = 0; seq < 2; seq++) {
		expect((struct rule_case){
			.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, "
				"iteration 2): a put came before the receiver said ready",
			.nodes = 2, .seq = seq, .path = "message", .bound = put,
			.arrival = answer, .step = put_then_ready});
		expect((struct rule_case){
			.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, "
				"iteration 2): a put came before the last one was consumed",
			.or_says = "iteration 2): a put came before the receiver said ready",
			.nodes = 2, .seq = seq, .path = "message", .bound = put_twice});
	}
}

static void bind_at_home(struct stage *s)
{
	s->from = s->to = CkDirect_createHandle(s->buf, BYTES, 0, nothing, NULL);
	s->src[WORDS - 1] = 1;
	CkDirect_assocLocalBuffer(&s->to, s->src, BYTES);
}

static void put_at_home(struct stage *s)
{
	bind_at_home(s);
	put(s);
}

static void put_twice_at_home(struct stage *s)
{
	put_at_home(s);
	put(s);
}

static void destroy_at_home(struct stage *s)
{
	put_at_home(s);
	CkDirect_destroyHandle(&s->from);
	put(s);
}

/* The new channel gets the number of the destroyed one, and waits for a put. */
static void replace_at_home(struct stage *s)
{
	bind_at_home(s);
	CkDirect_destroyHandle(&s->from);
	s->from = CkDirect_createHandle(s->buf, BYTES, 0, nothing, NULL);
	put(s);
}

static void within_a_pe_an_early_put_is_always_found(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 1, iteration 2): "
			"a put came before the last one was consumed",
		.start = put_twice_at_home});
	expect((struct rule_case){
		.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 1, iteration 2): "
			"the receiver has destroyed this channel",
		.start = destroy_at_home});
	expect((struct rule_case){
		.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 1, iteration 1): "
			"the receiver has destroyed this channel",
		.start = replace_at_home});
}

static void mark_and_put_twice_at_home(struct stage *s)
{
	CkDirect_readyMark(&s->from);
	put(s);
	put(s);
}

static void put_unready_at_home(struct stage *s)
{
	put(s);
}

static void start_at_home(struct stage *s)
{
	s->from = s->to = CkDirect_createHandle(s->buf, BYTES, 0, arrived, s);
	s->src[WORDS - 1] = 1;
	CkDirect_assocLocalBuffer(&s->to, s->src, BYTES);
	put(s);
}

static void within_a_pe_a_put_before_ready_is_always_found(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "iteration 2): a put came before the receiver said ready",
				  .start = start_at_home, .arrival = put_unready_at_home});
	expect((struct rule_case){.says = "iteration 3): a put came before the last one was consumed",
				  .start = start_at_home, .arrival = mark_and_put_twice_at_home});
}

/* The first put is told, and nothing listens afterwards: the receiver has no armed channel. */
static void an_idle_pe_hears_a_put_before_the_first_ready(void **state)
{
	(void)state;
	for (int seq = 0; seq < 2; seq++)
		expect((struct rule_case){
			.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, "
				"iteration 2): a put came before the receiver said ready",
			.seq = seq, .path = "memory", .bound = put, .arrival = answer,
			.step = put_third});
}

static void checked_mode_finds_a_put_before_ready(void **state)
{
	(void)state;
	for (int p = 0; p < 3; p++)
		for (int seq = 0; seq < 2; seq++)
			expect((struct rule_case){
				.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, "
					"iteration 2): a put before the receiver said ready",
				.check = true, .seq = seq, .path = paths[p], .bound = put,
				.arrival = answer, .step = put_then_ready});
}

static void ready_and_answer(struct stage *s)
{
	CkDirect_readyMark(&s->from); /* free for one put, and nobody looks for it */
	go_on(0, 0, NULL);
	go_on(0, 1, NULL);
}

static void checked_mode_finds_a_put_before_the_last_was_consumed(void **state)
{
	(void)state;
	/* On the other paths the second put has first to be asked for, and is not complete. */
	for (int p = 0; p < 3; p++)
		expect((struct rule_case){
			.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, "
				"iteration 3): a put before the last one was consumed",
			.or_says = p ? "iteration 2): the last put is not locally complete" : NULL,
			.check = true, .path = paths[p], .bound = put,
			.arrival = ready_and_answer, .step = put_third});
}

static void spoil_and_answer(struct stage *s)
{
	CkDirect_ready(&s->from);
	s->buf[2] = 99;
	go_on(0, 0, NULL);
}

static void checked_mode_finds_a_buffer_that_changed(void **state)
{
	(void)state;
	for (int p = 0; p < 3; p++)
		expect((struct rule_case){
			.says = "iteration 2): the receive buffer changed while it was the "
				"sender's",
			.check = true, .path = paths[p], .bound = put,
			.arrival = spoil_and_answer, .step = put_third});
}

static void destroy_and_answer(struct stage *s)
{
	CkDirect_destroyHandle(&s->from);
	go_on(0, 0, NULL);
}

static void checked_mode_finds_a_put_into_a_destroyed_channel(void **state)
{
	(void)state;
	for (int p = 0; p < 3; p++)
		expect((struct rule_case){
			.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, "
				"iteration 2): the receiver has destroyed this channel",
			.check = true, .path = paths[p], .bound = put,
			.arrival = destroy_and_answer, .step = put_third});
}

static void the_message_path_always_finds_a_destroyed_channel(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "iteration 2): the receiver has destroyed this channel", .nodes = 2,
		.path = "message", .bound = put, .arrival = destroy_and_answer,
		.step = put_third});
}

static void an_idle_pe_hears_a_put_into_a_destroyed_channel(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, iteration 0): "
			"the receiver has destroyed this channel",
		.path = "memory", .bound = put, .arrival = destroy_and_answer, .step = put_third});
}

static void destroy_and_go_on(struct stage *s)
{
	CkDirect_destroyHandle(&s->from);
	go_on(1, 0, NULL);
}

/* PE 1: create a channel, which gets the number of the destroyed one; PE 0: put once more. */
static void create_then_put(struct stage *s, struct pe *pe, int step, CkDirectHandle *h)
{
	(void)step;
	(void)h;
	if (pe->id == 0) {
		put(s);
	} else {
		s->from = CkDirect_createHandleSeq(s->buf, BYTES, nothing, NULL);
		go_on(0, 0, NULL);
	}
}

static void sequence_mode_finds_a_put_for_an_earlier_channel(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "the receiver has destroyed this channel",
				  .seq = true, .nodes = 1, .bound = put,
				  .arrival = destroy_and_go_on, .step = create_then_put});
}

/* ---- what a bell finds --------------------------------------------------------------- */

static void a_bell_finds_a_put_for_an_earlier_channel(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, iteration 0): "
			"the receiver has destroyed this channel",
		.poll_max = "0", .bound = put, .arrival = destroy_and_go_on,
		.step = create_then_put});
}

/* A PE with nothing armed does not listen. */
static void listen(struct stage *s)
{
	CkDirect_createHandle(s->buf, BYTES, 0, nothing, NULL);
}

static void a_bell_finds_a_put_before_ready(void **state)
{
	(void)state;
	expect((struct rule_case){
		.says = "CkDirect_put: channel 0 (receiver PE 1, sender PE 0, iteration 2): "
			"a put came before the last one was consumed",
		.or_says = "iteration 2): a put came before the receiver said ready",
		.poll_max = "0", .bound = put_twice, .arrival = listen});
}

static void put_for_ever(struct stage *s)
{
	for (;;)
		put(s);
}

static void a_bell_finds_a_sender_that_never_waits(void **state)
{
	(void)state;
	expect((struct rule_case){.says = "more puts are under way than there are channels",
				  .or_says = "a put came before the",
				  .nodes = 1, .poll_max = "0", .bound = put_for_ever});
}

/* ---- start ------------------------------------------------------------------------- */

static void an_unknown_path_is_refused(void **state)
{
	static const char *const bad[] = {"fast", "Memory", "mem"};
	char says[100];

	(void)state;
	for (int i = 0; i < 3; i++) {
		snprintf(says, sizeof(says), "CK_DIRECT_PATH=%s is refused: it must be memory, rma or message",
			 bad[i]);
		expect((struct rule_case){.says = says, .nodes = 1, .path = bad[i],
					  .start = create_small});
	}
}

static void an_unknown_number_to_poll_is_refused(void **state)
{
	static const char *const bad[] = {"-1", "32x", "1K", "many", "2147483648"};
	char says[100];

	(void)state;
	for (int i = 0; i < 5; i++) {
		snprintf(says, sizeof(says), "CK_DIRECT_POLL_MAX=%s is refused: it must be a number",
			 bad[i]);
		expect((struct rule_case){.says = says, .nodes = 1, .poll_max = bad[i],
					  .start = create_small});
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_receive_buffer_must_end_aligned),
		cmocka_unit_test(a_receive_buffer_must_hold_a_word),
		cmocka_unit_test(a_channel_moves_something),
		cmocka_unit_test(a_channel_needs_a_function),
		cmocka_unit_test(a_send_buffer_must_end_aligned),
		cmocka_unit_test(a_handle_must_name_a_channel),
		cmocka_unit_test(a_put_has_the_size_of_its_channel),
		cmocka_unit_test(a_piece_of_a_put_lies_within_its_channel),
		cmocka_unit_test(checked_mode_looks_at_the_first_piece_of_a_put),
		cmocka_unit_test(binding_finds_every_change_of_a_handle),
		cmocka_unit_test(checked_mode_finds_every_change_of_a_bound_handle),
		cmocka_unit_test(away_from_memory_a_put_does_not_trust_the_handle),
		cmocka_unit_test(a_send_buffer_has_the_size_of_the_channel),
		cmocka_unit_test(a_handle_is_bound_once),
		cmocka_unit_test(a_channel_has_one_sender),
		cmocka_unit_test(data_must_not_end_in_the_out_of_band_value),
		cmocka_unit_test(a_put_needs_a_bound_handle),
		cmocka_unit_test(a_put_needs_a_living_handle),
		cmocka_unit_test(a_put_belongs_on_the_pe_that_bound),
		cmocka_unit_test(another_send_buffer_has_the_same_shape),
		cmocka_unit_test(a_copy_from_before_a_rebind_cannot_put),
		cmocka_unit_test(a_rebind_waits_for_local_completion),
		cmocka_unit_test(checked_mode_finds_a_send_buffer_changed_early),
		cmocka_unit_test(a_put_waits_for_local_completion),
		cmocka_unit_test(a_sender_is_not_destroyed_with_a_put_in_flight),
		cmocka_unit_test(polling_needs_a_mark),
		cmocka_unit_test(ready_belongs_on_the_receiver),
		cmocka_unit_test(ready_needs_a_living_channel),
		cmocka_unit_test(checked_mode_finds_ready_while_armed),
		cmocka_unit_test(checked_mode_finds_a_receive_buffer_freed_by_its_pe),
		cmocka_unit_test(checked_mode_finds_a_receive_buffer_freed_by_another_pe),
		cmocka_unit_test(otherwise_ready_while_armed_does_nothing),
		cmocka_unit_test(sequence_mode_finds_an_overrun),
		cmocka_unit_test(sequence_mode_finds_a_put_before_ready),
		cmocka_unit_test(the_message_path_always_finds_an_early_put),
		cmocka_unit_test(within_a_pe_an_early_put_is_always_found),
		cmocka_unit_test(within_a_pe_a_put_before_ready_is_always_found),
		cmocka_unit_test(an_idle_pe_hears_a_put_before_the_first_ready),
		cmocka_unit_test(checked_mode_finds_a_put_before_ready),
		cmocka_unit_test(checked_mode_finds_a_put_before_the_last_was_consumed),
		cmocka_unit_test(checked_mode_finds_a_buffer_that_changed),
		cmocka_unit_test(checked_mode_finds_a_put_into_a_destroyed_channel),
		cmocka_unit_test(the_message_path_always_finds_a_destroyed_channel),
		cmocka_unit_test(an_idle_pe_hears_a_put_into_a_destroyed_channel),
		cmocka_unit_test(sequence_mode_finds_a_put_for_an_earlier_channel),
		cmocka_unit_test(a_bell_finds_a_put_for_an_earlier_channel),
		cmocka_unit_test(a_bell_finds_a_put_before_ready),
		cmocka_unit_test(a_bell_finds_a_sender_that_never_waits),
		cmocka_unit_test(an_unknown_path_is_refused),
		cmocka_unit_test(an_unknown_number_to_poll_is_refused),
	};

	/* A back-trace with files and lines takes half a second of each of these runs. */
	setenv("CK_BACKTRACE", "plain", 1);

	return cmocka_run_group_tests(tests, NULL, NULL);
}
