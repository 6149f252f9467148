# SPDX-License-Identifier: Apache-2.0
"""What is said about the figures that suite.py has measured: medians, ratios, verdicts on the targets, tables,
plots. All of it can be said again at any time from the GROUP.csv files of one folder.

Verdicts:
    pass
    miss     the figure is beyond its limit
    even     so it is, but the limit lies within the middle half of the rounds: more of them might say
             otherwise
    bounded  so it is, but the limit is out of reach: a figure of the same run that nothing can be better
             than (the bound) is beyond the limit, too"""
import csv
import math
import re
import shutil
import subprocess
from statistics import median

import targets


# ---- figures ---------------------------------------------------------------------------------

class Figures:
    """What was measured: a value per round for each name and parameter. Parameters stay text."""

    def __init__(self):
        self.values, self.units, self.group_of = {}, {}, {}

    def add(self, group, name, at, value, unit):
        self.group_of.setdefault(name, group)
        self.units.setdefault((name, at), unit)
        self.values.setdefault((name, at), []).append(value)

    def rounds(self, name, at):
        return self.values.get((name, at), [])

    def median(self, name, at):
        return median(self.values[name, at])

    def parameters(self, name):
        return [at for other, at in self.values if other == name]

    def fastest(self, names, at):
        """The one whose median is the smallest. Not the fastest of each round: the smaller of two
        figures that vary is smaller than either usually is."""
        measured = [name for name in names if self.rounds(name, at)]
        return min(measured, key=lambda name: self.median(name, at), default=None)

    def divided(self, name, at, other, other_at):
        """Round by round, or by the median where the other was measured another number of times."""
        above, below = self.rounds(name, at), self.rounds(other, other_at)
        if below and len(below) != len(above):
            below = [median(below)] * len(above)
        return [a / b for a, b in zip(above, below) if b]


def load(folder):
    figures = Figures()
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="") as lines:
            for row in csv.DictReader(lines):
                if "value" in row and "round" in row:
                    figures.add(path.stem, row["name"], row["parameter"], float(row["value"]),
                                row["unit"])
    add_charm(figures)
    add_laws(figures)
    return figures


def add_charm(figures):
    """Charm++'s published figures, scaled by what bare C takes here (targets.py)."""
    for i, at in enumerate(targets.CHARM_BYTES):
        for bare in figures.rounds("floor-notouch", at):
            figures.add("charm", "charm-ucx", at, bare * targets.CHARM_UCX[i] / targets.CHARM_BARE[i],
                        "us")
        # A pointer costs the same whatever it points to.
        for bare in figures.rounds("floor-threads-notouch", "100"):
            figures.add("charm", "charm-threads", at,
                        bare * targets.CHARM_THREADS[i] / targets.CHARM_BARE[0], "us")


def add_laws(figures):
    """NAME-law: at the three largest N the value grows as N to this power. NAME-slope: what each further
    node adds, over all N. Both by least squares."""
    for name in [name for name, group in figures.group_of.items() if group == "growth"]:
        points = sorted((int(at), figures.median(name, at)) for at in figures.parameters(name))
        last = points[-1][0]
        large = [(math.log(n), math.log(v)) for n, v in points if n >= last / 4 and v > 0]
        if len(large) == 3 and len(points) > 3:
            figures.add("growth", f"{name}-law", str(last), slope(large), "exponent")
            figures.add("growth", f"{name}-slope", str(last), slope(points),
                        f"{figures.units[name, str(last)]}/node")


def slope(points):
    n = len(points)
    sx, sy = sum(x for x, _ in points), sum(y for _, y in points)
    sxx, sxy = sum(x * x for x, _ in points), sum(x * y for x, y in points)
    return (n * sxy - sx * sy) / (n * sxx - sx * sx)


# ---- verdicts --------------------------------------------------------------------------------

WORST_LAST = ("pass", "bounded", "even", "miss")


def wanted(at, which):
    if which == "all":
        return True
    if "/" in which:
        return at == which.split("/")[0]
    if "-" in which:
        least, most = which.split("-")
        return float(least) <= float(at) <= float(most)
    return at == which


def compared(figures, target, name, at):
    """What is compared with the limit, of each round, for the target's name or its bound."""
    name, _, name_at = name.partition("@")
    name_at = name_at or at
    if "/" in target.at:
        return figures.divided(name, at, name, target.at.split("/")[1])
    if not target.over:
        return figures.rounds(name, name_at)
    reference = figures.fastest(target.over, at)
    return figures.divided(name, name_at, reference, at) if reference else []


def verdict_of(target, rounds, bound):
    def good(value):
        return value <= target.limit if target.op == "<=" else value >= target.limit
    if good(median(rounds)):
        return "pass"
    if bound is not None and not good(bound):
        return "bounded"
    # The better end of the middle half of the rounds.
    cut = (len(rounds) + 3) // 4
    better = sorted(rounds, reverse=target.op == ">=")[cut - 1]
    return "even" if len(rounds) >= 3 and good(better) else "miss"


def judge(figures, target):
    """A row for each parameter: parameter, figure, bound or None, verdict."""
    rows = []
    for at in figures.parameters(target.name):
        rounds = compared(figures, target, target.name, at) if wanted(at, target.at) else []
        if rounds:
            limits = compared(figures, target, target.bound, at) if target.bound else []
            bound = median(limits) if limits else None
            rows.append((at, median(rounds), bound, verdict_of(target, rounds, bound)))
    return rows


