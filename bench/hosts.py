#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hosts.py: round trips between two hosts over tcp, beside MPI's, as ratios.

    python3 bench/hosts.py [--rounds N] [--jobs all,alone,after] [--sizes a,b,...] [--keep FILE] [BUILD]

The hosts are two namespaces of this machine with a link between them (tests/rig), so root is needed, two cores, and nothing
else that runs there. One process runs on each host, pinned to a core of its own. All ways take turns in random order:
bench/pingpong's messages, handovers and channels in one job, MPICH's and Open MPI's ping-pong in one each.

    all      one job goes through all sizes
    alone    a job of its own for each size
    after    the largest size, in a job that sends the others of 100 kB and more before

What MPI takes for large messages depends on the job, so they are worth more than one kind. A virtual machine's cores are near each
other at times, and far at others: bench/floor tells before and after each job how long a cache line takes to the other core and
back, and a job counts as near up to 0.2 us, as far above 0.35, and not at all if both differ. Each line: where, job, bytes, then each way's
median over its jobs in us, and the message's and the handover's over that of the faster MPI; at last the number of jobs. --keep writes
all figures to a file."""
import argparse
import os
import random
import re
import signal
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "rig"))
sys.dont_write_bytecode = True

import rig  # noqa: E402

SIZES = [8, 100, 1000, 1300, 1500, 2000, 5000, 10000, 20000, 50000, 100000, 500000]
OURS = ["message", "handover", "channel"]
MPIS = ["mpich", "openmpi"]
LIMIT_S = 20
# The first host's process has the first of our cores, and so on: each host believes to have the machine for itself.
PINNED = "exec taskset -c $(echo $CORES | cut -d' ' -f$((${PMI_RANK:-$OMPI_COMM_WORLD_RANK} + 1))) \"$@\""
LINE = re.compile(r"^(?:mpi-)?(message|handover|channel|mpich|openmpi)\S* (\d+) ([\d.]+)", re.M)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], allow_abbrev=False)
    parser.add_argument("build", nargs="?", default="build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reps", type=int, default=7, help="repeats in a job, of which it prints the median (7)")
    parser.add_argument("--jobs", default="all")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--ways", default="ours,mpich,openmpi")
    parser.add_argument("--keep")
    options = parser.parse_args()
    options.sizes = sorted(int(word) for word in options.sizes.split(","))
    options.jobs, options.ways = options.jobs.split(","), options.ways.split(",")
    if not set(options.jobs) <= {"all", "alone", "after"} or not set(options.ways) <= {"ours", *MPIS}:
        parser.error("--jobs wants all, alone, after; --ways wants ours, mpich, openmpi")
    return options


class Bench:
    def __init__(self, options, hosts):
        self.o, self.hosts, self.figures = options, hosts, {}
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            sys.exit("hosts.py: two cores are needed")
        self.env = {**os.environ, "CORES": f"{cores[0]} {cores[-1]}"}
        self.launchers = {launcher.name: launcher for launcher in rig.launchers()}

    def command(self, way, sizes):
        launcher = self.launchers["Open MPI" if way == "openmpi" else "hydra"]
        if launcher.missing:
            sys.exit(f"hosts.py: {launcher.missing}")
        program = "pingpong" if way == "ours" else f"mpi/pingpong_mpi.{way}"
        return [*self.hosts.enter(1), *launcher.words(self.hosts, 1, {"CORES": ""}), "sh", "-c", PINNED, "sh",
                f"{self.o.build}/bench/{program}", "--no-pin", "--reps", str(self.o.reps), "--sizes", ",".join(map(str, sizes))]

    def where(self):
        found = subprocess.run([f"{self.o.build}/bench/floor", "--sizes", "8", "--reps", "1"], capture_output=True, text=True, check=True)
        us = float(found.stdout.split()[2])
        return "near" if us <= 0.2 else "far" if us > 0.35 else "between"

    def run(self, job, way, sizes, asked):
        before = self.where()
        child = subprocess.Popen(self.command(way, sizes), env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        try:
            out, _ = child.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            for i in self.hosts.numbers():
                self.hosts.signal_all(i, signal.SIGKILL)
            child.kill()
            child.communicate()
            print(f"hosts.py: {way} with {sizes} did not end within {LIMIT_S} s, and does not count", file=sys.stderr, flush=True)
            return
        found = LINE.findall(out)
        if child.returncode or not found:
            sys.exit(f"hosts.py: {way} ended with {child.returncode}:\n{out}")
        if self.where() != before:
            return
        for name, size, us in found:
            if int(size) in asked:
                self.figures.setdefault((before, job, int(size)), {}).setdefault(name, []).append(float(us))

    def round(self):
        sizes = self.o.sizes
        turns = []
        for way in self.o.ways:
            if "all" in self.o.jobs:
                turns.append(("all", way, sizes, sizes))
            if "alone" in self.o.jobs:
                turns += [("alone", way, [size], [size]) for size in sizes]
            if "after" in self.o.jobs:
                turns.append(("after", way, [s for s in sizes if s >= 100000], sizes[-1:]))
        random.shuffle(turns)
        for turn in turns:
            self.run(*turn)

    def report(self):
        print("where job bytes " + " ".join(OURS + MPIS) + " message/MPI handover/MPI jobs")
        for (where, job, size), row in sorted(self.figures.items()):
            us = {name: statistics.median(row[name]) for name in OURS + MPIS if name in row}
            mpi = min((us[name] for name in MPIS if name in us), default=0) if set(MPIS) <= set(us) else 0
            ratios = [f"{us[name] / mpi:.2f}" if mpi and name in us else "-" for name in OURS[:2]]
            print(where, job, size, *(f"{us[name]:.1f}" if name in us else "-" for name in OURS + MPIS), *ratios,
                  *(len(row.get(name, [])) for name in ("message", *MPIS)), flush=True)

    def keep(self):
        if not self.o.keep:
            return
        with open(self.o.keep, "w", encoding="utf-8") as file:
            for key, row in sorted(self.figures.items()):
                for name, values in row.items():
                    file.write(" ".join(map(str, (*key, name, *values))) + "\n")


def work(options, folder):
    bench = Bench(options, rig.Rig(2, folder))
    for _ in range(options.rounds):
        bench.round()
    bench.report()
    bench.keep()
    return 0


if __name__ == "__main__":
    chosen = parse()
    if lacks := rig.why_not():
        sys.exit(f"hosts.py: no hosts can be made here: {lacks}")
    sys.exit(rig.run_inside(lambda folder: work(chosen, folder)))
