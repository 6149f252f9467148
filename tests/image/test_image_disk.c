/* SPDX-License-Identifier: Apache-2.0 */
/* test_image_disk.c: a checkpoint on disk is whole or absent, whichever system call is the last one
 * or fails. The linker passes those that change anything to this file (--wrap). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "sample.h"
#include "../../runtime/image/image_file.h"
#include "../../runtime/image/image_folder.h"
#include "../../runtime/image/image_set.h"
#include "../../runtime/image/image_task.h"
#include "../../runtime/image/image_zstd.h"

enum { NODES = 2, DIES = 77 };

/* ---- calls that fail ------------------------------------------------------------------------ */

enum how { FAILS, DIES_BEFORE, DIES_AFTER };

static struct {
	int at;                      /* which call from now on; 0: none */
	int n;                       /* calls so far */
	enum how how;
	int error;
} fault;

/* Whether this call fails. */
static bool is_hit(void)
{
	if (!fault.at || ++fault.n != fault.at)
		return false;
	if (fault.how == DIES_BEFORE)
		_exit(DIES);
	errno = fault.error;
	return fault.how == FAILS;
}

static void is_over(void)
{
	if (fault.at && fault.n == fault.at && fault.how == DIES_AFTER)
		_exit(DIES);
}

#define WRAP(name, params, args)                                                                 \
	int __real_##name params;                                                                \
	int __wrap_##name params;                                                                \
	int __wrap_##name params                                                                 \
	{                                                                                        \
		if (is_hit())                                                                    \
			return -1;                                                               \
		const int done = __real_##name args;                                             \
		is_over();                                                                       \
		return done;                                                                     \
	}

WRAP(fdatasync, (int fd), (fd))
WRAP(fsync, (int fd), (fd))
WRAP(mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(rmdir, (const char *path), (path))
WRAP(unlink, (const char *path), (path))
WRAP(rename, (const char *from, const char *to), (from, to))
WRAP(symlink, (const char *from, const char *to), (from, to))
WRAP(link, (const char *from, const char *to), (from, to))

/* A file that cannot be closed is closed. */
int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
	const bool hit = is_hit();
	const int error = errno, done = __real_close(fd);

	is_over();
	errno = hit ? error : errno;
	return hit ? -1 : done;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	if (is_hit())
		return -1;

	const int fd = __real_open(path, flags, 0666);

	is_over();
	return fd;
}

/* What a file system may do: refuse O_DIRECT when it is asked to write, or take less than it is
 * given, which leaves no whole pages. */
static enum { TAKES_ALL, NOT_DIRECT, TAKES_BITS } disk;

/* A disk that is full has taken a part. */
ssize_t __real_pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at);

ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at)
{
	if (fault.at && fault.n + 1 == fault.at)
		__real_pwrite(fd, p, n / 2, at);
	if (is_hit())
		return -1;

	if (disk == NOT_DIRECT && (fcntl(fd, F_GETFL) & O_DIRECT)) {
		errno = EINVAL;
		return -1;
	}

	const ssize_t done = __real_pwrite(fd, p, disk == TAKES_BITS && n > 5000 ? 5000 : n, at);

	is_over();
	return done;
}

/* ---- a job ---------------------------------------------------------------------------------- */

static char dir[256];
static const char *job = "";

static struct image_folder folder_of_job(void)
{
	return (struct image_folder){ .dir = dir, .job = job, .keep = 2 };
}

static bool write_node(uint64_t sequence, uint32_t node, bool zstd, struct image_file *file,
		       struct image_why *why)
{
	const struct sample s = { .node = node, .n_nodes = NODES, .sequence = sequence,
				  .n_elements = 40 + node, .element_bytes = 300 };
	size_t bytes;
	char path[IMAGE_PATH], *image = sample_image(&s, &bytes);
	struct image_write w = { .image = image, .zstd = zstd,
				 .path = image_folder_node(path, dir, sequence, node) };
	const bool ok = image_write_file(&w, why);

	*file = (struct image_file){ .node = node, .first_pe = node * SAMPLE_PES, .n_pes = SAMPLE_PES,
				     .bytes = w.bytes, .sum = w.sum };
	free(image);
	return ok;
}

static struct image_manifest manifest_of(uint64_t sequence, struct image_file *files)
{
	struct image_manifest m = { .version = "0", .program = "prog", .args = "a\nb", .fingerprint = 5,
				    .job = SAMPLE_JOB, .sequence = sequence, .epoch = 1,
				    .n_pes = NODES * SAMPLE_PES, .n_nodes = NODES, .most_pes = 8,
				    .files = files };

