/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot.c: finds the launcher that started us, and converts blobs to texts.
 *
 * The environment alone decides on the launcher, and there is no fallback: if a launcher's
 * variables are set but no service answers, running alone would turn one job into N wrong ones.
 * CK_BOOT=pmi1|pmix|alone overrides the choice, for tests.
 *
 * A blob becomes the text "LENGTH:BASE64", cut into pieces of BOOT_TEXT_MAX characters, which are
 * published under KEY.RANK.0, KEY.RANK.1, ... The base64 alphabet has '-' and '_' and no padding,
 * because '=' and blanks are the wire's own punctuation.
 */
#include "boot.h"
#include "launcher.h"
#include "../base/cmi_alloc.h"
#include "../base/cmi_env.h"
#include "../base/say.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { KEY_MAX = 32 };

/* ---- alone -------------------------------------------------------------------------- */

static int alone_put(struct boot *b, const char *key, const char *text)
{
	boot_table_add(&b->table, key, text);
	return 0;
}

static int alone_fence(struct boot *b, int timeout_ms)
{
	(void)b;
	(void)timeout_ms;
	return 0;
}

static int alone_get(struct boot *b, int rank, const char *key, char *text)
{
	(void)rank;
	const char *found = boot_table_find(&b->table, key);
	if (!found)
		return -ENOENT;
	strcpy(text, found); /* boot_put made it, with at most BOOT_TEXT_MAX characters */
	return 0;
}

static void alone_abort(struct boot *b, int code)
{
	(void)b;
	(void)code; /* there is no launcher to tell; the caller's own exit ends the job */
}

static void alone_finish(struct boot *b)
{
	boot_table_fini(&b->table);
	free(b);
}

static const struct boot_ops alone_ops = {
	.comes_back = true,
	.put = alone_put,
	.fence = alone_fence,
	.get = alone_get,
	.abort = alone_abort,
	.finish = alone_finish,
};

static int alone_init(struct boot **b_p)
{
	struct boot *b = cmi_alloc_zero(1, sizeof(*b), "start-up");
	b->ops = &alone_ops;
	b->size = 1;
	b->alone = true;
	*b_p = b;
	return 0;
}

/* ---- the choice --------------------------------------------------------------------- */

int launcher_number(const char *name, int absent)
{
	const char *s = getenv(name);
	if (!s)
		return absent;
	char *end;
	errno = 0;
	long v = strtol(s, &end, 10);
	return errno || end == s || *end || v < 0 || v > INT32_MAX ? -1 : (int)v;
}

/** How many processes were started by a launcher that we cannot talk to, according to the
 * environment: 1, or 2 for more. *who_p names the variable. */
static int foreign_size(const char **who_p)
{
	static const char *const sizes[] = { "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS",
					     "MV2_COMM_WORLD_SIZE",  "FLUX_JOB_SIZE",
					     "JSM_NAMESPACE_SIZE",   "PMI_SIZE" };
	bool told = false;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		*who_p = sizes[i];
		told |= getenv(sizes[i]) != NULL;
		if (launcher_number(sizes[i], 1) != 1)
			return 2;
	}
	/* Launchers with these may have started any number, unless one of the sizes above says 1. */
	static const char *const signs[] = { "PMIX_NAMESPACE", "PMI_PORT", "PMI_RANK", "PALS_RANKID" };
	for (size_t i = 0; !told && i < sizeof(signs) / sizeof(signs[0]); i++) {
		*who_p = signs[i];
		if (getenv(signs[i]))
			return 2;
	}
	return 1;
}

int launcher_refuse(const char *reason, const char *detail)
{
	machine_say(
		"%s%s; start the program with ckrun, mpiexec.hydra, Open MPI's mpirun, srun --mpi=pmi2 or srun "
		"--mpi=pmix (alone on purpose: CK_BOOT=alone)",
		reason, detail);
	return -ENOTCONN;
}

