/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_cuda.c: a driver library without a device, for tests of what the runtime does with one:
 * handles, offsets, paths, credits, refusals. A stream is a thread, a device's memory a file in
 * memory. It shows nothing about the order of a device's stores, about time slices, or about
 * speed.
 *
 * As with a device:
 *   - the processor cannot touch a device's memory: it is mapped twice, and users get the one
 *     without access;
 *   - stores and waits reach registered host memory alone, which overlaps in no two registrations;
 *   - a copy from host memory that is not registered has read it when the call returns; one into
 *     it is over;
 *   - 1020 operations fit into a stream, and the next call blocks;
 *   - cuMemFree, cuModuleLoadData, cuIpcCloseMemHandle and cuMemHostUnregister block while a
 *     stream waits;
 *   - with CUDA_DEVICE_MAX_CONNECTIONS=1 a stream that waits holds up all others;
 *   - nodes of a graph that have no order run the wrong way round;
 *   - memory of cuMemCreate has no handle of cuIpcGetMemHandle, is mapped in whole grains, and can
 *     be used by nobody before cuMemSetAccess; the value of a handle is used again.
 * That cuMemUnmap blocks while a stream waits is not known of one, nor that export and import need
 * a context.
 *
 * FAKE_CUDA names faults, separated by commas: nodevice, noalloc, noipc, nomemops, two (devices),
 * fails (a launch), early (words are stored before the data); of cuMemCreate's memory noexport,
 * noimport, and nomap and noaccess of other processes' allocations; tidy (what is left of it at
 * the end is an error), few (there may be 20 of its own allocations and 8 of other processes').
 */
#include "../../runtime/device/cu.h"
#include "../../runtime/device/kernels.h"
#include "../../examples/stencil/device_kernels.h"
#include "order_kernels.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FAKE __attribute__((visibility("default")))
#define CU_PROTOTYPE(name, parameters) FAKE cu_result name parameters;
CU_EACH(CU_PROTOTYPE)
CU_EACH_OF_VMM(CU_PROTOTYPE)
#undef CU_PROTOTYPE
/* Programs have use for these. */
FAKE cu_result cuMemCreate(cu_handle *handle_p, size_t bytes, const struct cu_prop *prop,
			   unsigned long long flags);
FAKE cu_result cuMemGetAllocationGranularity(size_t *bytes_p, const struct cu_prop *prop,
					     uint32_t option);

enum {
	NOT_FOUND = 500,
	QUEUE = 1020,
	ALLOCS = 1024,
	REGISTERED_MOST = 4096,
	NODES = 8,
	POLL_US = 20,
	PAUSE_US = 20000,
	GRAIN = 2 << 20,
	OWN_MOST = 20,
	IMPORTS_MOST = 8,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int waiting;             /* streams that wait for a word */
static _Thread_local uintptr_t current; /* 1 + the ordinal of the context's device */

static bool fault(const char *name)
{
	const char *at = getenv("FAKE_CUDA");
	const size_t n = strlen(name);

	while (at && *at) {
		if (!strncmp(at, name, n) && (!at[n] || at[n] == ','))
			return true;
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return false;
}

static void stop_while_waiting(void)
{
	while (atomic_load(&waiting))
		usleep(POLL_US);
}

/* ---- memory ---------------------------------------------------------------------------------- */

struct alloc {
	cu_ptr at;             /* no access; 0: unused */
	unsigned char *inside; /* the same memory */
	size_t bytes;
	int fd, ordinal;
	bool imported;
	struct shared *of; /* it is a mapping of that; fd: none */
	bool access;
};

/** Memory of cuMemCreate. Its handle is 1 + its place. */
struct shared {
	int fd, ordinal;
	size_t bytes;
	uint32_t types;
	int refs, maps; /* both 0: unused */
	bool imported;
};

/** What a cu_ipc holds. */
struct ticket {
	pid_t pid;
	int fd;
	size_t bytes;
};

static struct alloc allocs[ALLOCS];
static struct shared shared[ALLOCS];
static struct alloc reserved[ALLOCS]; /* addresses without memory */
static struct {
	uintptr_t at;
	size_t bytes;
} registered[REGISTERED_MOST];

/** Under the lock. */
static struct alloc *find_alloc(cu_ptr p)
{
	for (int i = 0; i < ALLOCS; i++)
		if (allocs[i].at && p - allocs[i].at < allocs[i].bytes)
			return &allocs[i];
	return NULL;
}

static struct alloc *unused(struct alloc *in)
{
	struct alloc *a = in;

	while (a < in + ALLOCS && a->at)
		a++;
	return a < in + ALLOCS ? a : NULL;
}

static cu_result enter_alloc(cu_ptr *p, int fd, size_t bytes, bool imported)
{
	struct alloc *a = unused(allocs);

	if (!a)
		return CU_NO_MEMORY;
	*a = (struct alloc){ .bytes = bytes, .fd = fd, .ordinal = (int)current - 1,
			.imported = imported, .access = true };
	a->inside = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	a->at = (uintptr_t)mmap(NULL, bytes, PROT_NONE, MAP_SHARED, fd, 0);
	*p = a->at;
	return CU_OK;
}

/** Whether all of it may be used: several mappings of one reservation are one piece inside, too. */
static bool usable(cu_ptr p, size_t bytes)
{
	const struct alloc *a = find_alloc(p);

	while (a && a->access && p - a->at + bytes > a->bytes) {
		bytes -= a->bytes - (p - a->at);
		p = a->at + a->bytes;
		a = a->of ? find_alloc(p) : NULL;
		a = a && a->of ? a : NULL;
	}
	return a && a->access;
}

/** For this library: where [p, p + bytes) is. NULL: nowhere. */
static void *inside(cu_ptr p, size_t bytes)
{
	struct alloc *a;
	void *at = (void *)p;

	pthread_mutex_lock(&lock);
	a = find_alloc(p);
	if (a)
		at = usable(p, bytes) ? a->inside + (p - a->at) : NULL;
	pthread_mutex_unlock(&lock);
	return at;
}

/** Whether there is device memory. */
static bool is_device(cu_ptr p)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = find_alloc(p);
	pthread_mutex_unlock(&lock);
	return is;
}

/** 1: all of it in one registration; 0: not at all; -1: in part. */
static int is_registered(const void *p, size_t bytes)
{
	const uintptr_t at = (uintptr_t)p;
	int found = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < REGISTERED_MOST; i++) {
		const uintptr_t from = registered[i].at, to = from + registered[i].bytes;

		if (!from || at >= to || at + bytes <= from)
			continue;
		found = at >= from && at + bytes <= to ? 1 : -1;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

cu_result cuMemAlloc_v2(cu_ptr *p, size_t bytes)
{
	cu_result result;
	int fd;

	if (fault("noalloc") && bytes > 1 << 20)
		return CU_NO_MEMORY;
	bytes = (bytes + 4095) / 4096 * 4096;
	fd = memfd_create("fake_cuda", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return CU_NO_MEMORY;
	pthread_mutex_lock(&lock);
	result = enter_alloc(p, fd, bytes, false);
	pthread_mutex_unlock(&lock);
	return result;
}

static cu_result drop_alloc(cu_ptr p, bool imported)
{
	struct alloc *a;

	stop_while_waiting();
	pthread_mutex_lock(&lock);
	a = find_alloc(p);
	if (a && a->at == p && a->imported == imported && !a->of) {
		munmap(a->inside, a->bytes);
		munmap((void *)a->at, a->bytes);
		close(a->fd);
		a->at = 0;
	} else {
		a = NULL;
	}
	pthread_mutex_unlock(&lock);
	return a ? CU_OK : CU_INVALID_VALUE;
}

cu_result cuMemFree_v2(cu_ptr p) { return drop_alloc(p, false); }
cu_result cuIpcCloseMemHandle(cu_ptr p) { return drop_alloc(p, true); }

cu_result cuMemGetAddressRange_v2(cu_ptr *base_p, size_t *bytes_p, cu_ptr p)
{
	const struct alloc *a;

	pthread_mutex_lock(&lock);
	a = find_alloc(p);
	if (a) {
		*base_p = a->at;
		*bytes_p = a->bytes;
	}
	pthread_mutex_unlock(&lock);
	return a ? CU_OK : NOT_FOUND;
}

cu_result cuPointerGetAttribute(void *value_p, int attribute, cu_ptr p)
{
	const struct alloc *a;
	struct alloc copy;

	pthread_mutex_lock(&lock);
	a = find_alloc(p);
	if (a)
		copy = *a;
	pthread_mutex_unlock(&lock);
	if (!a)
		return CU_INVALID_VALUE;
	*(int *)value_p = attribute == CU_POINTER_MEMORY ? CU_MEMORY_DEVICE :
			attribute == CU_POINTER_ORDINAL ? copy.ordinal
													      : !copy.imported && !copy.of && !fault("noipc");
	return CU_OK;
}

cu_result cuIpcGetMemHandle(struct cu_ipc *handle_p, cu_ptr p)
{
	struct ticket t = { .pid = getpid() };
	const struct alloc *a;

	pthread_mutex_lock(&lock);
	a = find_alloc(p);
	if (a) {
		t.fd = a->fd;
		t.bytes = a->bytes;
	}
	pthread_mutex_unlock(&lock);
	*handle_p = (struct cu_ipc){ { 0 } };
	memcpy(handle_p, &t, sizeof t);
	return a && !a->imported && !a->of && !fault("noipc") ? CU_OK : CU_INVALID_VALUE;
}

cu_result cuIpcOpenMemHandle_v2(cu_ptr *p, struct cu_ipc handle, unsigned flags)
{
	cu_result result;
	struct ticket t;
	char name[64];
	int fd;

	(void)flags;
	memcpy(&t, &handle, sizeof t);
	if (t.pid == getpid())
		return CU_INVALID_CONTEXT;
	snprintf(name, sizeof name, "/proc/%d/fd/%d", t.pid, t.fd);
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return CU_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	result = enter_alloc(p, fd, t.bytes, true);
	pthread_mutex_unlock(&lock);
	return result;
}

/* ---- memory of cuMemCreate ------------------------------------------------------------------- */

/** A new one, with one reference. */
static cu_result enter_shared(cu_handle *handle_p, struct shared made)
{
	struct shared *s = shared;
	const int most = !fault("few") ? ALLOCS : made.imported ? IMPORTS_MOST : OWN_MOST;
	int n = 0;

	pthread_mutex_lock(&lock);
	while (s < shared + ALLOCS && (s->refs || s->maps))
		s++;
	for (int i = 0; i < ALLOCS; i++)
		n += (shared[i].refs || shared[i].maps) && shared[i].imported == made.imported;
	if (s == shared + ALLOCS || n >= most) {
		fprintf(stderr, "fake_cuda: too many allocations\n");
		abort();
	}
	*s = made;
	s->refs = 1;
	*handle_p = (cu_handle)(s - shared) + 1;
	pthread_mutex_unlock(&lock);
	return CU_OK;
}

/** Under the lock. NULL: there is no such handle. */
static struct shared *shared_of(cu_handle handle)
{
	struct shared *s = handle && handle <= ALLOCS ? &shared[handle - 1] : NULL;

	return s && s->refs ? s : NULL;
}

static void forget_shared(struct shared *s)
{
	if (!s->refs && !s->maps)
		close(s->fd);
}

cu_result cuMemCreate(cu_handle *handle_p, size_t bytes, const struct cu_prop *prop,
		      unsigned long long flags)
{
	struct shared made = { .bytes = bytes, .types = prop->handles, .ordinal = prop->place.id };

	if (flags || !bytes || bytes % GRAIN || prop->type != CU_ALLOCATION_PINNED ||
	    prop->place.type != CU_PLACE_DEVICE)
		return CU_INVALID_VALUE;
	made.fd = memfd_create("fake_cuda", MFD_CLOEXEC);
	if (made.fd < 0 || ftruncate(made.fd, (off_t)bytes))
		return CU_NO_MEMORY;
	return enter_shared(handle_p, made);
}

cu_result cuMemGetAllocationGranularity(size_t *bytes_p, const struct cu_prop *prop,
					uint32_t option)
{
	*bytes_p = GRAIN;
	return option || prop->type != CU_ALLOCATION_PINNED ? CU_INVALID_VALUE : CU_OK;
}

cu_result cuMemRetainAllocationHandle(cu_handle *handle_p, void *p)
{
	const struct alloc *a;

	pthread_mutex_lock(&lock);
	a = find_alloc((uintptr_t)p);
	if (a && a->of) {
		a->of->refs++;
		*handle_p = (cu_handle)(a->of - shared) + 1;
	}
	pthread_mutex_unlock(&lock);
	return a && a->of ? CU_OK : CU_INVALID_VALUE;
}

cu_result cuMemRelease(cu_handle handle)
{
	struct shared *s;

	pthread_mutex_lock(&lock);
	s = shared_of(handle);
	if (s) {
		s->refs--;
		forget_shared(s);
	}
	pthread_mutex_unlock(&lock);
	return s ? CU_OK : CU_INVALID_VALUE;
}

cu_result cuMemGetAllocationPropertiesFromHandle(struct cu_prop *prop_p, cu_handle handle)
{
	const struct shared *s;

	pthread_mutex_lock(&lock);
	s = shared_of(handle);
	if (s)
		*prop_p = (struct cu_prop){ .type = CU_ALLOCATION_PINNED,
					    .handles = s->types,
					    .place = { CU_PLACE_DEVICE, s->ordinal } };
	pthread_mutex_unlock(&lock);
	return s ? CU_OK : CU_INVALID_VALUE;
}

cu_result cuMemExportToShareableHandle(void *fd_p, cu_handle handle, uint32_t type,
				       unsigned long long flags)
{
	const struct shared *s;
	int fd = -1;

	pthread_mutex_lock(&lock);
	s = shared_of(handle);
	if (current && s && !flags && type == CU_HANDLE_FD && (s->types & type) && !fault("noexport"))
		fd = dup(s->fd);
	pthread_mutex_unlock(&lock);
	*(int *)fd_p = fd;
	return fd < 0 ? CU_INVALID_VALUE : CU_OK;
}

cu_result cuMemImportFromShareableHandle(cu_handle *handle_p, void *fd, uint32_t type)
{
	struct shared made = { .types = type, .ordinal = (int)current - 1, .imported = true };
	struct stat info;

	if (!current || type != CU_HANDLE_FD || fault("noimport") || fstat((int)(intptr_t)fd, &info))
		return CU_INVALID_VALUE;
	made.fd = fcntl((int)(intptr_t)fd, F_DUPFD_CLOEXEC, 0);
	made.bytes = (size_t)info.st_size;
	return made.fd < 0 ? CU_NO_MEMORY : enter_shared(handle_p, made);
}

cu_result cuMemAddressReserve(cu_ptr *p, size_t bytes, size_t alignment, cu_ptr hint,
			      unsigned long long flags)
{
	const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	struct alloc *r;

	(void)hint;
	if (!bytes || bytes % 4096 || alignment || flags)
		return CU_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	r = unused(reserved);
	if (r) {
		*r = (struct alloc){ .bytes = bytes };
		r->inside = mmap(NULL, bytes, PROT_NONE, kind, -1, 0);
		*p = r->at = (uintptr_t)mmap(NULL, bytes, PROT_NONE, kind, -1, 0);
	}
	pthread_mutex_unlock(&lock);
	return r ? CU_OK : CU_NO_MEMORY;
}

/** Under the lock: the reservation with all of [p, p + bytes). */
static struct alloc *find_reserved(cu_ptr p, size_t bytes)
{
	for (int i = 0; i < ALLOCS; i++)
		if (reserved[i].at && p >= reserved[i].at &&
		    p - reserved[i].at + bytes <= reserved[i].bytes)
			return &reserved[i];
	return NULL;
}

/** Under the lock: whether a mapping has a part of it. */
static bool in_use(cu_ptr p, size_t bytes)
{
	for (int i = 0; i < ALLOCS; i++)
		if (allocs[i].at && allocs[i].at < p + bytes && p < allocs[i].at + allocs[i].bytes)
			return true;
	return false;
}

cu_result cuMemAddressFree(cu_ptr p, size_t bytes)
{
	struct alloc *r;

	pthread_mutex_lock(&lock);
	r = find_reserved(p, bytes);
	if (r && r->at == p && r->bytes == bytes && !in_use(p, bytes)) {
		munmap(r->inside, bytes);
		munmap((void *)r->at, bytes);
		r->at = 0;
	} else {
		r = NULL;
	}
	pthread_mutex_unlock(&lock);
	return r ? CU_OK : CU_INVALID_VALUE;
}

/** Put the descriptor's memory, or none (-1), there, in both places. */
static void place(const struct alloc *a, int fd)
{
	const int kind = MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED);

	mmap(a->inside, a->bytes, PROT_NONE, kind, fd, 0);
	mmap((void *)a->at, a->bytes, PROT_NONE, kind, fd, 0);
}

cu_result cuMemMap(cu_ptr p, size_t bytes, size_t offset, cu_handle handle,
		   unsigned long long flags)
{
	const struct alloc *r;
	struct shared *s;
	struct alloc *a;

	if (offset || flags || bytes % GRAIN)
		return CU_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	s = shared_of(handle);
	r = find_reserved(p, bytes);
	a = s && r && bytes <= s->bytes && !in_use(p, bytes) && !(s->imported && fault("nomap")) ?
		    unused(allocs) : NULL;
	if (a) {
		*a = (struct alloc){ .at = p, .inside = r->inside + (p - r->at), .bytes = bytes,
				     .ordinal = s->ordinal, .imported = s->imported, .of = s };
		place(a, s->fd);
		s->maps++;
	}
	pthread_mutex_unlock(&lock);
	return a ? CU_OK : CU_INVALID_VALUE;
}

/** Under the lock: the first of the mappings that are all of [p, p + bytes). */
static struct alloc *whole_mapping(cu_ptr p, size_t bytes)
{
	struct alloc *first = find_alloc(p), *a = first;

	if (!first || first->at != p)
		return NULL;
	while (a && a->of && a->bytes < bytes) {
		p += a->bytes;
		bytes -= a->bytes;
		a = find_alloc(p);
	}
	return a && a->of && a->bytes == bytes ? first : NULL;
}

cu_result cuMemSetAccess(cu_ptr p, size_t bytes, const struct cu_access *access, size_t n)
{
	const struct alloc *found;

	if (n != 1 || access->flags != CU_ACCESS_BOTH ||
	    access->place.type != CU_PLACE_DEVICE)
		return CU_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	found = whole_mapping(p, bytes);
	found = found && found->imported && fault("noaccess") ? NULL : found;
	for (cu_ptr at = p; found && at < p + bytes;) {
		struct alloc *a = find_alloc(at);

		mprotect(a->inside, a->bytes, PROT_READ | PROT_WRITE);
		a->access = true;
		at += a->bytes;
	}
	pthread_mutex_unlock(&lock);
	return found ? CU_OK : CU_INVALID_VALUE;
}

cu_result cuMemUnmap(cu_ptr p, size_t bytes)
{
	const struct alloc *found;

	stop_while_waiting();
	pthread_mutex_lock(&lock);
	found = whole_mapping(p, bytes);
	for (cu_ptr at = p; found && at < p + bytes;) {
		struct alloc *a = find_alloc(at);

		at += a->bytes;
		place(a, -1);
		a->of->maps--;
		forget_shared(a->of);
		a->at = 0;
	}
	pthread_mutex_unlock(&lock);
	return found ? CU_OK : CU_INVALID_VALUE;
}

/* Programs of the tests give up their handles when they have mapped them. */
__attribute__((destructor)) static void tidy(void)
{
	int handles = 0, imports = 0, empty = 0;

	for (int i = 0; i < ALLOCS; i++) {
		handles += shared[i].refs;
		imports += shared[i].maps && shared[i].imported;
		empty += reserved[i].at && !in_use(reserved[i].at, reserved[i].bytes);
	}
	if (!fault("tidy") || (!handles && !imports && !empty))
		return;
	fprintf(stderr, "fake_cuda: %d handles, %d mappings and %d reservations are left\n", handles,
		imports, empty);
	fflush(NULL);
	_exit(3);
}

/* ---- registered host memory ------------------------------------------------------------------ */

cu_result cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
	int free_one = -1;

	if (!(flags & CU_REGISTER_MAPPED) || (uintptr_t)p % 4096 || bytes % 4096)
		return CU_INVALID_VALUE;
	if (is_registered(p, bytes))
		return CU_REGISTERED;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < REGISTERED_MOST; i++)
		free_one = registered[i].at ? free_one : i;
	if (free_one >= 0) {
		registered[free_one].at = (uintptr_t)p;
		registered[free_one].bytes = bytes;
	}
	pthread_mutex_unlock(&lock);
	return free_one < 0 ? CU_NO_MEMORY : CU_OK;
}

cu_result cuMemHostUnregister(void *p)
{
	bool found = false;

	stop_while_waiting();
	pthread_mutex_lock(&lock);
	for (int i = 0; i < REGISTERED_MOST; i++)
		if (registered[i].at == (uintptr_t)p) {
			registered[i].at = 0;
			found = true;
		}
	pthread_mutex_unlock(&lock);
	return found ? CU_OK : CU_INVALID_VALUE;
}

cu_result cuMemHostGetDevicePointer_v2(cu_ptr *device_p, void *p, unsigned flags)
{
	(void)flags;
	*device_p = (uintptr_t)p;
	return is_registered(p, 1) == 1 ? CU_OK : CU_INVALID_VALUE;
}

/* ---- streams --------------------------------------------------------------------------------- */

enum kind { COPY,
	    WRITE,
	    WAIT,
	    PUTS,
	    KERNEL,
	    PAUSE };

struct op {
	struct op *next;
	enum kind kind;
	cu_ptr to, from; /* COPY */
	void *own;       /* COPY: what was read when it was called */
	uint64_t value;  /* WRITE, WAIT; PUTS: how many */
	size_t bytes;
	struct device_puts *puts;
	void (*kernel)(const void *arg); /* KERNEL: with `own` */
};

struct cu_stream_ {
	pthread_mutex_t lock;
	pthread_cond_t more, less;
	struct op *head, **tail;
	uint64_t in, out;
	pthread_t thread;
	bool end;
};

static void store(cu_ptr word, uint64_t value)
{
	atomic_store_explicit((_Atomic uint64_t *)inside(word, 8), value, memory_order_release);
}

/* With "early" the word first, and then time for whoever looks for it. */
static void put(const struct device_put *p)
{
	uint32_t *counter = p->counter ? inside(p->counter, 4) : NULL;

	if (counter && *counter)
		abort();
	if (fault("early")) {
		store(p->word, p->value);
		usleep(PAUSE_US);
	}
	if (p->bytes)
		memcpy(inside(p->to, p->bytes), inside(p->from, p->bytes), p->bytes);
	store(p->word, p->value);
}

/** Whether the word is at least `value`. A device can wait for it when the process has unmapped it,
 * at its end: hence no load, but a call that fails then. */
static bool has_come(cu_ptr word, uint64_t value)
{
	uint64_t now = 0;
	struct iovec to = { &now, sizeof now }, from = { inside(word, 8), sizeof now };

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof now &&
	       (int64_t)(now - value) >= 0;
}

static void wait_for(cu_ptr word, uint64_t value)
{
	if (!has_come(word, value)) {
		waiting++;
		while (!has_come(word, value))
			usleep(POLL_US);
		waiting--;
	}
	/* For the thread sanitizer, which knows memory by its address. */
	atomic_load_explicit((_Atomic uint64_t *)inside(word, 8), memory_order_acquire);
}

static void run(struct op *o)
{
	switch (o->kind) {
	case COPY:
		memcpy(inside(o->to, o->bytes), o->own ? o->own : inside(o->from, o->bytes),
				o->bytes);
		free(o->own);
		break;
	case WRITE:
		store(o->to, o->value);
		break;
	case WAIT:
		wait_for(o->to, o->value);
		break;
	case PUTS:
		for (uint64_t i = 0; i < o->value; i++)
			put(&o->puts->put[i]);
		free(o->puts);
		break;
	case KERNEL:
		o->kernel(o->own);
		free(o->own);
		break;
	case PAUSE:
		usleep(PAUSE_US);
		break;
	}
}

static void *stream_main(void *arg)
{
	struct cu_stream_ *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct op *o;

		while (!s->head && !s->end)
			pthread_cond_wait(&s->more, &s->lock);
		o = s->head;
		if (!o)
			break;
		s->head = o->next;
		if (!s->head)
			s->tail = &s->head;
		pthread_mutex_unlock(&s->lock);
		run(o);
		free(o);
		pthread_mutex_lock(&s->lock);
		s->out++;
		pthread_cond_broadcast(&s->less);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static struct cu_stream_ *new_stream(void)
{
	struct cu_stream_ *s = calloc(1, sizeof *s);
	sigset_t all, before;

	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, NULL);
	pthread_cond_init(&s->less, NULL);
	s->tail = &s->head;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&s->thread, NULL, stream_main, s))
		abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return s;
}

