// SPDX-License-Identifier: Apache-2.0
// data.js: what a trace says, in tables that can be searched by time. page_data.c describes the bytes that are read here.
// All times are ns since the start of the trace.
'use strict';

const job = JSON.parse(document.getElementById('job').textContent);

const BAR = 0, RESUMED = 1, BLOCK = 2, MOMENT = 3, COUNTER = 4, SENT = 5;
const HAS_ARROW = 8, HAS_ELEMENT = 16, NAME_SHIFT = 32;
const NONE = -1;

// Rows of numbers, a typed array for each column.
class Table {
	constructor(columns) {
		this.columns = columns;
		this.n = 0;
		this.room = 64;
		for (const c in columns)
			this[c] = new columns[c](this.room);
	}

	add() {
		if (this.n === this.room) {
			this.room *= 2;
			for (const c in this.columns) {
				const larger = new this.columns[c](this.room);
				larger.set(this[c]);
				this[c] = larger;
			}
		}
		return this.n++;
	}
}

// A depth of a PE: bars that do not overlap, in the order of time.
const newLane = () => new Table({
	start: Float64Array, len: Float64Array, name: Uint32Array, kind: Uint8Array, arrow: Int32Array,
	element: Int32Array, parent: Int32Array,
});

// `more` is the place in `sent` or `values`.
const newMoments = () => new Table({
	start: Float64Array, name: Uint32Array, kind: Uint8Array, depth: Uint8Array, arrow: Int32Array,
	element: Int32Array, more: Int32Array,
});

// From row to row; `depth` is that of the sending bar (NONE: outside of all), toDepth that of the bar it comes to.
const arrows = new Table({
	from: Uint32Array, sent: Float64Array, depth: Int8Array, to: Uint32Array, taken: Float64Array, toDepth: Int8Array,
	bytes: Float64Array, put: Uint8Array,
});
const elements = new Table({ entry: Uint32Array, x: Int32Array, y: Int32Array, z: Int32Array });
const rows = [];                  // of PEs: { pe, lanes, moments }
const rowOfPe = new Map();
const blocks = [];                // { n, covered, parts: [{ name, own }] }, the longest part first
const sentAway = [];              // { to, bytes } of messages whose handler is not in the trace
const values = [];                // of counters

const idleName = job.names.findIndex(n => n[0] === 'idle');
const putName = job.names.findIndex(n => n[0] === 'put');

