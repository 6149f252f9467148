#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# steps.sh STEPS: the instructions of one step of a body, as valgrind counts them in bench/steps.
#
# Prints `name 0 value instructions`, the same in every run, for the series of bench/steps that have
# steps. The last round of a series ends with the call that begins the next one, so the second round on is counted.
set -u
steps=${1:?usage: steps.sh BUILD/bench/steps}
n=1000
. "$(dirname "$0")/count.sh"

count --zero-before='start_hops*' --dump-before='start_steps*' --dump-before='start_numbered*' \
	--dump-before='start_pairs*' --dump-before='start_both*' --dump-before='start_briefs*' --dump-before='park*' "$steps" $n
results '
	/^start_steps/ && steps++ { name = "step-when-instructions" }
	/^start_numbered/ && numbered++ { name = "step-number-instructions" }
	/^start_pairs/ && pairs++ { name = "step-overlap-instructions" }
	/^start_both/ && both++ { name = "step-both-instructions" }
	/^start_briefs/ && briefs++ { name = "step-brief-instructions" }' 5 $n
