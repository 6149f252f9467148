#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Who may include what. Prints every #include that breaks the table below; exit code 0 when
# there is none. With --self-test it also plants violations in a copy, which must be found.
#
#	tests/layers.sh [--self-test] [top]

folders="runtime ci-compiler launcher examples bench tests"
# folder: headers of other folders that it may include. Its own it may always.
table='
runtime/machine:
runtime/scheduler:  cmi.h
runtime/chare:      csd.h cth.h cmi.h
runtime/direct:     csd.h cmi.h
runtime:            chare_layer.h ckgen.h direct_layer.h csd.h
ci-compiler:
launcher:
examples:           ck.h
examples/*:         ck.h ckdirect.h cth.h args.h random.h turns.h values.h
bench:              ck.h ckdirect.h csd.h cth.h cmi.h direct_layer.h
bench/mpi:          bench.h plan.h stream.h crowd.h pingack.h keys.h
tests:              csd.h cmi.h
tests/programs*:    ck.h ckdirect.h csd.h cth.h tests/programs/check.h
tests/ci:           ck.h ckgen.h ckdirect.h ci-compiler/*
tests/launcher:     boot.h
tests/machine:      check_run.h runtime/machine/*
tests/scheduler:    check_run.h csd.h cmi.h runtime/scheduler/*
tests/chare:        check_run.h csd.h cmi.h ck.h ckgen.h chare_layer.h runtime/chare/*
tests/direct:       check_run.h csd.h cmi.h ckdirect.h direct_layer.h runtime/direct/*
'
# System headers that one folder alone knows.
only='
^(ucp|ucs|uct|ucm)/|^hwloc|^pmi|^libunwind  runtime/machine
^mpi\.h$                                    bench/mpi
'

# Cases of ckci's tests are data, not code.
files() { find "$@" -name '*.[ch]' ! -path 'tests/ci/*/*'; }

# Where the quoted header $2 of file $1 is: beside it, or found by the Makefile's -I.
resolve() {
	local d
	for d in "${1%/*}" runtime/{chare,direct,scheduler,machine} bench tests ci-compiler; do
		if [ -e "$d/$2" ]; then
			realpath -s --relative-to=. "$d/$2"
			return
		fi
	done
}

allowed() { # folder, resolved header
	local from to rule
	while IFS=: read -r from to; do
		[ -n "$from" ] && [[ $1 == $from ]] || continue
		set -f
		for rule in $to; do
			[[ $2 == $rule || ${2##*/} == $rule ]] && { set +f; return 0; }
		done
		set +f
	done <<<"$table"
	return 1
}

check_quoted() { # file, line, header
	local found
	[[ $3 == *.decl.h || $3 == *.def.h ]] && return # ckci makes them
	found=$(resolve "$1" "$3")
	if [ -z "$found" ]; then
		echo "$1:$2: \"$3\" is not found"
	elif [ "${found%/*}" != "${1%/*}" ] && ! allowed "${1%/*}" "$found"; then
		echo "$1:$2: ${1%/*} may not include $found"
	fi
}

check_system() { # file, line, header
	local pattern folder
	while read -r pattern folder; do
		[ -n "$pattern" ] && [[ $3 =~ $pattern ]] && [ "${1%/*}" != "$folder" ] &&
			echo "$1:$2: only $folder may include <$3>"
	done <<<"$only"
}

check_all() {
	local file line kind header
	# Files of a folder that the table does not have would pass unseen.
	files $folders | sed 's|/[^/]*$||' | sort -u | while read -r folder; do
		while IFS=: read -r from to; do
			[ -n "$from" ] && [[ $folder == $from ]] && continue 2
		done <<<"$table"
		echo "$folder: not in the table of tests/layers.sh"
	done
	files $folders | xargs grep -nE '^[[:space:]]*#[[:space:]]*include' |
		sed -nE 's/^([^:]*):([0-9]+):[^"<]*(["<])([^">]*)[">].*/\1 \2 \3 \4/p' |
		while read -r file line kind header; do
			if [ "$kind" = '<' ]; then
				check_system "$file" "$line" "$header"
			else
				check_quoted "$file" "$line" "$header"
			fi
		done
}

plant() { # file, include: must be found
	cp "$1" "$1.keep"
	sed -i "1a #include $2" "$1"
	if [ -z "$(check_all)" ]; then
		echo "self-test: #include $2 in $1 was not found"
	fi
	mv "$1.keep" "$1"
}

self_test() {
	local dir=$(mktemp -d) d
	for d in $folders; do
		cp -r "$d" "$dir"
	done
	cd "$dir" || exit 1
	plant runtime/chare/send.c '"../direct/ckdirect.h"'
	plant runtime/direct/channel.c '"ck.h"'
	plant runtime/machine/loop.c '"../scheduler/csd.h"'
	plant runtime/scheduler/send.c '"../machine/machine_int.h"'
	plant runtime/scheduler/loop.c '<ucp/api/ucp.h>'
	plant runtime/chare/layer.c '<hwloc.h>'
	plant examples/hello/hello.c '"ck_int.h"'
	plant launcher/job.c '"../runtime/machine/cmi.h"'
	cd - >/dev/null
	rm -rf "$dir"
}

if [ "$1" = --self-test ]; then
	self=1
	shift
fi
cd "${1:-$(dirname "$0")/..}" || exit 1
wrong=$(check_all)
if [ -z "$wrong" ] && [ "$self" ]; then
	wrong=$(self_test)
fi
[ -z "$wrong" ] && exit 0
echo "$wrong"
exit 1
