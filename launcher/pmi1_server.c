/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmi1_server.c: the launcher's side of the PMI-1 wire, whose words are listed at the head of
 * runtime/machine/boot/pmi1/boot_pmi1.c. Programs built with MPICH can be started, too; requests to
 * publish names or to spawn processes are answered with an error.
 *
 * One word is an extension: "ck_getall=1" in the reply to get_maxes offers "cmd=ck_getall from=E",
 * which returns everything published from entry E on. So the addresses of 256 nodes are delivered
 * in milliseconds, where 256 x 256 single gets take most of a second.
 */
#include "launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	LINE_LIMIT = 1 << 16,
	ABORT_EXIT_MS = 200, /* in which a node that aborts may finish its output */
};

static const char kvsname[] = "ckrun";

/** Copy the value of the word `name` in the request line, up to a blank, to `out`, which is
 * returned. "" when there is no such word. */
static const char *request_word(const char *line, const char *name, char *out, size_t cap)
{
	size_t n = strlen(name);
	out[0] = '\0';
	for (const char *s = line; *s; s += strcspn(s, " "), s += strspn(s, " ")) {
		if (strncmp(s, name, n) || s[n] != '=')
			continue;
		s += n + 1;
		size_t len = strcspn(s, " ");
		if (len < cap) {
			memcpy(out, s, len);
			out[len] = '\0';
		}
		break;
	}
	return out;
}

static void reply(struct launch_node *n, const char *text)
{
	launch_buf_append(&n->out, text, strlen(text));
}

/* ---- one function per word ---------------------------------------------------------- */

static void on_init(struct launch_job *job, struct launch_node *n, const char *line)
{
	char name[64];

	(void)line;
	if (n->left)
		launch_job_end(job, 1, 0, NULL, "%s: a second program wants to join the job, as in ckrun sh -c 'a; a'; one ckrun "
			       "starts one job, so call ckrun once for each program. The job is ended",
			       launch_node_name(n, name, sizeof(name)));
	n->joined = true;
	if (job->n_nodes == 1)
		job->met_ms = launch_now_ms();
	reply(n, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
	launch_check_fence(job);
}

static void on_get_maxes(struct launch_job *job, struct launch_node *n, const char *line)
{
	(void)job;
	(void)line;
	reply(n, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 ck_getall=1\n");
}

static void on_get_my_kvsname(struct launch_job *job, struct launch_node *n,
			      const char *line)
{
	(void)job;
	(void)line;
	char text[64];
	snprintf(text, sizeof(text), "cmd=my_kvsname kvsname=%s\n", kvsname);
	reply(n, text);
}

static void on_get_appnum(struct launch_job *job, struct launch_node *n, const char *line)
{
	(void)job;
	(void)line;
	reply(n, "cmd=appnum appnum=0 rc=0\n");
}

static void on_get_universe_size(struct launch_job *job, struct launch_node *n,
				 const char *line)
{
	(void)line;
	char text[64];
	snprintf(text, sizeof(text), "cmd=universe_size size=%d rc=0\n", job->n_nodes);
	reply(n, text);
}

static void on_put(struct launch_job *job, struct launch_node *n, const char *line)
{
	char key[256];
	request_word(line, "key", key, sizeof(key));
	/* The value extends to the end of the line, because other runtimes' values may contain blanks. */
	const char *value = strstr(line, " value=");
	if (!key[0] || !value)
		reply(n, "cmd=put_result rc=-1 msg=no_key_or_value\n");
	else if (!launch_kvs_put(&job->kvs, key, value + strlen(" value=")))
		reply(n, "cmd=put_result rc=-1 msg=duplicate_key\n");
	else
		reply(n, "cmd=put_result rc=0 msg=success\n");
}

static void on_get(struct launch_job *job, struct launch_node *n, const char *line)
{
	char key[256], mapping[64];
	request_word(line, "key", key, sizeof(key));
	const char *value = launch_kvs_get(&job->kvs, key);
	if (!value && !strcmp(key, "PMI_process_mapping")) { /* asked by MPICH; all are on one host */
		snprintf(mapping, sizeof(mapping), "(vector,(0,1,%d))", job->n_nodes);
		value = mapping;
	}
	if (value) {
		reply(n, "cmd=get_result rc=0 msg=success value=");
		reply(n, value);
		reply(n, "\n");
	} else {
		reply(n, "cmd=get_result rc=-1 msg=key_not_found\n");
	}
}

static void on_getall(struct launch_job *job, struct launch_node *n, const char *line)
{
	char text[64];
	const struct launch_kvs *k = &job->kvs;
	size_t from = strtoull(request_word(line, "from", text, sizeof(text)), NULL, 10);
	if (from > k->n)
		from = k->n;
	snprintf(text, sizeof(text), "cmd=ck_all entries=%zu\n", k->n - from);
	reply(n, text);
	for (; from < k->n; from++) {
		reply(n, "key=");
		reply(n, k->entries[from].key);
		reply(n, " value=");
		reply(n, k->entries[from].value);
		reply(n, "\n");
	}
}

static void on_barrier_in(struct launch_job *job, struct launch_node *n, const char *line)
{
	(void)line;
	if (!n->in_fence)
		job->n_in_fence++;
	n->in_fence = true;
	if (job->n_in_fence < job->n_nodes) {
		launch_check_fence(job);
		return;
	}
	job->n_in_fence = 0;
	if (!job->met_ms)
		job->met_ms = launch_now_ms();
	for (int i = 0; i < job->n_nodes; i++) {
		job->nodes[i].in_fence = false;
		reply(&job->nodes[i], "cmd=barrier_out rc=0\n");
		if (&job->nodes[i] != n)
			launch_pmi_write(&job->nodes[i]);
	}
}

static void on_finalize(struct launch_job *job, struct launch_node *n, const char *line)
{
	(void)line;
	n->left = true;
	reply(n, "cmd=finalize_ack rc=0\n");
	launch_check_fence(job);
}

static void on_abort(struct launch_job *job, struct launch_node *n, const char *line)
{
	char text[32], name[64];
	int code = atoi(request_word(line, "exitcode", text, sizeof(text))) & 255;
	if (code == 0)
		code = 1; /* an aborted job has not succeeded */
	if (launch_replace_aborted(job, n, code))
		return;
	launch_job_end(job, code, ABORT_EXIT_MS, n, "%s aborted with code %d; the job is ended",
		       launch_node_name(n, name, sizeof(name)), code);
}

static const struct {
	const char *cmd;
	void (*act)(struct launch_job *job, struct launch_node *n, const char *line);
} words[] = {
	{ "init", on_init },
	{ "get_maxes", on_get_maxes },
	{ "get_my_kvsname", on_get_my_kvsname },
	{ "get_appnum", on_get_appnum },
	{ "get_universe_size", on_get_universe_size },
	{ "put", on_put },
	{ "get", on_get },
	{ "ck_getall", on_getall },
	{ "barrier_in", on_barrier_in },
	{ "finalize", on_finalize },
	{ "abort", on_abort },
};

static void serve(struct launch_job *job, struct launch_node *n, const char *line)
{
	char cmd[64];
	if (job->phase == LAUNCH_REPLACING)
		return;
	request_word(line, "cmd", cmd, sizeof(cmd));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(words[i].cmd, cmd)) {
			words[i].act(job, n, line);
			return;
		}
	}
	reply(n, "cmd=error rc=-1 msg=unknown_command\n");
}

