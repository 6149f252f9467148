# SPDX-License-Identifier: Apache-2.0
"""A program as data -> x.ci and x.c."""



MAPPED = ('hash', 'last')


def exclusive(entry):
    """One handler of a node's member at a time: they share its notes."""
    return entry.replace('entry [', 'entry [exclusive, ', 1) if entry.startswith('entry [') else entry.replace('entry ', 'entry [exclusive] ', 1)


def ci_file(program):
    lines = ['mainmodule x {', '\tinclude "x.h";']
    for c in program.colls:
        lines.append(f'\treadonly CProxy_{c.name} {c.proxy};')
    lines += [f'\t{d}' for p in program.parts for d in p.declarations(program)]
    if any(getattr(p, 'way', '') == 'pup' for p in program.parts):
        lines.append('\tpup pile { int n; uint64_t *v [self->n]; };')
    lines.append('\tinitproc void note_open(void);')
    if any(c.where in MAPPED for c in program.colls):
        lines.append('\tinitnode void maps(void);')
    for c in program.colls:
        kind = {'main': 'mainchare', 'group': 'group', 'nodegroup': 'nodegroup', 'chare': 'chare',
                'array': f'array [{len(c.dims)}D]'}[c.kind]
        new = {'main': 'CkArgMsg *m', 'array': '' if c.demanded else 'uint64_t id, int phase'}.get(c.kind, 'uint64_t id')
        entries = [e for p in program.parts for e in p.entries(program, c)]
        if c.kind == 'main':
            entries += ['entry void quiet();', 'entry void ticking(uint64_t id, int more);']
        if c.kind == 'nodegroup':
            entries = [exclusive(e) for e in entries]
        entries.insert(0, f'entry {c.name}({new});')
        lines += [f'\t{kind} {c.name} {{'] + [f'\t\t{e}' for e in entries] + ['\t};']
        if c.kind == 'array':
            lines.append(f'\tpup {c.name} [on_arrived];')
        elif program.saved:
            lines.append(f'\tpup {c.name};')
    if program.saved:
        lines += ['\tgroup Book { entry Book(); };', '\tpup Book;']
    return '\n'.join(lines + ['};']) + '\n'


HEADER = '''#include "ck.h"
#include "note.h"
struct load { uint64_t v[3]; };
typedef struct pile { int n; uint64_t *v; } pile;
'''


def index_macros(c):
    """From numbers to indices and back."""
    parts, below = [], 1
    for d in reversed(c.dims):
        parts.insert(0, (below, d))
        below *= d
    nd, off = len(c.dims), c.offset
    names = {1: [''], 2: ['.x', '.y'], 3: ['.x', '.y', '.z'], 4: ['.w', '.x', '.y', '.z'],
             5: ['.v', '.w', '.x', '.y', '.z'], 6: ['.x1', '.y1', '.z1', '.x2', '.y2', '.z2']}[nd]
    first = True
    where = []
    for below, d in parts:
        part = f'(i)' if below == 1 else f'(i) / {below}'
        if not first:
            part += f' % {d}'
        where.append(f'{part} + {off}' if off and first else part)
        first = False
    back = ' + '.join(f'(at{n}{f" - {off}" if off and k == 0 else ""}) * {below}' for k, (n, (below, _)) in enumerate(zip(names, parts)))
    type_ = 'int' if nd == 1 else f'CkIndex{nd}D'
    return f'''#define {c.name}_el(i) {c.name}_at({c.proxy}, {', '.join(where)})
#define {c.name}_ix(i) {c.name}_index({', '.join(where)})
static inline int {c.name}_number(struct {c.name} *self) {{ {type_} at = {c.name}_thisIndex(self); return {back}; }}
'''


MAPS = '''
static int hash_map(CkIndex i, CkArrayDims d, int pes)
{
	(void)d;
	return (int)(note_mix((uint64_t)(uint32_t)i.v[0] | (uint64_t)(uint32_t)i.v[1] << 32 ^ (uint64_t)i.v[2] << 17) % (uint64_t)pes);
}
static int last_map(CkIndex i, CkArrayDims d, int pes) { (void)i, (void)d; return pes - 1; }
void maps(void)
{
	CkRegisterMap("hash", hash_map);
	CkRegisterMap("last", last_map);
}
'''


