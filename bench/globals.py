#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""globals.py [OPTIONS] BUILD [-- ARGUMENTS]: bench/globals beside bench/mpi/globals_mpi by every MPI that is installed, in turn.

On 2 PEs, each on a core of its own, within the host (--on host) or over tcp (--on tcp): nanoseconds of one operation by each
way, medians of --rounds rounds. ARGUMENTS go to all programs: --words, --bulk, --only. The last columns: the fastest of MPI's ways,
which one that is, and the fastest of Chard's between processes, as a ratio of that. A way that ends badly, or takes more than --limit
seconds, has no figures in that round."""
import argparse
import os
import subprocess
import sys
from statistics import median

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import groups  # noqa: E402

DIRECTIONS = ("own", "both", "bulk")
MPIS = ("openmpi", "mpich")
PROCESSES = ("memory", "message", "rma")
FLOORS = ("load", "set", "copyin", "copyout")


def lines_of(build, job, limit):
    """The lines that a job prints; none if the program has not been built."""
    if not os.access(f"{build}/{job.program}", os.X_OK):
        return []
    try:
        done = subprocess.run(job.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        print(f"globals.py: more than {limit} s: {' '.join(job.command)}", file=sys.stderr)
        return []
    if done.returncode:
        print(f"globals.py: exit code {done.returncode}: {' '.join(job.command)}", file=sys.stderr)
        return []
    return done.stdout.splitlines()


def figure(line, suffix):
    """((direction, operation, n, bytes), way, ns) of globals-OPERATION-N-WAY[-DIRECTION] BYTES VALUE ns"""
    name, size, ns, _ = line.split()
    _, op, n, way, *direction = name.split("-")
    return (direction[0] if direction else "", op, int(n), int(size)), way + suffix, float(ns)


def measure(build, jobs, rounds, limit):
    """{case: {way: ns}}"""
    found = {}
    for _ in range(rounds):
        for job in jobs:
            for line in lines_of(build, job, limit):
                if line.startswith("globals-"):
                    case, way, ns = figure(line, job.suffix)
                    found.setdefault(case, {}).setdefault(way, []).append(ns)
    return {case: {way: median(ns) for way, ns in ways.items()} for case, ways in found.items()}


def number(ns):
    return "" if ns is None else f"{ns:.2f}" if ns < 10 else f"{ns:.1f}" if ns < 100 else f"{ns:.0f}"


def fastest(ways, begins):
    return min((way for way in ways if way.startswith(begins)), key=ways.get, default=None)


def row(case, ways, columns):
    _, op, n, size = case
    mpi, ours = fastest(ways, MPIS), None if op in FLOORS else fastest(ways, PROCESSES)
    cells = [f"{op} {n if op in ('get', 'put', 'add', 'cas', 'phase') else ''}".strip(), size, *(number(ways.get(c)) for c in columns)]
    cells += [number(ways[mpi]) if mpi else "", mpi or "", f"{ways[ours] / ways[mpi]:.2f}" if mpi and ours else ""]
    return "| " + " | ".join(map(str, cells)) + " |"


def table(figures, direction):
    cases = {case: ways for case, ways in figures.items() if case[0] == direction}
    columns = list(dict.fromkeys(way for ways in cases.values() for way in ways if not way.startswith(MPIS)))
    if not cases:
        return
    yield {"": "One way", "own": "Own memory", "both": "Both ways", "bulk": "Bulk"}[direction] + ", ns:\n"
    yield "| operation | bytes | " + " | ".join(columns) + " | MPI | which | over MPI |"
    yield "|---|---|" + "---|" * (len(columns) + 3)
    for case, ways in cases.items():
        yield row(case, ways, columns)
    yield ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], allow_abbrev=False)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--on", choices=("host", "tcp"), default="host")
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--all", action="store_true", help="the figures of all ways, too")
    parser.add_argument("build", help="the build folder")
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:cut])
    builder = groups.Builder(options.build, False, False)
    jobs = (builder.globals_host if options.on == "host" else builder.globals_tcp)("--reps", "1", *words[cut + 1:])
    figures = measure(options.build, jobs, options.rounds, options.limit)
    for direction in ("", *DIRECTIONS):
        print(*table(figures, direction), sep="\n")
    if options.all:
        print(*(f"{'-'.join(map(str, case))} {way} {ns:.2f}" for case, ways in figures.items() for way, ns in ways.items()), sep="\n")


if __name__ == "__main__":
    main()
