# SPDX-License-Identifier: Apache-2.0
"""Deaths: a process of the job dies in some way, at some place of the program's life (victim.c), on some node.

Whatever dies, the job must end within LATE_S, with the exit code that says why, with one line of ckrun that
names the node, and at most one line of the runtime, which names it, too. Nothing may be left. Where a process of
the job is stopped or spins, `ckrun --timeout` must end the job all the same.
"""

import dataclasses
import os
import random
import re
import signal
import time

from reliability.trials import Outcome, environment, own_lines, signal_name
from runner import left
from runner.job import PATIENCE_S, Job, terminals

LATE_S = 1.0  # what the guide promises
TRIES = 3  # on a busy machine; only for what came late
TIMEOUT_S = 1.0  # of jobs that only --timeout can end
REPORT_S = 1.5  # for so long it waits for what the PEs say of themselves
LONGER_TIMEOUT_S = 10.0
GRACE_S = 0.3
USUAL_S = 0.15  # of a whole job, for random moments

# Places, in the order of a life; what a death finds there decides what can be promised.
BEFORE = ['load', 'init', 'put', 'barrier_in', 'ck_getall', 'ucx', 'ucx-open']  # nobody catches faults yet
START = ['initnode', 'initproc', 'construct']
WORK = ['arrival', 'call', 'reduce', 'thread', 'resumed']
MAIN = ['main-chare', 'quiet', 'exit']  # node 0 only
AFTER = ['finalize', 'unload']
REST = ['rest']
VISITS = {'call': 60} | dict.fromkeys(['arrival', 'reduce', 'thread', 'resumed', 'quiet'], 6)

FAULTS = {'segv': 11, 'raise-segv': 11, 'bus': 7, 'fpe': 8, 'ill': 4, 'abort': 6, 'heap': 6, 'overflow': 11,
          'smash': 11, 'thread': 11}
EXITS = {'exit-3': 3, 'exit-0': 1}
ENDS = EXITS | {'_exit-0': 1}
ABORTS = {'ckabort': 'the victim aborts', 'ckassert': r'CkAssert\(zero\) failed'}
NODE_SIGNALS = {f'node {name}': getattr(signal, f'SIG{name}')
                for name in ('KILL', 'SEGV', 'ABRT', 'TERM', 'HUP', 'INT')}
CKRUN_SIGNALS = {f'ckrun {name}': getattr(signal, f'SIG{name}') for name in ('TERM', 'INT', 'QUIT', 'HUP', 'KILL')}
KEYS = {'hang-up': (None, signal.SIGHUP), 'ctrl-c': (b'\003', signal.SIGINT), 'ctrl-\\': (b'\034', signal.SIGQUIT)}
STOPS = ['stop', 'spin', 'node STOP']

EVERYWHERE = BEFORE + START + WORK + MAIN + AFTER
WITHIN = START + WORK + MAIN
KINDS = {name: WITHIN + ['load', 'init', 'put', 'finalize'] for name in FAULTS}
KINDS |= {'thread': WORK, 'heap': WITHIN, 'kill': EVERYWHERE}
KINDS |= dict.fromkeys(ABORTS, WITHIN)
KINDS |= dict.fromkeys(ENDS, BEFORE + WITHIN + ['finalize'])
KINDS |= dict.fromkeys(NODE_SIGNALS, EVERYWHERE + REST)
KINDS |= dict.fromkeys(list(CKRUN_SIGNALS) + list(KEYS), EVERYWHERE + REST + ['any', 'any', 'any'])
KINDS |= {'stop': EVERYWHERE, 'spin': WITHIN, 'node STOP': EVERYWHERE + REST}


@dataclasses.dataclass
class Death:
    number: int
    kind: str
    place: str
    nodes: int
    ppn: int
    victim: int  # its node
    visit: int  # the death comes at this visit of the place
    share: bool
    goes_on: bool  # the victim does not wait for what comes from outside
    delay_s: float  # until that comes
    alone: bool = False  # without ckrun

    @property
    def from_outside(self):
        return self.kind in NODE_SIGNALS or self.kind in CKRUN_SIGNALS or self.kind in KEYS or \
            self.kind == 'node STOP'

    @property
    def what(self):
        where = 'at some moment' if self.place == 'any' else f'at {self.place}'
        return (f'{self.kind} {where}, visit {self.visit}, of node {self.victim}; {self.nodes}x{self.ppn}'
                f'{"" if self.share else ", CK_SHARE=0"}{", without ckrun" if self.alone else ""}')


