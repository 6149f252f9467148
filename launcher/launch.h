/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h: ckrun's own state, shared by its files. One thread, one job per process.
 *
 *   options.c      command line -> struct launch_options
 *   hosts.c        lists and files of hosts, and how many nodes each gets
 *   delegate.c     several hosts: the line of the launcher that is called
 *   shells.c       the remote shells of that launcher, which may fail
 *   nodes.c        the nodes of the job, before they are started
 *   spawn.c        processes, their pipes and environment
 *   folder.c       the job's folder, and who removes it
 *   output.c       node pipes -> whole lines -> ckrun's stdout and stderr
 *   pmi1_server.c  the PMI-1 words that the nodes say, and the answers
 *   kvs.c          what the nodes published
 *   progress.c     the line of --progress
 *   far.c          the same line of a job on several hosts
 *   job.c          signals, deaths, and how the job ends
 *   replace.c      --replace: after a death all nodes start again
 *   again.c        the same on several hosts: the other launcher starts them again
 *   keepers.c      the same with images in memory: ckrun and the keepers of its hosts
 *   keeper/        a keeper, which ckrun is on each host then
 *   hung.c         --replace-hung: a node that does not move is as good as dead
 *   restart.c      --restart: the checkpoint from which the job starts
 *   ask.c          asks PE 0 for a checkpoint
 *   leave.c        --checkpoint-exit: a signal saves the job and ends it
 *   control.c      the job's socket: what other processes may ask ckrun for
 *   relay.c        what they ask node 0 for
 *   links.c        node 0 of a job on several hosts
 *   resize.c       --resize: all nodes start again, another number of them
 *   call.c         the other end of that socket
 *   reach.c        where that socket is (reach.h), also for ckctl
 *   ckrun.c        the stages and the poll loop
 *
 * A node and ckrun share only the node's environment, the words on its socket and its exit code;
 * the tables are at the head of ckrun.c.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "../runtime/image/image_memory.h"

struct launch_job;
struct pollfd;

/* ---- memory (buf.c) ----------------------------------------------------------------- */

/** Returns p. If it is NULL ckrun ends, because there was no memory for `what`; its nodes, if any,
 * end with it, as they have asked the kernel to. */
void *launch_must_have(void *p, const char *what);

/* ---- bytes (buf.c) ------------------------------------------------------------------ */

/** A queue of bytes: appended at the end, taken from the front. Owns its memory. */
struct launch_buf {
	char *data;
	size_t head, len, cap; /* content is data[head .. head + len) */
};

/** Make space for `n` more bytes after the content. Ends ckrun when there is no memory. */
char *launch_buf_room(struct launch_buf *b, size_t n);
void launch_buf_append(struct launch_buf *b, const void *data, size_t n);
void launch_buf_consume(struct launch_buf *b, size_t n);
void launch_buf_fini(struct launch_buf *b);

static inline char *launch_buf_at(const struct launch_buf *b)
{
	return b->data + b->head;
}

/* ---- the nodes' published data (kvs.c) ------------------------------------------------ */

struct launch_kvs {
	struct launch_kv {
		char *key;   /* owned; value points into the same block */
		char *value;
	} *entries;          /* in the order of the puts, so that a reader can ask for what is new */
	size_t n, cap;
	uint32_t *slots;     /* open addressing; number of the entry + 1, 0: free */
	size_t n_slots;      /* a power of two, at least twice n */
};

/** False: the key exists already. A published value never changes. */
bool launch_kvs_put(struct launch_kvs *k, const char *key, const char *value);
const char *launch_kvs_get(const struct launch_kvs *k, const char *key);
void launch_kvs_fini(struct launch_kvs *k);

/* ---- command line (options.c) ------------------------------------------------------- */

/** Options: from the newest checkpoint; from the beginning, if there is none; from an older one, if
 * the newest is damaged. */
#define LAUNCH_RESTART "--restart"
#define LAUNCH_RESTART_IF_ANY "--restart-if-any"
#define LAUNCH_RESTART_OLDER "--restart-older"

