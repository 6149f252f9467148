/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_share_steps.c: messages, sleep and wake-up between processes of a host, step by step. Two nodes of one PE each take
 * turns: between the steps they meet at a fence, which does not use the wires. So each moment that is critical
 * comes for certain. cmi_sleep would end after 10 ms all the same, which would hide that nobody woke it.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "under_ckrun.h"
#include "../../runtime/machine/machine_int.h"
#include "../../runtime/machine/shm/share.h"

/* A pair gets a ring after 16 messages; then a message of up to 368 bytes goes by it, in a slot. */
enum { FOR_A_RING = 40, SMALL = 64, LARGE = 1000, HANDLER = 1, MOST = 100 };

struct pe {
	struct cmi *m;
	struct cmi_pe *wire;
	int me;
	int n_came;
	int n_away;               /* our blocks that have not come home */
	int n_by_ring;            /* copied out of it */
	struct cmi_msg *came[MOST], last;
	void (*on_arrival)(struct pe *p);
};

static struct cmi_msg *msg_alloc(void *owner, size_t size)
{
	struct pe *p = owner;
	struct cmi_msg *m = cmi_message_memory(p->m, size);

	CHECK(m);
	memset(m, 0, sizeof *m);
	m->size = size;
	m->origin = CMI_ORIGIN_POOL;
	p->n_away++;
	return m;
}

static void msg_free(void *owner, struct cmi_msg *m)
{
	struct pe *p = owner;

	if (m->origin == CMI_ORIGIN_SHARED)
		cmi_give_back(p->m, m);
	else
		p->n_away--;
}

/* Freed when the poll is over, as the contract demands. */
static void msg_arrived(void *owner, struct cmi_msg *m)
{
	struct pe *p = owner;

	CHECK(p->n_came < MOST);
	p->came[p->n_came++] = m;
	p->n_by_ring += m->origin == CMI_ORIGIN_POOL;
	p->last = *m;
	if (p->on_arrival)
		p->on_arrival(p);
}

static const struct cmi_client CLIENT = { .msg_alloc = msg_alloc, .msg_free = msg_free, .msg_arrived = msg_arrived };

/* ---- steps ------------------------------------------------------------------------------------ */

static void meet(struct pe *p)
{
	CHECK(cmi_fence(p->m) == 0);
}

static void fact(const struct pe *p, const char *what)
{
	if (p->me == 0)
		printf("ok   %s\n", what);
}

static void send_from(struct pe *p, int from, int n, size_t size)
{
	for (int i = 0; p->me == from && i < n; i++) {
		struct cmi_msg *m = msg_alloc(p, size);

		m->handler = HANDLER;
		cmi_send(p->wire, !from, m);
	}
	meet(p);
}

/* How many messages one poll finds. */
static int take(struct pe *p)
{
	int n;

	p->n_came = 0;
	share_progress(p->wire);
	n = p->n_came;
	for (int i = 0; i < n; i++)
		msg_free(p, p->came[i]);
	return n;
}

