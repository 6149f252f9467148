#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""phases.py [--trials N] [--seed S] DONE CKRUN COMMAND...

A job of four nodes is ended at a random moment of its life, start-up and end included, in each of these ways:

  hang-up    its terminal is closed
  ctrl-c     ^C is typed at its terminal
  term       SIGTERM to ckrun
  kill       SIGKILL to ckrun
  node       SIGKILL to one of the nodes

After each trial ckrun must have ended, with a code other than 0 unless the job had come to its end before; within
a second, as the guide promises, if it was a node that died. No process of the job may be left, nor a file in /dev/shm
or a System V segment. DONE is what the program prints at its end. A trial's environment is one of ENVIRONMENTS.
tests/reliability/deaths.py has more ways, and places instead of moments."""
import argparse
import os
import random
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from runner import job as jobs

PROMISED_S = 1
TRIES = 3  # of a trial that comes late, and only of that: the machine may be busy
NODES = 4
places = None
ENVIRONMENTS = [
    {},
    {"CK_SHARE": "0"},
    {"UCX_ERROR_SIGNALS": "HUP,INT,TERM,SEGV", "UCX_HANDLE_ERRORS": "freeze"},
    {"UCX_DEBUG_SIGNO": "HUP"},
]


def own_shm():
    """A /dev/shm and segments of our own, if we may."""
    global places
    places = jobs.Places(tmp=False)


def litter():
    return places.litter()


def start(command, environment):
    return jobs.Job(command, dict(os.environ, **environment), terminal=True)


def strike(job, how, chance):
    if how == "hang-up":
        job.close()
    elif how == "ctrl-c":
        if job.open:  # else it has just left the terminal, and is about to end
            os.write(job.fd, b"\003")
    elif how == "node" and (nodes := job.children()):
        job.signal(signal.SIGKILL, chance.choice(nodes))
    elif how != "node":
        job.signal(signal.SIGTERM if how == "term" else signal.SIGKILL)


def plain_death():
    """How long it takes just now to kill a process that is nobody's node, and to wait for it."""
    with subprocess.Popen(["sleep", "100"]) as plain:
        begin = time.monotonic()
        plain.kill()
        plain.wait()
        return time.monotonic() - begin


def usual_seconds(command, environment, done):
    """How long the job takes when nobody ends it."""
    begin = time.monotonic()
    job = start(command, environment)
    if not job.run() or job.code != 0 or not done in job.output:
        sys.exit(f"phases.py: undisturbed, the job ends with {job.code}: {job.text()}")
    job.close()
    return time.monotonic() - begin


def trial(command, done, how, environment, delay, chance):
    """Returns what is wrong afterwards, and by how much it was late."""
    before, job = litter(), start(command, environment)
    if job.run(delay):
        job.close()
        return [], 0
    strike(job, how, chance)
    struck = time.monotonic()
    job.run()
    late = how == "node" and max(0, time.monotonic() - struck - PROMISED_S - plain_death())
    wrong = job.remains(places, before)
    # Nobody sees the end of a job whose terminal is closed.
    if job.code == 0 and not done in job.output and how not in ("hang-up", "node"):
        wrong.append("exit code 0")
    if wrong:
        print(job.text())
    return wrong, late


def tried(*what):
    """A trial, which may come late now and then; returns what is wrong."""
    for _ in range(TRIES):
        wrong, late = trial(*what)
        if wrong or not late:
            return wrong
    return [f"it took {late:.1f} s longer than promised, {TRIES} times"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("done")
    parser.add_argument("ckrun")
    parser.add_argument("command", nargs="+")
    o = parser.parse_args()
    if not jobs.terminals():
        print("skip  jobs ended in every phase: no pseudo-terminals here")
        return 77
    own_shm()
    command = [o.ckrun, "-n", str(NODES), "--grace", "1"] + o.command
    chance, failed = random.Random(o.seed), 0
    usual = [usual_seconds(command, environment, o.done.encode()) for environment in ENVIRONMENTS]
    kinds = ["hang-up", "ctrl-c", "term", "kill", "node"]
    for i in range(o.trials):
        how = kinds[i % len(kinds)]
        which = i // len(kinds) % len(ENVIRONMENTS)
        environment, delay = ENVIRONMENTS[which], chance.uniform(0, usual[which])
        if wrong := tried(command, o.done.encode(), how, environment, delay, chance):
            failed += 1
            print(f"FAIL  {how} after {delay:.4f} s with {environment}: {'; '.join(wrong)}")
    print(f"{o.trials} trials, {failed} failed (seed {o.seed}, a whole job takes {max(usual):.2f} s)")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