/* All MPIs have these two functions, of these types; a program without MPI has none. */
bool mpi_is_up(void)
{
	int (*asked[2])(int *), yes[2] = { 0, 0 };
	static const char *const names[2] = { "MPI_Initialized", "MPI_Finalized" };
	for (int i = 0; i < 2; i++) {
		void *found = dlsym(RTLD_DEFAULT, names[i]);
		memcpy(&asked[i], &found, sizeof(found)); /* ISO C has no cast from an object to a function */
		if (!found || asked[i](&yes[i]))
			return false;
	}
	return yes[0] && !yes[1];
}

bool pmi1_is_alive(void)
{
	struct stat st;
	int fd = launcher_number("PMI_FD", -1);
	return fd >= 0 && !fstat(fd, &st) && S_ISSOCK(st.st_mode);
}

bool pmix_is_named(void)
{
	return getenv("PMIX_NAMESPACE") && getenv("PMIX_RANK");
}

/* A launcher's variables are removed after the first time, and without them each process would
 * believe that it is alone. */
static bool has_left; /* main thread; a job of a launcher's that this process has been in */

enum { PMI1, PMIX, ALONE, N_WAYS, FROM_LAUNCHER = N_WAYS };
static const char *const words[N_WAYS] = { [PMI1] = "pmi1", [PMIX] = "pmix", [ALONE] = "alone" };

/** Join a launcher's job by the client for it. The choice does not depend on which clients there
 * are: another one, or none, would make this a job of other processes. */
static int join_by(const struct launcher *const *clients, int way, struct boot **b_p)
{
	static const char *const names[ALONE] = { [PMI1] = "PMI-1", [PMIX] = "PMIx" };

	for (; *clients; clients++)
		if (!strcmp((*clients)->word, words[way]))
			return (*clients)->join(b_p);
	machine_say("this library cannot speak %s with the launcher: it has been built without the room "
		    "boot/%s; use one that has it, or run the program as one process, with +p N for its "
		    "PEs (under a launcher: CK_BOOT=alone)",
		    names[way], words[way]);
	return -ENOTSUP;
}

/* An open socket was left for us on purpose, and needs no library, so it takes precedence. */
int boot_init(const struct launcher *const *clients, struct boot **b_p)
{
	int way = cmi_env_word("CK_BOOT", words, N_WAYS, FROM_LAUNCHER);

	if (way == ALONE)
		return alone_init(b_p);
	if (has_left) {
		machine_say(
			"this process has been in a job of its launcher and has left it; it cannot join a second "
			"time: call CkMain once");
		return -EALREADY;
	}
	if (way == PMI1 || (way == FROM_LAUNCHER && pmi1_is_alive()))
		return join_by(clients, PMI1, b_p);
	if (way == PMIX || pmix_is_named())
		return join_by(clients, PMIX, b_p);
	if (getenv("PMI_FD"))
		return join_by(clients, PMI1, b_p); /* prints what is wrong with it */

	const char *who;
	if (foreign_size(&who) > 1)
		return launcher_refuse(who, " is set, so a launcher started this process, "
				       "but not one that this program can talk to");
	return alone_init(b_p);
}

int boot_rank(const struct boot *b)
{
	return b->rank;
}

int boot_size(const struct boot *b)
{
	return b->size;
}

bool boot_alone(const struct boot *b)
{
	return b->alone;
}

/* ---- blobs as texts ----------------------------------------------------------------- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Characters for `len` bytes: 4 for every 3, and 2 or 3 for the remainder. */
static size_t encoded_len(size_t len)
{
	return (len * 4 + 2) / 3;
}

static void encode(const uint8_t *in, size_t len, char *out)
{
	uint32_t bits = 0;
	int n = 0;
	for (size_t i = 0; i < len; i++) {
		bits = bits << 8 | in[i];
		for (n += 8; n >= 6; n -= 6)
			*out++ = alphabet[bits >> (n - 6) & 63];
	}
	if (n > 0)
		*out++ = alphabet[bits << (6 - n) & 63];
	*out = '\0';
}

static int digit_value(char c)
{
	const char *at = c ? strchr(alphabet, c) : NULL;
	return at ? (int)(at - alphabet) : -1;
}

