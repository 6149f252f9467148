# SPDX-License-Identifier: Apache-2.0
"""Whether the judges see it: jobs that go wrong in each way that a trial is to find, played by a shell script in
place of ckrun, must fail for that reason. Well-behaved ones must pass."""

import argparse
import os
import shutil
import tempfile

from reliability import deaths, hostile, resources
from runner import job

HERE = 'echo "victim: here $$"'
LINE = 'echo "ckrun: node 1 (PE 1, pid 7) was killed by signal 9 (Killed); the job is ended"'
KILLED = deaths.Death(0, 'kill', 'call', 2, 1, 1, 1, True, False, 0)
FAULT = deaths.Death(0, 'segv', 'call', 2, 1, 1, 1, True, False, 0)
SAID = 'echo "chard: PE 1 (node 1) in Peer::hit: Segmentation fault at address 0x8"'
LESS = resources.Scarcity('files', 'planted', shape='2x1')
MUST = resources.Scarcity('files', 'planted', resources.MUST, shape='2x1')
VALUE = hostile.Attack('ckrun values', ['$ckrun', '-n', 'x'], refusal='ckrun: .*; see ckrun --help$', codes=(2,),
                       who='ckrun')
NO = 'echo "ckrun: no; see ckrun --help"; exit 2'

# (part, trial, what the script does, what must be wrong; '': nothing)
PLANTED = [
    (deaths, KILLED, f'{HERE}; {LINE}; exit 137', ''),
    (deaths, KILLED, f'{LINE}; exit 137', 'the victim never came'),
    (deaths, KILLED, f'{HERE}; {LINE}; exit 1', 'exit code 1, not 137'),
    (deaths, KILLED, f'{HERE}; {LINE}', 'exit code 0, not 137'),
    (deaths, KILLED, f'{HERE}; exit 137', '0 lines of ckrun'),
    (deaths, KILLED, f'{HERE}; {LINE}; {LINE}; exit 137', '2 lines of ckrun'),
    (deaths, KILLED, f'{HERE}; {LINE.replace("node 1", "node 0")}; exit 137', 'not in the line of ckrun: node 1'),
    (deaths, KILLED, f'{HERE}; {LINE}; sleep 60 & exit 137', 'process left'),
    (deaths, KILLED, f'{HERE}; {LINE}; : >$TMPDIR/x; exit 137', 'left behind'),
    (deaths, KILLED, f'{HERE}; {LINE}; exec sleep 60', 'it has not ended'),
    (deaths, KILLED, f'{HERE}; sleep 0.4; {LINE}; exit 137', 's to end'),
    (deaths, FAULT, f'{HERE}; {SAID}; {LINE}; exit 139', ''),
    (deaths, FAULT, f'{HERE}; {LINE}; exit 139', '0 lines of the runtime'),
    (deaths, FAULT, f'{HERE}; {SAID}; {SAID}; {LINE}; exit 139', '2 lines of the runtime'),
    (deaths, FAULT, f'{HERE}; {SAID.replace("node 1", "node 0")}; {LINE}; exit 139', 'not in the line of the runtime'),
    (resources, MUST, 'echo victim: done', ''),
    (resources, MUST, 'echo chard: no; exit 1', 'exit code 1'),
    (resources, MUST, 'echo nothing', 'exit code 0 without the answer'),
    (resources, LESS, 'echo chard: no files; exit 1', ''),
    (resources, LESS, 'exit 1', '0 different lines'),
    (resources, LESS, 'echo chard: one; echo chard: another; exit 1', '2 different lines'),
    (resources, LESS, 'echo chard: no files; kill -SEGV $$', 'a signal'),
    (resources, LESS, ': >$TMPDIR/x; echo victim: done', 'left behind'),
    (hostile, VALUE, NO, ''),
    (hostile, VALUE, 'exit 0', 'not refused'),
    (hostile, VALUE, 'echo "ckrun: no"; exit 2', 'not in the line'),
    (hostile, VALUE, f'echo "ckrun: yes"; {NO}', '2 lines'),
    (hostile, VALUE, f'echo "and this"; {NO}', 'this line, too'),
    (hostile, VALUE, 'printf "ckrun: \\033[2J; see ckrun --help\\n"; exit 2', 'a control character'),
    (hostile, VALUE, 'echo "ckrun: no; see ckrun --help"; kill -SEGV $$', 'exit code -11'),
    (hostile, VALUE, f': >file; {NO}', 'it has written'),
]


def found(part, trial, script, build, places):
    with open(f'{build}/bin/ckrun', 'w', encoding='ascii') as file:
        file.write(f'#!/bin/sh\n{script}\n')
    os.chmod(f'{build}/bin/ckrun', 0o755)
    return part.run(trial, argparse.Namespace(build=build), places).wrong


def self_test():
    """Prints a line for each fact; returns whether all hold."""
    places, all_hold = job.Places(tmp=False), True
    job.PATIENCE_S, deaths.LATE_S = 1.5, 0.3
    build = tempfile.mkdtemp(prefix='chard-reliability-')
    os.mkdir(f'{build}/bin')
    for part, trial, script, reason in PLANTED:
        wrong = found(part, trial, script, build, places)
        holds = any(reason in line for line in wrong) if reason else not wrong
        all_hold &= holds
        print(f'{"ok   " if holds else "FAIL "} {reason or "nothing wrong"}: {script[:100]}')
        if not holds:
            print(f'      found: {wrong}')
    shutil.rmtree(build)
    places.remove()
    return all_hold
