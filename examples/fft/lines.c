/* SPDX-License-Identifier: Apache-2.0 */
#include "lines.h"

#include "../random.h"

static fftw_plan plan_one(struct lines l, fftw_complex *v, int sign, bool measure)
{
	return fftw_plan_many_dft(1, &l.points, l.n, v, NULL, l.stride, l.apart, v, NULL, l.stride,
				  l.apart, sign, measure ? FFTW_MEASURE : FFTW_ESTIMATE);
}

bool lines_plan(struct lines_plan *plan, struct lines lines, fftw_complex *v, bool measure)
{
	plan->lines = lines;
	plan->forward = plan_one(lines, v, FFTW_FORWARD, measure);
	plan->backward = plan_one(lines, v, FFTW_BACKWARD, measure);
	return plan->forward && plan->backward;
}

void lines_forget(struct lines_plan *plan)
{
	fftw_destroy_plan(plan->forward);
	fftw_destroy_plan(plan->backward);
}

void lines_forward(const struct lines_plan *plan, fftw_complex *v)
{
	fftw_execute_dft(plan->forward, v, v);
}

void lines_backward(const struct lines_plan *plan, fftw_complex *v)
{
	fftw_execute_dft(plan->backward, v, v);
}

fftw_complex lines_input(uint64_t seed, uint64_t i)
{
	return (double)(int64_t)random_at(seed, 2 * i) * 0x1p-63 +
	       (double)(int64_t)random_at(seed, 2 * i + 1) * 0x1p-63 * I;
}
