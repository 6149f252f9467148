/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scene.h: balls that mirror each other above a floor of squares. A ray that hits a ball goes on,
 * so parts of the picture take many times as long as others, and nobody knows before which.
 */
#ifndef RAYTRACE_SCENE_H
#define RAYTRACE_SCENE_H

enum { SCENE_MOST_BALLS = 1000, SCENE_CHANNELS = 3 };

/** A part of a picture: pixels from (left, top), row by row. */
struct scene_part {
	int left, top, width, height;
};

/** The scene as it is in one frame; the balls move. */
struct scene {
	int width, height;       /* of the picture */
	int balls, bounces;      /* a ray hits at most so many balls one after another */
	int frame;
	long seed;
};

/** Compute a part: width * height pixels of red, green and blue. */
void scene_render(const struct scene *s, struct scene_part part, unsigned char *rgb);

#endif
