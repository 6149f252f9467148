// SPDX-License-Identifier: Apache-2.0
// timeline.js: bars, moments and arrows of the PEs over time, and what lies at a place of the picture.
//
// A row is a PE. A bar inside another one is below it. Above the bars is a strip for moments. What is narrower than a
// pixel is not drawn one by one: the longest bar of a pixel gives its colour.

const GUTTER = 86, RIGHT = 12, AXIS = 24;
const LANE_MOST = 44, LANE_LEAST = 5, STRIP = 11, STRIP_FROM_LANE = 12, ROW_GAP = 7;
const LABEL_FROM = 22;            // pixels of a bar that may have a label
const ARROWS_MOST = 3000, HEADS_MOST = 400;
const NEAR = 4;                   // pixels between the pointer and what it means

const view = { from: 0, to: 1, top: 0 };
const shown = { arrows: true, path: false, chosen: null, pointed: null, name: NONE };
const counts = { bars: 0, arrows: 0, drawnArrows: 0, labels: 0, moments: 0 };

// A canvas with one unit per CSS pixel, as large as it is shown.
function fitCanvas(canvas) {
	const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
	if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
		canvas.width = Math.round(w * ratio);
		canvas.height = Math.round(h * ratio);
	}
	const g = canvas.getContext('2d', { alpha: false });
	g.setTransform(ratio, 0, 0, ratio, 0, 0);
	g.fillStyle = colours.ground;
	g.fillRect(0, 0, w, h);
	g.font = `11px ${getComputedStyle(document.documentElement).getPropertyValue('--font')}`;
	g.textBaseline = 'middle';
	return { g, w, h };
}

// ---- where things are --------------------------------------------------------------------------------

const plan = { w: 0, h: 0, lane: LANE_MOST, strip: STRIP, tops: [], height: 0 };

function planRows(w, h) {
	const lanes = rows.reduce((n, r) => n + Math.max(1, r.lanes.length), 0);
	const lane = Math.floor((h - AXIS - rows.length * (STRIP + ROW_GAP)) / lanes);
	plan.w = w;
	plan.h = h;
	plan.lane = Math.max(LANE_LEAST, Math.min(LANE_MOST, lane));
	plan.strip = plan.lane >= STRIP_FROM_LANE ? STRIP : 0;
	plan.gap = plan.lane >= STRIP_FROM_LANE ? ROW_GAP : 3;
	plan.tops = [];
	let y = plan.strip + 2;
	for (const r of rows) {
		plan.tops.push(y);
		y += plan.lane * Math.max(1, r.lanes.length) + plan.gap + plan.strip;
	}
	plan.height = y;
	view.top = Math.max(0, Math.min(view.top, plan.height - (h - AXIS)));
}

const plotWidth = () => Math.max(1, plan.w - GUTTER - RIGHT);
const scale = () => plotWidth() / (view.to - view.from);
const xOf = time => GUTTER + (time - view.from) * scale();
const timeAt = x => view.from + (x - GUTTER) / scale();
const yOf = (row, depth) => AXIS + plan.tops[row] - view.top + Math.max(0, depth) * plan.lane;
const barHeight = () => plan.lane - (plan.lane > 8 ? 2 : 1);

// ---- bars --------------------------------------------------------------------------------------------

const widths = new Map();
function widthOf(g, text) {
	let w = widths.get(text);
	if (w === undefined)
		widths.set(text, w = g.measureText(text).width);
	return w;
}

function labelFor(g, lane, i, room) {
	if (lane.kind[i] === BLOCK)
		return [some(blocks[lane.name[i]].n, 'bar'), '…'].find(t => widthOf(g, t) <= room) ?? '';
	const name = nameOf(lane.name[i]), e = lane.element[i];
	const last = lane.name[i] === putName ? 'put' : name.split('::').pop();
	const texts = e === NONE ? [name, last] : [`${name}  ${showElement(e)}`, name, last];
	const fits = texts.find(t => widthOf(g, t) <= room);
	if (fits !== undefined)
		return fits;
	const n = Math.floor(last.length * (room - widthOf(g, '…')) / widthOf(g, last));
	return n >= 3 ? `${last.slice(0, n)}…` : '';
}

