#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [--big] [--comments | model ...]: searches all states of the models (*.pml) with spin, and then those of each of their
# mutants, in which it must find an error. One line "ok ..." for each fact; exit code 1 if a model has an error
# or a mutant has none. --comments only looks whether the comments of the runtime fit the models, which otherwise is done
# where all models are run.
#
# A model says in its head how it is run and which mutants it has:
#
#	run: FLAGS               spin's -D flags; one line for each way
#	big: FLAGS               a way that takes minutes or gigabytes, with --big only
#	cc: FLAG                 how the checker is compiled, where -O1 takes longer than it saves (not with --big)
#	mutant N: text           run in the first way
#	mutant N: WAY: text      run in the first way that has -DWAY...
#
# The search is bounded: MEMORY_MB, and SECONDS_MOST of processor time for each. A search that a bound cuts off is a failure.

set -u
cd "$(dirname "$0")" || exit 1
export LC_ALL=C
MEMORY_MB=640 SECONDS_MOST=100 DEPTH=20000
big=
if [ "${1:-}" = --big ]; then
	shift
	big=1 MEMORY_MB=12000 SECONDS_MOST=3600
fi
runtime=../../runtime
failed=0
all_states=0

for tool in spin "${CC:=cc}"; do
	if ! command -v "$tool" >/dev/null; then
		echo "skip models: there is no $tool"
		exit 77
	fi
done
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT INT TERM

fail() { echo "models: $*"; failed=1; }

# ---- searching ------------------------------------------------------------------------------------

# Make the checker of a model for one way: model, directory, flags.
build() {
	local model=$1 dir=$2 level
	shift 2
	[ -n "$big" ] || level=$(sed -n 's/^ \* cc: //p' "$model.pml")
	mkdir -p "$dir" && cp ./*.pml "$dir" || return
	# Spin runs the preprocessor of the system by itself.
	(cd "$dir" && spin "$@" -a "$model.pml" >spin.out 2>&1 &&
		"$CC" "${level:--O1}" -w -DSAFETY -DCOLLAPSE -DMEMLIM=$MEMORY_MB -o pan pan.c) >"$dir/cc.out" 2>&1 &&
		! grep -q Error "$dir/spin.out" && return
	cat "$dir/spin.out" "$dir/cc.out"
	return 1
}

search() { # directory, mutant; the checker's report on stdout
	(cd "$1" && ulimit -t $SECONDS_MOST && MUTANT=$2 ./pan -m$DEPTH -w22 2>&1)
}

was_cut_off() { # report
	grep -Eq 'Search not completed|search depth too small|out of memory|memory limit' <<<"$1" ||
		! grep -q 'errors:' <<<"$1"
}

states_of() { awk '/states, stored/ { print $1; exit }' <<<"$1"; }

check_way() { # model, directory, flags
	local model=$1 dir=$2 report n
	shift 2
	build "$model" "$dir" "$@" || { fail "$model $*: spin or the compiler refuses it"; return; }
	report=$(search "$dir" 0)
	if grep -q 'errors: 0' <<<"$report" && ! was_cut_off "$report"; then
		n=$(states_of "$report")
		all_states=$((all_states + n))
		echo "ok model $model${*:+ $*}: no error in $n states"
	else
		fail "$model $*: $(grep -E '^pan|errors:|max search|memory' <<<"$report" | head -3)"
	fi
}

# ---- mutants --------------------------------------------------------------------------------------

ways_of() { sed -n "s/^ \* run: \{0,1\}//p${big:+;s/^ \* big: //p}" "$1.pml"; }

mutants_of() { sed -n 's/^ \* mutant \([0-9]*\): .*/\1/p' "$1.pml"; }

# The directory of the way in which a mutant is run.
dir_of_mutant() { # model, mutant
	local way
	way=$(sed -n "s/^ \* mutant $2: \([A-Z]*\): .*/\1/p" "$1.pml")
	ways_of "$1" | awk -v way="-D$way" 'way == "-D" || index($0, way) { print NR; exit }'
}

check_mutants() { # model
	local model=$1 m n=0 caught=0 report
	for m in $(mutants_of "$model"); do
		n=$((n + 1))
		report=$(search "$tmp/$model.$(dir_of_mutant "$model" "$m")" "$m")
		if grep -q 'errors: [1-9]' <<<"$report"; then
			caught=$((caught + 1))
		elif was_cut_off "$report"; then
			fail "$model: the search in mutant $m was cut off"
		else
			fail "$model: nothing is found in mutant $m:$(sed -n "s/^ \* mutant $m://p" "$model.pml")"
		fi
	done
	[ "$n" -gt 0 ] || fail "$model: has no mutants"
	[ "$caught" != "$n" ] || echo "ok model $model: $caught of $n mutants caught"
}

# A mutant that the head names is planted somewhere, and the other way round.
check_planted() { # model
	local named planted
	named=$(mutants_of "$1" | sort)
	planted=$(grep -Eo 'mutant [!=]= [0-9]+' "$1.pml" | grep -Eo '[0-9]+' | sort -u)
	[ "$named" = "$planted" ] || fail "$1: its head names other mutants than it has"
}

check_model() {
	local model=$1 i=0 way
	check_planted "$model"
	while read -r way; do
		i=$((i + 1))
		# shellcheck disable=SC2086 # the flags are words
		check_way "$model" "$tmp/$model.$i" $way
	done < <(ways_of "$model")
	check_mutants "$model"
	rm -rf "$tmp/$model".*
}

# ---- comments -------------------------------------------------------------------------------------

# A comment of the runtime, "Model: x.pml, name", names a part of the model; a model's parts are what the runtime
# calls so.
check_comments() {
	local file name model bad=0
	while IFS=: read -r file name; do
		model=${name%%.pml*}
		name=${name##*, }
		grep -Eqs "(inline|proctype) $name\(" "$model.pml" && continue
		fail "$file: model $model.pml has no part $name"
		bad=1
	done < <(grep -rEo 'Model: [a-z]+\.pml, [a-z_0-9]+' --include='*.[ch]' $runtime | sed 's/:Model: /:/')
	for model in "$@"; do
		grep -rq "Model: $model.pml, " $runtime && continue
		fail "no comment of the runtime names $model.pml"
		bad=1
	done
	for model in "$@"; do
		grep -Eq "[{,]$model[,}]" ../build.cases && continue
		fail "no case of tests/build.cases runs $model.pml"
		bad=1
	done
	[ $bad = 1 ] || echo "ok models: the runtime's comments name their parts"
}

models=("$@")
if [ $# = 0 ] || [ "$1" = --comments ]; then
	models=()
	for file in *.pml; do
		grep -q '^ \* run:' "$file" && models+=("${file%.pml}")
	done
	check_comments "${models[@]}"
	[ $# = 0 ] || exit $failed
fi
for model in "${models[@]}"; do
	check_model "$model"
done
echo "models: $all_states states"
exit $failed
