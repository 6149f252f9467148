#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stages.py [--each N] [--seed S] BUILD [N]: nodes die at chosen stages of a checkpoint and of a restart.

ckrun --replace runs a program that kills itself there (stage.c). The job must print what an undisturbed one prints, end
with code 0, have died as often as planned, and leave no process, no file and no shared memory; its folder must hold
two checkpoints and nothing else. --each N: each stage N times. Otherwise N plans of random stages. Shape, rank, memory
or disk and the number of the visit are drawn.
"""
import argparse
import os
import random
import re
import shutil
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from runner import job as jobs

# Stage: who can die there ('any' rank or 0), where the job's checkpoints are, and the most visits before.
SAVING = {
    'wanted': (0, 'both', 3), 'rest': (0, 'both', 3),
    'frozen': ('any', 'both', 3), 'measured': ('any', 'both', 3),
    'write': ('any', 'both', 3), 'packing': ('any', 'both', 3), 'packed': ('any', 'both', 3),
    'written': ('any', 'both', 3), 'commit': (0, 'both', 3), 'committed': (0, 'both', 3),
    'thaw': ('any', 'both', 3), 'thawed': ('any', 'both', 3),
    'file': ('any', 'disk', 3), 'piece': ('any', 'disk', 6), 'file-written': ('any', 'disk', 3),
    'manifest': (0, 'disk', 3), 'renamed': (0, 'disk', 3),
}
# These come after a death in SAVING, from the second checkpoint on.
STARTING = {
    'start': ('any', 'both', 1), 'fence': ('any', 'both', 2), 'fenced': ('any', 'both', 2),
    'reading': ('any', 'both', 4), 'read': ('any', 'both', 4), 'on_arrived': ('any', 'both', 3),
    'all-read': ('any', 'both', 1), 'arrived': ('any', 'both', 1),
    'resuming': ('any', 'both', 1), 'resumed': ('any', 'both', 1),
}
SHAPES = ((2, 1), (3, 1), (2, 2), (4, 1))
ROUNDS, EVERY = 24, 3


def visit(draw, stages, name, nodes, least=1):
    who, _, most = stages[name]
    return f'{name},{draw.randrange(nodes) if who == "any" else 0},{draw.randint(min(least, most), most)}'


class Plan:
    """What one job goes through."""

    def __init__(self, stage, draw):
        self.nodes, self.ppn = draw.choice(SHAPES)
        where = {**SAVING, **STARTING}[stage][1]
        self.disk = where == 'disk' or draw.random() < 0.4
        if stage in SAVING:
            self.deaths = [visit(draw, SAVING, stage, self.nodes)]
        else:
            # After the commit, so that there is something to start from.
            self.deaths = [visit(draw, SAVING, draw.choice(('committed', 'thaw', 'written')), self.nodes, 3),
                           visit(draw, STARTING, stage, self.nodes)]
        if draw.random() < 0.3:
            self.deaths.append(visit(draw, STARTING, draw.choice(('start', 'fence', 'fenced')), self.nodes))

    def __str__(self):
        return f'{self.nodes}x{self.ppn} {"disk" if self.disk else "memory"} {" then ".join(self.deaths)}'


def command(build, plan, folder):
    return [build + '/bin/ckrun', '--timeout', '60', '--replace', str(len(plan.deaths)), '-n', str(plan.nodes * plan.ppn),
            '--ppn', str(plan.ppn), build + '/tests/stages/saves', folder + '/ck' if plan.disk else 'memory', str(ROUNDS),
            str(EVERY)]


def wrong_files(folder):
    names = sorted(os.listdir(folder + '/ck'))
    if len(names) != 3 or names[2] != 'latest' or not all(re.fullmatch(r'ck-\d{6}', name) for name in names[:2]):
        return [f'its folder has {names}']
    return []


def last_line(job):
    lines = [line for line in job.text().splitlines() if line.startswith('saves: ')]
    return lines[-1] if lines else ''


def run(build, plan, places, want):
    """What is wrong with the job, and its output."""
    folder = places.folder
    places.clean()
    os.mkdir(folder + '/deaths')
    before = places.litter()
    job = jobs.Job(command(build, plan, folder),
                   dict(os.environ, STAGES=';'.join(plan.deaths), STAGES_DIR=folder + '/deaths', TMPDIR=folder))
    wrong = job.remains(places, before | {folder + '/ck'})
    deaths = len(os.listdir(folder + '/deaths'))
    if job.code != 0:
        wrong.append(f'exit code {job.code}')
    if deaths != len(plan.deaths):
        wrong.append(f'{deaths} of {len(plan.deaths)} deaths')
    if want and last_line(job) != want:
        wrong.append(f'the last line is not "{want}"')
    if plan.disk and not wrong:
        wrong += wrong_files(folder)
    return wrong, job.text(), last_line(job)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--each', type=int, default=0)
    p.add_argument('--seed', type=int, default=int(time.time()))
    p.add_argument('--stage', action='append', default=[])
    p.add_argument('build')
    p.add_argument('n', type=int, nargs='?', default=5)
    a = p.parse_args()
    build, draw = os.path.abspath(a.build), random.Random(a.seed)
    stages = a.stage or list({**SAVING, **STARTING})
    names = stages * a.each if a.each else [draw.choice(stages) for _ in range(a.n)]
    places, failed, deaths = jobs.Places(tmp=False), 0, 0
    undisturbed = Plan('wanted', draw)
    undisturbed.deaths, undisturbed.disk = ['none,0,1'], False
    _, _, want = run(build, undisturbed, places, '')
    if not want:
        sys.exit('stages.py: undisturbed, the job does not come to its end')
    for name in names:
        plan = Plan(name, draw)
        wrong, text, _ = run(build, plan, places, want)
        deaths += len(plan.deaths)
        if wrong:
            failed += 1
            print(f'FAIL  {plan}: {"; ".join(wrong)} (--seed {a.seed}). The job printed:\n{text}')
    places.remove()
    print(f'{len(names)} jobs, {deaths} deaths at {len(set(names))} stages, {failed} failed (--seed {a.seed})')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
