#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# order.sh BUILD: the functions that runtime/order.ld names exist, and lie first in what programs get, each where it is
# named. One line for each fact; exit code 1 if one does not hold.

cd "$(dirname "$0")/.." || exit 1
B=${1:-build}

. tests/steps.sh

named() { sed -n 's/^\t*\*(\.text\.\([A-Za-z0-9_]*\) .*/\1/p' runtime/order.ld; }

# A function may lie in several pieces (f.part.0) or stand in several files. What hardly ever runs of it lies elsewhere.
lie() { # what nm prints
	awk '($2 == "t" || $2 == "T") && $3 !~ /\.cold|^chard_text_/ { sub(/\..*/, "", $3); if ($3 != last) print last = $3 }'
}
exist() { ! named | grep -v -x -F -f <(nm "$B/whole.o" | lie); }
first() {
	local n
	n=$(named | wc -l)
	[ "$n" -ge 50 ] && diff <(named) <(nm -n "$B/whole.o" | lie | head -"$n")
}
one_section() { [ "$(readelf -SW "$B/whole.o" | grep -c ' PROGBITS .* AX ')" = 1 ]; }
# Its code begins with what its startup needs.
shared() { diff <(named | head -40) <(nm -n "$B/libchard.so" | lie | grep -x -A39 loop_run); }

step "the functions of runtime/order.ld exist" exist
step "they lie first, in that order" first
step "all code is in one section" one_section
step "in the shared library, too" shared
exit $failed
