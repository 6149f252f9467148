# SPDX-License-Identifier: Apache-2.0
"""What a Chard program does, for gdb: on a live process or a core file.

    (gdb) source PREFIX/share/chard/chard-gdb.py
    (gdb) help chard

It reads the runtime's structs by their debug information and calls nothing in the program, so it works where
the program cannot run any more. Values that the optimiser or a damaged process has spoilt are told as such.
"""

import sys

import gdb

LINES_MOST = 50                        # of one list, unless all are asked for
MAIN, ARRAY, GROUP, CHARE, NODEGROUP = 1, 2, 3, 4, 5
NAME_BITS = 44                         # CK_NAME_BITS in env.h
KINDS = {1: 'main chare', 2: 'array', 3: 'group', 4: 'chare', 5: 'nodegroup'}
CHANNEL_STATES = ['free', 'consumed', 'marked', 'armed', 'fired']


# ---- the runtime's structs ---------------------------------------------------------------------------

def pointer_to(name):
    return gdb.lookup_type(name).pointer()


def text(value):
    """A C string, or '?' for NULL."""
    return value.string() if int(value) else '?'


def chain(first, link='next'):
    """The items of a list that ends in NULL. A list that goes round, which only a damaged one does, ends too."""
    seen = set()
    while int(first) and int(first) not in seen:
        seen.add(int(first))
        yield first
        first = first[link]


def struct_pe_of_frame():
    """A PE that a frame of the selected thread has as an argument, for core files without thread-local memory."""
    frame = gdb.newest_frame()
    while frame is not None:
        try:
            pe = frame.read_var('pe')
            if str(pe.type.strip_typedefs()) == 'struct pe *' and not pe.is_optimized_out and int(pe):
                return pe
        except (ValueError, gdb.error):
            pass
        frame = frame.older()
    return None


def struct_pe_of_thread():
    """The PE that runs on the selected thread, or None."""
    try:
        pe = gdb.parse_and_eval('csd_self_')
        return pe if int(pe) else None
    except gdb.error:
        return struct_pe_of_frame()


def any_pe():
    before = gdb.selected_thread()
    if before is None:
        raise gdb.GdbError('chard: no program runs, and there is no core file')
    frame = gdb.selected_frame()
    try:
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            pe = struct_pe_of_thread()
            if pe is not None:
                return pe
    finally:
        before.switch()
        frame.select()
    raise gdb.GdbError('chard: no thread of this process runs a PE: the job has not started or has ended, '
                       'or the runtime has no debug information')


def all_pes():
    """The PEs of this node, in order."""
    node = any_pe()['node']
    for local in range(int(node['job']['my_n_pes'])):
        pe = node['pes'][local]
        if int(pe):
            yield pe


def chosen_pes(argument):
    if not argument:
        return list(all_pes())
    if not argument.isdigit():
        raise gdb.GdbError('chard: give the number of a PE, not "%s"' % argument)
    found = [pe for pe in all_pes() if int(pe['id']) == int(argument)]
    if not found:
        raise gdb.GdbError('chard: PE %s is not in this process, which has PEs %s' % (
            argument, ', '.join(str(int(pe['id'])) for pe in all_pes())))
    return found


def layer_state(owner, node, name, struct):
    """What a layer of the runtime keeps for a PE or for the node; None: it has not started."""
    config = node['cfg']
    for i in range(int(config['n_layers'])):
        layer = config['layers'][i]
        if text(layer['name']) == name:
            state = owner['layer'][int(layer['slot'])]
            return state.cast(pointer_to(struct)).dereference() if int(state) else None
    return None


def ck_of(pe):
    return layer_state(pe, pe['node'], 'chare', 'struct ck_pe')


def part_state(pe, name, struct, of=None):
    """The same of a part of the chare layer; of: of a collection."""
    ck, of_node = ck_of(pe), layer_state(pe['node'], pe['node'], 'chare', 'struct ck_node')
    parts = of_node['parts'] if ck is not None else []
    for i in range(parts.type.range()[1] + 1 if ck is not None else 0):
        if int(parts[i]) and text(parts[i]['name']) == name:
            state = (of or ck)['state'][i]
            return state.cast(pointer_to(struct)).dereference() if int(state) else None
    return None


def collections(pe):
    """All collections that the PE knows, by id."""
    found = {}
    ck = ck_of(pe)
    if ck is None:
        return []
    slots = ck['colls']
    for i in range(int(slots['mask']) + 1 if int(slots['slot']) else 0):
        value = slots['slot'][i]['value']
        if int(value):
            coll = value.cast(pointer_to('struct collection')).dereference()
            found[int(coll['id'])] = coll
    return [found[i] for i in sorted(found)]