/** Decode exactly `len` bytes; in has encoded_len(len) characters. */
static int decode(const char *in, uint8_t *out, size_t len)
{
	uint32_t bits = 0;
	int n = 0;
	for (size_t done = 0; done < len; in++) {
		int v = digit_value(*in);
		if (v < 0)
			return -EPROTO;
		bits = bits << 6 | (uint32_t)v;
		n += 6;
		if (n >= 8) {
			n -= 8;
			out[done++] = (uint8_t)(bits >> n);
		}
	}
	return 0;
}

static bool key_is_good(const char *key)
{
	size_t n = strlen(key);
	if (n == 0 || n > KEY_MAX)
		return false;
	for (; *key; key++)
		if (!isalnum((unsigned char)*key) && *key != '_' && *key != '-')
			return false;
	return true;
}

static void wire_key(char *out, const char *key, int rank, size_t chunk)
{
	snprintf(out, BOOT_WIRE_KEY_MAX + 1, "%s.%d.%zu", key, rank, chunk);
}

int boot_put(struct boot *b, const char *key, const void *value, size_t len)
{
	if (!key_is_good(key) || len > SIZE_MAX / 8)
		return -EINVAL;
	char *text = cmi_alloc(32 + encoded_len(len), "start-up");
	int head = sprintf(text, "%zu:", len);
	encode(value, len, text + head);

	int rc = 0;
	size_t total = strlen(text);
	for (size_t at = 0, chunk = 0; !rc && at < total; at += BOOT_TEXT_MAX, chunk++) {
		char name[BOOT_WIRE_KEY_MAX + 1], piece[BOOT_TEXT_MAX + 1];
		wire_key(name, key, b->rank, chunk);
		snprintf(piece, sizeof(piece), "%.*s", BOOT_TEXT_MAX, text + at);
		rc = b->ops->put(b, name, piece);
	}
	free(text);
	return rc;
}

int boot_fence(struct boot *b, int timeout_ms)
{
	return b->ops->fence(b, timeout_ms);
}

/** Append the pieces from `chunk` on to `text` until it has `total` characters. */
static int get_rest(struct boot *b, int rank, const char *key, char *text, size_t total)
{
	size_t have = strlen(text);
	for (size_t chunk = 1; have < total; chunk++) {
		char name[BOOT_WIRE_KEY_MAX + 1], piece[BOOT_TEXT_MAX + 1];
		wire_key(name, key, rank, chunk);
		int rc = b->ops->get(b, rank, name, piece);
		if (rc)
			return rc;
		size_t n = strlen(piece);
		if (n == 0 || n > total - have)
			return -EPROTO;
		memcpy(text + have, piece, n + 1);
		have += n;
	}
	return 0;
}

int boot_get(struct boot *b, int rank, const char *key, void *value, size_t cap, size_t *len_p)
{
	if (!key_is_good(key) || rank < 0 || rank >= b->size)
		return -EINVAL;
	char name[BOOT_WIRE_KEY_MAX + 1], first[BOOT_TEXT_MAX + 1];
	wire_key(name, key, rank, 0);
	int rc = b->ops->get(b, rank, name, first);
	if (rc)
		return rc;

	char *end;
	size_t len = strtoull(first, &end, 10);
	if (end == first || *end != ':' || len > SIZE_MAX / 8)
		return -EPROTO;
	*len_p = len;
	if (len > cap)
		return -EMSGSIZE;
	size_t head = (size_t)(end + 1 - first), total = head + encoded_len(len);
	if (strlen(first) > total)
		return -EPROTO;
	char *text = cmi_alloc(total + BOOT_TEXT_MAX + 1, "start-up");
	strcpy(text, first);
	rc = get_rest(b, rank, key, text, total);
	if (!rc)
		rc = decode(text + head, value, len);
	free(text);
	return rc;
}

int boot_reader(struct boot *b)
{
	return b->ops->reader ? b->ops->reader(b) : -1;
}

void boot_forget(struct boot *b)
{
	boot_table_fini(&b->table);
}

void boot_abort(struct boot *b, int code)
{
	b->ops->abort(b, code);
}

void boot_forked(struct boot *b)
{
	if (b->ops->forked)
		b->ops->forked(b);
}

void boot_finish(struct boot *b)
{
	has_left |= !b->ops->comes_back;
	b->ops->finish(b);
}
