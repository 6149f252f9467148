/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt.c: the command ckpt: looks at checkpoints on disk. */
#include "ckpt.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
	"usage: ckpt ls DIR | show CK | verify CK | diff CK CK\n"
	"Look at the checkpoints that a job has written into DIR. CK is one of them (DIR/ck-000042),\n"
	"or DIR itself for the latest.\n"
	"  ls DIR      list them\n"
	"  show CK     of what program and shape it is, and what it has\n"
	"  verify CK   read it all; name what is damaged, with file, offset and record\n"
	"  diff A B    name the records that are not the same in both\n"
	"  --help      print this text\n";

/* Output that could not be written must not look like success. */
static int end(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	complain("cannot write the output");
	return 2;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	if (argc == 2 && (!strcmp(command, "--help") || !strcmp(command, "-h"))) {
		fputs(usage, stdout);
		return end(0);
	}
	if (argc == 3 && !strcmp(command, "ls"))
		return end(ckpt_list(argv[2]));
	if (argc == 3 && !strcmp(command, "show"))
		return end(ckpt_show(argv[2]));
	if (argc == 3 && !strcmp(command, "verify"))
		return end(ckpt_verify(argv[2]));
	if (argc == 4 && !strcmp(command, "diff"))
		return end(ckpt_diff(argv[2], argv[3]));
	fputs(usage, stderr);
	return 2;
}
