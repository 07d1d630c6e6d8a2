// Ranks, links, queues and windows over the same time; wheel, drag, buttons and keys zoom all of them.
const kinds = {link: 'Links used most (share of their bandwidth)', queue: 'Longest queues', window: 'Windows of senders', aggregators: 'Aggregators in use'};
const laneColours = [0, 1, 4, 6];  // of messages, by channel or stream
const sliceNames = {c: 'computes', s: 'sends', r: 'collective', m: 'control message'};

// Slices of one rank in lanes, so that none hides another.
function lanesOf(slices) {
  const free = [];
  for (const s of slices.sort((a, b) => a.begin - b.begin)) {
    let lane = free.findIndex(f => f <= s.begin + 1e-9);
    if (lane < 0) lane = free.length;
    free[lane] = s.begin + s.duration;
    s.lane = lane;
  }
  return Math.max(1, free.length);
}

function rankLines(details) {
  const slices = details.slices.map(([rank, kind, channel, begin, duration, text]) => ({rank, kind, channel, begin, duration, text}));
  if (slices.length) {
    return Array.from(new Set(slices.map(s => s.rank))).sort(d3.ascending).map(rank => {
      const own = slices.filter(s => s.rank === rank), lanes = lanesOf(own);
      return {label: `rank ${rank}`, slices: own, lanes, height: Math.max(13, Math.min(6 * lanes, 44))};
    });
  }
  return details.ranks.map(r => ({label: r.to === undefined ? `rank ${r.rank}` : `ranks ${r.rank} to ${r.to}`, height: details.ranks.length > 32 ? 12 : 16, most: 100, unit: '%',
    areas: [].concat(r.computes ? [{values: r.computes, i: 2, what: 'computes'}] : [], [{values: r.sends, i: 0, what: 'sends'}])}));
}

// What each colour of the ranks' lines stands for.
function coloursOf(details, of) {
  if (!details.slices.length)
    return [['computes', 2, 'computes'], ['a message is on its way', 0, 'sends']].filter(([, , key]) => details.ranks.some(r => r[key]));
  const has = kind => details.slices.some(s => s[1] === kind), channels = new Set(details.slices.filter(s => s[1] === 's').map(s => s[2]));
  const used = laneColours.map((i, at) => [i, Array.from(channels).filter(c => c % 4 === at).sort(d3.ascending)]).filter(([, own]) => own.length);
  return used.map(([i, own]) => [used.length > 1 ? `message on its way, ${of} ${own.length > 3 ? own.slice(0, 3).join(', ') + ', …' : own.join(', ')}` : 'message on its way', i])
    .concat([['c', 'computes', 2], ['r', 'collective on a stream', 3], ['m', 'control message', 5]].filter(([kind]) => has(kind)).map(([, text, i]) => [text, i]));
}

