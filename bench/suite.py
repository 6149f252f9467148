#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""suite.py: all benchmarks on 2 PEs, each figure with its reference of the same run.

    make bench                          all of them, 5 rounds; a quarter of an hour
    QUICK=1 make bench                  2 rounds, smaller machines
    ROUNDS=9 make bench
    python3 bench/suite.py -g roundtrip -g channels build
                                        only these groups; the others keep the results that they have
    python3 bench/suite.py --judge build
                                        runs nothing: the tables for the results that are there
    python3 bench/suite.py --compare 'old/bench/local' 'new/bench/local'
                                        any commands that print figures, side by side
    make bench-smoke                    --smoke: everything once and as short as can be; results are thrown
                                        away, nothing is said about speed

A group (groups.py) is a set of programs that are compared with each other. They run in turn, ROUNDS times,
with one repeat each. A ratio is taken within each round, and the median of these is shown: whatever disturbs
the machine for seconds then hits both sides of a division.

The host of a virtual machine may move its cores from one cache into two and back, or make them two threads
of one core, within seconds. A cache line then takes five times as long from one to the other, and a ratio of
two programs that ran before and after means nothing. So the suite starts each program when the cores are as
far apart as they usually are, or after 5 s, and runs it again, twice at most, if their distance has changed
by the time it ends.

report.py explains the verdicts on the targets.

Writes to BUILD/bench/results
    GROUP.csv      round,program,name,parameter,value,unit: every line of every program
    summary.csv    group,name,parameter,median,unit,rounds
    ratios.csv     name,parameter,reference,ratio
    targets.csv    the table that is printed at the end, with every parameter
    tables.txt     the figures in the columns of the papers that Chard comes from
    *.svg, *.png   plots, where gnuplot is installed
