/* SPDX-License-Identifier: Apache-2.0 */
/* What a node says when it cannot guard its ports or cannot watch the other hosts. The linker leads the calls that
 * fail here past the system (Makefile). What strangers meet is in tests/rig/strangers.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <pthread.h>
#include <sys/socket.h>

#include "../../runtime/machine/alive/fault.h"
#include "../../runtime/machine/alive/hosts/guard.h"
#include "../../runtime/machine/machine_int.h"
#include "../../runtime/machine/alive/hosts/pulse.h"
#include "../../runtime/machine/alive/hosts/pulse_net.h"

enum { NODES = 2, MANY = 2100 };

static enum { NOTHING, FILTER, FOLDER, THREAD } refused;
static jmp_buf died;
static char said[512];

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg);
void __wrap_machine_die(struct cmi *m, const char *format, ...);

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (refused != FILTER || name != SO_ATTACH_FILTER)
		return __real_setsockopt(fd, level, name, value, len);
	errno = ENOMEM;
	return -1;
}

DIR *__wrap_opendir(const char *path)
{
	if (refused != FOLDER)
		return __real_opendir(path);
	errno = EMFILE;
	return NULL;
}

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg)
{
	return refused == THREAD ? EAGAIN : __real_pthread_create(t, a, run, arg);
}

void __wrap_machine_die(struct cmi *m, const char *format, ...)
{
	va_list ap;

	(void)m;
	va_start(ap, format);
	vsnprintf(said, sizeof said, format, ap);
	va_end(ap);
	longjmp(died, 1);
}

/* Node 0 of a job of n nodes, each on a host of its own with one address, and one socket of UCX that listens. */
struct job {
	struct cmi m;
	uint32_t at[2];
	struct sockaddr_in listens;
	int fd;
};

static void job_open(struct job *j, int n)
{
	socklen_t len = sizeof j->listens;

	memset(j, 0, sizeof *j);
	setenv("CK_GUARD", "1", 1);
	setenv("UCX_NET_DEVICES", "lo", 1);
	j->fd = socket(AF_INET, SOCK_STREAM, 0);
	j->listens.sin_family = AF_INET;
	j->listens.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(j->fd, (struct sockaddr *)&j->listens, sizeof j->listens), 0);
	assert_int_equal(listen(j->fd, 1), 0);
	assert_int_equal(getsockname(j->fd, (struct sockaddr *)&j->listens, &len), 0);
	j->m.job.n_nodes = j->m.job.n_pes = n;
	j->m.job.my_n_pes = j->m.job.pes_on_host = 1;
	j->m.addresses.bytes = (unsigned char *)&j->listens.sin_port;
	j->m.addresses.at = j->at;
	j->at[1] = sizeof j->listens.sin_port;
	pulse_open(&j->m);
	for (int node = 0; node < n; node++) {
		struct pulse_name name = {.rail = {{.family = 4, .port = 1}}};
		const uint32_t address = htonl(0x7f010000u + (uint32_t)node);

		memcpy(name.rail[0].bytes, &address, sizeof address);
		pulse_learn(&j->m, node, &name);
	}
}

static void job_close(struct job *j)
{
	pulse_close(&j->m);
	close(j->fd);
	refused = NOTHING;
}

/* A job that ends leaves its memory to the system. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#else
static void __lsan_disable(void) { }
static void __lsan_enable(void) { }
#endif

/* What start() says in a job of n nodes whose system refuses `what`; "": it returns. */
static const char *says(int what, int n, void (*start)(struct cmi *))
{
	static struct job j;

	job_open(&j, n);
	refused = what;
	said[0] = 0;
	if (what != NOTHING || n == MANY)
		__lsan_disable();
	if (!setjmp(died))
		start(&j.m);
	if (what != NOTHING || n == MANY)
		__lsan_enable();
	job_close(&j);
	return said;
}

static void ports_are_guarded(void **state)
{
	(void)state;
	assert_string_equal(says(NOTHING, NODES, guard_start), "");
}

static void a_filter_that_the_kernel_refuses_ends_the_job(void **state)
{
	(void)state;
	assert_string_equal(says(FILTER, NODES, guard_start),
			    "node 0 cannot guard its TCP ports: Cannot allocate memory; without CK_GUARD anybody may "
			    "connect");
}

static void sockets_that_cannot_be_found_end_the_job(void **state)
{
	(void)state;
	assert_string_equal(says(FOLDER, NODES, guard_start),
			    "node 0 cannot guard its TCP ports: /proc/self/fd: Too many open files");
}

static void too_many_addresses_end_the_job(void **state)
{
	(void)state;
	assert_string_equal(says(NOTHING, MANY, guard_start),
			    "CK_GUARD=1 cannot guard a job whose hosts have 2100 addresses; the kernel takes 2044");
}

static void a_heartbeat_without_a_thread_ends_the_job(void **state)
{
	(void)state;
	assert_string_equal(says(THREAD, NODES, pulse_start),
			    "node 0 cannot start the thread of its heartbeat; raise the limit on threads (ulimit -u), "
			    "or go without (CK_PEER_TIMEOUT=0)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_are_guarded),
		cmocka_unit_test(a_filter_that_the_kernel_refuses_ends_the_job),
		cmocka_unit_test(sockets_that_cannot_be_found_end_the_job),
		cmocka_unit_test(too_many_addresses_end_the_job),
		cmocka_unit_test(a_heartbeat_without_a_thread_ends_the_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
