/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage.c: deaths at chosen stages, for stages.py. The linker puts these functions between the
 * runtime's objects (--wrap), so the library that users have knows nothing of them.
 *
 * STAGES=NAME,RANK,NTH;... : the deaths in turn. The process with this rank kills itself when it
 * comes to stage NAME for the NTH time. After each death there is one more folder in STAGES_DIR, 0,
 * 1, ...; a process waits for the first death that has none when it starts.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct { char name[32]; int nth; char folder[256]; } stage;
static atomic_int n_reached;

static bool is_new(int no)
{
	snprintf(stage.folder, sizeof stage.folder, "%s/%d", getenv("STAGES_DIR"), no);
	return access(stage.folder, F_OK) != 0;
}

static void reach(const char *name)
{
	/* Relaxed: it only counts. */
	if (strcmp(name, stage.name) ||
	    atomic_fetch_add_explicit(&n_reached, 1, memory_order_relaxed) + 1 != stage.nth)
		return;
	if (mkdir(stage.folder, 0700))
		abort();
	kill(getpid(), SIGKILL);
}

/* "start" is before the runtime has done anything. */
static __attribute__((constructor)) void read_stages(void)
{
	const char *text = getenv("STAGES"), *rank = getenv("PMI_RANK");
	int no = 0, whose;

	if (!text || !rank)
		return;
	for (; text && !is_new(no); no++)
		text = strchr(text, ';') ? strchr(text, ';') + 1 : NULL;
	if (!text || sscanf(text, "%31[^,],%d,%d", stage.name, &whose, &stage.nth) != 3 ||
	    whose != atoi(rank))
		stage.nth = 0;
	reach("start");
}

/* Types are arguments of macros here. */
/* clang-format off */

/* Stages around a function; "" for none. */
#define STAGE(before, type, name, parameters, arguments, after) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		reach(before); \
		type result = __real_##name arguments; \
		reach(after); \
		return result; \
	}

#define STAGE_VOID(before, name, parameters, arguments, after) \
	void __real_##name parameters; \
	void __wrap_##name parameters; \
	void __wrap_##name parameters \
	{ \
		reach(before); \
		__real_##name arguments; \
		reach(after); \
	}

struct pe;
struct boot;
struct image_walk;
struct image_record;
struct image_why;
struct image_folder;
struct image_manifest;

/* The checkpoint: */
STAGE_VOID("wanted", qd_start, (struct pe *pe, const void *callback), (pe, callback), "rest")
STAGE_VOID("frozen", store_measured, (struct pe *pe, size_t bytes), (pe, bytes), "measured")
STAGE("write", char *, store_block,
      (struct pe *pe, uint64_t sequence, uint64_t job, struct image_why *why),
      (pe, sequence, job, why), "packing")
STAGE_VOID("packed", store_written, (struct pe *pe), (pe), "written")
STAGE_VOID("commit", store_commit, (struct pe *pe, uint64_t sequence, uint64_t bytes),
	   (pe, sequence, bytes), "committed")
STAGE_VOID("thaw", store_over, (struct pe *pe), (pe), "thawed")

/* A thread that writes to the disk: */
STAGE("file", bool, image_write_file, (void *arg, struct image_why *why), (arg, why),
      "file-written")
STAGE("piece", ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at),
      (fd, from, n, at), "")
STAGE("manifest", bool, image_folder_commit,
      (struct image_folder *f, const struct image_manifest *m, struct image_why *why), (f, m, why),
      "renamed")

/* The start, and what is read there: */
STAGE("fence", int, boot_fence, (struct boot *b, int timeout_ms), (b, timeout_ms), "fenced")
STAGE("reading", bool, image_walk_check,
      (const struct image_walk *w, const struct image_record *r, struct image_why *why),
      (w, r, why), "read")
STAGE_VOID("all-read", place_read_all, (struct pe *pe), (pe), "arrived")
STAGE_VOID("resuming", asked_read_all, (struct pe *pe), (pe), "resumed")

/* clang-format on */

/* Called by saves.c in X_on_arrived. */
void saves_arrived(void);
void saves_arrived(void)
{
	reach("on_arrived");
}
