/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ucx_calls.h: UCX's functions under UCX's names. The library is loaded when a job needs a network:
 * loading it takes more than half of the time in which a node on its own starts, and a job on one
 * host does without. The files of this room include this header instead of UCX's.
 */
#ifndef UCX_CALLS_H
#define UCX_CALLS_H

#include <ucp/api/ucp.h>

/* clang-format off */
/** Those that begin with ucp_. */
#define UCX_EACH(call) \
	call(am_data_release) \
	call(am_recv_data_nbx) \
	call(am_send_nbx) \
	call(atomic_op_nbx) \
	call(cleanup) \
	call(config_modify) \
	call(config_read) \
	call(config_release) \
	call(context_print_info) \
	call(dt_create_generic) \
	call(dt_destroy) \
	call(ep_close_nbx) \
	call(ep_create) \
	call(ep_flush_nbx) \
	call(ep_print_info) \
	call(ep_rkey_unpack) \
	call(get_nbx) \
	call(get_version_string) \
	call(init_version) \
	call(mem_map) \
	call(mem_query) \
	call(mem_unmap) \
	call(put_nbx) \
	call(request_check_status) \
	call(request_free) \
	call(rkey_buffer_release) \
	call(rkey_destroy) \
	call(rkey_pack) \
	call(rkey_ptr) \
	call(worker_arm) \
	call(worker_create) \
	call(worker_destroy) \
	call(worker_flush_nbx) \
	call(worker_get_address) \
	call(worker_get_efd) \
	call(worker_progress) \
	call(worker_release_address) \
	call(worker_set_am_recv_handler)
/* clang-format on */

/** Constant once ucx_load has returned 0. */
struct ucx_calls {
#define UCX_MEMBER(name) __typeof__(ucp_##name) *name;
	UCX_EACH(UCX_MEMBER)
#undef UCX_MEMBER
	__typeof__(ucs_status_string) *status_string;
};
extern struct ucx_calls ucx_calls;

/** Main. Load the library and find these functions. -ENOENT: that failed, and node `node` has
 * printed why. */
int ucx_load(int node);

#define ucp_am_data_release ucx_calls.am_data_release
#define ucp_am_recv_data_nbx ucx_calls.am_recv_data_nbx
#define ucp_am_send_nbx ucx_calls.am_send_nbx
#define ucp_atomic_op_nbx ucx_calls.atomic_op_nbx
#define ucp_cleanup ucx_calls.cleanup
#define ucp_config_modify ucx_calls.config_modify
#define ucp_config_read ucx_calls.config_read
#define ucp_config_release ucx_calls.config_release
#define ucp_context_print_info ucx_calls.context_print_info
#define ucp_dt_create_generic ucx_calls.dt_create_generic
#define ucp_dt_destroy ucx_calls.dt_destroy
#define ucp_ep_close_nbx ucx_calls.ep_close_nbx
#define ucp_ep_create ucx_calls.ep_create
#define ucp_ep_flush_nbx ucx_calls.ep_flush_nbx
#define ucp_ep_print_info ucx_calls.ep_print_info
#define ucp_ep_rkey_unpack ucx_calls.ep_rkey_unpack
#define ucp_get_nbx ucx_calls.get_nbx
#define ucp_get_version_string ucx_calls.get_version_string
#define ucp_init_version ucx_calls.init_version
#define ucp_mem_map ucx_calls.mem_map
#define ucp_mem_query ucx_calls.mem_query
#define ucp_mem_unmap ucx_calls.mem_unmap
#define ucp_put_nbx ucx_calls.put_nbx
#define ucp_request_check_status ucx_calls.request_check_status
#define ucp_request_free ucx_calls.request_free
#define ucp_rkey_buffer_release ucx_calls.rkey_buffer_release
#define ucp_rkey_destroy ucx_calls.rkey_destroy
#define ucp_rkey_pack ucx_calls.rkey_pack
#define ucp_rkey_ptr ucx_calls.rkey_ptr
#define ucp_worker_arm ucx_calls.worker_arm
#define ucp_worker_create ucx_calls.worker_create
#define ucp_worker_destroy ucx_calls.worker_destroy
#define ucp_worker_flush_nbx ucx_calls.worker_flush_nbx
#define ucp_worker_get_address ucx_calls.worker_get_address
#define ucp_worker_get_efd ucx_calls.worker_get_efd
#define ucp_worker_progress ucx_calls.worker_progress
#define ucp_worker_release_address ucx_calls.worker_release_address
#define ucp_worker_set_am_recv_handler ucx_calls.worker_set_am_recv_handler
#define ucs_status_string ucx_calls.status_string

#endif
