# SPDX-License-Identifier: Apache-2.0
"""A seed -> a program. Each choice has a stream of random numbers of its own, so that a program without a part has the
same other parts."""

import random

from parts import (Asks, Bodies, Calls, Clock, Counted, Destroys, Detectors, Fences, Globals, Inserts, Moves, Named, Quiets, Raw, Rebirths,
                   Reducing, Reductions, Scans, SectionSums, Syncs, Threads, Transfers, Whens)
from program import Coll, Program

SHAPES = ((1, 1), (2, 1), (1, 2), (4, 1), (2, 2), (1, 4), (3, 2), (4, 2))
WEIGHTS = (1, 2, 2, 3, 5, 2, 3, 4)
NOTES = 9000      # about as many in a run


def draw(seed, run=0):
    """The program of a seed, with the environment of one of its runs, and what becomes of that."""
    p = alive(seed, run)
    global_pointers(random.Random(f'{seed}/globals'), p, random.Random(f'{seed}/globals/{run}'))
    p.saved = random.Random(f'{seed}/saved').random() < 0.6 and not any(isinstance(x, Raw) for x in p.parts)
    if p.saved:
        survive(random.Random(f'{seed}/survive/{run}'), p)
    return p


def global_pointers(r, p, e):
    """Beside all else, so that it does not change what is drawn otherwise. An element that ends with some under way ends the job,
    and a new one has no spread."""
    ends = {getattr(x, 'to', x.on) for x in p.parts if isinstance(x, (Destroys, Inserts))} | {x.on for x in p.parts if isinstance(x, Rebirths)}
    may = [c.number for c in p.colls if c.kind in ('array', 'group') and not c.demanded and c.number not in ends]
    if may and r.random() < 0.4:
        fields = timing(r, p)
        if fields.setdefault('on', r.choice(may)) not in may:
            fields |= {'on': r.choice(may), 'hook': None}
        p.parts.append(Globals(1 + max(x.number for x in p.parts), block=r.choice((0, 1, 2)), **fields))
        if e.random() < 0.5:
            p.env['CK_GLOBAL_PATH'] = e.choice(('message', 'message', 'rma'))


def survive(r, p):
    """Checkpoints are taken at syncs, fences and quiescence; some runs go on from one, where nodes were killed, or in another
    shape."""
    way = r.choice(('memory', 'kills', 'kills', 'disk', 'disk'))
    p.env['CK_CHECKPOINT'] = f'{"ck" if way == "disk" else "memory"},{r.choice((1, 1, 5, 20))}ms'
    if way == 'kills':
        p.kills = tuple((r.choice((0.01, 0.05, 0.2)) * r.random(), r.randrange(p.nodes)) for _ in range(r.randint(1, 4)))
    if way == 'disk':
        p.again = r.choices(SHAPES, WEIGHTS)[0] if is_of_any_shape(p) else (p.nodes, p.per_node)


def is_of_any_shape(p):
    """Whether the model and the notes (note_pup) know what becomes of it with other PEs: it has nobody who belongs to a PE."""
    return 'CK_CHECK' not in p.env and not any(c.kind in ('group', 'nodegroup') for c in p.colls) and \
        not any(isinstance(x, Transfers) or getattr(x, 'way', '') == 'nocopy' for x in p.parts)


def alive(seed, run):
    r = random.Random(f'{seed}/program')
    p = Program(seed)
    left = random.Random(f'{seed}/theme').random()
    for theme, share in THEMES.items():
        left -= share
        if left < 0:
            name = theme.__name__
            theme(random.Random(f'{seed}/{name}'), p, random.Random(f'{seed}/{name}/{run}'))
            return p
    p.nodes, p.per_node = r.choices(SHAPES, WEIGHTS)[0]
    p.phases, p.ticks = r.randint(1, 4), r.choice((2, 5, 10, 20, 40, 80))
    p.quiet_start = r.random() < 0.85
    p.pace = r.choice(('self', 'echo', 'echo'))
    p.optimize = r.choice(('-O0', '-O0', '-O1'))
    p.env = environment(random.Random(f'{seed}/environment/{run}'))
    p.colls = collections(random.Random(f'{seed}/collections'))
    p.parts = [Clock()]
    number = 1
    for i in range(r.randint(2, 9)):
        part = one_part(random.Random(f'{seed}/part/{i}'), p, number)
        if part:
            p.parts.append(part)
            number += 1
    tame(p)
    return p


