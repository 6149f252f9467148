/* SPDX-License-Identifier: Apache-2.0 */
/* lz4.c: fast, and finds what repeats byte for byte. The functions have been stable since liblz4
 * 1.7.3. */
#include <pthread.h>
#include <stdlib.h>

#include "../base/cmi_alloc.h"
#include "filter_int.h"

/* Of liblz4, where a higher one is faster and finds less. */
enum { ACCELERATION = 1 };

static struct {
	pthread_once_t once;
	int (*state_bytes)(void);
	int (*squeeze)(void *state, const char *from, char *to, int bytes, int room,
		       int acceleration);
	int (*unsqueeze)(const char *from, char *to, int packed, int bytes);
} lz4 = { .once = PTHREAD_ONCE_INIT };

static void load(void)
{
	static const struct library_call calls[] = {
		{ "LZ4_sizeofState", &lz4.state_bytes },
		{ "LZ4_compress_fast_extState", &lz4.squeeze },
		{ "LZ4_decompress_safe", &lz4.unsqueeze },
	};

	library_load("lz4", "liblz4.so.1", "liblz4-1", calls, sizeof calls / sizeof *calls);
}

static void lz4_load(void) { pthread_once(&lz4.once, load); }

static struct squeezer_state *lz4_open(void)
{
	return cmi_alloc_zero(1, (size_t)lz4.state_bytes(), "lz4");
}

static void lz4_close(struct squeezer_state *s) { free(s); }

static size_t lz4_squeeze(struct squeezer_state *s, void *to, size_t room, const void *from,
			  size_t bytes)
{
	return (size_t)lz4.squeeze(s, from, to, (int)bytes, (int)room, ACCELERATION);
}

static bool lz4_unsqueeze(struct squeezer_state *s, void *to, size_t bytes, const void *from,
			  size_t packed)
{
	(void)s;
	return lz4.unsqueeze(from, to, (int)packed, (int)bytes) == (int)bytes;
}

const struct squeezer lz4_squeezer = {
	.name = "lz4",
	.load = lz4_load,
	.open = lz4_open,
	.close = lz4_close,
	.squeeze = lz4_squeeze,
	.unsqueeze = lz4_unsqueeze,
};
