#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What becomes of a sealed job (CK_WIRE=seal) on two hosts when somebody on the cable attacks it.

    tests/rig/attacks.py [-b build folder] [--seed N] [name ...]

The hosts are namespaces, and the cable is a program (link.c). Once the job is at work, it reads all that passes, and
changes TCP segments and makes their sums right again, so that TCP takes them: one bit of what is sealed; one bit of
what UCX reads by itself, before each frame or when a connection begins; or all of a segment by an earlier one of the same
connection and length, which is a message that comes again, and one that does not come. The first ends the job with one
line that names the PE whose frame does not open, so does the last. What UCX reads ends it with a line of ours, too: a
frame that does not open, UCX that gave up, or frames that the heartbeats tell of and that do not come.

Or somebody speaks UCX's protocol from an address of the job: a connection that he has recorded is made once more. Without
a seal its messages are heard, which one trial shows, so that the others show something.
One line per trial, "ok" or "FAIL".
"""

import argparse
import os
import random
import re
import sys
import time

sys.dont_write_bytecode = True
import loss  # noqa: E402
import recorder  # noqa: E402
import rig  # noqa: E402
from rig import require  # noqa: E402

NOT_OPENED = (r'^chard: node \d PE \d received from PE \d \(node \d on h\d\) what says it is frame \d+, where frame \d+ is '
              r'expected: its seal does not open: .*; see who can reach the network between these hosts$')
# Which of them comes depends on what the bit was: our own head, a number of UCX's that makes it give up, or one that makes it
# wait for what never comes, or leave the connection.
OURS = (r'^chard: (node \d PE \d received |PE \d \(node \d\): UCX gave up |node \d PE \d: lost the connection |node \d PE \d: cannot reach '
        r'|node \d on h\d: of the frames that node \d on h\d sent, )')


def attacked(hosts, options, attack, wire):
    """A job of which all larger segments into host 2 are attacked from "ready" on."""
    job = loss.Trial(hosts, options.build)
    job.start('busy', '8', **wire)
    job.ready()
    before = hosts.link_counts(2)
    hosts.set_link(2, way='in', **{attack: 0.2})
    return job, lambda name: hosts.link_counts(2)['in'][name] - before['in'][name]


def sealed_is_changed(hosts, options):
    job, done = attacked(hosts, options, 'forge', {'CK_WIRE': 'seal'})
    job.lost(NOT_OPENED)
    require(done('forged') > 0, 'nothing was forged')


def changed_with_a_squeezer(hosts, options):
    job, done = attacked(hosts, options, 'forge', {'CK_WIRE': 'zstd,seal'})
    job.lost(NOT_OPENED)
    require(done('forged') > 0, 'nothing was forged')


def sealed_comes_again(hosts, options):
    job, done = attacked(hosts, options, 'replay', {'CK_WIRE': 'seal'})
    job.lost(NOT_OPENED)
    require(done('replayed') > 0, 'nothing was replayed')


# Frames count as lost after four times that.
SHORT = {'CK_WIRE': 'seal', 'CK_PEER_TIMEOUT': '1'}


def ends_with_our_line(job, n_forged):
    job.ends()
    require(n_forged() > 0, 'nothing was forged')
    require(re.search(OURS, job.text('err'), re.M), f'it said {job.text("err")[-500:]!r}')
    job.all_gone(1, 2)


def head_of_ucx_is_changed(hosts, options):
    job, done = attacked(hosts, options, 'head', SHORT)
    ends_with_our_line(job, lambda: done('forged'))


def length_of_ucx_is_changed(hosts, options):
    job, done = attacked(hosts, options, 'stream', SHORT)
    ends_with_our_line(job, lambda: done('forged'))


def wireup_of_ucx_is_changed(hosts, options):
    """Some bits mean nothing: then all goes well."""
    job = loss.Trial(hosts, options.build)
    hosts.set_link(2, wireup=0.5)
    job.start('busy', '3', **SHORT)
    if job.process.wait(loss.PATIENCE_S) == 0:
        require('done' in job.text('out'), 'it ended with 0, and did nothing')
        return
    ends_with_our_line(job, lambda: sum(way['forged'] for way in hosts.link_counts(2).values()))


def played_again(hosts, options, **wire):
    """A job of which somebody has recorded the first connection to host 2, and makes it once more."""
    job = loss.Trial(hosts, options.build)
    player = recorder.begin(hosts)
    job.start('busy', '8', **wire)
    job.ready()
    require(recorder.wait_for(*player) > 0, 'nothing was played')
    return job


def connection_comes_again(hosts, options):
    played_again(hosts, options, CK_WIRE='seal').lost(NOT_OPENED)


def without_a_seal_it_is_heard(hosts, options):
    played_again(hosts, options).ends()


TRIALS = {function.__name__: function for function in (
    sealed_is_changed, changed_with_a_squeezer, sealed_comes_again, head_of_ucx_is_changed, length_of_ucx_is_changed,
    wireup_of_ucx_is_changed, connection_comes_again, without_a_seal_it_is_heard)}


def work(folder, name, options):
    try:
        start = time.monotonic()
        TRIALS[name](rig.Rig(2, folder, link={'seed': options.seed}, build=options.build), options)
        print(f'ok    {name} ({time.monotonic() - start:.1f} s)', flush=True)
        return 0
    except rig.Refused as wrong:
        print(f'skip  {name}: {wrong}', flush=True)
        return 77
    except rig.Failed as wrong:
        print(f'FAIL  {name}, --seed {options.seed}: {wrong}', flush=True)
        with open(f'{folder}/err', encoding='utf-8', errors='replace') as file:
            print(''.join(f'      {line}\n' for line in file.read().splitlines()[-15:]), flush=True)
        return 1


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
    parser = argparse.ArgumentParser(description='What becomes of a sealed job that is attacked on its cable.')
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('--seed', type=int, default=random.randrange(1, 32768))
    parser.add_argument('names', nargs='*', default=list(TRIALS))
    options = parser.parse_args()
    if reason := rig.why_not() or rig.link_missing(options.build):
        print(f'skip  attacks: {reason}')
        return 77
    codes = [rig.run_inside(lambda folder, name=name: work(folder, name, options)) for name in options.names]
    return max(codes, key=lambda code: (code not in (0, 77), code))


if __name__ == '__main__':
    sys.exit(main())
