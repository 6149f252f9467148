// SPDX-License-Identifier: Apache-2.0
// main.js: what mouse and keys do, and what the page says in words.

const USE_LEAST = 92;             // pixels of the canvas of utilisation

const byId = id => document.getElementById(id);
const timeline = byId('timeline');

// ---- drawing -----------------------------------------------------------------------------------------------

let due = false;
function redraw() {
	if (!due)
		requestAnimationFrame(() => {
			due = false;
			draw();
		});
	due = true;
}

// With few PEs the bars leave room below; utilisation takes it, most of it.
function shareHeight() {
	const use = byId('use'), all = use.clientHeight + timeline.clientHeight;
	const lanes = rows.reduce((n, r) => n + Math.max(1, r.lanes.length), 0);
	const bars = AXIS + lanes * LANE_MOST + rows.length * (STRIP + ROW_GAP) + ROW_GAP;
	use.style.height = `${Math.max(USE_LEAST, Math.min(all * 0.6, all - bars))}px`;
}

function draw() {
	shareHeight();
	drawTimeline();
	drawUse();
	drawOverview();
	drawGrains();
	drawMatrix();
	sayStatus();
}

function sayStatus() {
	const many = counts.tooMany ? ' (zoom in to see them)' : '';
	const status = byId('status');
	status.textContent = `${showTime(view.to - view.from)} from ${showMoment(view.from, (view.to - view.from) / 1000)}: ` +
		`${some(counts.bars, 'bar')}, ${some(counts.arrows, 'arrow')}${many}`;
	Object.assign(status.dataset, { from: view.from, to: view.to, bars: counts.bars, arrows: counts.arrows,
		drawn: counts.drawnArrows, labels: counts.labels, moments: counts.moments, busy: counts.busy });
}

// ---- the part of time in view --------------------------------------------------------------------------------

const LEAST_NS = 20;

function show(from, to) {
	const len = Math.max(LEAST_NS, Math.min(job.end || 1, to - from));
	view.from = Math.max(0, Math.min(from, (job.end || 1) - len));
	view.to = view.from + len;
	redraw();
}

function zoom(factor, at = (view.from + view.to) / 2) {
	const len = Math.max(LEAST_NS, Math.min(job.end || 1, (view.to - view.from) * factor));
	const part = (at - view.from) / (view.to - view.from);
	show(at - part * len, at - part * len + len);
}

function pan(part) {
	const by = part * (view.to - view.from);
	show(view.from + by, view.to + by);
}

function scrollRows(by) {
	view.top += by;
	redraw();
}

// #FROM,TO in ns, so that a link may lead to a part of the run.
function showLink() {
	const [from, to] = location.hash.slice(1).split(',').map(Number);
	if (to > from)
		show(from, to);
}

// ---- words about one thing -------------------------------------------------------------------------------------

// The sending bar; null: the PE sent it outside of all bars.
function senderBar(a) {
	const lane = rows[arrows.from[a]].lanes[arrows.depth[a]];
	if (!lane)
		return null;
	const i = Math.min(firstFrom(lane.start, lane.n, arrows.sent[a] + 0.5), lane.n) - 1;
	return i >= 0 ? { row: arrows.from[a], depth: arrows.depth[a], i } : null;
}

function nameAt(bar) {
	const lane = rows[bar.row].lanes[bar.depth];
	return nameOf(barName(lane, bar.i));
}

function toName(a) {
	const lane = rows[arrows.to[a]].lanes[arrows.toDepth[a]];
	const i = lane ? firstFrom(lane.start, lane.n, arrows.taken[a]) : 0;
	return lane && i < lane.n && lane.start[i] === arrows.taken[a] ? nameOf(barName(lane, i)) : '';
}

function sender(a) {
	const bar = senderBar(a);
	return `PE ${rows[arrows.from[a]].pe}${bar ? `, ${nameAt(bar)}` : ''}`;
}

function arrowFacts(a) {
	const to = toName(a);
	return { title: arrows.put[a] ? 'put' : 'message', facts: [
		['from', sender(a)], ['to', `PE ${rows[arrows.to[a]].pe}${to ? `, ${to}` : ''}`],
		['sent at', showMoment(arrows.sent[a], 1)], ['on its way', showTime(arrows.taken[a] - arrows.sent[a])],
		['bytes', grouped(arrows.bytes[a])]] };
}