static bool is_woken(const struct pe *p)
{
	struct pollfd fd = { .fd = p->wire->wake_pipe, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

/* ---- facts ------------------------------------------------------------------------------------ */

/* From now on messages of SMALL bytes from PE 1 to PE 0 go by a ring. */
static void get_a_ring(struct pe *p)
{
	send_from(p, 1, FOR_A_RING / 2, SMALL);
	for (int n = p->me == 0 ? FOR_A_RING / 2 : 0; n > 0;)
		n -= take(p);
	meet(p);
}

/* The sender found PE 0 awake, and woke nobody. */
static void a_message_before_the_sleep_is_seen(struct pe *p)
{
	send_from(p, 1, 1, SMALL);
	if (p->me == 0) {
		CHECK(!is_woken(p));
		CHECK(!share_sleep_begin(p->wire));
		CHECK(take(p) == 1);
	}
	meet(p);
}

static void a_message_wakes_a_sleeper_once(struct pe *p, size_t size)
{
	if (p->me == 0)
		CHECK(share_sleep_begin(p->wire));
	meet(p);
	send_from(p, 1, 1, size);
	if (p->me == 0) {
		CHECK(is_woken(p));
		share_sleep_end(p->wire);
		CHECK(!is_woken(p));
		CHECK(take(p) == 1);
	}
	meet(p);
}

/* PE 0 has work at each of its polls, and still gets back what PE 1 has freed. */
static void blocks_come_home_to_a_busy_pe(struct pe *p)
{
	enum { ROUNDS = 40 };

	send_from(p, 0, 10, LARGE);
	if (p->me == 1)
		CHECK(take(p) == 10);
	meet(p);
	CHECK(p->me || p->n_away >= 10);
	for (int i = 0; i < ROUNDS; i++) {
		send_from(p, 1, 1, SMALL);
		CHECK(p->me || take(p) == 1);
		meet(p);
	}
	CHECK(p->me || p->n_away == 0);
}

static int told_by_pe_0(struct pe *p, int number)
{
	if (p->me == 0) {
		struct cmi_msg *m = msg_alloc(p, SMALL);

		m->handler = HANDLER;
		m->flags = CMI_F_PRIO;
		m->prio = number;
		cmi_send(p->wire, 1, m);
	}
	meet(p);
	if (p->me == 1) {
		CHECK(take(p) == 1);
		number = p->last.prio;
	}
	return number;
}

/* The ring is full when the reader has read one slot less than it tells of. So the next message goes by the stack, and
 * one that is sent while the reader takes the rest of the ring goes by the ring again: it must wait for the other. */
enum { RING_SLOTS = 64, RING_REPORT = 16 };

static void send_during_a_poll(struct pe *p)
{
	if (p->n_came != 2)
		return;
	meet(p);
	meet(p);
}

static void a_ring_does_not_overtake_the_stack(struct pe *p)
{
	int before = RING_REPORT - 1 - told_by_pe_0(p, p->n_by_ring) % RING_REPORT;
	int rest = RING_SLOTS - (RING_REPORT - 1), left = p->me == 0 ? before : 0;

	send_from(p, 1, before, SMALL);
	while (left > 0)
		left -= take(p);
	meet(p);
	send_from(p, 1, rest + 1, SMALL);
	if (p->me == 0) {
		p->on_arrival = send_during_a_poll;
		CHECK(take(p) == rest + 1);
		p->on_arrival = NULL;
		CHECK(p->last.origin == CMI_ORIGIN_SHARED);
		CHECK(take(p) == 1);
		CHECK(p->last.origin == CMI_ORIGIN_POOL);
	} else {
		meet(p);
		send_from(p, 1, 1, SMALL);
	}
	meet(p);
}

/* Its handler does not wait for the line of the next slot. A poll right after that takes all. */
static void a_message_alone_is_handled_first(struct pe *p)
{
	if (p->me == 0)
		CHECK(take(p) == 0);
	meet(p);
	send_from(p, 1, 5, SMALL);
	if (p->me == 0) {
		CHECK(take(p) == 1);
		CHECK(take(p) == 4);
	}
	meet(p);
}

/* ---- frame ------------------------------------------------------------------------------------ */

static int node_main(void)
{
	struct cmi_options o = { .n_pes = 1 };
	struct pe p = { .n_came = 0 };

	CHECK(cmi_open(&o, &CLIENT, &p.m) == 0);
	CHECK(cmi_pe_open(p.m, 0, &p, &p.wire) == 0);
	CHECK(cmi_connect(p.m, 42) == 0);
	p.me = cmi_job(p.m)->node;
	CHECK(p.wire->share && p.wire->wake_pipe >= 0);

	a_message_before_the_sleep_is_seen(&p);
	fact(&p, "a message on the stack before the sleep is seen");
	a_message_before_the_sleep_is_seen(&p);
	fact(&p, "a PE that did not fall asleep is woken by nobody");
	a_message_wakes_a_sleeper_once(&p, SMALL);
	a_message_wakes_a_sleeper_once(&p, LARGE);
	fact(&p, "a message on the stack wakes a sleeper, once");
	get_a_ring(&p);
	a_message_before_the_sleep_is_seen(&p);
	fact(&p, "a message in the ring before the sleep is seen");
	a_message_wakes_a_sleeper_once(&p, SMALL);
	a_message_before_the_sleep_is_seen(&p);
	fact(&p, "a message in the ring wakes a sleeper, once");
	a_ring_does_not_overtake_the_stack(&p);
	fact(&p, "a message in the ring waits for an earlier one on the stack");
	a_message_alone_is_handled_first(&p);
	fact(&p, "the first message in the ring is handled before the others are looked for");
	a_message_wakes_a_sleeper_once(&p, LARGE);
	fact(&p, "a large message whose reference is in the ring wakes a sleeper, once");
	blocks_come_home_to_a_busy_pe(&p);
	fact(&p, "blocks come home to a busy PE");

	cmi_pe_close(p.wire);
	cmi_close(p.m);
	return 0;
}

int main(int argc, char **argv)
{
	char ckrun[4096];

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(100);
	if (getenv("PMI_FD"))
		return node_main();
	find_ckrun(argv[0], ckrun, sizeof ckrun);
	execl(ckrun, ckrun, "-n", "2", argv[0], (char *)NULL);
	perror(ckrun);
	return 127;
}
