# SPDX-License-Identifier: Apache-2.0
# suite.awk, behind median.awk: awk -F, -v R=FOLDER -f ... PAIRS TARGETS GROUP.csv...: what suite.sh
# has measured, as summary.csv, ratios.csv and targets.csv in FOLDER, and the table of targets on
# stdout.
#
# Verdicts:
#	pass
#	miss     the figure is beyond its limit
#	even     so it is, but the limit lies within the middle half of the rounds: more of them might say
#	         otherwise
#	bounded  so it is, but the limit is out of reach: a figure of the same run that nothing can
#	         be better than (the target's `bound`, suite.sh) is beyond the limit, too

# The median of list[1..n]; sets `middle_half`, "low high" of the half of the rounds around it.
function settle(list, n,    result) {
	result = median(list, n)
	middle_half = n < 3 ? "" : list[int((n + 3) / 4)] " " list[n + 1 - int((n + 3) / 4)]
	return result
}

function middle(name, at,    i, n, list) {
	n = rounds[name, at]
	for (i = 1; i <= n; i++)
		list[i] = value[name, at, i]
	return settle(list, n)
}

# What stands beside round i: the figure of that round, or the median of all where the reference
# was measured another number of times.
function beside(name, at, i, n) {
	return rounds[name, at] == n ? value[name, at, i] : middle(name, at)
}

# The reference whose median is the smallest; "" when none was measured. Not the fastest of each round:
# the smaller of two figures that vary is smaller than either usually is.
function fastest(references, at,    k, m, best, part) {
	m = split(references, part, " ")
	for (k = 1; k <= m; k++)
		if (rounds[part[k], at] && (best == "" || middle(part[k], at) < middle(best, at)))
			best = part[k]
	return best
}

# The figure of `name` at `name_at` over that of the fastest reference at `at`, round by round; 0
# when there is none.
function ratio_across(name, name_at, references, at,    n, i, r, list) {
	n = rounds[name, name_at]
	r = fastest(references, at)
	if (r == "" || !n)
		return 0
	for (i = 1; i <= n; i++)
		list[i] = value[name, name_at, i] / beside(r, at, i, n)
	return settle(list, n)
}

function ratio(name, at, references) {
	return ratio_across(name, at, references, at)
}

function trim(s) { gsub(/^ +| +$/, "", s); return s }

# The figure at one parameter over that at another, round by round.
function growth(name, to, from,    i, n, list) {
	n = rounds[name, to]
	if (!n || !rounds[name, from])
		return 0
	for (i = 1; i <= n; i++)
		list[i] = value[name, to, i] / beside(name, from, i, n)
	return settle(list, n)
}

function wanted(at, which, name,    part) {
	if (which == "all")
		return 1
	if (which == "last")
		return at == last[name]
	if (split(which, part, "/") == 2)
		return at == part[1]
	if (split(which, part, "-") == 2)
		return at + 0 >= part[1] + 0 && at + 0 <= part[2] + 0
	return at == which
}

# What is compared with the limit: of the target's name, or of its bound, NAME or NAME@PARAMETER.
function figure(name, at, which, references,    part, name_at) {
	name_at = split(name, part, "@") == 2 ? part[2] : at
	name = part[1]
	if (split(which, part, "/") == 2)
		return growth(name, part[1], part[2])
	if (!((name, name_at) in rounds))
		return 0
	if (references == "")
		return middle(name, name_at)
	return ratio_across(name, name_at, references, at)
}

function good(v, op, limit) {
	return op == "<=" ? v <= limit : v >= limit
}

# Whether the better end of the middle half of the rounds is good.
function is_even(half, op, limit,    part) {
	return split(half, part, " ") == 2 && good(op == "<=" ? part[1] : part[2], op, limit)
}

# How bad a verdict is; the row shows the worst parameter among those with the worst verdict.
function rank_of(verdict) {
	return index("pass    bounded even    miss", verdict)
}

