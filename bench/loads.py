#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""loads.py: what load balancing brings and costs on 2 PEs, as ratios.

    python3 bench/loads.py [--rounds N] [--fifo] [--only hog|drift|perfect|even|time] [BUILD]

Two cores are needed, and nothing else that runs there. On a busy machine --fifo lets the programs go before all others, if
the system allows that (chrt); a round then takes a few seconds in which hardly anything else runs.

    hog      a second program has core 1 for half of the time: us of a step, of the best there is (the work of all PEs over their
             speeds), without balancing, with all PEs taken for equally fast (CK_LB_SPEEDS=off), and with their speeds
    drift    300 steps with moves in every tenth of them: a step of the last fifty over one of the first fifty
    perfect  particles and an uneven stencil: what a step would take if two PEs took half as long as one, over what it takes. One
             PE's time is that of two jobs of one PE, each on a core, so that both cores are busy in both cases
    even     what CkAtSync and measuring cost where there is nothing to balance: instructions of the program and the chare
             layer with CK_LB over those without, as valgrind counts them, with a sync in every tenth step: in which no step
             is taken, and with CK_LB=auto, which may take some
    time     what CK_LB=auto costs these programs in time: over CK_LB=off, in turn. It takes dozens of rounds to know a percent

Each line: name, parameter, the median of all rounds, unit, the least and the greatest."""
import argparse
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HOG = """
import time
while True:
    begin = time.perf_counter()
    while time.perf_counter() - begin < .002:
        pass
    time.sleep(.002)
