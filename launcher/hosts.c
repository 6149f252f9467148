/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts.c: the hosts of a job, from a list (--hosts), a file (--hostfile), or a batch system's
 * environment; and how many nodes each host gets.
 *
 * A host may have a number of slots, one for each PE. Then hosts are filled in order. Without
 * numbers the nodes are distributed evenly, in blocks. A batch system names a host once for each
 * slot.
 */
#include "launch.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLACES = 1000000 };

static const char WHAT[] = "the list of hosts";

/** Where a host was named, for messages. */
struct source {
	const char *name;
	int line; /* 0: it has no lines */
};

__attribute__((format(printf, 2, 3))) static int wrong(const struct source *s, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return s->line ? launch_wrong("%s:%d: %s", s->name, s->line, text) : launch_wrong("%s: %s", s->name, text);
}

void launch_hosts_fini(struct launch_hosts *h)
{
	for (int i = 0; i < h->n; i++)
		free(h->list[i].name);
	free(h->list);
	*h = (struct launch_hosts){ 0 };
}

void launch_hosts_remove(struct launch_hosts *h, int i)
{
	free(h->list[i].name);
	memmove(&h->list[i], &h->list[i + 1], (size_t)(--h->n - i) * sizeof(*h->list));
}

static void add_host(struct launch_hosts *h, const char *name, size_t len, int places)
{
	h->list = launch_must_have(realloc(h->list, (size_t)(h->n + 1) * sizeof(*h->list)), WHAT);
	h->list[h->n++] = (struct launch_host){
		.name = launch_must_have(strndup(name, len), WHAT), .places = places,
	};
}

static struct launch_host *find_host(const struct launch_hosts *h, const char *name, size_t len)
{
	for (int i = 0; i < h->n; i++)
		if (strlen(h->list[i].name) == len && !memcmp(h->list[i].name, name, len))
			return &h->list[i];
	return NULL;
}

/** Whether it is an IPv6 address, perhaps with a number of slots: ::1, [::1], [::1]:2. */
static bool is_ipv6(const char *s, size_t len)
{
	const char *colon = memchr(s, ':', len);

	return len > 0 && (s[0] == '[' || (colon && memchr(colon + 1, ':', len - (size_t)(colon + 1 - s))));
}

/** The name of the host with an IPv6 address. */
static bool name_of_ipv6(const char *address, char *name, size_t cap)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET6, address, &six.sin6_addr) != 1)
		return false;
	if (IN6_IS_ADDR_LOOPBACK(&six.sin6_addr))
		return snprintf(name, cap, "localhost") > 0;
	return getnameinfo((struct sockaddr *)&six, sizeof(six), name, (socklen_t)cap, NULL, 0, NI_NAMEREQD) == 0;
}

/** Replace an IPv6 address, [address] or [address]:N by NAME or NAME:N, because launchers do not
 * accept such addresses. */
static bool rewrite_ipv6(const char *text, size_t len, char *out, size_t cap)
{
	const bool bracket = text[0] == '[';
	char word[INET6_ADDRSTRLEN + 16], name[NI_MAXHOST], *end;

	if (len >= sizeof(word))
		return false;
	memcpy(word, text, len);
	word[len] = '\0';
	end = bracket ? strchr(word, ']') : word + len;
	if (!end)
		return false;
	const char *rest = end + bracket;
	if (*rest && *rest != ':')
		return false;
	*end = '\0';
	return name_of_ipv6(word + bracket, name, sizeof(name)) && snprintf(out, cap, "%s%s", name, rest) < (int)cap;
}

/** Whether it may be a host's name or address. Other launchers get it as part of an argument. */
static bool is_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && (i == 0 || !strchr("-_.", s[i])))
			return false;
	return len > 0;
}

/** The number of slots in a text; -1: it is none. */
static int places_of(const char *s, size_t len)
{
	int n = 0;

	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)s[i]) || n > MAX_PLACES)
			return -1;
		n = n * 10 + (s[i] - '0');
	}
	return len == 0 || n < 1 || n > MAX_PLACES ? -1 : n;
}

/** Take HOST or HOST:N. `n` is a number of slots given elsewhere, or 0. Returns -1 to continue, or
 * an exit code, like all functions that read. */
static int take_host(struct launch_hosts *h, const struct source *s, const char *text, size_t len, int n)
{
	char named[NI_MAXHOST + 16];

	if (is_ipv6(text, len)) {
		if (!rewrite_ipv6(text, len, named, sizeof(named)))
			return wrong(s, "'%.*s' is an IPv6 address without a name here, and srun, mpiexec.hydra and "
				"mpirun "
					"take names: give the host one (/etc/hosts)",
				     (int)len, text);
		text = named;
		len = strlen(named);
	}
	const char *colon = memchr(text, ':', len);
	size_t name_len = colon ? (size_t)(colon - text) : len;

	if (colon && n)
		return wrong(s, "'%.*s' has two numbers of slots", (int)len, text);
	if (colon)
		n = places_of(colon + 1, len - name_len - 1);
	if (n < 0)
		return wrong(s, "'%.*s' needs a number of slots from 1 to %d after the colon", (int)len, text,
			     MAX_PLACES);
	if (!is_name(text, name_len))
		return wrong(s, "'%.*s' is not the name of a host", (int)len, text);
	if (find_host(h, text, name_len))
		return wrong(s, "host '%.*s' is listed twice", (int)name_len, text);
	if (h->n > 0 && (h->list[0].places > 0) != (n > 0))
		return wrong(s, "'%.*s' has %s number of slots, but '%s' has %s: give one to all hosts or to "
			"none",
			     (int)name_len, text, n ? "a" : "no", h->list[0].name, n ? "none" : "one");
	add_host(h, text, name_len, n);
	return -1;
}

