/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ckrun: starts a Chard program's nodes on this host, forwards output and signals, returns
 * one exit code. Options: ckrun --help, ckrun(1). For several hosts it starts another launcher
 * instead (delegate.c), which is treated like a node; the following is about this host.
 *
 * Environment of a node:
 *
 *   PMI_FD      number of an open socket on which ckrun speaks PMI-1
 *   PMI_RANK    this node's number, 0 .. PMI_SIZE - 1
 *   PMI_SIZE    number of nodes
 *   CK_PES      number of PEs of this node
 *   CK_BIND     core, socket or none; only with --bind
 *   CK_VERBOSE  1; only with --verbose
 *   CK_IMAGES   numbers of open files for checkpoints (image_memory.h)
 *   CK_CHECKPOINT_EXIT  where SIGUSR2 saves the job before it ends; only with --checkpoint-exit
 *   CK_RESTART  the checkpoint from which the job starts: a folder, or "memory" after a death
 *   CK_GAUGES   number of an open file in which the PEs show what they do; only with --progress or
 *               --replace-hung
 *   CK_CONTROL  how node 0 gets the connections of those who see and steer the job (cmi_link.h)
 *   CK_UCX_DIR  folder for files of UCX's shared memory, which ckrun removes; empty where none are expected
 *
 * Inherited PMI_*, PMIX_*, CK_CONTROL, CK_PES, CK_GAUGES, CK_IMAGES and CK_UCX_DIR are removed
 * first. stdin is ckrun's own for node 0 and empty for the others.
 *
 * Exit codes; the first failure decides:
 *
 *   0        every node ended with 0, and those that joined left in good order
 *   N        a node ended with N, or aborted with N
 *   128 + N  a node was killed by signal N; 129, 130, 131, 143: ckrun got HUP, INT, QUIT or TERM
 *   1        a node ended with 0 before the job's end; or ckrun's own failure
 *   2        the command line is wrong
 *   75       --checkpoint-exit: the job was saved, and goes on when it is started again
 *   124      --timeout
 *   125      from the nodes: nothing can happen any more (the runtime's watchdog)
 *   126, 127 the program cannot be executed, or was not found
 *   141      the reader of ckrun's output has closed it
 *
 * One thread and one poll: every event is a readable descriptor.
 */
#include "launch.h"
#include "keeper/keeper.h"
#include "../runtime/machine/base/cmi_alloc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Indices in the poll array: first the job's, then three for each node. */
enum {
	POLL_SIGNALS, POLL_EXEC, POLL_SINKS, POLL_CONTROL = POLL_SINKS + 2,
	POLL_LINKS = POLL_CONTROL + LAUNCH_CONTROL_POLLS,
	POLL_NODES = POLL_LINKS + LAUNCH_LINK_POLLS, POLL_PER_NODE = 3
};

enum {
	READ_TURN = 1 << 16,  /* bytes from one stream before the next one's turn */
	LAST_READ = 1 << 20,  /* bytes from a pipe into which others than our nodes may still write */
	QUIT_FLUSH_MS = 500,
	EXIT_READER_GONE = 128 + SIGPIPE,
};

/* ---- set-up ------------------------------------------------------------------------- */

static bool same_file(int a, int b)
{
	struct stat x, y;
	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void init_job(struct launch_job *job)
{
	job->exec_fd = -1;
	job->first_restart = getenv("CK_RESTART") ? strdup(getenv("CK_RESTART")) : NULL;
	job->timeout_at = job->o.timeout_ms < 0 ? -1 : launch_now_ms() + job->o.timeout_ms;
	job->sinks[0].fd = STDOUT_FILENO;
	job->sinks[1].fd = STDERR_FILENO;
	job->err = &job->sinks[same_file(STDOUT_FILENO, STDERR_FILENO) ? 0 : 1];
	launch_make_nodes(job);
	launch_signals_init(job);
}

/* ---- forward ------------------------------------------------------------------------ */

static struct pollfd poll_entry(int fd, int events)
{
	return (struct pollfd){ .fd = events ? fd : -1, .events = (short)events };
}

static void fill_poll(const struct launch_job *job, struct pollfd *p)
{
	p[POLL_SIGNALS] = poll_entry(job->sig_fd, POLLIN);
	p[POLL_EXEC] = poll_entry(job->exec_fd, POLLIN);
	for (int i = 0; i < 2; i++)
		p[POLL_SINKS + i] = poll_entry(job->sinks[i].fd, job->sinks[i].out.len ? POLLOUT : 0);
	launch_control_poll(job, &p[POLL_CONTROL]);
	launch_links_poll(job, &p[POLL_LINKS]);
	for (int i = 0; i < job->n_started; i++) {
		const struct launch_node *n = &job->nodes[i];
		struct pollfd *q = &p[POLL_NODES + POLL_PER_NODE * i];
		q[0] = poll_entry(n->pmi_fd, n->out.len ? POLLIN | POLLOUT : POLLIN);
		for (int k = 0; k < 2; k++)
			q[1 + k] = poll_entry(n->streams[k].fd,
					      launch_sink_has_room(n->streams[k].sink) ? POLLIN : 0);
	}
}

static void write_sink(struct launch_job *job, struct launch_sink *s)
{
	switch (launch_sink_write(s)) {
	case LAUNCH_WRITE_OK:
		break;
	case LAUNCH_WRITE_CLOSED: /* `ckrun prog | head`: no line, because it would not be read */
		launch_job_end(job, EXIT_READER_GONE, 0, NULL, NULL);
		break;
	case LAUNCH_WRITE_FAILED:
		launch_job_end(job, 1, 0, NULL, "cannot write output: %s; the job is ended",
			       strerror(errno));
		break;
	}
}

static void serve_node(struct launch_job *job, struct launch_node *n, const struct pollfd *q)
{
	if (q[0].revents & POLLOUT)
		launch_pmi_write(n);
	if (q[0].revents & ~POLLOUT)
		launch_pmi_read(job, n);
	for (int k = 0; k < 2; k++)
		if (q[1 + k].revents)
			launch_stream_read(&n->streams[k], READ_TURN);
}

/** With as many entries as the nodes need now. */
static struct pollfd *poll_array(struct launch_job *job)
{
	const size_t n = (size_t)(POLL_NODES + POLL_PER_NODE * job->n_nodes);

	if (job->n_poll < n)
		job->poll = launch_must_have(realloc(job->poll, n * sizeof(*job->poll)), "the nodes");
	job->n_poll = job->n_poll < n ? n : job->n_poll;
	fill_poll(job, job->poll);
	return job->poll;
}

/** Wait for an event and handle it. */
static void turn(struct launch_job *job)
{
	int timeout_ms = launch_ask_turn(job, launch_deadlines(job));
	timeout_ms = launch_hung_turn(job, launch_progress_turn(job, timeout_ms));
	timeout_ms = launch_shells_turn(job, timeout_ms);
	timeout_ms = launch_relay_turn(job, launch_again_turn(job, timeout_ms));
	timeout_ms = launch_links_turn(job, timeout_ms);
	launch_resize_turn(job);
	struct pollfd *p = poll_array(job);
	/* Not more entries than open descriptors: poll refuses more than RLIMIT_NOFILE. */
	int n = poll(p, (nfds_t)(POLL_NODES + POLL_PER_NODE * job->n_started), timeout_ms);
	if (n < 0 && errno != EINTR)
		launch_job_end(job, 1, 0, NULL, "cannot poll: %s; the job is ended",
			       strerror(errno));
	if (n <= 0)
		return;
	for (int i = 0; i < 2; i++)
		if (p[POLL_SINKS + i].revents)
			write_sink(job, &job->sinks[i]);
	if (p[POLL_EXEC].revents)
		launch_exec_failed(job);
	for (int i = 0; i < job->n_started; i++)
		serve_node(job, &job->nodes[i], &p[POLL_NODES + POLL_PER_NODE * i]);
	launch_control_serve(job, &p[POLL_CONTROL]);
	launch_links_serve(job, &p[POLL_LINKS]);
	/* Last, because a death is judged by everything that the node has sent before. */
	if (p[POLL_SIGNALS].revents)
		launch_signals_read(job);
}

static void forward_until_end(struct launch_job *job)
{
	while (job->n_alive > 0)
		turn(job);
	free(job->poll);
}

/* ---- reap --------------------------------------------------------------------------- */

/** Read what is in the nodes' pipes. Does not wait for their end, because processes that the nodes
 * have left behind may still have them open. */
static void close_streams(struct launch_job *job)
{
	for (int i = 0; i < job->n_nodes; i++) {
		for (int k = 0; k < 2; k++) {
			struct launch_stream *s = &job->nodes[i].streams[k];
			launch_stream_read(s, LAST_READ);
			launch_stream_close(s);
		}
	}
}

/** Write the remaining output, however slow its readers are; unless the user quits. */
static void flush_sinks(struct launch_job *job)
{
	struct pollfd p[3];
	int64_t until = launch_now_ms() + QUIT_FLUSH_MS;
	while (job->sinks[0].out.len || job->sinks[1].out.len) {
		int64_t left = until - launch_now_ms();
		if (job->quit && left <= 0)
			return;
		p[2] = poll_entry(job->sig_fd, POLLIN);
		for (int i = 0; i < 2; i++)
			p[i] = poll_entry(job->sinks[i].fd, job->sinks[i].out.len ? POLLOUT : 0);
		if (poll(p, 3, job->quit ? (int)left : -1) <= 0)
			continue;
		for (int i = 0; i < 2; i++)
			if (p[i].revents)
				write_sink(job, &job->sinks[i]);
		if (p[2].revents)
			launch_signals_read(job);
	}
}

static void drain_and_free(struct launch_job *job)
{
	close_streams(job);
	launch_hung_end(job);
	launch_progress_end(job);
	launch_replace_end(job);
	flush_sinks(job);
	for (int i = 0; i < job->n_nodes; i++) {
		launch_buf_fini(&job->nodes[i].in);
		launch_buf_fini(&job->nodes[i].out);
	}
	for (int i = 0; i < 2; i++)
		launch_buf_fini(&job->sinks[i].out);
	launch_kvs_fini(&job->kvs);
	free(job->nodes);
	launch_options_fini(&job->o);
}

/* Of what ckrun shares with the runtime: the seals of its keepers. */
void cmi_no_memory(size_t bytes, const char *what)
{
	(void)bytes;
	launch_must_have(NULL, what);
	abort(); /* it does not come back */
}

int main(int argc, char **argv)
{
	struct launch_job job = { 0 };

	launch_open_std_fds();
	if (argc == 2 && !strcmp(argv[1], KEEPER_OPTION))
		return keeper_main();
	int rc = launch_parse(argc, argv, &job.o);
	if (rc < 0 && job.o.resize)
		rc = launch_call(&job.o);
	if (rc < 0) {
		launch_set_given(&job.o);
		rc = launch_restart(&job.o);
	}
	if (rc < 0)
		rc = launch_leave_prepare(&job.o);
	if (rc < 0)
		rc = launch_delegate(&job.o);
	if (rc >= 0) {
		launch_options_fini(&job.o);
		return rc;
	}
	init_job(&job);
	if (job.o.delegate && job.o.verbose)
		launch_delegate_say(&job, job.o.argv);
	launch_shells_start(&job);
	launch_folder_make(&job);
	launch_control_start(&job);
	launch_links_start(&job);
	const bool can_start = launch_replace_start(&job);
	launch_progress_start(&job);
	launch_hung_start(&job);
	if (can_start)
		launch_spawn_all(&job);
	forward_until_end(&job);
	launch_control_stop(&job);
	launch_links_end(&job);
	launch_folder_remove(&job);
	drain_and_free(&job);
	return job.code;
}
