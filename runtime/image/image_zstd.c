/* SPDX-License-Identifier: Apache-2.0 */
/* image_zstd.c: the few functions of libzstd that are used, found in libzstd.so.1. Their interface
 * has been stable since version 1.0. */
#include "image_zstd.h"

#include <dlfcn.h>
#include <pthread.h>

/* The fastest of its ordinary levels: a checkpoint is written often, and read seldom. */
enum { LEVEL = 1 };

static struct {
	pthread_once_t once;
	size_t (*bound)(size_t bytes);
	size_t (*pack)(void *to, size_t room, const void *from, size_t bytes, int level);
	size_t (*unpack)(void *to, size_t room, const void *from, size_t bytes);
	unsigned (*is_error)(size_t code);
	const char *(*error_name)(size_t code);
	bool is_there;
} zstd = { .once = PTHREAD_ONCE_INIT };

/* A function's address by way of memory: C has no cast for it. */
static bool find(void *lib, const char *name, void *function)
{
	void *const found = dlsym(lib, name);

	*(void **)function = found;
	return found != NULL;
}

static void load(void)
{
	void *const lib = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);

	zstd.is_there = lib && find(lib, "ZSTD_compressBound", &zstd.bound) &&
			find(lib, "ZSTD_compress", &zstd.pack) && find(lib, "ZSTD_decompress", &zstd.unpack) &&
			find(lib, "ZSTD_isError", &zstd.is_error) &&
			find(lib, "ZSTD_getErrorName", &zstd.error_name);
}

bool image_zstd_is_there(struct image_why *why)
{
	pthread_once(&zstd.once, load);
	return zstd.is_there ||
	       image_says(why, "zstd: libzstd.so.1 is not installed, or lacks what is needed of it");
}

size_t image_zstd_most(size_t bytes)
{
	return zstd.bound(bytes);
}

size_t image_zstd_pack(void *to, size_t room, const void *from, size_t bytes)
{
	const size_t packed = zstd.pack(to, room, from, bytes, LEVEL);

	return zstd.is_error(packed) || packed >= bytes ? 0 : packed;
}

bool image_zstd_unpack(void *to, size_t bytes, const void *from, size_t packed,
		       struct image_why *why)
{
	if (!image_zstd_is_there(why))
		return false;

	const size_t n = zstd.unpack(to, bytes, from, packed);

	if (zstd.is_error(n))
		return image_says(why, "zstd: %s", zstd.error_name(n));
	return n == bytes || image_says(why, "zstd: a block of %zu bytes has %zu", bytes, n);
}