	image_abi(m.abi, 12);
	return m;
}

static bool checkpoint_as(struct image_folder *f, uint64_t sequence, bool zstd,
			  struct image_why *why)
{
	struct image_file files[NODES];
	const struct image_manifest m = manifest_of(sequence, files);

	if (!image_folder_begin(f, sequence, why))
		return false;
	for (uint32_t i = 0; i < NODES; i++)
		if (!write_node(sequence, i, zstd, &files[i], why)) {
			image_folder_abandon(f, sequence);
			return false;
		}
	return image_folder_commit(f, &m, why);
}

static bool checkpoint(struct image_folder *f, uint64_t sequence, struct image_why *why)
{
	return checkpoint_as(f, sequence, false, why);
}

/* A job that takes one checkpoint. */
static void good_checkpoint(uint64_t sequence)
{
	struct image_folder f = folder_of_job();
	struct image_why why = { "" };

	if (!checkpoint(&f, sequence, &why))
		fail_msg("%s", why.text);
	image_folder_close(&f);
}

/* ---- what is there -------------------------------------------------------------------------- */

static struct image_expect expected(void)
{
	static char abi[IMAGE_TEXT];

	return (struct image_expect){ .abi = image_abi(abi, 12), .program = "prog", .fingerprint = 5 };
}

static bool read_file(const struct image_set *s, uint32_t node, struct image_why *why)
{
	struct image_map m;
	bool ok = image_set_check(s, node, why) && image_set_map(s, node, &m, why);

	if (!ok)
		return false;
	for (uint32_t i = 0; ok && i < m.in.head->n_pes; i++) {
		const struct image_record *r;
		struct image_walk w;
		uint32_t n = 0;

		ok = image_walk_begin(&w, &m.in, m.in.head->first_pe + i, why);
		while (ok && (r = image_walk_next(&w, why)))
			ok = image_walk_check(&w, r, why) && ++n;
		ok = ok && !why->text[0] && n == 41 + node + (node == 0 && i == 0);
		image_walk_end(&w);
	}
	image_unmap(&m);
	return ok;
}

/* The sequence of the checkpoint from which a job would start, whose every record is right; 0: it
 * is refused, or there is none. */
static uint64_t good_one_at(const char *path, struct image_why *why)
{
	const struct image_expect e = expected();
	struct image_set s;

	why->text[0] = '\0';
	if (!image_set_open(&s, path, &e, why))
		return 0;

	const uint64_t sequence = s.m.sequence;
	bool ok = true;

	for (uint32_t i = 0; i < NODES; i++)
		ok = ok && read_file(&s, i, why);
	image_set_close(&s);
	return ok ? sequence : 0;
}

static uint64_t good_one(void)
{
	struct image_why why;

	return good_one_at(dir, &why);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* The names in the folder, in order: "ck-000001 latest". */
static const char *names(void)
{
	static char text[1024];
	char name[32][64];
	size_t n = 0;
	const struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d)) && n < 32)
		if (e->d_name[0] != '.')
			snprintf(name[n++], sizeof *name, "%.60s", e->d_name);
	if (d)
		closedir(d);
	qsort(name, n, sizeof *name, by_name);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", name[i]);
	return text;
}

