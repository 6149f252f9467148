/* SPDX-License-Identifier: Apache-2.0 */
/* pe.h: the header of this folder for the layers above. Private: programs use csd.h. */
#ifndef CSD_PE_H
#define CSD_PE_H

#include "csd.h"

#endif
