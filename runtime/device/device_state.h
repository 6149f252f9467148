/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_state.h: the layer's state on each PE and node.
 *
 * The files call in one direction only, from the bottom up:
 *
 *   cu.h, driver                      the driver's functions
 *   device                            a device: its context, its kernel, its streams
 *   vmm                               memory by cuMemCreate, between processes
 *   memory, arena                     host memory that devices reach; theirs; other processes'
 *   staging                           what goes through host memory
 *   receiver, then sender             the two ends
 *   device_layer.c                    start, stop, messages
 */
#ifndef DEVICE_STATE_H
#define DEVICE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../direct/core/direct_state.h"
#include "driver.h"

struct device_receiver;
struct device_staging;
struct device_gather;
struct device_export;
struct device_exports;
struct device_import;

enum {
	DEVICE_SLOT = 3,
	DEVICES_MOST = 64,            /* of a host */
	DEVICE_AHEAD_MOST = 64,       /* puts of a channel that may be under way, or ready ahead: 1020
				       * launches fit behind a stream that waits, and the next blocks */
};

/** A device that this process uses. */
struct device {
	const struct device_driver *driver;
	cu_ctx ctx;                   /* NULL: it is not used yet */
	struct cu_uuid uuid;
	int number;                   /* CUdevice */
	int priority;                 /* of channels' streams: the highest */
	bool memops;                  /* streams can wait for words and write them */
	bool mps;
	cu_func puts;                 /* kernels.cu */
	cu_stream stream;             /* of none of the channels */
	cu_ptr counters;              /* of the kernel: DEVICE_COUNTERS */
	uint16_t *free_counters;
	uint32_t n_counters;          /* that are free */
};

/** Host memory that is registered with the driver. */
struct device_page {
	uintptr_t at;
	cu_ptr device;
};

/** A stream that was made for a channel. */
struct device_stream {
	cu_stream stream;
	const struct device *device;
	bool used;
};

/** Another process's allocation, or one that cannot be mapped: base 0. */
struct device_mapping {
	struct cu_ipc handle;
	struct device *device;
	cu_ptr base;
};

/** All but `handler` under the lock, once the driver is loaded; what was made stays until the node
 * stops. */
struct device_node {
	int handler;
	bool one_queue;               /* CUDA_DEVICE_MAX_CONNECTIONS=1 */
	bool loaded;
	bool said_mps;
	pthread_mutex_t lock;
	struct device_driver driver;
	struct device devices[DEVICES_MOST];
	struct device_exports *exports; /* NULL: none yet */
	struct device_import *imports;
	_Atomic bool imports_stay;    /* see device_imports_stay */
	struct device_page *pages;
	struct device_mapping *mappings;
	struct device_pinned *pinned;
	struct device_chunk *chunks;
	struct device_stream *streams;
	int n_pages, max_pages, n_mappings, max_mappings, n_pinned, max_pinned, n_chunks, max_chunks;
	int n_streams, max_streams;
};

/** Only this PE touches it. */
struct device_pe {
	struct device_receiver **receivers; /* by channel number; NULL: none there */
	uint32_t n_receivers;
	struct device_staging *joining;     /* sending ends that wait for the receiver's handles */
	uint64_t n_joins;
	struct cmi_remote **held;           /* attachments of pages that are registered */
	int n_held, max_held;
	struct device_gather *gather;       /* while CkDirect_putAllStream runs */
};

static inline struct device_node *device_node_of(const struct pe *pe)
{
	return pe->node->layer[DEVICE_SLOT];
}

static inline struct device_pe *device_pe_of(const struct pe *pe)
{
	return pe->layer[DEVICE_SLOT];
}

#endif
