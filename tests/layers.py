#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include what, and who may call whom. Prints one line for each #include and each call
that breaks the tables below; the exit code is 0 when there is none.

    tests/layers.py [-b BUILD] [--self-test] [--circles] [--counts] [TOP]

Includes are read from the sources. Calls are read from the object files of a build, with nm: a
file calls another one when it refers to a function or to data that the other one defines. So the
check sees what inline functions call, too, and needs a library that has been built (`make lib`).

--self-test plants violations in a copy, each of which must be found, in its file.
--circles also prints which files of one folder call each other in a circle. That is no error:
circles of folders are, and both tables are orders, in which there can be none.
--counts prints how many calls cross a wall, lines per folder, and the largest headers.
"""

import argparse
import collections
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile

# ---- the tables --------------------------------------------------------------------------------

# The layers of the runtime: each may call those that stand in its line, and itself.
LAYERS = {
    'runtime/machine': [],
    'runtime/trace': ['runtime/machine'],
    'runtime/image': [],
    'runtime/scheduler': ['runtime/image', 'runtime/trace', 'runtime/machine'],
    'runtime/strategies': ['runtime/machine'],
    'runtime/chare': ['runtime/strategies', 'runtime/scheduler', 'runtime/image', 'runtime/trace', 'runtime/machine'],
    'runtime/direct': ['runtime/scheduler', 'runtime/image', 'runtime/trace', 'runtime/machine'],
    'runtime/device': ['runtime/direct', 'runtime/scheduler', 'runtime/image', 'runtime/trace', 'runtime/machine'],
    'runtime': ['runtime/chare', 'runtime/strategies', 'runtime/device', 'runtime/direct', 'runtime/scheduler', 'runtime/image',
                'runtime/trace', 'runtime/machine'],
}

# The rooms of a layer, bottom up: each may call those before it. The files that lie in the
# layer's folder itself are above all its rooms.
ROOMS = {
    'runtime/machine': ['tools', 'base', 'boot', 'boot/pmi1', 'boot/pmix', 'start', 'shm', 'alive', 'alive/hosts', 'filter', 'ucx', 'local'],
    'runtime/scheduler': ['base', 'memory', 'queue', 'route', 'thread', 'loop', 'trace', 'count', 'watch', 'steer'],
    'runtime/direct': ['core', 'ends', 'transfer'],
    'runtime/strategies': ['loads'],
    'runtime/chare': ['core/tables', 'core/objects', 'core', 'params', 'params/element', 'call', 'wait', 'wait/rounds', 'wait/along',
                      'create', 'place/record', 'place/move', 'place/bulk', 'place',
                      'reduce', 'scan', 'settle', 'settle/completion', 'settle/fence', 'channel',
                      'kinds', 'kinds/nodegroup', 'kinds/saved', 'section', 'buffers', 'global', 'observe', 'balance', 'stats', 'trace', 'save'],
}
# Headers of a layer's folder that its rooms may include all the same: what users see.
FACES = {
    'runtime/machine': ['cmi.h', 'machine_int.h', 'bind.h'],
    'runtime/scheduler': ['csd.h', 'cth.h', 'pe.h', 'node.h'],
    'runtime/direct': ['ckdirect.h'],
    'runtime/device': ['ckdevice.h'],
    'runtime/chare': ['ck.h', 'ckchannel.h', 'ckglobal.h', 'cklb.h', 'ckembed.h', 'ckgen.h'],
}

# Folder: the headers of other folders that it may include, by name or by path. It may include its
# own ones, and a room those of the rooms below it. x_int.h is another folder's only by a path here.
MACHINE = ['cmi.h', 'cmi_*.h', 'clock.h', 'msg_stack.h', 'ring.h']
TRACE = ['trace.h', 'trace_format.h']
IMAGE = ['image.h', 'image_*.h']
SCHEDULER = ['csd.h', 'cth.h', 'pe.h', 'bell.h', 'standing.h', 'tell.h', 'knock.h', *TRACE, *IMAGE, *MACHINE]
INCLUDES = {
    'runtime/machine': [],
    'runtime/trace': MACHINE,
    # No PE, no file of the machine: the tool ckpt is linked with it alone.
    'runtime/image': ['abstract.h', 'one_line.h'],
    'runtime/scheduler*': [*TRACE, *IMAGE, *MACHINE],
    # What users' strategies see, too.
    'runtime/strategies*': ['cklb.h', *MACHINE],
    'runtime/chare*': [*SCHEDULER, 'strategies.h', 'lb_dump.h', 'core_share.h', *IMAGE],
    'runtime/direct*': SCHEDULER,
    'runtime/device': ['runtime/direct/*', 'abstract.h', *SCHEDULER],
    'runtime': ['chare_layer.h', 'ckembed.h', 'ckgen.h', 'device_layer.h', 'direct_layer.h', 'csd.h', 'pe.h'],
    'ci-compiler': ['one_line.h'],
    'launcher': [*IMAGE, 'launcher/keeper/*', 'job-control/ckctl.h', 'runtime/machine/filter/wire_key.h', 'cmi_alloc.h', 'cmi_charm.h', 'cmi_gauge.h', 'cmi_link.h', 'cmi_space.h', 'cmi_ticks.h', 'one_line.h'],
    'launcher/keeper': [*IMAGE, 'launcher/launch.h', 'runtime/machine/filter/seal.h', 'runtime/machine/filter/wire_key.h', 'abstract.h', 'cmi_mac.h'],
    'job-control': ['launcher/reach.h'],
    'trace-reader': ['trace_format.h', 'one_line.h'],
    'image-reader': ['image_*.h', 'one_line.h'],
    'examples': ['ck.h'],
    'examples/*': ['ck.h', 'ckchannel.h', 'ckglobal.h', 'ckdevice.h', 'ckdirect.h', 'cth.h', 'args.h', 'memory.h', 'random.h', 'turns.h', 'values.h'],
    'examples/embed*': ['ckembed.h', 'csd.h', 'embed.h'],
    'bench': ['launcher/keeper/keeper_words.h', 'ck.h', 'ckchannel.h', 'ckglobal.h', 'ckdirect.h', 'direct_layer.h', 'gather.h', 'strategies.h', 'cklb.h',
              'examples/stencil/kernel.h', 'runtime/chare/place/record/place.h', 'runtime/machine/alive/traffic.h', 'runtime/machine/filter/filter*.h',
              'runtime/machine/machine_int.h', *SCHEDULER],
    'bench/grain': ['ck.h', 'ckchannel.h', 'ckdirect.h', 'bench.h'],
    'bench/mpi': ['bench.h', 'plan.h', 'stream.h', 'crowd.h', 'globals.h', 'parts.h', 'keys.h', 'bench/grain/*.h', 'examples/*'],
    'bench/lines': [],
    'bench/lab': ['ck.h', 'bench.h', 'plan.h', 'bench_mpi.h'],
    'tests': SCHEDULER,
    # place.h: atrest drives bulk moves itself.
    'tests/device': ['runtime/device/cu.h', 'runtime/device/kernels.h', 'examples/stencil/device_kernels.h'],
    'tests/programs*': ['tests/device/order_*.h', 'runtime/device/cu.h', 'ck.h', 'ckchannel.h', 'ckglobal.h', 'ckdevice.h', 'ckdirect.h', 'ckembed.h', 'csd.h', 'cth.h', 'tests/programs/check.h', 'tests/programs/device_driver.h',
                        'runtime/chare/place/record/place.h'],
    'tests/ci': ['ck.h', 'ckgen.h', 'ckdirect.h', 'ci-compiler/*'],
    'tests/alloc': [],
    'tests/rig': [],
    'tests/stages': [],
    'tests/launcher': ['boot.h', 'launcher.h', 'launcher/keeper/*', 'cmi_alloc.h', 'runtime/image/*'],
    'tests/reliability': ['ck.h', 'ckdirect.h', 'csd.h'],
    'tests/damage': ['runtime/machine/shm/flip.h', 'runtime/machine/base/ring.h', 'pe.h', 'runtime/scheduler/node.h'],
    'tests/torture': ['ck.h'],
    'tests/fuzz': ['ci-compiler/*', 'runtime/machine/alive/traffic.h', 'runtime/machine/filter/filter*.h', 'runtime/machine/machine_int.h',
                    'launcher/launch.h', 'ck.h', 'ckgen.h', 'ckdirect.h', 'chare_layer.h',
                   'runtime/image/*', 'direct_layer.h', 'direct_handle.h', 'callback.h', 'env.h', 'boot.h', 'boot_pmi1.h',
                   'runtime/scheduler/*', *MACHINE],
    'tests/machine': ['check_*.h', 'runtime/machine/*'],
    'tests/image': ['runtime/image/*', 'runtime/machine/tools/abstract.h'],
    'tests/trace': ['runtime/trace/*', 'runtime/machine/tools/clock.h'],
    'tests/scheduler': ['check_*.h', 'runtime/scheduler/*', *MACHINE],
    'tests/chare': ['check_*.h', 'tests/programs/ring.h', 'lb_read.h', 'runtime/chare/*', 'runtime/strategies/*', 'direct_layer.h', *IMAGE,
                    *SCHEDULER],
    'tests/direct': ['check_*.h', 'runtime/direct/*', *SCHEDULER],
}
# System headers that one folder alone may include, or two.
ONLY = {
    r'(ucp|ucs|uct|ucm)/|hwloc|pmi|libunwind|elfutils|dwarf': 'runtime/machine',
    r'xxhash': 'runtime/image',
    r'mpi\.h$': 'bench/mpi or examples/embed/mpi',
}

MAKEFILES = ['Makefile', 'tests/rules.mk']
FOLDERS = ['runtime', 'ci-compiler', 'launcher', 'trace-reader', 'image-reader', 'job-control', 'examples', 'bench', 'tests']


def layer_of(folder):
    """The layer that has this folder, as a room or as its own; None outside the runtime."""
    for layer in ROOMS:
        if folder.startswith(layer + '/'):
            return layer
    return folder if folder in LAYERS else None


def height(folder):
    """How high a folder stands in its layer; None where the tables do not have it."""
    layer = layer_of(folder)
    if not layer:
        return None
    rooms = ROOMS.get(layer, [])
    if folder == layer:
        return len(rooms)
    room = folder[len(layer) + 1:]
    return rooms.index(room) if room in rooms else None


def is_below(low, high):
    """Whether folder `high` may call folder `low`."""
    low_layer, high_layer = layer_of(low), layer_of(high)
    if low_layer == high_layer:
        return height(low) <= height(high)
    return low_layer in LAYERS[high_layer]


# ---- the sources -------------------------------------------------------------------------------

def sources(folders, endings=('.c', '.h')):
    """All sources of these folders. The cases of ckci's tests are data, not code."""
    for top in folders:
        for folder, _, names in os.walk(top):
            if folder.startswith('tests/ci/'):
                continue
            for name in sorted(names):
                if name.endswith(endings):
                    yield f'{folder}/{name}'


