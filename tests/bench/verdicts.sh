#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# verdicts.sh: bench/suite.awk says pass, miss and bounded where it should, and divides by the
# reference of the same round. One line per fact that does not hold; exit code 1 if any.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

cat >"$dir/targets" <<'TARGETS'
some reach it, where the bound allows | a | all | <= | 1.0 | ref | low as low as it gets
the bound would allow it | a | 8 | <= | 1.0 | ref | fine@8 no excuse
no bound | a | all | <= | 1.0 | ref
a figure by itself | fig | 0 | >= | 5 | | best@0 as fast as it gets
all pass, whatever the bound | a | all | <= | 9 | ref | low as low as it gets
the faster of two | a | 16 | <= | 1.0 | ref slow
growth | a | 16/8 | <= | 1.5
by rounds | drift | 1 | <= | 1.0 | driftref
never measured | nothing | all | <= | 1 | ref
TARGETS
echo "a ref" >"$dir/pairs"
# Of drift and its reference the medians have the ratio 1.5, the rounds 1, 1 and 1.5.
cat >"$dir/group.csv" <<'CSV'
round,program,name,parameter,value,unit
1,p,a,8,3,us
1,p,a,16,1.5,us
1,p,ref,8,2,us
1,p,ref,16,2,us
1,p,slow,16,1,us
1,p,low,8,2.5,us
1,p,low,16,1,us
1,p,fine,8,1,us
1,p,fig,0,3,us
1,p,best,0,4,us
1,p,drift,1,1,us
2,p,drift,1,9,us
3,p,drift,1,3,us
1,p,driftref,1,1,us
2,p,driftref,1,9,us
3,p,driftref,1,2,us
CSV
awk -F, -v R="$dir" -f bench/median.awk -f bench/suite.awk "$dir/pairs" "$dir/targets" \
	"$dir/group.csv" >"$dir/table" || exit 1

failed=0
# want TITLE TEXT: the row of that title ends with the text, runs of blanks counting as one.
want() {
	row=$(grep "^$1  " "$dir/table" | sed 's/  */ /g')
	case $row in
	*" $2") ;;
	*)
		echo "verdicts: wanted '$2' after '$1', got '$row'"
		failed=1
		;;
	esac
}
want "some reach it, where the bound allows" "8 1.5 <= 1 1.25 bounded (1 of 2): as low as it gets"
want "the bound would allow it" "8 1.5 <= 1 0.5 miss"
want "no bound" "8 1.5 <= 1 miss (1 of 2)"
want "a figure by itself" "0 3 >= 5 4 bounded: as fast as it gets"
want "all pass, whatever the bound" "8 1.5 <= 9 1.25 pass"
want "the faster of two" "16 1.5 <= 1 miss"
want "growth" "16 0.5 <= 1.5 pass"
want "by rounds" "1 1 <= 1 pass"
want "never measured" "- - <= 1 not measured"
grep -q '^a,8,ref,1.500$' "$dir/ratios.csv" || { echo "verdicts: no ratio of a pair"; failed=1; }
grep -q '^group,drift,1,3,us,3$' "$dir/summary.csv" || { echo "verdicts: no median"; failed=1; }
exit $failed
