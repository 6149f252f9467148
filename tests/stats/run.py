#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What CK_STATS says of a program that knows how many calls and puts it makes (tests/programs/tallied.c).

    tests/stats/run.py BUILD counts NODESxPES [NAME=value ...]
    tests/stats/run.py BUILD table | refused | broken | traced

Prints "ok ..." for each fact; ends with exit code 1 at the first one that is not so."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile

BUILD, WHAT = sys.argv[1:3]
CKRUN, PROGRAM = f'{BUILD}/bin/ckrun', f'{BUILD}/tests/programs/tallied'
CALLS, PUTS = 30, 12
LIMIT_S = 300


def check(is_so, what, *details):
    if not is_so:
        print(f'not ok {what}', *details)
        sys.exit(1)


def equal(found, should, what):
    check(found == should, f'{what}: {found}, not {should}')


def run(shape, *arguments, code=0, **env):
    nodes, pes = map(int, shape.split('x'))
    done = subprocess.run([CKRUN, '-n', str(nodes * pes), '--ppn', str(pes), PROGRAM, *map(str, arguments)],
                          env={**os.environ, **env}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=LIMIT_S, check=False)
    check(done.returncode == code, f'exit code {code}', done.returncode, done.stdout, done.stderr)
    return done


def only(folder, *names):
    """Nothing half written, nothing under another name."""
    equal(sorted(os.listdir(folder)), sorted(names), 'files')


# ---- the file -----------------------------------------------------------------------------------

def expected_calls(n_pes):
    cells = 2 * n_pes
    return {'Main::Main': 1, 'Main::quiet': 1, 'Cell::Cell': cells, 'Cell::start': cells, 'Cell::take': cells,
            'Cell::hop': cells * CALLS, 'Cell::putAgain': cells * PUTS, 'Cell::outer': cells, 'Cell::nap': cells,
            'Cell::ask': cells, 'Brief::Brief': cells, 'Member::Member': n_pes, 'functions of channels': cells * PUTS, 'ball': n_pes}


def check_rows(stats, n_pes):
    rows = {row['name']: row for row in stats['rows']}
    equal({name: row['calls'] for name, row in rows.items()}, expected_calls(n_pes), 'calls of each row')
    equal({row['kind'] for row in stats['rows']}, {'entry', 'handler', 'channel'}, 'kinds of rows')
    # 2 ms each, by the other clock: whatever else they take, they take that.
    check(rows['Cell::nap']['time_ns'] >= 2 * n_pes * 1.99e6, 'what a thread did after it had waited', rows['Cell::nap'])
    check(rows['Main::Main']['time_ns'] >= 1.99e6, 'what a call did after one inside it', rows['Main::Main'])
    times = [row['time_ns'] for row in stats['rows']]
    equal(times, sorted(times, reverse=True), 'rows in the order of their time')
    for row in stats['rows']:
        equal(sum(row['histogram']), row['calls'], f'{row["name"]}: calls in the histogram')
        check(row['longest_ns'] <= row['time_ns'] <= row['calls'] * row['longest_ns'] + row['calls'] + n_pes,
              'the longest of a row', row)
        check(row['histogram'][-1] > 0 and 0 <= row['longest_pe'] < n_pes, 'ends of a row', row)
        # The bounds of the histogram come from a first measurement of the counter's speed.
        bucket = len(row['histogram']) - 1
        check(2 ** bucket * 0.99 - 2 <= row['longest_ns'] or bucket == 0, 'the longest is in the last bucket', row)
        check(row['longest_ns'] <= 2 ** (bucket + 1) * 1.01 + 2, 'the longest is in the last bucket', row)