# One row for all parameters. `reason`: the bound's name, then why it is one.
function judge(title, name, which, op, limit, references, reason,
		i, at, v, b, n, worst, where, verdict, r, row, shown, count, bound, why, half,
		row_verdict) {
	bound = why = reason
	sub(/ .*/, "", bound)
	sub(/^[^ ]+ */, "", why)
	row = -1
	for (i = 1; i <= n_at[name]; i++) {
		at = at_of[name, i]
		if (!wanted(at, which, name) || !(v = figure(name, at, which, references)))
			continue
		half = middle_half
		b = bound == "" ? 0 : figure(bound, at, which, references)
		verdict = good(v, op, limit) ? "pass" : b && !good(b, op, limit) ? "bounded" : \
			is_even(half, op, limit) ? "even" : "miss"
		count[verdict]++
		n++
		printf "%s,%s,%s,%.4g,%s,%s,%s,%s,%s,%s\n", title_csv(title), name, at, v, op,
			limit, b ? sprintf("%.4g", b) : "", bound, verdict,
			title_csv(why) >(R "/targets.csv")
		r = rank_of(verdict)
		if (r > row || (r == row && (op == "<=" ? v > worst : v < worst))) {
			row = r
			row_verdict = verdict
			worst = v
			where = at
			shown = b
		}
	}
	if (!n) {
		printf "%-62s %10s %10s %8s %8s  %s\n", title, "-", "-", op " " limit, "",
			"not measured"
		return
	}
	verdict = row_verdict
	if (verdict != "pass" && n > 1)
		verdict = verdict " (" count[verdict] " of " n ")"
	if (row_verdict == "miss" && count["even"])
		verdict = verdict ", even (" count["even"] ")"
	if (row_verdict != "bounded" && count["bounded"])
		verdict = verdict ", bounded (" count["bounded"] ")"
	printf "%-62s %10s %10.4g %8s %8s  %s\n", title, where, worst, op " " limit,
		shown ? sprintf("%.4g", shown) : "", verdict (count["bounded"] ? ": " why : "")
}

function title_csv(s) { gsub(/,/, ";", s); return s }

FILENAME == R "/pairs" { split($0, part, " "); pair[++n_pairs] = part[1]; base[n_pairs] = part[2]; next }
FILENAME == R "/targets" { target[++n_targets] = $0; next }
FNR == 1 { group = FILENAME; sub(/.*\//, "", group); sub(/\.csv$/, "", group); next }
{
	name = $3; at = $4
	if (!(name in n_at)) { names[++n_names] = name; of_group[name] = group }
	if (!((name, at) in rounds)) {
		at_of[name, ++n_at[name]] = at
		unit[name, at] = $6
		if (!(name in last) || at + 0 > last[name] + 0)
			last[name] = at
	}
	value[name, at, ++rounds[name, at]] = $5 + 0
}
END {
	print "group,name,parameter,median,unit,rounds" >(R "/summary.csv")
	for (k = 1; k <= n_names; k++)
		for (i = 1; i <= n_at[names[k]]; i++) {
			name = names[k]; at = at_of[name, i]
			printf "%s,%s,%s,%.6g,%s,%d\n", of_group[name], name, at, middle(name, at),
				unit[name, at], rounds[name, at] >(R "/summary.csv")
		}
	print "name,parameter,reference,ratio" >(R "/ratios.csv")
	for (k = 1; k <= n_pairs; k++)
		for (i = 1; i <= n_at[pair[k]]; i++) {
			at = at_of[pair[k], i]
			r = ratio(pair[k], at, base[k])
			if (r)
				printf "%s,%s,%s,%.3f\n", pair[k], at, base[k], r >(R "/ratios.csv")
		}
	print "target,name,parameter,value,comparison,limit,bound,bound_name,verdict,reason" \
		>(R "/targets.csv")
	printf "\n%-62s %10s %10s %8s %8s\n", "target (ratios of the same round; the worst parameter)",
		"parameter", "measured", "limit", "bound"
	for (k = 1; k <= n_targets; k++) {
		split(target[k], part, "|")
		judge(trim(part[1]), trim(part[2]), trim(part[3]), trim(part[4]), trim(part[5]) + 0,
			trim(part[6]), trim(part[7]))
	}
	print ""
}
