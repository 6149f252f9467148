/* SPDX-License-Identifier: Apache-2.0 */
/* scene.c: one ray after another. All numbers are made the same way everywhere, so a pixel has the
 * same bits whoever computes it. */
#include "scene.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../random.h"

struct vector {
	double x, y, z;
};

struct ball {
	struct vector at;
	double radius;
	struct vector color;
};

struct ray {
	struct vector from, to;  /* a direction of length 1 */
};

static const double FAR = 1e9, NEAR = 1e-6;
static const struct vector LIGHT = { -0.48, 0.80, -0.36 };

static struct vector add(struct vector a, struct vector b)
{
	return (struct vector){ a.x + b.x, a.y + b.y, a.z + b.z };
}

static struct vector scale(struct vector a, double by)
{
	return (struct vector){ a.x * by, a.y * by, a.z * by };
}

static struct vector subtract(struct vector a, struct vector b)
{
	return add(a, scale(b, -1));
}

static double dot(struct vector a, struct vector b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

static struct vector unit(struct vector a)
{
	return scale(a, 1 / sqrt(dot(a, a)));
}

/* ---- the balls --------------------------------------------------------------------------- */

static double draw(const struct scene *s, int ball, int what)
{
	return (double)(random_at((uint64_t)s->seed, (uint64_t)(8 * ball + what)) >> 11) * 0x1p-53;
}

/* Most are in one heap, which goes from the left to the right while frames pass. */
static struct ball ball_at(const struct scene *s, int i)
{
	const double wide = i % 5 ? 1.6 : 6, heap = i % 5 ? -2.6 + 0.15 * s->frame : 0;
	const double radius = 0.12 + 0.22 * draw(s, i, 0);

	return (struct ball){
		.at = { heap + wide * (draw(s, i, 1) - 0.5), radius + 1.7 * draw(s, i, 2),
			5 + 2.2 * draw(s, i, 3) },
		.radius = radius,
		.color = { 0.4 + 0.6 * draw(s, i, 4), 0.4 + 0.6 * draw(s, i, 5), 0.4 + 0.6 * draw(s, i, 6) },
	};
}

/* How far the ray goes to the ball; FAR: it misses. */
static double distance(const struct ball *b, struct ray r)
{
	const struct vector to = subtract(b->at, r.from);
	const double along = dot(to, r.to), off = dot(to, to) - along * along;
	const double half = b->radius * b->radius - off;
	double at;

	if (half <= 0)
		return FAR;
	at = along - sqrt(half);
	return at > NEAR ? at : FAR;
}

/* ---- a ray ------------------------------------------------------------------------------- */

struct world {
	const struct scene *s;
	struct ball balls[SCENE_MOST_BALLS];
};

static const struct ball *nearest(const struct world *w, struct ray r, double *at)
{
	const struct ball *first = NULL;

	for (int i = 0; i < w->s->balls; i++) {
		const double d = distance(&w->balls[i], r);

		if (d < *at) {
			*at = d;
			first = &w->balls[i];
		}
	}
	return first;
}

static bool is_in_shadow(const struct world *w, struct vector at)
{
	double d = FAR;

	return nearest(w, (struct ray){ at, LIGHT }, &d);
}

static struct vector sky(struct vector to)
{
	const double up = to.y > 0 ? to.y : 0;

	return (struct vector){ 0.75 - 0.45 * up, 0.85 - 0.30 * up, 1 };
}

/* It fades into the sky. */
static struct vector floor_color(const struct world *w, struct vector at, double far)
{
	const bool odd = (long)(floor(at.x) + floor(at.z)) & 1;
	const double clear = 1 / (1 + 0.004 * far * far), light = is_in_shadow(w, at) ? 0.45 : 1;
	const struct vector square = odd ? (struct vector){ 0.85, 0.80, 0.75 } :
					   (struct vector){ 0.30, 0.35, 0.40 };

	return add(scale(square, light * clear), scale(sky((struct vector){ 0, 0, 1 }), 1 - clear));
}

/* Each ball adds a part of its own color, and mirrors the rest. */
static struct vector trace(const struct world *w, struct ray r)
{
	struct vector sum = { 0, 0, 0 }, left = { 1, 1, 1 };

	for (int n = 0;; n++) {
		double at = r.to.y < 0 ? -r.from.y / r.to.y : FAR;
		const bool hits_floor = at < FAR;
		const struct ball *b = nearest(w, r, &at);
		const struct vector hit = add(r.from, scale(r.to, at));
		struct vector color = hits_floor ? floor_color(w, hit, at) : sky(r.to);

		if (b && n < w->s->bounces) {
			const struct vector out = unit(subtract(hit, b->at));
			const double facing = dot(out, LIGHT), bright = facing > 0 && !is_in_shadow(w, hit) ? facing : 0;

			color = scale(b->color, 0.25 * (0.3 + 0.7 * bright));
			r = (struct ray){ hit, subtract(r.to, scale(out, 2 * dot(r.to, out))) };
		}
		sum = add(sum, (struct vector){ left.x * color.x, left.y * color.y, left.z * color.z });
		if (!b || n >= w->s->bounces)
			return sum;
		left = (struct vector){ left.x * 0.75 * b->color.x, left.y * 0.75 * b->color.y,
					left.z * 0.75 * b->color.z };
	}
}

static unsigned char byte_of(double color)
{
	return (unsigned char)(color >= 1 ? 255 : 255 * sqrt(color));
}

void scene_render(const struct scene *s, struct scene_part part, unsigned char *rgb)
{
	struct world w = { .s = s };

	for (int i = 0; i < s->balls; i++)
		w.balls[i] = ball_at(s, i);
	for (int y = part.top; y < part.top + part.height; y++)
		for (int x = part.left; x < part.left + part.width; x++) {
			const struct vector to = { (x - 0.5 * s->width) / s->height,
						   (0.42 * s->height - y) / s->height, 1.1 };
			const struct vector c = trace(&w, (struct ray){ { 0, 1.2, 0 }, unit(to) });

			*rgb++ = byte_of(c.x);
			*rgb++ = byte_of(c.y);
			*rgb++ = byte_of(c.z);
		}
}
