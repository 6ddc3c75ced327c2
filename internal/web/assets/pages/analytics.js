// What models and tools did: answers, calls, what was wrong with them, how long things took. All numbers come in one answer of
// /stats/overview, and every choice stands in the address.

import {h, put, sameFocus, svg, button, table, badge, toast, sentence, download, count, lasts, when} from '../lib/ui.js';

export const title = 'Analytics';

const spans = [['24h', 'a day'], ['7d', 'a week'], ['30d', 'a month'], ['90d', 'three months'], ['365d', 'a year']];
const filters = ['model', 'client', 'dialect', 'tool'];
const every = 30_000; // milliseconds between two looks

// What a rate means for whoever looks: the colour of a heat map, from good to bad.
const heats = [
  {rate: 'malformed', title: 'Malformed', good: 0, worst: 0.3}, {rate: 'rejected', title: 'Rejected', good: 0, worst: 0.4},
  {rate: 'repaired', title: 'Repaired', good: 0, worst: 0.5}, {rate: 'first_try', title: 'Valid at first try', good: 1, worst: 0.5},
];

const errorKinds = [
  ['not_found', 'no such tool'], ['invalid_args', 'arguments do not fit'], ['denied', 'denied'], ['expired', 'approval expired'], ['timeout', 'timeout'],
  ['tool_error', 'the tool failed'], ['broken', 'the tool crashed'], ['interrupted', 'cut off'], ['unavailable', 'not available'], ['over_tool_limit', 'over a limit'],
  ['canceled_call', 'stopped'],
];
const rejections = [
  ['malformed', 'broken syntax'], ['incomplete', 'cut off by the end'], ['unknown_tool', 'no such tool'], ['invalid', 'arguments do not fit'], ['confused', 'wrong channel'],
  ['over_limit', 'too many at once'], ['overrun', 'past the end of the turn'], ['other_reason', 'other'],
];

const n = (row, name) => row?.counts[name] ?? 0;
const sum = (row, list) => list.reduce((all, [name]) => all + n(row, name), 0);
const attempts = (row) => n(row, 'calls') + sum(row, rejections);
const results = (row) => n(row, 'done') + sum(row, errorKinds);
const percent = (v) => v === undefined ? '–' : `${(v * 100).toFixed(v > 0 && v < 0.0995 || v > 0.9 && v < 1 ? 1 : 0)} %`;
const rate = (row, name) => percent(row?.rates[name]);
const seconds = (v) => v === undefined ? '–' : v < 0.001 ? `${Math.max(1, Math.round(v * 1e6))} µs` : lasts(v * 1000);
const time = (row, name, which) => seconds(row?.times[name]?.[which]);
const cost = (row) => n(row, 'cost_micros') ? (n(row, 'cost_micros') / 1e6).toFixed(4) : '–';
const orDash = (v) => v ? count(v) : '–';

// show puts the view into root.
export function show(root, route, app) {
  const chosen = (at) => Object.fromEntries(['since', 'heat', ...filters].map((name) => [name, at.query[name] ?? '']));
  let choice = chosen(route);
  const body = h('div', {class: 'page-body analytics', 'aria-live': 'off'});
  const head = h('header', {class: 'page-head'});
  put(root, head, body);
  const ending = new AbortController();
  let timer, last, painted, asking;

  const query = () => {
    const q = new URLSearchParams({since: choice.since || '7d'});
    for (const f of filters) if (choice[f]) q.set(f, choice[f]);
    return q;
  };
  const choose = (changes) => {
    const next = {...choice, ...changes};
    const q = new URLSearchParams(Object.entries(next).filter(([, v]) => v));
    app.go(`analytics${q.size ? `?${q}` : ''}`);
  };
  const load = async () => {
    clearTimeout(timer);
    asking?.abort();
    const mine = asking = new AbortController();
    try {
      last = await app.api.get(`/stats/overview?${query()}`, {signal: AbortSignal.any([mine.signal, ending.signal])});
      if (mine.signal.aborted) return;
      paint();
    } catch (e) {
      if (e.name === 'AbortError') return;
      if (!last || body.ariaBusy) put(body, h('p', {class: 'bad-words', role: 'alert'}, sentence(e))); // what stood there is of another choice
    }
    body.ariaBusy = null;
    if (!ending.signal.aborted) timer = setTimeout(() => document.hidden ? again() : load(), every);
  };
  const again = () => document.addEventListener('visibilitychange', load, {once: true, signal: ending.signal});

  const save = async () => {
    try {
      const q = query();
      q.set('by', 'model,client,dialect,tool');
      const csv = await app.api.text(`/stats/export?${q}`);
      download('wield-stats.csv', csv, 'text/csv');
    } catch (e) {
      toast(e, {kind: 'bad'});
    }
  };

  const paint = () => {
    const options = {model: names(last.models, 'model'), client: names(last.clients, 'client'), dialect: names(last.dialects, 'dialect'), tool: names(last.tools, 'tool')};
    const now = JSON.stringify([options, choice]); // a choice that is open stays open while nothing else can be chosen
    if (now !== painted) sameFocus(head, () => paintHead(options));
    painted = now;
    sameFocus(body, paintBody);
  };

  const paintHead = (options) => put(head, h('h1', null, title), h('label', null, h('span', {class: 'hidden-words'}, 'Time'),
    select('Time', spans.map(([v, words]) => [v, words]), choice.since || '7d', (since) => choose({since: since === '7d' ? '' : since}))),
  filters.map((f) => (options[f].length > 1 || choice[f]) && select(upper(f), [['', `all ${f}s`], ...withChoice(options[f], choice[f]).map((v) => [v, v])], choice[f], (v) => choose({[f]: v}))),
  h('span', {class: 'grow'}), button('Export', save, {icon: 'export'}));

  const paintBody = () => {
    const all = last.all[0];
    if (!all) put(body, h('p', {class: 'empty'}, 'No data for this period. Send a message in Chat or a request to the API, or choose a longer period.'));
    else put(body, tiles(all), over(last), h('div', {class: 'columns'}, heat(last, choice, choose), wrongs(all)), tools(last, choose), models(last, choose), clients(last, choose), unused(last));
  };

  app.onmove((at) => {
    choice = chosen(at);
    body.ariaBusy = 'true';
    load();
    return true;
  });
  put(body, h('p', {class: 'empty'}, 'Counting …'));
  load();
  return () => { ending.abort(); clearTimeout(timer); };
}

