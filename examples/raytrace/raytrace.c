/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raytrace: pictures of balls that mirror each other, in tiles that take very different times.
 *
 *	ckrun -n 2 ./raytrace --how static --frames 20
 *	CK_LB=greedy ckrun -n 2 ./raytrace --how sync --frames 20
 *	ckrun -n 2 ./raytrace --how seeds --frames 20 --png 1
 *
 * Shows   three ways to spread work whose size nobody knows. static: tiles stay where the array has
 *         put them. sync: they are balanced after each frame by what they took in the last ones
 *         (CkAtSync, CK_LB); that fits as the scene moves slowly. seeds: each tile of each frame is
 *         a chare of its own, which goes to a PE that has little to do (CK_PE_ANY), and is gone
 *         when it is done. With sync the job can be saved after each frame (CK_CHECKPOINT).
 * Checks  every pixel of the last frame against one processor's.
 */
#include <stdlib.h>
#include <string.h>

#include "../args.h"
#include "picture.h"
#include "scene.h"
#include "raytrace.decl.h"

enum { STATIC, SYNC, SEEDS };           /* --how */

struct Main {
	double began, took;
	int frame, parts;               /* tiles of this frame that have come */
	bool synced;                    /* all tiles may be told to go on */
	uint8_t *picture;
};

struct Tile {
	int frame;
};

struct Work {
	char none;
};

static long save;

static long across(void)
{
	return (width + tile - 1) / tile;
}

static long n_tiles(void)
{
	return across() * ((height + tile - 1) / tile);
}

static size_t picture_bytes(void)
{
	return (size_t)(width * height * SCENE_CHANNELS);
}

static uint8_t *get(size_t bytes)
{
	uint8_t *p = malloc(bytes + 1);

	if (!p)
		CkAbort("raytrace: no memory for a picture of %zu bytes", bytes);
	return p;
}

static struct scene scene_at(int frame)
{
	return (struct scene){
		.width = (int)width, .height = (int)height, .balls = (int)balls, .bounces = (int)bounces,
		.frame = frame, .seed = seed,
	};
}

/* The last ones of a row and of a column are smaller. */
static struct scene_part part_of(int which)
{
	const long left = which % across() * tile, top = which / across() * tile;
	const long right = left + tile < width ? left + tile : width;
	const long below = top + tile < height ? top + tile : height;

	return (struct scene_part){ (int)left, (int)top, (int)(right - left), (int)(below - top) };
}

static void render(int which, int frame)
{
	const struct scene s = scene_at(frame);
	const struct scene_part part = part_of(which);
	const int n = part.width * part.height * SCENE_CHANNELS;
	uint8_t *rgb = get((size_t)n);

	scene_render(&s, part, rgb);
	Main_pixels(mainProxy, which, n, rgb);
	free(rgb);
}

/* ---- tiles ------------------------------------------------------------------------------- */

void Tile_on_new(Tile *self)
{
	(void)self;
}

void Tile_on_render(Tile *self)
{
	render(Tile_thisIndex(self), self->frame++);
	if (how == SYNC)
		CkAtSync(self);
}

void Tile_on_resumeFromSync(Tile *self)
{
	CkContributeBarrier(self, Main_cb_synced(mainProxy));
}

void Work_on_new(Work *self, int which, int frame)
{
	render(which, frame);
	CkDestroy(self);
}

/* ---- the main chare ---------------------------------------------------------------------- */

static void begin_frame(Main *self)
{
	self->parts = 0;
	self->synced = how != SYNC;
	if (how != SEEDS) {
		Tile_render_all(tiles);
		return;
	}
	for (int i = 0; i < n_tiles(); i++)
		Work_ckNew(CK_PE_ANY, i, self->frame);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"width", &width, 96, 1, 20000, "pixels of the picture from left to right"},
		{"height", &height, 64, 1, 20000, "and from top to bottom"},
		{"tile", &tile, 16, 1, 20000, "pixels of a tile's side"},
		{"balls", &balls, 40, 0, SCENE_MOST_BALLS, "in the scene"},
		{"bounces", &bounces, 6, 0, 1000, "from ball to ball"},
		{"frames", &frames, 3, 1, 1000000, "pictures, one after another"},
		{"how", &how, STATIC, STATIC, SEEDS, "static|sync|seeds"},
		{"png", &save, 0, 0, 1, "1: write the last picture as raytrace.png"},
		{"seed", &seed, 1, 0, 1000000000, "which scene"},
	};

	if (!args_read("raytrace", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	self->picture = get(picture_bytes());
	if (how != SEEDS)
		tiles = Tile_ckNew(CkDims((int)n_tiles()));
	self->began = CkWallTimer();
	begin_frame(self);
}

static void write_picture(const Main *self)
{
	const char *why = "";

	if (!picture_write("raytrace.png", (int)width, (int)height, self->picture, &why))
		CkError("raytrace: raytrace.png cannot be written: %s\n", why);
}

static void end(Main *self)
{
	const struct scene s = scene_at((int)frames - 1);
	const struct scene_part all = { 0, 0, (int)width, (int)height };
	uint8_t *right = get(picture_bytes());
	double alone = CkWallTimer();
	long wrong = 0;

	scene_render(&s, all, right);
	alone = CkWallTimer() - alone;
	for (size_t i = 0; i < picture_bytes(); i++)
		wrong += right[i] != self->picture[i];
	CkPrintf("raytrace: %ld x %ld pixels in %ld tiles on %d PEs, %.1f ms a frame (one processor: "
		 "%.1f ms): %s\n", width, height, n_tiles(), CkNumPes(),
		 self->took * 1e3 / (double)frames, alone * 1e3, wrong ? "WRONG" : "checked");
	if (wrong)
		CkError("raytrace: %ld bytes differ from one processor's\n", wrong);
	if (save)
		write_picture(self);
	free(right);
	free(self->picture);
	self->picture = NULL;
	CkExit(wrong ? 1 : 0);
}

/* The frame is complete, and the next may begin. */
static void advance(Main *self)
{
	if (self->parts < n_tiles() || !self->synced)
		return;
	self->took = CkWallTimer() - self->began;
	if (++self->frame < frames)
		begin_frame(self);
	else
		end(self);
}

void Main_on_synced(Main *self)
{
	self->synced = true;
	advance(self);
}

void Main_on_pixels(Main *self, int which, int n, const uint8_t *rgb)
{
	const struct scene_part p = part_of(which);

	(void)n;
	for (int y = 0; y < p.height; y++)
		memcpy(self->picture + ((size_t)(p.top + y) * (size_t)width + (size_t)p.left) * SCENE_CHANNELS,
		       rgb + (size_t)(y * p.width) * SCENE_CHANNELS, (size_t)p.width * SCENE_CHANNELS);
	self->parts++;
	advance(self);
}

#include "raytrace.def.h"
