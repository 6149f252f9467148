#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The mutation score: plants the faults of mutants.list one by one, and runs the tests that should find them.

    tests/mutants/run.py [-j N] [--some N] [--seed N] [--all-tests] [pattern]
    tests/mutants/run.py --check

All happens in copies of the tree in a temporary folder, which goes at the end. First the named tests run without
a mutant: those that fail then would find everything, so they are left out. Then there is a line for each mutant, and
at the end the score. The exit code is 1 if a mutant survives without a reason, is found although the list has a reason, or
cannot be judged. A test that takes much longer than it did without the mutant has found it, too.

--check only looks whether the list still fits the tree.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types

sys.dont_write_bytecode = True  # no files beside the sources
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import listing
import scratch
from runner import left, running

# How long a test may take: so many times as long as without a mutant, and some seconds.
LIMIT_TIMES, LIMIT_MORE = 3, 15


def parse_options():
    parser = argparse.ArgumentParser(description='Plants faults and runs the tests that should find them.',
                                     allow_abbrev=False)
    parser.add_argument('pattern', nargs='?', default='', help='only mutants whose name or file is like this, a regular expression')
    parser.add_argument('-j', '--jobs', type=int, default=1, help='mutants at a time (1)')
    parser.add_argument('--some', type=int, metavar='N', help='only N of them, chosen by the seed')
    parser.add_argument('--seed', type=int, help='of the choice and of random orders and delays')
    parser.add_argument('--all-tests', action='store_true',
                        help='run all tests on a mutant before it counts as a survivor')
    parser.add_argument('--check', action='store_true', help='only look whether the list fits the tree')
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.randrange(1, 32768)
    return options


def check(mutants):
    good = True
    for line, words in mutants.wrong:
        print(f'{listing.LIST}:{line}: {words}')
    for what, holds in mutants.check():
        print(f'{"ok   " if holds else "FAIL "} mutants: {what}')
        good = good and holds
    return good


def is_quick(test):
    return not test.model and not test.sanitizer and not test.case.command[0].startswith('tests/')


def chosen(mutants, options):
    pattern = re.compile(options.pattern)
    found = [mutant for mutant in mutants if pattern.search(mutant.name) or pattern.search(mutant.path)]
    if not found:
        sys.exit('tests/mutants/run.py: no mutant has such a name or file')
    if options.some:
        # Models, scripts, and what needs a build of its own take long.
        quick = [mutant for mutant in found if all(is_quick(test) for test in mutant.tests)]
        some = random.Random(options.seed).sample(quick, min(options.some, len(quick)))
        found = [mutant for mutant in found if mutant in some]
    return found


# ---- a worker: a process in a copy of the tree ------------------------------------------------------


@dataclasses.dataclass
class Verdict:
    mutant: object
    by: str = ''  # the test that found it
    how: str = ''
    broken: str = ''  # it could not be judged
    seconds: float = 0


class Worker:
    """What a process keeps between mutants."""
    here = None

    def __init__(self, base, folder, seed):
        self.base, self.folder, self.seed = base, folder, seed
        self.sync()
        os.chdir(folder)

    def sync(self):
        os.makedirs(self.folder, exist_ok=True)
        scratch.restore(self.base, self.folder)

    @functools.lru_cache(maxsize=None)
    def runner(self, sanitizer):
        return running.Runner(types.SimpleNamespace(sanitizer=sanitizer, seed=self.seed, settle=5,
                                                    build='build' + (sanitizer and f'-{sanitizer}')))

    def run(self, test, limit=0):
        """The ending of a case."""
        case = dataclasses.replace(test.case, limit=limit) if limit else test.case
        return self.runner(test.sanitizer).run(case)


def enter(base, folders, seed):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, too: tests of the launcher hang up
    folder = folders.get()
    tempfile.tempdir = os.path.dirname(folder)
    os.environ['FAIL_FAST'] = '1'  # scripts of many tests end at the first failure
    Worker.here = Worker(base, folder, seed)


