/* SPDX-License-Identifier: Apache-2.0 */
/* test_ckpt.c: what the command ckpt says of checkpoints, whole and damaged. */
#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "sample.h"
#include "../../runtime/image/image_file.h"
#include "../../runtime/image/image_folder.h"

enum { NODES = 2 };

static char dir[256], said[1 << 16];
static const char *bin;

/* ---- checkpoints ---------------------------------------------------------------------------- */

/* Of NODES nodes; element 7 of node 1 has `more` more bytes than it should. */
static void write_checkpoint(uint64_t sequence, uint32_t n_elements, uint32_t more)
{
	struct image_file files[NODES];
	struct image_folder f = { .dir = dir, .job = "", .keep = 5 };
	struct image_why why = { "" };

	assert_true(image_folder_begin(&f, sequence, &why));
	for (uint32_t i = 0; i < NODES; i++) {
		const struct sample s = { .node = i, .n_nodes = NODES, .sequence = sequence,
					  .n_elements = n_elements, .element_bytes = 50 + i * more };
		char path[IMAGE_PATH];
		size_t bytes;
		char *image = sample_image(&s, &bytes);
		struct image_write w = { .image = image,
					 .path = image_folder_node(path, dir, sequence, i) };

		assert_true(image_write_file(&w, &why));
		files[i] = (struct image_file){ .node = i, .first_pe = i * SAMPLE_PES, .bytes = w.bytes,
						.n_pes = SAMPLE_PES, .sum = w.sum };
		free(image);
	}

	struct image_manifest m = { .version = "0", .program = "prog", .args = "--n 5", .fingerprint = 5,
				    .job = SAMPLE_JOB, .sequence = sequence, .n_nodes = NODES,
				    .n_pes = NODES * SAMPLE_PES, .most_pes = 8, .files = files };

	image_abi(m.abi, 12);
	assert_true(image_folder_commit(&f, &m, &why));
	image_folder_close(&f);
}

static int make(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof dir, "%.200s/ckpt-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(dir) ? 0 : -1;
}

