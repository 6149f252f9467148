// SPDX-License-Identifier: Apache-2.0
// panels.js: what is beside the timeline: utilisation over time, the list of entries, grain sizes, and who sends to whom.

// ---- utilisation -----------------------------------------------------------------------------------------

// ns of each name in each of `columns` equal parts of a time, over all PEs. What is inside a bar counts for itself.
function timesByName(from, to, columns) {
	const all = new Map(), perColumn = columns / (to - from);
	const add = (name, start, end, part) => {
		const a = Math.max(0, (start - from) * perColumn), b = Math.min(columns, (end - from) * perColumn);
		if (!(b > a))
			return;
		let sum = all.get(name);
		if (!sum)
			all.set(name, sum = new Float64Array(columns + 1));
		const first = Math.floor(a), last = Math.floor(b);
		if (first === last) {
			sum[first] += part * (b - a);
			return;
		}
		sum[first] += part * (first + 1 - a);
		for (let c = first + 1; c < last; c++)
			sum[c] += part;
		sum[last] += part * (b - last);
	};
	for (const row of rows)
		row.lanes.forEach((lane, depth) => {
			const outer = depth ? row.lanes[depth - 1] : null;
			for (let i = firstBar(lane, from); i < lane.n && lane.start[i] <= to; i++)
				addBar(add, lane, i, outer);
		});
	all.delete(idleName);
	return all;
}

function addBar(add, lane, i, outer) {
	const start = lane.start[i], len = lane.len[i], end = start + len, parent = lane.parent[i];
	let covered = 1;
	if (lane.kind[i] === BLOCK) {
		const block = blocks[lane.name[i]];
		covered = len ? Math.min(1, block.covered / len) : 0;
		for (const p of block.parts)
			add(p.name, start, end, len ? p.own / len : 0);
	} else {
		add(lane.name[i], start, end, 1);
	}
	if (parent !== NONE && outer.kind[parent] !== BLOCK)
		add(outer.name[parent], start, end, -covered);
}

// The runtime's part is at the bottom, then puts, then entries in the order of the list.
function drawUse() {
	const { g, w, h } = fitCanvas(document.getElementById('use'));
	const columns = Math.max(1, Math.floor(w - GUTTER - RIGHT)), top = 12, height = h - top - 6;
	const times = timesByName(view.from, view.to, columns);
	const names = [...times.keys()].sort((a, b) => orderOf(a) - orderOf(b));
	const floor = new Float64Array(columns);
	for (const name of names) {
		const sum = times.get(name);
		g.fillStyle = colours.of[name];
		for (let c = 0; c < columns; c++) {
			const part = Math.max(0, Math.min(1 - floor[c], sum[c] / rows.length));
			if (part * height > 0.02)
				g.fillRect(GUTTER + c, top + height * (1 - floor[c] - part), 1, height * part);
			floor[c] += part;
		}
	}
	g.fillStyle = colours.line;
	for (const part of [0, 0.5, 1])
		g.fillRect(GUTTER, Math.round(top + height * (1 - part)), columns, 1);
	g.fillStyle = colours.quiet;
	g.textAlign = 'right';
	for (const part of [0, 0.5, 1])
		g.fillText(`${100 * part} %`, GUTTER - 6, top + height * (1 - part) - (part ? 0 : 3));
	g.textAlign = 'left';
	g.fillStyle = colours.ink;
	g.fillText('busy', 14, top + 2);
	g.fillStyle = colours.quiet;
	const busy = floor.reduce((a, b) => a + b, 0) / columns;
	g.fillText(showPercent(busy), 14, top + 17);
	counts.busy = busy;
}

function orderOf(name) {
	const kind = kindOf(name), at = listed.findIndex(e => e.name === name);
	return kind === 'handler' ? -2 : kind === 'put' ? -1 : at < 0 ? listed.length + name : at;
}

// The whole run, small, with the part that is in view marked.
const overview = { picture: null };

function paintOverview(w, h) {
	const columns = Math.max(1, Math.floor(w - GUTTER - RIGHT)), busy = new Float64Array(columns);
	for (const sum of timesByName(0, job.end, columns).values())
		for (let c = 0; c < columns; c++)
			busy[c] += sum[c] / rows.length;
	overview.picture = { w, h, busy };
}