struct launch_options {
	int n_pes, ppn;
	const char *bind;      /* NULL: not given */
	int64_t timeout_ms;    /* < 0: none */
	int64_t grace_ms;
	bool tag_output, verbose, progress;
	int replace;           /* so many deaths are no end; 0: none */
	int64_t hung_ms;       /* a node that does not move for so long is replaced; 0: never */
	const char *restart;   /* the checkpoint to start from; NULL: not given */
	const char *restart_option; /* one of LAUNCH_RESTART...; NULL: not given */
	bool checkpoint_exit;  /* SIGTERM saves the job first */
	int resize;            /* the job argv[0] is to have so many PEs; 0: start a job */
	bool local;            /* this host, whatever the environment contains */
	const char *hosts, *hostfile, *launcher; /* NULL: not given */
	char **env;            /* NAME=VALUE, or NAME: as it is; the strings are the command line's */
	int n_env;
	char **argv;           /* the program and its arguments, without the launcher's options */
	const char *delegate;  /* the launcher that argv calls; then we own the strings; NULL: none */
	char **program;        /* with a launcher: what argv was before */
	struct launch_again *again; /* again.c's; NULL: not on several hosts, or no --replace */
};

/** Read the command line. o->argv is allocated; its strings stay argv's. Returns -1 to run the job,
 * or an exit code after help, version or an error has been printed. */
int launch_parse(int argc, char **argv, struct launch_options *o);
void launch_options_fini(struct launch_options *o);

/* ---- several hosts (hosts.c, delegate.c) --------------------------------------------- */

struct launch_hosts {
	struct launch_host {
		char *name;    /* owned */
		int places;    /* slots for PEs; 0: unknown, for all hosts or for none */
		int nodes;     /* that it gets */
	} *list;
	int n;
};

/* Add the hosts of --hosts, --hostfile, PBS_NODEFILE and LSB_HOSTS. Like launch_parse they return
 * -1, or an exit code after printing what is wrong and where. */
int launch_hosts_of_list(struct launch_hosts *h, const char *list);
int launch_hosts_of_file(struct launch_hosts *h, const char *path);
int launch_hosts_of_pbs(struct launch_hosts *h, const char *path);
int launch_hosts_of_lsf(struct launch_hosts *h, const char *list);
/** Assign each host a number of nodes, of ppn PEs each. The same codes. */
int launch_hosts_place(struct launch_hosts *h, int n_nodes, int ppn);
/** Whether that is possible. */
bool launch_hosts_fit(struct launch_hosts *h, int n_nodes, int ppn);
/** Remove one. */
void launch_hosts_remove(struct launch_hosts *h, int i);
void launch_hosts_fini(struct launch_hosts *h);

/** If the job is for other hosts, replace o->argv by the command line of a launcher that starts it
 * there, and name that in o->delegate. The same codes. */
int launch_delegate(struct launch_options *o);
/** The same again, without the hosts that are lost. */
int launch_delegate_again(struct launch_options *o);
/** Whether there is room for the job without them. Prints nothing. */
bool launch_delegate_fits(const struct launch_options *o);
/** Print such a line. */
void launch_delegate_say(struct launch_job *job, char *const *line);
/** The i-th of the lines that start keepers on all hosts (keepers.c), or (i is 0) on host `only`;
 * NULL: there is none. It starts *n of them, on `host`; "": several. */
char **launch_delegate_keeper(const struct launch_options *o, int i, const char *only, char *host,
			      size_t cap, int *n);
void launch_delegate_line_free(char **line);
/** Whether there is such a program in one of PATH's folders. */
bool launch_on_path(const char *program);

/** Before the launcher is started, and in each turn: end the job if a remote shell of the launcher
 * has failed. Returns the time until the next call, at most timeout_ms (negative: no limit). */
void launch_shells_start(struct launch_job *job);
int launch_shells_turn(struct launch_job *job, int timeout_ms);
/** CK_BOOT_TIMEOUT, as the nodes read it. */
int launch_boot_timeout_s(void);

/* ---- output (output.c) -------------------------------------------------------------- */

/** ckrun's own stdout or stderr, where whole lines wait until they are written. */
struct launch_sink {
	int fd;
	struct launch_buf out;
	const void *open_line;  /* the writer of the unfinished line at the end; NULL: none */
	bool closed;            /* the reader is gone: everything is dropped */
	bool line;              /* the progress line follows the text */
};

/** One node's stdout or stderr. */
struct launch_stream {
	int fd;                 /* -1 after its end */
	struct launch_sink *sink;
	int tag;                /* "[tag] " before each line; < 0: none */
	struct launch_buf line; /* a line that is not complete yet */
};

