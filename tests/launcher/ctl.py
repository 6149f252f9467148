#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ctl.py BUILD [NAME]: a job is seen and steered by ckctl: what each word answers, under ckrun and by CK_CONTROL; and what
hostile clients, deaths and new shapes do to those who ask. Without NAME, all of them. Prints a line for each fact."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import openmetrics  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
CKRUN, CKCTL = BUILD + '/bin/ckrun', BUILD + '/bin/ckctl'
SYNCS = [BUILD + '/tests/programs/saves_sync', '100000000']
LONG = BUILD + '/tests/programs/steered'
LIMIT_S = 60
failed = 0


def fact(name, holds, shown=''):
    global failed
    failed += not holds
    print(('ok ' if holds else 'FAILED ') + name, *([] if holds else [repr(shown)]), flush=True)


def clean(**env):
    """Without what an outer job has set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(('CK_', 'PMI'))}
    return {**kept, **env}


class Job:
    """A program that runs until it is stopped. With `at` it is alone and listens there."""

    def __init__(self, *words, at=None, **env):
        env = clean(**env, **({'CK_CONTROL': at} if at else {}))
        words = words if at else (CKRUN, '--timeout', str(LIMIT_S), *words)
        self.out = tempfile.TemporaryFile('w+')
        self.process = subprocess.Popen(words, stdout=self.out, stderr=self.out, stdin=subprocess.DEVNULL, env=env)
        self.name = at or str(self.process.pid)
        self.await_(lambda: self.path())

    def path(self):
        """Of the socket, once it is there."""
        if os.path.sep in self.name:
            return self.name if os.path.exists(self.name) else None
        for folder in os.listdir('/dev/shm'):
            if folder.startswith(f'ckrun.{self.name}.') and os.path.exists(f'/dev/shm/{folder}/control'):
                return f'/dev/shm/{folder}/control'
        return None

    def await_(self, condition):
        end = time.monotonic() + LIMIT_S
        while not condition() and time.monotonic() < end and self.process.poll() is None:
            time.sleep(0.01)

    def ask(self, *words):
        return subprocess.run([CKCTL, self.name, *words], text=True, capture_output=True, timeout=LIMIT_S)

    def status(self):
        return Status(self.ask('status').stdout)

    def nodes(self):
        pids = subprocess.run(['ps', '-o', 'pid=', '--ppid', self.name], text=True, stdout=subprocess.PIPE).stdout.split()
        return [int(pid) for pid in pids if is_node(pid)]

    def text(self):
        self.out.seek(0)
        return self.out.read()

    def end(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def is_node(pid):
    try:
        with open(f'/proc/{pid}/environ', 'rb') as file:
            return b'PMI_RANK=' in file.read()
    except OSError:
        return False


class Status:
    def __init__(self, text):
        self.lines = [(line.split(' ')[0], dict(word.split('=', 1) for word in line.split(' ')[1:])) for line in text.splitlines()]
        self.whole = bool(self.lines) and self.lines[-1] == ('end', {})

    def all(self, kind):
        return [values for line, values in self.lines if line == kind]

    def job(self):
        return self.all('job')[0] if self.all('job') else {}


def says(answer, code, pattern):
    text = answer.stdout if code == 0 else answer.stderr
    return answer.returncode == code and re.search(pattern, text) is not None


# ---- what is seen ------------------------------------------------------------------------------

def seen():
    with Job('-n', '4', '--ppn', '2', LONG, '20') as job:
        s = job.status()
        pes = s.all('pe')
        fact('status is whole, and has each host, node and PE', s.whole and len(s.all('host')) == 1 and
             len(s.all('node')) == 2 and [p['id'] for p in pes] == ['0', '1', '2', '3'], s.lines)
        fact('a PE that computes for long is busy', len(pes) == 4 and pes[3]['state'] == 'busy' and pes[3]['busy'] == '1.000', pes)
        fact('all others are idle', all(p['state'] == 'idle' and float(p['busy']) < 0.2 for p in pes[:3]), pes)
        fact('so the imbalance is large', float(s.job().get('imbalance', 0)) > 2, s.job())
        fact('nodes have processes and memory', {int(n['pid']) for n in s.all('node')} == set(job.nodes()) and
             all(int(n['resident_bytes']) > 1000000 for n in s.all('node')), s.all('node'))
        fact('the report names the busy PE as silent', says(job.ask('report'), 0, r'PE 3\b'))
        answer = job.ask('metrics')
        families = openmetrics.read(answer.stdout)
        fact('metrics are OpenMetrics', families is not None and answer.stdout.endswith('# EOF\n'), answer.stdout)
        fact('with a sample for each PE', families and len(families.get('chard_pe_busy_ratio', [])) == 4, families)
        if shutil.which('promtool'):
            text = answer.stdout.replace('# EOF\n', '')
            checked = subprocess.run(['promtool', 'check', 'metrics'], input=text, text=True, capture_output=True)
            fact('promtool reads them', checked.returncode in (0, 3), checked.stderr)
        fact('top is a picture of it', says(job.ask('top'), 0, r'(?m)^   3 busy .* 100 '))


def counts():
    """Only while somebody looks: what it counts agrees with the program's own messages."""
    with Job('-n', '2', *SYNCS) as job:
        time.sleep(0.3)
        first, second = job.ask('metrics').stdout, None
        s = job.status()
        fact('calls are counted', int(float(s.job()['sent_per_s'])) > 1000 and int(float(s.job()['near_bytes_per_s'])) > 1000, s.job())
        time.sleep(1.2)
        second = job.ask('metrics').stdout
        sent = [sum(float(v) for _, v in openmetrics.read(text)['chard_pe_sent']) for text in (first, second)]
        fact('and only rise', sent[1] > sent[0] > 0, sent)