static int make(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	fault.at = 0;
	job = "";
	snprintf(dir, sizeof dir, "%.200s/image-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(dir) ? 0 : -1;
}

static int drop(void **state)
{
	char command[300];

	(void)state;
	fault.at = 0;
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void two_are_kept(void **state)
{
	struct image_folder f = folder_of_job();
	struct image_why why = { "" };

	(void)state;
	assert_int_equal(image_folder_newest(dir), 0);
	for (uint64_t s = 1; s <= 4; s++) {
		assert_true(checkpoint(&f, s, &why));
		assert_int_equal(good_one(), s);
	}
	assert_string_equal(names(), "ck-000003 ck-000004 latest lock");
	assert_int_equal(image_folder_newest(dir), 4);
	assert_false(image_folder_begin(&f, 4, &why));
	assert_non_null(strstr(why.text, "ck-000004 is there already"));
	f.keep = 1;
	assert_true(checkpoint(&f, 1000000, &why));
	assert_int_equal(good_one(), 1000000);
	image_folder_close(&f);
	assert_string_equal(names(), "ck-1000000 latest");
}

static void compressed_files_are_read(void **state)
{
	struct image_folder f = folder_of_job();
	struct image_why why = { "" };

	(void)state;
	if (!image_zstd_is_there(&why))
		skip();
	assert_true(checkpoint_as(&f, 1, true, &why));
	assert_int_equal(good_one(), 1);
	image_folder_close(&f);
}

static void a_task_writes_beside_its_caller(void **state)
{
	const struct sample s = { .n_nodes = NODES, .sequence = 1, .n_elements = 100000,
				  .element_bytes = 300 };
	char path[IMAGE_PATH];
	size_t bytes;
	char *image = sample_image(&s, &bytes);
	struct image_write w = { .image = image, .path = path };
	struct image_task t = { 0 };

	(void)state;
	snprintf(path, sizeof path, "%s/file", dir);
	assert_false(image_task_wait(&t));
	assert_false(image_task_done(&t));
	for (int i = 0; i < 2; i++) {
		image_task_start(&t, image_write_file, &w, 0, NULL);
		while (!image_task_done(&t))
			sched_yield();
		assert_int_equal(t.ok, i == 0);
	}
	assert_non_null(strstr(t.why.text, "File exists"));
	assert_int_equal(w.bytes, 0);
	assert_int_equal(unlink(path), 0);
	image_task_start(&t, image_write_file, &w, 0, NULL);
	assert_true(image_task_wait(&t));
	assert_true(t.ok);
	assert_int_equal(w.bytes, bytes);
	assert_int_equal(w.written, bytes);
	assert_int_equal(w.sum, image_sum(image, bytes));
	assert_false(image_task_done(&t));
	free(image);
}

static void any_file_system_gets_all_bytes(void **state)
{
	const struct sample s = { .n_nodes = NODES, .sequence = 1, .n_elements = 1000,
				  .element_bytes = 300 };
	char path[IMAGE_PATH];
	size_t bytes;
	char *image = sample_image(&s, &bytes), *found = malloc(bytes + 1);
	struct image_write w = { .image = image, .path = path };
	struct image_why why = { "" };

	(void)state;
	snprintf(path, sizeof path, "%s/file", dir);
	for (disk = TAKES_ALL; disk <= TAKES_BITS; disk++) {
		const bool ok = image_write_file(&w, &why);
		const int fd = open(path, O_RDONLY);

		if (!ok || read(fd, found, bytes + 1) != (ssize_t)bytes || memcmp(found, image, bytes))
			fail_msg("file system %d: %s", disk, why.text);
		assert_int_equal(w.sum, image_sum(image, bytes));
		close(fd);
		unlink(path);
	}
	disk = TAKES_ALL;
	free(found);
	free(image);
}

static void each_call_may_fail(void **state)
{
	static const int errors[] = { ENOSPC, EIO, EROFS, EDQUOT };
	int n = 0;

	(void)state;
	good_checkpoint(1);
	good_checkpoint(2);
	for (uint64_t s = 3;; s++) {
		struct image_folder f = folder_of_job();
		struct image_why why = { "" };
		const uint64_t before = image_folder_newest(dir);

		fault.n = 0;
		fault.how = FAILS;
		fault.error = errors[s % 4];
		fault.at = ++n;

		const bool ok = checkpoint(&f, s, &why);
		const bool hit = fault.n >= fault.at;

		fault.at = 0;
		if (!ok && !strstr(why.text, strerror(fault.error)) && !strstr(why.text, "another job"))
			fail_msg("call %d: \"%s\"", n, why.text);
		if (good_one() != (ok ? s : before))
			fail_msg("call %d: %s, but %llu is there: %s", n, ok ? "written" : why.text,
				 (unsigned long long)good_one(), names());
		if (!ok && strstr(names(), ".tmp"))
			fail_msg("call %d: %s; %s", n, why.text, names());
		image_folder_close(&f);
		unlink(f.lock.path); /* closing may have failed; this process still lives */
		good_checkpoint(++s);
		if (strstr(names(), "tmp") || strlen(names()) != strlen("ck-000001 ck-000002 latest"))
			fail_msg("call %d: %s", n, names());
		if (!hit)
			break;
	}
	printf("a checkpoint makes %d calls that change something\n", n - 1);
	assert_in_range(n, 40, 200);
}

static bool dies_at(int n, enum how how, uint64_t sequence)
{
	int status;
	const pid_t pid = fork();

	if (pid == 0) {
		struct image_folder f = folder_of_job();
		struct image_why why = { "" };

		fault.n = 0;
		fault.how = how;
		fault.at = n;
		_exit(checkpoint(&f, sequence, &why) ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == DIES || WEXITSTATUS(status) == 0));
	return WEXITSTATUS(status) == DIES;
}

/* The job's first checkpoint, and a later one. */
static void each_call_may_be_the_last(void **state)
{
	uint64_t s = 0;
	int n[2] = { 0 };

	(void)state;
	for (int later = 0; later < 2; later++)
		for (bool died = true; died;) {
			const uint64_t before = good_one();

			assert_true(before == s || !later);
			died = dies_at(n[later] / 2 + 1, n[later] % 2 ? DIES_AFTER : DIES_BEFORE, s + 1);
			n[later]++;
			if (good_one() != before && good_one() != s + 1)
				fail_msg("call %d: %s", n[later], names());
			s = image_folder_newest(dir);
			if (later) {
				good_checkpoint(++s); /* the dead job's lock is no obstacle */
				if (strstr(names(), "tmp"))
					fail_msg("call %d: %s", n[later], names());
			} else if (died) {
				drop(NULL);
				assert_int_equal(__real_mkdir(dir, 0700), 0);
				s = 0;
			}
		}
	printf("stopped at %d moments\n", n[0] + n[1] - 2);
	assert_in_range(n[0], 60, 400);
	assert_in_range(n[1], 80, 400);
}

static int in_a_child(int (*run)(void))
{
	int status;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Returns 0; 77: it cannot be tried here. */
static int fill_a_disk(void)
{
	struct image_folder f = folder_of_job();
	struct image_why why = { "" };

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=160k"))
		return 77;
	if (!checkpoint(&f, 1, &why) || good_one() != 1 || checkpoint(&f, 2, &why))
		return 1;
	if (!strstr(why.text, "No space left on device") || good_one() != 1)
		return 2;
	if (strcmp(names(), "ck-000001 latest lock"))
		return 3;
	if (mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL))
		return 77;
	if (checkpoint(&f, 3, &why) || !strstr(why.text, "Read-only file system") || good_one() != 1)
		return 4;
	return 0;
}

static void full_and_read_only_disks_keep_what_they_have(void **state)
{
	(void)state;

	const int code = in_a_child(fill_a_disk);

	if (code == 77)
		skip();
	assert_int_equal(code, 0);
}

static bool checkpoint_task(void *arg, struct image_why *why)
{
	return checkpoint(arg, 2, why);
}

static int limit_files(void)
{
	struct image_folder f = folder_of_job();
	struct image_task t = { 0 };

	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 20000, 20000 });
	image_task_start(&t, checkpoint_task, &f, 0, NULL);
	image_task_wait(&t);
	return t.ok || !strstr(t.why.text, "File too large") || good_one() != 1;
}