int launch_hosts_of_list(struct launch_hosts *h, const char *list)
{
	const struct source s = { "--hosts", 0 };
	int rc = -1;

	for (const char *at = list; rc < 0; at++) {
		size_t len = strcspn(at, ",");
		rc = take_host(h, &s, at, len, 0);
		at += len;
		if (!*at)
			break;
	}
	return rc;
}

/** One line of a file: HOST, HOST:N or HOST slots=N; # begins a comment. */
static int take_line(struct launch_hosts *h, const struct source *s, char *line)
{
	static const char blanks[] = " \t\r\n";
	char *rest = NULL;
	int n = 0;

	line[strcspn(line, "#")] = '\0';
	const char *host = strtok_r(line, blanks, &rest), *word = host ? strtok_r(NULL, blanks, &rest) : NULL;
	if (!host)
		return -1;
	if (word && !strncmp(word, "slots=", 6))
		n = places_of(word + 6, strlen(word + 6));
	else if (word)
		n = -1;
	if (n < 0)
		return wrong(s, "'%s' is not understood; a line is HOST, HOST:N or HOST slots=N", word);
	word = word ? strtok_r(NULL, blanks, &rest) : NULL;
	if (word)
		return wrong(s, "'%s' is not understood; a line is HOST, HOST:N or HOST slots=N", word);
	return take_host(h, s, host, strlen(host), n);
}

/** A batch system's form: a host once for each slot. */
static int take_repeated(struct launch_hosts *h, const struct source *s, const char *name, size_t len)
{
	struct launch_host *known = find_host(h, name, len);

	if (known)
		known->places++;
	else
		return take_host(h, s, name, len, 1);
	return -1;
}

/** Read a file line by line. */
static int read_lines(struct launch_hosts *h, const char *path, bool repeated)
{
	struct source s = { path, 0 };
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;
	int rc = -1;

	if (!f)
		return wrong(&s, "%s", strerror(errno));
	while (rc < 0 && getline(&line, &cap, f) >= 0) {
		s.line++;
		line[strcspn(line, "\r\n")] = '\0';
		if (!repeated)
			rc = take_line(h, &s, line);
		else if (*line)
			rc = take_repeated(h, &s, line, strlen(line));
	}
	s.line = 0;
	if (rc < 0 && ferror(f))
		rc = wrong(&s, "%s", strerror(errno));
	else if (rc < 0 && h->n == 0)
		rc = wrong(&s, "it names no host");
	free(line);
	fclose(f);
	return rc;
}

int launch_hosts_of_file(struct launch_hosts *h, const char *path)
{
	return read_lines(h, path, false);
}

int launch_hosts_of_pbs(struct launch_hosts *h, const char *path)
{
	return read_lines(h, path, true);
}

int launch_hosts_of_lsf(struct launch_hosts *h, const char *list)
{
	const struct source s = { "LSB_HOSTS", 0 };
	int rc = -1;

	for (const char *at = list; rc < 0; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (!*at)
			break;
		rc = take_repeated(h, &s, at, strcspn(at, " "));
	}
	return rc;
}

/** Returns how many nodes have no place; *room_p: for how many there is one. */
static int place_nodes(struct launch_hosts *h, int n_nodes, int ppn, int *room_p)
{
	int left = n_nodes;

	*room_p = 0;
	for (int i = 0; i < h->n; i++) {
		int even = n_nodes / h->n + (i < n_nodes % h->n);
		int most = h->list[i].places ? h->list[i].places / ppn : even;

		h->list[i].nodes = most < left ? most : left;
		left -= h->list[i].nodes;
		*room_p += most;
	}
	return left;
}

bool launch_hosts_fit(struct launch_hosts *h, int n_nodes, int ppn)
{
	int room;

	return h->n > 0 && !place_nodes(h, n_nodes, ppn, &room);
}

int launch_hosts_place(struct launch_hosts *h, int n_nodes, int ppn)
{
	int room;

	if (!place_nodes(h, n_nodes, ppn, &room))
		return -1;
	return launch_wrong("%d nodes of %d PE%s do not fit: the %d host%s have slots for %d", n_nodes,
			    ppn, ppn == 1 ? "" : "s", h->n, h->n == 1 ? "" : "s", room);
}
