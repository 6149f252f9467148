/* SPDX-License-Identifier: Apache-2.0 */
/* device_none.c: there are no channels of devices. options.c refuses --device. */
#include "device.h"

const bool has_device = false;

void Gpu_on_new(Gpu *b) { (void)b; }

void Gpu_on_connect(Gpu *b, int mode)
{
	(void)b;
	(void)mode;
}

void Gpu_on_channel(Gpu *b, int side, int slot, CkDirectHandle h)
{
	(void)b;
	(void)side;
	(void)slot;
	(void)h;
}

void Gpu_on_prepare(Gpu *b) { (void)b; }

void Gpu_on_run(Gpu *b, int iters)
{
	(void)b;
	(void)iters;
}

void Gpu_on_check(Gpu *b) { (void)b; }

void Gpu_on_disconnect(Gpu *b) { (void)b; }

void Gpu_on_finish(Gpu *b) { (void)b; }