enum launch_write { LAUNCH_WRITE_OK, LAUNCH_WRITE_CLOSED, LAUNCH_WRITE_FAILED };

/** Whether the sink accepts more. If not, its streams are left unread, and nodes that write to them
 * wait. */
bool launch_sink_has_room(const struct launch_sink *s);
/** Write some of the content; does not block after poll has reported it writable. After FAILED
 * errno tells why, and the sink drops its content from then on. */
enum launch_write launch_sink_write(struct launch_sink *s);
/** Queue text of ckrun's own. */
void launch_sink_say(struct launch_sink *s, const char *text);
/** Put the progress line after the text, or replace the older one; at most `columns` of it. Not
 * while other text waits, or its last line is unfinished. */
void launch_sink_line(struct launch_sink *s, const char *line, size_t columns);
/** An unfinished line at the end has no more text. */
void launch_sink_end_line(struct launch_sink *s);
/** Remove the line. Other text does so by itself. */
void launch_sink_no_line(struct launch_sink *s);
/** Move what has arrived, at most `limit` bytes, to the sink as whole lines. */
void launch_stream_read(struct launch_stream *s, size_t limit);
/** Move an unfinished last line, too, and close. */
void launch_stream_close(struct launch_stream *s);

/* ---- the job ------------------------------------------------------------------------ */

struct launch_node {
	int rank;
	int first_pe, n_pes;
	const char *launcher;      /* not a node, but this launcher; NULL: a node */
	pid_t pid;
	bool own_group;            /* leads a process group of its own */
	bool ended;                /* reaped, or never started */
	/* PMI-1 */
	int pmi_fd;                /* -1 after its end */
	struct launch_buf in, out;
	bool joined;               /* said init */
	bool left;                 /* said finalize: may end */
	bool in_fence;
	bool stopped;              /* by a signal, until it continues */
	int64_t stopped_ms;        /* since when */
	struct launch_stream streams[2];
};

enum launch_phase {
	LAUNCH_RUNNING,
	LAUNCH_REPLACING, /* all nodes are killed; when they are reaped, they start again */
	LAUNCH_ENDING,  /* told to end; killed at `deadline` */
	LAUNCH_KILLED,  /* killed; given up at `deadline` */
};

struct launch_progress;
struct launch_hung;

/** What PE 0 is asked for. */
struct launch_ask {
	enum image_wish wish;          /* 0: nothing */
	uint64_t word;                 /* image_talk.h's `asked`; 0: not asked yet */
	uint64_t number;               /* of the last wish */
	int64_t until;                 /* it must have been heard before */
};

enum { LAUNCH_CLIENTS = 8, LAUNCH_LINE = 1024, LAUNCH_PIECE = 1 << 14 };

/** The job's socket (control.c). */
struct launch_control {
	int fd;                        /* -1: there is none */
	int node_fd;                   /* to node 0 on this host (relay.c); -1: none */
	struct launch_client {
		int fd;                /* -1: nobody */
		/* WAITS: has asked, and gets an answer of ckrun's. The last two: of node 0's (relay.c). */
		enum { LAUNCH_SAYS, LAUNCH_WAITS, LAUNCH_AWAITS_NODE, LAUNCH_RELAYS } stage;
		size_t n;
		char line[LAUNCH_LINE]; /* so far */
		int node_fd;           /* to node 0; -1 */
		int64_t until_ms;      /* of the stage; 0: no limit */
		bool any;              /* node 0 has answered something */
		char *piece;           /* of the answer, on its way; ours */
		size_t n_piece, n_sent;
	} clients[LAUNCH_CLIENTS];
};

/** All nodes start again, another number of them (resize.c). */
struct launch_resize {
	int from, to;                  /* PEs; to 0: no */
	bool starts;                   /* the nodes are killed, or start again */
	struct launch_client *client;  /* who has asked; NULL: gone */
	int64_t begun_ms;
};