function drawOverview() {
	const { g, w, h } = fitCanvas(document.getElementById('overview'));
	if (overview.picture?.w !== w || overview.picture?.h !== h)
		paintOverview(w, h);
	const { busy } = overview.picture, height = h - 10, columns = busy.length;
	g.fillStyle = colours.quiet;
	g.fillText('whole run', 14, h / 2 - (job.end ? 0 : 6));
	g.fillStyle = colours.runtime;
	for (let c = 0; c < columns; c++)
		g.fillRect(GUTTER + c, 5 + height * (1 - Math.min(1, busy[c])), 1, height * Math.min(1, busy[c]));
	const from = GUTTER + view.from / job.end * columns, to = GUTTER + view.to / job.end * columns;
	g.globalAlpha = 0.14;
	g.fillStyle = colours.focus;
	g.fillRect(from, 0, Math.max(2, to - from), h);
	g.globalAlpha = 1;
	g.fillRect(from, 0, 1.5, h);
	g.fillRect(Math.max(to, from + 2) - 1.5, 0, 1.5, h);
}

// ---- entries ----------------------------------------------------------------------------------------------

let listed = [];                  // of job.grains, the longest own time first

function cell(tag, content) {
	const e = document.createElement(tag);
	e.append(content);
	return e;
}

function swatch(name) {
	const s = document.createElement('span');
	s.className = 'swatch';
	s.style.background = colours.of[name];
	return s;
}

function fillLegend() {
	const body = document.querySelector('#legend tbody');
	body.replaceChildren(...listed.map(e => {
		const tr = document.createElement('tr');
		tr.tabIndex = 0;
		tr.dataset.name = e.name;
		tr.append(cell('td', swatch(e.name)), cell('td', nameOf(e.name)), cell('td', grouped(e.calls)),
			cell('td', showTime(e.own)));
		tr.children[1].title = nameOf(e.name);
		tr.onclick = () => chooseEntry(e.name, true);
		tr.onkeydown = key => {
			if (key.key === 'Enter' || key.key === ' ')
				chooseEntry(e.name, true);
		};
		return tr;
	}));
	const explained = [job.names.findIndex(n => n[0] === 'handler'), idleName, ...spansOfProgram()].map(name => {
		const item = document.createElement('span');
		item.append(swatch(name), kindOf(name) === 'handler' ? ' runtime' : ` ${nameOf(name)}`);
		return item;
	});
	const signs = ['▾ arrived', '▸ call taken', '◆ contributes', '● created', '◢ leaves', '◣ has come', '▮ mark'].map(sign => cell('span', sign));
	document.getElementById('others').replaceChildren(...explained, ...signs);
}

// Events of the program that are bars.
function spansOfProgram() {
	const found = new Set();
	for (const lane of rows.flatMap(r => r.lanes))
		for (let i = 0; i < lane.n; i++)
			if (lane.kind[i] === BLOCK)
				blocks[lane.name[i]].parts.forEach(p => found.add(p.name));
			else
				found.add(lane.name[i]);
	return [...found].filter(name => kindOf(name) === 'event').sort((a, b) => a - b);
}

// Show its grain sizes; and, where `mark`, its bars strongly and the others faintly, until it is chosen again.
function chooseEntry(name, mark) {
	shown.grain = name;
	shown.name = mark && shown.name !== name ? name : NONE;
	for (const tr of document.querySelectorAll('#legend tbody tr'))
		tr.setAttribute('aria-selected', Number(tr.dataset.name) === name);
	redraw();
}

// ---- grain sizes --------------------------------------------------------------------------------------------

function drawGrains() {
	const { g, w, h } = fitCanvas(document.getElementById('grains'));
	g.fillStyle = colours.panel;
	g.fillRect(0, 0, w, h);
	const entry = listed.find(e => e.name === shown.grain);
	if (!entry)
		return;
	const used = entry.buckets.map((n, b) => n ? b : -1).filter(b => b >= 0);
	const first = Math.max(0, used[0] - 1), last = Math.min(entry.buckets.length - 1, used[used.length - 1] + 1);
	const most = Math.max(...entry.buckets), top = 16, height = h - top - 18, wide = w / (last - first + 1);
	document.getElementById('grain-name').textContent = nameOf(entry.name);
	document.getElementById('grain-facts').textContent = `${some(entry.calls, 'call')}, ` +
		`${showTime(entry.total)} in all, longest ${showTime(entry.longest)}`;
	g.textAlign = 'center';
	for (let b = first; b <= last; b++) {
		const n = entry.buckets[b], x = (b - first) * wide, high = n ? Math.max(1.5, height * n / most) : 0;
		g.fillStyle = colours.of[entry.name];
		g.fillRect(x + 1, top + height - high, Math.max(1, wide - 2), high);
		g.fillStyle = colours.quiet;
		const count = grouped(n);
		if (n && g.measureText(count).width <= wide)
			g.fillText(count, x + wide / 2, top + height - high - 8);
	}
	g.fillStyle = colours.line;
	g.fillRect(0, top + height, w, 1);
	drawGrainAxis(g, first, last, wide, h);
	g.textAlign = 'left';
	document.getElementById('grains').setAttribute('aria-label', `Grain sizes of ${nameOf(entry.name)}: ` +
		used.map(b => `${grouped(entry.buckets[b])} below ${showTime(job.bucket_ns * 2 ** b)}`).join(', '));
}