def storm(r, p, e):
    """All that is under way at once has to find elements that are under way, too: one array whose elements move behind each
    call and each put, and put and call the same neighbours. Found by hand before it was drawn: see page 81."""
    p.nodes, p.per_node = r.choice(((2, 2), (4, 2), (4, 2), (3, 2)))
    p.phases, p.ticks, p.pace = 4, r.choice((10, 20, 40)), 'echo'
    p.env = {'CK_RANDOM_DELAY': str(e.randint(1, 9999)), 'CK_LB': e.choice(('rotate', 'rotate', 'random')), 'CK_SYNC_MS': '0'}
    if e.random() < 0.4:
        p.env |= {'CK_DIRECT_PATH': e.choice(('rma', 'rma', 'message')), 'CK_DIRECT_POLL_MAX': str(e.choice((0, 4, 32)))}
    p.colls = [Coll(0, 'main'), Coll(1, 'array', [r.randint(8, 12)], False, r.choice(('hash', 'default')))]
    shift = r.randint(1, 5)
    channel = {'to': 1, 'way': 'words', 'attribute': 'channel', 'shift': shift, 'prepare': True}
    p.parts = [
        Clock(),
        Named(1, 1, shifts=tuple(sorted({shift, r.randint(1, 7)})), oob=r.random() < 0.6, words=r.choice((1, 2, 20)),
              rounds=r.choice((10, 30)), ready=r.choice(('now', 'later', 'later')), renew=r.random() < 0.7, whole=r.random() < 0.3),
        Calls(2, 1, burst=r.choice((2, 5, 12)), sizes=r.choice(((3,), (3, 64), (3, 64, 500))), **channel),
        Calls(3, 1, burst=r.choice((1, 2)), sizes=(3,), hook=1, **channel),
        Moves(4, 1, chance=r.choice((5, 10, 20)), hook=2),
        Moves(5, 1, chance=r.choice((10, 20, 50)), hook=1),
        Moves(6, 1, chance=r.choice((10, 50))),
        Syncs(7, 1, every=r.choice((3, 5)))]
    tame(p)


def steps(r, p, e):
    """Steps of the balancer change where everybody is at home: under all that counts by homes, or goes there by itself."""
    p.nodes, p.per_node = r.choice(((2, 1), (2, 2), (4, 1), (3, 2), (4, 2)))
    p.phases, p.ticks, p.pace = 3, r.choice((10, 20)), r.choice(('self', 'echo'))
    p.env = {'CK_LB': e.choice(('cuts', 'cuts', 'cuts', 'rotate', 'refine', 'random')), 'CK_LB_TOLERANCE': '0'}
    if e.random() < 0.4:
        p.env[e.choice(('CK_RANDOM_DELAY', 'CK_RANDOM_QUEUE'))] = str(e.randint(1, 9999))
    # With a map of its own the array is on few PEs at first: the others hear of no reduction before the first step.
    where = r.choice(('default', 'hash', 'last', 'last'))
    p.colls = [Coll(0, 'main'), Coll(1, 'array', [r.choice((3, 5, 8, 12, 24))], False, where)]
    shift, every, reborn = r.randint(1, 5), r.choice((2, 3, 5)), r.random() < 0.4
    makers = [
        lambda n: Calls(n, 1, to=1, way='words', attribute='channel', shift=shift, burst=r.choice((1, 2, 5)), sizes=(3,), prepare=True),
        lambda n: SectionSums(n, 1, over=1, to=r.choice((0, 1)), shift=r.randint(0, 2), only=r.choice((0, 3)), every=r.choice((1, 3)),
                              refnum=r.choice((0, 5))),
        lambda n: Reductions(n, 1, 1, target='all', refnum=r.choice((0, 7))),
        lambda n: Reductions(n, 1, 0, every=r.choice((1, 3))),
        lambda n: Scans(n, 1, every=3),
        lambda n: Calls(n, 1, to=1, mode='section', shift=r.randint(0, 2), only=r.choice((0, 5))),
        lambda n: Calls(n, 1, to=1, mode='all', only=r.choice((0, 5))),
        lambda n: Calls(n, 1, to=1, attribute=r.choice(('', 'aggregate')), shift=shift, burst=2),
        lambda n: Moves(n, 1, chance=r.choice((5, 20)), phases=r.choice((1, 2, 4)))]
    chosen = r.sample(makers, r.randint(3, 6))
    p.parts = [Clock(), Syncs(1, 1, every=every, first=r.randrange(every), last=reborn or r.random() < 0.2)]
    p.parts += [make(n) for n, make in enumerate(chosen, 2)]
    if reborn:
        p.parts.append(Rebirths(len(p.parts), 1, share=r.choice((1, 2, 4))))
    tame(p)


