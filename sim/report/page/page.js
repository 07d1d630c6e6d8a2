// The sections of the page.
const networks = Array.from(new Set(rows.map(r => r.network)));
const names = weft.results.scenarios;
const hasSpread = rows.some(r => r.runs > 1 && r.time_us_p95 > r.time_us_p05);
const better = rows.filter(r => r.time_us > 0);

function head() {
  document.title = `${names.join(', ')} · Weft report`;
  document.getElementById('title').textContent = names.join(', ').replace(/_/g, ' ');
  const text = Array.from(new Set(weft.results.cases.map(c => c.scenario.description).filter(Boolean)));
  document.getElementById('about').textContent = text.join(' ');
  document.getElementById('made').textContent = `Made by weft ${weft.results.weft.version} (${weft.results.weft.commit}) from ${rows.length} simulated row${rows.length === 1 ? '' : 's'}; schema ${weft.results.schema}, order of steps: ${weft.results.order}. This file needs no network and no other file.`;
  document.querySelector('nav').append(el('ul', {}, Array.from(document.querySelectorAll('section')).filter(s => s.querySelector('.body').children.length).map(s => el('li', {}, el('a', {href: '#' + s.id}, s.querySelector('h2').textContent)))));
  document.querySelectorAll('section').forEach(s => { s.hidden = !s.querySelector('.body').children.length; });
}

// Rows that differ in nothing but how they do it, the fastest first.
const ways = ['algorithm', 'engine', 'compression'].filter(n => dimensions.includes(n));
const wayOf = r => nameOf(r, ways) || baseOf(r.algorithm);
function contests() {
  const groups = new Map(), others = dimensions.filter(n => !ways.includes(n) && !(n === 'ranks' && dimensions.some(d => d.startsWith('/') && last(d) !== 'placement')));
  for (const r of better) {
    const key = JSON.stringify(others.map(n => r[n]));
    if (!groups.has(key)) groups.set(key, {name: nameOf(r, others), rows: []});
    groups.get(key).rows.push(r);
  }
  return Array.from(groups.values()).map(g => Object.assign(g, {rows: g.rows.sort((a, b) => a.time_us - b.time_us)}, fastestOf(g.rows)));
}

// As the table of weft run marks them: none is faster; where rows stand for several runs, the p95 lies below the p05 of all others.
const behind = (r, o) => r.runs > 1 || o.runs > 1 ? o.time_us_p05 <= r.time_us_p95 : o.time_us < r.time_us;
const fastestOf = sorted => ({
  fastest: sorted.length > 1 ? sorted.filter(r => sorted.every(o => o === r || !behind(r, o))) : [],
  close: sorted.filter(o => o === sorted[0] || behind(sorted[0], o) || o.time_us === sorted[0].time_us),  // not told from the first
});