function drawLabel(g, lane, i, x, w, y, h) {
	const left = Math.max(x, GUTTER), room = Math.min(x + w, plan.w - RIGHT) - left - 8;
	if (h < 11 || room < LABEL_FROM - 8)
		return;
	const text = labelFor(g, lane, i, room);
	if (!text)
		return;
	g.fillStyle = colours.label[barName(lane, i)];
	g.fillText(text, left + 4, y + h / 2 + 0.5);
	counts.labels++;
}

// Blocks are striped: they stand for many bars.
function drawStripes(g, x, y, w, h) {
	g.save();
	g.beginPath();
	g.rect(x, y, w, h);
	g.clip();
	g.strokeStyle = colours.ground;
	g.globalAlpha = 0.4;
	g.beginPath();
	for (let s = x - h - ((x - h) % 6); s < x + w; s += 6) {
		g.moveTo(s, y + h);
		g.lineTo(s + h, y);
	}
	g.stroke();
	g.restore();
}

function drawBar(g, lane, i, x, w, y, h) {
	const name = barName(lane, i), left = Math.max(x, GUTTER - 2), right = Math.min(x + w, plan.w);
	const faded = shown.name !== NONE && shown.name !== name && name !== idleName;
	g.fillStyle = colours.of[name];
	g.globalAlpha = faded ? 0.25 : 1;
	if (name === idleName) {
		g.fillRect(left, y + h * 0.36, right - left, h * 0.28);
		g.globalAlpha = 1;
		return;
	}
	g.fillRect(left, y, Math.max(1, right - left - (w >= 4 ? 1 : 0)), h);
	g.globalAlpha = 1;
	if (lane.kind[i] === BLOCK && w > 6)
		drawStripes(g, left, y, right - left, h);
	if (w >= LABEL_FROM && !faded)
		drawLabel(g, lane, i, x, w, y, h);
}

function drawLane(g, lane, y) {
	const k = scale(), h = barHeight();
	let pixel = NONE, best = NONE, longest = NONE;
	const drawPixel = () => {
		if (pixel !== NONE)
			drawBar(g, lane, best, pixel, 1, y, h);
		pixel = NONE;
	};
	for (let i = firstBar(lane, view.from); i < lane.n && lane.start[i] <= view.to; i++) {
		const x = xOf(lane.start[i]), w = lane.len[i] * k;
		counts.bars++;
		if (w >= 1) {
			drawPixel();
			drawBar(g, lane, i, x, w, y, h);
			continue;
		}
		if (Math.floor(x) !== pixel) {
			drawPixel();
			pixel = Math.floor(x);
			longest = NONE;
		}
		const len = isIdle(lane, i) ? -0.5 : lane.len[i];
		if (len > longest) {
			longest = len;
			best = i;
		}
	}
	drawPixel();
}

// ---- moments -------------------------------------------------------------------------------------------

function drawMoment(g, kind, x, y) {
	const s = 3.2;
	g.beginPath();
	if (kind === 'arrived') {
		g.moveTo(x - s, y - s);
		g.lineTo(x + s, y - s);
		g.lineTo(x, y + s);
	} else if (kind === 'contributes') {
		g.moveTo(x, y - s - 1);
		g.lineTo(x + s + 1, y);
		g.lineTo(x, y + s + 1);
		g.lineTo(x - s - 1, y);
	} else if (kind === 'leaves') {
		g.moveTo(x - s, y + s);
		g.lineTo(x + s, y + s);
		g.lineTo(x + s, y - s);
	} else if (kind === 'came') {
		g.moveTo(x - s, y - s);
		g.lineTo(x - s, y + s);
		g.lineTo(x + s, y + s);
	} else if (kind === 'taken') {
		g.moveTo(x - s, y - s);
		g.lineTo(x + s, y);
		g.lineTo(x - s, y + s);
	} else if (kind === 'event') {
		g.rect(x - 1, y - 5, 2, 10);
	} else {
		g.arc(x, y, s, 0, 7);
	}
	g.closePath();
	if (kind === 'send')
		g.stroke();
	else
		g.fill();
}