def halves():
    """A PE that computes half of the time, in handlers that begin when it is idle."""
    with Job('-n', '2', LONG, '-0.02') as job:
        job.status()
        time.sleep(1.2)
        busy = float(job.status().all('pe')[1]['busy'])
        fact('a PE that is idle and computes by turns is busy in between', 0.05 < busy < 0.95, busy)
    with Job('-n', '2', LONG, '-2') as job:
        states = []
        # It is idle first, so that it counts, and then in a handler.
        while not (states[-1:] == ['busy'] and 'idle' in states) and job.process.poll() is None:
            states.append(job.status().all('pe')[1]['state'])
        fact('a long handler that begins while it is looked at is seen', states[-1:] == ['busy'], states[-5:])


# ---- what is steered ---------------------------------------------------------------------------

def puts():
    """Puts take no messages, but their bytes are shown."""
    for path in 'memory', 'rma':
        with Job('-n', '2', BUILD + '/examples/stencil/stencil', '--mode', 'direct', '--no-verify', '--iters', '100000000',
                 CK_DIRECT_PATH=path) as job:
            seen = job.status().job()
            fact(f'bytes of puts by {path}', float(seen['near_bytes_per_s']) > 1e6, seen)


def words():
    # By itself the job would take no step: no imbalance of two PEs is beyond that.
    with tempfile.TemporaryDirectory() as folder, Job('-n', '2', *SYNCS, CK_LB='greedy', CK_LB_TOLERANCE='100',
                                                      CK_TRACE=folder + '/t') as job:
        fact('balance now', says(job.ask('balance', 'now'), 0, r'^array \d+ was balanced in [0-9.]+ s$'))
        fact('trace off and on', says(job.ask('trace', 'off'), 0, '^the trace is off$') and
             says(job.ask('trace', 'on'), 0, '^the trace is on$'))
        fact('set a strategy', says(job.ask('set', 'CK_LB=auto'), 0, '^CK_LB=auto from the next sync on$'))
        fact('balance now, by CK_LB=auto', says(job.ask('balance', 'now'), 0, '^array'))
        fact('an unknown strategy', says(job.ask('set', 'CK_LB=none'), 1, 'no such strategy'))
        fact('set a period and a tolerance', says(job.ask('set', 'CK_LB_PERIOD=3'), 0, 'next sync') and
             says(job.ask('set', 'CK_LB_TOLERANCE=0.5'), 0, 'next sync') and says(job.ask('set', 'CK_CHECKPOINT_WAIT=5'), 0, 'next') and
             says(job.ask('set', 'CK_SYNC_MS=50'), 0, 'next sync'))
        fact('wrong values', all(says(job.ask('set', text), 1, 'it is a number') for text in
                                 ('CK_LB_PERIOD=0', 'CK_LB_TOLERANCE=x', 'CK_SYNC_MS=-1', 'CK_CHECKPOINT_WAIT=')))
        fact('how often a job saves that saves never', says(job.ask('set', 'CK_CHECKPOINT=1s'), 1, 'start it with CK_CHECKPOINT'))
        fact('a variable that cannot change', says(job.ask('set', 'CK_PES=3'), 1, '^ckctl: of variables only'))
        fact('checkpoint without a folder', says(job.ask('checkpoint'), 1, 'Name a folder'))
        fact('checkpoint', says(job.ask('checkpoint', folder + '/c'), 0, r'^checkpoint 1 in .*/c: \d+ bytes in [0-9.]+ s$') and
             os.path.exists(folder + '/c/latest/MANIFEST'))
        fact('status shows it', job.status().job().get('checkpoint') == '1')
        fact('checkpoint where nothing can be', says(job.ask('checkpoint', '/proc/none'), 1, '^ckctl: no checkpoint: '))
        fact('resize', says(job.ask('resize', '4'), 0, '^from 2 to 4 PEs in'))
        fact('the new PEs are seen', len(job.status().all('pe')) == 4)
        fact('an unknown word', says(job.ask('fly'), 1, '^ckctl: this job knows no word "fly"$'))
        fact('stop', says(job.ask('stop'), 0, '^the job ends$') and job.process.wait(LIMIT_S) == 143)
    with Job('-n', '1', *SYNCS) as job:
        fact('trace in a job without', says(job.ask('trace', 'on'), 1, 'start it with CK_TRACE=1'))
        fact('balance in a job without', says(job.ask('balance', 'now'), 1, 'start it with CK_LB'))
    answer = subprocess.run([CKCTL, '999999999', 'status'], text=True, capture_output=True)
    fact('a job that is not there', says(answer, 1, "^ckctl: no job '999999999' listens here: No such file"))
    for bad in ([], ['1'], ['--fly', 'status'], ['1', 'top', 'x']):
        fact(f'ckctl {" ".join(bad)}', subprocess.run([CKCTL, *bad], capture_output=True).returncode == 2)


