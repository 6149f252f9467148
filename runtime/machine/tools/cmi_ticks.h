/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_ticks.h: the cheapest clock, for callers that read it twice per message: the processor's
 * counter where the kernel trusts it, else CLOCK_MONOTONIC. ckrun includes this, too, so it needs
 * libc only.
 */
#ifndef CMI_TICKS_H
#define CMI_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>


/** Whether the kernel itself uses the processor's counter as its clock: it has then checked that
 * the counter has a constant rate and is synchronised between cores. */
bool cmi_counter_is_sound(void);

/** Ticks of the counter, or ns. The counter takes at least 10 ns less than CLOCK_MONOTONIC. */
static inline uint64_t cmi_ticks(bool counter)
{
#if defined(__x86_64__)
	if (__builtin_expect(counter, 1))
		return __builtin_ia32_rdtsc(); /* <x86intrin.h> would be 50,000 lines in each file */
#elif defined(__aarch64__)
	if (__builtin_expect(counter, 1)) {
		uint64_t ticks;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
		return ticks;
	}
#endif
	(void)counter;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