def singletons(pe):
    """The singleton chares of the PE: objects, which belong to no collection."""
    state = part_state(pe, 'single', 'struct single')
    if state is None:
        return
    names = state['names']
    for i in range(int(names['mask']) + 1 if int(names['slot']) else 0):
        value = int(names['slot'][i]['value'])
        if value and not value & 1:    # the others are messages that came before their chare
            yield gdb.Value(value).cast(pointer_to('struct ck_obj'))


STUB = 1 << 30                     # OBJ_STUB in collection.h: the slot of an element that is away


def elements(coll):
    """The elements that live on the PE: those that it counts, then those that have come from others."""
    for i in range(int(coll['n_slots']) if int(coll['elems']) else 0):
        obj = coll['elems'][i]
        if int(obj) and not int(obj['extra']) & STUB:
            yield obj
    guests = coll['guests']
    for i in range(int(guests['n']) if int(guests) else 0):
        if int(guests['list'][i]):
            yield guests['list'][i]


def chare_name(coll):
    return text(coll['type']['name']) if int(coll['type']) else '(not known here yet)'


def plural(n, one, many):
    """1 call, 3 calls"""
    return '%d %s' % (n, one if n == 1 else many)


def numbers_of(kind, index):
    """The numbers of an index, or the bytes of a type of the program's."""
    words = [int(index['v'][i]) for i in range(3)]
    image = b''.join(word.to_bytes(4, sys.byteorder, signed=True) for word in words)
    nd, own = max(1, int(kind['nd'])), int(kind['index_bytes'])
    if own:
        return ' '.join('%02x' % byte for byte in image[:own])
    if nd > 3:
        words = [int.from_bytes(image[at:at + 2], sys.byteorder, signed=True) for at in range(0, 12, 2)]
    return ', '.join(map(str, words[:nd]))


def element_name(kind, index):
    """As the runtime's lines name it: Cell(3, 4), Member of PE 2, Branch of node 1, Main, Lone 5 of PE 0."""
    name, first = text(kind['name']), int(index['v'][0])
    if int(kind['kind']) == CHARE:
        number = first & 0xffffffff | (int(index['v'][1]) & 0xffffffff) << 32
        return '%s %d of PE %d' % (name, number & ((1 << NAME_BITS) - 1), number >> NAME_BITS)
    return {ARRAY: '%s(%s)' % (name, numbers_of(kind, index)), GROUP: '%s of PE %d' % (name, first),
            NODEGROUP: '%s of node %d' % (name, first)}.get(int(kind['kind']), name)


def name_of(obj):
    coll = obj['coll']
    return element_name(coll['type'], obj['index']) if int(coll['type']) else chare_name(coll)


def id_name(number):
    return '%d.%d' % (number >> 32, number & 0xffffffff)


# ---- what is printed ----------------------------------------------------------------------------------

def cut(lines, everything):
    """Prints lines, not too many of them."""
    lines = list(lines)
    most = len(lines) if everything else LINES_MOST
    for line in lines[:most]:
        print(line)
    if len(lines) > most:
        print('  ... and %d more (chard ... all)' % (len(lines) - most))


def split_all(argument):
    words = argument.split()
    everything = 'all' in words
    return ' '.join(word for word in words if word != 'all'), everything


def end_name(pe, element):
    for coll in collections(pe):
        if int(coll['id']) == int(element['id']) and int(coll['type']):
            return element_name(coll['type'], element['index'])
    return 'an element of an array that is not known here yet'


def channel_name(pe, owner, raw):
    """Of a named channel's end as the runtime's lines name it; of another end `raw`."""
    if not int(owner):
        return raw
    name = owner.cast(pointer_to('struct CkChannel'))['name']
    entry = 'a channel'
    for coll in collections(pe):
        if int(coll['id']) == int(name['to']['id']) and int(coll['type']):
            entry = '%s::%s' % (chare_name(coll), text(coll['type']['entries'][int(name['entry'])]['name']))
    return 'channel %s(%d) from %s to %s' % (entry, int(name['tag']), end_name(pe, name['from']),
                                             end_name(pe, name['to']))


def running(pe):
    ck = ck_of(pe)
    obj = ck['now']['obj'] if ck is not None else None
    if obj is None or not int(obj):
        return ''
    coll = obj['coll']
    entry = coll['type']['entries'][int(ck['now']['entry'])]
    return 'in %s::%s of %s' % (chare_name(coll), text(entry['name']), name_of(obj))