function answer() {
  const to = body('answer'), all = contests().filter(c => c.rows.length > 1);
  const tile = (value, what) => el('div', {class: 'tile'}, el('b', {}, value), el('span', {}, what));
  const tiles = [];
  if (all.length) {
    const wins = new Map();
    all.forEach(c => c.fastest.forEach(r => wins.set(wayOf(r), (wins.get(wayOf(r)) || 0) + 1)));
    const ranked = Array.from(wins).sort((a, b) => b[1] - a[1]), most = ranked.filter(w => w[1] === ranked[0][1]);
    const last = all.filter(c => c.fastest.length).pop() || all[all.length - 1], slow = last.rows[last.rows.length - 1];
    if (!most.length) tiles.push(tile('none', `is the fastest: the spreads of the runs overlap${all.length === 1 ? '' : ' in all comparisons'}`));
    else tiles.push(tile(most.map(w => w[0]).join(', '), `${most.length > 1 ? 'are' : 'is'} the fastest${all.length === 1 ? '' : ` in ${most[0][1]} of ${all.length} comparisons${most.length > 1 ? ' each' : ''}`}`));
    tiles.push(tile(shown(last.rows[0].time_us, 'time_us'), `${wayOf(last.rows[0])}${last.name ? ', ' + last.name : ''}`));
    if (!last.close.includes(slow)) tiles.push(tile(plain(slow.time_us / last.rows[0].time_us) + ' ×', `as long with ${wayOf(slow)} there`));
  } else if (better.length) {
    const sorted = better.slice().sort((a, b) => a.time_us - b.time_us);
    tiles.push(tile(shown(sorted[0].time_us, 'time_us'), nameOf(sorted[0])));
    if (sorted.length > 1) tiles.push(tile(shown(sorted[sorted.length - 1].time_us, 'time_us'), nameOf(sorted[sorted.length - 1])));
  }
  const limited = better.filter(r => r.limiting_link).sort((a, b) => b.limiting_share - a.limiting_share)[0];
  if (limited) tiles.push(tile(percent(limited.limiting_share), `of the critical path of ${nameOf(limited)} is decided by ${limited.limiting_link}`));
  const dropped = better.filter(r => r.drops > 0).sort((a, b) => b.drops - a.drops)[0];
  if (dropped) tiles.push(tile(grouped(dropped.drops), `packets dropped, lost or corrupted with ${nameOf(dropped)}`));
  to.append(el('div', {class: 'tiles'}, tiles));
  if (all.length > 1)
    to.append(table(['where', 'fastest', 'time', 'next', 'takes'], all.map(c => {
      const next = c.rows.find(r => !c.close.includes(r));
      return [c.name || 'all', c.fastest.length ? c.fastest.map(wayOf).join(', ') : 'not told apart: ' + c.close.map(wayOf).join(', '), shown(c.rows[0].time_us, 'time_us'),
        next ? wayOf(next) : '–', next ? plain(next.time_us / c.rows[0].time_us) + ' ×' : '–'];
    }), {caption: 'The fastest of each comparison'}));
  if (weft.results.failed) to.append(el('h3', {}, 'Rows that have no result'), table(['case', 'algorithm', 'size', 'why'], weft.results.failed.map(f => [String(f.case + 1), f.algorithm, scaled(f.size_bytes, 'B'), f.why]), {caption: 'Rows that have no result'}));
}

const choice = {};
function comparison() {
  const to = body('comparison'), numeric = n => valuesOf(n).every(v => typeof v === 'number') && valuesOf(n).length > 1;
  const axes = dimensions.filter(numeric), measures = weft.fields.filter(f => !['size_bytes', 'batch_per_gpu', 'wall_s', 'runs', 'most_shared_step', 'endpoint_GBps', 'time_us_p05', 'time_us_p95', 'ranks'].includes(f.name) && rows.some(r => typeof r[f.name] === 'number' && r[f.name] !== 0) && (rows.length === 1 || f.name === 'time_us' || varies(f.name))).map(f => f.name);
  if (rows.some(r => r.ranks !== rows[0].ranks) && !axes.includes('ranks')) axes.push('ranks');
  // Over what some series has more than two points: what a model determines, as samples per GPU, is none.
  const joins = a => {
    const seen = new Map(), others = dimensionsOver(a);
    for (const r of rows) seen.set(nameOf(r, others), (seen.get(nameOf(r, others)) || new Set()).add(r[a]));
    return Array.from(seen.values()).some(s => s.size > 2);
  };
  Object.assign(choice, {x: axes.includes('size_bytes') && valuesOf('size_bytes').length > 2 ? 'size_bytes' : axes.filter(joins)[0] || '', y: rows.some(r => r.samples_per_s) ? 'samples_per_s' : 'time_us', logX: null, logY: null, filter: {}});
  if (choice.x && choice.x !== 'size_bytes' && dimensions.includes('size_bytes')) choice.filter.size_bytes = Math.max(...valuesOf('size_bytes'));
  const holder = el('div');
  const redraw = () => { holder.textContent = ''; drawComparison(holder, axes, measures, redraw); };
  to.append(holder, el('details', {}, el('summary', {}, rows.length === 1 ? 'The row as a table' : `All ${rows.length} rows as a table`), allRows()));
  redraw();
}