const upper = (s) => s.charAt(0).toUpperCase() + s.slice(1);
const names = (rows, dim) => [...new Set(rows.map((r) => r[dim]).filter(Boolean))].sort();
const withChoice = (list, chosen) => chosen && !list.includes(chosen) ? [...list, chosen] : list;

function select(label, options, chosen, onchange) {
  return h('select', {'aria-label': label, onchange: (e) => onchange(e.target.value)}, options.map(([value, words]) => h('option', {value, selected: value === chosen}, words)));
}

// tiles are the numbers that are looked for first.
function tiles(all) {
  const tile = (name, value, note) => h('div', {class: 'panel tile'}, h('span', {class: 'soft'}, name), h('strong', null, value), h('span', {class: 'soft'}, note));
  return h('section', {class: 'tiles', 'aria-label': 'All together'},
    tile('Answers', count(n(all, 'answers')), n(all, 'failed') ? `${count(n(all, 'failed'))} failed` : `p50 ${time(all, 'answer', 'p50')}`),
    tile('Calls', count(n(all, 'calls')), `${count(attempts(all))} attempts`),
    tile('Valid at first try', rate(all, 'first_try'), `${rate(all, 'repaired')} of calls repaired`),
    tile('Retried', rate(all, 'bounced'), n(all, 'bounced') ? `${rate(all, 'bounce_success')} recovered on retry` : 'none'),
    tile('Successful results', rate(all, 'success'), `${count(results(all))} results`),
    tile('Tool latency', time(all, 'run', 'p50'), `p95 ${time(all, 'run', 'p95')}`),
    tile('Approval time', time(all, 'wait', 'p50'), n(all, 'asked') ? `${count(n(all, 'asked'))} asked, ${rate(all, 'approved')} of the answers approve` : 'no approvals'),
    tile('Tokens', count(n(all, 'tokens_in') + n(all, 'tokens_out')), n(all, 'cost_micros') ? `cost ${cost(all)}` : `${count(n(all, 'tokens_out'))} of them written`));
}