function timelineOf(parent, row) {
  const details = detailsOf(row);
  if (!details.end_us || (!details.ranks.length && !details.series.length)) return;
  parent.append(el('h3', {}, 'Over time'));
  const groups = [];
  const ranks = rankLines(details);
  if (ranks.length) groups.push({title: details.slices.length ? 'Ranks: every message, from when it is on its links to its end' + (details.slices.some(s => s[1] === 'c' || s[1] === 'r') ? ', what they compute, and their collectives on streams' : '') : `Ranks: share of time in which something of theirs is on its way (${grouped(details.messages)} message${details.messages === 1 ? '' : 's'})${details.ranks.some(r => r.computes) ? ', or in which they compute' : ''}`, lines: ranks});
  for (const [kind, title] of Object.entries(kinds)) {
    const series = details.series.filter(s => s.kind === kind);
    const most = kind === 'link' ? 100 : d3.max(series, s => d3.max(s.values));
    if (series.length) groups.push({title, lines: series.map(s => ({label: s.name.slice(kind.length + 1), height: 22, most, unit: s.unit, areas: [{values: s.values, i: {link: 0, queue: 1, window: 3, aggregators: 2}[kind], what: s.unit === '%' ? 'used' : ''}]}))});
  }
  const width = 1100, left = 210, right = 90, step = details.interval_us;
  let height = 26;
  for (const group of groups) { group.at = height + 18; height += 26; for (const line of group.lines) { line.at = height; height += line.height + 4; } height += 8; }
  const x0 = d3.scaleLinear().domain([0, details.end_us]).range([left, width - right]);
  let x = x0;
  const svg = d3.create('svg').attr('viewBox', `0 0 ${width} ${height}`).attr('role', 'group').attr('tabindex', 0)
    .attr('aria-label', 'Timeline. Plus and minus zoom, arrow keys move, 0 shows the whole run.');
  const clip = `clip${row.index}`;
  svg.append('clipPath').attr('id', clip).append('rect').attr('x', left).attr('width', width - left - right).attr('height', height);
  const axis = svg.append('g').attr('class', 'axis').attr('transform', 'translate(0,20)').attr('aria-hidden', 'true');
  const grid = svg.append('g').attr('class', 'axis grid').attr('transform', 'translate(0,20)').attr('aria-hidden', 'true');
  const value = (v, unit) => unit === '%' ? plain(v) + ' %' : unit === 'B' ? scaled(v, 'B') : plain(v) + ' ' + unit;
  for (const group of groups) {
    svg.append('text').attr('x', 0).attr('y', group.at).attr('font-weight', 600).text(group.title);
    for (const line of group.lines) {
      svg.append('text').attr('x', left - 8).attr('y', line.at + line.height / 2 + 4).attr('text-anchor', 'end').attr('class', 'soft').style('font-size', line.height < 14 ? '10px' : '11px').text(ellipsis(line.label, 32));
      svg.append('rect').attr('x', left).attr('y', line.at).attr('width', width - left - right).attr('height', line.height).attr('fill', 'var(--track)');
      if (line.areas && line.unit !== undefined && line.height > 14)
        svg.append('text').attr('x', width - right + 6).attr('y', line.at + line.height / 2 + 4).attr('class', 'soft').style('font-size', '11px').text('max ' + value(d3.max(line.areas, a => d3.max(a.values)), line.unit));
      line.g = svg.append('g').attr('clip-path', `url(#${clip})`);
    }
  }
  const draw = () => {
    axis.call(d3.axisTop(x).ticks(8).tickFormat(v => scaled(v, 'us')).tickSizeOuter(0));
    grid.call(d3.axisTop(x).ticks(8).tickFormat('').tickSizeInner(-(height - 22)).tickSizeOuter(0));
    for (const group of groups) for (const line of group.lines) {
      if (line.slices) {
        const [from, to] = x.domain(), thick = line.height / line.lanes, seen = line.slices.filter(s => s.begin < to && s.begin + s.duration > from);
        line.g.selectAll('rect').data(seen, s => `${s.begin} ${s.lane}`).join('rect').attr('y', s => line.at + s.lane * thick + (thick > 3 ? .5 : 0)).attr('height', Math.max(1, thick - (thick > 3 ? 1 : 0)))
          .attr('x', s => x(s.begin)).attr('width', s => Math.max(.8, x(s.begin + s.duration) - x(s.begin))).attr('fill', s => s.kind === 's' ? colour(laneColours[s.channel % 4]) : s.kind === 'c' ? colour(2) : s.kind === 'r' ? colour(3) : colour(5))
          .attr('stroke', 'var(--card)').attr('stroke-width', .6)
          .on('mousemove', s => showTip(`${line.label} ${sliceNames[s.kind]}: ${s.text}\n${scaled(s.begin, 'us')} to ${scaled(s.begin + s.duration, 'us')}, channel or stream ${s.channel}`, d3.event.clientX, d3.event.clientY)).on('mouseleave', hideTip);
      } else {
        line.g.selectAll('path').data(line.areas).join('path').attr('fill', a => colour(a.i)).attr('opacity', .85)
          .attr('d', a => d3.area().curve(d3.curveStepAfter).x((v, i) => x(Math.min(i * step, details.end_us))).y0(line.at + line.height).y1(v => line.at + line.height * (1 - Math.min(1, v / line.most)))(a.values.concat(a.values[a.values.length - 1])))
          .on('mousemove', a => { const v = a.values[Math.floor(x.invert(d3.mouse(svg.node())[0]) / step)]; if (v !== undefined) showTip(`${line.label}: ${a.what} ${value(v, line.unit)}\nat ${scaled(x.invert(d3.mouse(svg.node())[0]), 'us')}`, d3.event.clientX, d3.event.clientY); }).on('mouseleave', hideTip);
      }
    }
  };
  const zoom = d3.zoom().scaleExtent([1, 400]).translateExtent([[left, 0], [width - right, height]]).extent([[left, 0], [width - right, height]])
    .filter(() => d3.event.type !== 'wheel' || d3.event.ctrlKey || d3.event.shiftKey).on('zoom', () => { x = d3.event.transform.rescaleX(x0); draw(); });
  svg.call(zoom).on('dblclick.zoom', null);
  const move = {'+': () => zoom.scaleBy(svg, 2), '=': () => zoom.scaleBy(svg, 2), '-': () => zoom.scaleBy(svg, .5), '0': () => zoom.transform(svg, d3.zoomIdentity),
    ArrowLeft: () => zoom.translateBy(svg, (x0.range()[1] - left) * .2 * (x.domain()[1] - x.domain()[0]) / details.end_us, 0), ArrowRight: () => zoom.translateBy(svg, -(x0.range()[1] - left) * .2 * (x.domain()[1] - x.domain()[0]) / details.end_us, 0)};
  svg.on('keydown', () => { const f = move[d3.event.key]; if (f) { d3.event.preventDefault(); f(); } });
  const button = (text, key, label) => el('button', {type: 'button', 'aria-label': label, title: label, onclick: () => move[key]()}, text);
  parent.append(el('div', {class: 'controls', role: 'group', 'aria-label': 'Zoom'}, button('+', '+', 'Zoom in'), button('−', '-', 'Zoom out'), button('←', 'ArrowLeft', 'Earlier'), button('→', 'ArrowRight', 'Later'), button('whole run', '0', 'The whole run'),
    el('span', {class: 'soft'}, 'or Ctrl + wheel and drag')));
  const marks = coloursOf(details, row.model ? 'stream' : 'channel');
  if (marks.length > 1) parent.append(el('ul', {class: 'legend'}, marks.map(([text, i]) => { const s = d3.create('svg').attr('viewBox', '0 0 34 14').attr('aria-hidden', 'true'); s.append('rect').attr('width', 34).attr('height', 14).attr('rx', 2).attr('fill', colour(i)); return el('li', {}, s.node(), text); })));
  draw();
  parent.append(el('figure', {}, svg.node(), el('figcaption', {}, 'Each interval of a link has its mean, each of a queue, window or aggregators the highest value. trace.json, written with --trace, has all of it for Perfetto.')));
}