def leases(r, p, e):
    """Few elements ever leave their homes, and late: calls that have been put into memory at their homes for long go there and
    find nobody, until a lease comes. Where many are away no call is put so."""
    p.nodes, p.per_node = r.choice(((4, 1), (2, 2), (1, 4), (3, 2)))
    p.phases, p.ticks, p.pace = 4, r.choice((10, 20)), 'echo'
    random_times(e, p, 'CK_RANDOM_DELAY', 'CK_RANDOM_QUEUE', 'CK_RANDOM_QUEUE')
    n = r.randint(6, 10)
    p.colls = [Coll(0, 'main'), Coll(1, 'array', [n])]
    # There is room for eight calls. A burst that has room looks for no other way; one call too many does, and may overtake them.
    bursts = [Calls(k, 1, to=1, way='words', attribute='channel', shift=shift, burst=r.choice((3, 5, 7)), sizes=(3,),
                    prepare=r.random() < 0.5) for k, shift in enumerate(r.sample(range(1, 6), r.choice((1, 1, 2))), 1)]
    leaving = [Moves(k, 1, only=r.randrange(n), chance=r.choice((5, 20)), phases=r.choice((2, 10, 14)))
               for k in range(len(bursts) + 1, len(bursts) + r.choice((2, 2, 3)))]
    p.parts = [Clock()] + bursts + leaving
    tame(p)


def lives(r, p, e):
    """Elements end and are inserted again while broadcasts are on their way to where they have moved."""
    p.nodes, p.per_node = r.choice(((4, 1), (2, 2), (1, 4), (3, 2)))
    p.phases, p.ticks, p.pace = 3, r.choice((10, 20)), r.choice(('self', 'echo'))
    random_times(e, p, 'CK_RANDOM_DELAY', 'CK_RANDOM_DELAY', 'CK_RANDOM_QUEUE')
    p.colls = [Coll(0, 'main'), Coll(1, 'array', [r.randint(2, 6)], True), Coll(2, 'group')]
    p.parts = [
        Clock(),
        Calls(1, r.choice((1, 2)), to=1, mode='all', only=r.choice((0, 1, None)), burst=r.choice((1, 2, 5)), sizes=(3,)),
        Moves(2, 1, chance=r.choice((10, 30, 60)), hook=1)]
    p.parts += [Destroys(n, 2, to=1, burst=r.choice((1, 3)), every=r.choice((1, 2))) for n in range(3, r.choice((4, 5, 6)))]
    tame(p)


def hush(r, p, e):
    """Nothing follows the calls of a phase, so that quiescence comes right behind them."""
    p.nodes, p.per_node = r.choice(((1, 1), (1, 1), (2, 1), (1, 2)))
    p.phases, p.ticks, p.env = 8, 1, environment(e)
    p.colls = [Coll(0, 'main'), Coll(1, 'array', [r.randint(2, 8)]), Coll(2, 'group')]
    p.parts = [Clock()] + [
        Calls(n, r.choice((1, 2)), to=r.choice((1, 2)), way=r.choice(('nothing', 'words', 'struct')), attribute='aggregate',
              burst=r.choice((1, 2, 5)), shift=r.randint(0, 5), sizes=(3,), phases=r.choice((0xff, 1, 2, 5, 6)))
        for n in range(1, r.choice((2, 3, 4)))]
    tame(p)