/** With one hardware queue all streams are one. */
static struct cu_stream_ *only_stream;

static bool one_queue(void)
{
	const char *n = getenv("CUDA_DEVICE_MAX_CONNECTIONS");

	return n && atoi(n) == 1;
}

cu_result cuStreamCreateWithPriority(cu_stream *stream_p, unsigned flags, int priority)
{
	(void)priority;
	if (!(flags & CU_STREAM_NONBLOCKING) || !current)
		return CU_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	if (one_queue() && !only_stream)
		only_stream = new_stream();
	*stream_p = one_queue() ? only_stream : new_stream();
	pthread_mutex_unlock(&lock);
	return CU_OK;
}

cu_result cuStreamDestroy_v2(cu_stream s)
{
	if (s == only_stream)
		return CU_OK;
	pthread_mutex_lock(&s->lock);
	s->end = true;
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->more);
	pthread_cond_destroy(&s->less);
	free(s);
	return CU_OK;
}

cu_result cuStreamQuery(cu_stream s)
{
	bool idle;

	pthread_mutex_lock(&s->lock);
	idle = s->in == s->out;
	pthread_mutex_unlock(&s->lock);
	return idle ? CU_OK : CU_NOT_READY;
}

/** Returns the number of the operation. */
static uint64_t push(cu_stream s, struct op o)
{
	struct op *n = malloc(sizeof *n);
	uint64_t number;

	*n = o;
	n->next = NULL;
	pthread_mutex_lock(&s->lock);
	while (s->in - s->out >= QUEUE)
		pthread_cond_wait(&s->less, &s->lock);
	*s->tail = n;
	s->tail = &n->next;
	number = ++s->in;
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
	return number;
}

