#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""resizes.py [--kill] [--program NAME] BUILD PPN TIMES: a job gets other numbers of PEs, and its last line stays.

ckrun --resize makes the job grow and shrink between 1 and 8 nodes of PPN PEs, at random moments, first through 1, 8, 3
and 1. --kill: the job has --replace, and nodes are killed meanwhile, too. The job must print what an undisturbed one
prints. RESIZE_SEED repeats a run. The environment of the job is the caller's: CK_LB, CK_CHECKPOINT.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time

PROGRAMS = {
    'saves': (['memory', '4000', '3'], {}),
    'saves-disk': (['DIR', '400', '3'], {}),
    'saves_sync': (['5000'], {'CK_CHECKPOINT': 'memory,1h'}),
    'embedded_saves': (['2000'], {}),
    'saves_sync-disk': (['3000'], {'CK_CHECKPOINT': 'DIR,5ms'}),
    'listed-disk': (['300'], {'CK_CHECKPOINT': 'DIR,5ms'}),
    'allkinds': (['0', '60'], {}),
    'allkinds-disk': (['0', '60'], {'CK_CHECKPOINT': 'DIR,3ms'}),
}
# The last one: all PEs but one have run a [whenidle] entry of allkinds, and contributed.
REFUSED = (' already', 'the job has ended', 'no job ', 'just now', 'to Main::rested) waits for')


def command(a, folder):
    """A killed node may leave what its sanitizer keeps in TMPDIR."""
    words, env = PROGRAMS[a.program]
    ck = f'{folder}/ck'
    return ([f'{a.build}/tests/programs/{a.program.removesuffix("-disk")}'] + [w.replace('DIR', ck) for w in words],
            {**{name: text.replace('DIR', ck) for name, text in env.items()}, **os.environ, 'TMPDIR': folder})


def nodes(pid):
    found = []
    try:
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as children:
            for child in children.read().split():
                with open(f'/proc/{child}/environ', 'rb') as environ:
                    if b'PMI_RANK=' in environ.read():
                        found.append(int(child))
    except OSError:
        pass
    return found


def killer(job, draw, over):
    """Kills become rarer: on a slow machine a job must at last have the time to start and to be saved."""
    rarer = 1
    while not over.wait((0.02 + 0.3 * draw.random()) * rarer):
        rarer *= 1.1
        for pid in draw.sample(nodes(job.pid), min(1, len(nodes(job.pid)))):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def fail(seed, why, text):
    print(f'RESIZE_SEED={seed}: {why}; the job printed:\n{text[-3000:]}')
    sys.exit(1)


def one_job(a, draw, seed, want, folder, left):
    """Resize a job until it ends or all is done. Returns how often it was."""
    line, env = command(a, folder)
    start = [a.build + '/bin/ckrun', '--timeout', '100', '-n', str(a.ppn), '--ppn', str(a.ppn)]
    start += ['--replace', '1000000'] if a.kill else []
    job = subprocess.Popen(start + line, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
    out, over, done = [], threading.Event(), 0
    reader = threading.Thread(target=lambda: out.append(job.stdout.read()))
    reader.start()
    if a.kill:
        threading.Thread(target=killer, args=(job, draw, over), daemon=True).start()
    shapes = [8, 3, 1]
    while done < left and job.poll() is None:
        time.sleep(draw.choice((0, 0.01, 0.1)) * draw.random())
        n = (shapes.pop(0) if shapes else draw.randint(1, 8)) * a.ppn
        asked = subprocess.run([a.build + '/bin/ckrun', '--resize', str(n), str(job.pid)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, check=False)
        if asked.returncode == 0:
            done += 1
        elif not any(word in asked.stderr for word in REFUSED):
            job.terminate()
            reader.join()
            fail(seed, f'--resize {n}: {asked.stderr}', out[0])
    over.set()
    code = job.wait()
    reader.join()
    mine = [text for text in out[0].splitlines() if not text.startswith('ckrun: ')]
    if not mine or mine[-1] != want:
        fail(seed, f'the last line is not "{want}"', out[0])
    if code and 'the job is ended' not in out[0]:
        fail(seed, f'exit code {code}', out[0])
    return done


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--kill', action='store_true')
    p.add_argument('--program', choices=PROGRAMS, default='saves')
    p.add_argument('build')
    p.add_argument('ppn', type=int)
    p.add_argument('times', type=int)
    a = p.parse_args()
    seed = os.environ.get('RESIZE_SEED') or str(random.randrange(1 << 30))
    draw, done, jobs = random.Random(seed), 0, 0
    folder = subprocess.run(['mktemp', '-d'], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    # What an element of allkinds has does not go when the job ends.
    os.environ['ASAN_OPTIONS'] = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
    line, env = command(a, folder)
    want = subprocess.run(line, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1]
    try:
        while done < a.times and jobs < 3 * a.times:
            subprocess.run(['rm', '-rf', f'{folder}/ck'], check=True)
            done += one_job(a, draw, seed, want, folder, a.times - done)
            jobs += 1
    finally:
        subprocess.run(['rm', '-rf', folder], check=True)
    print(f'{done} times another number of PEs, {jobs} jobs, {want}')
    sys.exit(done < a.times)


main()