def rounds(r, p, e):
    """Counted calls and sets of named channels of one array, whose elements move in the middle of rounds."""
    p.nodes, p.per_node = r.choice(((2, 2), (3, 2), (4, 2), (2, 4)))
    p.phases, p.ticks, p.pace = 3, r.choice((10, 20)), r.choice(('self', 'echo', 'echo'))
    p.env = {'CK_LB': e.choice(('rotate', 'cuts', 'random')), 'CK_DIRECT_PATH': e.choice(('memory', 'rma', 'message'))}
    if e.random() < 0.3:
        p.env['CK_CHECK'] = '1'
    random_times(e, p, 'CK_RANDOM_DELAY', 'CK_RANDOM_QUEUE')
    p.colls = [Coll(0, 'main'), Coll(1, 'array', [r.randint(4, 12)], False, r.choice(('default', 'hash', 'last')))]
    on = p.colls[1:]
    p.parts = [Clock()]
    for n in range(1, r.choice((3, 4, 5))):
        p.parts.append(r.choice((counted, counted, named_set))(r, p, n, on, on))
    for n in range(len(p.parts), len(p.parts) + 2):
        p.parts.append(Moves(n, 1, chance=r.choice((10, 30, 60)), hook=r.choice((None, n - 2 or None, 1))))
    if r.random() < 0.5:
        p.parts.append(Syncs(len(p.parts), 1, every=r.choice((2, 3, 5))))
    if r.random() < 0.5:
        p.parts.append(broadcasts(r, p, len(p.parts), on, on))
    tame(p)


def named_set(r, p, number, arrays, others):
    n = arrays[0].count(p)
    return Named(number, 1, shifts=tuple(r.sample(range(n), min(n, r.choice((2, 3, 4))))), oob=r.random() < 0.5, whole=True,
                 words=r.choice((1, 3, 300)), rounds=r.choice((3, 10)), ready=r.choice(('now', 'later')), renew=r.random() < 0.5)


THEMES = {storm: 0.12, steps: 0.1, leases: 0.06, rounds: 0.06, lives: 0.04, hush: 0.03}     # of all programs


def random_times(e, p, *names):
    """Mostly one of these variables."""
    if e.random() < 0.7:
        p.env[e.choice(names)] = str(e.randint(1, 9999))


def environment(r):
    env = {}

    def maybe(chance, name, *values):
        if r.random() < chance:
            env[name] = str(r.choice(values))
    maybe(0.25, 'CK_SHARE', 0)
    maybe(0.75, 'CK_DIRECT_PATH', 'memory', 'message', 'rma', 'rma')
    maybe(0.5, 'CK_DIRECT_POLL_MAX', 0, 1, 4)
    maybe(0.2, 'CK_CHECK', 1)
    maybe(0.3, 'CK_RANDOM_QUEUE', r.randint(1, 9999))
    maybe(0.3, 'CK_RANDOM_DELAY', r.randint(1, 9999))
    maybe(0.7, 'CK_LB', 'rotate', 'rotate', 'random', 'greedy', 'refine', 'cuts', 'hier', 'diffusion', 'sfc', 'auto')
    maybe(0.5, 'CK_SYNC_MS', 0)
    maybe(0.3, 'CK_LB_TOLERANCE', 0)
    maybe(0.5, 'CK_CORES', 1, 64)
    maybe(0.3, 'CK_WIRE', 'seal', 'lz4', 'zstd', 'zstd,seal')
    maybe(0.25, 'UCX_TLS', 'tcp,self')
    return env


def collections(r):
    colls = [Coll(0, 'main')]
    for number in range(1, 1 + r.choice((1, 2, 2, 3, 3))):
        kind = r.choices(('array', 'group', 'chare', 'nodegroup', 'demand'), (6, 2, 1, 1, 1) if number > 1 else (1, 0, 0, 0, 0))[0]
        if kind == 'array':
            nd = r.choices((1, 2, 3, 4, 5, 6), (8, 3, 2, 1, 1, 1))[0]
            dims = [r.randint(2, 12)] if nd == 1 else [r.choice((1, 2, 3)) for _ in range(nd)]
            if sum(d > 1 for d in dims) == 0:
                dims[0] = 4
            while len(dims) > 1 and dims[0] > 1 and eval('*'.join(map(str, dims))) > 24:
                dims[0] -= 1
            sparse = r.random() < 0.5
            colls.append(Coll(number, 'array', dims, sparse, r.choice(('default', 'hash', 'last')) if not sparse else
                              r.choice(('default', 'any')), r.choice((0, 0, 100, -20)) if sparse else 0))
        elif kind == 'demand':
            colls.append(Coll(number, 'array', [r.randint(2, 12)], True, 'demand', r.choice((0, 100))))
        elif kind == 'nodegroup':
            colls.append(Coll(number, kind))
        else:
            colls.append(Coll(number, kind, where='0' if kind == 'group' else f'({r.randint(0, 7)} % CkNumPes())'))
            if kind == 'group':
                colls[-1].where = 'default'
    return colls


