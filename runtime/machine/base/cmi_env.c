/* SPDX-License-Identifier: Apache-2.0 */
/* cmi_env.c: see cmi_env.h. */
#include "cmi_env.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../tools/one_line.h"

const char *cmi_env_text(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? text : NULL;
}

_Noreturn void cmi_env_refuse(const char *name, const char *value, const char *allowed)
{
	char shown[strlen(value) + 1]; /* the kernel allows 128 KiB */

	strcpy(shown, value);
	one_line(shown);
	/* Never unlocked: a second thread with a complaint waits here for our _exit. */
	flockfile(stderr);
	fprintf(stderr, "chard: %s=%s is refused: it must be %s\n", name, shown, allowed);
	fflush(stderr);
	_exit(1);
}

bool cmi_env_parse_flag(const char *text, bool *on_p)
{
	static const char *const words[] = {"0", "no", "off", "false", "1", "yes", "on", "true"};
	enum { WORDS = sizeof words / sizeof *words };

	for (int i = 0; i < WORDS; i++) {
		if (strcasecmp(text, words[i]) == 0) {
			*on_p = i >= WORDS / 2;
			return true;
		}
	}
	return false;
}

bool cmi_env_flag(const char *name, bool otherwise)
{
	const char *text = cmi_env_text(name);
	bool on;

	if (!text)
		return otherwise;
	if (cmi_env_parse_flag(text, &on))
		return on;
	cmi_env_refuse(name, text, "0 or 1 (or no or yes, off or on, false or true)");
}

/** The number at the beginning of `text`; *end_p: its end, or `text` when there is none. */
static int64_t parse_number(const char *text, const char **end_p)
{
	const char *digits = text + (*text == '-' || *text == '+');
	bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
	char *end;
	int64_t n;

	*end_p = text;
	if (!isdigit((unsigned char)*digits)) /* strtoll would skip blanks */
		return 0;
	errno = 0;
	n = strtoll(text, &end, hex ? 16 : 10);
	*end_p = errno ? text : end;
	return n;
}

int64_t cmi_env_number(const char *name, int64_t otherwise, int64_t least, int64_t most)
{
	const char *text = cmi_env_text(name), *end;
	char allowed[96];
	int64_t n;

	if (!text)
		return otherwise;
	n = parse_number(text, &end);
	if (end != text && !*end && n >= least && n <= most)
		return n;
	snprintf(allowed, sizeof allowed, "a number from %" PRId64 " to %" PRId64, least, most);
	cmi_env_refuse(name, text, allowed);
}

/** The shift for the letter's power of 1024; `plain` without a letter; -1: another letter. */
static int suffix_shift(const char *suffix, int plain)
{
	static const char letters[] = "kmg";
	const char *at;

	if (!*suffix)
		return plain;
	at = strchr(letters, suffix[0] | 0x20);
	return at && !suffix[1] ? 10 * (int)(at - letters + 1) : -1;
}

/** The shorter of forms such as "1048576" and "1M". */
static void print_bytes(char *out, size_t cap, uint64_t bytes)
{
	int thousands = 0;

	while (thousands < 3 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		thousands++;
	}
	snprintf(out, cap, "%" PRIu64 "%.*s", bytes, thousands > 0, &" KMG"[thousands]);
}

/** `plain`: the shift of a number without a letter. */
static bool parse_size(const char *text, int plain, uint64_t *bytes_p)
{
	const char *end;
	int64_t n = parse_number(text, &end);
	int shift = end == text ? -1 : suffix_shift(end, plain);

	if (shift < 0 || n < 0 || (uint64_t)n > UINT64_MAX >> shift)
		return false;
	*bytes_p = (uint64_t)n << shift;
	return true;
}

bool cmi_env_parse_bytes(const char *text, uint64_t *bytes_p)
{
	return parse_size(text, 0, bytes_p);
}

/** `unit`: what the number is. */
static uint64_t env_size(const char *name, uint64_t otherwise, uint64_t least, uint64_t most,
			 int plain, const char *unit)
{
	const char *text = cmi_env_text(name);
	char allowed[160], low[32], high[32];
	uint64_t bytes;

	if (!text)
		return otherwise;
	if (parse_size(text, plain, &bytes) && bytes >= least && bytes <= most)
		return bytes;
	print_bytes(low, sizeof low, least);
	print_bytes(high, sizeof high, most);
	snprintf(allowed, sizeof allowed, "%s from %s to %s (K, M and G are powers of 1024)", unit,
		 low, high);
	cmi_env_refuse(name, text, allowed);
}

uint64_t cmi_env_bytes(const char *name, uint64_t otherwise, uint64_t least, uint64_t most)
{
	return env_size(name, otherwise, least, most, 0, "a number of bytes");
}

uint64_t cmi_env_kib(const char *name, uint64_t otherwise, uint64_t least, uint64_t most)
{
	return env_size(name, otherwise, least, most, 10, "a number of KiB, or of bytes with K, M or G,");
}

/** "a, b or c" into `out`, cut where it is full. */
static void print_words(char *out, size_t cap, const char *const *words, int n)
{
	size_t used = 0;

	out[0] = 0;
	for (int i = 0; i < n && used < cap; i++)
		used += (size_t)snprintf(out + used, cap - used, "%s%s",
					 i == 0 ? "" : i < n - 1 ? ", " : " or ", words[i]);
}

int cmi_env_word(const char *name, const char *const *words, int n, int otherwise)
{
	const char *text = cmi_env_text(name);
	char allowed[256];

	if (!text)
		return otherwise;
	for (int i = 0; i < n; i++)
		if (strcmp(text, words[i]) == 0)
			return i;
	print_words(allowed, sizeof allowed, words, n);
	cmi_env_refuse(name, text, allowed);
}