static void a_limit_on_files_is_an_error(void **state)
{
	(void)state;
	good_checkpoint(1);
	assert_int_equal(in_a_child(limit_files), 0);
	assert_int_equal(good_one(), 1);
}

/* ---- the lock ------------------------------------------------------------------------------- */

static void write_lock(const char *text)
{
	struct image_why why;
	char path[400];

	snprintf(path, sizeof path, "%s/lock", dir);
	unlink(path);
	assert_true(image_write_text(path, text, strlen(text), &why));
}

static void two_jobs_do_not_write_into_one_folder(void **state)
{
	struct image_folder a = folder_of_job(), b = folder_of_job();
	struct image_why why = { "" };

	(void)state;
	assert_true(checkpoint(&a, 1, &why));
	assert_false(checkpoint(&b, 2, &why));
	assert_non_null(strstr(why.text, "another job writes its checkpoints here: process"));
	assert_true(checkpoint(&a, 2, &why));
	image_folder_close(&b);
	assert_true(checkpoint(&a, 3, &why));
	image_folder_close(&a);
	assert_true(checkpoint(&b, 4, &why));
	image_folder_close(&b);
}

static void a_lock_that_is_taken_away_is_noticed(void **state)
{
	struct image_folder a = folder_of_job();
	struct image_why why = { "" };

	(void)state;
	assert_true(checkpoint(&a, 1, &why));
	write_lock("host other\nboot b\nspace s\npid 5\nstart 6\njob \n");
	assert_false(checkpoint(&a, 2, &why));
	assert_non_null(strstr(why.text, "another job has taken this folder"));
	image_folder_close(&a);
	assert_string_equal(names(), "ck-000001 ck-000002.tmp latest lock");
}

