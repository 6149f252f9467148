#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""apps.py [OPTIONS] BUILD [APPLICATION ...]: the examples cg, fft and cholesky beside the same by MPI.

On 2 PEs, each on a core of its own: as two processes and as two threads of one; the MPI programs as two processes, by each
MPI for which they are built: cg by hand, fft by FFTW's own transform, cholesky by ScaLAPACK's pdpotrf. Of widths of tiles and
of shapes of the grid each side's best counts. Everything is run in turn, for --rounds rounds. One line for each case:
milliseconds of the fastest MPI program, which one that is, and the time of processes and of threads divided by that.
Medians of the rounds. With --csv FILE the figures are appended to FILE, and the table is made of all that FILE has: so the
measurement may be done in parts."""
import argparse
import csv
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import groups  # noqa: E402

# Of ours "there and back in 20.5 ms", "64 iterations of 12.5 us", "on 2 PEs, 41.8 ms,"; of MPI's the first line's last word, in us.
OURS = re.compile(r"(?:in|iterations of|PEs,) ([0-9.]+) (us|ms)[,.]")
IN_MS = {"us": 1e-3, "ms": 1}


def cg(x, y, z, repeats):
    side = [str(x), str(y), str(z)]
    ours = ["--pieces", "2", "--serial", "0", "--repeat", str(repeats)]
    for name, n in zip(("--nx", "--ny", "--nz"), side):
        ours += [name, n]
    return [("", ours)], [("", [*side, "--repeat", str(repeats)])]


def fft(side, iterations, pencils):
    ours = ["--side", str(side), "--measure", "1", "--verify", "0", "--iterations", str(iterations)]
    ways = [("slabs", [*ours, "--rows", "2"])] + ([("pencils", [*ours, "--rows", "1", "--columns", "2"])] if pencils else [])
    return ways, [("", [str(side), "--iterations", str(iterations)])]


def cholesky(n, repeats, widths, mpi_widths):
    repeat = ["--repeat", str(repeats)]
    return ([(f"tiles of {w}", ["--n", str(n), "--width", str(w), "--verify", "0", *repeat]) for w in widths],
            [(f"{2 // r} x {r}, {w}", [str(n), "--width", str(w), "--rows", str(r), *repeat]) for w in mpi_widths for r in (1, 2)])


# By application and case: our programs' arguments, and MPI's.
CASES = {
    "cg": {"4096 unknowns": cg(64, 64, 1, 300), "10^6 unknowns": cg(100, 100, 100, 1)},
    "fft": {"128^3": fft(128, 20, True), "256^3": fft(256, 3, False)},
    "cholesky": {"1536": cholesky(1536, 5, (96, 128, 192), (32, 64)), "4096": cholesky(4096, 1, (128, 192), (32, 64))},
}


def jobs(builder, name, ours, theirs):
    """(way, which of the side's variants, job)"""
    for variant, args in ours:
        for threads in (False, True):
            yield ("threads" if threads else "processes"), variant, builder.ckrun(f"examples/{name}/{name}", *args, threads=threads)
    for variant, args in theirs:
        for job in builder.mpi(name, *args):
            yield job.program.rsplit(".", 1)[1], variant, job


def milliseconds(job):
    done = subprocess.run(job.command, stdout=subprocess.PIPE, text=True, timeout=100)
    if done.returncode:
        sys.exit(f"apps.py: exit code {done.returncode}: {' '.join(job.command)}")
    found = OURS.search(done.stdout)
    return float(found[1]) * IN_MS[found[2]] if found else float(done.stdout.split("\n", 1)[0].split()[-1]) * 1e-3


def measure(args):
    """(application, case, way, variant, ms) of every run. What has not been built is left out."""
    builder = groups.Builder(args.build, False, False)
    for _ in range(args.rounds):
        for name in args.applications or CASES:
            for case, sides in CASES[name].items():
                if args.case and args.case not in case:
                    continue
                for way, variant, job in jobs(builder, name, *sides):
                    if os.access(f"{args.build}/{job.program}", os.X_OK):
                        yield name, case, way, variant, milliseconds(job)


def medians(measured):
    """{(application, case): {way: (ms, variant)}}, of each way the best variant's."""
    runs, best = {}, {}
    for name, case, way, variant, ms in measured:
        runs.setdefault((name, case, way, variant), []).append(float(ms))
    for (name, case, way, variant), ms in runs.items():
        ways = best.setdefault((name, case), {})
        ways[way] = min(ways.get(way, (float("inf"), "")), (median(ms), variant))
    return best


def table(cases):
    yield "| application | case | MPI, ms | which | processes | threads |"
    yield "|---|---|---|---|---|---|"
    for (name, case), ways in cases.items():
        mpi = min((way for way in ways if way in ("openmpi", "mpich")), key=ways.get, default=None)
        base, variant = ways.get(mpi, (0, ""))
        cells = []
        for way in ("processes", "threads"):
            ms, ours = ways.get(way, (0, ""))
            cells.append(f"{ms / base:.2f}{ours and f' ({ours})'}" if base and ms else "")
        yield f"| {name} | {case} | {base:.4g} | {mpi}{variant and f', {variant}'} | {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], allow_abbrev=False)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--case", help="only the cases with this text")
    parser.add_argument("--csv", type=Path, help="append the figures, and make the table of all of them")
    parser.add_argument("build", help="the build folder")
    parser.add_argument("applications", nargs="*", metavar="APPLICATION", help=", ".join(CASES))
    args = parser.parse_args()
    if unknown := [name for name in args.applications if name not in CASES]:
        sys.exit(f"apps.py: no application {unknown[0]}; there are {', '.join(CASES)}")
    measured = []
    if args.csv and args.csv.exists():
        with args.csv.open(newline="") as f:
            measured = list(csv.reader(f))
    for row in measure(args):
        measured.append(row)
        if args.csv:
            with args.csv.open("a", newline="") as f:
                csv.writer(f).writerow(row)
    print(*table(medians(measured)), sep="\n")


if __name__ == "__main__":
    main()