function cameFacts(a) {
	return a === NONE ? [] : [['from', sender(a)], ['sent', `${showTime(arrows.taken[a] - arrows.sent[a])} before`],
		['bytes', grouped(arrows.bytes[a])]];
}

function blockFacts(lane, i, where) {
	const block = blocks[lane.name[i]];
	return { title: `${some(block.n, 'short bar')}`, name: block.parts[0].name, facts: [...where,
		...block.parts.map(p => [showTime(p.own), nameOf(p.name)])] };
}

function barFacts({ row, depth, i }) {
	const lane = rows[row].lanes[depth], e = lane.element[i];
	const where = [['PE', String(rows[row].pe)], ['start', showMoment(lane.start[i], 1)], ['length', showTime(lane.len[i])]];
	if (lane.kind[i] === BLOCK)
		return blockFacts(lane, i, where);
	const resumed = lane.kind[i] === RESUMED ? [['', 'goes on after it has waited']] : [];
	const element = e === NONE ? [] : [['element', showElement(e)]];
	return { title: nameOf(lane.name[i]), name: lane.name[i],
		facts: [...element, ...where, ...resumed, ...cameFacts(lane.arrow[i])] };
}

function momentFacts({ row, moment }) {
	const m = rows[row].moments, kind = m.kind[moment], more = m.more[moment], facts = [];
	if (m.element[moment] !== NONE)
		facts.push(['element', showElement(m.element[moment])], ['entry', nameOf(elements.entry[m.element[moment]])]);
	facts.push(['PE', String(rows[row].pe)], ['at', showMoment(m.start[moment], 1)]);
	if (kind === COUNTER)
		facts.push(['value', String(values[more])]);
	if (kind === SENT)
		facts.push(['to', `PE ${sentAway[more].to}`], ['bytes', grouped(sentAway[more].bytes)],
			['', 'the trace does not have its handler']);
	return { title: nameOf(m.name[moment]), facts: [...facts, ...cameFacts(m.arrow[moment])] };
}

function factsOf(it) {
	return it.arrow !== undefined ? arrowFacts(it.arrow) : it.moment !== undefined ? momentFacts(it) : barFacts(it);
}

function fillFacts(element, it) {
	const { title, name, facts } = factsOf(it), list = document.createElement('dl');
	const head = cell('div', title);
	head.className = 'facts-name';
	if (name !== undefined)
		head.prepend(swatch(name));
	for (const [what, value] of facts)
		list.append(cell('dt', what), cell('dd', value));
	element.replaceChildren(head, list);
	element.hidden = false;
}

// ---- pointing and choosing -----------------------------------------------------------------------------------------

const same = (a, b) => a === b || (a && b && a.row === b.row && a.depth === b.depth && a.i === b.i &&
	a.arrow === b.arrow && a.moment === b.moment);

function point(it, x, y) {
	const tip = byId('tip');
	if (!same(it, shown.pointed)) {
		shown.pointed = it;
		requestAnimationFrame(drawPointed);
		if (it)
			fillFacts(tip, it);
	}
	tip.hidden = !it;
	if (!it)
		return;
	const left = x + 16 + tip.offsetWidth > innerWidth ? x - 12 - tip.offsetWidth : x + 16;
	const top = Math.min(y + 14, innerHeight - tip.offsetHeight - 6);
	tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
}

function choose(it) {
	shown.chosen = it;
	if (it)
		fillFacts(byId('selected'), it);
	byId('selected').hidden = !it;
	requestAnimationFrame(drawPointed);
}

// Choose a bar, and move the view so that it is seen.
function goTo(bar) {
	const lane = rows[bar.row].lanes[bar.depth], start = lane.start[bar.i], end = start + lane.len[bar.i];
	const len = view.to - view.from, y = plan.tops[bar.row] + bar.depth * plan.lane;
	if (end < view.from || start > view.to)
		show((start + end - len) / 2, (start + end + len) / 2);
	if (y < view.top || y + plan.lane > view.top + plan.h - AXIS)
		view.top = Math.max(0, y - plan.h / 2);
	choose(bar);
}

const chosenBar = () => shown.chosen?.i !== undefined ? shown.chosen : null;

function firstInView() {
	for (const r of rows)
		for (let depth = 0; depth < r.lanes.length; depth++) {
			const i = firstFrom(r.lanes[depth].start, r.lanes[depth].n, view.from);
			if (i < r.lanes[depth].n)
				return { row: r.number, depth, i };
		}
	return null;
}