static void only_a_dead_owner_is_no_obstacle(void **state)
{
	char host[100], boot[100] = "", space[300], text[600];
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
	const ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space - 1);

	(void)state;
	assert_true(f && fscanf(f, "%99s", boot) == 1 && n > 0 && gethostname(host, sizeof host) == 0);
	fclose(f);
	space[n] = '\0';
	job = "slurm_7";

	const struct {
		const char *host, *boot, *space, *start, *job;
		bool dead;
	} cases[] = {
		{ host, boot, space, "1", "", true },                   /* its number is another's now */
		{ host, "another-boot", space, "1", "", true },         /* the host has been started again */
		{ "elsewhere", "another-boot", space, "1", "", false }, /* who knows */
		{ host, boot, "pid:[1]", "1", "", false },              /* another container */
		{ "elsewhere", "another-boot", space, "1", "slurm_7", true },
		{ "elsewhere", "another-boot", space, "1", "slurm_8", false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct image_folder a = folder_of_job();
		struct image_why why = { "" };

		snprintf(text, sizeof text, "host %s\nboot %s\nspace %s\npid 1\nstart %s\njob %s\n",
			 cases[i].host, cases[i].boot, cases[i].space, cases[i].start, cases[i].job);
		write_lock(text);
		if (checkpoint(&a, i + 1, &why) != cases[i].dead)
			fail_msg("case %zu: %s", i, why.text);
		image_folder_close(&a);
	}
	write_lock("host");

	struct image_folder a = folder_of_job();
	struct image_why why = { "" };

	assert_false(checkpoint(&a, 20, &why));
	assert_non_null(strstr(why.text, "not the file of a job"));
}

/* Nobody reaps the child before the next job comes. */
static void an_owner_that_is_not_reaped_is_dead(void **state)
{
	siginfo_t how;
	const pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct image_folder f = folder_of_job();
		struct image_why why = { "" };

		_exit(checkpoint(&f, 1, &why) ? 0 : 1);
	}
	assert_int_equal(waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT), 0);
	assert_int_equal(how.si_status, 0);
	good_checkpoint(2);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- the reader ----------------------------------------------------------------------------- */

static char *path_of(const char *name)
{
	static char path[400];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static size_t load(const char *name, char *to, size_t room)
{
	FILE *f = fopen(path_of(name), "r");
	const size_t n = fread(to, 1, room, f);

	fclose(f);
	return n;
}

static void store(const char *name, const char *from, size_t n)
{
	FILE *f = fopen(path_of(name), "w");

	assert_int_equal(fwrite(from, 1, n, f), n);
	fclose(f);
}

static void assert_refused(const char *words)
{
	struct image_why why;

	assert_int_equal(good_one_at(dir, &why), 0);
	if (!strstr(why.text, words))
		fail_msg("\"%s\" has no \"%s\"", why.text, words);
}

static void each_flipped_bit_of_a_manifest_is_found(void **state)
{
	char text[4096];

	(void)state;
	good_checkpoint(1);

	const size_t n = load("ck-000001/MANIFEST", text, sizeof text);

	assert_in_range(n, 200, 1000);
	for (size_t i = 0; i < 8 * n; i++) {
		struct image_manifest m;
		struct image_why why;

		text[i / 8] ^= (char)(1 << i % 8);
		assert_false(image_manifest_parse(&m, "MANIFEST", text, n, &why));
		text[i / 8] ^= (char)(1 << i % 8);
	}
	for (size_t i = 0; i < n; i++) {
		struct image_manifest m;
		struct image_why why;

		assert_false(image_manifest_parse(&m, "MANIFEST", text, i, &why));
	}
}

/* With a right sum: somebody has written it so. */
static void manifests_that_cannot_be_are_refused(void **state)
{
	static const char *const from_to[][3] = {
		{ "format 1", "format 2", "which reads format 1" },
		{ "format 1", "form", "is not the manifest" },
		{ "sequence 1", "sequence x", "\"sequence\"" },
		{ "sequence 1", "sequence 99999999999999999999999x", "\"sequence\"" },
		{ "pes 6", "pes 4294967296", "\"pes\"" },
		{ "pes 6", "pes 7", "the nodes have 6 PEs, the job 7" },
		{ "nodes 2", "nodes 0", "cannot be" },
		{ "nodes 2", "nodes 3", "the line of node 2" },
		{ "nodes 2", "nodes 1", "the nodes have 3 PEs" },
		{ "nodes 2", "nodes 4000000000", "cannot be" },
		{ "file 1 3", "file 1 4", "the line of node 1" },
		{ "file 0", "file 5", "the line of node 0" },
		{ "program prog", "program other", "is of the program other" },
		{ "fingerprint 0000000000000005", "fingerprint 0000000000000006", "another version of prog" },
		{ "abi little", "abi big", "another kind of machine" },
		{ "job 000000000000004d", "job 000000000000004e", "is of checkpoint 1 of job 000000000000004d" },
		{ "sequence 1", "sequence 2", "of checkpoint 2" },
		{ "file 1 3 3 ", "file 1 3 3 1", "the manifest says" },
	};
	char text[4096], changed[4200];

	(void)state;
	good_checkpoint(1);

	const size_t n = load("ck-000001/MANIFEST", text, sizeof text - 1) - 22;

	text[n] = '\0';
	for (size_t i = 0; i < sizeof from_to / sizeof *from_to; i++) {
		char *at = strstr(text, from_to[i][0]);
		const size_t old = strlen(from_to[i][0]);

		assert_non_null(at);
		if (at > text && at[-1] != '\n') /* most_pes */
			at = strstr(at + 1, from_to[i][0]);
		assert_non_null(at);

		size_t len = (size_t)snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text,
					      from_to[i][1], at + old);

		len += (size_t)snprintf(changed + len, sizeof changed - len, "xxh3 %016llx\n",
					(unsigned long long)image_sum(changed, len));
		store("ck-000001/MANIFEST", changed, len);
		assert_refused(from_to[i][2]);
	}
}