function drawComparison(to, axes, measures, redraw) {
  const {x, y} = choice, set = (key, value) => { choice[key] = value; if (key === 'x') choice.logX = null; if (key === 'y') choice.logY = null; redraw(); };
  const others = x ? dimensionsOver(x) : dimensions;
  const filters = x ? others.filter(d => !ways.includes(d)) : [];
  for (const f of Object.keys(choice.filter)) if (!filters.includes(f)) delete choice.filter[f];
  let chosen = rows.filter(r => typeof r[y] === 'number' && filters.every(f => choice.filter[f] === undefined || r[f] === choice.filter[f]));
  to.append(el('div', {class: 'controls'}, select(x ? 'Vertical' : 'Horizontal', measures.map(m => [m, titleOf(m)]), y, v => set('y', v)),
    select(x ? 'Horizontal' : 'Vertical', [['', 'bars, one for each row']].concat(axes.map(a => [a, titleOf(a)])), x, v => set('x', v)),
    filters.map(f => select(titleOf(f), [[undefined, 'all']].concat(valuesOf(f).map(v => [v, shown(v, f)])), choice.filter[f], v => { choice.filter[f] = v; redraw(); })),
    x ? check('log horizontal', choice.logX === null ? isLog(chosen.map(r => r[x])) : choice.logX, v => { choice.logX = v; redraw(); }, mayBeLog(chosen.map(r => r[x]))) : null,
    check(x ? 'log vertical' : 'log horizontal', logOf(chosen), v => { choice.logY = v; redraw(); }, chosen.every(r => r[y] > 0))));
  const field = fieldOf[y], spread = r => y === 'time_us' && r.runs > 1 ? {low: Math.min(r.time_us_p05, r[y]), high: Math.max(r.time_us_p95, r[y])} : {low: r[y], high: r[y]};
  const label = `${titleOf(y)}${x ? ' over ' + titleOf(x) : ' of each row'}. Tab, then arrow keys go through the values.`;
  if (x) {
    const series = new Map();
    for (const r of chosen.filter(r => typeof r[x] === 'number')) {
      const name = nameOf(r, others.filter(d => choice.filter[d] === undefined)) || r.algorithm;
      if (!series.has(name)) series.set(name, {name, points: []});
      series.get(name).points.push(Object.assign({x: r[x], y: r[y], row: r}, spread(r)));
    }
    const list = Array.from(series.values());
    if (list.length <= 24) legend(to, list); else to.append(el('p', {class: 'soft'}, `${list.length} series: choose fewer above to have them named.`));
    const logX = choice.logX === null ? isLog(chosen.map(r => r[x])) : choice.logX;
    if (list.length) lines(to, {series: list, x, y, logX, logY: logOf(chosen), label});
  } else {
    const waysNames = Array.from(new Set(chosen.map(r => wayOf(r)))), groups = contests().map(g => ({name: g.name, bars: g.rows.filter(r => chosen.includes(r)).sort((a, b) => a.index - b.index)
      .map(r => Object.assign({name: wayOf(r), i: waysNames.indexOf(wayOf(r)), y: r[y], clear: r.runs <= 1 || g.fastest.includes(r)}, spread(r)))})).filter(g => g.bars.length);
    if (groups.length) bars(to, {groups, y, label, logY: logOf(chosen)});
  }
  to.append(el('p', {class: 'soft'}, field ? field.meaning + (hasSpread && y === 'time_us' ? ' Whiskers and bands: the 5th to the 95th percentile of the runs.' : '') : ''));
}
const logOf = chosen => chosen.every(r => r[choice.y] > 0) && (choice.logY === null ? (choice.x ? isLog(chosen.map(r => r[choice.y])) : chosen.length > 1 && d3.max(chosen, r => r[choice.y]) / d3.min(chosen, r => r[choice.y]) > 200) : choice.logY);
const check = (text, on, change, possible = true) => el('label', {class: 'check'}, el('input', Object.assign({type: 'checkbox', onchange: e => change(e.target.checked)}, on ? {checked: ''} : {}, possible ? {} : {disabled: ''})), text);

function allRows() {
  const used = weft.fields.filter(f => rows.some(r => r[f.name] !== null && r[f.name] !== undefined && typeof r[f.name] !== 'object')).map(f => f.name);
  const constant = used.filter(n => rows.length > 1 && rows.every(r => r[n] === rows[0][n])), varying = used.filter(n => !constant.includes(n)).concat(pointers.filter(p => !used.includes(p)));
  const best = new Set(contests().flatMap(c => c.fastest.map(r => r.index)));
  return el('div', {}, el('p', {class: 'soft'}, 'The same in all rows: ' + (constant.filter(n => rows[0][n] !== '').map(n => `${titleOf(n)} ${shown(rows[0][n], n)}`).join(', ') || 'nothing') + '. A star marks the fastest of a comparison.'),
    table(varying.map(titleOf), rows.map(r => varying.map(n => shown(r[n], n))), {caption: 'All rows', classOf: i => best.has(i) ? 'best' : null}));
}

