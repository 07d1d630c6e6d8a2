// The fabric in tiers, hosts below their switches; where switches of one tier are cabled to each other, in two halves or round a circle.
function layOut(nodes, links, width, height) {
  const beside = nodes.map(() => []), at = [];
  links.forEach(l => { beside[l.from].push(l.to); beside[l.to].push(l.from); });
  const isSwitch = i => nodes[i].kind === 'switch', all = d3.range(nodes.length);
  const switches = all.filter(isSwitch), hosts = all.filter(i => !isSwitch(i));
  const inTier = switches.filter(s => beside[s].some(o => isSwitch(o) && nodes[o].tier === nodes[s].tier));
  const side = new Map();
  let halves = inTier.length > 0;
  for (const start of inTier) {  // two halves, if no cable stays in one
    if (side.has(start)) continue;
    side.set(start, 0);
    for (const stack = [start]; stack.length;) {
      const s = stack.pop();
      for (const o of beside[s].filter(n => isSwitch(n) && nodes[n].tier === nodes[s].tier)) {
        if (!side.has(o)) { side.set(o, 1 - side.get(s)); stack.push(o); } else if (side.get(o) === side.get(s)) halves = false;
      }
    }
  }
  const pad = 26;
  const spread = (list, y) => list.forEach((n, i) => { at[n] = {x: list.length === 1 ? width / 2 : pad + i * (width - 2 * pad) / (list.length - 1), y}; });
  const home = h => beside[h].filter(isSwitch);
  const under = (list, y) => {  // hosts beside their switch, in the order of the switches
    const order = list.slice().sort((a, b) => d3.mean(home(a), s => at[s].x) - d3.mean(home(b), s => at[s].x) || a - b);
    spread(order, y);
  };
  // Two rows where each switch of one half is cabled to most of the other's, as in a BiGraph: a torus of even sides has halves, too.
  const halfOf = s => inTier.filter(o => side.get(o) !== side.get(s)).length;
  halves = halves && inTier.every(s => 2 * new Set(beside[s].filter(o => side.has(o))).size >= halfOf(s));
  if (inTier.length && !(halves && inTier.length === switches.length)) {
    const r = Math.min(width, height) / 2 - 70, cx = width / 2, cy = height / 2;
    switches.forEach((s, i) => { const a = 2 * Math.PI * i / switches.length - Math.PI / 2; at[s] = {x: cx + r * Math.cos(a) * 1.9, y: cy + r * Math.sin(a), a}; });
    const of = new Map();
    hosts.forEach(h => { const s = home(h)[0]; if (!of.has(s)) of.set(s, []); of.get(s).push(h); });
    of.forEach((list, s) => list.forEach((h, i) => { const a = at[s].a + (i - (list.length - 1) / 2) * .9 * Math.PI / Math.max(8, switches.length * Math.max(1, list.length)); at[h] = {x: cx + (r + 52) * Math.cos(a) * 1.75, y: cy + (r + 52) * Math.sin(a)}; }));
    return at;
  }
  if (halves) {
    const top = switches.filter(s => !side.get(s)), bottom = switches.filter(s => side.get(s));
    spread(top, height * .28), spread(bottom, height * .72);
    under(hosts.filter(h => !side.get(home(h)[0])), height * .08), under(hosts.filter(h => side.get(home(h)[0])), height * .92);
    return at;
  }
  const tiers = d3.max(switches, s => nodes[s].tier) || 0;
  const y = tier => height - 30 - (height - 60) * tier / Math.max(1, tiers);
  for (let t = 1; t <= tiers; ++t) spread(switches.filter(s => nodes[s].tier === t), y(t));
  if (hosts.every(h => home(h).length)) under(hosts, y(0)); else spread(hosts, y(0));
  return at;
}

function colourOfUse(share) {
  const style = getComputedStyle(document.documentElement), stops = ['--use0', '--use1', '--use2', '--use3'].map(v => style.getPropertyValue(v).trim());
  return d3.scaleLinear().domain([0, .33, .66, 1]).range(stops).clamp(true)(share);
}

