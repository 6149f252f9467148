/* SPDX-License-Identifier: Apache-2.0 */
/* squeezer.h: the table of a way to compress; one file each (lz4.c, zstd.c). */
#ifndef SQUEEZER_H
#define SQUEEZER_H

#include <stdbool.h>
#include <stddef.h>

/** The squeezer's own: what its library needs to work without allocating. */
struct squeezer_state;

struct squeezer {
	const char *name;
	/** Load the library; without it the process ends with a line about CK_WIRE. */
	void (*load)(void);
	struct squeezer_state *(*open)(void);
	void (*close)(struct squeezer_state *s);
	/** Compress to at most `room` bytes; 0: it does not fit. */
	size_t (*squeeze)(struct squeezer_state *s, void *to, size_t room, const void *from,
			  size_t bytes);
	/** Undo it; exactly `bytes` bytes must come out. `from` may be anything. */
	bool (*unsqueeze)(struct squeezer_state *s, void *to, size_t bytes, const void *from,
			  size_t packed);
};

extern const struct squeezer lz4_squeezer, zstd_squeezer;

#endif