struct launch_job {
	struct launch_options o;
	struct launch_node *nodes;
	int n_nodes, n_started, n_alive, n_in_fence; /* started are nodes[0 .. n_started) */
	struct launch_kvs kvs;
	struct launch_sink sinks[2];   /* stdout, stderr; the first for both when they are one file */
	struct launch_sink *err;       /* where ckrun's own lines go */
	int sig_fd, exec_fd;
	/* how it ends */
	enum launch_phase phase;
	int code;                      /* exit code; first failure decides */
	bool quit;                     /* the user quits: slow readers are not awaited */
	int64_t deadline;              /* of the phase */
	int64_t timeout_at;            /* of --timeout, < 0: none; then of the nodes' report */
	bool asked;                    /* --timeout is over, and the nodes have been asked for the report */
	/* replace.c's */
	struct image_memory images;    /* the job's checkpoints; its page is NULL where there is none */
	int n_replaced;
	char *first_restart;           /* CK_RESTART at the start; NULL: not set */
	const struct launch_node *spared; /* REPLACING: not killed before `deadline` */
	int64_t met_ms;                /* when all nodes have met; 0: not yet */
	bool faulted;                  /* the last death was a fault of the program */
	uint64_t saved_at_death;       /* the newest checkpoint then */
	struct launch_ask ask;
	struct launch_control control;
	struct launch_links *links;    /* links.c's; NULL: none */
	struct launch_resize resize;
	struct pollfd *poll;           /* ckrun.c's: [n_poll] */
	size_t n_poll;
	bool leaving;                  /* leave.c: the job is to be saved and to end */
	/* shells.c's */
	int64_t shells_until;          /* the time of its last check; 0: none */
	int64_t shell_failed_at;       /* 0: none has */
	struct launch_progress *progress; /* NULL: no gauges, and no line of progress */
	struct launch_hung *hung;      /* NULL: no --replace-hung */
	/* folder.c's */
	bool for_ucx;                  /* it is there for UCX, too */
	char folder[256];              /* "": none */
	pid_t sweeper;
	int sweeper_fd;                /* closed when ckrun ends */
	/* as ckrun found it, for its children */
	sigset_t old_mask;
	struct sigaction old_pipe, old_chld;
	struct rlimit old_nofile;
};

/* ---- spawn.c ------------------------------------------------------------------------ */

/** Make sure that 0, 1 and 2 are open, so that no pipe gets these numbers. */
void launch_open_std_fds(void);
/** Set the variables of --env, which ckrun's own code sees, too. */
void launch_set_given(const struct launch_options *o);
/** Start all nodes. A failure ends the job in the usual way. */
void launch_spawn_all(struct launch_job *job);
/** The same again, when all have ended. */
void launch_spawn_nodes(struct launch_job *job);
/** Whether a job of so many nodes and PEs fits on this host; if not, `what` says why. */
bool launch_has_room(int n_nodes, int n_pes, char *what, size_t cap);
/** Tell the nodes that start from now on how many there are. */
void launch_set_size(const struct launch_job *job);
/** In a child: what ckrun has changed for itself is as it was. */
void launch_spawn_restore(const struct launch_job *job);
/** Check whether a child could not execute the program, and end the job if so. */
void launch_exec_failed(struct launch_job *job);

/* ---- folder.c ------------------------------------------------------------------------ */

/** Make a folder for the job's socket and, if the nodes may need it, for UCX's files. Before the
 * nodes are started. */
void launch_folder_make(struct launch_job *job);
/** Remove it. After the nodes have ended. */
void launch_folder_remove(struct launch_job *job);
/** Remove a folder and the files in it, also if some are still being made. */
void launch_folder_delete(const char *folder);

/* ---- progress.c --------------------------------------------------------------------- */

/** Make the memory for the nodes' gauges, if --replace-hung needs them, or a progress line is
 * wanted and can be shown. */
void launch_progress_start(struct launch_job *job);
/** Its file descriptor, for the nodes; -1: they have none. */
int launch_progress_fd(const struct launch_job *job);
/** The gauges of all PEs. */
const struct gauge *launch_progress_gauges(const struct launch_job *job);
/** No PE has begun: their nodes are gone, and others will start. */
void launch_progress_forget(struct launch_job *job);
/** Draw what is due. Returns the time until the next call, at most timeout_ms (negative: no
 * limit). */
int launch_progress_turn(struct launch_job *job, int timeout_ms);
/** Remove the line, because ckrun is about to stop. It is drawn again later. */
void launch_progress_hide(struct launch_job *job);
/** The nodes start again, with another number of PEs. */
void launch_progress_anew(struct launch_job *job);
/** For good. */
void launch_progress_end(struct launch_job *job);