def chare(program, c):
    fields = ['struct being me;', 'int phase, t;'] + [f for p in program.parts for f in p.fields(program, c)]
    if c.kind == 'array':
        fields.append('uint64_t *own;')
    fields.sort(key=lambda f: '*' in f)       # behind the plain ones, which are packed as bytes
    fields.sort(key=lambda f: '*' in f and '*own' not in f)
    text = f'\nstruct {c.name} {{\n' + ''.join(f'\t{f}\n' for f in fields) + '};\n'
    if c.kind == 'array':
        text += index_macros(c)
    elif c.kind == 'group':
        text += f'#define {c.name}_ix(i) {c.name}_index(i)\n'
    return text


def code(program, c):
    """Functions and handlers of a collection."""
    a, text = c.name, ''
    acting = [(p, p.act(program)) for p in program.parts if p.on == c.number and p.act(program)]
    text += ''.join(p.prototypes(program, c) for p in program.parts)
    text += ''.join(f'static void {a}_act{p.number}(struct {a} *self);\n' for p, _ in acting)
    text += f'static void {a}_next(struct {a} *self);\n'
    if c.kind == 'array':
        new, id_, phase = ('', '0', '1 << 20') if c.demanded else (', uint64_t id, int phase', 'id', 'phase')
        text += f'''void {a}_on_new({a} *self{new})
{{
	note_birth(&self->me, {c.number}, {a}_number(self), {id_});
	self->phase = {phase};
	self->own = malloc(4 * sizeof *self->own);
	note_fill(self->own, 4, self->me.born);
}}
void {a}_pup(pup_er p, {a} *self)
{{
	pup_bytes(p, self, offsetof({a}, own));
	self->own = pup_alloc(p, self->own, 4 * sizeof *self->own);
	pup_bytes(p, self->own, 4 * sizeof *self->own);
''' + ''.join(p.pup(program, c) for p in program.parts) + f'''}}
void {a}_on_arrived({a} *self)
{{
	self->me.stay++;
	note_plain(&self->me, NOTE_ARRIVED, 0, 0, !note_same(self->own, 4, self->me.born), 0);
}}
'''
    elif c.kind == 'group':
        text += f'void {a}_on_new({a} *self, uint64_t id) {{ note_birth(&self->me, {c.number}, CkMyPe(), id); self->phase = -1; }}\n'
    elif c.kind == 'nodegroup':
        text += f'void {a}_on_new({a} *self, uint64_t id) {{ note_birth(&self->me, {c.number}, CkMyNode(), id); self->phase = -1; }}\n'
    elif c.kind == 'chare':
        text += f'void {a}_on_new({a} *self, uint64_t id) {{ note_birth(&self->me, {c.number}, 0, id); self->phase = -1; }}\n'
    if program.saved and c.kind != 'array':
        text += f'void {a}_pup(pup_er p, {a} *self) {{ pup_bytes(p, self, sizeof *self); }}\n'
    for p in sorted(program.parts, key=lambda p: p.number == 0):
        text += p.handlers(program, c)
    for p, body in acting:
        text += f'\n/* {", ".join(p.features(program))} */\nstatic void {a}_act{p.number}(struct {a} *self)\n{{\n{body}}}\n'
    return text


# What the PEs have noted goes back with the job.
BOOK = '''
void Book_on_new(Book *self) { (void)self; }
void Book_pup(pup_er p, Book *self) { (void)self; note_pup(p); }
'''