function drawMoments(g, row) {
	const m = row.moments, y = yOf(row.number, 0) - plan.strip / 2 - 1;
	let last = -10, lastKind = '';
	for (let i = firstFrom(m.start, m.n, view.from); i < m.n && m.start[i] <= view.to; i++) {
		const x = xOf(m.start[i]), kind = kindOf(m.name[i]);
		counts.moments++;
		if (!plan.strip || (x - last < 1.5 && kind === lastKind))
			continue;
		g.fillStyle = g.strokeStyle = kind === 'event' ? colours.mark : colours.quiet;
		drawMoment(g, kind, x, y);
		last = x;
		lastKind = kind;
	}
}

// ---- arrows --------------------------------------------------------------------------------------------

const isInView = a => arrows.taken[a] >= view.from && arrows.sent[a] <= view.to;

// The line of an arrow. One that stays on its PE hangs below the bars.
function arrowLine(a) {
	const from = arrows.from[a], to = arrows.to[a], h = barHeight();
	const x0 = xOf(arrows.sent[a]), x1 = xOf(arrows.taken[a]), y0 = yOf(from, arrows.depth[a]), y1 = yOf(to, arrows.toDepth[a]);
	if (from < to)
		return [[x0, y0 + h], [x1, y1]];
	if (from > to)
		return [[x0, y0], [x1, y1 + h]];
	const low = Math.max(y0, y1) + h + Math.min(8, 2 + Math.abs(x1 - x0) / 8);
	return [[x0, y0 + h], [x0 + (x1 - x0) * 0.15, low], [x0 + (x1 - x0) * 0.85, low], [x1, y1 + h]];
}

function traceLine(g, line) {
	g.moveTo(line[0][0], line[0][1]);
	for (let i = 1; i < line.length; i++)
		g.lineTo(line[i][0], line[i][1]);
}

function drawHead(g, line) {
	const [x, y] = line[line.length - 1], [px, py] = line[line.length - 2];
	const len = Math.hypot(x - px, y - py) || 1, ux = (x - px) / len, uy = (y - py) / len, s = 6;
	g.beginPath();
	g.moveTo(x, y);
	g.lineTo(x - ux * s - uy * s * 0.45, y - uy * s + ux * s * 0.45);
	g.lineTo(x - ux * s + uy * s * 0.45, y - uy * s - ux * s * 0.45);
	g.fill();
}

// Those that differ in the picture; null: too many to tell apart.
function arrowsToDraw() {
	const seen = new Set(), list = [], right = plan.w + 1;
	for (let a = 0; a < arrows.n; a++) {
		if (!isInView(a))
			continue;
		const x0 = Math.max(-1, Math.round(xOf(arrows.sent[a]))), x1 = Math.min(right, Math.round(xOf(arrows.taken[a])));
		const key = ((x0 * 8192 + x1) * rows.length + arrows.from[a]) * rows.length + arrows.to[a];
		if (seen.has(key))
			continue;
		if (list.length === ARROWS_MOST)
			return null;
		seen.add(key);
		list.push(a);
	}
	return list;
}

function drawArrows(g) {
	for (let a = 0; a < arrows.n; a++)
		counts.arrows += isInView(a);
	const list = shown.arrows ? arrowsToDraw() : [];
	counts.tooMany = list === null;
	shown.drawn = list ?? [];
	counts.drawnArrows = shown.drawn.length;
	const alpha = Math.max(0.16, Math.min(0.75, 90 / (counts.drawnArrows + 1)));
	for (const put of [0, 1]) {
		g.strokeStyle = g.fillStyle = put ? PUT_COLOUR : colours.arrow;
		g.globalAlpha = put ? Math.min(1, alpha + 0.15) : alpha;
		g.lineWidth = 1;
		g.beginPath();
		for (const a of shown.drawn)
			if (arrows.put[a] === put)
				traceLine(g, arrowLine(a));
		g.stroke();
		if (counts.drawnArrows <= HEADS_MOST)
			for (const a of shown.drawn)
				if (arrows.put[a] === put)
					drawHead(g, arrowLine(a));
	}
	g.globalAlpha = 1;
}

function drawArrowStrongly(g, a) {
	const line = arrowLine(a);
	g.strokeStyle = g.fillStyle = colours.mark;
	g.lineWidth = 2.5;
	g.beginPath();
	traceLine(g, line);
	g.stroke();
	drawHead(g, line);
}

