/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_env.c: the reader of environment variables: what each kind accepts, how the reader refuses the rest,
 * and that the machine layer reads its own variables through it.
 */
#include "../../runtime/machine/cmi.h"
#include "../../runtime/machine/base/cmi_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char NAME[] = "CK_TEST_VALUE";
static const char *const WORDS[] = {"core", "socket", "none"};

static void give(const char *value)
{
	if (value)
		setenv(NAME, value, 1);
	else
		unsetenv(NAME);
}

static bool flag(const char *value)
{
	give(value);
	return cmi_env_flag(NAME, true);
}

static int64_t number(const char *value)
{
	give(value);
	return cmi_env_number(NAME, 7, -5, 1000);
}

static uint64_t bytes(const char *value)
{
	give(value);
	return cmi_env_bytes(NAME, 7, 2, (uint64_t)1 << 40);
}

static uint64_t kib(const char *value)
{
	give(value);
	return cmi_env_kib(NAME, 7, 2048, (uint64_t)1 << 40);
}

static int word(const char *value)
{
	give(value);
	return cmi_env_word(NAME, WORDS, 3, -1);
}

/* ---- what is accepted --------------------------------------------------------------------- */

static void nothing_given_leaves_the_default(void **state)
{
	static const char *const none[] = {NULL, ""};

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_true(flag(none[i]));
		assert_false(cmi_env_flag(NAME, false));
		assert_int_equal(number(none[i]), 7);
		assert_int_equal(bytes(none[i]), 7);
		assert_int_equal(kib(none[i]), 7);
		assert_int_equal(word(none[i]), -1);
		assert_null(cmi_env_text(NAME));
	}
}

static void a_flag_has_four_words_each_way(void **state)
{
	static const char *const on[] = {"1", "yes", "on", "true", "YES", "True"};
	static const char *const off[] = {"0", "no", "off", "false", "NO", "False"};

	(void)state;
	for (int i = 0; i < 6; i++) {
		assert_true(flag(on[i]));
		assert_false(flag(off[i]));
	}
}

static void a_number_is_decimal_or_hexadecimal(void **state)
{
	(void)state;
	assert_int_equal(number("0"), 0);
	assert_int_equal(number("-5"), -5);
	assert_int_equal(number("+12"), 12);
	assert_int_equal(number("010"), 10);
	assert_int_equal(number("1000"), 1000);
	assert_int_equal(number("0x1f"), 31);
	give("9223372036854775807");
	assert_true(cmi_env_number(NAME, 0, INT64_MIN, INT64_MAX) == INT64_MAX);
	give("-9223372036854775808");
	assert_true(cmi_env_number(NAME, 0, INT64_MIN, INT64_MAX) == INT64_MIN);
}

static void bytes_may_have_a_suffix(void **state)
{
	(void)state;
	assert_int_equal(bytes("2"), 2);
	assert_int_equal(bytes("32K"), 32 << 10);
	assert_int_equal(bytes("32k"), 32 << 10);
	assert_int_equal(bytes("32M"), 32 << 20);
	assert_int_equal(bytes("0x20m"), 32 << 20);
	assert_true(bytes("1024G") == (uint64_t)1 << 40);
}

static void kib_are_what_a_number_without_suffix_counts(void **state)
{
	(void)state;
	assert_int_equal(kib("2"), 2048);
	assert_int_equal(kib("64"), 64 << 10);
	assert_int_equal(kib("64K"), 64 << 10);
	assert_int_equal(kib("1m"), 1 << 20);
	assert_true(kib("1024G") == (uint64_t)1 << 40);
}

static void a_word_gives_its_index(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(word(WORDS[i]), i);
}

static void a_text_is_passed_on_as_it_is(void **state)
{
	(void)state;
	give(" any thing ");
	assert_string_equal(cmi_env_text(NAME), " any thing ");
}

/* ---- what is refused ---------------------------------------------------------------------- */