def focus(r, colls):
    """One of them, mostly the first: where most things happen, most meet."""
    return colls[0] if r.random() < 0.5 else r.choice(colls)


def there(p, *kinds):
    """The collections whose elements are there from the beginning."""
    return [c for c in p.colls if not c.demanded and (not kinds or c.kind in kinds)]


def timing(r, p, hooks=True):
    """When a part acts."""
    fields = {'phases': r.choice((0xff, 0xff, 1, 2, 5, 6))}
    fields['every'] = r.choice((1, 1, 2, 3, 5))
    fields['first'] = r.randrange(fields['every'])
    if hooks and r.random() < 0.45:
        found = [(on, n) for part in p.parts for on, n in part.hook_names() if part.hook is None]
        if found:
            fields['on'], fields['hook'] = r.choice(found)
    return fields


def one_part(r, p, number):
    arrays = [c for c in p.colls if c.kind == 'array' and not c.demanded]
    others = [c for c in p.colls if c.kind not in ('main', 'nodegroup') and not c.demanded]
    kinds = {calls: 5, counted: 3, broadcasts: 4, moves: 5, syncs: 2, inserts: 3, destroys: 2, reductions: 4, named: 4, channel_calls: 4, asks: 2,
             threads: 2, scans: 1, fences: 1, whens: 2, bodies: 2, raw: 2, reducing: 2, detectors: 1, quiets: 1, section_sums: 2, transfers: 2}
    return r.choices(list(kinds), kinds.values())[0](r, p, number, arrays, others)


def calls(r, p, number, arrays, others):
    on, to = focus(r, others), focus(r, others + arrays)
    special = [c for c in p.colls if c.kind == 'nodegroup' or c.demanded]
    if special and r.random() < 0.5:
        to = r.choice(special)
    way = r.choice(('nothing', 'words', 'words', 'text', 'struct', 'pup', 'message', 'nocopy'))
    if to in special:
        attribute = r.choice(('createhere', 'createhome')) if to.demanded else ''
    elif way == 'nocopy':
        attribute = ''
    else:
        attribute = r.choice(('', '', '', 'expedited', 'threaded') + ('inline',) * (way != 'message') +
                             ('aggregate',) * 3 * (to.kind in ('array', 'group') and way != 'message'))
    fields = timing(r, p)
    fields.setdefault('on', on.number)
    plain = not attribute and to not in special and way != 'nocopy'
    prio = r.choice((None, None, None, -3, 0, 7)) if plain else None
    refnum = r.choice((None, None, 5, -7, 2**31 - 1)) if plain else None
    return Calls(number, to=to.number, way=way, attribute=attribute, shift=r.randint(0, 9), burst=r.choice((1, 2, 5)),
                 sizes=r.choice(((0,), (1,), (2, 9), (100,), (3, 600))) if way in ('words', 'text', 'message', 'nocopy') else (3,),
                 prio=prio, refnum=refnum, **fields)


def broadcasts(r, p, number, arrays, others):
    to = r.choice([c for c in p.colls if c.kind not in ('main', 'chare')])
    fields = timing(r, p)
    fields.setdefault('on', r.choice(there(p)).number)
    section = to in arrays and not to.sparse and r.random() < 0.3
    way = r.choice(('nothing', 'words', 'text', 'struct', 'message', 'pup'))
    if fields.get('hook') is None:
        fields['only'] = 0 if p.coll(fields['on']).kind in ('main', 'chare') else r.choice((0, 0, 1))
    return Calls(number, to=to.number, way=way, mode='section' if section else 'all', shift=r.randint(0, 2),
                 burst=r.choice((1, 1, 3)), sizes=((2,), (200,))[r.randrange(2)] if way in ('words', 'text', 'message') else (3,), **fields)


