/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: puts the layers together, the one place that knows them all.
 */
#include "chare/chare_layer.h"
#include "chare/ckgen.h"
#include "direct/direct_layer.h"

int CkMain(int argc, char **argv, const CkGenModule *mainmodule)
{
	static const struct csd_layer *const layers[] = { &direct_layer, &chare_layer };
	struct csd_config cfg = {
		.argc = argc,
		.argv = argv,
		.layers = layers,
		.n_layers = sizeof layers / sizeof layers[0],
		.program = mainmodule,
	};

	return csd_run(&cfg);
}
