#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wire.py: round trips between two hosts with CK_WIRE, over links of several speeds, beside those without it.

    python3 bench/wire.py [--rounds N] [--rates 0,800,80] [--words ,seal,lz4,zstd] [--sizes a,b,...] [--burst KB]
                          [--shares] [--beside N] [BUILD]

The hosts are two namespaces of this machine with a link between them (tests/rig), so root is needed, two cores, and
nothing else that runs there. --rates: of the link, in Mbit/s; 0: as fast as it goes. Of each rate all words take turns
in random order, in jobs of bench/pingpong's messages and channels: arrays of numbers, of which one in eight is fresh on
each trip. Each line: Mbit/s, bytes, message or channel; the median without CK_WIRE in us, then each word's over it. --burst: what may
pass at once when the link has been silent. --shares: count which part of all frames was squeezed in each job (with CK_STATS,
which takes some time). --beside: so many loops run on each core meanwhile."""
import argparse
import contextlib
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

LIMIT_S = 100
PINNED = "exec taskset -c $(echo $CORES | cut -d' ' -f$((PMI_RANK + 1))) \"$@\""
COUNTS = re.compile(r"network: frames (\d+), squeezed (\d+)")
LINE = re.compile(r"^(message|channel)\S* (\d+) ([\d.]+)", re.M)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], allow_abbrev=False)
    parser.add_argument("build", nargs="?", default="build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reps", type=int, default=3, help="repeats in a job, of which it prints the median (3)")
    parser.add_argument("--rates", default="0,800,80")
    parser.add_argument("--words", default="seal lz4 zstd zstd,seal", help="of CK_WIRE, with blanks between them")
    parser.add_argument("--sizes", default="8,1000,10000,50000,500000")
    parser.add_argument("--burst", type=int, default=16)
    parser.add_argument("--shares", action="store_true")
    parser.add_argument("--beside", type=int, default=0)
    options = parser.parse_args()
    options.rates = [int(word) for word in options.rates.split(",")]
    options.words = ["", *options.words.split()]
    return options


def run(options, hosts, words, env):
    launcher = next(one for one in rig.launchers() if one.name == "hydra")
    if launcher.missing:
        sys.exit(f"wire.py: {launcher.missing}")
    given = {"CORES": ""} | ({"CK_WIRE": words} if words else {}) | ({"CK_STATS": "1"} if options.shares else {})
    command = [*hosts.enter(1), *launcher.words(hosts, 1, given), "sh", "-c", PINNED, "sh", f"{options.build}/bench/pingpong",
               "--no-pin", "--message", "--channel", "--reps", str(options.reps), "--sizes", options.sizes]
    done = subprocess.run(command, env=env | given | {"CORES": env["CORES"]}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)
    found = LINE.findall(done.stdout)
    if done.returncode or not found:
        sys.exit(f"wire.py: CK_WIRE={words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    counts = COUNTS.search(done.stderr + done.stdout)
    share = 100 * int(counts[2]) / int(counts[1]) if counts else None
    return {(int(size), way): float(us) for way, size, us in found}, share


@contextlib.contextmanager
def loops_beside(cores, n):
    """n loops on each core."""
    loops = [subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-c", "while True: pass"]) for core in cores for _ in range(n)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def work(options, folder):
    hosts = rig.Rig(2, folder)
    cores = sorted(os.sched_getaffinity(0))
    env = {name: text for name, text in os.environ.items() if not name.startswith("CK_")} | {"CORES": f"{cores[0]} {cores[-1]}"}
    print("Mbit/s bytes way none_us " + " ".join(words for words in options.words if words))
    with loops_beside((cores[0], cores[-1]), options.beside):
        measure(options, hosts, env)
    return 0


def measure(options, hosts, env):
    for rate in options.rates:
        for i in hosts.numbers() if rate else ():
            hosts.queue(i, 0, "tbf", "rate", f"{rate}mbit", "burst", f"{options.burst}kb", "latency", "50ms")
        figures, shares = {}, {}
        for _ in range(options.rounds):
            for words in random.sample(options.words, len(options.words)):
                found, share = run(options, hosts, words, env)
                shares.setdefault(words, []).append(share)
                for key, us in found.items():
                    figures.setdefault(key, {}).setdefault(words, []).append(us)
        for (size, way), row in sorted(figures.items()):
            us = {words: statistics.median(row[words]) for words in options.words}
            print(rate, size, way, f"{us['']:.1f}", *(f"{us[words] / us['']:.2f}" for words in options.words if words), flush=True)
        for words in options.words if options.shares else ():
            if "lz4" in words or "zstd" in words:
                print(f"{rate} {words}: of all frames were squeezed", " ".join(f"{share:.2f}" for share in sorted(shares[words])), "%", flush=True)


if __name__ == "__main__":
    chosen = parse()
    if lacks := rig.why_not():
        sys.exit(f"wire.py: no hosts can be made here: {lacks}")
    sys.exit(rig.run_inside(lambda folder: work(chosen, folder)))
