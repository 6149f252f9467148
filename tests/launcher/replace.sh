#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# replace.sh BUILD: ckrun --replace, where nodes die at a chosen place, and ckrun --restart. What becomes of checkpoints
# when nodes die at random moments is tests/programs/kills.py's. FAIL_FAST=1 ends at the first fact that does not hold.
. "$(dirname "$0")/facts.sh"
build=$(cd "$1" && pwd) || exit 2
ckrun=$build/bin/ckrun saves=$build/tests/programs/saves
unset "${!PMI@}" "${!CK_@}"
run() { rm -rf "$dir/once"; outcome timeout -k 1 30 "$ckrun" "$@" </dev/null; }
says() { [ "$(grep -c '^ckrun: ' "$dir/err")" = "$2" ] && [ "$rc" = "$1" ] && grep -Eq -e "${3:-.}" "$dir/err"; }
prints() { [ "$rc" = 0 ] && [ "$(cat "$dir/out")" = "$1" ]; }
# A node of a shell that does something the first time, and something else later.
once() { echo "if mkdir '$dir/once' 2>/dev/null; then $1; else $2; fi"; }

# ---- deaths -----------------------------------------------------------------------------
run --replace 2 sh -c 'echo x; kill -9 $$'
fact "a node that always dies is replaced as often as allowed" says 137 3 "signal 9.* the job is ended"
fact "each line says which time it is" eval 'grep -q "pid [0-9]*) was killed by signal 9 (Killed); starting again from the beginning (1 of 2)$" \
	"$dir/err" && grep -q "(2 of 2)" "$dir/err" && [ "$(grep -c x "$dir/out")" = 3 ]'
