/* SPDX-License-Identifier: Apache-2.0 */
/* meet.c: see meet.h. */
#include "meet.h"

#include <errno.h>
#include <string.h>

#include "../boot/boot.h"
#include "../base/cmi_env.h"
#include "loop_net.h"
#include "machine_int.h"
#include "../base/say.h"

/* The default is generous: a batch system may start the last node of a large job long after the
 * first. */
void meet_open(struct cmi *m)
{
	enum { DEFAULT_S = 60, MOST_S = 1000000 };

	m->boot_timeout_ms = (int)cmi_env_number("CK_BOOT_TIMEOUT", DEFAULT_S, 1, MOST_S) * 1000;
}

int meet_rank(const struct cmi *m)
{
	return m->o.net ? m->o.loop_rank : boot_rank(m->boot);
}

int meet_size(const struct cmi *m)
{
	return m->o.net ? loop_net_size(m->o.net) : boot_size(m->boot);
}

int meet_put(struct cmi *m, const char *key, const void *value, size_t len)
{
	int rc = m->o.net ? loop_net_put(m->o.net, m->job.node, key, value, len)
			  : boot_put(m->boot, key, value, len);

	if (rc)
		machine_say("node %d cannot publish its %s: %s", m->job.node, key, strerror(-rc));
	return rc;
}

/* In a job of few nodes each reads everything itself; a further fence would take longer. */
enum { READ_ALONE_MOST = 8 };

static bool is_collected(const struct cmi *m)
{
	return !m->o.net && m->job.n_nodes > READ_ALONE_MOST;
}

int meet_prepare(struct cmi *m)
{
	return is_collected(m) ? host_table_open(m) : 0;
}

int meet_collect(struct cmi *m, int which, const char *key, size_t cap)
{
	int rc = 0;

	if (!is_collected(m))
		return 0;
	if (m->table.reader == m->job.node)
		rc = host_table_write(m, which, key, cap);
	if (!rc)
		rc = meet_fence(m);
	if (!rc)
		host_table_map(m, which, key);
	return rc;
}

int meet_get(struct cmi *m, int node, const char *key, void *value, size_t cap, size_t *len_p)
{
	int rc = host_table_get(m, node, key, value, cap, len_p);

	if (!rc)
		return 0;
	rc = m->o.net ? loop_net_get(m->o.net, node, key, value, cap, len_p)
			  : boot_get(m->boot, node, key, value, cap, len_p);

	if (rc)
		machine_say("node %d cannot read the %s of node %d: %s", m->job.node, key, node,
			    strerror(-rc));
	return rc;
}

int meet_fence(struct cmi *m)
{
	int rc = m->o.net ? loop_net_fence(m->o.net, m->boot_timeout_ms)
			  : boot_fence(m->boot, m->boot_timeout_ms);

	if (rc == -ETIMEDOUT)
		machine_say("node %d waited %d s for the other nodes; one has died or never "
			    "started (CK_BOOT_TIMEOUT=seconds waits longer)",
			    m->job.node, m->boot_timeout_ms / 1000);
	else if (rc)
		machine_say("node %d cannot meet the other nodes: %s", m->job.node,
			    strerror(-rc));
	return rc;
}

void meet_forget(struct cmi *m)
{
	host_table_close(m);
	if (m->boot)
		boot_forget(m->boot);
}