function step(by) {
	const bar = chosenBar();
	const next = bar ? { ...bar, i: bar.i + by } : firstInView();
	if (next && next.i >= 0 && next.i < rows[next.row].lanes[next.depth].n)
		goTo(next);
}

function otherRow(by) {
	const bar = chosenBar();
	if (!bar) {
		step(0);
		return;
	}
	const all = rows.flatMap(r => r.lanes.map((lane, depth) => ({ row: r.number, depth })));
	const to = all[all.findIndex(l => l.row === bar.row && l.depth === bar.depth) + by];
	if (!to)
		return;
	const lane = rows[to.row].lanes[to.depth];
	goTo({ ...to, i: Math.min(firstBar(lane, rows[bar.row].lanes[bar.depth].start[bar.i]), lane.n - 1) });
}

function followArrow() {
	const bar = chosenBar(), a = bar ? rows[bar.row].lanes[bar.depth].arrow[bar.i] : NONE;
	const from = a === NONE ? null : senderBar(a);
	if (from)
		goTo(from);
}

function zoomToChosen() {
	const bar = chosenBar();
	if (!bar)
		return;
	const lane = rows[bar.row].lanes[bar.depth], len = Math.max(lane.len[bar.i], LEAST_NS);
	show(lane.start[bar.i] - len / 5, lane.start[bar.i] + len * 1.2);
}

function toggleArrows() {
	shown.arrows = !shown.arrows;
	byId('arrows').setAttribute('aria-pressed', shown.arrows);
	redraw();
}

function togglePath() {
	shown.path = !shown.path;
	byId('path').setAttribute('aria-pressed', shown.path);
	redraw();
}

// ---- keys ------------------------------------------------------------------------------------------------------------

const keys = {
	ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
	ArrowUp: () => scrollRows(-60), ArrowDown: () => scrollRows(60),
	'+': () => zoom(1 / 1.5), '=': () => zoom(1 / 1.5), '-': () => zoom(1.5),
	0: () => show(0, job.end), Home: () => show(0, job.end),
	'.': () => step(1), ',': () => step(-1), j: () => otherRow(1), k: () => otherRow(-1),
	f: followArrow, z: zoomToChosen, a: toggleArrows, p: togglePath, Escape: () => choose(null),
	'?': () => byId('keys').showModal(),
};

function setUpKeys() {
	document.addEventListener('keydown', e => {
		if (e.ctrlKey || e.altKey || e.metaKey || byId('keys').open || !Object.hasOwn(keys, e.key))
			return;
		keys[e.key]();
		e.preventDefault();
	});
	byId('zoom-in').onclick = keys['+'];
	byId('zoom-out').onclick = keys['-'];
	byId('zoom-all').onclick = keys[0];
	byId('arrows').onclick = toggleArrows;
	byId('path').onclick = togglePath;
	byId('help').onclick = keys['?'];
}

// ---- mouse -------------------------------------------------------------------------------------------------------------

const WHEEL = 0.0016;             // zoom: so much of a power of e for a pixel of the wheel
const CLICK = 4;                  // pixels that a click may move

function setUpWheel(canvas) {
	canvas.addEventListener('wheel', e => {
		const unit = e.deltaMode === 1 ? 18 : e.deltaMode === 2 ? 200 : 1;
		e.preventDefault();
		if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
			pan((e.deltaX || e.deltaY) * unit / plotWidth());
		else
			zoom(Math.exp(e.deltaY * unit * WHEEL), timeAt(e.offsetX));
	}, { passive: false });
}

function drag(canvas, begins, moves, ends) {
	let from = null;
	canvas.addEventListener('pointerdown', e => {
		if (e.button !== 0)
			return;
		canvas.setPointerCapture(e.pointerId);
		from = { x: e.offsetX, y: e.offsetY, view: { ...view }, shift: e.shiftKey, moved: false };
		begins?.(from);
	});
	canvas.addEventListener('pointermove', e => {
		if (!from)
			return;
		from.moved ||= Math.hypot(e.offsetX - from.x, e.offsetY - from.y) > CLICK;
		if (from.moved)
			moves(from, e);
	});
	canvas.addEventListener('pointerup', e => {
		if (from)
			ends?.(from, e);
		from = null;
	});
	canvas.addEventListener('pointercancel', () => { from = null; });
	return () => from !== null && from.moved;
}

