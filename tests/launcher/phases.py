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
a second, as the guide promises, if it was a node that died. No process of the job may be left, nor a file in /dev/shm or a System V segment. DONE is
what the program prints at its end. A trial's environment is one of ENVIRONMENTS.

As root it looks at a /dev/shm and at segments of its own; otherwise others may make some meanwhile, and then
only what stays counts."""
import argparse
import os
import pty
import random
import signal
import subprocess
import sys
import time

PATIENCE_S = 30
PROMISED_S = 1
TRIES = 3  # of a trial that comes late, and only of that: the machine may be busy
NODES = 4
ENVIRONMENTS = [
    {},
    {"CK_SHARE": "0"},
    {"UCX_ERROR_SIGNALS": "HUP,INT,TERM,SEGV", "UCX_HANDLE_ERRORS": "freeze"},
    {"UCX_DEBUG_SIGNO": "HUP"},
]
MARK = "CK_TEST_TRIAL"


def own_shm():
    """Start again in a mount namespace with an empty /dev/shm, if we may."""
    if os.geteuid() or os.environ.get("CK_TEST_OWN_SHM"):
        return
    shell = 'mount -t tmpfs tmpfs /dev/shm && CK_TEST_OWN_SHM=1 exec "$@"'
    unshare = ["unshare", "--mount", "--ipc"]
    probe = unshare + ["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"]
    if subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.execvp("unshare", unshare + ["sh", "-c", shell, "sh", sys.executable] + sys.argv)


def segments():
    with open("/proc/sysvipc/shm", encoding="ascii") as f:
        return {line.split()[1] for line in f.readlines()[1:]}


def litter():
    return set(os.listdir("/dev/shm")) | segments()


def processes(mark):
    """The living processes of a trial. A zombie has no environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if f"{MARK}={mark}\0".encode() in f.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def wait_until(condition):
    """What `condition` returns at last; it should be empty."""
    end = time.monotonic() + PATIENCE_S
    while (left := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return left


class Job:
    """A job at a terminal of its own."""

    def __init__(self, command, environment, mark):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(environment)
            os.environ[MARK] = mark
            os.execvp(command[0], command)
        os.set_blocking(self.terminal, False)
        self.output, self.code = b"", None

    def read(self):
        try:
            while self.terminal >= 0 and (some := os.read(self.terminal, 65536)):
                self.output += some
        except OSError:
            pass  # nothing is there now, or nobody writes any more

    def over(self):
        self.read()
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def run_for(self, seconds):
        end = time.monotonic() + seconds
        while not self.over() and time.monotonic() < end:
            time.sleep(0.001)

    def close(self):
        if self.terminal >= 0:
            os.close(self.terminal)
        self.terminal = -1

    def nodes(self):
        try:
            with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as f:
                return [int(pid) for pid in f.read().split()]
        except OSError:
            return []

    def strike(self, how, chance):
        if how == "hang-up":
            self.close()
        elif how == "ctrl-c":
            os.write(self.terminal, b"\003")
        elif how == "node" and self.nodes():
            try:
                os.kill(chance.choice(self.nodes()), signal.SIGKILL)
            except ProcessLookupError:
                pass
        elif how != "node":
            os.kill(self.pid, signal.SIGTERM if how == "term" else signal.SIGKILL)


def plain_death():
    """How long it takes just now to kill a process that is nobody's node, and to wait for it."""
    with subprocess.Popen(["sleep", "100"]) as plain:
        start = time.monotonic()
        plain.kill()
        plain.wait()
        return time.monotonic() - start


def usual_seconds(command, environment, done):
    """How long the job takes when nobody ends it."""
    start = time.monotonic()
    job = Job(command, environment, "usual")
    wait_until(lambda: not job.over())
    if job.code != 0 or not done in job.output:
        sys.exit(f"phases.py: undisturbed, the job ends with {job.code}: {job.output.decode()}")
    job.close()
    return time.monotonic() - start


def trial(command, done, how, environment, delay, chance):
    """Returns what is wrong afterwards, and by how much it was late."""
    before, mark = litter(), f"{os.getpid()}.{chance.getrandbits(32)}"
    job = Job(command, environment, mark)
    job.run_for(delay)
    if job.over():
        job.close()
        return [], 0
    job.strike(how, chance)
    wrong, start = [], time.monotonic()
    if wait_until(lambda: not job.over()):
        wrong.append("ckrun has not ended")
        os.kill(job.pid, signal.SIGKILL)
        wait_until(lambda: not job.over())
    took = time.monotonic() - start
    late = how == "node" and max(0, took - PROMISED_S - plain_death())
    # Nobody sees the end of a job whose terminal is closed.
    if job.code == 0 and not done in job.output and how not in ("hang-up", "node"):
        wrong.append("exit code 0")
    job.close()
    if left := wait_until(lambda: processes(mark)):
        wrong.append(f"processes left: {left}")
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    if left := wait_until(lambda: litter() - before):
        wrong.append(f"left behind: {sorted(left)}")
    if wrong:
        print(job.output.decode(errors="replace"))
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
    try:
        os.close(pty.openpty()[0])
    except OSError:
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
