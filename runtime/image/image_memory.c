/* SPDX-License-Identifier: Apache-2.0 */
/* image_memory.c: the memfds of a job, and what is valid in them. */
#include "image_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE_MAGIC "CHARDPG2"

static const struct image_memory NONE = { .slot = { -1, -1 }, .page_fd = -1 };

/* ---- the three files ---------------------------------------------------------------------- */

bool image_memory_map(struct image_memory *m, struct image_why *why)
{
	void *p = mmap(NULL, IMAGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, m->page_fd, 0);

	if (p == MAP_FAILED)
		return image_says(why, "no address space for the page of images in memory: %s; raise its "
				  "limit (ulimit -v)", strerror(errno));
	m->page = p;
	return true;
}

/* A limit on the size of files would end the job by SIGXFSZ at its first checkpoint. */
static bool sizes_are_free(struct image_why *why)
{
	struct rlimit l;

	return getrlimit(RLIMIT_FSIZE, &l) || l.rlim_cur == RLIM_INFINITY ||
	       image_says(why, "images in memory need files of any size, and there is a limit of %llu "
			  "bytes (ulimit -f)", (unsigned long long)l.rlim_cur);
}

static bool make_files(struct image_memory *m, struct image_why *why)
{
	for (int i = 0; i < IMAGE_SLOTS; i++)
		m->slot[i] = memfd_create("chard images", MFD_CLOEXEC);
	m->page_fd = memfd_create("chard images: what is valid", MFD_CLOEXEC);
	if (m->slot[0] < 0 || m->slot[1] < 0 || m->page_fd < 0 || ftruncate(m->page_fd, IMAGE_PAGE))
		return image_says(why, "images in memory cannot be made: %s", strerror(errno));
	return true;
}

bool image_memory_make(struct image_memory *m, struct image_why *why)
{
	*m = NONE;
	if (sizes_are_free(why) && make_files(m, why) && image_memory_map(m, why)) {
		memcpy(m->page->magic, PAGE_MAGIC, sizeof m->page->magic);
		return true;
	}
	image_memory_close(m);
	return false;
}

void image_memory_close(struct image_memory *m)
{
	if (m->page)
		munmap(m->page, IMAGE_PAGE);
	for (int i = 0; i < IMAGE_SLOTS; i++)
		if (m->slot[i] >= 0)
			close(m->slot[i]);
	if (m->page_fd >= 0)
		close(m->page_fd);
	*m = NONE;
}

/* ---- from the launcher to the nodes --------------------------------------------------------- */

char *image_memory_text(const struct image_memory *m, char *to, size_t n)
{
	snprintf(to, n, "%d,%d,%d", m->slot[0], m->slot[1], m->page_fd);
	return to;
}

static bool set_cloexec(const struct image_memory *m, int flag, struct image_why *why)
{
	const int all[] = { m->slot[0], m->slot[1], m->page_fd };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (fcntl(all[i], F_SETFD, flag))
			return image_says(why, "images in memory: descriptor %d: %s", all[i], strerror(errno));
	return true;
}

bool image_memory_pass(const struct image_memory *m, struct image_why *why)
{
	return set_cloexec(m, 0, why);
}

/* Anything may be open under these numbers. */
static bool page_is_ours(const struct image_memory *m, struct image_why *why)
{
	char magic[sizeof m->page->magic];

	return (lseek(m->page_fd, 0, SEEK_END) == IMAGE_PAGE &&
		pread(m->page_fd, magic, sizeof magic, 0) == sizeof magic &&
		memcmp(magic, PAGE_MAGIC, sizeof magic) == 0) ||
	       image_says(why, "CK_IMAGES: descriptor %d is not the page of images", m->page_fd);
}

bool image_memory_inherit(struct image_memory *m, const char *text, struct image_why *why)
{
	int n = -1;

	*m = NONE;
	if (sscanf(text, "%d,%d,%d%n", &m->slot[0], &m->slot[1], &m->page_fd, &n) != 3 || n < 0 ||
	    text[n]) {
		*m = NONE;
		return image_says(why, "CK_IMAGES=%.100s: it must be three descriptors", text);
	}
	if (set_cloexec(m, FD_CLOEXEC, why) && page_is_ours(m, why))
		return true;
	*m = NONE; /* whosever the descriptors are, they are not ours */
	return false;
}