def include_path():
    """Where the Makefile lets the compiler look for "x.h": all folders of the runtime, and these."""
    runtime = {os.path.dirname(header) for header in sources(['runtime'], ('.h',))}
    return sorted(runtime) + ['bench', 'bench/mpi', 'tests', 'ci-compiler']


def read_includes(file):
    """Yield line number, kind (" or <) and name."""
    with open(file, encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            m = re.match(r'\s*#\s*include\s*(["<])([^">]*)[">]', line)
            if m:
                yield number, m[1], m[2]


def resolve(file, name, path):
    """The header that `file` includes as "name": beside it, or on the path."""
    for folder in [os.path.dirname(file), *path]:
        found = os.path.normpath(f'{folder}/{name}')
        if os.path.exists(found):
            return found
    return None


# ---- who includes what -------------------------------------------------------------------------

def may_include(folder, header):
    home, name = os.path.split(header)
    if home == folder:
        return True
    layer = layer_of(folder)
    if layer and layer == layer_of(home):
        if home == layer:
            return name in FACES.get(layer, [])
        return is_below(home, folder) and not name.endswith('_int.h')
    rules = [rule for pattern, rules in INCLUDES.items() if fnmatch.fnmatchcase(folder, pattern)
             for rule in rules]
    if any(fnmatch.fnmatchcase(header, rule) for rule in rules):
        return True
    return not name.endswith('_int.h') and any(fnmatch.fnmatchcase(name, rule) for rule in rules)


def check_include(file, number, kind, name, path):
    """What is wrong with one #include, or None."""
    folder = os.path.dirname(file)
    if kind == '<':
        for pattern, alone in ONLY.items():
            if re.match(pattern, name) and not {folder, layer_of(folder)} & set(alone.split(' or ')):
                return f'{file}:{number}: only {alone} may include <{name}>'
        return None
    if name.endswith(('.decl.h', '.def.h', '.gen.h')):  # ckci and make make them
        return None
    header = resolve(file, name, path)
    if not header:
        return f'{file}:{number}: "{name}" is not found'
    if not may_include(folder, header):
        return f'{file}:{number}: {folder} may not include {header}'
    return None


def check_includes():
    path = include_path()
    return [wrong for file in sources(FOLDERS)
            for number, kind, name in read_includes(file)
            if (wrong := check_include(file, number, kind, name, path))]


def check_folders():
    """Files of a folder that no table has would pass unseen."""
    wrong = []
    for folder in sorted({os.path.dirname(f) for f in sources(FOLDERS)}):
        known = any(fnmatch.fnmatchcase(folder, pattern) for pattern in INCLUDES)
        if folder.split('/')[0] == 'runtime':
            known = height(folder) is not None
        if not known:
            wrong.append(f'{folder}: not in the tables of tests/layers.py')
    return wrong


# ---- who calls whom ----------------------------------------------------------------------------

class Calls:
    """What nm says about the objects of the runtime."""

    def __init__(self):
        self.defined_in = {}                        # symbol: file
        self.wanted_by = collections.defaultdict(set)  # file: symbols

    def read(self, objects):
        """`objects`: object file -> source file."""
        if not objects:
            return
        out = subprocess.run(['nm', '-A', '-P', '-g', *objects], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
        for line in out.splitlines():
            where, symbol, kind = line.split()[:3]
            file = objects[where.rstrip(':')]
            if '.' in symbol:  # a compiler's own, such as the address sanitizer's __odr_asan.x
                continue
            if kind in 'Uw':
                self.wanted_by[file].add(symbol)
            else:
                self.defined_in.setdefault(symbol, file)

    def __iter__(self):
        """Yield caller, symbol, callee for calls between files."""
        for file in sorted(self.wanted_by):
            for symbol in sorted(self.wanted_by[file]):
                other = self.defined_in.get(symbol)
                if other and other != file:
                    yield file, symbol, other


def objects_of(build):
    """The objects of all sources of the runtime, and what is wrong with them."""
    objects, wrong = {}, []
    for file in sources(['runtime'], '.c'):
        made = f'{build}/{file[:-2]}.o'
        if not os.path.exists(made):
            wrong.append(f'{file}: {made} is missing; make lib first')
        elif os.path.getmtime(made) < os.path.getmtime(file):
            wrong.append(f'{file}: is newer than {made}; make lib first')
        else:
            objects[made] = file
    return objects, wrong


def check_calls(calls):
    wrong = []
    for file, symbol, other in calls:
        high, low = os.path.dirname(file), os.path.dirname(other)
        if None not in (height(high), height(low)) and not is_below(low, high):
            wrong.append(f'{file}: calls {symbol}, which {other} defines: '
                         f'{high} may not call {low}')
    return wrong


# ---- what is no error: circles within a folder, counts ---------------------------------------

def circles(edges):
    """Sets of files that reach each other. `edges`: file -> files that it calls."""
    reached = {}
    for start in edges:
        seen, todo = set(), [start]
        while todo:
            for other in edges.get(todo.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        reached[start] = seen
    found = {frozenset(o for o in seen if start in reached.get(o, ()))
             for start, seen in reached.items()}
    return sorted(sorted(c) for c in found if len(c) > 1)


def print_circles(calls):
    by_folder = collections.defaultdict(lambda: collections.defaultdict(dict))
    for file, symbol, other in calls:
        folder = os.path.dirname(file)
        if folder == os.path.dirname(other):
            by_folder[folder][file].setdefault(other, []).append(symbol)
    for folder, edges in sorted(by_folder.items()):
        for circle in circles(edges):
            print(f'{folder}: a circle of {len(circle)} files')
            for file in circle:
                for other in sorted(set(edges[file]) & set(circle)):
                    print(f'    {os.path.basename(file)} -> {os.path.basename(other)}: '
                          + ', '.join(edges[file][other]))


def count_lines(file):
    with open(file, encoding='utf-8') as f:
        return sum(1 for _ in f)


def print_calls(what, crossing):
    down = sum(1 for low, high in crossing if is_below(low, high))
    print(f'{what}: {down} downward, {len(crossing) - down} upward')


def print_counts(calls):
    print('Calls: references of one file to a function or table of another, one for each file and '
          'name.')
    walls = [(os.path.dirname(other), os.path.dirname(file)) for file, _, other in calls]
    walls = [w for w in walls if None not in map(height, w)]
    print_calls('  between layers', [w for w in walls if layer_of(w[0]) != layer_of(w[1])])
    for layer in ROOMS:
        print_calls(f'  between rooms of {layer}',
                    [(low, high) for low, high in walls
                     if low != high and layer_of(low) == layer == layer_of(high)])
    print(f'  between files of one folder: {sum(low == high for low, high in walls)}')
    print('Lines of .c and .h, and of the largest header:')
    for folder in sorted({os.path.dirname(f) for f in sources(['runtime'])}):
        lines = {f: count_lines(f) for f in sources([folder]) if os.path.dirname(f) == folder}
        headers = [f for f in lines if f.endswith('.h')]
        largest = max(headers, key=lines.get, default=None)
        print(f'  {folder:26} {sum(lines.values()):6}' +
              (f'  {os.path.basename(largest)} {lines[largest]}' if largest else ''))


# ---- self-test ---------------------------------------------------------------------------------

class Plants:
    """Files planted in a copy of the tree, each with something that its line must name."""

    def __init__(self):
        self.expected = {}                          # file: part of its line

    def plant(self, folder, text, named):
        file = f'{folder}/planted_{len(self.expected)}.c'
        os.makedirs(folder, exist_ok=True)
        with open(file, 'w', encoding='utf-8') as f:
            f.write(text)
        self.expected[file] = named
        return file

    def include(self, folder, header):
        self.plant(folder, f'#include {header}\n', os.path.basename(header.strip('<>"')))

    def call(self, folder, symbol):
        self.plant(folder, f'void {symbol}(void);\nvoid planted(void);\n'
                   f'void planted(void) {{ {symbol}(); }}\n', f'calls {symbol},')

    def data(self, folder, symbol):
        self.plant(folder, f'extern const int {symbol}[];\nconst int *planted(void);\n'
                   f'const int *planted(void) {{ return {symbol}; }}\n', f'calls {symbol},')

    def compare(self, wrong):
        """What was not found, and what was found and is not there."""
        wrong = list(wrong)
        for file, named in self.expected.items():
            lines = [w for w in wrong if re.match(rf'{re.escape(file)}\b', w) and named in w]
            if not lines:
                yield f'self-test: {file} ({named}) was not found'
            wrong = [w for w in wrong if w not in lines]
        for line in wrong:
            yield f'self-test: found without reason: {line}'


def compile_with_make(build, files):
    """Objects of `files`, with the flags of the library."""
    objects = {f'{build}/{file[:-2]}.o': file for file in files}
    # Not its variables for child makes: a -n or -j of the outer make is not for this one.
    env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL')}
    subprocess.run(['make', '-s', f'B={build}', *objects], check=True, env=env,
                   stdout=subprocess.DEVNULL)
    return objects


def internal_headers(folder):
    return [f for f in sources([folder], '_int.h')]


def test_includes():
    """Includes that no folder of the real tree may have."""
    plants = Plants()
    plants.include('runtime/chare', '"../direct/ckdirect.h"')
    plants.include('runtime/direct', '"ck.h"')
    plants.include('runtime/machine', '"../scheduler/csd.h"')
    plants.include('runtime/scheduler', '"../machine/machine_int.h"')
    plants.include('runtime/scheduler', '<ucp/api/ucp.h>')
    plants.include('runtime/chare', '<hwloc.h>')
    plants.include('runtime/direct', '<mpi.h>')
    plants.include('examples/hello', f'"../../{internal_headers("runtime/chare")[0]}"')
    plants.include('launcher', '"../runtime/machine/cmi.h"')
    yield from plants.compare(check_includes())
    for file in plants.expected:
        os.remove(file)
    os.mkdir('runtime/attic')
    plants = Plants()
    plants.plant('runtime/attic', '', 'not in the tables')
    plants.expected = {'runtime/attic': 'not in the tables'}
    yield from plants.compare(check_folders())
    shutil.rmtree('runtime/attic')


def some_function(calls, folder):
    return next(s for s, f in sorted(calls.defined_in.items()) if os.path.dirname(f) == folder)


def test_calls(calls):
    """A call from each layer of the real tree to one that it must not know, and between rooms."""
    plants = Plants()
    for low in LAYERS:
        for high in LAYERS:
            if low != high and not is_below(high, low):
                plants.call(low, some_function(calls, high))
    for layer, rooms in ROOMS.items():
        rooms = [r for r in rooms if os.path.isdir(f'{layer}/{r}')]
        for low, high in zip(rooms, rooms[1:] + ['.']):
            plants.call(f'{layer}/{low}', some_function(calls, os.path.normpath(f'{layer}/{high}')))
    calls.read(compile_with_make('planted', plants.expected))
    yield from plants.compare(check_calls(calls))


# A runtime of a few lines with three rooms.
SMALL = {
    'runtime/machine/cmi.h': 'void cmi_send(void);\n',
    'runtime/machine/cmi_send_int.h': 'void cmi_send(void);\n',
    'runtime/machine/send.c': '#include "cmi.h"\nvoid cmi_send(void) {}\n',
    'runtime/chare/ck.h': 'void CkNew(void);\n',
    'runtime/chare/top.h': 'void ck_top(void);\n',
    'runtime/chare/layer.c': '#include "top.h"\n#include "core/table.h"\n#include "kinds/kinds.h"\n'
                             'void ck_top(void) { table_add(kinds_table); }\n',
    'runtime/chare/core/table.h': 'void table_add(const int *);\n',
    'runtime/chare/core/table_int.h': 'extern int table_n;\n',
    'runtime/chare/core/table.c': '#include "table.h"\n#include "../ck.h"\n#include "table_int.h"\n'
                                  'int table_n;\nvoid table_add(const int *t) { table_n += *t; }\n',
    'runtime/chare/call/call.h': 'void call_one(void);\n',
    'runtime/chare/call/call.c': '#include "call.h"\n#include "../core/table.h"\n#include "cmi.h"\n'
                                 'void call_one(void) { table_add(0); cmi_send(); }\n',
    'runtime/chare/kinds/kinds.h': 'extern const int kinds_table[1];\n',
    'runtime/chare/kinds/kinds.c': '#include "kinds.h"\n#include "../call/call.h"\n#include "ck.h"\n'
                                   'const int kinds_table[1] = {1};\n'
                                   'void CkNew(void) { call_one(); }\n',
}


def test_rooms(top):
    """The same in a small tree of three rooms; and what is allowed there is not found."""
    os.mkdir('tests')
    for file in MAKEFILES:
        shutil.copy(f'{top}/{file}', file)
    for file, text in SMALL.items():
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, 'w', encoding='utf-8') as f:
            f.write(text)
    calls = Calls()
    calls.read(compile_with_make('build', sources(['runtime'], '.c')))
    for line in check_folders() + check_includes() + check_calls(calls):
        yield f'self-test: found without reason: {line}'
    plants = Plants()
    plants.include('runtime/chare/core', '"../call/call.h"')
    plants.include('runtime/chare/core', '"../top.h"')
    plants.include('runtime/chare/call', '"../core/table_int.h"')
    plants.include('runtime/chare/call', '"../kinds/kinds.h"')
    plants.include('runtime/chare', '"core/table_int.h"')
    plants.include('runtime/chare/call', '"cmi_send_int.h"')
    yield from plants.compare(check_includes())
    for file in plants.expected:
        os.remove(file)
    plants = Plants()
    plants.call('runtime/chare/core', 'call_one')
    plants.call('runtime/chare/core', 'CkNew')
    plants.call('runtime/chare/call', 'ck_top')
    plants.data('runtime/chare/core', 'kinds_table')
    plants.data('runtime/chare/call', 'kinds_table')
    plants.call('runtime/machine', 'table_add')
    calls.read(compile_with_make('build', plants.expected))
    yield from plants.compare(check_calls(calls))


def test_circles():
    """Files that only lead to a circle, or come out of it, are not in it."""
    edges = {'a': {'b'}, 'b': {'c'}, 'c': {'b', 'd'}, 'd': set()}
    if circles(edges) != [['b', 'c']]:
        yield f'self-test: circles of {edges} are {circles(edges)}'


def self_test(calls):
    """All that is wrong with the checks themselves. Works in copies, which are removed."""
    top = os.getcwd()
    with tempfile.TemporaryDirectory() as copy, tempfile.TemporaryDirectory() as small:
        for file in [*sources(FOLDERS), *MAKEFILES]:
            os.makedirs(os.path.dirname(f'{copy}/{file}'), exist_ok=True)
            shutil.copy(file, f'{copy}/{file}')
        try:
            os.chdir(copy)
            wrong = [*test_includes(), *test_calls(calls)]
            os.chdir(small)
            wrong += test_circles()
            wrong += test_rooms(top)
        finally:
            os.chdir(top)
    return wrong


# ---- main --------------------------------------------------------------------------------------

def main():
    parser = argparse.ArgumentParser(description='who may include what, and who may call whom')
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('--self-test', action='store_true')
    parser.add_argument('--circles', action='store_true')
    parser.add_argument('--counts', action='store_true')
    parser.add_argument('top', nargs='?', default=os.path.dirname(os.path.abspath(__file__)) + '/..')
    args = parser.parse_args()
    os.chdir(args.top)

    objects, wrong = objects_of(args.build)
    wrong += check_folders() + check_includes()
    calls = Calls()
    calls.read(objects)
    wrong += check_calls(calls)
    if not wrong and args.self_test:
        wrong = self_test(calls)
    print(*wrong, sep='\n', end='\n' if wrong else '')
    if args.circles:
        print_circles(calls)
    if args.counts:
        print_counts(calls)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
