/* SPDX-License-Identifier: Apache-2.0 */
/* steer_words.c: which words there are, and who answers. */
#include "steer_int.h"

#include <string.h>

enum steer_way steer_way_of(const char *words, const char **why_p)
{
	static const struct {
		const char *word;
		enum steer_way way;
		const char *why;
	} known[] = {
		{ "status", WAY_STATUS, NULL },
		{ "metrics", WAY_METRICS, NULL },
		{ "stop", WAY_STOP, NULL },
		{ "resize", WAY_REFUSED, "only ckrun can start a job again with another number of PEs, and "
		  "another launcher has started this one" },
		{ "", WAY_REFUSED, "a word is missing" },
	};
	const size_t n = strcspn(words, " ");

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i].word) == n && !strncmp(known[i].word, words, n)) {
			*why_p = known[i].why;
			return known[i].way;
		}
	return WAY_ORDER;
}
