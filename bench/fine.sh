#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fine.sh FINE: the instructions of the smallest steps within a PE, as valgrind counts them in bench/fine.
#
# Prints `name 0 value instructions`, the same in every run, for the series of bench/fine. The last round of a series ends
# with the call that begins the next one, so the second round on is counted.
set -u
fine=${1:?usage: fine.sh BUILD/bench/fine}
n=1000
. "$(dirname "$0")/count.sh"

count --zero-before='Cell_on_start*' --dump-before='start_puts*' --dump-before='start_hops*' --dump-before='start_pokes*' \
	--dump-before='start_values*' --dump-before='start_sections*' --dump-before='start_calls*' \
	--dump-before='start_counted*' --dump-before='start_sets*' --dump-before='finish*' "$fine" $n
results '
	/^start_puts/ && puts++ { name = "fine-put-instructions" }
	/^start_hops/ && hops++ { name = "fine-hop-instructions" }
	/^start_pokes/ && pokes++ { name = "fine-inline-instructions" }
	/^start_values/ && values++ { name = "fine-values-instructions" }
	/^start_sections/ && sections++ { name = "fine-section-instructions" }
	/^start_calls/ && calls++ { name = "fine-calls-instructions" }
	/^start_counted/ && counted++ { name = "fine-count-instructions" }
	/^start_sets/ && sets++ { name = "fine-set-instructions" }' 8 $n