# ---- without ckrun -----------------------------------------------------------------------------

def alone():
    with tempfile.TemporaryDirectory() as folder:
        at = folder + '/s'
        with Job(*SYNCS, '+p2', at=at) as job:
            fact('CK_CONTROL: the socket is its owner\'s', os.stat(at).st_mode & 0o777 == 0o600)
            fact('status', len(job.status().all('pe')) == 2)
            fact('resize needs ckrun', says(job.ask('resize', '3'), 1, '^ckctl: only ckrun'))
            second = subprocess.run(SYNCS, env=clean(CK_CONTROL=at), text=True, capture_output=True)
            fact('a second job there is refused', second.returncode == 1 and 'something else is there' in second.stderr, second)
            fact('and the first one is still asked', job.status().whole)
            job.process.kill()
            job.process.wait()
            fact('a killed job leaves its socket', os.path.exists(at))
        with Job(*SYNCS, at=at) as job:
            job.await_(lambda: job.status().whole)
            fact('the next one takes its place', job.status().whole)
            fact('stop', says(job.ask('stop'), 0, 'exit code 143') and job.process.wait(LIMIT_S) == 143)
        fact('and leaves nothing', not os.path.exists(at))
        aborted = subprocess.run([LONG, '0.1', 'abort'], env=clean(CK_CONTROL=at), text=True, capture_output=True)
        fact('nor does a job that aborts', aborted.returncode == 1 and not os.path.exists(at), aborted)
        with Job(LONG, '30', at=at) as job:
            fact('a job whose PE 0 computes is seen', job.status().all('pe')[0]['state'] == 'busy')
            fact('and stopped', says(job.ask('stop'), 0, 'PE 0 has not come back') and job.process.wait(LIMIT_S) != 0)
        for name, path in (('too long', folder + '/' + 'x' * 108), ('in no folder', folder + '/none/s')):
            bad = subprocess.run(SYNCS, env=clean(CK_CONTROL=path), text=True, capture_output=True)
            fact('a path ' + name, bad.returncode == 1 and bad.stderr.count('\n') == 1 and 'CK_CONTROL=' in bad.stderr, bad.stderr)


# ---- hostile clients ---------------------------------------------------------------------------

def connect(job):
    s = socket.socket(socket.AF_UNIX)
    s.connect(job.path())
    s.settimeout(LIMIT_S)
    return s