/* ---- the socket --------------------------------------------------------------------- */

void launch_pmi_hang_up(struct launch_node *n)
{
	if (n->pmi_fd >= 0)
		close(n->pmi_fd);
	n->pmi_fd = -1;
	launch_buf_fini(&n->in);
	launch_buf_fini(&n->out);
}

static void serve_lines(struct launch_job *job, struct launch_node *n)
{
	while (n->pmi_fd >= 0 && n->in.len > 0) {
		char *line = launch_buf_at(&n->in);
		char *end = memchr(line, '\n', n->in.len);
		if (!end)
			break;
		*end = '\0';
		serve(job, n, line);
		launch_buf_consume(&n->in, (size_t)(end - line) + 1);
	}
	if (n->in.len > LINE_LIMIT) {
		char name[64];
		launch_pmi_hang_up(n);
		launch_job_end(job, 1, 0, NULL, "%s does not speak PMI-1 on PMI_FD; the job is ended",
			       launch_node_name(n, name, sizeof(name)));
	}
}

void launch_pmi_read(struct launch_job *job, struct launch_node *n)
{
	while (n->pmi_fd >= 0) {
		char *room = launch_buf_room(&n->in, 4096);
		ssize_t got = recv(n->pmi_fd, room, 4096, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got <= 0) {
			launch_pmi_hang_up(n);
			return;
		}
		n->in.len += (size_t)got;
		serve_lines(job, n);
	}
	launch_pmi_write(n);
}

void launch_pmi_write(struct launch_node *n)
{
	while (n->pmi_fd >= 0 && n->out.len > 0) {
		ssize_t sent = send(n->pmi_fd, launch_buf_at(&n->out), n->out.len,
				    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			return;
		if (sent < 0) {
			/* The node is dying. Its earlier words, perhaps an abort, still count. */
			launch_buf_fini(&n->out);
			return;
		}
		launch_buf_consume(&n->out, (size_t)sent);
	}
}
