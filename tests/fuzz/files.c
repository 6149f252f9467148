/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.c: gives a harness the files that the command line names, and those in the folders that it names. It
 * stands in for libFuzzer, so that the seeds run without clang, too.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECONDS_EACH = 20 };

static int n_files;
static int (*take_in)(const uint8_t *data, size_t size);

static void give_file(const char *path, size_t size)
{
	uint8_t *data = malloc(size + !size); /* of just its size, so that reading beyond it is noticed */
	FILE *f = fopen(path, "rb");

	if (!data || !f || fread(data, 1, size, f) != size) {
		perror(path);
		exit(1);
	}
	fclose(f);
	n_files++;
	alarm(SECONDS_EACH);
	take_in(data, size);
	alarm(0);
	free(data);
}

static void give(const char *path, int depth);

static void give_folder(const char *path)
{
	struct dirent **e;
	int n = scandir(path, &e, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char *name;

		if (e[i]->d_name[0] != '.' && asprintf(&name, "%s/%s", path, e[i]->d_name) >= 0) {
			give(name, 1);
			free(name);
		}
		free(e[i]);
	}
	if (n >= 0)
		free(e);
}

/* As libFuzzer does it, a folder's folders are not looked into. */
static void give(const char *path, int depth)
{
	struct stat st;

	if (stat(path, &st)) {
		perror(path);
		exit(1);
	}
	if (S_ISREG(st.st_mode))
		give_file(path, (size_t)st.st_size);
	else if (S_ISDIR(st.st_mode) && depth == 0)
		give_folder(path);
}

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*each)(const uint8_t *data, size_t size))
{
	take_in = each;
	for (int i = 1; i < *argc; i++)
		give((*argv)[i], 0);
	printf("%s: %d inputs\n", strrchr(**argv, '/') ? strrchr(**argv, '/') + 1 : **argv, n_files);
	exit(n_files == 0);
}