function drawGrainAxis(g, first, last, wide, h) {
	let free = -10;
	for (let b = first; b < last; b++) {
		const x = (b - first + 1) * wide, text = showTime(job.bucket_ns * 2 ** b).replace(/\.\d+/, '');
		const half = g.measureText(text).width / 2;
		if (x - half < free || x - half < 0)
			continue;
		g.fillStyle = colours.line;
		g.fillRect(x, h - 18, 1, 4);
		g.fillStyle = colours.quiet;
		g.fillText(text, x, h - 7);
		free = x + half + 8;
	}
}

// ---- who sends to whom ----------------------------------------------------------------------------------------

const sentTo = { bytes: false, pointed: null };

function matrixPlan(canvas) {
	const label = job.rows <= 32 ? 26 : 6, side = Math.max(2, Math.min(40, (canvas.clientWidth - label) / job.rows));
	return { label, side };
}

const matrixValue = c => sentTo.bytes ? c[3] : c[2];

function drawMatrix() {
	const canvas = document.getElementById('matrix'), { label, side } = matrixPlan(canvas);
	canvas.style.height = `${Math.ceil(label + side * job.rows)}px`;
	const { g, w, h } = fitCanvas(canvas);
	g.fillStyle = colours.panel;
	g.fillRect(0, 0, w, h);
	g.fillStyle = colours.ground;
	g.fillRect(label, label, side * job.rows, side * job.rows);
	const most = Math.max(1, ...job.cells.map(matrixValue));
	const [r, gr, b] = channels(MATRIX_COLOUR);
	g.textAlign = 'center';
	for (const c of job.cells) {
		const part = Math.sqrt(matrixValue(c) / most), x = label + c[1] * side, y = label + c[0] * side;
		g.fillStyle = `rgb(${r} ${gr} ${b} / ${0.08 + 0.92 * part})`;
		g.fillRect(x, y, side - (side > 6 ? 1 : 0), side - (side > 6 ? 1 : 0));
		const text = showShortly(matrixValue(c)).replace(' ', '');
		if (side >= 24 && g.measureText(text).width < side - 2) {
			g.fillStyle = part > 0.55 ? '#ffffff' : colours.ink;
			g.fillText(text, x + side / 2 - 0.5, y + side / 2);
		}
	}
	g.fillStyle = colours.quiet;
	for (let i = 0; label > 20 && i < job.rows; i += side < 14 ? 4 : 1) {
		g.fillText(i, label + (i + 0.5) * side, label - 9);
		g.fillText(i, label - 11, label + (i + 0.5) * side);
	}
	g.textAlign = 'left';
	sayMatrix();
}

function sayMatrix() {
	const ends = job.by_node ? 'node' : 'PE', at = sentTo.pointed;
	const total = job.cells.reduce((sum, c) => [sum[0] + c[2], sum[1] + c[3]], [0, 0]);
	const c = at && (job.cells.find(x => x[0] === at[0] && x[1] === at[1]) ?? [...at, 0, 0]);
	document.getElementById('matrix-title').textContent = `Messages and puts, ${ends} to ${ends}`;
	document.getElementById('matrix-facts').textContent = c
		? `${ends} ${c[0]} to ${ends} ${c[1]}: ${grouped(c[2])}, ${showBytes(c[3])}`
		: `From the left to the top; ${grouped(total[0])} in all, ${showBytes(total[1])}`;
	document.getElementById('matrix').setAttribute('aria-label', job.cells.length > 64 ? 'Who sends to whom' :
		job.cells.map(x => `${ends} ${x[0]} to ${x[1]}: ${x[2]}, ${showBytes(x[3])}`).join('; '));
}

function setUpMatrix() {
	const canvas = document.getElementById('matrix');
	const byCount = document.getElementById('by-count'), byBytes = document.getElementById('by-bytes');
	const choose = bytes => {
		sentTo.bytes = bytes;
		byCount.setAttribute('aria-pressed', !bytes);
		byBytes.setAttribute('aria-pressed', bytes);
		drawMatrix();
	};
	byCount.onclick = () => choose(false);
	byBytes.onclick = () => choose(true);
	canvas.onpointermove = e => {
		const { label, side } = matrixPlan(canvas);
		const at = [Math.floor((e.offsetY - label) / side), Math.floor((e.offsetX - label) / side)];
		sentTo.pointed = at.every(i => i >= 0 && i < job.rows) ? at : null;
		sayMatrix();
	};
	canvas.onpointerleave = () => {
		sentTo.pointed = null;
		sayMatrix();
	};
}