function training() {
  const own = rows.filter(r => r.compute_us !== null && r.compute_us !== undefined);
  if (!own.length) return;
  const parts = r => {
    const known = (r.stragglers_us || 0) + (r.negotiation_us || 0) + (r.events_us || 0), kernels = /kernels=cpu_core/.test(r.compression) ? 0 : Math.min(r.compressing_us || 0, Math.max(0, r.exposed_us - known));
    return [{name: 'computing', value: r.compute_us}, {name: 'compression kernels', value: kernels}, {name: 'exposed communication', value: Math.max(0, r.exposed_us - known - kernels)},
      {name: 'waiting for other ranks', value: r.stragglers_us || 0}, {name: 'negotiation', value: r.negotiation_us || 0}, {name: 'checkpoints, failures, growth', value: r.events_us || 0}];
  };
  const seen = new Set(own.flatMap(r => parts(r).filter(p => p.value > 0).map(p => p.name)));
  const groups = contests().map(c => ({name: c.name, rows: c.rows.filter(r => own.includes(r)).sort((a, b) => a.index - b.index)})).filter(g => g.rows.length);
  for (const g of groups) {
    if (g.name) body('training').append(el('h3', {}, g.name));
    stacked(body('training'), g.rows.map(r => ({name: wayOf(r), parts: parts(r).filter(p => seen.has(p.name))})), {unit: 'us', label: 'What a training step is made of' + (g.name ? ', ' + g.name : '')});
  }
  body('training').append(el('p', {class: 'soft'}, 'The mean of all ranks in a step. What an engine hides behind computing is not shown: it costs no time.' + (own.some(r => r.compressing_us) ? ' Kernels of compression that run on the GPU are of the rank with most of them; those of a CPU core may be hidden, and what is not is in the exposed communication.' : '')));
}

function rowSection() {
  const to = body('row'), holder = el('div');
  let at = 0;
  const show = index => { at = (index + rows.length) % rows.length; chooser.selectedIndex = at; holder.textContent = ''; detail(holder, rows[at]); };
  const chooser = el('select', {onchange: e => show(e.target.selectedIndex)}, rows.map(r => el('option', {}, `${nameOf(r) || r.algorithm}: ${shown(r.time_us, 'time_us')}`)));
  to.append(el('div', {class: 'controls'}, el('label', {}, 'Row', chooser), rows.length > 1 ? [el('button', {type: 'button', onclick: () => show(at - 1)}, '← before'), el('button', {type: 'button', onclick: () => show(at + 1)}, 'next →')] : []), holder);
  const richest = rows.map(r => (r.in_network ? 2 : 0) + (r.packet ? 1 : 0) + (detailsOf(r).slices && detailsOf(r).slices.length ? 1 : 0)), top = Math.max(...richest);
  show(rows.length > 1 ? richest.lastIndexOf(top) : 0);
}

function detail(to, r) {
  const facts = ['algorithm', 'collective', 'engine', 'model', 'compression', 'network', 'fabric', 'ranks', 'size_bytes', 'time_us', 'busbw_GBps', 'messages', 'steps', 'max_flows_per_link', 'wire_bytes_per_rank', 'busiest_link', 'busiest_link_utilization', 'runs'];
  to.append(factList(facts.filter(n => r[n] !== null && r[n] !== undefined && r[n] !== '').map(n => [titleOf(n), shown(r[n], n)]), 2));
  const path = r.critical_path;
  if (path) {
    to.append(el('h3', {}, 'What the critical path was spent on'));
    stacked(to, [{name: nameOf(r) || r.algorithm, parts: [['latency', path.latency_us], ['overheads', path.overhead_us], ['waiting', path.waiting_us], ['computing', path.computing_us], ['bandwidth', path.bandwidth_us]].map(([name, value]) => ({name, value})).filter(p => p.value > 0)}],
      {unit: 'us', label: 'Parts of the critical path', caption: 'From the first start to the last end; the parts add up to the time.'});
    if (path.limits && path.limits.length)
      to.append(table(['limited by', 'for', 'of the time'], path.limits.map(l => [l.name, scaled(l.time_us, 'us'), percent(l.time_us / r.time_us)]), {caption: 'What limited the critical path'}));
  }
  if (r.what_if && r.what_if.length)
    to.append(el('h3', {}, 'What if'), table(['twice as fast', 'time', 'change'], r.what_if.map(w => [w.twice_as_fast, scaled(w.time_us, 'us'), changed(w.change)]), {caption: 'What the row takes with what limits it twice as fast, simulated again'}));
  if (r.faults) to.append(el('h3', {}, 'Failures'), factList([['time without them', scaled(r.faults.healthy_us, 'us')], ['with them', plain(r.slowdown_by_faults) + ' × as long'], ['routes changed', grouped(r.faults.rerouted)], ['messages interrupted', grouped(r.faults.interrupted)]], 2));
  fabricOf(to, r);
  timelineOf(to, r);
  if (!detailsOf(r).end_us) to.append(el('p', {class: 'soft'}, traced(r) ? 'The result folder has no details.json: weft run ... -o DIR --report writes it, and then this page shows the fabric with the use of its links, and ranks, links and queues over time.' : `The network "${r.network}" records no messages and no use of links over time.`));
  packets(to, r);
  jobs(to, r);
}
const changed = share => Math.abs(share) < 5e-4 ? '0.0%' : d3.format('+.1%')(share);
const traced = r => (weft.networks.find(n => n.name === r.network) || {}).timeline;