def table_row(target, rows):
    """One line for all parameters, with the worst of them, and how many fare as badly."""
    def line(at, measured, bound, verdict):
        limit = f"{target.op} {target.limit:g}"
        return f"{target.title:<62} {at:>10} {measured:>10} {limit:>8} {bound:>8}  {verdict}"
    if not rows:
        return line("-", "-", "", "not measured")
    verdicts = [row[3] for row in rows]
    sign = 1 if target.op == "<=" else -1
    at, value, bound, worst = max(rows, key=lambda row: (WORST_LAST.index(row[3]), sign * row[1]))
    verdict = worst
    if worst != "pass" and len(rows) > 1:
        verdict += f" ({verdicts.count(worst)} of {len(rows)})"
    if worst == "miss" and "even" in verdicts:
        verdict += f", even ({verdicts.count('even')})"
    if worst != "bounded" and "bounded" in verdicts:
        verdict += f", bounded ({verdicts.count('bounded')})"
    if "bounded" in verdicts:
        verdict += f": {target.why}"
    return line(at, f"{value:.4g}", "" if bound is None else f"{bound:.4g}", verdict)


# ---- what it writes --------------------------------------------------------------------------

def write_csv(path, header, rows):
    with path.open("w") as out:
        for row in [header, *rows]:
            print(*(str(cell).replace(",", ";") for cell in row), sep=",", file=out)


def write_medians(figures, folder):
    """summary.csv and ratios.csv."""
    write_csv(folder / "summary.csv", ("group", "name", "parameter", "median", "unit", "rounds"),
              [(group, name, at, f"{figures.median(name, at):.6g}", figures.units[name, at],
                len(figures.rounds(name, at)))
               for name, group in figures.group_of.items() for at in figures.parameters(name)])
    ratios = [(name, at, other, figures.divided(name, at, other, at))
              for name, other in targets.PAIRS for at in figures.parameters(name)]
    write_csv(folder / "ratios.csv", ("name", "parameter", "reference", "ratio"),
              [(*pair, f"{median(rounds):.3f}") for *pair, rounds in ratios if rounds])


def write_verdicts(figures, folder, wishes):
    """targets.csv; returns the lines of the table that is printed."""
    judged = [(target, judge(figures, target)) for target in wishes]
    write_csv(folder / "targets.csv", ("target", "name", "parameter", "value", "comparison", "limit",
                                       "bound", "bound_name", "verdict", "reason"),
              [(t.title, t.name, at, f"{value:.4g}", t.op, f"{t.limit:g}",
                "" if bound is None else f"{bound:.4g}", t.bound, verdict, t.why)
               for t, rows in judged for at, value, bound, verdict in rows])
    title = "target (ratios of the same round; the worst parameter)"
    return [f"{title:<62} {'parameter':>10} {'measured':>10} {'limit':>8} {'bound':>8}",
            *(table_row(target, rows) for target, rows in judged)]


def paper_table(figures, title, what, columns):
    """A row for each parameter that one of the columns has; nothing when there is none."""
    heads, names, factors = [], [], []
    for column in columns.split():
        head, name, factor = re.fullmatch(r"([^=]+)=([^*]+)\*?(.*)", column).groups()
        heads.append(head), names.append(name), factors.append(float(factor or 1))
    rows = dict.fromkeys(at for name in names for at in figures.parameters(name))
    if not rows:
        return ""
    lines = [title, "", f"{what:>10}" + "".join(f" {head:>12}" for head in heads)]
    for at in sorted(rows, key=float):
        cells = [f"{figures.median(name, at) * factor:.4g}" if figures.rounds(name, at) else "-"
                 for name, factor in zip(names, factors)]
        label = at if what or float(at) else ""
        lines.append(f"{label:>10}" + "".join(f" {cell:>12}" for cell in cells))
    return "\n".join(lines) + "\n\n"


def plot(figures, folder, file, title, x, y, names):
    """As SVG and PNG; whether that went well."""
    curves = []
    for name in names.split():
        points = sorted((float(at), figures.median(name, at)) for at in figures.parameters(name))
        if len(points) > 1:
            curves.append((name.replace("_", "\\_"), points))
    if not curves:
        return True
    script = "".join(f"$d{i} << EOD\n" + "".join(f"{px} {py}\n" for px, py in points) + "EOD\n"
                     for i, (_, points) in enumerate(curves))
    script += (f"set title '{title}'\nset xlabel '{x}'\nset ylabel '{y}'\nset logscale xy\n"
               "set format x '10^{%L}'\nset grid\nset key left top\n")
    for terminal in ("svg size 800,560 background 'white'", "pngcairo size 800,560"):
        script += f"set terminal {terminal}\nset output '{folder / file}.{terminal[:3]}'\nplot "
        script += ", ".join(f"$d{i} with linespoints title '{name}'"
                            for i, (name, _) in enumerate(curves)) + "\n"
    return subprocess.run(["gnuplot"], input=script.encode()).returncode == 0


def write(folder):
    """Everything about the CSVs in the folder. Returns the lines of the table of targets, and the plots that
    failed."""
    figures = load(folder)
    write_medians(figures, folder)
    lines = write_verdicts(figures, folder, targets.TARGETS)
    (folder / "tables.txt").write_text("".join(paper_table(figures, *t) for t in targets.TABLES))
    if not shutil.which("gnuplot"):
        return lines + ["no plots: gnuplot is not installed (deps.sh --bench installs it)"], []
    return lines, [f"plot {p[0]}" for p in targets.PLOTS if not plot(figures, folder, *p)]
