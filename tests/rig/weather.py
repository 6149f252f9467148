#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job while its network is as networks can be: on two hosts made of namespaces, over cables that lose, delay, double,
swap and damage frames, are narrow, or go away now and then. What they carry is squeezed, or sealed, or both, or neither.

    tests/rig/weather.py [-b build folder] [--draw=[WORD]] [-j JOBS] [name ...]

A trial starts tests/programs/weather on good cables, spoils them when the job is at work, and mends them after some seconds
if the job has not ended by itself. Then it must end well, with all that was sent as it was sent and in its order. In the
worst weather it may also have given up: with one line that names the node that it no longer heard. Nothing else depends on
how long anything takes, but that what needs 60 s after all is mended hangs.

All combinations, or twelve: those that the word draws, or the name of the commit.
"""

import argparse
import itertools
import os
import random
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import rig  # noqa: E402
from loss import Trial, run_apart, tell  # noqa: E402
from rig import Failed, require  # noqa: E402
from runner import draw  # noqa: E402

DRAWN = 12
SPOILT_S = 5     # so long, unless the job has ended; longer than a round trip with the longest delay takes
PATIENCE_S = 60  # what takes longer once the cables are good again, hangs
TIMEOUT_S = 8    # CK_PEER_TIMEOUT
FLAP_S = 0.7     # a cable that flaps is away so long, and there so long

LOSS = {'0': 0, '2': 0.02, '30': 0.3}
DELAY = {'0': 0, '50': 50, '3000': 3000}                     # ms
RATE = {'any': (0, 1000), '10M': (80, 4000), '100k': (0.8, 256)}  # bytes a second: Mbit/s, kB that wait for them
MESS = {'order': {}, 'mess': {'dup': 0.05, 'reorder': 0.1, 'jitter': 5}, 'flips': {'flip': 0.02}, 'flaps': {}}
WAYS = ('both', 'in', 'out')
WIRES = ('plain', 'lz4', 'zstd', 'seal', 'zstd,seal')         # CK_WIRE
GAVE_UP = (r'^chard: node \d+ (on h\d: no sign of life from node \d+ on h\d'
           r'|PE \d+: (?:lost the connection to|cannot reach) PE \d+ \(node \d+ on h\d\))')


class Weather:
    def __init__(self, loss, delay, rate, mess, way, wire):
        self.loss, self.delay, self.rate, self.mess, self.way, self.wire = loss, delay, rate, mess, way, wire
        self.name = f'loss={loss} delay={delay} rate={rate} {mess} {way} {wire}'
        # Where nothing may come through for CK_PEER_TIMEOUT, or for so long that a connection is given up.
        self.worst = loss == '30' or delay == '3000' or rate == '100k'

    def settings(self):
        rate, queue = RATE[self.rate]
        return {'loss': LOSS[self.loss], 'delay': DELAY[self.delay], 'rate': rate, 'queue': queue} | MESS[self.mess]


def all_weathers():
    return [Weather(*words) for words in itertools.product(LOSS, DELAY, RATE, MESS, WAYS, WIRES)]


def spoil(hosts, weather):
    """The second host's cable. Each frame meets it once, so none has two of its bits flipped, which TCP's sum might not
    tell."""
    hosts.set_link(2, way=weather.way, **weather.settings())


def mend(hosts):
    good = {name: 0 for name in ('loss', 'delay', 'rate', 'dup', 'reorder', 'jitter', 'flip', 'cut')}
    hosts.set_link(2, **good)


def spoilt(hosts, job, weather):
    """The cables are bad for a time, or until the job ends."""
    end = time.monotonic() + SPOILT_S
    spoil(hosts, weather)
    away = 0
    while time.monotonic() < end and job.process.poll() is None:
        if weather.mess == 'flaps':
            away = not away
            hosts.set_link(2, way=weather.way, cut=int(away))
        try:
            job.process.wait(FLAP_S)
        except subprocess.TimeoutExpired:
            continue
    mend(hosts)


def judge(job, weather, code):
    text = job.text('err')
    require('not true' not in text, 'what came was not what was sent')
    if code:
        require(weather.worst, f'exit code {code}')
        job.says(GAVE_UP)
        job.all_gone(1, 2)
        return 'gave up'
    require('checked' in job.text('out'), 'it does not say that all was right')
    return 'right'


def run_trial(hosts, build, weather):
    job = Trial(hosts, build, per_host=2, program='weather')
    job.start(str(SPOILT_S), '3', CK_PEER_TIMEOUT=str(TIMEOUT_S), CK_PES='1',
              **({} if weather.wire == 'plain' else {'CK_WIRE': weather.wire}))
    job.ready()
    spoilt(hosts, job, weather)
    try:
        code = job.process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        raise Failed(f'the job has not ended {PATIENCE_S} s after all was mended') from None
    counts = hosts.link_counts(2)
    for what, count in ('mess', 'duplicated'), ('flips', 'flipped'):
        seen = sum(way['seen'] for way in counts.values())
        hit = sum(way[count] for way in counts.values())
        require(weather.mess != what or seen < 2000 or hit > 0, f'no frame was {count}')
    return judge(job, weather, code)


def run_one(name, build):
    weather = next(known for known in all_weathers() if known.name == name)

    def work(folder):
        begin = time.monotonic()
        result = run_trial(rig.Rig(2, folder, link={'seed': 1}, build=build), build, weather)
        return f'{result}, {time.monotonic() - begin:.1f} s'
    return tell(name, work)


def chosen(options):
    found = [weather.name for weather in all_weathers()]
    if options.names:
        return [name for name in found if any(part in name for part in options.names)]
    if options.draw is None:
        return found
    return random.Random(options.draw or draw.commit() or 'no commit').sample(found, DRAWN)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
    parser = argparse.ArgumentParser(description='A job while its network is as networks can be.')
    parser.add_argument('names', nargs='*', help='trials whose name contains one of these')
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('-j', '--jobs', type=int, default=6, help='trials at a time (6); most of one is waiting')
    parser.add_argument('--draw', metavar='WORD', help='twelve, drawn by the word, or by the name of the commit')
    parser.add_argument('--one', action='store_true', help='the trial of just this name, in this process')
    options = parser.parse_args()
    if options.one:
        return run_one(options.names[0], options.build)
    if reason := rig.why_not() or rig.link_missing(options.build):
        print(f'skip  weather: {reason}')
        return 77
    return run_apart(__file__, chosen(options), options)


if __name__ == '__main__':
    sys.exit(main())
