#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""flips.py [--zstd] BUILD PROGRAM N: N times something of a checkpoint on disk is damaged, and it is refused by name.

The program (allkinds) is saved by 3 PEs on 2 nodes. Each time one bit of it is flipped, in each of its parts in turn, or a
file is cut, or is missing, or gets the bytes of another. `ckpt verify` names the file, and a job in checked mode that
starts from it ends with a line that does. Without checked mode bytes that nobody reads may be damaged, between records and,
if the job has fewer PEs, of branches: then the job prints what it prints without damage. FLIP_SEED repeats a run.
"""
import argparse
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

PAGE, RECORD, NODES, PES = 4096, 64, 2, 3


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def blocks(data):
    """Where the blocks are, and how long they are in the file: struct image_head."""
    n = struct.unpack_from('<I', data, 28)[0]
    return [struct.unpack_from('<QQQ', data, 64 + 32 * i) for i in range(n)]


def records(data):
    """Of the blocks that are not compressed."""
    for offset, size, stored in blocks(data):
        at = offset
        while size == stored and at < offset + size:
            length = struct.unpack_from('<Q', data, at + 32)[0]
            yield at, length
            at += RECORD + (length + 15) // 16 * 16


def places(data, part):
    """Some bytes of a part of a node's file."""
    if part == 'head':
        return range(64 + 32 * len(blocks(data)))
    if part == 'head, behind':
        return range(64 + 32 * len(blocks(data)), PAGE)
    if part == 'record':
        return [at + i for at, _ in records(data) for i in range(RECORD)]
    if part == 'bytes':
        return [at + RECORD + i for at, n in records(data) for i in range(min(n, 64))]
    if part == 'padding':
        return [at + RECORD + n + i for at, n in records(data) for i in range(-n % 16)]
    if part == 'block':
        return [offset + i for offset, _, stored in blocks(data) for i in range(0, stored, 7)]
    used = sorted((offset, offset + stored) for offset, _, stored in blocks(data))
    return [i for (_, end), (begin, _) in zip(used, used[1:]) for i in range(end, begin, 5)]


PARTS = ['head', 'head, behind', 'record', 'record', 'bytes', 'padding', 'block', 'between']
UNREAD = ('padding', 'between')
UNREAD_BY_FEWER = ('bytes', 'block')  # branches of PEs that are no more


def flip(draw, folder, part):
    """Returns the file, and the byte; None: there is no such part."""
    name = 'MANIFEST' if part == 'MANIFEST' else f'node-{draw.randrange(NODES):05}'
    data = bytearray(read(f'{folder}/{name}'))
    where = range(len(data)) if part == 'MANIFEST' else places(data, part)
    if not where:
        return None
    at = draw.choice(where)
    data[at] ^= 1 << draw.randrange(8)
    with open(f'{folder}/{name}', 'wb') as f:
        f.write(data)
    return name, f'byte {at}'


def damage_file(draw, folder, how):
    name = draw.choice(['MANIFEST'] + [f'node-{i:05}' for i in range(NODES)])
    path = f'{folder}/{name}'
    if how == 'cut':
        os.truncate(path, draw.randrange(os.path.getsize(path)))
    elif how == 'longer':
        with open(path, 'ab') as f:
            f.write(b'x')
    elif how == 'missing':
        os.unlink(path)
        name = 'ck-000002' if name == 'MANIFEST' else name
    elif how == 'of another checkpoint':
        shutil.copy(path.replace('ck-000002', 'ck-000001'), path)
        name = 'node-' if name == 'MANIFEST' else name
    elif how == 'of another node':
        shutil.copy(f'{folder}/node-00001', f'{folder}/node-00000')
        name = 'node-00000'
    return name, how


def damage(draw, i, folder):
    wholes = ['cut', 'longer', 'missing', 'of another checkpoint', 'of another node']
    kinds = ['MANIFEST'] + PARTS + ['file']
    kind = kinds[i % len(kinds)]
    if kind == 'file':
        return (kind, *damage_file(draw, folder, wholes[i // len(kinds) % len(wholes)]))
    done = flip(draw, folder, kind)
    return (kind, *done) if done else damage(draw, draw.randrange(len(kinds)), folder)


class Trial:
    def __init__(self, a):
        self.a = a
        # A job that is saved stops in the middle, with memory that leak checkers find.
        leaks = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
        self.env = {**os.environ, 'ASAN_OPTIONS': leaks, **({'CK_CHECKPOINT': 'memory,1000000s,zstd'} if a.zstd else {})}
        self.dir = tempfile.mkdtemp()

    def run(self, pes, ppn, **env):
        return subprocess.run([self.a.build + '/bin/ckrun', '--timeout', '20', '-n', str(pes), '--ppn', str(ppn), self.a.program],
                              env={**self.env, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)

    def verify(self, folder):
        return subprocess.run([self.a.build + '/bin/ckpt', 'verify', folder], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)

    def refused(self, job, name):
        lines = [line for line in job.stdout.splitlines() if 'cannot start from the checkpoint: ' in line]
        return job.returncode == 1 and lines and all(name in line for line in lines)

    def judge(self, kind, name, draw):
        """What is wrong; None: nothing."""
        again = f'{self.dir}/again/ck-000002'
        found = self.verify(again)
        if found.returncode != 1 or name not in found.stdout:
            return 'ckpt verify', found
        shape = draw.choice([(3, 2), (1, 1), (2, 1), (5, 2)])
        job = self.run(*shape, CK_RESTART=again, CK_CHECK='1')
        if not self.refused(job, name):
            return 'in checked mode', job
        job = self.run(*shape, CK_RESTART=again)
        unread = kind in UNREAD or (kind in UNREAD_BY_FEWER and shape[0] < PES)
        if self.refused(job, name) or (unread and job.returncode == 0 and job.stdout.splitlines()[-1] == self.want):
            return None
        return 'the job', job

    def all(self, seed):
        self.want = self.run(1, 1).stdout.splitlines()[-1]
        saved = self.run(PES, 2, SAVE_DIR=self.dir + '/ck', STOP='2')
        assert saved.returncode == 0 and self.verify(self.dir + '/ck').returncode == 0, saved.stdout
        again, draw, counts = self.dir + '/again', random.Random(seed), {}
        for i in range(self.a.n):
            shutil.rmtree(again, ignore_errors=True)
            shutil.copytree(self.dir + '/ck', again, symlinks=True)
            kind, name, how = damage(draw, i, again + '/ck-000002')
            wrong = self.judge(kind, name, draw)
            if wrong:
                print(f'FLIP_SEED={seed}: {i}: {kind}, {name}, {how}: {wrong[0]}: code {wrong[1].returncode}', wrong[1].stdout, sep='\n')
                return 1
            counts[kind] = counts.get(kind, 0) + 1
        print(f'{self.a.n} refused:', ', '.join(f'{n} {kind}' for kind, n in counts.items()))
        return 0


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--zstd', action='store_true')
    p.add_argument('build')
    p.add_argument('program')
    p.add_argument('n', type=int)
    trial = Trial(p.parse_args())
    try:
        return trial.all(os.environ.get('FLIP_SEED') or str(random.randrange(1 << 30)))
    finally:
        shutil.rmtree(trial.dir)


if __name__ == '__main__':
    sys.exit(main())
