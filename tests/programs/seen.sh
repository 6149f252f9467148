#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# seen.sh PROGRAM: the debugger's helpers (runtime/chard-gdb.py) show what tests/programs/seen has made: in the
# live process, where it stops in seen_now, and in a core file of that moment.
set -u
command -v gdb >/dev/null || { echo "skip the debugger's helpers: gdb is not installed"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
commands=(pes queue 'queue 1' chares 'chares Cell' 'chares Lone' channels threads 'chares Nobody' 'queue 7')

# The second source of commands goes on after an error, as somebody at a terminal would.
show=()
for c in "${commands[@]}"; do
	show+=(-ex "echo == $c\n" -ex "chard $c")
done
gdb=(gdb -q -nx -batch -ex 'set pagination off' -ex 'set debuginfod enabled off' -x runtime/chard-gdb.py)
# gdb writes all that is mapped, and message memory has as much address space as the machine has memory: what of it was
# never handed out stays out of the file (16 is MADV_DONTDUMP), or that has tens of gigabytes.
unused=(-ex 'set $s = csd_self_->wire->m->share' -ex 'set $used = (((struct share_head *)$s->own)->used + 4095) & ~4095ul'
	-ex 'print (int)madvise($s->own + $used, $s->segment - $used, 16)')
"${gdb[@]}" -ex 'chard pes' -ex 'break seen_now' -ex run "${show[@]}" "${unused[@]}" -ex "generate-core-file $dir/core" \
	--args "$1" +p 2 >"$dir/live" 2>&1 </dev/null
"${gdb[@]}" "${show[@]}" "$1" "$dir/core" >"$dir/dead" 2>&1 </dev/null

failed=0
expect() { # text: both must have a line that matches it
	for where in live dead; do
		grep -Eq "$1" "$dir/$where" || { echo "$where: no line is like: $1"; failed=1; }
	done
}
expect '^PE 0: in Main::rest of Main; 3 messages wait, .*; 0 channels armed'
expect '^PE 1: .*; 0 messages wait, .*; 2 channels armed, [01] timers?$'
expect '^  ck.element, Cell::hear from PE 0, .* \(priority -7\)$'
expect '^PE 0: array Cell, id 0\.2: 3 elements here$'
expect '^PE 1: group Side, id 0\.3: 1 element here$'
expect '^PE 0: chare Lone: 2 here$'
expect '^PE 1: Cell\(2, 1\) \(Cell \*\)0x'
expect '^PE 1: Lone 1 of PE 0 \(Lone \*\)0x'
expect '^PE 0: sends to channel [0-9] of PE 1, 64 bytes: 1 put made$'
expect '^PE 0: sends to channel Cell::side\(7\) from Cell\(0, 0\) to Cell\(2, 1\), 16 bytes: 0 puts made$'
expect '^PE 1: channel Cell::side\(7\) from Cell\(0, 0\) to Cell\(2, 1\) receives 16 bytes at 0x[0-9a-f]*: armed, 0 puts handled$'
expect '^PE 1: channel [0-9] receives 64 bytes at 0x[0-9a-f]*: consumed, 1 put handled$'
expect '^PE 1: channel [0-9] receives 64 bytes at 0x[0-9a-f]*: armed, 0 puts handled$'
expect '^  \(CthThread\)0x.*: does not run'
expect 'no element of a type "Nobody" is in this process'
expect 'PE 7 is not in this process, which has PEs 0, 1$'
grep -q 'no program runs, and there is no core file' "$dir/live" || { echo "without a program: no such line"; failed=1; }
# In the order in which they will run: by priority.
order=$(sed -n '/^== queue$/,/^PE 1/s/.*_msg \*)0x[0-9a-f]*\(.*\)/<\1>/p' "$dir/dead" | tr -d '\n')
[ "$order" = '< (priority -7)><>< (priority 9)>' ] || { echo "the queue's order is: $order"; failed=1; }
# The element's struct, by the pointer that is shown: Cell(2, 1) began with 41.
cell=$(sed -n 's/^PE 1: Cell(2, 1) \(.*\)/\1/p' "$dir/dead" | head -1)
last=$("${gdb[@]}" -ex "print (($cell)->last)" "$1" "$dir/core" 2>&1 </dev/null | tail -1)
[ "$last" = '$1 = 41' ] || { echo "the struct of Cell(2, 1): $last"; failed=1; }
[ $failed = 0 ] || { cat "$dir/live"; echo ---- the core file; cat "$dir/dead"; }
exit $failed
