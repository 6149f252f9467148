#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kills.py [--time] [--fill N] BUILD NODESxPPN KILLS: nodes of a job are killed at random moments, and its last line stays.

ckrun --replace runs tests/programs/saves, which saves itself in memory every few rounds. Meanwhile one node, two or all
of them are killed with signal 9, sometimes again while the job starts again. The job must print what an undisturbed one
prints. KILL_SEED repeats a run. --time waits for the job between two kills, and prints how long it took from the kill
to its next line.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time


def read(path):
    try:
        with open(path, 'rb') as f:
            return f.read()
    except OSError:
        return b''


class Job:
    """A job with --replace, and the lines that it has printed."""

    def __init__(self, a):
        nodes, ppn = map(int, a.shape.split('x'))
        self.lines = []
        self.news = threading.Condition()
        self.ckrun = subprocess.Popen(
            [a.build + '/bin/ckrun', '--timeout', '100', '--replace', '1000000', '-n', str(nodes * ppn), '--ppn', str(ppn),
             a.build + '/tests/programs/saves', 'memory', str(a.rounds), '3', str(a.fill)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self.take, daemon=True)
        self.reader.start()

    def take(self):
        for line in self.ckrun.stdout:
            with self.news:
                self.lines.append((time.monotonic(), line.rstrip('\n')))
                self.news.notify_all()
        with self.news:
            self.news.notify_all()

    def nodes(self):
        """The processes of the nodes, by rank."""
        found = {}
        for pid in read(f'/proc/{self.ckrun.pid}/task/{self.ckrun.pid}/children').split():
            for word in read(f'/proc/{int(pid)}/environ').split(b'\0'):
                if word.startswith(b'PMI_RANK='):
                    found[int(word[9:])] = int(pid)
        return found

    def await_line(self, n, word):
        """When the first line from number n on with the word has come; None: the job has ended."""
        with self.news:
            while True:
                for at, line in self.lines[n:]:
                    if word in line:
                        return at
                if not self.reader.is_alive():
                    return None
                self.news.wait(1)

    def end(self):
        code = self.ckrun.wait()
        self.reader.join()
        return code, [line for _, line in self.lines]


def kill(job, victims):
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return len(victims)


def some(job, draw):
    nodes = list(job.nodes().values())
    n = draw.choice((1, 1, 1, 2, len(nodes)))
    return draw.sample(nodes, min(n, len(nodes)))


def disturb(job, draw, n):
    """Kill nodes at n moments, if the job lasts. Returns at how many."""
    done = 0
    while done < n and job.ckrun.poll() is None:
        time.sleep(draw.choice((0.002, 0.02, 0.15)) * draw.random())
        victims = some(job, draw)
        done += bool(victims)
        kill(job, victims)
    return done


def measure(job, draw, n, took):
    """The same, one by one; `took` gets the times until the job's next lines."""
    time.sleep(0.5)
    while n and job.ckrun.poll() is None:
        time.sleep(0.05 + 0.1 * draw.random())
        have, victims = len(job.lines), list(job.nodes().values())
        if not victims:
            break
        begin = time.monotonic()
        kill(job, [draw.choice(victims)])
        line = job.await_line(have, 'saves: again')
        if line is None:
            break
        took.append(line - begin)
        n -= 1
    return n


def check(a, code, lines, want):
    """What is wrong with the end of a job; "": nothing. A node that is killed when it has finished is no longer replaced,
    but then the job has printed all of it."""
    mine = [line for line in lines if not line.startswith('ckrun: ')]
    if not mine or mine[-1] != want:
        return f'the last line is not "{want}"'
    return '' if code == 0 or any('the job is ended' in line for line in lines) else f'exit code {code}'


def undisturbed(a):
    run = subprocess.run([a.build + '/tests/programs/saves', 'memory', str(a.rounds), '3', str(a.fill)],
                         stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.splitlines()[-1]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--time', action='store_true')
    p.add_argument('--fill', type=int, default=0, help='ints that each of 37 elements has besides')
    p.add_argument('--rounds', type=int, default=3000)
    p.add_argument('build')
    p.add_argument('shape')
    p.add_argument('kills', type=int)
    a = p.parse_args()
    seed = os.environ.get('KILL_SEED') or str(random.randrange(1 << 30))
    draw, left, took, jobs = random.Random(seed), a.kills, [], 0
    want = '' if a.time else undisturbed(a)
    while left > 0:
        job = Job(a)
        left = measure(job, draw, left, took) if a.time else left - disturb(job, draw, left)
        if a.time and not left:
            job.ckrun.terminate()
            job.end()
            break
        code, lines = job.end()
        jobs += 1
        wrong = check(a, code, lines, want)
        if wrong:
            print(f'KILL_SEED={seed}: {wrong}; the job printed:', *lines[-40:], sep='\n')
            return 1
    if took:
        took.sort()
        print('ms from a kill to the next line: min %.1f p50 %.1f p95 %.1f max %.1f, %d kills' % (
            took[0] * 1e3, took[len(took) // 2] * 1e3, took[int(len(took) * .95)] * 1e3, took[-1] * 1e3, len(took)))
    else:
        print(f'{a.kills} kills in {jobs} jobs')
    return 0


if __name__ == '__main__':
    sys.exit(main())