def build_for(tests):
    """Makes what these tests of one sanitizer, or of none, run; returns what is wrong, or ''."""
    sanitizer = tests[0].sanitizer
    build = 'build' + (sanitizer and f'-{sanitizer}')
    targets = {target for test in tests for target in scratch.targets_of(test.case, build)}
    return scratch.make('.', sorted(targets), sanitizer)


def run_without(test):
    """How long a test takes without a mutant, or what is wrong then."""
    end = Worker.here.run(test)
    return test.title, end.seconds, end.skipped or '; '.join(end.wrong)


def how_it_ended(end):
    """What is wrong, and what was said about it, in short."""
    said = [line for line in (end.err + end.out).splitlines()
            if re.search(r'chard: |ERROR: |FAIL|failed|rror:', line)]
    return '; '.join(end.wrong[:1] + [line.strip()[:90] for line in said[:1]])


def found_by(verdict, test, seconds):
    """Whether the test finds what is planted here."""
    wrong = build_for([test])
    if wrong:
        verdict.broken = f'it does not compile: {wrong[-400:]}'
        return True
    end = Worker.here.run(test, int(LIMIT_TIMES * seconds + LIMIT_MORE))
    if end.wrong:
        verdict.by, verdict.how = test.title, how_it_ended(end)
    return bool(end.wrong)