function setUpTimeline() {
	const dragging = drag(timeline, () => timeline.focus(), (from, e) => {
		point(null);
		if (from.shift)
			return;
		timeline.classList.add('grabbed');
		const by = (from.x - e.offsetX) / plotWidth() * (from.view.to - from.view.from);
		view.top = from.view.top + from.y - e.offsetY;
		show(from.view.from + by, from.view.to + by);
	}, (from, e) => {
		timeline.classList.remove('grabbed');
		if (!from.moved)
			choose(find(e.offsetX, e.offsetY));
		else if (from.shift)
			show(timeAt(Math.min(from.x, e.offsetX)), timeAt(Math.max(from.x, e.offsetX)));
	});
	timeline.addEventListener('pointermove', e => {
		if (!dragging())
			point(find(e.offsetX, e.offsetY), e.clientX, e.clientY);
	});
	timeline.addEventListener('pointerleave', () => point(null));
	timeline.addEventListener('dblclick', zoomToChosen);
	setUpWheel(timeline);
	setUpWheel(byId('use'));
}

function setUpOverview() {
	const time = x => (x - GUTTER) / plotWidth() * job.end;
	drag(byId('overview'), null,
		(from, e) => show(time(Math.min(from.x, e.offsetX)), time(Math.max(from.x, e.offsetX))),
		(from, e) => {
			const half = (view.to - view.from) / 2;
			if (!from.moved)
				show(time(e.offsetX) - half, time(e.offsetX) + half);
		});
}

// ---- the start ---------------------------------------------------------------------------------------------------------

function sayHead() {
	const command = visible(job.command), program = command.split(' ')[0].split('/').pop();
	const lost = [];
	document.title = `${program}: cktrace`;
	byId('title').textContent = command.replace(/^\S*\//, '');
	byId('title').title = command;
	byId('facts').textContent = `${some(job.n_pes, 'PE')}, ${some(job.nodes, 'node')}, ${some(job.hosts, 'host')}; ` +
		`${showTime(job.end)}; ${some(job.sent, 'message')} sent`;
	if (job.epoch)
		byId('facts').textContent += `; epoch ${job.epoch}, from ` +
			(job.checkpoint ? `checkpoint ${job.checkpoint}` : 'the beginning');
	if (!job.ended)
		lost.push('The job did not come to its end, or still ran.');
	if (!job.whole)
		lost.push('The oldest records are gone: a larger CK_TRACE=dir,MB keeps more.');
	if (job.pes.length < job.n_pes)
		lost.push(`Files of ${some(job.n_pes - job.pes.length, 'PE')} are missing.`);
	if (job.backward)
		lost.push(`${some(job.backward, 'message')} have no arrow: the clocks of their hosts do not fit.`);
	const o = job.left_out;
	if (o.shorter)
		lost.push(`To keep the page small, ${some(o.bars, 'bar')} shorter than ${showTime(o.shorter)} are drawn as ` +
			`${some(o.blocks, 'striped block')}; ${some(o.arrows, 'arrow')} and ${some(o.moments, 'moment')} are left out. ` +
			'Entries, grain sizes and messages on the right count everything.');
	if (o.deep)
		lost.push(`${some(o.deep, 'bar')} inside very many others left out.`);
	byId('warning').textContent = lost.join(' ');
	byId('warning').hidden = !lost.length;
}

function sayPath() {
	const p = job.path, all = p.run + p.way + p.gap;
	const parts = [...p.entries].sort((a, b) => b[1] - a[1]).filter(e => e[1] * 100 >= all).slice(0, 8);
	byId('path-facts').textContent = `${showTime(all)}: ${showTime(p.run)} in handlers, ${showTime(p.way)} in ` +
		`${some(p.messages, 'message')}, ${showTime(p.gap)} between handlers of one PE. ` +
		parts.map(([name, ns]) => `${nameOf(name)} ${showTime(ns)}`).join(', ');
}

async function start() {
	chooseColours();
	sayHead();
	await readAll((n, all) => { byId('status').textContent = `reading PE ${n} of ${all}`; });
	findDimensions();
	listed = [...job.grains].sort((a, b) => b.own - a.own);
	fillLegend();
	sayPath();
	setUpMatrix();
	setUpKeys();
	setUpTimeline();
	setUpOverview();
	show(0, job.end);
	showLink();
	addEventListener('hashchange', showLink);
	addEventListener('resize', redraw);
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
		chooseColours();
		fillLegend();
		redraw();
	});
	chooseEntry(listed[0]?.name, false);
	draw();
	document.documentElement.dataset.ready = 'yes';
}

start();
