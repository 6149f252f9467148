/* SPDX-License-Identifier: Apache-2.0 */
/* picture.c: `status` as a table for people. */
#include "ckctl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/** Where lines go: none is longer, and there are no more. */
struct page {
	FILE *out;
	int rows, columns; /* left; of each. 0: no limit (rows: -1 when none is left) */
};

__attribute__((format(printf, 2, 3))) static void say(struct page *p, const char *fmt, ...)
{
	char line[512];
	va_list args;

	if (p->rows < 0)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	/* Names of hosts come from outside, so they must not control the terminal. */
	for (char *c = line; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	fprintf(p->out, "%.*s\n", p->columns ? p->columns : (int)sizeof(line), line);
	if (p->rows && --p->rows == 0)
		p->rows = -1;
}

/** "950", "12.3k", "1.23M"; "-" for a value that is not known. */
static const char *short_of(double x, char buf[16])
{
	static const char units[] = " kMGTP";
	int i = 0;

	for (; x >= 999.5 && i < 5; i++)
		x /= 1000;
	if (x < 0)
		return strcpy(buf, "-");
	if (i)
		snprintf(buf, 16, "%.3g%c", x, units[i]);
	else
		snprintf(buf, 16, "%.0f", x);
	return buf;
}

static const char *short_number(const char *line, const char *name, char buf[16])
{
	return short_of(status_number(line, name), buf);
}

static const char *percent(const char *line, char buf[16])
{
	const double busy = status_number(line, "busy");

	if (busy < 0)
		return strcpy(buf, "-");
	snprintf(buf, 16, "%.0f", 100 * busy);
	return buf;
}

static const char *plural(double n)
{
	return n == 1 ? "" : "s";
}

static void picture_job(struct page *p, const char *line)
{
	const double hosts = status_number(line, "hosts"), nodes = status_number(line, "nodes"),
		     pes = status_number(line, "pes"), age = status_number(line, "checkpoint_age_s");
	char a[16], b[16], c[16], d[16], text[32], saved[96] = "no checkpoint";

	if (age >= 0)
		snprintf(saved, sizeof(saved), "checkpoint %.0f (%sB, %.1f s) %.0f s ago",
			 status_number(line, "checkpoint"), short_number(line, "checkpoint_bytes", a),
			 status_number(line, "checkpoint_s"), age);
	say(p, "%.0f PE%s, %.0f node%s, %.0f host%s; up %.0f s, epoch %.0f, %s", pes, plural(pes), nodes,
	    plural(nodes), hosts, plural(hosts), status_number(line, "up_s"), status_number(line, "epoch"),
	    saved);
	say(p, "%s %% busy, imbalance %s, %s in queues; %s messages/s, %sB/s by memory, %sB/s by network",
	    percent(line, text), status_text(line, "imbalance", saved, sizeof(saved)),
	    short_number(line, "queue", a), short_number(line, "sent_per_s", b),
	    short_number(line, "near_bytes_per_s", c), short_number(line, "far_bytes_per_s", d));
}

static void head(struct page *p, const char *kind)
{
	say(p, "%s", "");
	if (!strcmp(kind, "host"))
		say(p, "%4s %-20s %5s %5s %6s %8s %8s %8s %8s", "HOST", "NAME", "NODES", "PES", "BUSY%",
		    "QUEUE", "SENT/S", "MEM B/S", "NET B/S");
	else if (!strcmp(kind, "node"))
		say(p, "%4s %-20s %5s %5s %15s %8s", "NODE", "PES", "HOST", "", "PID/RESIDENT B", "MESSAGES");
	else
		say(p, "%4s %-12s %5s %6s %8s %8s %8s %8s %8s", "PE", "STATE", "NODE", "BUSY%", "QUEUE", "SENT/S",
		    "DONE/S", "MEM B/S", "NET B/S");
}

static void row_host(struct page *p, const char *line)
{
	char name[64], a[16], b[16], c[16], d[16], e[16];

	say(p, "%4.0f %-20.20s %5.0f %5.0f %6s %8s %8s %8s %8s", status_number(line, "id"),
	    status_text(line, "name", name, sizeof(name)), status_number(line, "nodes"),
	    status_number(line, "pes"), percent(line, a), short_number(line, "queue", b),
	    short_number(line, "sent_per_s", c), short_number(line, "near_bytes_per_s", d),
	    short_number(line, "far_bytes_per_s", e));
}

static void row_node(struct page *p, const char *line)
{
	char pes[32], pid[32], a[16], b[16];

	say(p, "%4.0f %-20s %5.0f %5s %8s %6s %8s", status_number(line, "id"),
	    status_text(line, "pes", pes, sizeof(pes)), status_number(line, "host"), "",
	    status_text(line, "pid", pid, sizeof(pid)), short_number(line, "resident_bytes", a),
	    short_number(line, "message_bytes", b));
}

static void row_pe(struct page *p, const char *line)
{
	char state[24], since[16], what[48], a[16], b[16], c[16], d[16], e[16], f[16];

	status_text(line, "state", state, sizeof(state));
	status_text(line, "state_s", since, sizeof(since));
	if (atoi(since) > 0)
		snprintf(what, sizeof(what), "%s %s s", state, since);
	else
		snprintf(what, sizeof(what), "%s", state);
	say(p, "%4.0f %-12s %5.0f %6s %8s %8s %8s %8s %8s", status_number(line, "id"), what,
	    status_number(line, "node"), percent(line, a), short_number(line, "queue", b),
	    short_number(line, "sent_per_s", c), short_number(line, "handled_per_s", d),
	    short_number(line, "near_bytes_per_s", e), short_number(line, "far_bytes_per_s", f));
}

static void table(struct page *p, const char *status, const char *kind,
		  void (*row)(struct page *p, const char *line))
{
	head(p, kind);
	for (const char *line = status; line; line = status_next(line))
		if (status_is(line, kind))
			row(p, line);
}

void picture(FILE *out, const char *status, int rows, int columns)
{
	struct page p = { out, rows, columns };

	for (const char *line = status; line; line = status_next(line))
		if (status_is(line, "job"))
			picture_job(&p, line);
	table(&p, status, "host", row_host);
	table(&p, status, "node", row_node);
	table(&p, status, "pe", row_pe);
}
