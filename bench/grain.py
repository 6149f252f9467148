#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""grain.py [OPTIONS] BUILD: METG(50 %) of bench/grain by pattern, width and way, beside bench/mpi/grain_mpi by every MPI
that is installed.

On 2 PEs, each on a core of its own: as two processes (nodes) and as two threads of one. Everything is run in turn, for
--rounds rounds, of which the least counts. One line for each pattern and width: microseconds of the fastest MPI program, which one
that is, and for every way its METG divided by that. With --size the time per task of that size counts instead of METG, waiting
included. What follows -- goes to all programs: --bytes, --imbalance, --graphs.

With --csv FILE the figures are appended to FILE, and tables are made of all that FILE has: so the measurement may be
done in parts."""
import argparse
import csv
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import groups  # noqa: E402

PATTERNS = ["stencil", "nearest", "fft", "tree", "spread", "random", "all"]
WAYS = ["message", "inline", "call", "channel", "named", "near", "count", "body", "section", "member", "outputs"]
# Of the ways in a picture.
COLOURS = ["red", "orange", "gold", "blue", "cyan", "dark-violet", "brown", "gray", "dark-orange", "forest-green", "magenta"]


def jobs(builder, pattern, width, ways, more):
    args = ["--pattern", pattern, "--width", str(width), *more]
    for way in ways:
        yield from builder.both("grain/grain", "--way", way, *args)
    for how in ("each", "packed"):
        yield from builder.mpi("grain", "--how", how, *args)


def run(build, job):
    """The figure of a job: its way and microseconds. None if the program has not been built."""
    if not os.access(f"{build}/{job.program}", os.X_OK):
        return None
    done = subprocess.run(job.command, stdout=subprocess.PIPE, text=True, timeout=60)
    if done.returncode:
        sys.exit(f"grain.py: exit code {done.returncode}: {' '.join(job.command)}")
    name, _, us, _ = done.stdout.split()[:4]
    return name.split("-", 2)[2], float(us)


def rows(args, more):
    """(pattern, width, way, us) of every run."""
    builder = groups.Builder(args.build, False, False)
    for _ in range(args.rounds):
        for pattern in args.patterns:
            for width in args.widths:
                for job in jobs(builder, pattern, width, args.ways, [*args.size, *more]):
                    figure = run(args.build, job)
                    if figure:
                        yield pattern, str(width), *figure


def by_case(measured):
    """{(pattern, width): {way: us}}"""
    cases = {}
    for pattern, width, way, us in measured:
        cases.setdefault((pattern, width), {}).setdefault(way, []).append(float(us))
    return {case: {way: min(us) for way, us in ways.items()} for case, ways in cases.items()}


def is_mpi(way):
    return way.endswith(("-openmpi", "-mpich"))


def table(cases):
    ways = list(dict.fromkeys(way for figures in cases.values() for way in figures if not is_mpi(way)))
    yield "| pattern | width | MPI, us | which | " + " | ".join(ways) + " |"
    yield "|---|---|---|---|" + "---|" * len(ways)
    for (pattern, width), figures in cases.items():
        mpi = min((way for way in figures if is_mpi(way)), key=figures.get, default=None)
        base = figures.get(mpi)
        cells = [f"{figures[way] / (base or 1):.2f}" if way in figures else "" for way in ways]
        yield f"| {pattern} | {width} | {base or 0:.3f} | {mpi} | " + " | ".join(cells) + " |"


def line_of(cases, pattern, way, widths):
    """(width, us) of a way or a library: the better of processes and threads, and of both ways to send by MPI."""
    for w in widths:
        us = [us for name, us in cases[pattern, str(w)].items() if way in name.split("-")]
        if us:
            yield f"{w} {min(us)}"


def panel(cases, pattern):
    """One picture's commands for gnuplot, and its data: METG by width and way."""
    widths = sorted({int(width) for p, width in cases if p == pattern})
    data, lines = [], []
    for number, way in enumerate([*WAYS, "openmpi", "mpich"], 1):
        line = list(line_of(cases, pattern, way, widths))
        if line:
            data += [*line, "e"]
            style = "dashtype 2 linecolor rgb 'black'" if "mpi" in way else f"linecolor rgb '{COLOURS[number - 1]}'"
            lines.append(f"'-' title '{way}' with linespoints linewidth 2 {style} pointtype {number}")
    return [f"set title '{pattern}'", f"set xrange [{widths[0]}:{widths[-1]}]", f"set xtics ({', '.join(map(str, widths))})", "plot " + ", ".join(lines), *data]


def plot(cases, png, patterns):
    script = [f"set terminal pngcairo size {460 * len(patterns)},420", f"set output '{png}'", "set logscale xy",
              "set key top right font ',9'", "set grid", "set xlabel 'elements on each PE'",
              "set ylabel 'METG(50 %), us'", f"set multiplot layout 1,{len(patterns)}"]
    for pattern in patterns:
        script += panel(cases, pattern)
    subprocess.run(["gnuplot"], input="\n".join(script).encode(), check=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], allow_abbrev=False)
    parser.add_argument("--patterns", type=lambda s: s.split(","), default=PATTERNS)
    parser.add_argument("--widths", type=lambda s: s.split(","), default=["1", "8", "32"])
    parser.add_argument("--ways", type=lambda s: s.split(","), default=WAYS)
    parser.add_argument("--size", type=lambda n: ["--iters", n], default=["--metg"], metavar="N",
                        help="microseconds of a task of N iterations (3 ns each) instead of METG")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--csv", type=Path, help="append the figures, and make the tables of all of them")
    parser.add_argument("--plot", metavar="PNG", help="a picture of the patterns; needs gnuplot")
    parser.add_argument("build", help="the build folder")
    before, _, after = " ".join(sys.argv[1:]).partition(" -- ")
    return parser.parse_args(before.split()), after.split()


def main():
    args, more = arguments()
    measured = []
    if args.csv and args.csv.exists():
        with args.csv.open(newline="") as f:
            measured = list(csv.reader(f))
    for row in rows(args, more):
        measured.append(row)
        if args.csv:
            with args.csv.open("a", newline="") as f:
                csv.writer(f).writerow(row)
    print(*table(by_case(measured)), sep="\n")
    if args.plot:
        plot(by_case(measured), args.plot, args.patterns)


if __name__ == "__main__":
    main()
