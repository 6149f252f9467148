#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes stencil.png, which README.md shows, from two runs of examples/stencil on two PEs. It needs chromium.
#
#	docs/pictures/make.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
exec python3 docs/pictures/stencil.py "${1:-build}" docs/pictures/stencil.png
