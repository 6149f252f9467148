#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# instructions.sh LOCAL: the instructions of one call, as valgrind counts them in bench/local.
#
# Prints `name 0 value instructions`, the same in every run:
#	call-direct-instructions    a C call that is not inlined, its loop included
#	call-pointer-instructions   a C call through a pointer
#	local-call-instructions     an entry call to an element of the same PE, queued 1000 at a time
#	local-opt-instructions      the same by the stub with options
#	local-array-instructions    the same with 4 doubles in an array parameter
#	local-2d-instructions       the same to an element of two dimensions
#	local-instructions          a plain call when each call makes the next: from the send to the end
#	                            of the handler, the passes of the scheduler between them included
#	local-pass-instructions     a pass of the scheduler loop that calls one timer
#	local-cut-instructions      as local-call, in an array whose elements have moved, with cuts
#	local-cut-2d-instructions   as local-2d, in such an array
#
set -u
local=${1:?usage: instructions.sh BUILD/bench/local}
n=1000
. "$(dirname "$0")/count.sh"

count --dump-before='call_by_pointer*' --dump-before='print_references*' \
	--dump-before='start_bursts*' --dump-before='start_options*' \
	--dump-before='start_arrays*' --dump-before='start_grids*' --dump-before='start_passes*' \
	--dump-before='start_cuts*' --dump-before='start_cut_grids*' \
	--zero-before='call_directly*' --zero-before='start_hops*' "$local" $n
results '
	/^call_by_pointer/ { name = "call-direct-instructions" }
	/^print_references/ { name = "call-pointer-instructions" }
	/^start_bursts/ && bursts++ { name = "local-call-instructions" }
	/^start_options/ && options++ { name = "local-opt-instructions" }
	/^start_arrays/ && arrays++ { name = "local-array-instructions" }
	/^start_grids/ && grids++ { name = "local-2d-instructions" }
	/^start_cuts/ && cuts++ { name = "local-cut-instructions" }
	/^start_cut_grids/ && cut_grids++ { name = "local-cut-2d-instructions" }
	/^start_passes/ { name = passes++ ? "local-pass-instructions" : "local-instructions" }' 10 $n
