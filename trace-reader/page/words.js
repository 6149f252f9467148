// SPDX-License-Identifier: Apache-2.0
// words.js: how times, numbers and names are written, and which colour an entry has.

const UNITS = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

const unitOf = ns => UNITS.find(u => Math.abs(ns) >= u[0]) ?? UNITS[3];
const grouped = n => Math.round(n).toLocaleString('en-US');

function showTime(ns) {
	const [unit, name] = unitOf(ns), v = ns / unit;
	const digits = unit === 1 || Math.abs(v) >= 999.5 ? 0 : Math.abs(v) >= 99.5 ? 1 : 2;
	return `${v.toFixed(digits)} ${name}`;
}

// A moment, as exactly as a step asks for.
function showMoment(ns, step) {
	const [unit, name] = unitOf(Math.max(Math.abs(ns), step));
	const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / unit) - 1e-9)));
	return `${(ns / unit).toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${name}`;
}

function showShortly(n) {
	for (const [unit, name] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
		if (n >= unit)
			return `${(n / unit).toFixed(n < 10 * unit ? 1 : 0)} ${name}`;
	return `${n} `;
}
const showBytes = n => `${showShortly(n)}B`;

const showPercent = part => `${(100 * part).toFixed(part < 0.0995 ? 1 : 0)} %`;
const some = (n, one, many = one + 's') => `${grouped(n)} ${n === 1 ? one : many}`;

// A step of 1, 2 or 5 times a power of ten, not below `least`.
function roundStep(least) {
	const power = 10 ** Math.floor(Math.log10(least));
	return [1, 2, 5, 10].find(m => m * power >= least * (1 - 1e-9)) * power;
}

// As many numbers as the elements of this chare have that differ from 0 somewhere: the trace does not say how many
// dimensions an array has.
const dimensions = new Map();
const chareOf = name => nameOf(name).split('::')[0];

function findDimensions() {
	for (let e = 0; e < elements.n; e++) {
		const chare = elements.entry[e], n = elements.z[e] ? 3 : elements.y[e] ? 2 : 1;
		dimensions.set(chare, Math.max(dimensions.get(chare) ?? 1, n));
	}
	const ofChare = new Map();
	for (const [name, n] of dimensions)
		ofChare.set(chareOf(name), Math.max(ofChare.get(chareOf(name)) ?? 1, n));
	for (const name of dimensions.keys())
		dimensions.set(name, ofChare.get(chareOf(name)));
}

function showElement(e) {
	const entry = elements.entry[e];
	const index = [elements.x[e], elements.y[e], elements.z[e]].slice(0, dimensions.get(entry));
	return `${chareOf(entry)}(${index.join(', ')})`;
}

// ---- colours ---------------------------------------------------------------------------------------

// Mostly Okabe and Ito's colours, which nearly everybody can tell apart. An entry keeps its colour from run to run of a
// program, because the colour goes by the entry's place in its chare; the next chare has the next shade, and the first
// of several, which is Main as a rule, a dark one. Puts have vermilion for themselves.
const HUES = ['#56b4e9', '#e69f00', '#009e73', '#cc79a7', '#d9c829', '#a8326e', '#0072b2'];
const PUT_COLOUR = '#d55e00', MATRIX_COLOUR = '#0072b2';
const SHADES = [-0.36, 0, 0.42];

const chareOfName = name => `chare ${name[1].split('::')[0]}`;
const channels = colour => [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16));

function shade(colour, by) {
	return '#' + channels(colour).map(c => Math.round(by < 0 ? c * (1 + by) : c + (255 - c) * by)
		.toString(16).padStart(2, '0')).join('');
}

function isBright(colour) {
	const [r, g, b] = channels(colour);
	return 0.299 * r + 0.587 * g + 0.114 * b > 140;
}

const colours = { of: [], label: [] };

function chooseColours() {
	const style = getComputedStyle(document.documentElement);
	for (const name of ['ground', 'panel', 'ink', 'quiet', 'line', 'row', 'idle', 'runtime', 'mark', 'focus', 'arrow',
		'path'])
		colours[name] = style.getPropertyValue(`--${name}`).trim();
	const fixed = { put: PUT_COLOUR, idle: colours.idle, handler: colours.runtime };
	const isEntry = n => n[0] === 'entry' && n[1] !== '?', chares = new Set(job.names.filter(isEntry).map(chareOfName));
	let group = '', number = chares.size > 1 ? NONE : 0, at = 0;
	job.names.forEach((name, i) => {
		const kind = name[0], chare = isEntry(name) ? chareOfName(name) : kind;
		number += chare !== group && isEntry(name);
		at = chare === group ? at + 1 : 0;
		group = chare;
		const shades = SHADES[(Math.max(0, number) + Math.floor(at / HUES.length)) % SHADES.length];
		colours.of[i] = fixed[kind] ?? shade(HUES[at % HUES.length], kind === 'event' ? SHADES[2] : shades);
		colours.label[i] = kind === 'idle' ? colours.quiet : isBright(colours.of[i]) ? '#14171a' : '#ffffff';
	});
}