def check_pes(stats, shape):
    nodes, pes = map(int, shape.split('x'))
    n_pes = nodes * pes
    equal([p['pe'] for p in stats['pes']], list(range(n_pes)), 'PEs')
    equal([p['node'] for p in stats['pes']], [pe // pes for pe in range(n_pes)], 'nodes')
    for p in stats['pes']:
        parts = p['busy_ns'] + p['idle_ns'] + p['overhead_ns']
        check(abs(parts - p['wall_ns']) <= 3 + p['wall_ns'] * 1e-12, 'the states of a PE are all of its time', p)
        check(p['dispatched'] > 0 and p['pool_bytes'] % 4096 == 0 and p['pool_bytes'] > 0, 'of a PE', p)
    busy, rows = sum(p['busy_ns'] for p in stats['pes']), sum(row['time_ns'] for row in stats['rows'])
    check(abs(busy - rows) <= n_pes * (len(stats['rows']) + 1), 'what the rows took is what PEs were busy', busy, rows)
    equal(sum(p['sent'] for p in stats['pes']), sum(p['handled'] for p in stats['pes']), 'what is handled was sent')
    equal(stats['wall_ns'], max(p['wall_ns'] for p in stats['pes']), 'the time of the job')


def total(stats, group, key):
    return sum(p[group][key] for p in stats['pes'])


def expected_channels(n_nodes, n_pes, env):
    """One channel in two leads to another PE, if there is one; of these, one for each node to another node. A receiver
    is told of the first put, because nobody polls a channel that nobody may use, and polls for the others."""
    here, across, far = n_pes if n_pes > 1 else 2, n_pes if n_pes > 1 else 0, n_nodes if n_nodes > 1 else 0
    path = env.get('CK_DIRECT_PATH', 'memory')
    by = {f'puts by {p}': far * PUTS if p == path else 0 for p in ('rma', 'message')}
    by['puts by memory'] = (here + across) * PUTS - sum(by.values())
    told = across - (far if path != 'memory' else 0)
    polled = told * (PUTS - 1) + by['puts by rma']
    if env.get('CK_DIRECT_POLL_MAX') == '0':
        polled, told = 0, told * PUTS
    return {**by, 'found by polling': polled, 'found by bell': told,
            'found here': here * PUTS + by['puts by message']}


def check_channels(stats, n_nodes, n_pes, env):
    should = expected_channels(n_nodes, n_pes, env)
    equal({key: total(stats, 'channels', key) for key in should}, should, 'puts, and how arrivals were found')
    puts = 2 * n_pes * PUTS
    equal(sum(link['puts'] for link in stats['links']), puts, 'puts of all links')
    equal(sum(link['put_bytes'] for link in stats['links']), puts * 48, 'bytes of all puts')
    for p in stats['pes']:
        check(0 < p['channels']['waited_longest_ns'] <= p['channels']['waited_ns'], 'waiting for puts', p)


def check_elements(stats, n_pes):
    for name, created, destroyed in ('Main', 1, 0), ('Member', n_pes, 0), ('Cell', 2 * n_pes, 0), ('Brief', 2 * n_pes, 2 * n_pes):
        equal((total(stats, f'elements of {name}', 'created'), total(stats, f'elements of {name}', 'destroyed')),
              (created, destroyed), f'elements of {name}')


def check_links(stats, n_nodes):
    """Between nodes: tokens cross, whatever else; all pairs that are neighbours talk. Within a node nothing does."""
    pairs = [(link['from'], link['to']) for link in stats['links']]
    equal(pairs, sorted(set(pairs)), 'links, one for each pair, in order')
    for link in stats['links']:
        check((link['messages'] > 0) == (link['bytes'] > 0), 'messages and their bytes', link)
        check(link['messages'] == 0 or link['from'] != link['to'], 'no link to oneself', link)
        check(link['bytes'] >= 32 * link['messages'], 'no message without a head', link)
    crossing = {(link['from'], link['to']): link['messages'] for link in stats['links'] if link['messages']}
    for node in range(n_nodes if n_nodes > 1 else 0):
        # Of two neighbours over the border each sends CALLS tokens on: one cell's own, and the others that pass.
        check(crossing.get((node, (node + 1) % n_nodes), 0) >= CALLS, 'tokens cross', node, crossing)


def counts(shape, *settings):
    nodes, pes = map(int, shape.split('x'))
    env = dict(s.split('=', 1) for s in settings)
    with tempfile.TemporaryDirectory(prefix='chard-stats-') as folder:
        name = f'{folder}/stats.json'
        done = run(shape, CALLS, PUTS, CK_STATS=name, **env)
        equal(done.stdout, f'tallied: {2 * nodes * pes} cells\n', 'output')
        check('statistics' not in done.stderr, 'no table beside the file', done.stderr)
        only(folder, 'stats.json')
        with open(name, encoding='ascii') as file:
            stats = json.load(file)
    equal((stats['version'], stats['nodes'], stats['exit_code']), (1, nodes, 0), 'of the job')
    equal(stats['command'], [PROGRAM, str(CALLS), str(PUTS)], 'command')
    check_rows(stats, nodes * pes)
    check_pes(stats, shape)
    check_channels(stats, nodes, nodes * pes, env)
    check_elements(stats, nodes * pes)
    check_links(stats, nodes)
    return stats


# ---- the rest -------------------------------------------------------------------------------------

def table():
    done = run('2x2', CALLS, PUTS, CK_STATS='1')
    check(all(line.startswith('chard: ') for line in done.stderr.splitlines()), 'each line is marked', done.stderr)
    for pattern in (r'chard: statistics: 4 PEs on 2 nodes, [0-9.]+ m?s',
                    r'chard:   busy, % +[0-9.]+ +[0-9.]+ +[0-3] +[0-9.]+ +[0-3]',
                    rf'chard:   Cell::hop +{8 * CALLS} +[0-9.]+ [num]?s +[0-9.]+ [num]?s +[0-9.]+ [num]?s +[0-3]',
                    r'chard:   between nodes: \d+ messages, [0-9.]+ k?B; most from node [01] to node [01]: .*',
                    r'chard:   channels: puts by memory \d+, .*, waited [0-9.]+ [num]?s \(all added up\), waited longest [0-9.]+ [num]?s',
                    r'chard:   elements of Brief: created 8, destroyed 8'):
        check(len(re.findall(f'^{pattern}$', done.stderr, re.MULTILINE)) == 1, pattern, done.stderr)
    print('ok the table has a line for each quantity')
    # As long for many PEs as for few, but for what only some PEs have.
    many = run('1x9', CALLS, PUTS, CK_STATS='1').stderr.splitlines()
    check(len(many) < 70, 'the table stays short', many)
    print('ok the table is no longer for more PEs')


def refused():
    with tempfile.TemporaryDirectory(prefix='chard-stats-') as folder:
        os.mkdir(f'{folder}/is.json')
        for value, why in ((f'{folder}/none/x.json', 'No such file or directory'),
                           (f'{folder}/is.json', 'Is a directory'),
                           (f'{folder}/{"x" * 300}.json', 'File name too long')):
            done = run('2x1', CK_STATS=value, code=1)
            lines = [line for line in done.stderr.splitlines() if line.startswith('chard: ')]
            equal(lines, [f'chard: CK_STATS={value} is refused: it must be the name of a file that can be written '
                          f'({why})'], 'one line')
            equal(done.stdout, '', 'nothing has run')
        for value in 'some', '2', '.json', 'x.json2':
            done = run('1x1', CK_STATS=value, code=1)
            check(f'chard: CK_STATS={value} is refused: it must be 0 or 1, or the name of a file that ends in .json\n'
                  in done.stderr, value, done.stderr)
        only(folder, 'is.json')
    print('ok what cannot be written is refused at the start, with one line')


def broken():
    with tempfile.TemporaryDirectory(prefix='chard-stats-') as folder:
        name = f'{folder}/stats.json'
        with open(name, 'w', encoding='ascii') as file:
            file.write('old')
        run('2x1', CALLS, PUTS, 2, CK_STATS=name, code=1)
        only(folder, 'stats.json')
        with open(name, encoding='ascii') as file:
            equal(file.read(), 'old', 'what was there before an abort')
        print('ok an abort leaves an older file as it was')
        os.unlink(name)
        job = subprocess.Popen([CKRUN, '-n', '2', '--verbose', PROGRAM, str(CALLS), str(PUTS), '3'], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, 'CK_STATS': name})
        equal(job.stdout.readline(), "a line of the program's own\n", 'the program is under way')
        pids = (re.match(r'ckrun: node 1 .*pid (\d+)\) started', line) for line in job.stderr)
        os.kill(int(next(filter(None, pids))[1]), signal.SIGKILL)
        job.communicate(timeout=LIMIT_S)
        equal(job.wait(LIMIT_S), 128 + signal.SIGKILL, 'exit code of a job that was killed')
        only(folder)
        print('ok a job that is killed writes nothing')
        run('2x1', CALLS, PUTS, 1, CK_STATS=name, code=7)
        with open(name, encoding='ascii') as file:
            equal(json.load(file)['exit_code'], 7, 'exit code in the file')
        only(folder, 'stats.json')
        print('ok CkExit(7) writes the file')
        os.unlink(name)
        run('2x1', CALLS, PUTS, 4, CK_STATS=os.path.relpath(name))
        only(folder, 'stats.json')
        print('ok a name is meant where the job began')
        os.mkdir(f'{folder}/gone')
        done = run('2x1', CALLS, PUTS, 4, f'{folder}/gone', CK_STATS=f'{folder}/gone/x.json', code=1)
        check(f'chard: cannot write the statistics to {folder}/gone/x.json: No such file or directory\n' in done.stderr,
              'a line says why there is no file', done.stderr)
        only(folder, 'stats.json')
        print('ok a file that could not be written after all is an error')


def traced():
    """A trace beside the counts: each has its own table over the entries, one over the other."""
    with tempfile.TemporaryDirectory(prefix='chard-stats-') as folder:
        stats = counts('2x1', f'CK_TRACE={folder}/trace')
        done = subprocess.run([f'{BUILD}/bin/cktrace', f'{folder}/trace'], stdout=subprocess.PIPE, text=True,
                              timeout=LIMIT_S, check=True)
    found = {name: int(calls) for name, calls in re.findall(r'^  (\w+::\w+): (\d+) calls?', done.stdout, re.MULTILINE)}
    # Of a thread the trace counts each piece.
    should = {row['name']: row['calls'] for row in stats['rows'] if row['kind'] == 'entry'}
    found.pop('Cell::nap'), should.pop('Cell::nap')
    equal(found, should, 'calls by the trace and by the counts')
    print('ok a trace beside the counts has the same calls')


if WHAT == 'counts':
    counts(*sys.argv[3:])
    print('ok', *sys.argv[3:])
else:
    {'table': table, 'refused': refused, 'broken': broken, 'traced': traced}[WHAT]()