static int drop(void **state)
{
	char command[300];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

/* Its exit code; `said` is what it has printed. %s in the arguments is the folder. */
static int ckpt(const char *args)
{
	char words[1400], command[2400];

	snprintf(words, sizeof words, args, dir, dir);
	snprintf(command, sizeof command, "%s/../../bin/ckpt %s 2>&1", bin, words);

	FILE *f = popen(command, "r");
	const size_t n = fread(said, 1, sizeof said - 1, f);

	said[n] = '\0';

	const int status = pclose(f);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void assert_said(const char *words)
{
	if (!strstr(said, words))
		fail_msg("no \"%s\" in\n%s", words, said);
}

/* Flip a bit of a file of checkpoint 1. Returns how long the file is. */
static long flip(const char *name, long at)
{
	char path[400];

	snprintf(path, sizeof path, "%s/ck-000001/%s", dir, name);

	FILE *f = fopen(path, "r+");

	fseek(f, at, SEEK_SET);

	const int c = fgetc(f);

	fseek(f, at, SEEK_SET);
	fputc(c ^ 16, f);
	fseek(f, 0, SEEK_END);

	const long bytes = ftell(f);

	fclose(f);
	return bytes;
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void ls_has_a_line_for_each(void **state)
{
	(void)state;
	assert_int_equal(ckpt("ls %s"), 1);
	assert_said("there is no checkpoint in it");
	write_checkpoint(1, 10, 0);
	write_checkpoint(12, 10, 0);
	assert_int_equal(ckpt("ls %s"), 0);
	assert_said("ck-000001   ");
	assert_said("      6 PEs     2 nodes     27 kB  prog\n");
	assert_said("      6 PEs     2 nodes     27 kB  prog  (latest)\n");
	assert_true(strstr(said, "ck-000001") < strstr(said, "ck-000012"));
	flip("MANIFEST", 30);
	assert_int_equal(ckpt("ls %s"), 1);
	assert_said("ckpt: ");
	assert_said("ck-000001/MANIFEST is damaged: its sum does not fit");
	assert_said("(latest)");
	assert_int_equal(ckpt("ls %s/ck-000012"), 1);
	assert_said("is a checkpoint; ckpt ls wants the folder");
}

static void show_counts_records(void **state)
{
	(void)state;
	write_checkpoint(1, 10, 0);
	assert_int_equal(ckpt("show %s/ck-000001"), 0);
	assert_said("checkpoint   1 of job 000000000000004d");
	assert_said("program      prog --n 5\n");
	assert_said("shape        6 PEs on 2 nodes; at most 8 PEs so far\n");
	assert_said("node-00001   PEs 3 to 5, 14 kB\n");
	assert_said("         1      41 B        41        41  readonly variables\n");
	assert_said("         6      96 B        16        16  counts\n");
	assert_said("        60    2.4 kB         0        52  element of collection 5\n");
	assert_int_equal(ckpt("show %s"), 0); /* the latest */
	flip("node-00001", 100);
	assert_int_equal(ckpt("show %s"), 2);
	assert_said("node-00001 is damaged: the head's sum");
}

static void verify_names_all_that_is_damaged(void **state)
{
	(void)state;
	write_checkpoint(1, 10, 0);
	assert_int_equal(ckpt("verify %s/ck-000001"), 0);
	assert_said("67 records, 27 kB, as they were written");
	/* The first element of PE 3, and its third one: 80 for the counts, then 128 for each. */
	flip("node-00001", 4096 + 80 + 64);
	flip("node-00001", 4096 + 80 + 2 * 128 + 64 + 9);
	assert_int_equal(ckpt("verify %s/ck-000001"), 1);
	assert_said("node-00001 is damaged: its sum is not that of the manifest");
	assert_said("node-00001: the record at byte 4176 (element (3, 0, 0) of collection 5; PE 3) is damaged");
	assert_said("node-00001: the record at byte 4432 (element (15, 0, 0) of collection 5; PE 3) is damaged");
	assert_null(strstr(said, "node-00000"));
	assert_said("is damaged\n");
}

/* 1,000 of them, of every class. Each is named with its file. */
static void verify_finds_each_flipped_bit(void **state)
{
	static const char *const names[] = { "node-00000", "node-00001", "node-00001", "MANIFEST" };

	(void)state;
	write_checkpoint(1, 10, 0);
	srand(7);
	for (int i = 0; i < 1000; i++) {
		const char *name = names[i % 4];
		const long bytes = flip(name, 0);

		flip(name, 0);

		const long at = rand() % bytes;

		flip(name, at);
		if (ckpt("verify %s/ck-000001") != 1 || !strstr(said, name))
			fail_msg("byte %ld of %s: %s", at, name, said);
		flip(name, at);
	}
	assert_int_equal(ckpt("verify %s/ck-000001"), 0);
}

static void diff_names_records(void **state)
{
	(void)state;
	write_checkpoint(1, 10, 0);
	write_checkpoint(2, 10, 0);
	assert_int_equal(ckpt("diff %s/ck-000001 %s/ck-000002"), 0);
	assert_said("67 records in A, 67 in B: 0 only in A, 0 only in B, 0 differ\n");
	write_checkpoint(3, 11, 0);
	assert_int_equal(ckpt("diff %s/ck-000001 %s/ck-000003"), 1);
	assert_said("only in B  element (60, 0, 0) of collection 5\n");
	assert_said("67 records in A, 73 in B: 0 only in A, 6 only in B, 0 differ\n");
	assert_int_equal(ckpt("diff %s/ck-000003 %s/ck-000001"), 1);
	assert_said("only in A  element (65, 0, 0) of collection 5\n");
	flip("node-00001", 4096 + 80 + 64); /* its size is the same; no sum is looked at */
	assert_int_equal(ckpt("diff %s/ck-000002 %s/ck-000001"), 1);
	assert_said("differs    element (3, 0, 0) of collection 5\n");
	assert_said("0 only in A, 0 only in B, 1 differ\n");
	flip("node-00001", 4096 + 80 + 64);
	write_checkpoint(4, 10, 1);
	assert_int_equal(ckpt("diff %s/ck-000001 %s/ck-000004"), 1);
	assert_said("differs    element (3, 0, 0) of collection 5\n");
	assert_null(strstr(said, "element (0, 0, 0)"));
	assert_said("differs    and more\n");
	assert_said("0 only in A, 0 only in B, 24 differ\n");
}

static void wrong_use_is_said(void **state)
{
	(void)state;
	assert_int_equal(ckpt(""), 2);
	assert_said("usage: ckpt");
	assert_int_equal(ckpt("show"), 2);
	assert_int_equal(ckpt("erase %s"), 2);
	assert_int_equal(ckpt("--help"), 0);
	assert_int_equal(ckpt("verify %s/nothing"), 1);
	assert_said("No such file or directory");
	assert_int_equal(ckpt("show %s"), 2);
	write_checkpoint(1, 10, 0);
	assert_int_equal(ckpt("show %s >/dev/full"), 2);
}

#define FACT(f) cmocka_unit_test_setup_teardown(f, make, drop)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		FACT(ls_has_a_line_for_each),
		FACT(show_counts_records),
		FACT(verify_names_all_that_is_damaged),
		FACT(verify_finds_each_flipped_bit),
		FACT(diff_names_records),
		FACT(wrong_use_is_said),
	};

	(void)argc;
	bin = dirname(argv[0]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
