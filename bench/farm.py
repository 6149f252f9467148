#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""farm.py: a task farm between two hosts whose link loses and delays, beside MPI's; and what is urgent beside it.

    python3 bench/farm.py [--rounds N] [--loss 0,1,2] [--delay 0,10,50] [--rate MBIT] [--ways a,b,...] [BUILD] [-- OPTIONS]

The hosts are two namespaces of this machine, with a cable of tests/rig/link.c at the second one. A delay of 10 ms each way is a
round trip of 20. In each round all ways take turns: `chard`, `mpich`, `openmpi`, or `chard:VAR=VALUE`, with this variable set.
OPTIONS are those of bench/lab/farm.h. Prints medians over the rounds: ms for the whole farm, and of the pings' round trips the
median and the 99th percentile in ms."""
import argparse
import os
import random
import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "rig"))
sys.dont_write_bytecode = True

import rig  # noqa: E402

LIMIT_S = 60
LINE = re.compile(r"^farm-(ping-p99-|ping-|)\w+ \d+ ([\d.]+) \w+$", re.M)


def numbers(text):
    return [float(word) for word in text.split(",")]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], allow_abbrev=False)
    parser.add_argument("build", nargs="?", default="build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loss", type=numbers, default=[0, 1, 2], help="percent of the frames, each way")
    parser.add_argument("--delay", type=numbers, default=[0, 10, 50], help="ms, each way")
    parser.add_argument("--rate", type=float, default=800, help="Mbit/s (800)")
    parser.add_argument("--ways", type=lambda text: text.split(","), default=["chard", "mpich", "openmpi"])
    parser.add_argument("--seed", type=int, default=1)
    own = sys.argv[1:]
    own, rest = (own[:own.index("--")], own[own.index("--") + 1:]) if "--" in own else (own, [])
    options = parser.parse_args(own)
    options.rest = rest
    return options


def run(options, hosts, way):
    """(ms of the farm, ms of a ping, ms of the slowest hundredth); None: it did not end in time."""
    name, _, setting = way.partition(":")
    env = dict([setting.split("=", 1)]) if setting else {}
    launcher = next(l for l in rig.launchers() if l.name == ("Open MPI" if name == "openmpi" else "hydra"))
    if launcher.missing:
        sys.exit(f"farm.py: {launcher.missing}")
    program = "lab/farm" if name == "chard" else f"lab/farm_mpi.{name}"
    command = [*hosts.enter(1), *launcher.words(hosts, 1, env), f"{options.build}/bench/{program}", *options.rest]
    child = subprocess.Popen(command, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
    try:
        out, _ = child.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        for pid in [pid for i in hosts.numbers() for pid in hosts.processes(i)]:
            if os.readlink(f"/proc/{pid}/exe").rsplit("/", 1)[-1].startswith("farm"):
                os.kill(pid, 9)
        child.kill()
        child.communicate()
        return None
    found = {kind: float(value) for kind, value in LINE.findall(out)}
    if child.returncode or len(found) != 3:
        sys.exit(f"farm.py: {way} ended with {child.returncode}:\n{out}")
    return found[""], found["ping-"] / 1000, found["ping-p99-"] / 1000


def measure(options, hosts, loss, delay):
    hosts.set_link(2, loss=loss / 100, delay=delay, rate=options.rate, queue=4000)
    results = {way: [] for way in options.ways}
    for _ in range(options.rounds):
        for way in random.sample(options.ways, len(options.ways)):
            results[way].append(run(options, hosts, way))
    for way, rows in results.items():
        right = [row for row in rows if row]
        late = f" ({len(rows) - len(right)} not within {LIMIT_S} s)" if len(right) < len(rows) else ""
        cells = [f"{statistics.median(column):.1f}" for column in zip(*right)] if right else ["-"] * 3
        print(f"| {loss:g} % | {delay:g} ms | {way} | {' | '.join(cells)} |{late}", flush=True)


def work(options, folder):
    hosts = rig.Rig(2, folder, link={"seed": options.seed}, build=options.build)
    print("| loss | delay | way | farm, ms | ping, ms | ping p99, ms |\n|---|---|---|---|---|---|")
    for loss in options.loss:
        for delay in options.delay:
            measure(options, hosts, loss, delay)
    return 0


if __name__ == "__main__":
    chosen = parse()
    if lacks := rig.why_not() or rig.link_missing(chosen.build):
        sys.exit(f"farm.py: no hosts can be made here: {lacks}")
    sys.exit(rig.run_inside(lambda folder: work(chosen, folder)))