run sh -c 'kill -9 $$'
fact "without --replace the first death ends the job" says 137 1 "the job is ended"
run --replace 1 sh -c "$(once 'printf half; kill -9 $$' 'echo whole')"
fact "what a node has printed before its death is kept, as a line" prints "$(printf 'half\nwhole')"
run --replace 1 -n 4 sh -c "$(once 'kill -9 $$' 'echo $PMI_RANK')"
fact "all nodes start again, not only the one that died" eval '[ $rc = 0 ] && [ "$(sort -u "$dir/out" | tr -d "\n")" = 0123 ]'
run --replace 3 sh -c 'exit 3'
fact "an exit code is no death" says 3 1 "exit code 3"
run --replace 3 sh -c 'exit 139'
fact "nor is one that looks like a signal's" says 139 1 "exit code 139"
run --replace 3 --timeout 0.5 sh -c 'sleep 100'
fact "--timeout ends the job" says 124 1 "timeout"
run --replace 1000 --timeout 0.5 sh -c 'kill -9 $$'
fact "--timeout ends a job that starts again and again" eval '[ $rc = 124 ]'
run --replace 1 sh -c "$(once 'sleep 100 & echo $! >"'"$dir/child"'"; kill -9 $$' 'true')"
gone() { for _ in $(seq 200); do alive "$(cat "$dir/child")" || return 0; sleep 0.01; done; return 1; }
alive() { [ -d "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status"; }
fact "a dead node's children are killed with it" eval 'prints "" && gone'
run --replace 1 "$dir/missing"
fact "a program that is not there is not tried again" says 127 1 "cannot start"
CK_IMAGES=1,2,3 run sh -c '[ $CK_IMAGES != 1,2,3 ] && readlink /proc/self/fd/${CK_IMAGES##*,}'
fact "CK_IMAGES of an outer job is replaced" prints "/memfd:chard images: what is valid (deleted)"
run --env CK_IMAGES=1,2,3 true
fact "--env CK_IMAGES is refused" says 2 1 "by itself"
run --replace 1 sh -c "$(once 'kill -9 $$' 'exec "'"$saves"'" memory 10 3')"
fact "a death before the first checkpoint: from the beginning" eval 'grep -q "10 rounds" "$dir/out" && [ $rc = 0 ]'
run --replace 9 -n 2 "$saves" memory 40 3 0 11
fact "a program that crashes again at once is given up" \
	eval '[ $rc = 139 ] && grep -q "ended by signal 11 .*, again at once, and nothing was saved in between" "$dir/err"'
run --replace 9 -n 2 "$saves" memory 40 3 0 -11
fact "a program that crashes once goes on" eval '[ $rc = 0 ] && grep -q "40 rounds" "$dir/out" && grep -q "again after round 9" "$dir/out"'
want=$(tail -n 1 "$dir/out")
run -n 2 "$saves" memory 40 3
fact "and has the same result as without the crash" [ "$want" = "$(tail -n 1 "$dir/out")" ]

# ---- nodes that do not move -----------------------------------------------------------------
hung() { CK_WATCHDOG=$1 run --replace 3 --replace-hung "${@:2}"; }
hung 30 1.2 -n 2 "$saves" memory 40 3 0 0 11
fact "a node that stays in a handler is replaced, and says in which" \
	eval 'grep -q "^ckrun: node 0 .* has not moved for 1.2 s (PE 0 stays in one handler); starting again from checkpoint 3 (1 of 3)" "$dir/err" &&
	grep -q "^chard: node 0: ended by SIGTERM; PE 0 has been in Main::round_over" "$dir/err" && [ $rc = 0 ] && [ "$want" = "$(tail -n 1 "$dir/out")" ]'
hung 0 0.3 -n 3 --ppn 2 "$saves" memory 40 3 0 0 11
fact "also without the watchdog" eval 'says 0 1 "has not moved for 0.3 s" && [ "$want" = "$(tail -n 1 "$dir/out")" ]'
run --replace 1 --replace-hung 0.3 -n 2 sh -c "$(once 'kill -STOP $$' true)"
fact "a node that a signal has stopped is replaced" says 0 2 "has not moved for 0.3 s \\(a signal has stopped it\\); starting again from the beginning"
run --replace 1 --replace-hung 0.3 sh -c 'kill -STOP $$'
fact "but not more often than allowed" says 137 4 "has not moved .*the job is ended"
CK_WATCHDOG=0 run --replace 1 --replace-hung 0.2 --timeout 1 -n 2 "$build/tests/programs/hangs" when
fact "PEs that wait for a message are not taken for hung" says 124 1 timeout
run --replace-hung 1 true
fact "--replace-hung needs --replace" says 2 1 "needs --replace R"

# ---- --restart ----------------------------------------------------------------------------
value='echo ${CK_RESTART-none}'
run --restart "$dir/none" sh -c "$value"
fact "--restart of a folder that is not there" says 2 1 "--restart .*/none: cannot open it: No such file"
mkdir "$dir/empty"
run --restart "$dir/empty" sh -c "$value"
fact "--restart of a folder without checkpoints" says 2 1 "there is no checkpoint in it"
for d in none empty; do
	CK_RESTART=x run --restart-if-any "$dir/$d" sh -c "$value"
	fact "--restart-if-any, $d: from the beginning" prints none
done
: >"$dir/file"
run --restart-if-any "$dir/file/ck" sh -c "$value"
fact "--restart-if-any of what cannot be a folder is an error" says 2 1 "restart-if-any .*Not a directory"
run --restart a --restart-if-any a true
fact "--restart and --restart-if-any exclude each other" says 2 1 "contradict"
run -n 2 "$saves" "$dir/ck" 20 7
want=$(tail -n 1 "$dir/out")
for option in --restart --restart-if-any; do
	cp -a "$dir/ck" "$dir/again"
	run $option "$dir/again" -n 3 "$saves"
	fact "$option starts from the checkpoint" eval 'grep -q "again after round 14" "$dir/out" && [ "$want" = "$(tail -n 1 "$dir/out")" ]'
	rm -rf "$dir/again"
done
run --restart "$dir/ck/ck-000001" -n 2 "$saves"
fact "a checkpoint does not take the place in memory of the one before, whatever the folder's numbers are" \
	eval '[ $rc = 0 ] && [ "$(cd "$dir/ck" && echo ck-*)" = "ck-000002 ck-000004" ]'
run -n 2 "$saves" "$dir/old" 20 7
want=$(tail -n 1 "$dir/out")
cp -a "$dir/old" "$dir/kept"
damaged() { # checkpoints; a job goes on writing where it began
	rm -rf "$dir/again"
	cp -a "$dir/kept" "$dir/again"
	for n; do printf x >>"$dir/again/ck-00000$n/node-00000"; done
}
damaged 2
run --restart "$dir/again" -n 3 "$saves"
fact "--restart does not go back to an older checkpoint" eval '[ $rc = 1 ] && grep -q "node-00000 has [0-9]* bytes; the manifest says" "$dir/err"'
run --restart-older "$dir/again" -n 3 "$saves"
fact "--restart-older does, and says so" eval 'grep -q "/node-00000 has .*; starting from the older .*/ck-000001$" "$dir/err" &&
	grep -q "again after round 7" "$dir/out" && [ "$want" = "$(tail -n 1 "$dir/out")" ]'
damaged 1
run --restart-older "$dir/again" -n 3 "$saves"
fact "--restart-older takes the newest that is whole" eval 'grep -q "again after round 14" "$dir/out" && [ ! -s "$dir/err" ]'
damaged 1 2
run --restart-older "$dir/again" -n 3 "$saves"
fact "--restart-older without one that is whole starts nothing" says 2 2 "restart-older .*; there is no older one in .*/again"
CK_RESTART=memory run -n 2 "$saves"
fact "CK_RESTART=memory of nobody is refused" eval '[ $rc != 0 ] && grep -q "there is none in memory" "$dir/err"'
run sh -c "unset CK_IMAGES; CK_RESTART=memory '$saves'"
fact "nor is there any where ckrun keeps no memory" eval '[ $rc != 0 ] && grep -q "CK_RESTART=memory is for ckrun" "$dir/err"'

# ---- options ------------------------------------------------------------------------------
for bad in 0 -1 x ""; do
	run --replace "$bad" true
	fact "--replace '$bad' is refused" says 2 1 "replace needs a number"
done
echo "$facts facts, $failed failed"
exit $((failed > 0))
