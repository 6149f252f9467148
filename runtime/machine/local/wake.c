/* SPDX-License-Identifier: Apache-2.0 */
/* wake.c: see wake.h. An eventfd: it counts, so a wake before the sleep is not lost. */
#include "wake.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "machine_int.h"
#include "../base/say.h"

int wake_open(struct cmi_pe *w)
{
	int rc = 0;

	w->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (w->wake_fd < 0) {
		rc = -errno;
		machine_say("PE %d cannot have an eventfd: %s", w->local, strerror(-rc));
	}
	return rc;
}

void wake_close(struct cmi_pe *w)
{
	close(w->wake_fd);
}

void wake_forget(struct cmi_pe *w)
{
	uint64_t count;

	if (read(w->wake_fd, &count, sizeof count) < 0)
		return; /* EAGAIN: there was none */
}

void cmi_wake(struct cmi_pe *w)
{
	const uint64_t one = 1;

	if (write(w->wake_fd, &one, sizeof one) < 0)
		return; /* EAGAIN: the counter is full, so the sleeper is awake anyway */
}
