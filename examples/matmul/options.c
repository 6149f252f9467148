/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: the command line. Every mistake is one line that says what was expected. */
#include "options.h"

#include <getopt.h>

#include "../values.h"
#include "balance.h"

enum {
	/* With these limits every sum of the program is exact in a double (check.h). */
	MAX_N = 16384,
	MAX_ITERS = 100 * 1000,
	MAX_P = 128,
	/* Up to this size the time for one more product is hardly noticed. */
	VERIFY_N = 1024,
};

static const char usage[] =
	"Usage: ckrun -n <PEs> matmul [options]\n"
	"  --n N                  the matrices are N x N (512)\n"
	"  --p P                  on P x P x P chares; P divides N, and N >= P * P (2)\n"
	"  --iters N              multiplications of a timed run (10)\n"
	"  --warmup N             multiplications before it (2)\n"
	"  --repeat N             timed runs of each mode, the median counts (1)\n"
	"  --mode M               msg, direct or both (both)\n"
	"  --sync S               none, or barrier after every multiplication (none);\n"
	"                         with barrier half the memory: faster where none needs\n"
	"                         more than the caches hold\n"
	"  --lb N                 every N multiplications CK_LB may move chares; with\n"
	"                         --mode msg only (0: never)\n"
	"  --map M                chares in blocks, or spread so that those that exchange\n"
	"                         are on different PEs, as with one chare per PE (block)\n"
	"  --recv R               channel buffers shared or malloc (shared)\n"
	"  --verify, --no-verify  compare with one dgemm (up to N = 1024)\n"
	"  --quiet                only the results\n"
	"Few chares and large matrices compute; many chares and small ones exchange: try\n"
	"--n 32 --p 4 --iters 1000.\n";

static const char program[] = "matmul";

static const struct option long_options[] = {
	{"n", required_argument, NULL, 'n'},      {"p", required_argument, NULL, 'p'},
	{"iters", required_argument, NULL, 'i'},  {"warmup", required_argument, NULL, 'w'},
	{"repeat", required_argument, NULL, 'r'}, {"mode", required_argument, NULL, 'm'},
	{"sync", required_argument, NULL, 's'},   {"recv", required_argument, NULL, 'R'},
	{"map", required_argument, NULL, 'M'},    {"lb", required_argument, NULL, 'l'},
	{"verify", no_argument, NULL, 'v'},       {"no-verify", no_argument, NULL, 'V'},
	{"quiet", no_argument, NULL, 'q'},        {"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int parse_one(struct options *o, int c, int *verify_p)
{
	static const char *const modes[] = {"msg", "direct", "both", NULL};
	static const char *const syncs[] = {"none", "barrier", NULL};
	static const char *const maps[] = {"block", "spread", NULL};
	static const char *const recvs[] = {"shared", "malloc", NULL};
	int w = 0, rc;

	switch (c) {
	case 'n': return values_number(program, "n", optarg, 1, MAX_N, &o->n);
	case 'p': return values_number(program, "p", optarg, 1, MAX_P, &o->p);
	case 'i': return values_number(program, "iters", optarg, 1, MAX_ITERS, &o->iters);
	case 'w': return values_number(program, "warmup", optarg, 0, MAX_ITERS, &o->warmup);
	case 'r': return values_number(program, "repeat", optarg, 1, MAX_ITERS, &o->repeat);
	case 'l': return values_number(program, "lb", optarg, 0, MAX_ITERS, &o->lb);
	case 'm':
		rc = values_word(program, "mode", optarg, modes, &w);
		o->modes[MODE_MSG] = w != 1;
		o->modes[MODE_DIRECT] = w != 0;
		return rc;
	case 's':
		rc = values_word(program, "sync", optarg, syncs, &w);
		o->barrier = w == 1;
		return rc;
	case 'M':
		rc = values_word(program, "map", optarg, maps, &w);
		o->spread = w == 1;
		return rc;
	case 'R':
		rc = values_word(program, "recv", optarg, recvs, &w);
		o->malloc_recv = w == 1;
		return rc;
	case 'v': *verify_p = 1; return -1;
	case 'V': *verify_p = 0; return -1;
	case 'q': o->quiet = true; return -1;
	default: return -1;
	}
}

/* Every one of the p slices of a block of n / p rows needs a row. */
static int check_sizes(const struct options *o)
{
	int n = (o->n + o->p - 1) / o->p * o->p;

	if (n < o->p * o->p)
		n = o->p * o->p;
	if (n == o->n)
		return -1;
	return values_complain(program,
			       "--n %d does not fit --p %d, which wants a multiple of %d from %d "
			       "on; the next is --n %d",
			       o->n, o->p, o->p, o->p * o->p, n);
}

int options_parse(struct options *o, int argc, char **argv)
{
	int verify = -1, rc, c;

	*o = (struct options){.n = 512, .p = 2, .iters = 10, .warmup = 2, .repeat = 1,
			      .modes = {true, true}};
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		if (c == 'h') {
			CkPrintf("%s", usage);
			return 0;
		}
		if (c == '?')
			return values_complain(program, "unknown option '%s': see --help",
					       argv[optind - 1]);
		if (c == ':')
			return values_complain(program, "'%s' wants a value: see --help",
					       argv[optind - 1]);
		rc = parse_one(o, c, &verify);
		if (rc >= 0)
			return rc;
	}
	if (optind < argc)
		return values_complain(program, "unexpected '%s': see --help", argv[optind]);
	if (o->lb && !has_balance)
		return values_complain(program, "--lb needs a library that has the room balance");
	if (o->lb && o->modes[MODE_DIRECT])
		return values_complain(program, "--lb needs --mode msg: the channels of --mode direct stay on the PE that made them");
	o->verify = verify >= 0 ? verify : o->n <= VERIFY_N;
	return check_sizes(o);
}
