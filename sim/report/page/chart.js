// Lines and bars over one value of the rows. A series has a colour, a dash, a marker and its name at its end: any one of them tells it apart.
const dashes = ['', '7 4', '2 3', '9 3 2 3', '14 4', '4 2', '1 4', '6 2 1 2'];
const bowTie = {draw(context, size) { const r = Math.sqrt(size) / 2; context.moveTo(-r, -r); context.lineTo(r, r); context.lineTo(r, -r); context.lineTo(-r, r); context.closePath(); }};
const symbols = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross, d3.symbolStar, d3.symbolWye, bowTie];
// Beyond eight series the colour comes again, with another dash and another marker.
const colour = i => `var(--c${i % 8})`, dashOf = i => dashes[(i + Math.floor(i / 8)) % 8], symbolOf = i => symbols[(i + 3 * Math.floor(i / 8)) % 8];

const tip = document.getElementById('tip');
function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + 'px';
}
const hideTip = () => { tip.hidden = true; };

// Marks that say what they are: under the pointer, and with Tab and the arrow keys.
function speaks(marks, text) {
  const nodes = marks.nodes();
  marks.classed('mark', true).attr('tabindex', (d, i) => i === 0 ? 0 : -1).attr('role', 'img').attr('aria-label', text)
    .on('mousemove', d => showTip(text(d), d3.event.clientX, d3.event.clientY)).on('mouseleave', hideTip)
    .on('focus', function(d) { const b = this.getBoundingClientRect(); showTip(text(d), b.x + b.width / 2, b.y + b.height / 2); }).on('blur', hideTip)
    .on('keydown', function() {
      const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[d3.event.key];
      if (d3.event.key === 'Escape') hideTip();
      if (!by) return;
      d3.event.preventDefault();
      const next = nodes[(nodes.indexOf(this) + by + nodes.length) % nodes.length];
      nodes.forEach(n => n.setAttribute('tabindex', -1));
      next.setAttribute('tabindex', 0);
      next.focus();
    });
  return marks;
}

function figure(parent, width, height, label, caption) {
  const svg = d3.create('svg').attr('viewBox', `0 0 ${width} ${height}`).attr('role', 'group').attr('aria-label', label);
  parent.append(el('figure', {}, svg.node(), caption ? el('figcaption', {}, caption) : null));
  return svg;
}

function legend(parent, series) {
  parent.append(el('ul', {class: 'legend'}, series.map((s, i) => {
    const svg = d3.create('svg').attr('viewBox', '0 0 34 14').attr('aria-hidden', 'true');
    svg.append('line').attr('x2', 34).attr('y1', 7).attr('y2', 7).attr('stroke', colour(i)).attr('stroke-width', 2.5).attr('stroke-dasharray', dashOf(i));
    svg.append('path').attr('transform', 'translate(17,7)').attr('d', d3.symbol().type(symbolOf(i)).size(55)()).attr('fill', colour(i));
    return el('li', {}, svg.node(), s.name);
  })));
}

// A logarithmic axis may begin with 0, which stands one step before the least of the others.
const mayBeLog = values => values.every(v => v >= 0) && values.some(v => v > 0);
const isLog = values => mayBeLog(values) && d3.max(values) / d3.min(values.filter(v => v > 0)) > 12;

function scaleOf(values, range, log, {zero}) {
  const [low, high] = d3.extent(values);
  if (log && low === 0) return d3.scaleSymlog().constant(d3.min(values.filter(v => v > 0))).domain([0, high]).range(range);
  if (log) return d3.scaleLog().domain(low === high ? [low / 2, high * 2] : [low, high]).range(range);
  return d3.scaleLinear().domain([zero ? Math.min(0, low) : low, high === low ? high + 1 : high]).range(range);
}