static void wait_until_done(cu_stream s, uint64_t number)
{
	pthread_mutex_lock(&s->lock);
	while (s->out < number)
		pthread_cond_wait(&s->less, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

/** A word that streams may use. */
static bool is_word(cu_ptr p)
{
	return p % 8 == 0 && (is_device(p) || is_registered((void *)p, 8) == 1);
}

cu_result cuStreamWriteValue64_v2(cu_stream s, cu_ptr p, uint64_t value, unsigned flags)
{
	if (flags || fault("nomemops") || !is_word(p))
		return CU_INVALID_VALUE;
	push(s, (struct op){ .kind = WRITE, .to = p, .value = value });
	return CU_OK;
}

cu_result cuStreamWaitValue64_v2(cu_stream s, cu_ptr p, uint64_t value, unsigned flags)
{
	if (flags != CU_WAIT_GEQ || fault("nomemops") || !is_word(p))
		return CU_INVALID_VALUE;
	push(s, (struct op){ .kind = WAIT, .to = p, .value = value });
	return CU_OK;
}

cu_result cuMemcpyDtoDAsync_v2(cu_ptr to, cu_ptr from, size_t bytes, cu_stream s)
{
	if (!inside(to, bytes) || !inside(from, bytes) || !is_device(to) || !is_device(from))
		return CU_INVALID_VALUE;
	push(s, (struct op){ .kind = COPY, .to = to, .from = from, .bytes = bytes });
	return CU_OK;
}

cu_result cuMemcpyDtoHAsync_v2(void *to, cu_ptr from, size_t bytes, cu_stream s)
{
	const int pinned = is_registered(to, bytes);
	uint64_t number;

	if (!is_device(from) || !inside(from, bytes) || pinned < 0)
		return CU_INVALID_VALUE;
	number = push(s, (struct op){ .kind = COPY, .to = (uintptr_t)to, .from = from,
			.bytes = bytes });
	if (!pinned)
		wait_until_done(s, number);
	return CU_OK;
}

cu_result cuMemcpyHtoDAsync_v2(cu_ptr to, const void *from, size_t bytes, cu_stream s)
{
	const int pinned = is_registered(from, bytes);
	struct op o = { .kind = COPY, .to = to, .from = (uintptr_t)from, .bytes = bytes };

	if (!is_device(to) || !inside(to, bytes) || pinned < 0)
		return CU_INVALID_VALUE;
	if (!pinned)
		o.own = memcpy(malloc(bytes), from, bytes);
	push(s, o);
	return CU_OK;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

struct cu_graph_ {
	struct op op[NODES];
	uintptr_t n;
	bool loose; /* a node does not come after the one before */
};
struct cu_exec_ {
	struct cu_graph_ graph;
};

static cu_result add_node(cu_node *node_p, cu_graph g, const cu_node *after, size_t n_after,
				struct op o)
{
	if (g->n == NODES)
		return CU_NO_MEMORY;
	g->loose = g->loose || (g->n && (n_after != 1 || (uintptr_t)*after != g->n));
	g->op[g->n++] = o;
	*node_p = (cu_node)g->n;
	return CU_OK;
}

static struct op op_of(const struct cu_memop_node *m)
{
	return (struct op){ .kind = m->ops->op == CU_OP_WRITE64 ? WRITE : WAIT,
			    .to = m->ops->addr,
			    .value = m->ops->value };
}

cu_result cuGraphCreate(cu_graph *graph_p, unsigned flags)
{
	(void)flags;
	*graph_p = calloc(1, sizeof **graph_p);
	return CU_OK;
}

cu_result cuGraphAddMemcpyNode(cu_node *node_p, cu_graph graph, const cu_node *after,
				size_t n_after,
			       const struct cu_copy *c, cu_ctx ctx)
{
	if (!ctx || c->from.type != CU_MEMORY_DEVICE || c->to.type != CU_MEMORY_DEVICE ||
	    c->height != 1 || c->depth != 1 || !is_device(c->from.device) ||
			!is_device(c->to.device) ||
	    !inside(c->from.device, c->width) || !inside(c->to.device, c->width))
		return CU_INVALID_VALUE;
	return add_node(node_p, graph, after, n_after,
			(struct op){ .kind = COPY,
				     .to = c->to.device,
				     .from = c->from.device,
				     .bytes = c->width });
}

cu_result cuGraphAddBatchMemOpNode(cu_node *node_p, cu_graph graph, const cu_node *after,
				size_t n_after,
				   const struct cu_memop_node *ops)
{
	if (!ops->ctx || ops->n != 1 || fault("nomemops") || !is_word(ops->ops->addr))
		return CU_INVALID_VALUE;
	return add_node(node_p, graph, after, n_after, op_of(ops));
}

cu_result cuGraphExecBatchMemOpNodeSetParams(cu_exec exec, cu_node node,
				const struct cu_memop_node *ops)
{
	const uintptr_t i = (uintptr_t)node - 1;

	if (i >= exec->graph.n || exec->graph.op[i].kind != op_of(ops).kind ||
			!is_word(ops->ops->addr))
		return CU_INVALID_VALUE;
	exec->graph.op[i] = op_of(ops);
	return CU_OK;
}

cu_result cuGraphInstantiateWithFlags(cu_exec *exec_p, cu_graph graph, unsigned long long flags)
{
	(void)flags;
	*exec_p = malloc(sizeof **exec_p);
	(*exec_p)->graph = *graph;
	return CU_OK;
}

cu_result cuGraphLaunch(cu_exec exec, cu_stream stream)
{
	const struct cu_graph_ *g = &exec->graph;
	const bool turned = g->loose || fault("early");

	if (fault("fails"))
		return CU_INVALID_VALUE;
	for (uintptr_t i = 0; i < g->n; i++) {
		push(stream, g->op[turned ? g->n - 1 - i : i]);
		if (turned)
			push(stream, (struct op){ .kind = PAUSE });
	}
	return CU_OK;
}

cu_result cuGraphExecDestroy(cu_exec exec)
{
	free(exec);
	return CU_OK;
}

cu_result cuGraphDestroy(cu_graph graph)
{
	free(graph);
	return CU_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void stencil_pack(const void *arg)
{
	const struct stencil_pack *p = arg;
	const int64_t nx = p->nx, ny = p->ny, nz = p->nz, cells[] = { ny * nz, nx * nz, nx * ny };
	const double *u = inside(p->field, (size_t)(nx * ny * nz) * 8);

	for (int side = 0; side < STENCIL_SIDES; side++) {
		double *out = p->side[side] ? inside(p->side[side], (size_t)cells[side / 2] * 8) : NULL;
		const bool last = side % 2;

		for (int64_t i = 0; out && i < cells[side / 2]; i++)
			out[i] = side < 2 ? u[(last ? (nx - 1) * ny * nz : 0) + i] :
				side < 4 ? u[(i / nz * ny + (last ? ny - 1 : 0)) * nz + i % nz] :
					u[i * nz + (last ? nz - 1 : 0)];
	}
}

static void stencil_step(const void *arg)
{
	const struct stencil_step *p = arg;
	const int64_t nx = p->nx, ny = p->ny, nz = p->nz, cells[] = { ny * nz, nx * nz, nx * ny };
	const double *u = inside(p->from, (size_t)(nx * ny * nz) * 8), *ghost[STENCIL_SIDES];
	double *to = inside(p->to, (size_t)(nx * ny * nz) * 8);

	for (int side = 0; side < STENCIL_SIDES; side++)
		ghost[side] = inside(p->ghost[side], (size_t)cells[side / 2] * 8);
	for (int64_t i = 0; i < nx * ny * nz; i++) {
		const int64_t z = i % nz, y = i / nz % ny, x = i / nz / ny;

		to[i] = (u[i] + (x > 0 ? u[i - ny * nz] : ghost[0][y * nz + z]) +
			(x < nx - 1 ? u[i + ny * nz] : ghost[1][y * nz + z]) +
			(y > 0 ? u[i - nz] : ghost[2][x * nz + z]) +
			(y < ny - 1 ? u[i + nz] : ghost[3][x * nz + z]) +
			(z > 0 ? u[i - 1] : ghost[4][x * ny + y]) +
			(z < nz - 1 ? u[i + 1] : ghost[5][x * ny + y])) / 7.0;
	}
}

static void order_fill(const void *arg)
{
	const struct order_words *w = arg;
	uint64_t *at = inside(w->at, w->words * 8);

	for (uint64_t i = 0; i < w->words; i++)
		at[i] = (w->seed + i) * 0x9e3779b97f4a7c15u;
}

static void order_check(const void *arg)
{
	const struct order_words *w = arg;
	const uint64_t *at = inside(w->at, w->words * 8);
	uint64_t *wrong = inside(w->wrong, 8);

	for (uint64_t i = 0; i < w->words; i++)
		*wrong += at[i] != (w->seed + i) * 0x9e3779b97f4a7c15u;
}

/** The kernels that it knows, by their names; NULL: puts. */
static struct cu_func_ {
	const char *name;
	void (*kernel)(const void *arg);
	size_t bytes; /* of the argument */
} funcs[] = {
	{ "chard_puts", NULL, 0 },
	{ "stencil_pack", stencil_pack, sizeof(struct stencil_pack) },
	{ "stencil_step", stencil_step, sizeof(struct stencil_step) },
	{ "order_fill", order_fill, sizeof(struct order_words) },
	{ "order_check", order_check, sizeof(struct order_words) },
};

cu_result cuModuleLoadData(cu_module *module_p, const void *text)
{
	stop_while_waiting();
	*module_p = (cu_module)(uintptr_t)text;
	return strncmp(text, ".version", 8) ? CU_INVALID_VALUE : CU_OK;
}

cu_result cuModuleGetFunction(cu_func *func_p, cu_module module, const char *name)
{
	for (size_t i = 0; i < sizeof funcs / sizeof *funcs; i++)
		if (!strcmp(name, funcs[i].name) && strstr((const char *)module, name)) {
			*func_p = &funcs[i];
			return CU_OK;
		}
	return NOT_FOUND;
}

cu_result cuLaunchKernel(cu_func func, unsigned grid_x, unsigned grid_y, unsigned grid_z,
				unsigned block_x,
			 unsigned block_y, unsigned block_z, unsigned shared_bytes,
					cu_stream stream,
			 void **params, void **more)
{
	struct device_puts *puts;

	if (!grid_x || !grid_y || grid_y > DEVICE_PUTS_MOST || grid_z != 1 || !block_x || block_y != 1 ||
			block_z != 1 || shared_bytes || more)
		return CU_INVALID_VALUE;
	if (func->kernel) {
		push(stream, (struct op){ .kind = KERNEL, .kernel = func->kernel,
				.own = memcpy(malloc(func->bytes), params[0], func->bytes) });
		return CU_OK;
	}
	puts = malloc(sizeof *puts);
	memcpy(puts->put, params[0], grid_y * sizeof *puts->put);
	push(stream, (struct op){ .kind = PUTS, .puts = puts, .value = grid_y });
	return CU_OK;
}

/* ---- devices --------------------------------------------------------------------------------- */

cu_result cuInit(unsigned flags)
{
	(void)flags;
	return fault("nodevice") ? CU_NO_DEVICE : CU_OK;
}

cu_result cuDeviceGetCount(int *n_p)
{
	*n_p = fault("two") ? 2 : 1;
	return CU_OK;
}

cu_result cuDeviceGet(int *device_p, int ordinal)
{
	*device_p = ordinal;
	return CU_OK;
}

cu_result cuDeviceGetAttribute(int *value_p, int attribute, int device)
{
	(void)device;
	*value_p = attribute == CU_DEVICE_MEMOPS64 && !fault("nomemops");
	return CU_OK;
}

cu_result cuDeviceGetUuid_v2(struct cu_uuid *uuid_p, int device)
{
	*uuid_p = (struct cu_uuid){ { 'f', 'a', 'k', 'e', (unsigned char)device } };
	return CU_OK;
}

cu_result cuDevicePrimaryCtxRetain(cu_ctx *ctx_p, int device)
{
	*ctx_p = (cu_ctx)(uintptr_t)(1 + device);
	return CU_OK;
}

cu_result cuDevicePrimaryCtxRelease_v2(int device)
{
	(void)device;
	return CU_OK;
}

cu_result cuCtxGetCurrent(cu_ctx *ctx_p)
{
	*ctx_p = (cu_ctx)current;
	return CU_OK;
}

cu_result cuCtxSetCurrent(cu_ctx ctx)
{
	current = (uintptr_t)ctx;
	return CU_OK;
}

cu_result cuCtxGetStreamPriorityRange(int *least_p, int *greatest_p)
{
	*least_p = 0;
	*greatest_p = -5;
	return CU_OK;
}

cu_result cuGetErrorName(cu_result result, const char **name_p)
{
	*name_p = result == CU_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_OTHER";
	return CU_OK;
}