function packets(to, r) {
  const lists = (title, list, header, cells) => { if (list && list.length) to.append(el('h3', {}, title), table(header, list.map(cells), {caption: title})); };
  if (r.packet) {
    // Packets of in-network all-reduces are in the tables of jobs and switches; where there are no others, nothing is said of others.
    const ofSchedules = {packets: r.traffic && r.traffic.length ? 'packets of schedules and traffic' : 'packets of schedules', resent: 'of these retransmitted', timeouts: 'timeouts', notifications: 'congestion notifications'};
    const p = r.packet, facts = Object.entries(p).filter(([k, v]) => (typeof v === 'number' || typeof v === 'string') && (p.packets > 0 || !(k in ofSchedules)));
    to.append(el('h3', {}, 'Packets'), factList(facts.map(([k, v]) => [ofSchedules[k] || k.replace(/_bytes$/, '').replace(/_/g, ' '), /bytes$/.test(k) ? scaled(v, 'B') : typeof v === 'number' ? grouped(v) : v || '–']), 3));
    lists('The longest queues', p.longest_queues, ['queue at', 'priority', 'longest', 'marked', 'dropped', 'pauses', 'paused'], q => [q.link, String(q.priority), scaled(q.high_water_bytes, 'B'), grouped(q.marked), grouped(q.dropped), grouped(q.pauses), scaled(q.paused_us, 'us')]);
  }
  if (r.in_network) {
    lists('In-network aggregation, by job', r.in_network.jobs, ['job', 'packets', 'fully aggregated', 'retransmitted', 'timeouts', 'marked', 'largest window', 'slots'], j => [j.job, grouped(j.packets), percent(j.aggregated_share), grouped(j.resent), grouped(j.timeouts), grouped(j.marked), grouped(j.largest_window), grouped(j.slots)]);
    lists('In-network aggregation, by switch', r.in_network.switches, ['switch', 'aggregators or slots', 'most in use', 'packets', 'aggregated', 'collisions'], s => [s.switch, grouped(s.places), grouped(s.most_in_use), grouped(s.packets), grouped(s.added), grouped(s.collided)]);
  }
}

// By the unit that a name ends with.
const measured = (value, name) => /(^|_)bytes$/.test(name) ? scaled(value, 'B') : /_us$/.test(name) ? scaled(value, 'us') : /_GBps$/.test(name) ? plain(value) + ' GB/s' : shown(value, name);

function jobs(to, r) {
  if (r.jobs && r.jobs.length > 1) to.append(el('h3', {}, `Jobs that share the network${r.fairness !== undefined ? `: fairness ${plain(r.fairness)}` : ''}`), table(['job', 'algorithm', 'ranks', 'time', 'alone', 'slowdown'], r.jobs.map(j => [j.job, j.algorithm, String(j.ranks), scaled(j.time_us, 'us'), scaled(j.alone_us, 'us'), plain(j.slowdown) + ' ×']), {caption: 'Jobs'}));
  for (const [key, title] of [['traffic', 'Traffic beside the workload'], ['copies', 'Copies to and from host memory']])
    if (r[key] && r[key].length) { const head = Object.keys(r[key][0]); to.append(el('h3', {}, title), table(head.map(titleOf), r[key].map(t => head.map(h => typeof t[h] === 'number' ? measured(t[h], h) : String(t[h]))), {caption: title})); }
}