function logTicks(scale, name, most) {
  const [low, high] = scale.domain(), base = fieldOf[name] && fieldOf[name].unit === 'B' ? 2 : 10;
  const from = Math.ceil(Math.log(low * 0.9999) / Math.log(base)), to = Math.floor(Math.log(high * 1.0001) / Math.log(base));
  if (base === 10 && to - from < 2) return scale.ticks(4).filter((t, i, all) => all.length <= most || /^[125]/.test(t.toExponential()));
  const step = Math.max(1, Math.ceil((to - from + 1) / most));
  return d3.range(from, to + 1, step).map(e => base ** e);
}

// series: [{name, points: [{x, y, low, high, row}]}]
function lines(parent, {series, x, y, logX, logY, label}) {
  const width = 1100, height = 400, left = 92, right = 216, top = 14, bottom = 46;
  const points = series.flatMap(s => s.points);
  const svg = figure(parent, width, height, label);
  const sx = scaleOf(points.map(p => p.x), [left, width - right], logX, {});
  const sy = scaleOf(points.flatMap(p => [p.low, p.high]), [height - bottom, top], logY, {zero: true});
  sy.nice();
  const xs = Array.from(new Set(points.map(p => p.x))).sort(d3.ascending);
  const xTicks = xs.length <= 12 ? xs : logX && xs[0] > 0 ? logTicks(sx, x, 10) : sx.ticks(8);
  const axisX = d3.axisBottom(sx).tickValues(xTicks).tickFormat(v => shown(v, x)).tickSizeOuter(0);
  const axisY = d3.axisLeft(sy).tickFormat(v => shown(v, y)).tickSizeOuter(0);
  if (logY) axisY.tickValues(logTicks(sy, y === 'size_bytes' ? y : '', 7)); else axisY.ticks(6);
  svg.append('g').attr('class', 'axis grid').attr('transform', `translate(${left},0)`).attr('aria-hidden', 'true').call(axisY.tickSizeInner(-(width - left - right))).selectAll('text').attr('dx', -4);
  svg.append('g').attr('class', 'axis').attr('transform', `translate(0,${height - bottom})`).attr('aria-hidden', 'true').call(axisX);
  svg.append('text').attr('x', (left + width - right) / 2).attr('y', height - 6).attr('text-anchor', 'middle').attr('class', 'soft').text(titleOf(x) + (logX ? ' (log)' : ''));
  svg.append('text').attr('transform', `translate(12,${height / 2}) rotate(-90)`).attr('text-anchor', 'middle').attr('class', 'soft').text(titleOf(y) + (logY ? ' (log)' : ''));
  const ends = [];
  series.forEach((s, i) => {
    s.points.sort((a, b) => a.x - b.x);
    const line = d3.line().x(p => sx(p.x)).y(p => sy(p.y));
    if (s.points.some(p => p.high > p.low))
      svg.append('path').attr('d', d3.area().x(p => sx(p.x)).y0(p => sy(p.low)).y1(p => sy(p.high))(s.points)).attr('fill', colour(i)).attr('opacity', .16);
    svg.append('path').attr('d', line(s.points)).attr('fill', 'none').attr('stroke', colour(i)).attr('stroke-width', 2.2).attr('stroke-dasharray', dashOf(i));
    if (s.points.some(p => p.high > p.low))
      svg.append('g').selectAll('path').data(s.points).join('path').attr('stroke', colour(i)).attr('fill', 'none')
        .attr('d', p => `M${sx(p.x)},${sy(p.low)}V${sy(p.high)}m-4,0h8M${sx(p.x) - 4},${sy(p.low)}h8`);
    speaks(svg.append('g').selectAll('path').data(s.points).join('path').attr('transform', p => `translate(${sx(p.x)},${sy(p.y)})`)
      .attr('d', d3.symbol().type(symbolOf(i)).size(64)).attr('fill', colour(i)).attr('stroke', 'var(--card)'),
    p => `${s.name}\n${titleOf(x)} ${shown(p.x, x)}: ${shown(p.y, y)}` + (p.high > p.low ? ` (5 to 95 %: ${shown(p.low, y)} to ${shown(p.high, y)})` : ''));
    const end = s.points[s.points.length - 1];
    ends.push({i, name: s.name, x: sx(end.x), y: sy(end.y)});
  });
  ends.sort((a, b) => a.y - b.y).forEach((e, i) => { e.at = Math.max(e.y, i ? ends[i - 1].at + 14 : top); });
  for (let i = ends.length - 1, floor = height - bottom; i >= 0; --i, floor -= 14) ends[i].at = Math.min(ends[i].at, floor);
  const g = svg.append('g').attr('aria-hidden', 'true');
  // A name too long for the margin is cut; where others would look the same, it is what they have not.
  const cut = name => ellipsis(name, 31);
  const called = name => {
    const same = ends.filter(o => o.name !== name && cut(o.name) === cut(name)).map(o => o.name.split(', '));
    return same.length ? ellipsis('… ' + name.split(', ').filter(p => !same.every(o => o.includes(p))).join(', '), 31) : cut(name);
  };
  if (ends.length <= 24) for (const e of ends) {
    g.append('path').attr('d', `M${e.x + 8},${e.y}L${width - right + 14},${e.at}`).attr('stroke', colour(e.i)).attr('stroke-dasharray', '1 3').attr('opacity', .7).attr('fill', 'none');
    g.append('text').attr('x', width - right + 18).attr('y', e.at + 4).style('fill', colour(e.i)).text(called(e.name));
  }
}

