/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: the command line. Every mistake is one line that says what was expected. */
#include "options.h"

#include <getopt.h>
#include <stdint.h>

#include "../values.h"
#include "balance.h"
#include "channel.h"
#include "device.h"
#include "place.h"

enum {
	MAX_EXTENT = 1 << 20,
	MAX_COUNT = 1000 * 1000 * 1000,
};
/* The exact checksum counts in units of 2^-32, in 63 bits. */
static const uint64_t MAX_CELLS = UINT64_C(1) << 30;
/* Up to this size the serial solution costs no more than a second. */
static const uint64_t VERIFY_CELLS = 64 * 64 * 64;

static const char usage[] =
	"Usage: ckrun -n <PEs> stencil [options]\n"
	"  --domain XxYxZ         cells (64x64x64)\n"
	"  --chares AxBxC         blocks that the domain is cut into (2x2x2)\n"
	"  --iters N              iterations of a timed run (100)\n"
	"  --warmup N             iterations before it (10)\n"
	"  --repeat N             timed runs of each mode, the median counts (1)\n"
	"  --mode M               msg, direct, both of these, named (channels that follow blocks), or all (both)\n"
	"  --device               blocks in a GPU's memory, by device channels, by all of a block\n"
	"                         in one launch, and by copies through the host; no --mode then\n"
	"  --sync S               none, or barrier after every iteration (none)\n"
	"  --recv R               channel buffers shared or malloc (shared)\n"
	"  --move N               every N iterations each block moves to another PE; not with raw channels (0: never)\n"
	"  --lb N                 every N iterations CK_LB may move blocks; not with raw channels (0: never)\n"
	"  --uneven N             half of the blocks compute each iteration N times more (0)\n"
	"  --verify, --no-verify  compare with a serial solution (up to 64x64x64 cells)\n"
	"  --quiet                only the results\n";

static const char program[] = "stencil";

static int parse_box(const char *name, const char *s, struct box *box_p)
{
	const char *p = s;

	if (values_take_number(&p, 1, MAX_EXTENT, &box_p->nx) && *p++ == 'x' &&
	    values_take_number(&p, 1, MAX_EXTENT, &box_p->ny) && *p++ == 'x' &&
	    values_take_number(&p, 1, MAX_EXTENT, &box_p->nz) && !*p)
		return -1;
	return values_complain(program, "--%s wants AxBxC, three numbers from 1 to %d, not '%s'", name,
			       MAX_EXTENT, s);
}

static const struct option long_options[] = {
	{"domain", required_argument, NULL, 'd'}, {"chares", required_argument, NULL, 'c'},
	{"iters", required_argument, NULL, 'i'},  {"warmup", required_argument, NULL, 'w'},
	{"repeat", required_argument, NULL, 'r'}, {"mode", required_argument, NULL, 'm'},
	{"sync", required_argument, NULL, 's'},   {"recv", required_argument, NULL, 'R'},
	{"verify", no_argument, NULL, 'v'},       {"no-verify", no_argument, NULL, 'V'},
	{"quiet", no_argument, NULL, 'q'},        {"help", no_argument, NULL, 'h'},
	{"move", required_argument, NULL, 'M'},   {"lb", required_argument, NULL, 'l'},
	{"uneven", required_argument, NULL, 'u'}, {"device", no_argument, NULL, 'D'},
	{NULL, 0, NULL, 0},
};

static int parse_one(struct options *o, int c, int *verify_p)
{
	static const char *const modes[] = {"msg", "direct", "both", "named", "all", NULL};
	static const char *const syncs[] = {"none", "barrier", NULL};
	static const char *const recvs[] = {"shared", "malloc", NULL};
	int w = 0, rc;

	switch (c) {
	case 'd': return parse_box("domain", optarg, &o->domain);
	case 'c': return parse_box("chares", optarg, &o->chares);
	case 'i': return values_number(program, "iters", optarg, 1, MAX_COUNT, &o->iters);
	case 'w': return values_number(program, "warmup", optarg, 0, MAX_COUNT, &o->warmup);
	case 'r': return values_number(program, "repeat", optarg, 1, MAX_COUNT, &o->repeat);
	case 'm':
		rc = values_word(program, "mode", optarg, modes, &w);
		o->modes[MODE_MSG] = w == 0 || w == 2 || w == 4;
		o->modes[MODE_DIRECT] = w == 1 || w == 2 || w == 4;
		o->modes[MODE_NAMED] = w >= 3;
		return rc;
	case 's':
		rc = values_word(program, "sync", optarg, syncs, &w);
		o->barrier = w == 1;
		return rc;
	case 'R':
		rc = values_word(program, "recv", optarg, recvs, &w);
		o->malloc_recv = w == 1;
		return rc;
	case 'M': return values_number(program, "move", optarg, 0, MAX_COUNT, &o->move);
	case 'l': return values_number(program, "lb", optarg, 0, MAX_COUNT, &o->lb);
	case 'u': return values_number(program, "uneven", optarg, 0, MAX_COUNT, &o->uneven);
	case 'v': *verify_p = 1; return -1;
	case 'V': *verify_p = 0; return -1;
	case 'q': o->quiet = true; return -1;
	case 'D': o->device = true; return -1;
	default: return -1;
	}
}

static int check_sizes(const struct options *o)
{
	struct box d = o->domain, c = o->chares;

	if (c.nx > d.nx || c.ny > d.ny || c.nz > d.nz)
		return values_complain(program,
				       "%dx%dx%d cells cannot be cut into %dx%dx%d blocks: "
				       "make --chares smaller",
				       d.nx, d.ny, d.nz, c.nx, c.ny, c.nz);
	/* Two factors of at most 2^20 each cannot overflow; three can, so divide. */
	if ((uint64_t)d.nx * (uint64_t)d.ny > MAX_CELLS / (uint64_t)d.nz)
		return values_complain(program, "--domain %dx%dx%d has more than 2^30 cells", d.nx,
				       d.ny, d.nz);
	return -1;
}

static int check_device(struct options *o)
{
	if (!o->device)
		return -1;
	if (!has_device)
		return values_complain(program, "--device needs a library that has the layer device");
	if (o->move || o->lb || o->uneven || o->barrier || o->malloc_recv)
		return values_complain(program, "--device knows no --move, --lb, --uneven, --sync or --recv");
	for (int i = 0; i < N_MODES; i++)
		o->modes[i] = i >= MODE_DEVICE;
	return -1;
}

int options_parse(struct options *o, int argc, char **argv)
{
	int verify = -1, rc, c;

	*o = (struct options){.domain = {64, 64, 64}, .chares = {2, 2, 2}, .iters = 100,
			      .warmup = 10, .repeat = 1, .modes = {[MODE_MSG] = true, [MODE_DIRECT] = true}};
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
	rc = check_device(o);
	if (rc >= 0)
		return rc;
	if (o->modes[MODE_NAMED] && !has_named)
		return values_complain(program,
				       "--mode named needs a library that has the room channel");
	if (o->move && !has_moves)
		return values_complain(program, "--move needs a library that has the room place");
	if (o->lb && !has_balance)
		return values_complain(program, "--lb needs a library that has the room balance");
	if ((o->move || o->lb) && o->modes[MODE_DIRECT])
		return values_complain(program, "--%s needs --mode msg or named: the channels of --mode direct stay on the PE that made them",
				       o->move ? "move" : "lb");
	o->verify = verify >= 0 ? verify : box_cells(o->domain) <= VERIFY_CELLS;
	return check_sizes(o);
}