function drawFabric(parent, picture, mode) {
  const {nodes} = picture, links = picture.links.map(l => Object.assign({cables: 1, mean: l.use, bottleneck_us: 0}, l)), width = 1100, height = nodes.length > 90 ? 520 : 420;
  const at = layOut(nodes, links, width, height), most = d3.max(links, l => l.bottleneck_us) || 1;
  const share = l => mode === 'use' ? l.use : l.bottleneck_us / most, seen = l => Math.min(1, Math.max(share(l), share(l) > 0 ? .12 : 0));
  const words = l => mode === 'use' ? percent(l.use) : scaled(l.bottleneck_us, 'us');
  const name = n => nodes[n].name || `${nodes[n].hosts} hosts`;
  const svg = figure(parent, width, height, `The fabric, its links by ${mode === 'use' ? 'use' : 'time as the bottleneck'}. Tab to the links, the busiest first, then arrow keys.`,
    (mode === 'use' ? 'Colour and width: the share of its bandwidth that a link carried over the whole run, each direction by itself. '
      : 'Colour and width: for how long a link decided the pace of the critical path. ') +
    (nodes.some(n => n.hosts > 1) ? 'The hosts of a switch are drawn as one; a line shows its busiest cable. ' : '') + 'Where few are busiest, they are named.');
  const ordered = links.slice().sort((a, b) => share(a) - share(b));
  const path = l => {
    const a = at[l.from], b = at[l.to], d = Math.hypot(b.x - a.x, b.y - a.y) || 1, ox = -(b.y - a.y) / d * 2.2, oy = (b.x - a.x) / d * 2.2;
    return `M${a.x + ox},${a.y + oy}L${b.x + ox},${b.y + oy}`;
  };
  const lines = svg.append('g').selectAll('path').data(ordered).join('path').attr('d', path).attr('fill', 'none').attr('stroke', l => colourOfUse(seen(l)))
    .attr('stroke-width', l => .9 + 3.8 * seen(l)).attr('stroke-linecap', 'round').attr('opacity', l => .5 + .5 * seen(l));
  speaks(d3.select(svg.node()).selectAll('path').filter((l, i, all) => i >= ordered.length - 400), l =>
    `${name(l.from)} → ${name(l.to)}${l.cables > 1 ? `, ${l.cables} cables` : ''}: ${percent(l.use)} used` +
    (l.cables > 1 ? ` (mean ${percent(l.mean)}; busiest ${l.busiest})` : '') + `, ${plain(l.GBps)} GB/s` + (l.bottleneck_us > 0 ? `, the bottleneck for ${scaled(l.bottleneck_us, 'us')}` : ''));
  lines.attr('pointer-events', 'stroke');
  const g = svg.append('g').selectAll('g').data(nodes).join('g').attr('transform', (n, i) => `translate(${at[i].x},${at[i].y})`);
  g.filter(n => n.kind === 'switch').append('rect').attr('x', -11).attr('y', -7).attr('width', 22).attr('height', 14).attr('rx', 3).attr('fill', 'var(--card)').attr('stroke', 'var(--ink)').attr('stroke-width', 1.4);
  g.filter(n => n.kind === 'host').append('circle').attr('r', n => n.hosts > 1 ? 8 : 4.5).attr('fill', 'var(--soft)').attr('stroke', 'var(--card)');
  g.append('title').text((n, i) => name(i));
  // By the last part of a name, on a circle by all of it where others have the same; none where they would lie on one another.
  const row = i => Math.round(at[i].y), inRow = new Map(), alike = new Map(), round = at.some(p => p.a !== undefined), hosts = nodes.filter(n => n.kind === 'host').length;
  nodes.forEach((n, i) => { inRow.set(row(i), (inRow.get(row(i)) || 0) + 1); alike.set(last(name(i)), (alike.get(last(name(i))) || 0) + 1); });
  const called = i => round && alike.get(last(name(i))) > 1 ? name(i) : last(name(i));
  const fits = (n, i) => round ? (n.kind === 'switch' ? nodes.length - hosts <= 32 : hosts <= 16) : inRow.get(row(i)) * Math.max(4, called(i).length) <= (n.kind === 'switch' ? 160 : 170);
  g.append('text').attr('text-anchor', 'middle').attr('class', 'soft').style('font-size', '10px').attr('paint-order', 'stroke').attr('stroke', 'var(--card)').attr('stroke-width', 3)
    .attr('y', (n, i) => n.kind === 'switch' ? -11 : at[i].y > height / 2 ? 17 : -10).text((n, i) => fits(n, i) ? called(i) : '');
  // The busiest by name, unless many are as busy.
  const top = ordered.length ? share(ordered[ordered.length - 1]) : 0, equal = ordered.filter(l => top > 0 && share(l) > .98 * top);
  const cable = l => l.cables > 1 ? l.busiest : `${name(l.from)} → ${name(l.to)}`;
  if (equal.length > 3) {
    parent.append(el('p', {class: 'soft'}, `${equal.length} of the lines drawn share the highest value, ${words(equal[equal.length - 1])}; one is ${cable(equal[0])}.`));
  } else {
    const labels = svg.append('g').attr('aria-hidden', 'true'), taken = [];
    ordered.filter(l => share(l) > .5 * top).slice(-3).reverse().forEach((l, i) => {
      const t = .35 + .12 * i, x = Math.min(width - 130, Math.max(130, at[l.from].x + (at[l.to].x - at[l.from].x) * t));
      let y = at[l.from].y + (at[l.to].y - at[l.from].y) * t;
      while (taken.some(o => Math.abs(o.y - y) < 18 && Math.abs(o.x - x) < 240)) y += 18;
      taken.push({x, y});
      labels.append('text').attr('x', x).attr('y', y).attr('text-anchor', 'middle').attr('font-weight', 600).attr('paint-order', 'stroke').attr('stroke', 'var(--card)').attr('stroke-width', 4).text(`${cable(l)}  ${words(l)}`);
    });
  }
  const scale = d3.create('svg').attr('viewBox', '0 0 150 14').attr('aria-hidden', 'true').style('width', '150px').style('display', 'inline-block');
  d3.range(30).forEach(i => scale.append('rect').attr('x', i * 5).attr('y', 7 - (.4 + 2 * i / 29) * 1.6).attr('width', 5.2).attr('height', (.4 + 2 * i / 29) * 3.2).attr('fill', colourOfUse(i / 29)));
  parent.append(el('p', {class: 'soft'}, mode === 'use' ? 'idle ' : 'never ', scale.node(), mode === 'use' ? ' full' : ` ${scaled(most, 'us')}`));
}