def say(job, line):
    with connect(job) as s:
        with contextlib.suppress(OSError):
            s.sendall(line)
        with contextlib.suppress(ConnectionResetError):
            return s.makefile('rb').read()
    return b''


def attack(job):
    fact('rubbish', say(job, b'\0\xff' * 3 + b'\n').startswith(b'no '))
    fact('another version', say(job, b'chard 2 status\n').startswith(b'no '))
    fact('no word', say(job, b'chard 1 \n').startswith(b'no '))
    answer = say(job, b'x' * 100000)
    fact('a line without an end', answer == b'' or answer.startswith(b'no '), answer)
    for _ in range(200):
        connect(job).close()
    fact('a word that is too long', say(job, b'chard 1 ' + b'x' * 900 + b'\n').startswith(b'no '))
    mute = [connect(job) for _ in range(20)]
    late = [s.recv(100) for s in mute[16:]]
    fact('too many at once are told so', any(text.startswith(b'no too many') for text in late), late)
    for s in mute:
        s.close()
    deaf = [connect(job) for _ in range(6)]
    for s in deaf:
        s.sendall(b'chard 1 status\n')
    fact('others are answered beside clients that do not read', job.status().whole)
    gone = [connect(job) for _ in range(2)]
    for s in gone:
        s.sendall(b'chard 1 metrics\n')
        s.close()
    fact('and beside clients that go', job.status().whole)
    for s in deaf:
        s.close()
    fact('the job runs', job.process.poll() is None)


def hostile():
    with Job('-n', '2', *SYNCS) as job:
        job.status()
        attack(job)
    # Not below $TMPDIR, where a folder of ours keeps other users out.
    with tempfile.TemporaryDirectory(dir='/tmp') as folder, Job(*SYNCS, '+p2', at=folder + '/s') as job:
        attack(job)
        if os.geteuid() == 0 and shutil.which('setpriv'):
            os.chmod(folder, 0o755)
            os.chmod(folder + '/s', 0o666)
            other = subprocess.run(['setpriv', '--reuid=65534', '--clear-groups', sys.executable, '-c',
                                    'import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); '
                                    's.sendall(b"chard 1 status\\n"); print(s.recv(100).decode())', folder + '/s'],
                                   text=True, capture_output=True)
            fact('another user is refused', other.stdout.startswith('no the job is somebody else') or
                 'failed to execute' in other.stderr, other)


# ---- deaths and new shapes -----------------------------------------------------------------------

def crossed():
    """Somebody looks all the time, while nodes die, and the job grows and is saved."""
    with Job('--replace', '9', '-n', '2', *SYNCS, CK_CHECKPOINT='memory,100ms') as job:
        whole = job.status().whole
        looker = subprocess.Popen(['sh', '-c', 'while "$0" "$1" status; do :; done', CKCTL, job.name],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        os.kill(job.nodes()[0], signal.SIGKILL)
        job.await_(lambda: 'starting again' in job.text())
        again = job.status()
        fact('a job that starts again is seen', whole and again.whole and again.job()['epoch'] >= '1', again.lines)
        fact('and saved', says(job.ask('checkpoint'), 0, 'in memory'))
        fact('and saves as often as it is told', says(job.ask('set', 'CK_CHECKPOINT=1h'), 0, 'next checkpoint') and
             says(job.ask('set', 'CK_CHECKPOINT=50ms'), 0, 'next checkpoint') and says(job.ask('set', 'CK_CHECKPOINT=memory,1s'), 1, 'it is how'))
        fact('and gets another shape', says(job.ask('resize', '3'), 0, '^from 2 to 3'))
        fact('in which it is seen', len(job.status().all('pe')) == 3)
        looker.terminate()
        text = looker.communicate()[0]
        fact('no answer that was cut looks whole', all(part.count('\njob ') == 0 for part in text.split('\nend\n')), text[-2000:])
        waiting = subprocess.Popen([CKCTL, job.name, 'balance', 'now'], stderr=subprocess.PIPE, text=True)
        job.end()
        fact('a client of a job that is killed is told', waiting.communicate(timeout=LIMIT_S)[1].startswith('ckctl: '))


TRIALS = [seen, halves, counts, puts, words, alone, hostile, crossed]
for trial in TRIALS:
    if trial.__name__ in sys.argv[2:] or len(sys.argv) == 2:
        trial()
print(f'{failed} failed')
sys.exit(failed > 0)