/* ---- far.c -------------------------------------------------------------------------- */

struct launch_far *launch_far_new(void);
void launch_far_end(struct launch_far *f);
/** In each turn. True: there is a new line, of a job that runs since then. *wait_ms: the time until
 * the next call. */
bool launch_far_turn(struct launch_job *job, struct launch_far *f, int64_t since_ms, char *line,
		     size_t cap, int *wait_ms);

/* ---- pmi1_server.c ------------------------------------------------------------------ */

/** Read and answer the node's words. */
void launch_pmi_read(struct launch_job *job, struct launch_node *n);
/** Forget the node's socket and words. */
void launch_pmi_hang_up(struct launch_node *n);
/** Send words that did not fit into the socket before. */
void launch_pmi_write(struct launch_node *n);

/* ---- restart.c ---------------------------------------------------------------------- */

/** Set CK_RESTART for --restart. Returns -1, or an exit code after printing what is wrong. */
int launch_restart(const struct launch_options *o);
/** The folder of CK_CHECKPOINT=DIR,60s into `dir`. False: it names none, or one that is too
 * long. */
bool launch_restart_checkpoints(char *dir, size_t cap);
/** Where a job goes on from, as text in `text`, which is returned: the checkpoint `saved`, or, if
 * that is 0, where it was started from. */
const char *launch_restart_from(const struct launch_job *job, uint64_t saved, char *text,
				size_t cap);

/* ---- ask.c -------------------------------------------------------------------------- */

/** Whether the nodes share a page with ckrun, and nothing is asked now. */
bool launch_can_ask(const struct launch_job *job);
/** Ask PE 0, as soon as it listens. The wish's function gets the answer. */
void launch_ask(struct launch_job *job, enum image_wish wish);
/** All nodes start again: what was asked is asked again. */
void launch_ask_again(struct launch_job *job);
/** Ask no more. False: what was asked for has been done. */
bool launch_ask_not(struct launch_job *job);
/** Returns the time until the next call, at most timeout_ms (negative: no limit). */
int launch_ask_turn(struct launch_job *job, int timeout_ms);

/* ---- leave.c ------------------------------------------------------------------------ */

/** Set CK_CHECKPOINT_EXIT for --checkpoint-exit. Returns -1, or an exit code after printing what is
 * wrong. */
int launch_leave_prepare(const struct launch_options *o);
/** ckrun has got a signal. Whether that saves the job first. */
bool launch_leave(struct launch_job *job, int sig);
void launch_leave_answered(struct launch_job *job, bool ok, const char *why);
/** Whether nodes end with this code because the job was saved; they have said so. */
bool launch_leave_code(const struct launch_job *job, int code);

/* ---- control.c ---------------------------------------------------------------------- */

