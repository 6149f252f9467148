/* SPDX-License-Identifier: Apache-2.0 */
/* test_limits.c: the least limit of a process's control groups is found, wherever it stands. */
#include "../../runtime/machine/tools/cmi_limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char top[64], proc[96];

static void write_file(const char *path, const char *text)
{
	char full[512];

	for (const char *p = path; (p = strchr(p + 1, '/'));) {
		snprintf(full, sizeof full, "%s%.*s", top, (int)(p - path), path);
		mkdir(full, 0700);
	}
	snprintf(full, sizeof full, "%s%s", top, path);
	FILE *f = fopen(full, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int begin(void **state)
{
	(void)state;
	strcpy(top, "/tmp/chard-limits-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(proc, sizeof proc, "%s/proc", top);
	return 0;
}

static int end(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", top);
	return system(command);
}

static void a_group_of_version_2_and_those_above_it_count(void **state)
{
	(void)state;
	write_file("/proc/cgroup", "0::/a/b/c\n");
	write_file("/proc/mountinfo", "30 1 0:2 / /cg rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
	write_file("/cg/a/b/c/memory.max", "max\n");
	write_file("/cg/a/b/memory.max", "300000000\n");
	write_file("/cg/a/memory.max", "500000000\n");
	assert_int_equal(cmi_limit_cgroups(proc, top), 300000000);
}

static void a_group_of_version_1_is_found_by_its_controller(void **state)
{
	(void)state;
	write_file("/proc/cgroup", "5:cpu,cpuacct:/x\n4:hugetlb,memory:/jobs/7\n0::/\n");
	write_file("/proc/mountinfo",
		   "32 31 0:29 / /cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
		   "35 31 0:32 / /mem rw,relatime - cgroup cgroup rw,hugetlb,memory\n");
	write_file("/cpu/x/memory.limit_in_bytes", "1\n");
	write_file("/mem/jobs/7/memory.limit_in_bytes", "200000000\n");
	write_file("/mem/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(cmi_limit_cgroups(proc, top), 200000000);
}

/* The mount shows only the container's group, whose name lies above what can be seen. */
static void in_a_container_the_mount_point_is_the_group(void **state)
{
	(void)state;
	write_file("/proc/cgroup", "4:memory:/docker/0123/task\n");
	write_file("/proc/mountinfo", "35 31 0:32 /docker/0123 /mem ro - cgroup cgroup rw,memory\n");
	write_file("/mem/memory.limit_in_bytes", "100000000\n");
	write_file("/mem/task/memory.limit_in_bytes", "400000000\n");
	assert_int_equal(cmi_limit_cgroups(proc, top), 100000000);
	write_file("/proc/cgroup", "4:memory:/\n");
	assert_int_equal(cmi_limit_cgroups(proc, top), 100000000);
}

static void no_files_are_no_limit(void **state)
{
	(void)state;
	assert_true(cmi_limit_cgroups(proc, top) == UINT64_MAX);
	write_file("/proc/cgroup", "0::/a\n");
	write_file("/proc/mountinfo", "30 1 0:2 / /cg rw - tmpfs tmpfs rw\n");
	assert_true(cmi_limit_cgroups(proc, top) == UINT64_MAX);
}

static void the_host_has_some_memory(void **state)
{
	(void)state;
	assert_true(cmi_limit_shared() > 1 << 20 && cmi_limit_shared() < UINT64_MAX);
	assert_true(cmi_limit_own() > 1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_group_of_version_2_and_those_above_it_count, begin, end),
		cmocka_unit_test_setup_teardown(a_group_of_version_1_is_found_by_its_controller, begin, end),
		cmocka_unit_test_setup_teardown(in_a_container_the_mount_point_is_the_group, begin, end),
		cmocka_unit_test_setup_teardown(no_files_are_no_limit, begin, end),
		cmocka_unit_test(the_host_has_some_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