function asked() {
  const to = body('asked'), cases = weft.results.cases;
  to.append(el('p', {}, cases.length === 1 ? 'The scenario with every default filled in.' : `${cases.length} cases; each with every default filled in.`));
  if (cases.length > 1) to.append(table(['case'].concat(pointers), cases.map((c, i) => [String(i + 1)].concat(pointers.map(p => c.axes[p] === undefined ? '–' : shown(inWords(p, c.axes[p]), p)))), {caption: 'The cases'}));
  cases.slice(0, 60).forEach((c, i) => {
    const sources = Object.entries(Object.assign({}, c.hardware_sources, c.server_sources));
    to.append(el('details', {}, el('summary', {}, `${cases.length > 1 ? `Case ${i + 1}: ` : ''}${c.scenario.name}, resolved`), el('pre', {tabindex: 0}, JSON.stringify(c.scenario, null, 2)),
      sources.length ? table(['value', 'where it comes from'], sources.map(([k, v]) => [k, typeof v === 'string' ? v : JSON.stringify(v)]), {caption: 'Sources'}) : null));
  });
}

function limits() {
  const to = body('limits');
  for (const n of weft.networks.filter(n => networks.includes(n.name))) to.append(el('h3', {}, `Network "${n.name}": ${n.description}`), el('ul', {}, n.leaves_out.map(t => el('li', {}, t))));
  const own = [];
  const leftOut = new Set(rows.map(r => r.in_network && r.in_network.left_out).filter(Boolean));
  leftOut.forEach(t => own.push(`In-network aggregation on "flow": ${t}`));
  if (rows.some(r => r.merged_steps)) own.push('In rows with merged steps, steps of an all-reduce were simulated together.');
  if (own.length) to.append(el('h3', {}, 'In these rows'), el('ul', {}, own.map(t => el('li', {}, t))));
  to.append(el('p', {class: 'soft'}, 'Every number here is simulated, none is measured. How far simulated times were from measured ones on other clusters: weft validate.'));
}

function repeat() {
  const to = body('repeat'), asked = weft.details ? weft.details.arguments : null;
  const quoted = a => /^[\w./=:+-]+$/.test(a) ? a : `'${a.replace(/'/g, "'\\''")}'`;
  // The figure above, with what tells its series apart and what was chosen there.
  const over = choice.x || 'algorithm', raw = (r, n) => n.startsWith('/') ? r.axes[n] : r[n], inCsv = v => typeof v === 'object' ? JSON.stringify(v) : String(v);
  const chosen = Object.entries(choice.filter).filter(([, v]) => v !== undefined), by = choice.x ? dimensionsOver(choice.x).filter(d => !chosen.some(([n]) => n === d)) : [];
  const figureOf = ['plot', 'out/results.csv', '--x', over, '--y', choice.y].concat(by.length ? ['--by', by.join(',')] : [], chosen.flatMap(([n, v]) => ['--where', `${n}=${inCsv(raw(rows.find(r => r[n] === v), n))}`]));
  to.append(el('p', {}, asked ? 'The command that made these results, with weft ' + weft.results.weft.version + ':' : 'Save the scenario below, then:'),
    el('pre', {tabindex: 0}, `weft run ${asked ? asked.map(quoted).join(' ') : names[0] + '.json'} -o out --report\nweft report out\nweft ${figureOf.map(quoted).join(' ')} -o figure.svg`));
  to.append(el('p', {}, 'Without the original file: each case as a scenario of its own, every default filled in.'), el('div', {class: 'controls'}, weft.results.cases.slice(0, 60).map((c, i) => el('a', {download: `${c.scenario.name}${weft.results.cases.length > 1 ? '-' + (i + 1) : ''}.json`,
    href: 'data:application/json;charset=utf-8,' + encodeURIComponent(JSON.stringify(c.scenario, null, 2))}, `${c.scenario.name}${weft.results.cases.length > 1 ? ' case ' + (i + 1) : ''}.json`))));
  to.append(el('p', {class: 'soft'}, 'The same scenario and seed give the same results, byte for byte but for the wall-clock times.'));
}

answer(); comparison(); training(); rowSection(); asked(); limits(); repeat(); head();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { body('row').textContent = ''; rowSection(); });
document.documentElement.dataset.ready = 'yes';
