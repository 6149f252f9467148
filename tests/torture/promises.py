# SPDX-License-Identifier: Apache-2.0
"""The sequential model: from what was done (the notes of callers) and GUIDE.md's promises follows what each receiver must
have noted. What GUIDE.md leaves open is open here."""

from program import CHANNEL, NO_ORDER, SECTION, Broken


def first_broken(program, run):
    """The first broken promise of a run, or None. Where several are broken the one that others follow from comes first."""
    for check in (state, broadcasts, once, order, parts, quiescence, end):
        broken = check(program, run)
        if broken:
            return min(broken, key=lambda b: b.time)
    return None


def describe(run, n):
    if n is None:
        return 'nothing known'
    at = run.who(n)
    what = {'SEND': 'call', 'ALL': 'call of all', 'INSERT': 'insertion'}.get(n.kind, n.kind)
    to = f' of {run.program.coll(n.value).name}({n.target})' if n.kind in ('SEND', 'INSERT') else ''
    return f'{what} {n.pe}:{n.place} of part {n.part}{to} by {at}, stay {n.stay}'


def state(program, run):
    """An element's own memory goes with it, in one piece: its count of notes has no gap, and its bytes are right."""
    broken, last = [], {}
    for n in sorted(run.all, key=lambda n: (n.born, n.seq)):
        before = last.get(n.born)
        if before is not None and n.seq != before.seq + 1:
            broken.append(Broken('an element takes its state along', f'note {before.seq + 1} of its life',
                                 f'note {n.seq} at {run.who(n)}', n.time))
        last[n.born] = n
        if n.kind == 'ARRIVED' and n.value:
            broken.append(Broken('memory of pup_alloc comes as it was', 'its bytes', f'others at {run.who(n)}', n.time))
    return broken


def once(program, run):
    """Each call reaches its element once, with its parameters; an insertion makes one element."""
    broken, got = [], {}
    for n in run.kind('GOT'):
        sent = run.sent(n.id)
        if sent is None or sent.kind not in ('SEND', 'ALL') or sent.part != n.part or sent.value != n.coll or \
                sent.kind == 'SEND' and sent.target != n.number:
            broken.append(Broken('a call reaches the element that it is for', describe(run, sent), f'{run.who(n)} got it', n.time))
            continue
        if n.flags:
            broken.append(Broken('parameters come as they were', describe(run, sent), f'other bytes at {run.who(n)}', n.time))
        want = getattr(program.part(n.part), 'refnum', None) if type(program.part(n.part)).__name__ == 'Calls' else None
        if want is not None and n.value != want % 2**64:
            broken.append(Broken('a call brings its reference number', f'{want}: {describe(run, sent)}',
                                 f'{n.value} at {run.who(n)}', n.time))
        key = n.id, n.born if sent.kind == 'ALL' else 0
        if key in got:
            broken.append(Broken('a call comes once', describe(run, sent), f'a second time at {run.who(n)}', n.time))
        got[key] = n
    born = {}
    for n in run.kind('BORN'):
        if not n.id and program.coll(n.coll).demanded:
            if (n.coll, n.number) in born:
                broken.append(Broken('only the first call makes a missing element', f'one of {run.who(n)}', 'two', n.time))
            born[n.coll, n.number] = n
        if n.id:
            if n.id in born:
                broken.append(Broken('an insertion makes one element', describe(run, run.sent(n.id)), 'two', n.time))
            born[n.id] = n
    if run.rest:
        for n in run.kind('SEND'):
            if (n.id, 0) not in got:
                broken.append(Broken('a call arrives', describe(run, n), 'it never came', n.time))
        for n in run.kind('INSERT'):
            if n.id not in born:
                broken.append(Broken('an insertion makes one element', describe(run, n), 'none', n.time))
    return broken