def counted(r, p, number, arrays, others):
    """All elements take part in all rounds, so it acts by ticks alone."""
    on = r.choice([c for c in others if c.kind == 'group' or c.kind == 'array' and not c.sparse] or [None])
    if not on:
        return None
    fields, n = timing(r, p, hooks=False), on.count(p)
    section = r.random() < 0.2
    attribute = r.choice(('', '', 'channel', 'expedited')) if on.kind == 'array' and not section else ''
    way = r.choice(('words', 'words', 'text', 'struct', 'nothing') + ('pup', 'message') * (attribute != 'channel'))
    return Counted(number, on.number, fan=min(n, r.choice((1, 2, 3, 5))), shift=r.randint(0, 5), way=way, words=r.choice((1, 3, 200)),
                   numbered=r.choice(('name', 'name', 'reference')) if way != 'message' else 'reference', attribute=attribute,
                   section=section, **fields)


def moves(r, p, number, arrays, others):
    fields = timing(r, p)
    if fields.get('hook') is not None and p.coll(fields['on']).kind != 'array':
        del fields['hook']
        del fields['on']
    fields.setdefault('on', focus(r, arrays).number)
    return Moves(number, chance=r.choice((5, 20, 50, 100)), **fields)


def syncs(r, p, number, arrays, others):
    on = focus(r, arrays).number
    if any(isinstance(x, Syncs) and x.on == on for x in p.parts):
        return None
    return Syncs(number, on, every=r.choice((1, 2, 5)), first=r.randint(0, 4))


def inserts(r, p, number, arrays, others):
    sparse = [c for c in arrays if c.sparse]
    if not sparse:
        return None
    fields = timing(r, p)
    fields.setdefault('on', r.choice(there(p)).number)
    return Inserts(number, to=focus(r, sparse).number, most=r.choice((1, 1, 2, 4)), here=r.random() < 0.2, **fields)


def reductions(r, p, number, arrays, others):
    on = r.choice(there(p, 'array', 'group', 'nodegroup'))
    to = r.choice([on, on, r.choice(there(p))])
    target = r.choice(('one', 'all')) if to.kind in ('array', 'group', 'nodegroup') else 'one'
    fields = timing(r, p, hooks=False)
    index = r.randrange(to.count(p)) if target == 'one' else 0
    return Reductions(number, on.number, to.number, target=target, index=index, refnum=r.choice((0, 0, 1, 1000)),
                      message=r.random() < 0.3, tuple=r.random() < 0.25, **fields)


def named(r, p, number, arrays, others):
    on = focus(r, arrays)
    n = on.count(p)
    shifts = tuple(r.sample(range(1, n), min(n - 1, r.choice((1, 1, 2, 3))))) if n > 1 else (0,)
    fields = timing(r, p, hooks=False)
    return Named(number, on.number, shifts=shifts, oob=r.random() < 0.6, strided=r.random() < 0.25, direct=r.random() < 0.7,
                 words=r.choice((1, 2, 3, 20, 300)), rounds=r.choice((3, 10, 30)),
                 ready=r.choice(('now', 'later', 'marked')), renew=r.random() < 0.4, whole=r.random() < 0.4,
                 phases=fields['phases'])


def channel_calls(r, p, number, arrays, others):
    dense = [c for c in arrays if not c.sparse]
    if not dense:
        return None
    on = to = focus(r, dense)
    fields = timing(r, p, hooks=False)
    text = r.random() < 0.2
    return Calls(number, on.number, to=to.number, way='text' if text else 'words', attribute='channel', shift=r.randint(0, 5),
                 burst=r.choice((2, 5, 12)), sizes=r.choice(((3,), (1, 64), (3, 64, 500))), prepare=not text and r.random() < 0.6,
                 **fields)


def destroys(r, p, number, arrays, others):
    """By somebody who stays: insertions and destructions of two PEs have no order."""
    sparse = [c for c in arrays if c.sparse]
    if not sparse:
        return None
    on = r.choice(there(p, 'main', 'group', 'chare'))
    fields = timing(r, p, hooks=False)
    return Destroys(number, on.number, to=focus(r, sparse).number, burst=r.choice((1, 3)), **fields)