def queued(pe):
    """(how, message) in the order in which they would run, as far as that is fixed."""
    queue = pe['queue']
    for m in chain(queue['expedited']['head']):
        yield 'expedited', m
    heap = sorted((int(queue['heap'][i]['key']), int(queue['heap'][i]['order']), queue['heap'][i]['m'])
                  for i in range(int(queue['n_heap'])))
    for key, _, m in heap:
        if key < 0:
            yield 'priority %d' % key, m
    for m in chain(queue['plain']['head']):
        yield '', m
    for key, _, m in heap:
        if key >= 0:
            yield 'priority %d' % key, m
    if int(queue['random']):
        for i in range(int(queue['random']['n'])):
            for m in chain(queue['random']['streams'][i]['fifo']['head']):
                yield 'any order', m
    for m in reversed(list(inbox(pe))):
        yield 'in the inbox', m


def inbox(pe):
    top = pe['inbox']['top']
    yield from chain(top.cast(gdb.lookup_type('unsigned long')).cast(pointer_to('struct cmi_msg')))
    for i in range(int(pe['n_rings'])):
        yield from ring_pointers(pe['rings']['in'][i])


def ring_pointers(come):
    """Of one ring, newest first, as in a stack. Small calls lie in slots beside it, and are no messages yet."""
    ring, end_of_ring, lap_bit = come['ring'], (1 << 63) - 1, 1 << 63
    at = (int(come['from']['next']) - int(ring['bell']['slot'].address)) // 8
    lap, messages = int(come['from']['lap']), []
    while True:
        word = int(ring['bell']['slot'][at].cast(gdb.lookup_type('unsigned long')))
        if (word ^ lap) & lap_bit:
            return reversed(messages)
        word &= end_of_ring
        if word == end_of_ring:
            ring, at, lap = ring['newer'], 0, lap_bit
            continue
        messages.append(gdb.Value(word).cast(pointer_to('struct cmi_msg')))
        at += 1
        if at == int(ring['n_slots']):
            at, lap = 0, lap ^ lap_bit


def describe_call(pe, m):
    """Of a chare message: the collection and the entry that it calls."""
    env = m.cast(pointer_to('struct ck_env'))
    for coll in collections(pe):
        if int(coll['id']) == int(env['coll']) and int(coll['type']):
            entry = int(env['entry'])
            name = text(coll['entries'][entry]['name']) if entry < int(coll['type']['n_entries']) else '?'
            return ', %s::%s' % (chare_name(coll), name)
    return ''


def describe_message(pe, m):
    handler = int(m['handler'])
    name = text(pe['node']['handlers'][handler]['name']) if handler < int(pe['node']['n_handlers']) else \
        'handler %d, which does not exist' % handler
    call = describe_call(pe, m) if name in ('ck.element', 'ck.bcast') else ''
    return '%s%s from PE %d, %d bytes, (struct cmi_msg *)%#x' % (name, call, int(m['src_pe']), int(m['size']), int(m))


# ---- commands -------------------------------------------------------------------------------------------

class Chard(gdb.Command):
    """What a Chard program does: PEs, queues, chares, channels, threads."""

    def __init__(self):
        super().__init__('chard', gdb.COMMAND_DATA, prefix=True)


