/* SPDX-License-Identifier: Apache-2.0 */
/* cmi_env_names.c: see cmi_env_names.h. tests/launcher/values.py checks that the list is
 * complete. */
#include "cmi_env_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char PREFIX[] = "CK_";
/* Of the library and of ckrun. */
static const char *const names[] = {
	"CK_AGGREGATE", "CK_BACKTRACE", "CK_BIND", "CK_BOOT", "CK_BOOT_TIMEOUT", "CK_CHECK",
	"CK_CHECKPOINT", "CK_CHECKPOINT_EXIT",
	"CK_CHECKPOINT_WAIT", "CK_CONTROL", "CK_CORES", "CK_DEVICE", "CK_DIRECT_PATH",
	"CK_DIRECT_POLL_MAX",
	"CK_FLOW_BYTES",
	"CK_GAUGES", "CK_GLOBAL_PATH", "CK_GUARD", "CK_HOST_ID", "CK_IMAGES", "CK_LB", "CK_LB_DUMP",
	"CK_LB_PERIOD",
	"CK_LB_SPEEDS", "CK_LB_TOLERANCE", "CK_MACHINE", "CK_MESSAGE_MEMORY", "CK_NOTES",
	"CK_PEER_TIMEOUT", "CK_PES",
	"CK_RANDOM_DELAY", "CK_RANDOM_QUEUE", "CK_RESTART", "CK_SEED", "CK_SHARE", "CK_STACK", "CK_STATS",
	"CK_SYNC_MS", "CK_TRACE", "CK_UCX_DIR", "CK_VERBOSE", "CK_WATCHDOG", "CK_WIRE", "CK_WIRE_KEY",
};
enum {
	N_NAMES = sizeof names / sizeof *names,
	LONGEST = 32,   /* of a name that is compared */
	NEAR = 2,       /* letters that differ in a misspelt name, */
	NEAR_PART = 3,  /* and at most one of so many */
};

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* How many letters to insert, remove or replace to make one word of the other (Levenshtein). */
static int distance(const char *a, const char *b)
{
	int row[LONGEST + 1];
	const int n = (int)strlen(b);

	for (int j = 0; j <= n; j++)
		row[j] = j;
	for (int i = 1; *a; a++, i++) {
		int diagonal = row[0];

		row[0] = i;
		for (int j = 1; j <= n; j++) {
			const int replaced = diagonal + (*a != b[j - 1]);

			diagonal = row[j];
			row[j] = least(replaced, least(row[j], row[j - 1]) + 1);
		}
	}
	return row[n];
}

/* The name that comes closest; NULL: none does. */
static const char *nearest(const char *name)
{
	const char *found = NULL;
	int best = least(NEAR, (int)(strlen(name) - strlen(PREFIX)) / NEAR_PART) + 1;

	for (int i = 0; i < N_NAMES; i++) {
		const int d = distance(name, names[i]);

		if (d < best) {
			best = d;
			found = names[i];
		}
	}
	return found;
}

static bool is_known(const char *name)
{
	for (int i = 0; i < N_NAMES; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void say_unknown(const char *name)
{
	const char *meant;

	if (is_known(name))
		return;
	meant = nearest(name);
	fprintf(stderr, "chard: the environment has %s, which is no variable of Chard's%s%s%s\n", name,
		meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

void cmi_env_say_unknown(void)
{
	char name[LONGEST + 1];

	for (char **e = environ; e && *e; e++) {
		const size_t n = strcspn(*e, "=");

		if (strncmp(*e, PREFIX, strlen(PREFIX)) != 0 || n > LONGEST)
			continue;
		for (size_t i = 0; i < n; i++)
			name[i] = isgraph((unsigned char)(*e)[i]) ? (*e)[i] : '?';
		name[n] = 0;
		say_unknown(name);
	}
}