// What is the better the more, and the less, there is of it: of other measures no bar is the best.
const isSpeed = /^(algbw_GBps|busbw_GBps|samples_per_s|scaling_efficiency)$/, isTime = /^(time_us|exposed_us)$/;

// groups: [{name, bars: [{name, i, y, low, high, row}]}]
function bars(parent, {groups, y, label, logY}) {
  const count = d3.sum(groups, g => g.bars.length), step = count > 60 ? 15 : 22, gap = 14, left = 250, right = 110, width = 1100;
  const many = groups.length > 1 || groups[0].name;
  const height = count * step + groups.length * (many ? gap + 20 : 0) + 34;
  const svg = figure(parent, width, height, label);
  const values = groups.flatMap(g => g.bars.flatMap(b => [b.low, b.high]));
  const sx = logY ? d3.scaleLog().domain([d3.min(values) / 2, d3.max(values)]).range([left, width - right]) : scaleOf(values, [left, width - right], false, {zero: true});
  const axis = d3.axisTop(sx).tickFormat(v => shown(v, y)).tickSizeInner(-(height - 26));
  if (logY) axis.tickValues(logTicks(sx, '', 7)); else axis.ticks(6);
  svg.append('g').attr('class', 'axis grid').attr('transform', 'translate(0,22)').attr('aria-hidden', 'true').call(axis);
  const all = [];
  let at = 30;
  for (const group of groups) {
    if (many) { svg.append('text').attr('x', 0).attr('y', at + 12).attr('font-weight', 600).text(group.name); at += 20; }
    const best = isSpeed.test(y) ? d3.max(group.bars, b => b.y) : isTime.test(y) ? d3.min(group.bars, b => b.y) : null;
    for (const bar of group.bars) { all.push(Object.assign(bar, {at, group: group.name, best: bar.y === best && bar.clear && group.bars.length > 1})); at += step; }
    if (many) at += gap;
  }
  const thick = step - 6;
  svg.append('g').selectAll('text').data(all).join('text').attr('x', left - 8).attr('y', b => b.at + thick / 2 + 4).attr('text-anchor', 'end').text(b => ellipsis(b.name, 36));
  speaks(svg.append('g').selectAll('rect').data(all).join('rect').attr('x', left).attr('y', b => b.at).attr('height', thick).attr('rx', 2)
    .attr('width', b => Math.max(1, sx(b.y) - left)).attr('fill', b => colour(b.i)), b => `${b.group ? b.group + '\n' : ''}${b.name}: ${shown(b.y, y)}`);
  svg.append('g').selectAll('path').data(all.filter(b => b.high > b.low)).join('path').attr('stroke', 'var(--ink)').attr('fill', 'none')
    .attr('d', b => `M${sx(b.low)},${b.at + thick / 2}H${sx(b.high)}m0,-4v8M${sx(b.low)},${b.at + thick / 2 - 4}v8`);
  svg.append('g').selectAll('text').data(all).join('text').attr('x', b => sx(b.high) + 6).attr('y', b => b.at + thick / 2 + 4).attr('font-weight', b => b.best ? 700 : 400)
    .text(b => shown(b.y, y) + (b.best ? ' ★' : ''));
}

