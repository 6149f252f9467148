/* SPDX-License-Identifier: Apache-2.0 */
/* cktrace.c: the command cktrace: reads the folder that a job has written under CK_TRACE, and
 * converts it. */
#include "model.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: cktrace [OPTION ...] FOLDER\n"
	"Read the trace that a job has written under CK_TRACE=FOLDER. Without an option: the summary.\n"
	"  -s, --summary            print utilisation, entry methods, messages, the critical path\n"
	"  -p, --perfetto FILE      write a trace for ui.perfetto.dev\n"
	"  -j, --projections DIR    write logs for Projections\n"
	"  -w, --html FILE          write a page for any browser, with everything in it\n"
	"      --html-mb MB         with at most so much of what the PEs did (1 to 1024; 32)\n"
	"  -o, --otf2 DIR           write an OTF2 archive, for Vampir and others\n"
	"  -e, --epoch N            of a job that was started again: its N-th start, 0 the first\n"
	"                           (the last one)\n"
	"  -h, --help               print this text\n";

FILE *open_output(const char *name)
{
	FILE *f = fopen(name, "we");

	if (f)
		return f;
	complain("%s: %s", name, strerror(errno));
	exit(1);
}

void close_output(FILE *f, const char *name)
{
	int bad = ferror(f);

	if (!fclose(f) && !bad)
		return;
	complain("%s: %s", name, strerror(errno));
	exit(1);
}

static void write_file(const struct job *j, const char *name, void (*write)(const struct job *j, FILE *f))
{
	FILE *f = open_output(name);

	write(j, f);
	close_output(f, name);
}

enum { HTML_MB = 32, HTML_MB_MOST = 1024, OPTION_HTML_MB = 256 };

static unsigned html_megabytes(const char *text)
{
	char *end;
	unsigned long mb = strtoul(text, &end, 10);

	if (text[0] >= '0' && text[0] <= '9' && !*end && mb >= 1 && mb <= HTML_MB_MOST)
		return (unsigned)mb;
	complain("--html-mb %s: must be a number from 1 to %d", text, HTML_MB_MOST);
	exit(2);
}

static uint64_t epoch_number(const char *text)
{
	char *end;
	const uint64_t n = strtoull(text, &end, 10);

	if (text[0] >= '0' && text[0] <= '9' && !*end)
		return n;
	complain("--epoch %s: must be a number", text);
	exit(2);
}

static void write_page(const struct job *j, const char *name, unsigned mb)
{
	FILE *f = open_output(name);

	write_html(j, f, mb);
	close_output(f, name);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "summary", no_argument, NULL, 's' },
		{ "perfetto", required_argument, NULL, 'p' },
		{ "projections", required_argument, NULL, 'j' },
		{ "otf2", required_argument, NULL, 'o' },
		{ "html", required_argument, NULL, 'w' },
		{ "epoch", required_argument, NULL, 'e' },
		{ "html-mb", required_argument, NULL, OPTION_HTML_MB },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *perfetto = NULL, *projections = NULL, *html = NULL, *otf2 = NULL;
	unsigned html_mb = HTML_MB;
	bool summary = false, one = false;
	uint64_t epoch = 0;
	struct job job = { 0 };
	int o;

	opterr = 0; /* the default below says it */
	while ((o = getopt_long(argc, argv, "sp:j:w:o:e:h", options, NULL)) != -1) {
		switch (o) {
		case 's': summary = true; break;
		case 'p': perfetto = optarg; break;
		case 'j': projections = optarg; break;
		case 'w': html = optarg; break;
		case OPTION_HTML_MB: html_mb = html_megabytes(optarg); break;
		case 'o': otf2 = optarg; break;
		case 'e': one = true; epoch = epoch_number(optarg); break;
		case 'h': fputs(usage, stdout); return 0;
		default:
			complain("%s is no option, or it lacks its value", argv[optind - 1]);
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind != argc - 1) {
		fputs(usage, stderr);
		return 2;
	}
	trace_read(&job, argv[optind], one ? &epoch : NULL);
	if (job.n_epochs > 1 && !one)
		complain("%s: this is epoch %llu, the last of %d that are here (--epoch N)", argv[optind],
			 (unsigned long long)job.epoch->no, job.n_epochs);
	trace_join(&job);
	if (perfetto)
		write_file(&job, perfetto, write_perfetto);
	if (projections)
		write_projections(&job, projections);
	if (otf2)
		write_otf2(&job, otf2);
	if (html)
		write_page(&job, html, html_mb);
	if (summary || (!perfetto && !projections && !html && !otf2))
		write_summary(&job, stdout);
	trace_free(&job);
	return fflush(stdout) ? 1 : 0;
}