/* ---- the image of a node -------------------------------------------------------------------- */

static off_t begin_of(uint32_t node)
{
	return (off_t)node << IMAGE_NODE_SHIFT;
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + IMAGE_PAGE - 1) / IMAGE_PAGE * IMAGE_PAGE;
}

static bool no_region(struct image_why *why, uint32_t node, size_t bytes, int error)
{
	return image_says(why, "there is no memory for the image of node %u, %zu bytes: %s", node, bytes,
			  strerror(error));
}

/* posix_fallocate's error, without its fallback, which writes. */
static int allocate(int fd, off_t begin, size_t bytes)
{
	int e;

	do
		e = fallocate(fd, 0, begin, (off_t)bytes) ? errno : 0;
	while (e == EINTR);
	return e;
}

static void give_back(int fd, off_t from, off_t bytes)
{
	if (bytes > 0 && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, bytes))
		return; /* it only takes more memory then */
}

/* Pages that the region has already keep their mapping: to touch them again costs no fault. */
static bool map_more(int fd, struct image_region *r, off_t begin, size_t bytes,
		     struct image_why *why, uint32_t node)
{
	void *p = r->base ? mremap(r->base, r->bytes, bytes, MREMAP_MAYMOVE) :
			    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, begin);

	if (p == MAP_FAILED)
		return no_region(why, node, bytes, errno);
	*r = (struct image_region){ .base = p, .bytes = bytes };
	return true;
}

bool image_region_reserve(const struct image_memory *m, struct image_region *r, uint64_t sequence,
			  uint32_t node, size_t bytes, struct image_why *why)
{
	const int fd = m->slot[sequence % IMAGE_SLOTS];
	const off_t begin = begin_of(node);
	const size_t needed = whole_pages(bytes);

	if (needed > (size_t)1 << IMAGE_NODE_SHIFT || node >= IMAGE_NODES_MOST)
		return no_region(why, node, bytes, EFBIG);
	if (needed > r->bytes || !r->base) {
		const int e = allocate(fd, begin, needed);

		if (e) {
			give_back(fd, begin + (off_t)r->bytes, (off_t)(needed - r->bytes));
			return no_region(why, node, bytes, e);
		}
	}
	if (needed != r->bytes && !map_more(fd, r, begin, needed, why, node))
		return false;
	give_back(fd, begin + (off_t)needed, begin_of(node + 1) - begin - (off_t)needed);
	memset(r->base, 0, sizeof(struct image_head));
	return true;
}

/* Before Linux 5.14 they come by faults. */
void image_region_touch(char *block, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	madvise(block, bytes, MADV_POPULATE_WRITE);
#else
	(void)block, (void)bytes;
#endif
}

/* The head says how long the rest is; what it says is checked against the file by a read. */
static bool read_size(int fd, off_t begin, uint64_t sequence, uint32_t node, size_t *bytes,
		      struct image_why *why)
{
	struct image_head h;
	char last;

	if (pread(fd, &h, sizeof h, begin) != sizeof h ||
	    memcmp(h.magic, IMAGE_MAGIC, sizeof h.magic))
		return image_says(why, "the memory of the job has no image of node %u", node);
	if (h.sequence != sequence || h.node != node)
		return image_says(why, "the memory of the job has node %u of checkpoint %llu where node %u of "
				  "checkpoint %llu should be", h.node, (unsigned long long)h.sequence, node,
				  (unsigned long long)sequence);
	if (h.bytes < IMAGE_PAGE || h.bytes > (uint64_t)1 << IMAGE_NODE_SHIFT ||
	    pread(fd, &last, 1, begin + (off_t)h.bytes - 1) != 1)
		return image_says(why, "the image of node %u is damaged: its length", node);
	*bytes = h.bytes;
	return true;
}