def asks(r, p, number, arrays, others):
    on, to = focus(r, others), focus(r, others + there(p))
    fields = timing(r, p)
    fields.setdefault('on', on.number)
    on = p.coll(fields['on'])
    answer = r.choice(('one', 'one', 'main') + ('all',) * (on.kind in ('array', 'group') and not on.demanded))
    return Asks(number, to=to.number, answer=answer, refnum=r.choice((0, 5, -1)), shift=r.randint(0, 5), burst=r.choice((1, 2)), **fields)


def threads(r, p, number, arrays, others):
    fields = timing(r, p)
    fields.setdefault('on', focus(r, others).number)
    if p.coll(fields['on']).kind == 'nodegroup':      # its entries are [exclusive] here, and threads cannot be
        return None
    return Threads(number, to=focus(r, others).number, shift=r.randint(1, 5), burst=r.choice((1, 2, 4)), future=r.random() < 0.5, **fields)


def scans(r, p, number, arrays, others):
    on = r.choice([c for c in others if c.kind == 'group' or c.kind == 'array' and not c.sparse] or [None])
    return on and Scans(number, on.number, exclusive=r.random() < 0.5, **timing(r, p, hooks=False))


def fences(r, p, number, arrays, others):
    on = r.choice([c for c in others if c.kind != 'chare'])
    return Fences(number, on.number, phases=timing(r, p, hooks=False)['phases'])


def whens(r, p, number, arrays, others):
    on = focus(r, arrays).number
    fields = timing(r, p, hooks=False)
    return Whens(number, on, shift=r.randint(0, 5), burst=r.choice((1, 3)), ahead=r.choice((0, 1, 5)), **fields)


def bodies(r, p, number, arrays, others):
    return Bodies(number, focus(r, arrays).number, rounds=r.choice((2, 5, 20)), shift=r.randint(0, 3), phases=timing(r, p, hooks=False)['phases'])


def raw(r, p, number, arrays, others):
    on = r.choice([c for c in others if c.kind == 'group'] or [None])
    return on and Raw(number, on.number, shift=r.randint(0, 3), oob=r.random() < 0.5, strided=r.random() < 0.25, rebind=r.random() < 0.3,
                      words=r.choice((1, 2, 20, 300)), rounds=r.choice((3, 10, 30)), phases=timing(r, p, hooks=False)['phases'])


def reducing(r, p, number, arrays, others):
    return Reducing(number, focus(r, arrays).number, senders=r.choice((1, 2, 4)), words=r.choice((1, 3, 40)), rounds=r.choice((3, 10)),
                    phases=timing(r, p, hooks=False)['phases'])


def detectors(r, p, number, arrays, others):
    on = r.choice(there(p, 'array', 'group')).number
    return Detectors(number, on, burst=r.choice((1, 2, 5)), depth=r.choice((0, 2, 6)), shift=r.randint(0, 5),
                     phases=timing(r, p, hooks=False)['phases'])


def quiets(r, p, number, arrays, others):
    on, fields = r.choice(there(p, 'main', 'array', 'group', 'chare')), timing(r, p, hooks=False)
    if r.random() < 0.5:
        fields['only'] = 0
    answer = 'all' if on.kind in ('array', 'group') and r.random() < 0.3 else 'one'
    if answer == 'all':
        fields['only'] = 0       # else all get as many answers as there are elements
    return Quiets(number, on.number, answer=answer, **fields)


def section_sums(r, p, number, arrays, others):
    over = [c for c in others if c.kind == 'group' or c.kind == 'array' and not c.sparse]
    if not over:
        return None
    to, fields = r.choice(there(p, 'main', 'array', 'group', 'chare')), timing(r, p)
    fields.setdefault('on', r.choice(there(p)).number)
    if fields.get('hook') is None:
        fields['only'] = 0
    return SectionSums(number, over=r.choice(over).number, to=to.number, shift=r.randint(0, 2), tuple=r.random() < 0.4, refnum=r.choice((0, 5)),
                       target=r.choice(('one', 'all')) if to.kind in ('array', 'group') else 'one', **fields)


