#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cores.py CKRUN PROGRAM: jobs keep off the cores that others have taken, and leave those that other programs use.

A job's name for a core is held here in place of another job. Jobs beside the test may take and leave cores meanwhile, so
each attempt begins when all cores were free at once, and is made again for a while. PROGRAM takes its number of rounds."""
import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
import time

PATIENCE = 30  # seconds, for a job that is to leave its core, and for cores that others have
HOG = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


def hold(cores):
    """Those that nobody else has. They are free again when the sockets are closed."""
    held = {}
    for core in cores:
        held[core] = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            held[core].bind(f"\0chard-core-{core}")
        except OSError:
            held.pop(core).close()
    return held


@contextlib.contextmanager
def all_but(free, cores):
    """All cores held but those: they were nobody's a moment ago."""
    held, until = hold(cores), time.monotonic() + PATIENCE
    while len(held) < len(cores) and time.monotonic() < until:
        time.sleep(0.01)
        held.update(hold(set(cores) - set(held)))
    for core in free & set(held):
        held.pop(core).close()
    try:
        yield
    finally:
        for s in held.values():
            s.close()


def where(ckrun, program, *options):
    """What the job says of its PEs' cores, by PE."""
    end = subprocess.run([*ckrun, "--verbose", *options, program, "1"], capture_output=True, text=True, timeout=60, check=True)
    return dict(re.findall(r"PE (\d+): node \d+ on \S+, (.*)", end.stderr))


def tried(what, attempt):
    """Whether it came right once."""
    until = time.monotonic() + PATIENCE
    while True:
        right, seen = attempt()
        if right:
            print(f"ok    {what}")
            return True
        if time.monotonic() > until:
            print(f"FAIL  {what}: {seen}")
            return False


def leaves(ckrun, program):
    """A job whose PEs are bound, beside two busy programs on each of their cores."""
    job = subprocess.Popen([*ckrun, "--verbose", "-n", "2", program, "1000000000"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                           text=True)
    patience = threading.Timer(PATIENCE, job.terminate)
    patience.start()
    hogs, said = [], []
    try:
        for line in job.stderr:
            said.append(line)
            at = re.search(r"PE \d+: node \d+ on \S+, cpu (\d+)", line)
            if at:
                hogs += [subprocess.Popen([sys.executable, "-c", HOG, at[1]]) for _ in range(2)]
            if "unbound from now on" in line or "unbound:" in line:
                break
    finally:
        patience.cancel()
        for p in (job, *hogs):
            p.terminate()
            p.wait()
        job.stderr.close()
    if not re.search("unbound from now on|unbound:", "".join(said)):
        sys.exit(f"FAIL  PEs stay on cores on which other programs run: {said}")
    return "unbound from now on" in said[-1], said


def main():
    ckrun, program, cores = [sys.argv[1]], sys.argv[2], sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("skip  one core only")
        return 0

    def nobody_is_bound():
        with all_but(set(), cores):
            seen = where(ckrun, program, "-n", "2")
        return all(re.fullmatch(r"unbound: all \d+ cores are taken", s) for s in seen.values()) and len(seen) == 2, seen

    def they_share_if_told():
        with all_but(set(), cores):
            seen = where(ckrun, program, "-n", "2", "--bind", "core")
        return all(s.startswith("cpu ") for s in seen.values()) and len(set(seen.values())) == 2, seen

    def the_free_one_is_taken():
        with all_but({cores[-1]}, cores):
            seen = where(ckrun, program, "-n", "1", "--bind", "core")
        return re.search(rf"\b{cores[-1]}$", seen["0"]), seen

    def they_leave():
        with all_but(set(cores), cores):
            return leaves(ckrun, program)

    right = [tried("with all cores taken no PE is bound", nobody_is_bound),
             tried("--bind core binds all the same", they_share_if_told),
             tried("a PE gets the core that is free", the_free_one_is_taken),
             tried("PEs leave cores on which other programs run", they_leave)]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
