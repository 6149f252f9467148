#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# failures.sh BUILD: what a job with CK_CHECKPOINT does when its checkpoints cannot be written or read, or ckrun is
#	killed: the table of failures in docs/SURVIVE.md. Full disks and damaged bytes are tests/image's, killed nodes
#	kills.py's. FAIL_FAST=1 ends at the first fact that does not hold.
. "$(dirname "$0")/../launcher/facts.sh"
build=$(cd "$1" && pwd) || exit 2
unset "${!PMI@}" "${!CK_@}"

saved() { CK_CHECKPOINT=$1,1ms outcome "$build/bin/ckrun" --timeout 60 -n 2 "$build/tests/programs/saves_sync" $syncs; }
# Of a folder, with other numbers of processes than it was saved with.
again() {
	CK_CHECKPOINT=memory,1s outcome "$build/bin/ckrun" --timeout 60 --restart "$1" -n 3 "$build/tests/programs/${2:-saves_sync}"
}
right() { [ $rc = 0 ] && [ "$(grep -c . "$dir/out")" = 1 ] && [ "$(cat "$dir/out")" = "$want" ]; }
# The job has not begun: nothing was printed, and one line says why.
refused() { [ $rc = 1 ] && [ ! -s "$dir/out" ] && grep -Eq "cannot start from the checkpoint: $1" "$dir/err"; }
copy() { rm -rf "$dir/bad" && cp -a "$dir/ck" "$dir/bad"; }
flip() { printf x | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

# As many syncs as it takes until two checkpoints are complete before the end.
for ((syncs = 2000; ; syncs *= 2)); do
	rm -rf "$dir/ck"
	saved "$dir/ck"
	[ $rc != 0 ] || [ "$(ls "$dir/ck" | wc -l)" = 3 ] && break
done
want=$(cat "$dir/out")
fact "a job is saved, and ends" [ $rc = 0 ]
older=$(ls -d "$dir"/ck/ck-* | head -1)

# ---- it cannot be written ---------------------------------------------------------------
: >"$dir/file"
saved "$dir/file/ck"
fact "a folder that cannot be made is said, and the job goes on" \
	eval 'right && grep -q "no checkpoint: node 0: .*/file/ck: cannot make the folder: Not a directory" "$dir/err"'
CK_CHECKPOINT=$dir/two,1ms "$build/bin/ckrun" --timeout 60 -n 2 "$build/tests/programs/saves_sync" 1000000 >/dev/null 2>&1 &
first=$!
while [ ! -e "$dir/two/latest" ]; do sleep 0.01; done
saved "$dir/two"
fact "a second job does not write into the folder of another, and goes on" \
	eval 'right && grep -q "another job writes its checkpoints here: process [0-9]* on " "$dir/err"'

# ---- ckrun is killed --------------------------------------------------------------------
kill -KILL $first
{ wait $first; } 2>/dev/null
while grep -q . "/proc/$(sed -n 's/^pid //p' "$dir/two/lock")/cmdline" 2>/dev/null; do sleep 0.01; done
fact "ckpt finds nothing wrong with what a killed ckrun's job has left" "$build/bin/ckpt" verify "$dir/two"
saved "$dir/two"
fact "another job writes there now" eval 'right && ! grep -q "no checkpoint" "$dir/err" && [ ! -e "$dir/two/lock" ] && ! ls "$dir"/two/*.tmp >/dev/null 2>&1'

# ---- it cannot be read ------------------------------------------------------------------
again "$dir/ck" saves
fact "a checkpoint of another program is refused" refused '.* is of the program saves_sync; this is saves$'
copy
sed -i 's/^pes .*/pes 9/' "$dir/bad/latest/MANIFEST"
again "$dir/bad"
fact "so is one with a changed MANIFEST" refused '.*/MANIFEST is damaged'
copy
rm "$dir/bad/latest/MANIFEST"
again "$dir/bad/latest"
fact "and one without" eval '[ $rc != 0 ] && [ ! -s "$dir/out" ]'
copy
rm "$dir/bad/latest/node-00001"
again "$dir/bad"
fact "and one that lacks a file" refused '.*/node-00001: cannot open it: No such file'
copy
truncate -s -16 "$dir/bad/latest/node-00001"
again "$dir/bad"
fact "and one with a file that was cut off" refused '.*/node-00001'
copy
cp "$dir/bad/$(basename "$older")/node-00001" "$dir/bad/latest/"
again "$dir/bad"
fact "and one with a file of another checkpoint" refused '.*/node-00001'
copy
flip "$dir/bad/latest/node-00001" 4300
again "$dir/bad"
fact "a damaged record ends the start before anything runs, by file, byte and name" \
	refused '.*/node-00001: the record at byte [0-9]* \(element .* is damaged'
again "$older"
fact "the older one starts when it is named" right
copy
rm "$dir/bad/latest"
again "$dir/bad"
fact "without the link latest, the newest one is taken" right
echo "$facts facts, $failed failed"
exit $((failed > 0))