Exit code: 0 when all programs ran and their data was right, whatever their speed."""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, median_high

sys.dont_write_bytecode = True
import groups
import report


# ---- running ---------------------------------------------------------------------------------

NUMBER = re.compile(r"-?[0-9.]+(e[-+]?[0-9]+)?")


def figure_of(line, parameter="0"):
    """(name, parameter, value, unit) of a line that a program printed, or None. Three words are a name,
    bytes and microseconds; the examples name the figure instead of a parameter."""
    words = line.split()
    if len(words) not in (3, 4) or not words[0][0].islower():
        return None
    numbers = [bool(NUMBER.fullmatch(word)) for word in words]
    match words:
        case [name, at, value, unit] if numbers[1] and numbers[2]:
            return name, at, value, unit
        case [name, at, value] if numbers[1] and numbers[2]:
            return name, at, value, "us"
        case [name, "iter_us", value] if numbers[2]:
            return name, parameter, value, "us"
        case [name, mode, "iter_us", value] if numbers[3]:
            return f"{name}-{mode}", parameter, value, "us"
        case [name, "gain_percent", value] if numbers[2]:
            return f"{name}-gain", parameter, value, "%"
    return None


def output_file():
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")


def run(command, seconds):
    """Exit code (124: too slow), lines of stdout and of stderr, milliseconds. Files, not pipes: a process
    that survives its launcher would keep a pipe open."""
    with output_file() as out, output_file() as err:
        begin = time.monotonic()
        program = subprocess.Popen(["timeout", "-k", "3", str(seconds), *command],
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        try:
            code = program.wait()
        finally:
            if program.poll() is None:
                program.terminate()
                program.wait()
        took_ms = (time.monotonic() - begin) * 1000
        out.seek(0), err.seek(0)
        return code, out.read().splitlines(), err.read().splitlines(), took_ms


class Cores:
    """How far apart the cores are: the time of a barrier of two bare processes. It is usual when it lies
    within a factor of 1.6 of the median of all looks so far."""

    def __init__(self, build):
        self.command = [f"{build}/bench/floor", "--barrier", "--reps", "1"]
        self.looks = []
        for _ in range(15):
            self.usual()
            time.sleep(0.2)

    def usual(self):
        lines = run(self.command, 30)[1]
        figure = figure_of(lines[0]) if lines else None
        if not figure or float(figure[2]) <= 0:
            return True
        self.looks.append(float(figure[2]))
        middle = median_high(self.looks)
        return middle / 1.6 <= self.looks[-1] <= middle * 1.6

    def wait(self):
        end = time.monotonic() + 5
        while not self.usual() and time.monotonic() < end:
            time.sleep(0.2)


class Suite:
    def __init__(self, build, results, smoke, rounds):
        self.build, self.results, self.smoke, self.rounds = build, results, smoke, rounds
        self.cores = None if smoke else Cores(build)
        self.limit = 30 if smoke else 300  # seconds, of one program
        self.started = time.monotonic()
        self.failed, self.n_unusual = [], 0

    def say(self, where, first):
        """Progress: one line that is written over on a terminal, else a line when a group begins."""
        if sys.stderr.isatty():
            print(f"\r\033[K{where}", end="", file=sys.stderr, flush=True)
        elif first:
            print(where, file=sys.stderr, flush=True)

    def run_as_usual(self, group, job):
        """Run a job while the cores are as far apart as usual, if that can be had."""
        limit = min(self.limit, job.patience or self.limit)
        for _ in range(3):
            if not self.cores or not group.cores_matter:
                return run(job.command, limit)
            self.cores.wait()
            result = run(job.command, limit)
            if result[0] != 0 or self.cores.usual():
                return result
        self.n_unusual += 1
        return result

    def lines(self, job, group):
        """What a job measures; None when it did not work."""
        code, out, err, took_ms = self.run_as_usual(group, job)
        if code != 0:
            self.complain(job, code, out[-5:] + err[-5:])
            return None
        if job.clock:
            return [(job.clock, job.parameter, f"{took_ms:.1f}", "ms")]
        figures = filter(None, (figure_of(line, job.parameter) for line in out))
        return [(job.prefix + name + job.suffix, *rest) for name, *rest in figures]

    def complain(self, job, code, last_lines):
        self.say("", False)
        command = " ".join(job.command)
        if job.may_fail or (code == 124 and job.patience):
            print(f"no figure (exit code {code}): {command}", file=sys.stderr)
            return
        self.failed.append(command)
        print(f"FAILED (exit code {code}) {command}", *last_lines, sep="\n    ")

    def run_group(self, group, number_of):
        """Run the jobs of the group in turn, and write its CSV."""
        jobs = [job for job in group.jobs
                if os.access(f"{self.build}/{job.program}", os.X_OK) or shutil.which(job.program)]
        rounds, begin, rows, ended = min(self.rounds, group.rounds), time.monotonic(), [], {}
        for n in range(1, rounds + 1):
            for i, job in enumerate(jobs):
                name = job.program.split("/")[-1]
                if i >= ended.get(job.series, len(jobs)):
                    continue
                self.say(f"[{number_of}] {group.name}: round {n} of {rounds}, {i + 1}/{len(jobs)} {name},"
                         f" {time.monotonic() - self.started:.0f} s", (n, i) == (1, 0))
                lines = self.lines(job, group)
                if lines is None and job.series:
                    ended[job.series] = i
                rows += [(n, name, *line) for line in lines or []]
        self.say("", False)
        if jobs:
            report.write_csv(self.results / f"{group.name}.csv",
                             ("round", "program", "name", "parameter", "value", "unit"), rows)
            print(f"{group.name:<12} {len(jobs):2} programs, {rounds} rounds, {len(rows):4} figures,"
                  f" {time.monotonic() - begin:3.0f} s", flush=True)


# ---- any commands ----------------------------------------------------------------------------

def compare(commands, rounds):
    """Run the commands in turn and print their medians, each with its ratio to the first command: to its
    figure of the same name, or, where it has none, to the first figure that it prints."""
    figures, names, failed = report.Figures(), {}, False
    for _ in range(rounds):
        for i, command in enumerate(commands):
            code, out, err, _ = run(["sh", "-c", command], 300)
            if code != 0:
                failed = True
                print(f"FAILED (exit code {code}) {command}", *err[-5:], sep="\n    ")
            for name, at, value, unit in filter(None, map(figure_of, out)):
                figures.add("", (i, name), at, float(value), unit)
                names.setdefault((i, name))
    own = next((name for i, name in names if i == 0), None)
    for i, name in names:
        base = (0, name) if (0, name) in names else (0, own)
        for at in figures.parameters((i, name)):
            ratios = figures.divided((i, name), at, base, at)
            ratio = f"{median(ratios):8.3f}x" if ratios and base != (i, name) else ""
            print(f"{i + 1} {name:<32} {at:>10} {figures.median((i, name), at):12.6g}"
                  f" {figures.units[(i, name), at]:<6}{ratio}")
    return failed or not names


# ---- all of it -------------------------------------------------------------------------------

def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], allow_abbrev=False)
    parser.add_argument("--smoke", action="store_true", help="everything once, as short as can be")
    parser.add_argument("--judge", action="store_true", help="run nothing, judge what is there")
    parser.add_argument("--compare", action="store_true", help="the arguments are commands")
    parser.add_argument("-g", metavar="GROUP", action="append", dest="only",
                        choices=groups.GROUPS + groups.ON_DEMAND, help="only this group; repeat for more")
    parser.add_argument("build", nargs="+", help="the build folder")
    args = parser.parse_args()
    if not args.compare and (len(args.build) > 1 or not os.access(f"{args.build[0]}/bin/ckrun", os.X_OK)):
        parser.error("needs one build folder, with bin/ckrun in it")
    return args


def run_suite(args, build, results, quick, rounds):
    names = args.only or groups.GROUPS + (groups.ON_DEMAND if args.smoke else ())
    suite = Suite(build, results, args.smoke, rounds)
    for n, group in enumerate(groups.Builder(build, args.smoke, quick).groups(names)):
        suite.run_group(group, f"{n + 1}/{len(names)}")
    lines, failed_plots = report.write(results)
    suite.failed += failed_plots
    if not args.smoke:
        print("", *lines, "", sep="\n")
        print(f"results: {results}; in the columns of the ancestors' papers: {results}/tables.txt")
    if suite.n_unusual:
        print(f"{suite.n_unusual} programs ran while the cores were nearer or farther than usual")
    print(f"bench: {time.monotonic() - suite.started:.0f} s, {len(suite.failed)} failed")
    return bool(suite.failed)


def main():
    os.environ.update(LC_ALL="C", OPENBLAS_NUM_THREADS="1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    args = arguments()
    quick = bool(os.environ.get("QUICK")) or args.smoke
    rounds = int(os.environ.get("ROUNDS") or (1 if args.smoke else 2 if quick else 5))
    if args.compare:
        return compare(args.build, rounds)
    top = Path(__file__).resolve().parent.parent
    build = os.path.relpath(args.build[0], top)
    os.chdir(top)
    if args.smoke:
        with tempfile.TemporaryDirectory() as results:
            return run_suite(args, build, Path(results), quick, rounds)
    results = Path(build, "bench", "results")
    results.mkdir(parents=True, exist_ok=True)
    if args.judge:
        lines, failed = report.write(results)
        print(*lines, sep="\n")
        return bool(failed)
    return run_suite(args, build, results, quick, rounds)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
