#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# manycore.sh [options] [BUILD] [SECONDS]: what all cores of this machine do, by processes and by threads.
# It needs bash and python3 only; manycore.py, beside it, has the options and what is printed.
exec python3 "$(dirname "$0")/manycore.py" "$@"