// What is chosen or pointed at, with the arrows that lead to it and from it.
function drawEmphasis(g, it) {
	if (!it)
		return;
	if (it.arrow !== undefined) {
		drawArrowStrongly(g, it.arrow);
		return;
	}
	if (it.depth === undefined)
		return;
	const lane = rows[it.row].lanes[it.depth], a = lane.arrow[it.i];
	const x = Math.max(xOf(lane.start[it.i]), GUTTER - 4), right = Math.min(xOf(lane.start[it.i] + lane.len[it.i]), plan.w + 4);
	if (a !== NONE)
		drawArrowStrongly(g, a);
	g.strokeStyle = colours.mark;
	g.lineWidth = 2;
	g.strokeRect(x - 1, yOf(it.row, it.depth) - 1, Math.max(2, right - x) + 1, barHeight() + 2);
}

// ---- the critical path -----------------------------------------------------------------------------------

// Along the upper edge of the bars, from PE to PE where it is in a message.
function drawPath(g) {
	g.strokeStyle = colours.path;
	g.lineWidth = 3;
	g.beginPath();
	let before = null;
	for (const [pe, from, until] of job.path.stays) {
		const y = yOf(rowOfPe.get(pe), 0) - 1, left = [xOf(Math.max(from, view.from)), y], right = [xOf(Math.min(until, view.to)), y];
		if (before && before.until <= view.to && from >= view.from)
			traceLine(g, [[xOf(before.until), before.y], [xOf(from), y]]);
		if (from <= view.to && until >= view.from)
			traceLine(g, [left, right]);
		before = { until, y };
	}
	g.stroke();
}

// ---- around it -----------------------------------------------------------------------------------------

const TICKS_APART = 100;

// Times whose labels would be long are shown from a round base, which stands on the left.
function axis() {
	const step = roundStep((view.to - view.from) * TICKS_APART / plotWidth());
	const base = view.to / step > 2e5 ? Math.floor(view.from / (step * 100)) * step * 100 : 0;
	const ticks = [];
	for (let n = Math.ceil(view.from / step); n * step <= view.to; n++)
		ticks.push(n * step);
	return { step, base, ticks };
}

function drawAxis(g) {
	const { step, base, ticks } = axis();
	g.fillStyle = colours.ground;
	g.fillRect(0, 0, plan.w, AXIS);
	g.fillStyle = colours.quiet;
	if (base) {
		g.textAlign = 'left';
		g.fillText(`${showMoment(base, step * 100)} +`, 14, AXIS / 2);
	}
	g.textAlign = 'center';
	for (const t of ticks) {
		const text = showMoment(t - base, step), half = widthOf(g, text) / 2, x = xOf(t);
		if (x + half < plan.w && x - half > GUTTER - 30)
			g.fillText(text, x, AXIS / 2);
	}
	g.textAlign = 'left';
}

function drawGrid(g) {
	g.fillStyle = colours.line;
	for (const t of axis().ticks)
		g.fillRect(Math.round(xOf(t)), AXIS - 4, 1, plan.h);
}

function drawGround(g) {
	g.fillStyle = colours.row;
	for (const r of rows)
		g.fillRect(GUTTER, yOf(r.number, 0) - 1, plan.w, Math.max(1, r.lanes.length) * plan.lane);
}

function drawNames(g) {
	g.fillStyle = colours.ground;
	g.fillRect(0, 0, GUTTER - 2, plan.h);
	let next = 0;
	for (const r of rows) {
		const y = yOf(r.number, 0), middle = y + Math.min(plan.lane * Math.max(1, r.lanes.length), 2 * plan.lane) / 2;
		if (y < next || y > plan.h)
			continue;
		next = y + 13;
		g.fillStyle = colours.ink;
		g.fillText(`PE ${r.pe}`, 14, plan.lane >= STRIP_FROM_LANE ? middle - 6 : middle);
		if (plan.lane < STRIP_FROM_LANE)
			continue;
		g.fillStyle = colours.quiet;
		g.fillText(job.nodes > 1 ? `node ${r.node}` : '', 14, middle + 7);
	}
}

