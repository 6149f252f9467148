# SPDX-License-Identifier: Apache-2.0
# suite.awk -v R=FOLDER -F, PAIRS TARGETS GROUP.csv...: what suite.sh has measured, as summary.csv,
# ratios.csv and targets.csv in FOLDER, and the table of targets on stdout.

function median(list, n,    i, j, t) {
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
			t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
		}
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}

function middle(name, at,    i, n, list) {
	n = rounds[name, at]
	for (i = 1; i <= n; i++)
		list[i] = value[name, at, i]
	return median(list, n)
}

# What stands beside round i: the figure of that round, or the median of all where the reference
# was measured another number of times.
function beside(name, at, i, n) {
	return rounds[name, at] == n ? value[name, at, i] : middle(name, at)
}

# The figure over the smallest of the references, round by round; 0 when there is none.
function ratio(name, at, references,    k, n, i, r, m, least, v, list, part) {
	n = rounds[name, at]
	m = split(references, part, " ")
	for (i = 1; i <= n; i++) {
		least = 0
		for (k = 1; k <= m; k++) {
			if (!rounds[part[k], at])
				continue
			v = beside(part[k], at, i, n)
			if (v > 0 && (!least || v < least))
				least = v
		}
		if (!least)
			return 0
		list[i] = value[name, at, i] / least
	}
	return median(list, n)
}

function trim(s) { gsub(/^ +| +$/, "", s); return s }

# The figure at one parameter over that at another, round by round.
function growth(name, to, from,    i, n, list) {
	n = rounds[name, to]
	if (!n || !rounds[name, from])
		return 0
	for (i = 1; i <= n; i++)
		list[i] = value[name, to, i] / beside(name, from, i, n)
	return median(list, n)
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

# One row for all parameters: the worst of them is shown.
function judge(title, name, which, op, limit, references,
		i, at, v, n, worst, where, misses, ok, part) {
	for (i = 1; i <= n_at[name]; i++) {
		at = at_of[name, i]
		if (!wanted(at, which, name))
			continue
		if (split(which, part, "/") == 2)
			v = growth(name, part[1], part[2])
		else
			v = references == "" ? middle(name, at) : ratio(name, at, references)
		if (!v)
			continue
		ok = op == "<=" ? v <= limit : v >= limit
		misses += !ok
		printf "%s,%s,%s,%.4g,%s,%s,%s\n", title_csv(title), name, at, v, op, limit,
			ok ? "pass" : "miss" >(R "/targets.csv")
		if (!n++ || (op == "<=" ? v > worst : v < worst)) {
			worst = v
			where = at
		}
	}
	if (!n)
		printf "%-62s %10s %10s %8s  %s\n", title, "-", "-", op " " limit, "not measured"
	else
		printf "%-62s %10s %10.4g %8s  %s\n", title, where, worst, op " " limit,
			!misses ? "pass" : n == 1 ? "miss" : "miss (" misses " of " n ")"
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
	print "target,name,parameter,value,comparison,limit,verdict" >(R "/targets.csv")
	printf "\n%-62s %10s %10s %8s\n", "target (ratios of the same round; the worst parameter)",
		"parameter", "measured", "limit"
	for (k = 1; k <= n_targets; k++) {
		split(target[k], part, "|")
		judge(trim(part[1]), trim(part[2]), trim(part[3]), trim(part[4]), trim(part[5]) + 0,
			trim(part[6]))
	}
	print ""
}
