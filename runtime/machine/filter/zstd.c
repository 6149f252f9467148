/* SPDX-License-Identifier: Apache-2.0 */
/* zstd.c: slower than lz4, and finds more. The functions have been stable since libzstd 1.3. */
#include <pthread.h>
#include <stdlib.h>

#include "../base/cmi_alloc.h"
#include "filter_int.h"

/* The fastest of its ordinary levels. */
enum { LEVEL = 1 };

static struct {
	pthread_once_t once;
	void *(*out_new)(void);
	void *(*in_new)(void);
	size_t (*out_free)(void *out);
	size_t (*in_free)(void *in);
	size_t (*squeeze)(void *out, void *to, size_t room, const void *from, size_t bytes,
			  int level);
	size_t (*unsqueeze)(void *in, void *to, size_t room, const void *from, size_t packed);
	unsigned (*is_error)(size_t code);
} zstd = { .once = PTHREAD_ONCE_INIT };

struct squeezer_state {
	void *out, *in;
};

static void load(void)
{
	static const struct library_call calls[] = {
		{ "ZSTD_createCCtx", &zstd.out_new },   { "ZSTD_createDCtx", &zstd.in_new },
		{ "ZSTD_freeCCtx", &zstd.out_free },    { "ZSTD_freeDCtx", &zstd.in_free },
		{ "ZSTD_compressCCtx", &zstd.squeeze }, { "ZSTD_decompressDCtx", &zstd.unsqueeze },
		{ "ZSTD_isError", &zstd.is_error },
	};

	library_load("zstd", "libzstd.so.1", "libzstd1", calls, sizeof calls / sizeof *calls);
}

static void zstd_load(void) { pthread_once(&zstd.once, load); }

static struct squeezer_state *zstd_open(void)
{
	struct squeezer_state *s = cmi_alloc(sizeof *s, "zstd");

	s->out = cmi_must_have(zstd.out_new(), 0, "zstd");
	s->in = cmi_must_have(zstd.in_new(), 0, "zstd");
	return s;
}

static void zstd_close(struct squeezer_state *s)
{
	if (!s)
		return;
	zstd.out_free(s->out);
	zstd.in_free(s->in);
	free(s);
}

static size_t zstd_squeeze(struct squeezer_state *s, void *to, size_t room, const void *from,
			   size_t bytes)
{
	const size_t packed = zstd.squeeze(s->out, to, room, from, bytes, LEVEL);

	return zstd.is_error(packed) ? 0 : packed;
}

static bool zstd_unsqueeze(struct squeezer_state *s, void *to, size_t bytes, const void *from,
			   size_t packed)
{
	return zstd.unsqueeze(s->in, to, bytes, from, packed) == bytes;
}

const struct squeezer zstd_squeezer = {
	.name = "zstd",
	.load = zstd_load,
	.open = zstd_open,
	.close = zstd_close,
	.squeeze = zstd_squeeze,
	.unsqueeze = zstd_unsqueeze,
};