// One bar of parts for each line: [{name, parts: [{name, value}]}]; a part has its pattern of hatches besides its colour.
function stacked(parent, lines, {unit, label, caption}) {
  const names = Array.from(new Set(lines.flatMap(l => l.parts.map(p => p.name))));
  const step = 30, left = lines.length > 1 ? 250 : 8, right = 100, width = 1100, height = lines.length * step + 8;
  const most = d3.max(lines, l => d3.sum(l.parts, p => p.value)) || 1, sx = d3.scaleLinear().domain([0, most]).range([0, width - left - right]);
  parent.append(el('ul', {class: 'legend'}, names.map((n, i) => {
    const svg = d3.create('svg').attr('viewBox', '0 0 34 14').attr('aria-hidden', 'true');
    svg.append('rect').attr('width', 34).attr('height', 14).attr('rx', 2).attr('fill', colour(i));
    hatch(svg, i, 0, 0, 34, 14);
    return el('li', {}, svg.node(), n);
  })));
  const svg = figure(parent, width, height, label, caption), marks = [];
  lines.forEach((line, l) => {
    let x = left;
    for (const part of line.parts) {
      const w = sx(part.value);
      marks.push({x, y: l * step + 2, w, i: names.indexOf(part.name), part, line});
      x += w;
    }
    if (lines.length > 1) svg.append('text').attr('x', left - 8).attr('y', l * step + 18).attr('text-anchor', 'end').text(ellipsis(line.name, 36));
    svg.append('text').attr('x', x + 6).attr('y', l * step + 18).text(scaled(d3.sum(line.parts, p => p.value), unit));
  });
  speaks(svg.append('g').selectAll('rect').data(marks.filter(m => m.w > 0)).join('rect').attr('x', m => m.x).attr('y', m => m.y).attr('width', m => m.w).attr('height', step - 6).attr('fill', m => colour(m.i)),
    m => `${m.line.name}\n${m.part.name}: ${scaled(m.part.value, unit)}, ${percent(m.part.value / d3.sum(m.line.parts, p => p.value))}`);
  for (const m of marks) hatch(svg, m.i, m.x, m.y, m.w, step - 6);
  svg.append('g').attr('aria-hidden', 'true').selectAll('text').data(marks.filter(m => m.w > m.part.name.length * 7.6 + 12)).join('text').attr('x', m => m.x + 6).attr('y', m => m.y + 16)
    .style('fill', 'var(--bar-ink)').attr('paint-order', 'stroke').attr('stroke', m => colour(m.i)).attr('stroke-width', 3).text(m => m.part.name);
}

// Hatches with a direction and a distance of their own for each part.
function hatch(svg, i, x, y, w, h) {
  if (i % 4 === 0 || w < 3) return;
  const gap = [0, 7, 7, 5][i % 4], slope = [0, 1, -1, 0][i % 4];
  let d = '';
  for (let at = x + gap; at < x + w; at += gap) {
    const end = at - slope * Math.min(h, gap * 1.2);
    if (slope !== 0 && (end < x || end > x + w)) continue;
    d += `M${at},${y}L${end},${y + h}`;
  }
  svg.append('path').attr('d', d).attr('stroke', 'var(--card)').attr('stroke-width', 1).attr('opacity', .45).attr('pointer-events', 'none').attr('fill', 'none');
}