bool image_region_read_at(int fd, uint64_t begin, struct image_region *r, uint64_t sequence,
			  uint32_t node, size_t *bytes, struct image_why *why)
{
	if (!read_size(fd, (off_t)begin, sequence, node, bytes, why))
		return false;

	const size_t whole = whole_pages(*bytes);
	void *p = mmap(NULL, whole, PROT_READ, MAP_SHARED, fd, (off_t)begin);

	if (p == MAP_FAILED)
		return no_region(why, node, *bytes, errno);
	*r = (struct image_region){ .base = p, .bytes = whole };
	return true;
}

bool image_region_read(const struct image_memory *m, struct image_region *r, uint64_t sequence,
		       uint32_t node, size_t *bytes, struct image_why *why)
{
	if (node >= IMAGE_NODES_MOST)
		return no_region(why, node, 0, EFBIG);
	return image_region_read_at(m->slot[sequence % IMAGE_SLOTS], (uint64_t)begin_of(node), r, sequence,
				    node, bytes, why);
}

void image_region_unmap(struct image_region *r)
{
	if (r->base)
		munmap(r->base, r->bytes);
	*r = (struct image_region){ 0 };
}

void image_memory_forget(const struct image_memory *m, uint64_t sequence, uint32_t first_node)
{
	give_back(m->slot[sequence % IMAGE_SLOTS], begin_of(first_node),
		  begin_of(IMAGE_NODES_MOST) - begin_of(first_node));
}

/* ---- what is valid -------------------------------------------------------------------------- */

/* The caller has heard from every node that its image is complete. So these writes have happened
 * before the store, and whoever sees its number, by the load with acquire, sees them, too. The page
 * and the images are memory of one host. A writer of the next checkpoint but one begins only after
 * the next is committed, so whoever reads the newest reads no slot that is being written. */
/* Relaxed: nobody writes at the same time, and who reads is a later process, or waits for the
 * writer's death. */
static uint64_t since(const _Atomic uint64_t *of)
{
	return atomic_load_explicit(of, memory_order_relaxed);
}

void image_since_up(struct image_since *s, uint64_t now_ns)
{
	const uint64_t died_ns = since(&s->died_ns);

	if (died_ns > since(&s->up_ns))
		atomic_store_explicit(&s->down_ns, since(&s->down_ns) + now_ns - died_ns,
				      memory_order_relaxed);
	atomic_store_explicit(&s->up_ns, now_ns, memory_order_relaxed);
}

/* Nodes that die while they start again have lost nothing, and the first death's time counts. */
void image_since_died(struct image_since *s, uint64_t saved_ns, uint64_t now_ns)
{
	const uint64_t up_ns = since(&s->up_ns), from_ns = saved_ns > up_ns ? saved_ns : up_ns;

	if (up_ns <= since(&s->died_ns))
		return;
	atomic_store_explicit(&s->lost_ns, since(&s->lost_ns) + now_ns - from_ns, memory_order_relaxed);
	atomic_store_explicit(&s->died_ns, now_ns, memory_order_relaxed);
}

void image_memory_commit(const struct image_memory *m, uint64_t sequence,
			 const struct image_info *info)
{
	m->page->info[sequence % IMAGE_SLOTS] = *info;
	atomic_store_explicit(&m->page->committed, sequence, memory_order_release);
}

/* Pairs with the store in image_memory_commit. A reader beside a running job may see the info of the
 * next checkpoint but one: then the number has changed, and it reads again. */
uint64_t image_memory_committed(const struct image_memory *m, struct image_info *info)
{
	uint64_t sequence = atomic_load_explicit(&m->page->committed, memory_order_acquire), again;

	for (; info; sequence = again) {
		*info = m->page->info[sequence % IMAGE_SLOTS];
		atomic_thread_fence(memory_order_acquire);
		again = atomic_load_explicit(&m->page->committed, memory_order_relaxed);
		if (again == sequence)
			break;
	}
	return sequence;
}