// over draws attempts over time: right at once, otherwise a call, failed.
function over(data) {
  const step = data.step * 1000;
  const end = new Date(data.to).getTime(); // by the clock of the service, which counts by it
  const begin = Math.floor(new Date(data.from).getTime() / step) * step;
  const at = new Map(data.steps.map((r) => [new Date(r.time).getTime(), r]));
  const bars = [];
  for (let t = begin; t <= end && bars.length < 200; t += step) bars.push({t, row: at.get(t)});
  const most = Math.max(1, ...bars.map((b) => attempts(b.row ?? {counts: {}})));
  const high = 120, wide = 10;
  const label = (t) => new Date(t).toLocaleString(undefined, step < 86_400_000 ? {day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit'} : {day: 'numeric', month: 'short'});
  const parts = bars.map(({t, row}, i) => {
    if (!row) return null;
    let y = high;
    const part = (value, kind) => {
      if (!value) return null;
      const size = Math.max(1, value / most * high);
      y -= size;
      return svg('rect', {x: i * wide + 1, y, width: wide - 2, height: size, class: `bar ${kind}`});
    };
    const right = n(row, 'first_try'), nothing = sum(row, rejections);
    return svg('g', null, svg('title', null, `${label(t)}: ${count(n(row, 'calls'))} calls, ${count(right)} of them valid at first try; ${count(nothing)} rejected; ${count(n(row, 'answers'))} answers`),
      svg('rect', {x: i * wide, y: 0, width: wide, height: high, class: 'bar-space'}), part(right, 'right'), part(Math.max(0, n(row, 'calls') - right), 'other'), part(nothing, 'nothing'));
  });
  const words = `Call attempts from ${label(begin)} to ${label(end)}, at most ${count(most)} in ${step >= 86_400_000 ? 'one bar' : 'a bar of ' + lasts(step)}`;
  return h('section', {class: 'panel'}, h('header', null, h('h2', null, 'Call attempts'), h('span', {class: 'grow'}),
    h('span', {class: 'key right'}, 'valid at first try'), h('span', {class: 'key other'}, 'repaired or retried'), h('span', {class: 'key nothing'}, 'rejected')),
  h('div', {class: 'panel-body'}, svg('svg', {viewBox: `0 0 ${bars.length * wide} ${high}`, preserveAspectRatio: 'none', class: 'chart', role: 'img', 'aria-label': words}, parts),
    h('div', {class: 'axis soft'}, h('span', null, label(begin)), h('span', null, `up to ${count(most)}`), h('span', null, label(end)))));
}

// heat is the map of models and dialects.
function heat(data, choice, choose) {
  const what = heats.find((x) => x.rate === choice.heat) ?? heats[0];
  const models = names(data.dialects, 'model'), dialects = names(data.dialects, 'dialect');
  const cell = new Map(data.dialects.map((r) => [`${r.model}\n${r.dialect}`, r]));
  const paint = (row) => {
    if (!row || attempts(row) === 0) return h('td', {class: 'cell none'}, '');
    const v = row.rates[what.rate];
    if (v === undefined) return h('td', {class: 'cell none'}, '–');
    const bad = Math.min(1, Math.max(0, (v - what.good) / (what.worst - what.good)));
    const few = attempts(row) < 20;
    return h('td', {class: ['cell', `heat-${Math.round(bad * 5)}`, few && 'few'], title: `${row.model}, ${row.dialect}: ${percent(v)} of ${count(attempts(row))} attempts${few ? ', which are few' : ''}`},
      h('span', null, percent(v)), h('small', null, count(attempts(row))));
  };
  return h('section', {class: 'panel heat'}, h('header', null, h('h2', null, 'Models and dialects'), h('span', {class: 'grow'}),
    select('Rate', heats.map((x) => [x.rate, x.title]), what.rate, (v) => choose({heat: v === heats[0].rate ? '' : v}))),
  models.length === 0 ? h('p', {class: 'empty'}, 'No tool calls in this period.')
    : h('div', {class: 'table-box', tabindex: '0', role: 'region', 'aria-label': `${what.title} by model and dialect`}, h('table', {class: 'table'},
      h('thead', null, h('tr', null, h('th', {scope: 'col'}, 'Model'), dialects.map((d) => h('th', {scope: 'col'}, d)))),
      h('tbody', null, models.map((m) => h('tr', null, h('th', {scope: 'row'}, m), dialects.map((d) => paint(cell.get(`${m}\n${d}`)))))))));
}

// wrongs tells what was wrong with attempts and results.
function wrongs(all) {
  const list = (title, kinds, none) => {
    const rows = kinds.map(([name, words]) => [words, n(all, name)]).filter(([, v]) => v > 0).sort((a, b) => b[1] - a[1]);
    const most = rows[0]?.[1] ?? 1;
    return [h('h3', null, title), rows.length === 0 ? h('p', {class: 'soft'}, none)
      : h('ul', {class: 'bars'}, rows.map(([words, v]) => h('li', null, h('span', null, words), svg('svg', {class: 'line', viewBox: '0 0 100 6', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
        svg('rect', {width: Math.max(1, v / most * 100), height: 6})), h('span', {class: 'right'}, count(v)))))];
  };
  return h('section', {class: 'panel'}, h('header', null, h('h2', null, 'Errors')), h('div', {class: 'panel-body stack'},
    list('Rejected attempts', rejections, 'None.'), list('Failed results', errorKinds, 'None.')));
}

const right = 'right';

function section(title, content) {
  return h('section', {class: 'panel'}, h('header', null, h('h2', null, title)), content);
}

function tools(data, choose) {
  const rows = data.tools.filter((r) => attempts(r) + results(r) + n(r, 'asked') > 0).sort((a, b) => n(b, 'calls') - n(a, 'calls'));
  return section('Tools', table([
    {title: 'Tool', cell: (r) => h('code', null, r.tool)}, {title: 'Calls', class: right, cell: (r) => orDash(n(r, 'calls'))},
    {title: 'First try', class: right, cell: (r) => rate(r, 'first_try')}, {title: 'Repaired', class: right, cell: (r) => rate(r, 'repaired')},
    {title: 'Repeated', class: right, cell: (r) => rate(r, 'duplicate')},
    {title: 'Results', class: right, cell: (r) => orDash(results(r))}, {title: 'Good', class: right, cell: (r) => results(r) ? h('span', null, good(r), rate(r, 'success')) : '–'},
    {title: 'Cached', class: right, cell: (r) => rate(r, 'cached')},
    {title: 'p50', class: right, cell: (r) => time(r, 'run', 'p50')}, {title: 'p95', class: right, cell: (r) => time(r, 'run', 'p95')}, {title: 'p99', class: right, cell: (r) => time(r, 'run', 'p99')},
    {title: 'Asked', class: right, cell: (r) => orDash(n(r, 'asked'))}, {title: 'Wait p50', class: right, cell: (r) => time(r, 'wait', 'p50')},
  ], rows, {empty: 'No tool calls in this period.', caption: 'Tools', onpick: (r) => choose({tool: r.tool})}));
}

const good = (r) => r.rates.success < 0.8 ? badge('!', 'bad') : null;

function models(data, choose) {
  return section('Models', table([
    {title: 'Model', cell: (r) => h('code', null, r.model)}, {title: 'Answers', class: right, cell: (r) => orDash(n(r, 'answers'))},
    {title: 'Failed', class: right, cell: (r) => rate(r, 'failed')}, {title: 'Retried', class: right, cell: (r) => rate(r, 'bounced')}, {title: 'Recovered', class: right, cell: (r) => rate(r, 'bounce_success')},
    {title: 'Calls', class: right, cell: (r) => orDash(n(r, 'calls'))}, {title: 'Calls per answer', class: right, cell: (r) => n(r, 'answers') ? (n(r, 'calls') / n(r, 'answers')).toFixed(2) : '–'},
    {title: 'Limits hit', class: right, cell: (r) => orDash(n(r, 'limited'))},
    {title: 'First text p50', class: right, cell: (r) => time(r, 'first', 'p50')}, {title: 'p50', class: right, cell: (r) => time(r, 'answer', 'p50')}, {title: 'p95', class: right, cell: (r) => time(r, 'answer', 'p95')},
    {title: 'Tokens in', class: right, cell: (r) => orDash(n(r, 'tokens_in'))}, {title: 'Tokens out', class: right, cell: (r) => orDash(n(r, 'tokens_out'))}, {title: 'Cost', class: right, cell: cost},
  ], data.models, {caption: 'Models', onpick: (r) => choose({model: r.model})}));
}

function clients(data, choose) {
  return section('Clients', table([
    {title: 'Client', cell: (r) => r.client === '-' ? h('span', {class: 'soft'}, 'without a key') : h('code', null, r.client)}, {title: 'Answers', class: right, cell: (r) => orDash(n(r, 'answers'))},
    {title: 'Calls', class: right, cell: (r) => orDash(n(r, 'calls'))}, {title: 'First try', class: right, cell: (r) => rate(r, 'first_try')}, {title: 'Rejected', class: right, cell: (r) => rate(r, 'rejected')},
    {title: 'Tokens', class: right, cell: (r) => orDash(n(r, 'tokens_in') + n(r, 'tokens_out'))}, {title: 'Cost', class: right, cell: cost},
  ], data.clients, {caption: 'Clients', onpick: (r) => choose({client: r.client})}));
}

// unused names the tools that models were told of for nothing.
function unused(data) {
  const rows = data.tools.filter((r) => n(r, 'offered') > 0 && attempts(r) === 0).sort((a, b) => n(b, 'offered_bytes') - n(a, 'offered_bytes'));
  if (rows.length === 0) return null;
  return section('Never called', table([
    {title: 'Tool', cell: (r) => h('code', null, r.tool)}, {title: 'Offered', class: right, cell: (r) => `${count(n(r, 'offered'))} ×`},
    {title: 'Tokens used, estimated', class: right, cell: (r) => count(Math.round(n(r, 'offered_bytes') / 4))},
  ], rows, {caption: `Tools that nobody called since ${when(data.from)}`}));
}