"""


class Bench:
    def __init__(self, build, fifo):
        self.build, self.fifo, self.figures = build, fifo, {}

    def first(self, priority=1):
        return ["chrt", "-f", str(priority)] if self.fifo else []

    def start(self, pes, program, env=(), core=None):
        pin = ["taskset", "-c", str(core)] if core is not None else []
        return subprocess.Popen([*self.first(), *pin, f"{self.build}/bin/ckrun", "-n", str(pes), f"{self.build}/{program[0]}", *program[1:]],
                                env={**os.environ, **dict(env)}, stdout=subprocess.PIPE, text=True)

    @staticmethod
    def end(job, pattern):
        out = job.communicate()[0]
        found = re.search(pattern, out)
        if job.returncode or not found:
            sys.exit(f"loads.py: {' '.join(job.args)} ended with {job.returncode}:\n{out}")
        return float(found[1])

    def run(self, pes, program, pattern, env=()):
        return self.end(self.start(pes, program, env), pattern)

    def add(self, name, parameter, value, unit):
        self.figures.setdefault((name, parameter, unit), []).append(value)

    def report(self):
        for (name, parameter, unit), values in self.figures.items():
            digits = 1 if unit == "us" else 3
            print(f"{name} {parameter} {statistics.median(values):.{digits}f} {unit}   "
                  f"({min(values):.{digits}f} to {max(values):.{digits}f})")


STEP = r"loads-step-\w+ \w+ ([\d.]+) us"
WORK = ["bench/loads", "--steps", "60", "--every", "2"]


def hog(b):
    """The work of two cores is done by one and a half. A step takes much longer than the other program has the core at a time."""
    work = ["bench/loads", "--steps", "30", "--every", "2", "--grain", "400000"]
    quiet = b.run(2, [*work, "even"], STEP)
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(HOG)
        script.flush()
        other = subprocess.Popen([*b.first(2), "taskset", "-c", "1", sys.executable, script.name])
        try:
            for pattern in ("even", "half"):
                b.add("loads-hog-best", pattern, quiet * 2 / 1.5, "us")
                b.add("loads-hog-off", pattern, b.run(2, [*work, pattern], STEP), "us")
                for lb in ("greedy", "refine", "cuts"):
                    for speeds in ("off", "on"):
                        env = {"CK_LB": lb, "CK_LB_SPEEDS": speeds}
                        b.add(f"loads-hog-{lb}-{'equal' if speeds == 'off' else 'speeds'}", pattern,
                              b.run(2, [*work, pattern], STEP, env), "us")
        finally:
            other.send_signal(signal.SIGTERM)
            other.wait()


def drift(b):
    for lb in ("rotate", "greedy", "cuts"):
        b.add(f"loads-drift-{lb}", "half",
              b.run(2, ["bench/loads", "--steps", "300", "--every", "10", "half"], r"loads-drift-\w+ \w+ ([\d.]+) ratio",
                    {"CK_LB": lb, "CK_LB_TOLERANCE": "0"}), "ratio")


# Of each program: how it is called, its figure, how it is told to sync.
PROGRAMS = {
    "particles": (["examples/particles/particles", "--columns", "64", "--rows", "8", "--particles", "100000", "--spread", "25",
                   "--steps", "300", "--move", "0"], r"in ([\d.]+) ms", ["--lb", "5"]),
    "stencil": (["examples/stencil/stencil", "--mode", "msg", "--domain", "64x64x64", "--chares", "4x4x2", "--uneven", "4",
                 "--iters", "200", "--no-verify"], r"iter_us ([\d.]+)", ["--lb", "10"]),
    "loads": ([*WORK, "half"], STEP, []),
}


def perfect(b):
    for name, (program, pattern, syncs) in PROGRAMS.items():
        one = sum(b.end(job, pattern) for job in [b.start(1, program, core=core) for core in (0, 1)]) / 2
        b.add(f"loads-perfect-{name}", "off", one / 2 / b.run(2, program, pattern), "ratio")
        for lb in ("cuts", "refine", "greedy", "auto"):
            b.add(f"loads-perfect-{name}", lb, one / 2 / b.run(2, [*program, *syncs], pattern, {"CK_LB": lb}), "ratio")


# Programs with nothing to balance, the option for the number of steps, how many take about half a second, and their figure.
EVEN = {
    "loads": (["bench/loads", "--every", "10", "--grain", "20000", "even"], "--steps", 600, STEP),
    "stencil": (["examples/stencil/stencil", "--mode", "msg", "--domain", "64x64x64", "--chares", "4x4x2", "--no-verify", "--lb", "10"],
                "--iters", 6000, PROGRAMS["stencil"][1]),
    "particles": (["examples/particles/particles", "--move", "0", "--lb", "10", "--particles", "20000"], "--steps", 3000,
                  PROGRAMS["particles"][1]),
}
COUNTED = re.compile("(^|/)(bench|examples|runtime/chare)/|msort|memcpy")
SELF = re.compile(r"\s*([\d,]+) \(.*?\)\s+(\S+)")


def instructions(b, program, env):
    """Of all processes: of the program, what it calls of libc, and the chare layer. Polling is not in it."""
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([f"{b.build}/bin/ckrun", "-n", "2", "valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={folder}/%p",
                        f"{b.build}/{program[0]}", *program[1:]], check=True, capture_output=True,
                       env={**os.environ, **env})
        for count in Path(folder).iterdir():
            table = subprocess.run(["callgrind_annotate", "--inclusive=no", "--auto=no", "--threshold=100", count], check=True,
                                   capture_output=True, text=True).stdout
            total += sum(int(n.replace(",", "")) for n, where in SELF.findall(table) if COUNTED.search(where))
    return total


def even(b):
    """The difference of two runs, so that the start does not count, nor do the first steps of CK_LB=auto, which are trials."""
    for name, (program, length, _, _) in EVEN.items():
        took = {}
        for lb in ("off", "cuts", "auto"):
            env = {"CK_LB": lb, "CK_LB_TOLERANCE": "0.05" if lb == "auto" else "100"}
            short, long = (instructions(b, [*program, length, str(n)], env) for n in (200, 600))
            took[lb] = long - short
        b.add("loads-even", name, took["cuts"] / took["off"], "ratio")
        b.add("loads-even-auto", name, took["auto"] / took["off"], "ratio")


def time(b):
    for name, (program, length, steps, pattern) in EVEN.items():
        ways = ["off", "auto"]
        random.shuffle(ways)
        took = {lb: b.run(2, [*program, length, str(steps)], pattern, {"CK_LB": lb}) for lb in ways}
        b.add("loads-time", name, took["auto"] / took["off"], "ratio")


PARTS = {"hog": hog, "drift": drift, "perfect": perfect, "even": even, "time": time}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fifo", action="store_true")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("build", nargs="?", default="build", type=Path)
    args = parser.parse_args()
    b = Bench(args.build, args.fifo)
    for _ in range(args.rounds):
        for name in args.only or PARTS:
            PARTS[name](b)
    b.report()


if __name__ == "__main__":
    main()