def broadcasts(program, run):
    """Each element gets each broadcast once: all that its creator had not seen when it inserted it, none that it had."""
    broken = []
    alls = [n for n in run.kind('ALL')]
    got = {(n.id, n.born): n for n in run.kind('GOT')}
    quiet = [n.time for n in run.kind('QUIET')]
    seen = {}        # (broadcast, PE): when an element that had been there before it was begun handled it
    arrived = {}
    for n in run.all:
        if n.kind in ('BORN', 'ARRIVED'):
            arrived[n.born, n.stay] = n.time
    for n in run.kind('GOT'):
        b = run.sent(n.id)
        if b is not None and b.kind == 'ALL' and arrived.get((n.born, n.stay), 2**64) < b.time:
            key = n.id, n.pe
            seen[key] = min(seen.get(key, n.time), n.time)
    gone = {(n.value, n.target) for n in run.kind('GONE')}
    for b in alls:
        part = program.part(b.part)
        members = part.members(program) if b.lane >= SECTION else None
        over = run.rest or any(b.time < q for q in quiet)
        for life in run.lives(b.value):
            if members is not None and life.number not in members:
                if (b.id, life.born) in got:
                    broken.append(Broken('a multicast reaches members only', describe(run, b), f'{run.who(life)} got it', life.time))
                continue
            has = got.get((b.id, life.born))
            must, why = due(run, b, life, seen, quiet)
            if must is True and not has and over and (b.value, life.number) not in gone:
                broken.append(Broken('an element gets each broadcast that its creator had not seen when it inserted it',
                                     f'{describe(run, b)}, {why}', f'{run.who(life)} never got it', b.time))
            if must is False and has:
                broken.append(Broken('an element gets no broadcast that its creator had seen when it inserted it',
                                     f'{describe(run, b)}, {why}', f'{run.who(has)} got it', has.time))
    return broken


def due(run, b, life, seen, quiet):
    """Whether this life of an element must get broadcast b: True, False, or None where nothing is promised."""
    if not life.id and run.program.coll(life.coll).demanded:
        return (True, 'begun after a call had made the element') if life.time < b.time else (None, '')
    if not life.id:
        return True, 'the element was there from the beginning'
    made = run.sent(life.id)
    if made is None or not made.more:
        return None, ''
    if made.more < b.time:
        return True, f'begun {(b.time - made.more) // 1000} us after the {describe(run, made)}'
    if any(b.time < q < made.time for q in quiet):
        return False, f'over before the {describe(run, made)}'
    if seen.get((b.id, made.pe), 2**64) < made.time:
        return False, f'handled on PE {made.pe} before the {describe(run, made)}'
    return None, ''


def order(program, run):
    """Calls of one lane from one PE reach an element in the order in which they were made."""
    broken, last = [], {}
    for n in sorted(run.kind('GOT'), key=lambda n: (n.time, n.seq)):
        sent = run.sent(n.id)
        if sent is None or sent.lane == NO_ORDER or getattr(program.part(sent.part), 'in_rounds', False):
            continue
        # Calls reach the next element with their index; a new element may get broadcasts that the last one has had.
        key = [sent.pe, sent.lane, sent.kind, n.coll, n.number if sent.kind == 'SEND' else n.born]
        if CHANNEL <= sent.lane < SECTION:
            key += [sent.born, sent.stay]
        key = tuple(key)
        before = last.get(key)
        if before is not None and sent.place < before.place:
            broken.append(Broken('calls keep their order', f'{describe(run, sent)}, before {describe(run, before)}',
                                 f'after it at {run.who(n)} (lane {sent.lane})', n.time))
        else:
            last[key] = sent
    return broken


def parts(program, run):
    return [b for p in program.parts for b in p.check(program, run)]


def quiescence(program, run):
    """When quiescence is told, all that was sent before has been handled."""
    broken = []
    told = sorted(n.time for n in run.kind('QUIET'))
    for n in run.kind('GOT', 'BORN', 'LANDED', 'RESULT'):
        sent = run.sent(n.id) if n.kind in ('GOT', 'BORN') else None
        if sent is not None:
            early = [q for q in told if sent.time < q < n.time]
            if early:
                broken.append(Broken('quiescence waits for all calls', describe(run, sent),
                                     f'handled {(n.time - early[0]) // 1000} us after it at {run.who(n)}', n.time))
    return broken


def end(program, run):
    if run.code == 0 and run.ended:
        return []
    return [Broken('the program runs to its end', 'exit code 0', f'exit code {run.code}: {run.complaint()}')]
