/* SPDX-License-Identifier: Apache-2.0 */
/* cmi_ticks.c: see cmi_ticks.h. */
#include "cmi_ticks.h"

#include <stdio.h>
#include <string.h>

bool cmi_counter_is_sound(void)
{
#if defined(__x86_64__)
	char text[16] = "";
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");

	if (!f)
		return false;
	if (!fgets(text, sizeof text, f))
		text[0] = 0;
	fclose(f);
	return strcmp(text, "tsc\n") == 0;
#elif defined(__aarch64__)
	return true; /* by the architecture */
#else
	return false;
#endif
}