def found_by_any(verdict):
    """`make check`."""
    wrong = scratch.make('.', ['tests'])
    if wrong:
        verdict.broken = wrong[-400:]
        return
    done = subprocess.run([sys.executable, 'tests/run.py', '--seed', str(Worker.here.seed)], text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    failed = re.findall(r'^FAIL  (.*) \(exit code', done.stdout, re.M)
    failed = [title for title in failed if not title.startswith('nothing is left')]
    if failed:
        verdict.by, verdict.how = failed[0], f'{len(failed)} of all tests fail'


def judge(mutant, seconds, all_tests):
    verdict, start = Verdict(mutant), time.monotonic()
    with open(mutant.path, encoding='utf-8') as file:
        source = mutant.planted(file.read())
    with open(mutant.path, 'w', encoding='utf-8') as file:
        file.write(source)
    for test in mutant.tests:
        if test.title in seconds and found_by(verdict, test, seconds[test.title]):
            break
    if not any(test.title in seconds for test in mutant.tests):
        verdict.broken = 'all its tests fail without it'
    if all_tests and not verdict.by and not verdict.broken:
        found_by_any(verdict)
    Worker.here.sync()
    verdict.seconds = time.monotonic() - start
    return verdict


# ---- models -----------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def model_run(model):
    """tests/models/run.sh on one model, which searches all its mutants."""
    return subprocess.run([f'{TOP}/tests/models/run.sh', model], stdin=subprocess.DEVNULL, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout


def judge_by_model(verdict):
    """The last resort, for a mutant that no test has found."""
    for test in verdict.mutant.tests:
        if not test.model:
            continue
        start = time.monotonic()
        text = model_run(test.model)
        said = f'nothing is found in mutant {test.number}:'
        if text.startswith('skip'):
            verdict.broken = text.splitlines()[0]
        elif not re.search(rf'^ok model {test.model}\b', text, re.M):
            verdict.broken = f'the model itself fails: {text[-300:]}'
        elif f'the search in mutant {test.number} was cut off' in text:
            verdict.broken = 'the search in the model was cut off: is the machine too busy?'
        elif said not in text:
            verdict.by, verdict.how = test.title, 'the model has an error then'
        verdict.seconds += time.monotonic() - start
    return verdict


# ---- the parent -------------------------------------------------------------------------------------


def measure(pool, mutants):
    """{title: seconds} of the tests that are named, without those that fail without a mutant."""
    tests = {test.title: test for mutant in mutants for test in mutant.tests if not test.model}
    for sanitizer in sorted({test.sanitizer for test in tests.values()}):
        wrong = pool.submit(build_for, [test for test in tests.values() if test.sanitizer == sanitizer]).result()
        if wrong:
            sys.exit(f'tests/mutants/run.py: the tests cannot be built: {wrong}')
    seconds = {}
    for title, taken, wrong in pool.map(run_without, tests.values()):
        if wrong:
            print(f'FAIL     without a mutant: {title}: {wrong}', flush=True)
        else:
            seconds[title] = taken
    print(f'{len(seconds)} of {len(tests)} tests pass without a mutant', flush=True)
    return seconds


def judge_all(pool, mutants, seconds, all_tests):
    """Verdicts, as they come. What a model finds needs no build."""
    ends = []
    for mutant in mutants:
        if all(test.model for test in mutant.tests):
            yield judge_by_model(Verdict(mutant))
        else:
            ends.append(pool.submit(judge, mutant, seconds, all_tests))
    for end in concurrent.futures.as_completed(ends):
        verdict = end.result()
        yield verdict if verdict.by or verdict.broken else judge_by_model(verdict)


def word_of(verdict):
    if verdict.broken:
        return 'BROKEN'
    if verdict.by:
        return 'REASON?' if verdict.mutant.reason else 'killed'
    return 'reason' if verdict.mutant.reason else 'SURVIVED'


def tell(verdict):
    mutant = verdict.mutant
    about = verdict.broken or (f'{verdict.by}: {verdict.how}' if verdict.by else mutant.reason)
    print(f'{word_of(verdict):8} {mutant.layer}: {mutant.name} ({verdict.seconds:.0f} s) {about}'.rstrip(), flush=True)


def tell_score(verdicts):
    words = [word_of(verdict) for verdict in verdicts]
    print()
    for layer in listing.LAYERS:
        of_layer = [word_of(verdict) for verdict in verdicts if verdict.mutant.layer == layer]
        if of_layer:
            print(f'{layer:12} {of_layer.count("killed"):3} of {len(of_layer):3} killed')
    print(f'{words.count("killed")} of {len(words)} killed, {words.count("reason")} survive with a reason, '
          f'{words.count("SURVIVED")} survive')
    bad = sum(words.count(word) for word in ('BROKEN', 'REASON?'))
    if bad:
        print(f'{bad} could not be judged, or are found although the list has a reason')
    return bad + words.count('SURVIVED') == 0


def run_in(folder, mutants, options):
    base = f'{folder}/base'
    scratch.copy_tree(TOP, base)
    wrong = scratch.make(base, ['tools'])
    if wrong:
        sys.exit(f'tests/mutants/run.py: the tree cannot be built: {wrong}')
    context = multiprocessing.get_context('fork')
    folders = context.Queue()
    # The first one measures in the base itself, so that what it has linked is there for all.
    folders.put(base)
    with concurrent.futures.ProcessPoolExecutor(1, context, enter, (base, folders, options.seed)) as pool:
        seconds = measure(pool, mutants)
    for i in range(options.jobs):
        folders.put(f'{folder}/work{i}')
    pool = concurrent.futures.ProcessPoolExecutor(options.jobs, context, enter, (base, folders, options.seed))
    verdicts = []
    try:
        for verdict in judge_all(pool, mutants, seconds, options.all_tests):
            verdicts.append(verdict)
            tell(verdict)
    finally:
        for worker in multiprocessing.active_children():
            worker.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
    return tell_score(verdicts)


def main():
    options = parse_options()
    os.chdir(TOP)
    mutants = listing.Listing()
    if options.check or mutants.wrong:
        return check(mutants)
    mutants = chosen(mutants.mutants, options)
    print(f'{len(mutants)} mutants, {options.jobs} at a time, --seed {options.seed}', flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = tempfile.mkdtemp(prefix='chard-mutants-')
    # Every process that comes from here inherits a name that begins with this (runner/running.py).
    os.environ['CHARD_TEST'] = mark = f'{os.environ.get("CHARD_TEST", "")}{os.path.basename(folder)}/'
    try:
        return run_in(folder, mutants, options)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        left.end_processes(mark, 0)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(0 if main() else 1)