/** Open the job's socket, "control" in its folder. Without a folder there is none. */
void launch_control_start(struct launch_job *job);
/** The end of the job: who still waits is told so. */
void launch_control_stop(struct launch_job *job);
/** Its entries of the poll array, LAUNCH_CONTROL_POLLS of them; and what came of them. */
enum { LAUNCH_CONTROL_POLLS = 1 + 2 * LAUNCH_CLIENTS };
void launch_control_poll(const struct launch_job *job, struct pollfd *p);
void launch_control_serve(struct launch_job *job, const struct pollfd *p);
/** Answer in one line, and hang up. Nothing if the client is gone (NULL). */
void launch_control_answer(struct launch_client *c, bool ok, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void launch_control_hang_up(struct launch_client *c);

/* ---- relay.c ------------------------------------------------------------------------ */

/** Node 0 is about to be started: its end of a new pair (cmi_link.h); -1: nobody can ask. */
int launch_relay_pair(struct launch_job *job);
/** The client's line is for node 0. */
void launch_relay_begin(struct launch_client *c);
void launch_relay_end(struct launch_client *c);
/** What is awaited of it, besides the client's own entry of the poll array; and what came. */
void launch_relay_poll(const struct launch_client *c, struct pollfd *client, struct pollfd *node);
void launch_relay_serve(struct launch_client *c, const struct pollfd *client,
			const struct pollfd *node);
/** In each turn. Returns the time until the next call, at most timeout_ms (negative: no limit). */
int launch_relay_turn(struct launch_job *job, int timeout_ms);

/* ---- links.c ------------------------------------------------------------------------ */

/** If the job is on several hosts and has a socket: listen for node 0. */
void launch_links_start(struct launch_job *job);
/** CK_CONTROL for its nodes, into text, which is returned. */
char *launch_links_text(const struct launch_job *job, char *text, size_t cap);
/** A connection to node 0, which nobody uses yet; -1: there is none. */
int launch_links_take(const struct launch_job *job);
/** As launch_relay_turn, launch_control_poll, launch_control_serve. */
enum { LAUNCH_LINK_POLLS = 6 };
int launch_links_turn(struct launch_job *job, int timeout_ms);
void launch_links_poll(const struct launch_job *job, struct pollfd *p);
void launch_links_serve(struct launch_job *job, const struct pollfd *p);
void launch_links_end(struct launch_job *job);

/* ---- resize.c ----------------------------------------------------------------------- */

/** A client wants so many PEs. It gets an answer, at once or later. */
void launch_resize(struct launch_job *job, struct launch_client *c, const char *pes);
/** PE 0's answer: whether all is saved. */
void launch_resize_answered(struct launch_job *job, bool ok, const char *why);
/** All nodes have ended, and start again next: in the new shape. */
void launch_resize_now(struct launch_job *job);
/** In each turn: tell the client when it is done. */
void launch_resize_turn(struct launch_job *job);
/** The client has gone. */
void launch_resize_unheard(struct launch_job *job, const struct launch_client *c);

/* ---- call.c ------------------------------------------------------------------------- */

/** ckrun --resize N JOB. Returns the exit code. */
int launch_call(const struct launch_options *o);

/* ---- nodes.c ------------------------------------------------------------------------ */

/** The nodes of a job of o.n_pes PEs, none of which is started. */
void launch_make_nodes(struct launch_job *job);

/* ---- replace.c ---------------------------------------------------------------------- */

/** Before the nodes are started: make the memory for their checkpoints. False: the job needs it and
 * is ended with a line. */
bool launch_replace_start(struct launch_job *job);
void launch_replace_end(struct launch_job *job);
/** Whether the program dies by its own fault (`fault`), as it did before, and soon after the same
 * start: it would do so for ever. `saved` is the newest checkpoint; `lived_ms` the time since the
 * nodes met, negative: they have not. */
bool launch_dies_again(struct launch_job *job, bool fault, uint64_t saved, int64_t lived_ms);
/** Whether this death is none that ends the job; all others are killed then. */
bool launch_replace_dead(struct launch_job *job, const struct launch_node *n, const siginfo_t *how);
/** The same for a node that aborts with a code. */
bool launch_replace_aborted(struct launch_job *job, const struct launch_node *n, int code);
/** A node fails in another way. Whether the reason is a death that we have not seen yet. */
bool launch_replace_unseen(struct launch_job *job);
/** The node does not move: its PE `pe` stays in one handler, or (-1) a signal has stopped it. */
void launch_replace_hung(struct launch_job *job, const struct launch_node *n, int pe);
/** Kill all nodes, to start them again when they are reaped. Those that are saved lose nothing. */
void launch_replace_all(struct launch_job *job, const struct launch_node *spare);
/** REPLACING: the deadline is over. */
void launch_replace_late(struct launch_job *job);
/** REPLACING: all nodes are reaped. */
void launch_replace_reaped(struct launch_job *job);

/* ---- hung.c ------------------------------------------------------------------------- */

/** After launch_progress_start. */
void launch_hung_start(struct launch_job *job);
/** Look whether a node does not move, when it is time. Returns the time until the next call, at
 * most timeout_ms (negative: no limit). */
int launch_hung_turn(struct launch_job *job, int timeout_ms);
void launch_hung_end(struct launch_job *job);

/* ---- again.c ------------------------------------------------------------------------ */

/** Before the launcher's line is made: prepare for a death, if nodes are to be replaced. Returns
 * -1, or an exit code after printing what is wrong. */
int launch_again_start(struct launch_options *o);
void launch_again_end(struct launch_options *o);
/** Whether this host is left out; and the i-th that is, NULL: there are not so many. */
bool launch_again_lost(const struct launch_options *o, const char *host);
const char *launch_again_lost_name(const struct launch_options *o, int i);
/** In each turn: end a launcher that waits for a lost host, or for nodes that have not met.
 * Returns the time until the next call,
 * as launch_shells_turn does. */
int launch_again_turn(struct launch_job *job, int timeout_ms);
/** The launcher has ended. Whether that is a death that does not end the job, or has ended it with
 * a line. */
bool launch_again_dead(struct launch_job *job, const siginfo_t *how);
/** REPLACING: the launcher is reaped. */
void launch_again_reaped(struct launch_job *job);
/** The keepers of its hosts; NULL: checkpoints are on disk, or deaths end the job. */
struct launch_keepers *launch_again_keepers(const struct launch_options *o);
/** A keeper says that a node has come. */
void launch_again_came(struct launch_options *o, uint32_t start);
/** A keeper hands on what a node has noted at the job's `start`-th start; NULL: all have met. */
void launch_again_noted(struct launch_options *o, uint32_t start, const char *text);
/** The host that was noted lost since this start; "": none. */
const char *launch_again_lost_host(const struct launch_options *o);
/** The keepers have said what they have: whether the job can go on. If not, it is ended with a
 * line. */
bool launch_again_can(struct launch_job *job);
/** No keeper can be started on that host, as `why` says: leave it out from now on. False: the
 * others have no room, and the job is ended. */
bool launch_again_leave_out(struct launch_job *job, const char *host, const char *why);
/** Whether both are names of one host: one of them may lack the domain. */
bool launch_same_host(const char *a, const char *b);

/* ---- keepers.c ---------------------------------------------------------------------- */

struct keeper_choice;

struct launch_keepers *launch_keepers_new(void);
/** "@NAME": where the nodes of a host find its keeper. */
const char *launch_keepers_name(const struct launch_keepers *s);
/** Append this host's addresses, a blank before each; those that only it reaches last. */
void launch_addresses(char *text, size_t cap);
/** Have a keeper started on each host. False: the job is ended with a line; so below. */
bool launch_keepers_start(struct launch_job *job);
/** Hear what the keepers hand on. */
void launch_keepers_read(struct launch_job *job);
/** The nodes have died, or are to: kill those that are left, and find the newest checkpoint. */
bool launch_keepers_stop(struct launch_job *job);
const struct keeper_choice *launch_keepers_choice(const struct launch_keepers *s);
/** Nodes may come, and go on from there. */
bool launch_keepers_go(struct launch_job *job);
/** A child has ended. Whether it has started keepers. */
bool launch_keepers_reaped(struct launch_job *job, pid_t pid, int status);
/** They end; also those that have not been started. */
void launch_keepers_end(struct launch_keepers *s);

/* ---- job.c -------------------------------------------------------------------------- */

int64_t launch_now_ms(void);
uint64_t launch_now_ns(void); /* as the nodes read it */
void launch_signals_init(struct launch_job *job);
void launch_signals_read(struct launch_job *job);
/** While ckrun waits for others than its nodes: whether a signal or --timeout has ended the job. */
bool launch_signals_end(struct launch_job *job);
/** Print one line about the user's request, before there is a job. Returns its exit code. */
int launch_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** One line on stderr, "ckrun: " before it. */
void launch_say(struct launch_job *job, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** "node 1 (PEs 2-3, pid 4711)", or "srun (pid 4711)", into buf, which is returned. */
char *launch_node_name(const struct launch_node *n, char *buf, size_t cap);
/** End the job. Only the first call counts: it decides the exit code and prints why, if fmt is not
 * NULL. Nodes are killed after grace_ms; if `spare` is given, the others are killed at once and
 * only that one has this time. */
void launch_job_end(struct launch_job *job, int code, int64_t grace_ms,
		    const struct launch_node *spare, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void launch_signal_nodes(const struct launch_job *job, int sig);
/** Kill all nodes but `spare`, which may be NULL. */
void launch_kill_nodes(struct launch_job *job, const struct launch_node *spare);
/** Read the nodes' output so far, so that our line does not interrupt a back-trace. */
void launch_take_last_words(struct launch_job *job);
/** End the job when others wait for a node that cannot come any more. */
void launch_check_fence(struct launch_job *job);
/** Handle expired deadlines. Returns the milliseconds to the next one; -1: there is none. */
int launch_deadlines(struct launch_job *job);

#endif
