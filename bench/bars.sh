#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bars.sh BUILD: whether the paths on which every program depends have grown. Instructions are counted, not time, so the
# answer is the same on a busy machine. Each figure may be a little higher than when it was written here, because
# libc's memcpy differs between processors.
#
# Prints each figure that is too high, and ends with 1 then.
set -u
build=${1:?usage: bars.sh BUILD}
here=$(dirname "$0")
found=$(mktemp) || exit 1
trap 'rm -f "$found"' EXIT

command -v valgrind >/dev/null || { echo "bars: valgrind is not installed; make deps-bench installs it" >&2; exit 1; }
for counted in instructions.sh:local steps.sh:steps fine.sh:fine together.sh:collectives; do
	sh "$here/${counted%:*}" "$build/bench/${counted#*:}" >>"$found" || exit 1
done

# name, at most
awk 'NR == FNR { value[$1] = $3; next }
	NF && !($1 in value) { print "bars: no figure " $1; bad = 1; next }
	NF && value[$1] > $2 { print "bars: " $1 " is " value[$1] ", more than " $2; bad = 1 }
	NF { n++ }
	END { if (!bad) print "ok " n " paths take no more instructions than they may"; exit bad }' "$found" - <<END
local-call-instructions 140
local-opt-instructions 305
local-array-instructions 166
local-2d-instructions 160
local-instructions 152
local-pass-instructions 235
local-cut-instructions 136
local-cut-2d-instructions 160
step-when-instructions 398
step-number-instructions 404
step-overlap-instructions 888
step-both-instructions 945
step-brief-instructions 775
fine-put-instructions 167
fine-hop-instructions 267
fine-inline-instructions 75
fine-values-instructions 72
fine-section-instructions 134
fine-calls-instructions 610
fine-count-instructions 800
fine-set-instructions 675
array-barrier-instructions 70
array-allreduce-instructions 196
array-bcast-instructions 151
array-sync-instructions 396
END
