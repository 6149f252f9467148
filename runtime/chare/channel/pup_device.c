/* SPDX-License-Identifier: Apache-2.0 */
/* pup_device.c: a device's memory in pup functions: staged, as no processor reaches it. */
#include "named_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

void named_stage(pup_er p, void *dbuf, size_t bytes)
{
	struct pe *pe = ck_self();
	void *host;

	if (pup_isDeleting(p))
		return;
	if (pup_isSizing(p)) {
		pup_bytes(p, NULL, bytes); /* nobody may keep the address of a copy */
		return;
	}
	host = cmi_alloc_zero(1, bytes, "a copy of a device's buffer");
	if (pup_isPacking(p))
		layer_ends(pe)->device_read(pe, host, dbuf, bytes);
	pup_bytes(p, host, bytes);
	if (pup_isUnpacking(p))
		layer_ends(pe)->device_write(pe, dbuf, host, bytes);
	free(host);
}

static void *new_memory(struct pe *pe, size_t bytes)
{
	return cmi_must_have(layer_ends(pe)->device_alloc(pe, bytes), bytes,
			     "a buffer in a device's memory");
}

void *pup_device(pup_er p, void *dbuf, size_t bytes)
{
	struct pe *pe = ck_self();
	bool there = dbuf && !pup_isUnpacking(p);

	if (!pup_element(p))
		pup_fault(p, "calls pup_device for a parameter; only elements have the ends of channels");
	pup_bool(p, &there);
	if (!there)
		return NULL;
	if (!layer_ends(pe))
		pup_fault(p, "calls pup_device, but this program has no channels");
	if (pup_isUnpacking(p))
		dbuf = new_memory(pe, bytes);
	named_stage(p, dbuf, bytes);
	if (pup_isDeleting(p))
		layer_ends(pe)->device_free(pe, dbuf);
	return dbuf;
}