// Characters that show nothing, or turn the order of others round, are shown as such.
function visible(text) {
	return text.replace(/[\u0000-\u001f]/g, c => String.fromCharCode(0x2400 + c.charCodeAt(0)))
		.replace(/[\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '\ufffd');
}
const nameOf = name => visible(job.names[name][1]);
const kindOf = name => job.names[name][0];

class Bytes {
	constructor(base64) {
		const text = atob(base64);
		this.at = 0;
		this.bytes = new Uint8Array(text.length);
		for (let i = 0; i < text.length; i++)
			this.bytes[i] = text.charCodeAt(i);
	}

	get more() { return this.at < this.bytes.length; }

	number() {
		let v = 0, unit = 1, b;
		do {
			b = this.bytes[this.at++];
			v += (b & 127) * unit;
			unit *= 128;
		} while (b > 127);
		return v;
	}

	signed() {
		const v = this.number();
		return v % 2 ? -(v + 1) / 2 : v / 2;
	}

	double() {
		const v = new DataView(this.bytes.buffer).getFloat64(this.at, true);
		this.at += 8;
		return v;
	}
}

function readArrow(bytes, row, start, depth, name) {
	const a = arrows.add();
	arrows.from[a] = rowOfPe.get(bytes.number()) ?? 0;
	arrows.sent[a] = start - bytes.number();
	arrows.bytes[a] = bytes.number();
	arrows.depth[a] = bytes.number() - 1;
	arrows.to[a] = row;
	arrows.taken[a] = start;
	arrows.toDepth[a] = depth;
	arrows.put[a] = name === putName ? 1 : 0;
	return a;
}

function readElement(bytes, entry) {
	const e = elements.add();
	elements.entry[e] = entry;
	elements.x[e] = bytes.signed();
	elements.y[e] = bytes.signed();
	elements.z[e] = bytes.signed();
	return e;
}

function readBlock(bytes) {
	const block = { n: bytes.number(), covered: bytes.number(), parts: [] };
	for (let n = bytes.number(); n > 0; n--)
		block.parts.push({ name: bytes.number(), own: bytes.number() });
	block.parts.sort((a, b) => (a.name === idleName) - (b.name === idleName) || b.own - a.own);
	return blocks.push(block) - 1;
}

// Bars inside this one have come before it, and have no parent yet. A block may come late, behind what is inside the
// bar after it.
function setParents(row, depth, number, waiting) {
	const lane = row.lanes[depth], inner = row.lanes[depth + 1], start = lane.start[number], end = start + lane.len[number];
	let i = waiting[depth + 1] ?? 0;
	while (inner && i < inner.n && (inner.start[i] < end || inner.start[i] === start))
		inner.parent[i++] = number;
	waiting[depth + 1] = i;
}

function readBar(bytes, row, kind, name, flags, start, depth, waiting) {
	while (row.lanes.length <= depth)
		row.lanes.push(newLane());
	const lane = row.lanes[depth], i = lane.add();
	lane.start[i] = start;
	lane.len[i] = bytes.number();
	lane.kind[i] = kind;
	lane.parent[i] = NONE;
	lane.arrow[i] = NONE;
	lane.element[i] = NONE;
	lane.name[i] = kind === BLOCK ? readBlock(bytes) : name;
	if (flags & HAS_ARROW)
		lane.arrow[i] = readArrow(bytes, row.number, start, depth, name);
	if (flags & HAS_ELEMENT)
		lane.element[i] = readElement(bytes, name);
	setParents(row, depth, i, waiting);
}

function readMoment(bytes, row, kind, name, flags, start, depth) {
	const m = row.moments, i = m.add();
	m.start[i] = start;
	m.name[i] = name;
	m.kind[i] = kind;
	m.depth[i] = depth;
	m.arrow[i] = NONE;
	m.element[i] = NONE;
	m.more[i] = NONE;
	if (kind === COUNTER)
		m.more[i] = values.push(bytes.double()) - 1;
	else if (kind === SENT)
		m.more[i] = sentAway.push({ to: bytes.signed(), bytes: bytes.number() }) - 1;
	if (flags & HAS_ARROW)
		m.arrow[i] = readArrow(bytes, row.number, start, depth - 1, name);
	if (flags & HAS_ELEMENT)
		m.element[i] = readElement(bytes, bytes.number());
}

function readRow(row, base64) {
	const bytes = new Bytes(base64), waiting = [];
	let start = 0;
	while (bytes.more) {
		const code = bytes.number(), kind = code & 7, flags = code & 24, name = Math.floor(code / NAME_SHIFT);
		start += bytes.signed();
		const depth = bytes.number();
		if (kind <= BLOCK)
			readBar(bytes, row, kind, name, flags, start, depth, waiting);
		else
			readMoment(bytes, row, kind, name, flags, start, depth);
	}
}

// One PE after the other, so that the browser stays awake.
async function readAll(progress) {
	job.pes.forEach((p, number) => {
		rows.push({ ...p, number, lanes: [], moments: newMoments() });
		rowOfPe.set(p.pe, number);
	});
	for (const script of document.querySelectorAll('script.pe')) {
		const row = rows[rowOfPe.get(Number(script.dataset.pe))];
		readRow(row, script.textContent);
		script.remove();
		progress(row.number + 1, rows.length);
		await new Promise(done => setTimeout(done));
	}
}

// The first that starts at or after a time.
function firstFrom(start, n, time) {
	let low = 0, high = n;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (start[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// The first bar that has not ended at a time.
function firstBar(lane, time) {
	const i = firstFrom(lane.start, lane.n, time);
	return i > 0 && lane.start[i - 1] + lane.len[i - 1] > time ? i - 1 : i;
}

const barName = (lane, i) => lane.kind[i] === BLOCK ? blocks[lane.name[i]].parts[0].name : lane.name[i];
const isIdle = (lane, i) => barName(lane, i) === idleName;