def transfers(r, p, number, arrays, others):
    on, to, fields = focus(r, others), focus(r, others), timing(r, p)
    fields.setdefault('on', on.number)
    return Transfers(number, to=to.number, put=r.random() < 0.5, words=r.choice((1, 20, 200, 3000)), burst=r.choice((1, 2)),
                     shift=r.randint(0, 5), rdma=r.choice((0, 0, 1, 2, 3)), **fields)


def tame(p):
    """What GUIDE.md leaves open is left out; and no program does too much."""
    reborn = {x.on for x in p.parts if isinstance(x, Rebirths)}       # what their elements count begins anew
    p.parts = [x for x in p.parts if not (isinstance(x, (Counted, Scans, SectionSums)) and getattr(x, 'over', x.on) in reborn)]
    inserted = {x.to for x in p.parts if isinstance(x, Inserts)}
    synced = {x.on for x in p.parts if isinstance(x, Syncs)}
    p.parts = [x for x in p.parts if not (isinstance(x, Inserts) and x.to in synced)]
    p.parts = [x for x in p.parts if not (isinstance(x, Destroys) and x.to in synced)]
    inserted = {x.to for x in p.parts if isinstance(x, (Inserts, Destroys))}
    if any(isinstance(x, (Reductions, Fences)) and p.coll(x.on).sparse for x in p.parts):
        p.quiet_start = True     # elements that are still on their way are in no reduction
    # A new element takes part from the next reduction on that its PE waits for: none may be under way.
    p.parts = [x for x in p.parts if not (isinstance(x, (Reductions, Fences)) and x.on in inserted)]
    p.keep(p.parts)
    lighten(p, NOTES)
    while weight(p) > 3 * NOTES:
        heavy = [x for x in p.parts if isinstance(x, (Calls, Counted, Inserts, Named, SectionSums, Transfers))]
        if not heavy:
            break
        worst = max(heavy, key=lambda x: part_weight(p, x, {}))
        p.keep([x for x in p.parts if x is not worst])


def lighten(p, notes):
    """So many notes in a run, if fewer ticks are enough for that."""
    while p.ticks > 1 and weight(p) > notes:
        p.ticks = p.ticks * 2 // 3


def acts(p, part, known):
    """About how often a part acts."""
    if part.number in known:
        return known[part.number]
    on = p.coll(part.on)
    if part.hook is not None:
        n = handled(p, p.part(part.hook), known)
    else:
        n = p.phases * p.ticks / part.every * (1 if part.only is not None else on.count(p))
    known[part.number] = n
    return n


def handled(p, part, known):
    if isinstance(part, Calls):
        return acts(p, part, known) * part.burst * (1 if part.mode == 'one' else p.coll(part.to).count(p))
    if isinstance(part, Counted):
        return acts(p, part, known)
    if isinstance(part, Reductions):
        return acts(p, part, known) / p.coll(part.on).count(p) * (p.coll(part.to).count(p) if part.target == 'all' else 1)
    if isinstance(part, SectionSums):
        return acts(p, part, known) * (p.coll(part.to).count(p) if part.target == 'all' else 1)
    if isinstance(part, Detectors):
        return p.phases * p.coll(part.on).count(p) * part.burst * (part.depth + 1)
    if isinstance(part, (Named, Raw, Reducing)):
        return p.phases * part.rounds * p.coll(part.on).count(p)
    return acts(p, part, known) * getattr(part, 'burst', 1)


def part_weight(p, part, known):
    if isinstance(part, Named):
        return p.phases * part.rounds * p.coll(part.on).count(p) * (1 + 4 * len(part.shifts))
    if isinstance(part, Rebirths):
        return p.phases * p.coll(part.on).count(p) * 3
    if isinstance(part, Bodies):
        return p.phases * part.rounds * p.coll(part.on).count(p) * 4
    if isinstance(part, SectionSums):
        return (acts(p, part, known) + handled(p, part, known)) * 2 + acts(p, part, known) * p.coll(part.over).count(p) * 2
    if isinstance(part, Counted):
        return acts(p, part, known) * (2 + p.coll(part.on).count(p) if part.section else 2 * part.fan)
    return acts(p, part, known) + handled(p, part, known) * 2


def weight(p):
    known = {}
    return sum(part_weight(p, x, known) for x in p.parts if not isinstance(x, Clock)) + \
        sum(c.count(p) for c in p.colls) * p.ticks * p.phases * 2