class Command(gdb.Command):
    name = ''

    def __init__(self):
        super().__init__('chard ' + self.name, gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        self.show(argument)

    def show(self, argument):
        raise NotImplementedError


class Pes(Command):
    """chard pes: one line for each PE of this process.

It names the entry method that runs, and counts the messages that wait, the program's messages that were
created and processed (all PEs of the job together are equal at quiescence), armed channels and timers."""
    name = 'pes'

    def show(self, argument):
        for pe in all_pes():
            state = running(pe) or ('asleep' if int(pe['sleeping']) else 'in the scheduler')
            print('PE %d: %s; %s, %d created, %d processed; %s armed, %s' % (
                int(pe['id']), state, plural(sum(1 for _ in queued(pe)), 'message waits', 'messages wait'),
                int(pe['n_created']), int(pe['n_processed']), plural(int(pe['armed']), 'channel', 'channels'),
                plural(int(pe['n_timers']), 'timer', 'timers')))


class Queue(Command):
    """chard queue [PE] [all]: the messages that wait on a PE (on all PEs), in the order in which they will run."""
    name = 'queue'

    def show(self, argument):
        which, everything = split_all(argument)
        for pe in chosen_pes(which):
            found = list(queued(pe))
            print('PE %d: %s' % (int(pe['id']), plural(len(found), 'message', 'messages')))
            cut(('  %s%s' % (describe_message(pe, m), ' (%s)' % how if how else '') for how, m in found),
                everything)


class Chares(Command):
    """chard chares [TYPE] [all]: the collections of this process; with a TYPE, its elements.

An element is shown with its index, its PE and a pointer to the program's struct, which print *POINTER shows."""
    name = 'chares'

    def show(self, argument):
        which, everything = split_all(argument)
        lines = self.elements(which) if which else self.collections()
        lines = list(lines)
        if which and not lines:
            raise gdb.GdbError('chard: no element of a type "%s" is in this process (chard chares lists the '
                               'types)' % which)
        cut(lines, everything)

    def collections(self):
        for pe in all_pes():
            for coll in collections(pe):
                known = int(coll['type'])
                kind = KINDS.get(int(coll['type']['kind']), '?') if known else 'collection'
                waiting = sum(1 for _ in chain(coll['waiting']['head']))
                calls = int(part_state(pe, 'wait', 'struct wait_coll', coll)['n_waiting'])
                yield 'PE %d: %s %s, id %s: %s here%s%s' % (
                    int(pe['id']), kind, chare_name(coll), id_name(int(coll['id'])),
                    plural(sum(1 for _ in elements(coll)), 'element', 'elements'),
                    ', %d of them with calls that wait' % calls if calls else '',
                    ', %s for it' % plural(waiting, 'message waits', 'messages wait') if waiting else '')
            for name, n in self.single_types(pe):
                yield 'PE %d: chare %s: %d here' % (int(pe['id']), name, n)

    @staticmethod
    def single_types(pe):
        count = {}
        for obj in singletons(pe):
            name = chare_name(obj['coll'])
            count[name] = count.get(name, 0) + 1
        return sorted(count.items())

    def elements(self, which):
        for pe in all_pes():
            for coll in collections(pe):
                if not int(coll['type']) or chare_name(coll) != which:
                    continue
                for obj in elements(coll):
                    yield 'PE %d: %s (%s *)%#x' % (int(pe['id']), name_of(obj), which, int(obj + 1))
            for obj in singletons(pe):
                if chare_name(obj['coll']) == which:
                    yield 'PE %d: %s (%s *)%#x' % (int(pe['id']), name_of(obj), which, int(obj + 1))


class Channels(Command):
    """chard channels [PE] [all]: CkDirect channels with an end in this process.

Of a receiving end it tells the state and how many puts have been handled; of a sending end how many puts
were made. A channel waits for its sender while it is armed and both numbers are equal."""
    name = 'channels'

    def show(self, argument):
        which, everything = split_all(argument)
        lines = []
        for pe in chosen_pes(which):
            d = layer_state(pe, pe['node'], 'direct', 'struct direct_pe')
            if d is not None:
                lines += list(self.receivers(pe, d)) + list(self.senders(pe, d))
        cut(lines or ['no channels'], everything)

    @staticmethod
    def block():
        return int(gdb.lookup_type('struct direct_channel_block')['hot'].type.range()[1]) + 1

    def receivers(self, pe, d):
        each = self.block()
        for i in range(int(d['n_channels'])):
            block = d['channel_blocks'][i // each].dereference()
            hot, rest = block['hot'][i % each], block['rest'][i % each]
            state = int(hot['state'])
            if state:
                owner = rest['data'] if int(hot['named']) else 0
                yield 'PE %d: %s receives %d bytes at %#x: %s, %s handled' % (
                    int(pe['id']), channel_name(pe, owner, 'channel %d' % i), int(rest['bytes']),
                    int(rest['buf']), CHANNEL_STATES[state] if state < len(CHANNEL_STATES) else
                    'state %d?' % state, plural(int(rest['iteration']), 'put', 'puts'))

    def senders(self, pe, d):
        each = self.block()
        for i in range(int(d['n_sender_blocks']) * each):
            s, hot = d['sender_blocks'][i // each][i % each], d['senders'][i]
            if int(s['path']) or int(s['owner']):
                raw = 'channel %d of PE %d' % (int(s['channel']), int(s['receiver']))
                yield 'PE %d: sends to %s, %d bytes: %s made%s' % (
                    int(pe['id']), channel_name(pe, s['owner'], raw), int(s['bytes']),
                    plural(int(hot['iteration']), 'put', 'puts'), ', the last one is under way' if int(hot['not_plain']) & 1 else '')


class Threads(Command):
    """chard threads [PE] [all]: the runtime's threads ([threaded] entries, Structured Dagger) of each PE."""
    name = 'threads'

    def show(self, argument):
        which, everything = split_all(argument)
        for pe in chosen_pes(which):
            threads = pe['threads']
            live = list(chain(threads['live'])) if int(threads) else []
            print('PE %d: %s' % (int(pe['id']), plural(len(live), 'thread', 'threads')))
            cut(('  (CthThread)%#x: %s, began in %s' % (
                int(t), 'runs' if int(t) == int(pe['thread']) else 'does not run', t['fn'])
                for t in live), everything)


Chard()
for command in Pes, Queue, Chares, Channels, Threads:
    command()
