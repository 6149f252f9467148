#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kills.py [--time] [--fill N] BUILD NODESxPPN KILLS: nodes of a job are killed at random moments, and its last line stays.

ckrun --replace runs tests/programs/saves, which saves itself in memory every few rounds. Meanwhile one node, two or all
of them are killed with signal 9, sometimes again while the job starts again. The job must print what an undisturbed one
prints. KILL_SEED repeats a run. --time waits for the job between two kills, and prints how long it took from the kill
to its next line.

With the shape "drawn" each job has another one, and another program: messages (saves, saves_sync), named channels
(listed, which checks every value that is put), all kinds of chares (allkinds) or a host program (embedded_saves), saved
in memory or on disk, where it asks for it or by CK_CHECKPOINT, more or less often. Elements move or not, messages come in random order or late or
not, mode and machine differ. CI has a few of them; 500 are the whole.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time


def read(path):
    try:
        with open(path, 'rb') as f:
            return f.read()
    except OSError:
        return b''


class Given:
    """What runs: the shape of the command line, with saves."""

    def __init__(self, a):
        self.nodes, self.ppn = map(int, a.shape.split('x'))
        self.command = [a.build + '/tests/programs/saves', 'memory', str(a.rounds), '3', str(a.fill)]
        self.env, self.most = {}, 1 << 30

    def undisturbed(self):
        return last_line(self.command)

    def __str__(self):
        return f'{self.nodes}x{self.ppn}'


class Drawn:
    """The same by chance. `most`: so many kills a job."""

    def __init__(self, a, draw, folder):
        self.nodes, self.ppn = draw.choice(((1, 1), (2, 1), (4, 1), (1, 3), (2, 2), (3, 2), (8, 1)))
        self.env, self.most, self.folder = {}, draw.randint(1, 6), folder
        where = draw.choice(('memory', 'memory', f'{folder}/{draw.randrange(1 << 30)}'))
        program = draw.choice(('saves', 'saves_sync', 'listed', 'allkinds', 'embedded_saves'))
        self.command = [f'{a.build}/tests/programs/{program}'] + {
            'saves': [where, str(draw.randint(100, 1000)), str(draw.randint(2, 12)), str(draw.choice((0, 10, 3000)))],
            'saves_sync': [str(draw.randint(300, 2000))],
            'listed': [str(draw.randint(100, 600))],
            'allkinds': [],
            'embedded_saves': [str(draw.randint(300, 2000))],
        }[program]
        if program not in ('saves', 'embedded_saves'):
            self.env['CK_CHECKPOINT'] = f'{where},{draw.choice((1, 3, 10, 30))}ms'
        for name, value in ('CK_LB', 'rotate'), ('CK_CHECK', '1'), ('CK_SHARE', '0'):
            if draw.random() < (0.5 if name == 'CK_LB' else 0.2):
                self.env[name] = value
        if draw.random() < 0.4:
            self.env[draw.choice(('CK_RANDOM_QUEUE', 'CK_RANDOM_DELAY'))] = str(draw.randint(1, 1000))

    def undisturbed(self):
        """Where it is saved makes no difference."""
        memory = [word if not word.startswith(self.folder) else 'memory' for word in self.command]
        return last_line(memory)

    def __str__(self):
        return ' '.join([f'{self.nodes}x{self.ppn}'] + [f'{k}={v}' for k, v in self.env.items()] + self.command)


class Job:
    """A job with --replace, and the lines that it has printed."""

    def __init__(self, a, what):
        self.lines = []
        self.news = threading.Condition()
        self.ckrun = subprocess.Popen(
            [a.build + '/bin/ckrun', '--timeout', '100', '--replace', '1000000', '-n', str(what.nodes * what.ppn), '--ppn',
             str(what.ppn)] + what.command, env=dict(os.environ, **what.env),
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

    def images(self):
        """The bytes that each file of images in memory takes."""
        folder, found = f'/proc/{self.ckrun.pid}/fd', []
        try:
            for fd in os.listdir(folder):
                if os.readlink(f'{folder}/{fd}') == '/memfd:chard images (deleted)':
                    found.append(os.stat(f'{folder}/{fd}').st_blocks * 512)
        except OSError:
            pass # a descriptor is closed, or the job has ended
        return found or [0]

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


def await_image(job):
    """A job that is killed before its first image is whole begins again, and the program says nothing of it. The first
    image is whole when the second is begun, in the other file."""
    while job.ckrun.poll() is None and 0 in job.images():
        time.sleep(0.02)


def measure(job, draw, n, took):
    """The same, one by one; `took` gets the times until the job's next lines."""
    await_image(job)
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
    if any(job.images()):
        print('bytes that the images take:', *job.images())
    return n


def check(a, code, lines, want):
    """What is wrong with the end of a job; "": nothing. A node that is killed when it has finished is no longer replaced,
    but then the job has printed all of it."""
    mine = [line for line in lines if not line.startswith('ckrun: ')]
    if not mine or mine[-1] != want:
        return f'the last line is not "{want}"'
    return '' if code == 0 or any('the job is ended' in line for line in lines) else f'exit code {code}'


def last_line(command):
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.splitlines()[-1]


def print_times(took):
    took.sort()
    print('ms from a kill to the next line: min %.1f p50 %.1f p95 %.1f max %.1f, %d kills' % (
        took[0] * 1e3, took[len(took) // 2] * 1e3, took[int(len(took) * .95)] * 1e3, took[-1] * 1e3, len(took)))


def time_kills(a, draw):
    left, took = a.kills, []
    while left > 0:
        job = Job(a, Given(a))
        left = measure(job, draw, left, took)
        job.ckrun.terminate()
        job.end()
    print_times(took)
    return 0


def kill_many(a, draw, seed, folder):
    left, jobs = a.kills, 0
    while left > 0:
        what = Drawn(a, draw, folder) if a.shape == 'drawn' else Given(a)
        want = what.undisturbed()
        job = Job(a, what)
        left -= disturb(job, draw, min(left, what.most))
        code, lines = job.end()
        jobs += 1
        wrong = check(a, code, lines, want)
        if wrong:
            print(f'KILL_SEED={seed}: {what}: {wrong}; the job printed:', *lines[-40:], sep='\n')
            return 1
    print(f'{a.kills} kills in {jobs} jobs (KILL_SEED={seed})')
    return 0


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
    with tempfile.TemporaryDirectory() as folder:
        os.environ['TMPDIR'] = folder # a killed node may leave what its sanitizer keeps there
        # What an element of allkinds has does not go when the job ends.
        os.environ['ASAN_OPTIONS'] = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
        return time_kills(a, random.Random(seed)) if a.time else kill_many(a, random.Random(seed), seed, folder)


if __name__ == '__main__':
    sys.exit(main())
