'use strict';
// What the page is made from, and how values are written.
const weft = JSON.parse(document.getElementById('data').textContent);
const fieldOf = Object.fromEntries(weft.fields.map(f => [f.name, f]));
const units = {us: [[1e6, 's'], [1e3, 'ms'], [1, 'µs'], [1e-3, 'ns']], B: [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']]};
const plain = d3.format('.4~g'), grouped = d3.format(',');

function scaled(value, unit) {
  const steps = units[unit];
  if (!steps) return Math.abs(value) >= 1e4 ? (Number.isInteger(value) ? grouped(value) : d3.format('.4~s')(value)) : plain(value);
  if (unit === 'B' && value >= 1000 && inPowersOfTen) return plain(value >= 1e9 ? value / 1e9 : value >= 1e6 ? value / 1e6 : value / 1e3) + (value >= 1e9 ? ' GB' : value >= 1e6 ? ' MB' : ' KB');
  if (value === 0) return '0 ' + steps[steps.length - 1 - (unit === 'us')][1];
  const [size, name] = steps.find(([s]) => Math.abs(value) >= s * 0.9995) || steps[steps.length - 1];
  return plain(value / size) + ' ' + name;
}

function shown(value, name) {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value !== 'number') return String(value);
  const field = fieldOf[name];
  if (field && (field.unit === 'us' || field.unit === 'B')) return scaled(value, field.unit);
  if (/utilization|_share$|efficiency/.test(name)) return d3.format('.1%')(value);
  return scaled(value, '') + (!field || !field.unit ? '' : field.unit === '1/s' ? ' /s' : ' ' + field.unit);
}

const percent = d3.format('.1%');
// Bytes are written in powers of two, unless all messages of the page are asked for in MB.
const inPowersOfTen = weft.results.rows.length > 0 && weft.results.rows.every(r => r.size_bytes > 0 && r.size_bytes % 1000 === 0 && r.size_bytes % 1024 !== 0);
// What a pointer is about: its last part, with the one before where that alone says little, as "on" or "bandwidth".
const bare = /^(\d+|on|off|name|type|policy|seed|size|min|max|rate|count|start|period|bandwidth|latency|runs|ranks|spread|every)$/;
const ending = (pointer, count) => pointer.split('/').filter(p => p).slice(-count).join('/').replace(/_/g, ' ');
const partsAlone = pointer => bare.test(ending(pointer, 1).replace(/ /g, '_')) ? 2 : 1;
const last = pointer => pointerNames.get(pointer) || ending(pointer, partsAlone(pointer));
const ellipsis = (text, most) => text.length <= most ? text : text.slice(0, Math.ceil(most / 3)) + '…' + text.slice(text.length - Math.floor(most * 2 / 3) + 1);

// JSON as people would say it: [{"switch": "spine0", "at": "2ms"}] is "switch spine0 at 2ms".
const spelled = value => typeof value !== 'object' || value === null ? String(value) : Array.isArray(value) ? listed(value) : Object.entries(value).map(([k, v]) => `${k.replace(/_/g, ' ')} ${spelled(v)}`).join(' ');
const listed = values => values.length && values.every(v => v && v.name) ? values.map(v => v.name).join('+') : values.map(spelled).join(values.every(v => typeof v !== 'object') ? '+' : '; ');
// Of a swept object what differs between its values; of a list of named objects their names.
function inWords(pointer, value) {
  if (typeof value !== 'object' || value === null) return value;
  if (Object.keys(value).length === 0) return 'none';
  if (Array.isArray(value)) return listed(value);
  const kind = ['type', 'policy', 'name'].find(k => k in value), swept = weft.results.cases.map(c => c.axes[pointer]);
  const alike = swept.filter(v => typeof v === 'object' && v !== null && (!kind || v[kind] === value[kind]));
  const same = k => (k === kind ? swept : alike).every(v => v && JSON.stringify(v[k]) === JSON.stringify(value[k]));
  return Object.entries(value).filter(([k]) => !same(k)).map(([k, v]) => k === 'type' || k === 'policy' || k === 'name' ? v : `${k.replace(/_/g, ' ')} ${spelled(v)}`).join(', ') || JSON.stringify(value);
}

// A row knows the values its sweep set by their pointers, and what it is called among the others.
const rows = weft.results.rows.map((r, index) => {
  const row = Object.assign({}, r, {index, axes: weft.results.cases[r.case].axes});
  for (const [pointer, value] of Object.entries(row.axes)) row[pointer] = inWords(pointer, value);
  return row;
});
const detailsOf = row => (weft.details && weft.details.rows[row.index]) || {};
const valuesOf = name => Array.from(new Set(rows.map(r => r[name]).filter(v => v !== null && v !== undefined)));

// "nccl(algorithm=ring)" of "nccl(group=8,algorithm=ring)" where all rows of nccl have the group.
function settingsOf(label) {
  const open = label.indexOf('('), parts = [''];
  if (open < 0 || !label.endsWith(')')) return [];
  let depth = 0;
  for (const c of label.slice(open + 1, -1)) {
    depth += c === '(' ? 1 : c === ')' ? -1 : 0;
    if (c === ',' && depth === 0) parts.push(''); else parts[parts.length - 1] += c;
  }
  return parts;
}
const baseOf = label => label.split('(')[0];
const shortNames = Object.fromEntries(['algorithm', 'engine', 'compression'].map(column => {
  const labels = valuesOf(column).filter(v => typeof v === 'string'), names = new Map();
  for (const label of labels) {
    const own = settingsOf(label), others = labels.filter(l => l !== label && baseOf(l) === baseOf(label)).map(settingsOf);
    const kept = others.length ? own.filter(s => !others.every(o => o.includes(s))) : own;
    names.set(label, baseOf(label) + (kept.length ? `(${kept.join(',')})` : ''));
  }
  return [column, names];
}));
const shortName = (column, label) => (shortNames[column] && shortNames[column].get(label)) || label;

// What differs between rows and was asked for, in the order people think of it.
const pointers = Array.from(new Set(weft.results.cases.flatMap(c => Object.keys(c.axes))));
// With more parts where two would be called the same.
const pointerNames = new Map(pointers.map(p => {
  let count = partsAlone(p);
  const shared = () => pointers.some(o => o !== p && ending(o, count) === ending(p, count));
  while (count < p.split('/').length - 1 && shared()) ++count;
  return [p, ending(p, count)];
}));
const varies = name => new Set(rows.map(r => r[name] === undefined ? null : r[name])).size > 1;
const sameAs = (a, b) => { const seen = new Map(); return rows.every(r => seen.has(r[a]) ? seen.get(r[a]) === r[b] : (seen.set(r[a], r[b]), true)) && new Set(seen.values()).size === seen.size; };
const columns = ['scenario', 'algorithm', 'engine', 'compression', 'model', 'network', 'fabric', 'collective', 'dtype', 'batch_per_gpu', 'size_bytes', 'ranks'];
const varied = columns.filter(n => varies(n) && !(['size_bytes', 'batch_per_gpu'].includes(n) && varies('model') && sameAs('model', n)));
// A pointer that says what a column says already is left to the column.
const told = p => /^\/(network|workload\/(algorithm|size|engine|compression|collective|dtype|model|batch_per_gpu))$/.test(p) || varied.some(v => sameAs(v, p));
const dimensions = varied.concat(pointers.filter(p => varies(p) && !told(p)));
// As few of them as tell rows apart that are drawn over x: what goes with x, as the leaves of a fabric with its ranks, makes no series.
function dimensionsOver(x) {
  let kept = dimensions.filter(d => d !== x && !sameAs(x, d));
  if (x === 'size_bytes') return kept;
  for (const d of kept.filter(n => n === 'ranks' || n.startsWith('/')).reverse()) {
    const fewer = kept.filter(n => n !== d);
    if (new Set(rows.map(r => JSON.stringify([x].concat(fewer).map(n => r[n])))).size === rows.length) kept = fewer;
  }
  return kept;
}
const titleOf = name => ({size_bytes: 'message size', time_us: 'time', busbw_GBps: 'bus bandwidth', algbw_GBps: 'algorithm bandwidth', batch_per_gpu: 'samples per GPU',
  samples_per_s: 'samples per second', wire_bytes_per_rank: 'a NIC sends at most', max_flows_per_link: 'flows on a link at most', busiest_link_utilization: 'its utilization', fabric: 'fabric type'}[name] || (name.startsWith('/') ? last(name) : name.replace(/_(us|GBps|bytes)$/, '').replace(/_/g, ' ')));
const worded = (row, n) => n === 'ranks' ? `${row[n]} ranks` : n === 'batch_per_gpu' ? `${row[n]} samples per GPU`
  : n.startsWith('/') && (n === '/placement' || !(typeof row[n] === 'string' && row[n].includes(' '))) ? `${last(n)} ${shown(row[n], n)}` : shortName(n, shown(row[n], n));
function nameOf(row, of = dimensions) {
  const parts = of.filter(n => row[n] !== null && row[n] !== undefined && row[n] !== '').map(n => worded(row, n));
  // "fat_tree" and "fat_tree, spines 8" are one.
  return parts.filter((p, i) => !parts.some((o, j) => j !== i && (o === p ? j < i : o.startsWith(p + ', ')))).join(', ') || (of === dimensions ? row.algorithm : '');
}

// A small builder of HTML.
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes))
    if (k.startsWith('on')) node.addEventListener(k.slice(2), v); else if (v !== null && v !== undefined) node.setAttribute(k, v);
  node.append(...children.flat().filter(c => c !== null && c !== undefined));
  return node;
}
// Names and values, in as many columns.
function factList(pairs, columns) {
  const each = Math.ceil(pairs.length / columns);
  return el('div', {class: 'two'}, d3.range(columns).map(c => el('dl', {class: 'facts'}, pairs.slice(c * each, (c + 1) * each).flatMap(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]))));
}
const body = id => document.querySelector(`#${id} .body`);
const select = (label, options, value, change) => el('label', {}, label,
  el('select', {onchange: e => change(options[e.target.selectedIndex][0])}, options.map(([v, text]) => el('option', v === value ? {selected: ''} : {}, text))));

function table(header, lines, {caption, classOf = () => null} = {}) {
  const number = i => lines.length && lines.every(l => typeof l[i] === 'string' ? /^([-+]?[\d.,]+( ?[^\d ]\S{0,3})?|–)$/.test(l[i]) : false);
  const numeric = header.map((_, i) => number(i) ? 'n' : null);
  return el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption}, el('table', {},
    el('thead', {}, el('tr', {}, header.map((h, i) => el('th', {scope: 'col', class: numeric[i]}, h)))),
    el('tbody', {}, lines.map((line, at) => el('tr', {class: classOf(at)}, line.map((cell, i) => el('td', {class: numeric[i]}, cell)))))));
}
