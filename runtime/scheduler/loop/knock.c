/* SPDX-License-Identifier: Apache-2.0 */
/* knock.c: signals that become messages. */
#include "knock.h"
#include "../base/base.h"
#include "../queue/inbox.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { SIGNALS = 4 };

/* What a handler reads is written before `n` counts it, and not changed while one is inside. A
 * forked child may get a signal to the process group. It has another pid. */
static struct {
	struct pe *pe;        /* the first one */
	pid_t process;
	int sig[SIGNALS];     /* in the order of their bits; 0: none */
	unsigned bit[SIGNALS];
	atomic_int n;
	atomic_int inside;    /* handlers that run */
	atomic_uint came;
	_Atomic(struct cmi_msg *) ready; /* NULL: not prepared yet, or under way */
} door;

/* Acquire: pairs with the release in knock_prepare, which another thread may have done. */
static void push_ready(void)
{
	struct cmi_msg *m = atomic_exchange_explicit(&door.ready, NULL, memory_order_acquire);

	if (m)
		inbox_push(door.pe, m);
}

/* Sequentially consistent, as in knock_prepare: either this finds the message that lies there, or
 * whoever lays it out finds the bit. */
static void knock(int i)
{
	atomic_fetch_or_explicit(&door.came, 1u << door.bit[i], memory_order_seq_cst);
	push_ready();
}

/* Sequentially consistent, as in knock_stop: either this finds that `n` is 0, or knock_stop finds
 * this inside. Acquire of `n`, release of `inside`: what lies between is not seen outside. */
static void on_knock(int sig, siginfo_t *info, void *context)
{
	const int kept = errno;
	int n;

	(void)info, (void)context;
	atomic_fetch_add_explicit(&door.inside, 1, memory_order_seq_cst);
	n = atomic_load_explicit(&door.n, memory_order_seq_cst);
	for (int i = 0; i < n && getpid() == door.process; i++)
		if (door.sig[i] == sig)
			knock(i);
	atomic_fetch_sub_explicit(&door.inside, 1, memory_order_release);
	errno = kept;
}

static bool is_default(int sig)
{
	struct sigaction now;

	return !sigaction(sig, NULL, &now) && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
}

bool knock_listen(struct pe *pe, int sig, unsigned bit)
{
	struct sigaction ours = { .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	/* Relaxed: only the first PE writes it. */
	const int n = atomic_load_explicit(&door.n, memory_order_relaxed);

	if (!uses_signals(pe->node) || n == SIGNALS || !is_default(sig))
		return false;
	if (!n) {
		door.pe = pe;
		door.process = getpid();
		atomic_store_explicit(&door.came, 0, memory_order_relaxed); /* no handler yet */
	}
	door.sig[n] = sig;
	door.bit[n] = bit;
	atomic_store_explicit(&door.n, n + 1, memory_order_release); /* pairs with on_knock */
	ours.sa_sigaction = on_knock;
	sigemptyset(&ours.sa_mask);
	return !sigaction(sig, &ours, NULL);
}

/* One more may come from somebody who does not know that the job has ended. */
static void knock_deaf(const struct node *node)
{
	struct sigaction now;

	for (int i = 0; i < atomic_load_explicit(&door.n, memory_order_relaxed); i++)
		if (!sigaction(door.sig[i], NULL, &now) && (now.sa_flags & SA_SIGINFO) &&
		    now.sa_sigaction == on_knock)
			signal(door.sig[i], node->cfg->guest ? SIG_DFL : SIG_IGN);
	atomic_store_explicit(&door.n, 0, memory_order_seq_cst); /* pairs with on_knock */
	while (atomic_load_explicit(&door.inside, memory_order_seq_cst))
		sched_yield(); /* one runs on another thread */
}

/* Release: pairs with the acquire in push_ready. Sequentially consistent: see on_knock. */
void knock_prepare(struct pe *pe, struct cmi_msg *m)
{
	struct cmi_msg *older;

	if (!atomic_load_explicit(&door.n, memory_order_relaxed) || door.pe != pe) {
		csd_msg_free(pe, m);
		return;
	}
	older = atomic_exchange_explicit(&door.ready, m, memory_order_seq_cst);
	if (older)
		csd_msg_free(pe, older);
	if (atomic_load_explicit(&door.came, memory_order_seq_cst))
		push_ready();
}

unsigned knock_came(void)
{
	return atomic_exchange_explicit(&door.came, 0, memory_order_seq_cst);
}

void knock_stop(struct pe *pe)
{
	struct cmi_msg *m;

	if (door.pe != pe)
		return;
	knock_deaf(pe->node);
	m = atomic_exchange_explicit(&door.ready, NULL, memory_order_acquire);
	if (m)
		csd_msg_free(pe, m);
	door.pe = NULL;
}
