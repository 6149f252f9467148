# SPDX-License-Identifier: Apache-2.0
"""A program as plain data: collections, parts (what they do, by which feature), the shape and the environment of a run."""

import copy
import math

# Lanes: calls of one lane keep their order (GUIDE.md, "Order"); 0 promises none. note.h carries them.
NO_ORDER, PLAIN, EXPEDITED, AGGREGATE = 0, 1, 2, 3
PRIO = 1000          # + priority
CHANNEL = 1 << 16    # + part * 4096 + size
SECTION = 1 << 28    # + part whose section it is


class Coll:
    """A collection of chares. Elements have numbers 0 .. n - 1; elements that are inserted later have higher ones."""

    def __init__(self, number, kind, dims=(1,), sparse=False, where='default', offset=0):
        self.number, self.kind, self.dims, self.sparse, self.where, self.offset = \
            number, kind, tuple(dims), sparse, where, offset
        self.name = {'main': 'Main', 'array': 'A', 'group': 'G', 'nodegroup': 'N', 'chare': 'C'}[kind] + ('' if kind == 'main' else str(number))
        self.proxy = 'mainProxy' if kind == 'main' else self.name.lower()

    def count(self, program):
        return {'group': program.pes, 'nodegroup': program.nodes, 'array': math.prod(self.dims)}.get(self.kind, 1)

    @property
    def demanded(self):
        """No element is there in the beginning; calls make them."""
        return self.where == 'demand'

    @property
    def moves(self):
        return self.kind == 'array'

    def el(self, number):
        """The C expression of the element with this number."""
        if self.kind == 'array':
            return f'{self.name}_el({number})'
        return f'{self.name}_at({self.proxy}, {number})' if self.kind in ('group', 'nodegroup') else self.proxy

    def this(self):
        return {'array': f'{self.name}_thisElement(self)', 'group': f'{self.name}_at({self.proxy}, CkMyPe())',
                'nodegroup': f'{self.name}_at({self.proxy}, CkMyNode())'}.get(
            self.kind, self.proxy)


class Program:
    def __init__(self, seed):
        self.seed = seed
        self.nodes, self.per_node = 1, 1
        self.env = {}
        self.phases, self.ticks = 1, 1
        self.colls, self.parts = [], []
        self.quiet_start = True    # quiescence comes between the insertions of the start and the first phase
        self.pace = 'self'         # who sends an element its next tick: itself, or a neighbour that it asks (echo)
        self.optimize = '-O0'
        self.saved = False         # all its chares can be packed, so that checkpoints can be taken (CK_CHECKPOINT)
        self.kills = ()            # nodes that die, and when: seconds after the one before, numbers
        self.again = None          # afterwards it starts again from its last checkpoint, in this shape

    @property
    def pes(self):
        return self.nodes * self.per_node

    def coll(self, number):
        return next(c for c in self.colls if c.number == number)

    def part(self, number):
        return next((p for p in self.parts if p.number == number), None)

    def without(self, feature):
        """The same program without a feature; parts that act behind one that goes, go."""
        p = copy.deepcopy(self)
        p.env = {k: v for k, v in p.env.items() if feature not in (k, f'{k}={v}')}
        p.keep([x for x in p.parts if feature not in x.features(p)])
        return p

    def keep(self, parts):
        while True:
            live = {x.number for x in parts}
            rest = [x for x in parts if x.hook is None or x.hook in live]
            if len(rest) == len(parts):
                break
            parts = rest
        self.parts = parts

    def features(self):
        """Everything that can be taken out, by name."""
        return sorted({f for p in self.parts for f in p.features(self)} | {f'{k}={v}' for k, v in self.env.items()})


class Part:
    """Something that a program does in one collection, `on`. A kind of part is a class in parts/: how it is drawn, what it
    looks like in C, and what must have come of it."""

    simple = {}      # field: the values that make it simpler; of numbers only lower ones count

    def __init__(self, number, on, **fields):
        self.number, self.on = number, on
        # When it acts: in which phases, in every how many-th tick beginning with which, or behind which part's handler.
        self.phases, self.every, self.first, self.hook = ~0, 1, 0, None
        self.only = None       # the only element that acts; None: all that were there from the beginning
        self.__dict__.update(fields)

    def features(self, program):
        return [type(self).__name__.lower()]

    def uses(self):
        """Numbers of the collections that it cannot do without."""
        return [self.on]

    # C, for collection c: lines or blocks of text.
    def entries(self, program, c): return []
    def declarations(self, program): return []      # in the .ci file's module
    def types(self, program): return ''             # in the header for the parameters
    def fields(self, program, c): return []
    def prototypes(self, program, c): return ''
    def pup(self, program, c): return ''
    def act(self, program): return None             # the body of X_act<number>, which does it once
    def handlers(self, program, c): return ''
    def go(self, program, c): return ''             # when a phase begins
    def main_starts(self, program): return ''       # in the main chare's constructor
    def between(self, program): return ''           # what the main chare does before each phase but the first, when all is quiet

    def hook_names(self):
        """Where others may act: behind its handlers."""
        return []

    def check(self, program, run):
        """Broken promises, as Broken."""
        return []


class Broken:
    def __init__(self, promise, promised, seen, time=0):
        self.promise, self.promised, self.seen, self.time = promise, promised, seen, time
