#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stops.py BUILD PROGRAM N: a job that writes checkpoints is stopped at its system calls, N of them, drawn; 0: at each.

The program (allkinds) is saved on 2 nodes, starts again from there, and is saved twice more, in the same folder. At one
call that changes the folder one of its processes dies, or the call fails (tests/image/stop.c). Then a job starts
from the newest checkpoint that is complete, can be saved in the folder, and prints what it prints undisturbed; so does
the job itself, if a call has failed: it says why it was not saved. STOP_SEED repeats a run. At the end the disk is slow,
which is said once.
"""
import errno
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HOWS = ['kill', str(errno.ENOSPC), str(errno.EIO), str(errno.EDQUOT)]


class Trial:
    def __init__(self, build, program):
        self.build, self.program = build, program
        self.dir = tempfile.mkdtemp()
        self.work = self.dir + '/work'

    def run(self, shape='2', ppn='1', **env):
        return subprocess.run([self.build + '/bin/ckrun', '--timeout', '20', '-n', shape, '--ppn', ppn, self.program],
                              env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)

    def shim(self, rank, at, how):
        return {'STOP_DIR': self.work, 'STOP_RANK': str(rank), 'STOP_AT': str(at), 'STOP_HOW': how,
                'LD_PRELOAD': os.path.abspath(self.build + '/tests/image/stop.so')}

    def stopped(self, rank, at, how, **env):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.dir + '/ck', self.work, symlinks=True)
        return self.run(CK_RESTART=self.work, SAVE_DIR=self.work, MAY_FAIL='1', **self.shim(rank, at, how), **env)

    def is_right(self, job):
        return job.returncode == 0 and self.want in job.stdout.splitlines()

    def judge_end(self, job, how, letter):
        """What is wrong with the job whose call has failed, or that was killed."""
        if how == 'kill':
            return '' if 'signal 9' in job.stdout and 'chard: ' not in job.stdout else 'it was not killed'
        unsaved = job.stdout.count('not saved in round')
        lines = len(re.findall(r'^chard: no checkpoint: node \d+: .*: ' + re.escape(os.strerror(int(how))) + '$', job.stdout, re.M))
        if not self.is_right(job) or lines != unsaved:
            return f'{unsaved} times not saved, {lines} lines'
        left = [name for name in os.listdir(self.work) if not re.fullmatch(r'ck-\d+|latest', name)]
        return f'left: {left}' if left and letter not in 'ur' else ''

    def judge_again(self):
        """What is wrong with the job that starts again."""
        job = self.run(random.choice('123'), CK_RESTART=self.work, SAVE_DIR=self.work)
        again = re.search(r'again after round (\d)', job.stdout)
        if not self.is_right(job) or not again:
            return job.stdout
        names = sorted(os.listdir(self.work))
        if again[1] != '3' and not (len(names) == 3 and all(re.fullmatch(r'ck-\d+|latest', name) for name in names)):
            return f'from round {again[1]}; left: {names}'
        verify = subprocess.run([self.build + '/bin/ckpt', 'verify', self.work], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False)
        return verify.stdout if verify.returncode else ''

    def slow(self):
        shutil.rmtree(self.work, ignore_errors=True)
        job = self.run(SAVE_DIR=self.work, CK_CHECKPOINT=f'{self.work},1ms', **self.shim(0, 0, 'slow'))
        lines = re.findall(r'^chard: checkpoint \d+ is still being written to .*/work, for [\d.]+ s now; the next one waits for it '
                           r'\(node 0 has written [\d.]+ MB, [\d.]+ MB/s\). This is said once$', job.stdout, re.M)
        return '' if self.is_right(job) and len(lines) == 1 else job.stdout

    def all(self, n, seed):
        self.want = self.run().stdout.splitlines()[-1]
        self.run(SAVE_DIR=self.dir + '/ck', STOP='1')
        calls = []
        for rank in 0, 1:
            count = f'{self.dir}/count{rank}'
            job = self.stopped(rank, 0, 'none', STOP_COUNT=count)
            assert self.is_right(job), job.stdout
            with open(count, encoding='ascii') as f:
                calls += [(rank, at + 1, letter, how) for at, letter in enumerate(f.read()) for how in HOWS]
        random.seed(seed)
        drawn = random.sample(calls, n) if n else calls
        for rank, at, letter, how in drawn:
            job = self.stopped(rank, at, how)
            wrong = self.judge_end(job, how, letter) or self.judge_again()
            if wrong:
                print(f'STOP_SEED={seed}: node {rank}, call {at} ({letter}), {how}: {wrong}', job.stdout, sep='\n')
                return 1
        wrong = self.slow()
        print(wrong or f'{len(drawn)} of {len(calls)} stops')
        return 1 if wrong else 0


def main():
    trial = Trial(sys.argv[1], sys.argv[2])
    try:
        return trial.all(int(sys.argv[3]), os.environ.get('STOP_SEED') or str(random.randrange(1 << 30)))
    finally:
        shutil.rmtree(trial.dir)


if __name__ == '__main__':
    sys.exit(main())