def draw(number, kind, place, rank, rng):
    nodes, ppn = rng.randint(2, 4), rng.randint(1, 2)
    victim = {'first': 0, 'middle': nodes // 2, 'last': nodes - 1}[rank]
    alone = kind in FAULTS | EXITS and place in WITHIN and rank == 'first' and rng.random() < 0.3
    return Death(number, kind, place, 1 if alone else nodes, ppn, 0 if place in MAIN or alone else victim,
                 rng.randint(1, VISITS.get(place, 1)), place not in ('ucx', 'ucx-open') and rng.random() < 0.7,
                 place in WORK + REST + ['quiet'] and rng.random() < 0.7,
                 rng.uniform(0, USUAL_S if place == 'any' else 0.01), alone)


def trials(count, seed):
    """Each kind in turn; places and nodes in an order that the seed draws, without repeating any before all
    have had their turn."""
    rng = random.Random(f'{seed} deaths')
    decks, deaths = {}, []
    kinds = sorted(KINDS)
    rng.shuffle(kinds)
    while len(deaths) < count:
        for kind in kinds:
            if not decks.get(kind):
                decks[kind] = [(place, rank) for place in KINDS[kind] for rank in ('first', 'middle', 'last')]
                rng.shuffle(decks[kind])
            deaths.append(draw(len(deaths), kind, *decks[kind].pop(), rng))
    return deaths[:count]


# ---- one trial ----------------------------------------------------------------------------------


def start(death, options, places, timeout_s):
    how = ('go' if death.goes_on else 'wait') if death.from_outside else death.kind
    more = {} if death.share else {'CK_SHARE': '0'}
    if death.place != 'any':
        more['VICTIM'] = f'{death.place},{how},{death.victim},{death.visit}'
    victim = f'{options.build}/tests/reliability/victim'
    command = [f'{options.build}/bin/ckrun', '-n', str(death.nodes * death.ppn), '--ppn', str(death.ppn),
               '--grace', str(GRACE_S)] + (['--timeout', str(timeout_s)] if death.kind in STOPS else []) + [victim]
    if death.alone:
        command = [victim, '+p', str(death.ppn)]
    return Job(command, environment(places, **more), terminal=death.kind in KEYS)


def victim_pid(job):
    """Where it has come to its place, its process."""
    found = re.search(r'victim: here (\d+)\r?\n', job.output.decode(errors='replace'))
    return found and int(found[1])


def watches(job):
    """Whether ckrun waits for signals by now. The system ends a program that does not, without a word."""
    blocked = re.search(r'^SigBlk:\s*(\w+)$', left.read(f'/proc/{job.pid}/status'), re.MULTILINE)
    return blocked and int(blocked[1], 16) >> (signal.SIGTERM - 1) & 1


def strike(death, job):
    end = time.monotonic() + PATIENCE_S
    while job.code is None and not watches(job) and time.monotonic() < end:
        job.run(0.001)
    job.run(death.delay_s)
    if death.kind in KEYS:
        key = KEYS[death.kind][0]
        if key is None:
            job.close()
        elif job.open:
            os.write(job.fd, key)
    elif death.kind in CKRUN_SIGNALS:
        job.signal(CKRUN_SIGNALS[death.kind])
    elif death.kind in NODE_SIGNALS:
        job.signal(NODE_SIGNALS[death.kind], victim_pid(job))
    elif death.kind == 'node STOP':
        job.signal(signal.SIGSTOP, victim_pid(job))


def attempt(death, options, places, timeout_s):
    """Returns the outcome, and the seconds from the death to the end."""
    end, before = Outcome(death.kind, death.what), places.litter()
    if death.kind in KEYS and not terminals():
        end.skipped = 'no pseudo-terminals here'
        return end
    job = start(death, options, places, timeout_s)
    job.run(until=lambda: death.place == 'any' or victim_pid(job))
    came, was_over = victim_pid(job), job.code is not None
    if death.from_outside:
        strike(death, job)
    begin = time.monotonic()
    job.run()
    took_s = time.monotonic() - begin
    end.wrong = job.remains(places, before)
    end.output, end.seconds = job.text(), took_s
    places.clean()
    if death.place != 'any' and not came:
        end.wrong.append('the victim never came to that place')
    elif not end.wrong and not (death.place == 'any' and (was_over or job.code == 0)):
        end.wrong = judged(death, job)
    elif job.code == 0 and 'victim: done' not in end.output and death.kind != 'hang-up':
        end.wrong.append('exit code 0')
    return end


def run(death, options, places):
    for i in range(TRIES):
        stops = death.kind in STOPS
        timeout_s = LONGER_TIMEOUT_S if i else TIMEOUT_S  # which may have come before the victim came to its place
        end = attempt(death, options, places, timeout_s)
        late = end.seconds > LATE_S + stops * (timeout_s + REPORT_S + GRACE_S)
        early = stops and end.wrong == ['the victim never came to that place']
        if not late and not early:
            return end
    if late:
        end.wrong.append(f'it took {end.seconds:.1f} s to end')
    return end


# ---- what is right ------------------------------------------------------------------------------


def expected_code(death):
    """The exit code, as a shell counts it."""
    kind = death.kind
    if kind in STOPS:
        return 124
    if kind in ENDS:
        return ENDS[kind]
    if kind in ABORTS:
        return 1
    number = FAULTS.get(kind) or NODE_SIGNALS.get(kind) or CKRUN_SIGNALS.get(kind) or \
        (KEYS[kind][1] if kind in KEYS else signal.SIGKILL)
    return 128 + number


def judged(death, job):
    """What is wrong with the code and the lines."""
    code = job.code if job.code >= 0 else 128 - job.code
    wrong = [] if code == expected_code(death) else [f'exit code {code}, not {expected_code(death)}']
    if death.kind == 'hang-up' or death.kind == 'ckrun KILL':
        return wrong  # nobody is there to say it, or to hear it
    lines = own_lines(job.text())
    ours = [line for line in lines if line.startswith('ckrun: ')]
    theirs = [line for line in lines if line.startswith('chard: ') and not is_term_line(death, line)]
    if not death.alone:
        wrong += judged_launcher(death, ours)
    return wrong + judged_runtime(death, theirs)


def is_stop_line(death, line):
    """ckrun names a node that is stopped, at once."""
    return re.match(rf'ckrun: node {death.victim} .* was stopped by signal 19 .*, and the job waits for it$', line)


def is_term_line(death, line):
    """A node that SIGTERM ends says what that interrupts."""
    return expected_code(death) in (124, 128 + signal.SIGTERM) and \
        re.match(r'chard: node \d+: ended by SIGTERM; (its PEs are idle|PE \d+ has been in )', line)


def is_report_line(line):
    """--timeout lets each PE say what it does or waits for."""
    return re.match(r'chard: (PE \d+\b|asked what the job does|cycle: |and \d+ more lines|nobody waits)', line)


def judged_launcher(death, lines):
    kind = death.kind
    if kind in STOPS:
        lines = [line for line in lines if not is_stop_line(death, line)]
    one = ' '.join(lines)
    if len(lines) != 1:
        return [f'{len(lines)} lines of ckrun']
    if kind in CKRUN_SIGNALS or kind in KEYS:
        number = expected_code(death) - 128
        pattern = rf'got signal {number} \({signal_name(number)}\); the job is ended'
        if kind in KEYS:  # the key reaches node 0, too, whose death may be seen first
            pattern += rf'|node 0 .* was killed by signal {number} '
    elif kind in STOPS:
        pattern = r'the job ran longer than --timeout .* s; it is ended \('
    else:
        pattern = rf'node {death.victim} \(PEs? [-0-9]+, pid \d+\) (aborted with code|was killed by signal|' \
            'ended with exit code|has ended)'
    return [] if re.search(pattern, one) else [f'not in the line of ckrun: {pattern}']


def judged_runtime(death, lines):
    """A fault that nobody catches, or another end, has no line of the runtime."""
    kind = death.kind
    if kind in STOPS:
        lines = [line for line in lines if not is_report_line(line)]
    text = ' '.join(lines)
    silent = kind not in FAULTS | EXITS | ABORTS and kind not in ('node SEGV', 'node ABRT')
    if silent or death.place in BEFORE + AFTER:
        most = 0 if silent else 1
        return [f'{len(lines)} lines of the runtime'] if len(lines) > most else []
    # What the line would have told was on the stack; or there is no second stack yet, on which to tell it.
    if not lines and (kind == 'smash' or kind == 'overflow' and death.place == 'initnode'):
        return []
    if len(lines) != 1:
        return [f'{len(lines)} lines of the runtime']
    where = r'(not on a PE|node \d+)' if kind in ('thread', 'node SEGV', 'node ABRT') else rf'PE \d+ \(node {death.victim}\)'
    what = ABORTS.get(kind) or kind in EXITS and r"exit\([03]\) before the job's end" or {'fpe': 'Arithmetic exception', 'bus': 'Bus error', 'ill': 'Illegal instruction',
                                'abort': 'Aborted', 'heap': 'Aborted', 'node ABRT': 'Aborted'}.get(
                                    kind, 'Segmentation fault|stack overflow')
    pattern = rf'^chard: .*{where}.*({what})'
    return [] if re.search(pattern, text) else [f'not in the line of the runtime: {pattern}']