def main_chare(program):
    text = (BOOK if program.saved else '') + '''
static void next_phase(struct Main *self)
{
	int phase = self->begun++;

	if (phase == PHASES) {
		note_plain(&self->me, NOTE_END, 0, 0, 0, 0);
		CkExit(0);
		return;
	}
'''
    for c in program.colls:
        if c.kind in ('array', 'group', 'nodegroup'):
            text += f'\t{c.name}_go_all({c.proxy}, note_all(&self->me, 0, 1, {c.number}), phase);\n'
        elif c.kind == 'chare':
            text += f'\t{c.name}_go({c.proxy}, note_send(&self->me, 0, 1, {c.number}, 0), phase);\n'
    text += '''	Main_go(mainProxy, note_send(&self->me, 0, 1, 0, 0), phase);
	note_plain(&self->me, NOTE_QUIET_ASKED, 0, 0, 0, 0);
	CkStartQD(Main_cb_quiet(mainProxy));
}
void Main_on_quiet(Main *self)
{
	if (!self->asked)
		self->asked = note_time();
	if (self->ticking && note_time() - self->asked < PATIENCE) {    /* somebody is in a sync */
		CkStartQD(Main_cb_quiet(mainProxy));
		return;
	}
	self->asked = 0;
	note_plain(&self->me, NOTE_QUIET, 0, 0, 0, 0);
'''
    between = ''.join(p.between(program) for p in program.parts)
    if between:
        text += f'''	if (self->begun && self->begun < PHASES && (self->ready = !self->ready)) {{
{between}		CkStartQD(Main_cb_quiet(mainProxy));
		return;
	}}
'''
    text += '''	next_phase(self);
}
void Main_on_ticking(Main *self, uint64_t id, int more)
{
	note_got(&self->me, 0, id, true, 0);
	self->ticking += more;
}
void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	note_birth(&self->me, 0, 0, 0);
	self->phase = -1;
	mainProxy = Main_thisProxy(self);
'''
    for c in program.colls:
        if c.demanded:
            text += f'\t{c.proxy} = {c.name}_ckNewEmpty();\n'
        elif c.kind == 'array' and c.sparse:
            # Calls of an element that has just been destroyed wait only while inserting goes on.
            again = any(type(p).__name__ == 'Destroys' and p.to == c.number for p in program.parts)
            done = '' if again else f'\t{c.name}_doneInserting({c.proxy});\n'
            text += f'''	{c.proxy} = {c.name}_ckNewEmpty();
	for (int i = 0; i < {c.count(program)}; i++) {{
		uint64_t id = note_insert(&self->me, 0, {c.number}, i);

		{c.name}_insert({c.el('i')}, {'CK_PE_ANY' if c.where == 'default' else 'note_choose(&self->me, CkNumPes())'}, id, -1);
		note_inserted(id);
	}}
{done}'''
        elif c.kind == 'array':
            map_ = f', .map = "{c.where}"' if c.where != 'default' else ''
            text += f'\t{c.proxy} = {c.name}_ckNew_opt(&(CkArrayOptions){{.dims = CkDims({", ".join(map(str, c.dims))}){map_}}}, (uint64_t)0, -1);\n'
        elif c.kind in ('group', 'nodegroup'):
            text += f'\t{c.proxy} = {c.name}_ckNew((uint64_t)0);\n'
        elif c.kind == 'chare':
            text += f'\t{c.proxy} = {c.name}_ckNew({c.where}, (uint64_t)0);\n'
    if program.saved:
        text += '\tBook_ckNew();\n'
    text += ''.join(p.main_starts(program) for p in program.parts)
    text += '\tCkStartQD(Main_cb_quiet(mainProxy));\n}\n' if program.quiet_start else '\tnext_phase(self);\n}\n'
    return text


def c_file(program):
    types = [c for c in program.colls]
    text = f'''#include <stdlib.h>
#include <string.h>
#include "ckdirect.h"
#include "ckchannel.h"
#include "x.decl.h"

#define PATIENCE 15000000000u /* ns */
enum {{ PHASES = {program.phases}, TICKS = {program.ticks} }};
'''
    for c in types:
        body = chare(program, c)
        if c.kind == 'main':
            body = body.replace('int phase, t;', 'int phase, t, begun, ready, ticking;\n\tuint64_t asked;')
        text += body
    if program.saved:
        text += 'struct Book { char unused; };\n'
    if any(c.where in MAPPED for c in types):
        text += MAPS
    for c in types:
        text += '\n' + code(program, c)
    return text + main_chare(program) + '#include "x.def.h"\n'


def write(program, folder):
    (folder / 'x.ci').write_text(ci_file(program))
    (folder / 'x.c').write_text(c_file(program))
    (folder / 'x.h').write_text(HEADER + ''.join(p.types(program) for p in program.parts))
