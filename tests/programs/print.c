/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print: every PE writes short lines, lines in pieces, and lines longer than a pipe takes in
 * one write, on both streams. whole_lines.sh checks that each is whole: a line is
 * "<letter of its PE> <length> <the letter, that many times>."
 */
#include "check.h"

#include "print.decl.h"

enum { LONG_LINE = 20000 };

struct Main { int unused; };
struct Writer { int round; };

void Writer_on_new(Writer *self) { (void)self; }

static int letter(void) { return 'a' + CkMyPe() % 26; }

static void write_line(int len, void (*print)(const char *fmt, ...))
{
	char text[LONG_LINE + 1];

	memset(text, letter(), (size_t)len);
	text[len] = 0;
	print("%c %d %s.\n", letter(), len, text);
}

static void write_in_pieces(int len)
{
	CkPrintf("%c %d ", letter(), len);
	for (int i = 0; i < len; i++)
		CkPrintf("%c", letter());
	CkPrintf(".\n%c 1 %c.\n%c 0 ", letter(), letter(), letter());
	CkPrintf(".\n");
}

void Writer_on_go(Writer *self, int rounds)
{
	write_line(10 + self->round, CkPrintf);
	write_line(5, CkError);
	write_in_pieces(50);
	if (self->round % 10 == 0) {
		write_line(LONG_LINE, CkPrintf);
		write_line(LONG_LINE, CkError);
	}
	if (++self->round < rounds)
		Writer_go(Writer_thisElement(self), rounds);
	else
		CkContributeBarrier(self, Main_cb_done(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	Writer_go_all(Writer_ckNew(), 40);
}

/* The newline is missing: the end of the job completes it. */
void Main_on_done(Main *self)
{
	(void)self;
	CkPrintf("%c 1 %c.", letter(), letter());
	CkExit(0);
}

#include "print.def.h"