static void wrong_files_are_refused(void **state)
{
	static char one[1 << 20], other[1 << 20];

	(void)state;
	good_checkpoint(1);
	good_checkpoint(2);

	const size_t n = load("ck-000002/node-00001", one, sizeof one);
	const size_t m = load("ck-000001/node-00001", other, sizeof other);

	one[n / 2] ^= 1;
	store("ck-000002/node-00001", one, n);
	assert_refused("node-00001 is damaged: its sum is not that of the manifest");
	store("ck-000002/node-00001", one, n - 1);
	assert_refused("the manifest says");
	assert_int_equal(m, n);
	store("ck-000002/node-00001", other, m);
	assert_refused("its sum is not");
	unlink(path_of("ck-000002/node-00001"));
	assert_refused("No such file");
	one[n / 2] ^= 1;
	store("ck-000002/node-00001", one, n);
	assert_int_equal(good_one(), 2);
	unlink(path_of("latest"));
	assert_int_equal(good_one(), 2);
	unlink(path_of("ck-000002/MANIFEST"));
	assert_refused("MANIFEST");

	struct image_why why;

	assert_int_equal(good_one_at(path_of("ck-000001"), &why), 1);
}

static void an_empty_folder_has_no_checkpoint(void **state)
{
	char found[IMAGE_PATH];

	(void)state;
	assert_refused("there is no checkpoint in it");
	assert_false(image_set_find(found, dir, NULL));
	assert_int_equal(rmdir(dir), 0);
	assert_refused("No such file");
	good_checkpoint(1);
	assert_true(image_set_find(found, dir, NULL));
}

#define FACT(f) cmocka_unit_test_setup_teardown(f, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FACT(two_are_kept),
		FACT(compressed_files_are_read),
		FACT(a_task_writes_beside_its_caller),
		FACT(any_file_system_gets_all_bytes),
		FACT(each_call_may_fail),
		FACT(each_call_may_be_the_last),
		FACT(full_and_read_only_disks_keep_what_they_have),
		FACT(a_limit_on_files_is_an_error),
		FACT(two_jobs_do_not_write_into_one_folder),
		FACT(a_lock_that_is_taken_away_is_noticed),
		FACT(only_a_dead_owner_is_no_obstacle),
		FACT(an_owner_that_is_not_reaped_is_dead),
		FACT(each_flipped_bit_of_a_manifest_is_found),
		FACT(manifests_that_cannot_be_are_refused),
		FACT(wrong_files_are_refused),
		FACT(an_empty_folder_has_no_checkpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
