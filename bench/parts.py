#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""parts.py [OPTIONS] BUILD: bench/parts beside bench/mpi/parts_mpi by every MPI that is installed, in turn.

On 2 PEs, each on a core of its own: as two threads and as two processes, the latter by shared memory and with the other paths
forced (CK_DIRECT_PATH). One line for each number of bytes and of parts: microseconds of the fastest MPI way, which one that
is, and for every way its time divided by that. The last columns let the program choose the number of parts, up to the line's: the
fastest of Chard's ways by threads or shared memory, with its number of parts, over the fastest of MPI's. Medians of --rounds rounds."""
import argparse
import os
import subprocess
import sys
from statistics import median

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import groups  # noqa: E402

MPIS = ("openmpi", "mpich")
FORCED = ("message", "rma")


def run(build, job):
    """((bytes, parts), way, us) of each line of a job; nothing if the program has not been built."""
    if not os.access(f"{build}/{job.program}", os.X_OK):
        return
    done = subprocess.run(job.command, stdout=subprocess.PIPE, text=True, timeout=100)
    if done.returncode:
        sys.exit(f"parts.py: exit code {done.returncode}: {' '.join(job.command)}")
    for line in done.stdout.splitlines():
        name, size, us, _ = line.split()
        _, way, where, parts = name.split("-")
        yield (int(size), int(parts)), f"{way}-{where}", float(us)


def measure(build, rounds, args):
    """{(bytes, parts): {way: us}}"""
    figures = {}
    for _ in range(rounds):
        for job in groups.Builder(build, False, False).parts_jobs(*args):
            for case, way, us in run(build, job):
                figures.setdefault(case, {}).setdefault(way, []).append(us)
    return {case: {way: median(us) for way, us in ways.items()} for case, ways in sorted(figures.items())}


def is_mpi(way):
    return way.endswith(MPIS)


def fastest(figures, size, most, wanted):
    """(us, way, parts) of the fastest of the wanted ways, with at most so many parts."""
    return min(((us, way, parts) for (s, parts), ways in figures.items() if s == size and parts <= most
                for way, us in ways.items() if wanted(way)), default=None)


def row(figures, case, ways):
    size, parts = case
    mpi = min(filter(is_mpi, figures[case]), key=figures[case].get, default=None)
    base = figures[case].get(mpi)
    cells = [f"{figures[case][way] / base:.2f}" if base and way in figures[case] else "" for way in ways]
    ours = fastest(figures, size, parts, lambda way: not is_mpi(way) and not way.endswith(FORCED))
    theirs = fastest(figures, size, parts, is_mpi)
    cells += [f"{ours[0]:.2f}", f"{ours[1]}, {ours[2]}", f"{ours[0] / theirs[0]:.2f}" if theirs else ""]
    return f"| {size} | {parts} | {base or 0:.2f} | {mpi} | " + " | ".join(cells) + " |"


def table(figures):
    ways = list(dict.fromkeys(way for of in figures.values() for way in of if not is_mpi(way)))
    yield ("| bytes | parts | MPI, us | which | " + " | ".join(ways) + " | best cut, us | which | over MPI's best cut |")
    yield "|---|---|---|---|" + "---|" * (len(ways) + 3)
    for case in figures:
        yield row(figures, case, ways)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], allow_abbrev=False)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="the figures of all ways, too")
    parser.add_argument("build", help="the build folder")
    before, _, after = " ".join(sys.argv[1:]).partition(" -- ")
    args = parser.parse_args(before.split())
    figures = measure(args.build, args.rounds, after.split())
    print(*table(figures), sep="\n")
    if args.all:
        print(*(f"{way} {size} {parts} {us:.2f}" for (size, parts), ways in figures.items() for way, us in ways.items()), sep="\n")


if __name__ == "__main__":
    main()