function fabricOf(parent, row) {
  const picture = detailsOf(row).fabric;
  if (!picture) return;
  parent.append(el('h3', {}, 'The fabric'));
  const classes = () => parent.append(table(['from', 'to', 'links', 'mean use', 'highest use', 'busiest link', 'bottleneck'],
    picture.classes.map(c => [c.from, c.to, grouped(c.links), percent(c.mean), percent(c.most), c.most > 0 ? c.busiest : '–', c.bottleneck_us > 0 ? scaled(c.bottleneck_us, 'us') : '–']), {caption: 'Links by what they join'}));
  if (!picture.nodes) {
    parent.append(el('p', {class: 'soft'}, 'This fabric is not drawn: it has too many switches, or no cables between them and hosts that a picture could show. Here are its links by what they join.'));
    return classes();
  }
  const holder = el('div'), knows = picture.links.some(l => l.bottleneck_us > 0);
  const buttons = [['use', 'By use'], ['bottleneck', 'By time as the bottleneck']].map(([mode, text]) => el('button', {type: 'button', 'aria-pressed': mode === 'use', disabled: mode === 'use' || knows ? null : '',
    title: mode === 'use' || knows ? null : row.critical_path ? 'What limits this row lies inside servers, which are not drawn, or on no link' : 'No critical path is known for this row', onclick: e => draw(mode)}, text));
  const draw = mode => {
    buttons.forEach((b, i) => b.setAttribute('aria-pressed', (i === 0) === (mode === 'use')));
    holder.textContent = '';
    drawFabric(holder, picture, mode);
  };
  parent.append(el('div', {class: 'controls', role: 'group', 'aria-label': 'Colour of links'}, buttons), holder);
  draw('use');
  classes();
}