function drawTimeline() {
	const { g, w, h } = fitCanvas(document.getElementById('timeline'));
	planRows(w, h);
	Object.assign(counts, { bars: 0, arrows: 0, drawnArrows: 0, labels: 0, moments: 0 });
	drawGround(g);
	drawGrid(g);
	g.save();
	g.beginPath();
	g.rect(GUTTER - 2, AXIS, w, h);
	g.clip();
	for (const r of rows) {
		const hidden = yOf(r.number, r.lanes.length) < 0 || yOf(r.number, 0) - plan.strip > h;
		const y = hidden ? -1e4 : 0;
		r.lanes.forEach((lane, depth) => drawLane(g, lane, y || yOf(r.number, depth)));
		drawMoments(g, r);
	}
	drawArrows(g);
	if (shown.path)
		drawPath(g);
	g.restore();
	drawNames(g);
	drawAxis(g);
	keepFrame();
	drawPointed();
}

// The picture without what is pointed at, so that the pointer may move without drawing a million bars again.
const frame = document.createElement('canvas');

function keepFrame() {
	const canvas = document.getElementById('timeline');
	frame.width = canvas.width;
	frame.height = canvas.height;
	frame.getContext('2d', { alpha: false }).drawImage(canvas, 0, 0);
}

function drawPointed() {
	const g = document.getElementById('timeline').getContext('2d');
	g.save();
	g.resetTransform();
	g.drawImage(frame, 0, 0);
	g.restore();
	g.save();
	g.beginPath();
	g.rect(GUTTER - 2, AXIS, plan.w, plan.h);
	g.clip();
	drawEmphasis(g, shown.chosen);
	drawEmphasis(g, shown.pointed);
	g.restore();
}

// ---- what is at a place ----------------------------------------------------------------------------------

function distance(x, y, [ax, ay], [bx, by]) {
	const dx = bx - ax, dy = by - ay, len = dx * dx + dy * dy;
	const t = len ? Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / len)) : 0;
	return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}

function arrowAt(x, y) {
	let nearest = NEAR, found = NONE;
	for (const a of shown.drawn ?? []) {
		const line = arrowLine(a);
		for (let i = 1; i < line.length; i++) {
			const d = distance(x, y, line[i - 1], line[i]);
			if (d < nearest) {
				nearest = d;
				found = a;
			}
		}
	}
	return found === NONE ? null : { arrow: found };
}

function momentAt(row, x) {
	const m = rows[row].moments, time = timeAt(x), near = firstFrom(m.start, m.n, time);
	const i = near > 0 && (near === m.n || time - m.start[near - 1] < m.start[near] - time) ? near - 1 : near;
	return i < m.n && Math.abs(xOf(m.start[i]) - x) <= NEAR ? { row, moment: i } : null;
}

// The longest bar of this pixel, or the nearest within reach.
function barAt(row, depth, x) {
	const lane = rows[row].lanes[depth], k = scale();
	let found = null, best = -Infinity;
	for (let i = firstBar(lane, timeAt(x - NEAR)); i < lane.n && xOf(lane.start[i]) <= x + NEAR; i++) {
		const left = xOf(lane.start[i]), right = left + lane.len[i] * k;
		const away = x < left ? left - x : x > right ? x - right : 0;
		const worth = (isIdle(lane, i) ? 0 : Math.min(lane.len[i] * k, NEAR) + 0.01) - 2 * away;
		if (worth > best && (!isIdle(lane, i) || !away)) {
			best = worth;
			found = { row, depth, i };
		}
	}
	return found;
}

function rowAt(y) {
	for (const r of rows) {
		const top = yOf(r.number, 0) - plan.strip, bottom = yOf(r.number, Math.max(1, r.lanes.length));
		if (y >= top && y < bottom)
			return { row: r.number, depth: Math.floor((y - yOf(r.number, 0)) / plan.lane) };
	}
	return null;
}

// Bars are in front of arrows, arrows in front of idle times.
function find(x, y) {
	if (x < GUTTER - 2 || y < AXIS)
		return null;
	const at = rowAt(y);
	if (!at)
		return arrowAt(x, y);
	if (at.depth < 0)
		return momentAt(at.row, x) ?? arrowAt(x, y);
	const bar = at.depth < rows[at.row].lanes.length ? barAt(at.row, at.depth, x) : null;
	if (bar && !isIdle(rows[bar.row].lanes[bar.depth], bar.i))
		return bar;
	return arrowAt(x, y) ?? bar;
}
