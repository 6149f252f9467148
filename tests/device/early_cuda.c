/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early_cuda.c: a library in front of the device's driver, for CK_DEVICE, that makes a put store
 * its word before it copies: the control of the test for order, which must find wrong data then.
 * All other functions are the driver's, of which it is a user (libcuda.so.1).
 */
#include "../../runtime/device/cu.h"

#include <dlfcn.h>
#include <stdlib.h>

#define OWN __attribute__((visibility("default")))

OWN cu_result cuGraphAddMemcpyNode(cu_node *node_p, cu_graph graph, const cu_node *after,
				   size_t n_after, const struct cu_copy *copy, cu_ctx ctx);
OWN cu_result cuGraphAddBatchMemOpNode(cu_node *node_p, cu_graph graph, const cu_node *after,
				       size_t n_after, const struct cu_memop_node *ops);

typedef cu_result (*add_copy_fn)(cu_node *, cu_graph, const cu_node *, size_t,
				 const struct cu_copy *, cu_ctx);
typedef cu_result (*add_op_fn)(cu_node *, cu_graph, const cu_node *, size_t,
			       const struct cu_memop_node *);

/* What the last copy on this thread was to be: it is added behind the store. */
static _Thread_local struct {
	struct cu_copy copy;
	cu_ctx ctx;
	cu_node after;
	size_t n_after;
} held;

static void find(const char *name, void *call_p)
{
	*(void **)call_p = dlsym(RTLD_NEXT, name);
	if (!*(void **)call_p)
		abort();
}

cu_result cuGraphAddMemcpyNode(cu_node *node_p, cu_graph graph, const cu_node *after,
			       size_t n_after, const struct cu_copy *copy, cu_ctx ctx)
{
	(void)graph;
	held.copy = *copy;
	held.ctx = ctx;
	held.n_after = n_after;
	if (n_after)
		held.after = *after;
	*node_p = NULL;
	return CU_OK;
}

cu_result cuGraphAddBatchMemOpNode(cu_node *node_p, cu_graph graph, const cu_node *after,
				   size_t n_after, const struct cu_memop_node *ops)
{
	add_op_fn add_op;
	add_copy_fn add_copy;
	cu_result result;
	cu_node copy;

	find("cuGraphAddBatchMemOpNode", &add_op);
	find("cuGraphAddMemcpyNode", &add_copy);
	if (ops->ops->op != CU_OP_WRITE64)
		return add_op(node_p, graph, after, n_after, ops);
	result = add_op(node_p, graph, &held.after, held.n_after, ops);
	return result ? result : add_copy(&copy, graph, node_p, 1, &held.copy, held.ctx);
}
