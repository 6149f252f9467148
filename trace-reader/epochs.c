/* SPDX-License-Identifier: Apache-2.0 */
/* epochs.c: the starts of a job, by the files of a folder. A job that is started again after a
 * death, or from a checkpoint, writes other files; each epoch is a trace of its own. */
#include "epochs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct trace_head head_of(const char *name)
{
	struct trace_head h;
	struct stat st;
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	const char *why;

	if (fd < 0 || fstat(fd, &st))
		bad_file(name, strerror(errno));
	why = read(fd, &h, sizeof h) == (ssize_t)sizeof h ? what_is_wrong(&h, (size_t)st.st_size) :
							    "is not a trace of Chard";
	close(fd);
	if (why)
		bad_file(name, why);
	return h;
}

static struct epoch *epoch_numbered(struct job *j, uint64_t no)
{
	for (int i = 0; i < j->n_epochs; i++)
		if (j->epochs[i].no == no)
			return &j->epochs[i];
	j->epochs = need(realloc(j->epochs, ((size_t)j->n_epochs + 1) * sizeof *j->epochs));
	j->epochs[j->n_epochs] = (struct epoch){ .no = no, .ended = true };
	return &j->epochs[j->n_epochs++];
}

static void add_file(struct job *j, const char *name, uint64_t no)
{
	const struct trace_head h = head_of(name);
	struct epoch *e = epoch_numbered(j, no);

	if (h.epoch != no)
		bad_file(name, "is not of the epoch that its name says");
	if (h.n_pes > e->n_pes)
		e->n_pes = h.n_pes;
	e->checkpoint = h.checkpoint;
	e->ended &= h.ended != 0;
	if (!e->n_files++ || h.start_real_ns < e->start_real_ns)
		e->start_real_ns = h.start_real_ns;
}

static int is_trace(const struct dirent *e)
{
	uint64_t epoch;
	int pe;

	return trace_file_is(e->d_name, &epoch, &pe);
}

static void add_files(struct job *j, const char *folder)
{
	struct dirent **list;
	int n = scandir(folder, &list, is_trace, alphasort), pe;
	char name[4096];
	uint64_t no;

	if (n < 0)
		bad_file(folder, strerror(errno));
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%s/%s", folder, list[i]->d_name);
		trace_file_is(list[i]->d_name, &no, &pe);
		add_file(j, name, no);
		free(list[i]);
	}
	free(list);
	if (!n)
		bad_file(folder, "has no trace (pe0.trace and so on, which CK_TRACE makes)");
}

static int by_number(const void *a, const void *b)
{
	const struct epoch *x = a, *y = b;

	return (x->no > y->no) - (x->no < y->no);
}

void epochs_find(struct job *j, const char *folder, const uint64_t *epoch)
{
	add_files(j, folder);
	qsort(j->epochs, (size_t)j->n_epochs, sizeof *j->epochs, by_number);
	j->epoch = &j->epochs[j->n_epochs - 1];
	for (int i = 0; epoch && i < j->n_epochs; i++)
		if (j->epochs[i].no == *epoch)
			j->epoch = &j->epochs[i];
	if (epoch && j->epoch->no != *epoch) {
		complain("%s: there is no epoch %" PRIu64 "; the last one is %" PRIu64, folder, *epoch,
			 j->epoch->no);
		exit(1);
	}
}

static void print_epoch(const struct job *j, const struct epoch *e, FILE *f)
{
	fprintf(f, "%s%s %" PRIu64 "   %d PE%s, from ", e == j->epochs ? "epochs  " : "        ",
		e == j->epoch ? "*" : " ", e->no, e->n_pes, e->n_pes == 1 ? "" : "s");
	if (e->checkpoint)
		fprintf(f, "checkpoint %" PRIu64, e->checkpoint);
	else
		fputs("the beginning", f);
	if (e > j->epochs)
		fprintf(f, ", %.3f s after epoch %" PRIu64 " began",
			(double)(int64_t)(e->start_real_ns - e[-1].start_real_ns) / 1e9, e[-1].no);
	fputs(e->ended ? "\n" : "; it did not end normally\n", f);
}

void print_epochs(const struct job *j, FILE *f)
{
	if (j->n_epochs == 1 && !j->epoch->no)
		return;
	for (int i = 0; i < j->n_epochs; i++)
		print_epoch(j, &j->epochs[i], f);
	if (j->n_epochs > 1)
		fputs("          what follows is about the one with the star (--epoch)\n", f);
}