static void read_flag(void) { (void)cmi_env_flag(NAME, true); }
static void read_number(void) { (void)cmi_env_number(NAME, 7, -5, 1000); }
static void read_bytes(void) { (void)cmi_env_bytes(NAME, 7, 2, (uint64_t)1 << 40); }
static void read_kib(void) { (void)cmi_env_kib(NAME, 7, 2048, (uint64_t)1 << 40); }
static void read_word(void) { (void)cmi_env_word(NAME, WORDS, 3, -1); }

/** What a process that reads `value` so says, into text; returns its exit code, -1: a signal. */
static int run(void (*reader)(void), const char *value, char *text, size_t cap)
{
	size_t used = 0;
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		close(fds[0]);
		setenv(NAME, value, 1);
		reader();
		_exit(0);
	}
	close(fds[1]);
	while ((n = read(fds[0], text + used, cap - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = 0;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/** The reader ends the process with 1 and says exactly this line. */
static void refuses(void (*reader)(void), const char *value, const char *allowed)
{
	char said[512], expected[512];

	snprintf(expected, sizeof expected, "chard: %s=%s is refused: it must be %s\n", NAME, value,
		 allowed);
	assert_int_equal(run(reader, value, said, sizeof said), 1);
	assert_string_equal(said, expected);
}

static void a_bad_flag_ends_the_process(void **state)
{
	static const char allowed[] = "0 or 1 (or no or yes, off or on, false or true)";

	(void)state;
	refuses(read_flag, "2", allowed);
	refuses(read_flag, "maybe", allowed);
	refuses(read_flag, "1 ", allowed);
}

static void a_bad_number_ends_the_process(void **state)
{
	static const char *const bad[] = {"x", "12x", "1e3", "-", "0x", "--1", "1001", "-6",
					  "99999999999999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		refuses(read_number, bad[i], "a number from -5 to 1000");
}

static void bad_bytes_end_the_process(void **state)
{
	static const char *const bad[] = {"x", "K", "32x", "32KB", "32 K", "-1", "1", "0", "1025G",
					  "0x7fffffffffffffffG", "99999999999999999999",
					  "18014398509481985K" /* 2^64 + 1024 */};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		refuses(read_bytes, bad[i], "a number of bytes from 2 to 1024G (K, M and G are "
			"powers of 1024)");
}

static void bad_kib_end_the_process(void **state)
{
	static const char *const bad[] = {"x", "1", "1K", "-1", "2T", "1025G", "0x7fffffffffffffff"};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		refuses(read_kib, bad[i], "a number of KiB, or of bytes with K, M or G, from 2K to "
			"1024G (K, M and G are powers of 1024)");
}

/* What a terminal would obey, and a value that fills many screens. */
static void a_bad_value_is_one_short_line(void **state)
{
	char big[100000], said[2048];

	(void)state;
	memset(big, 'x', sizeof big);
	memcpy(big, "first\033[31m\nchard: second", 24);
	strcpy(big + sizeof big - 6, "ninth");
	assert_int_equal(run(read_flag, big, said, sizeof said), 1);
	assert_non_null(strstr(said, "=first?[31m?chard: secondxxxxx"));
	assert_non_null(strstr(said, "xxxxx ... xxxxx"));
	assert_non_null(strstr(said, "xxxxxninth is refused: it must be 0 or 1"));
	assert_true(strlen(said) < 800);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void a_bad_word_ends_the_process(void **state)
{
	(void)state;
	refuses(read_word, "cores", "core, socket or none");
	refuses(read_word, "Core", "core, socket or none");
	refuses(read_word, "7", "core, socket or none");
}

static void a_good_value_says_nothing(void **state)
{
	char said[512];

	(void)state;
	assert_int_equal(run(read_bytes, "32M", said, sizeof said), 0);
	assert_string_equal(said, "");
}

/* ---- the machine's own variables ------------------------------------------------------------ */

static void open_machine(const char *name, const char *value)
{
	const struct cmi_options o = {.n_pes = 1};
	const struct cmi_client client = {0};
	struct cmi *m;

	setenv(name, value, 1);
	if (cmi_open(&o, &client, &m) == 0)
		cmi_close(m);
}

static void open_with_bad_boot(void) { open_machine("CK_BOOT", "x"); }
static void open_with_bad_timeout(void) { open_machine("CK_BOOT_TIMEOUT", "x"); }
static void open_with_bad_machine(void) { open_machine("CK_MACHINE", "x"); }
static void open_with_bad_share(void) { open_machine("CK_SHARE", "x"); }
static void open_with_bad_bind(void) { open_machine("CK_BIND", "x"); }

static void the_machine_refuses_its_variables_alike(void **state)
{
	static const struct {
		void (*open)(void);
		const char *says;
	} all[] = {
		{open_with_bad_boot, "CK_BOOT=x is refused: it must be pmi1, pmix or alone"},
		{open_with_bad_timeout,
		 "CK_BOOT_TIMEOUT=x is refused: it must be a number from 1 to 1000000"},
		{open_with_bad_machine, "CK_MACHINE=x is refused: it must be ucx or loopback"},
		{open_with_bad_share, "CK_SHARE=x is refused: it must be 0 or 1 (or no or yes, off "
				      "or on, false or true)"},
		{open_with_bad_bind, "CK_BIND=x is refused: it must be core, socket or none"},
	};
	char said[512], expected[512];

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		snprintf(expected, sizeof expected, "chard: %s\n", all[i].says);
		assert_int_equal(run(all[i].open, "", said, sizeof said), 1);
		assert_string_equal(said, expected);
	}
}

/* ---- in a job --------------------------------------------------------------------------------- */

static char *self; /* this program */

/** One node of two, of which the second has been given a bad value. */
static int node_main(void)
{
	const bool bad = strcmp(getenv("PMI_RANK"), "1") == 0;

	open_machine("CK_BOOT_TIMEOUT", bad ? "soon" : "1000");
	return 0;
}

static void run_two_nodes(void)
{
	char ckrun[4096];
	const char *given = getenv("CKRUN"), *slash = strrchr(self, '/');

	if (given)
		snprintf(ckrun, sizeof ckrun, "%s", given);
	else
		snprintf(ckrun, sizeof ckrun, "%.*s/../../bin/ckrun",
			 slash ? (int)(slash - self) : 1, slash ? self : ".");
	execl(ckrun, ckrun, "-n", "2", self, (char *)NULL);
	perror(ckrun);
}

/* Node 0 would wait 1000 s for node 1. */
static void a_node_that_refuses_ends_the_job(void **state)
{
	char said[1024];

	(void)state;
	alarm(60);
	assert_int_equal(run(run_two_nodes, "", said, sizeof said), 1);
	alarm(0);
	assert_non_null(strstr(said, "chard: CK_BOOT_TIMEOUT=soon is refused"));
	assert_non_null(strstr(said, "ckrun: node 1 "));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_given_leaves_the_default),
		cmocka_unit_test(a_flag_has_four_words_each_way),
		cmocka_unit_test(a_number_is_decimal_or_hexadecimal),
		cmocka_unit_test(bytes_may_have_a_suffix),
		cmocka_unit_test(kib_are_what_a_number_without_suffix_counts),
		cmocka_unit_test(a_word_gives_its_index),
		cmocka_unit_test(a_text_is_passed_on_as_it_is),
		cmocka_unit_test(a_bad_flag_ends_the_process),
		cmocka_unit_test(a_bad_number_ends_the_process),
		cmocka_unit_test(bad_bytes_end_the_process),
		cmocka_unit_test(bad_kib_end_the_process),
		cmocka_unit_test(a_bad_value_is_one_short_line),
		cmocka_unit_test(a_bad_word_ends_the_process),
		cmocka_unit_test(a_good_value_says_nothing),
		cmocka_unit_test(the_machine_refuses_its_variables_alike),
		cmocka_unit_test(a_node_that_refuses_ends_the_job),
	};

	(void)argc;
	self = argv[0];
	if (getenv("PMI_FD"))
		return node_main();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
