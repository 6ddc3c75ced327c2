import {h, put, sameFocus, badge, button, table, toast, sentence, when, lasts, count} from '../lib/ui.js';
import {exact} from '../lib/exact.js';
import {effect, place, verdict} from '../lib/review.js';
import {diff} from '../lib/diff.js';
import {form} from '../lib/form.js';

export const title = 'Settings';

// The parts of the view, each at an address of its own.
const tabs = [
  {name: 'models', title: 'Models', show: models}, {name: 'tools', title: 'Tools', show: tools}, {name: 'mcp', title: 'MCP', show: servers}, {name: 'policy', title: 'Policy', show: policies},
  {name: 'keys', title: 'Keys', show: keys}, {name: 'cluster', title: 'Cluster', show: cluster}, {name: 'values', title: 'All values', show: values}, {name: 'log', title: 'Log', show: log},
];

// show puts the view into root.
export function show(root, route, app) {
  const nav = h('nav', {class: 'tabs', 'aria-label': 'Settings'}, tabs.map((t) => h('a', {href: `#/settings/${t.name}`, dataset: {tab: t.name}}, t.title)));
  const body = h('div', {class: 'page-body settings stack'});
  put(root, h('header', {class: 'page-head'}, h('h1', null, title), nav), body);
  let end = null, over = false, turn = 0;
  const go = async (r) => {
    const mine = ++turn;
    end?.();
    end = null;
    const tab = tabs.find((t) => t.name === (r.parts[0] ?? tabs[0].name));
    for (const a of nav.children) {
      if (a.dataset.tab === tab?.name) a.setAttribute('aria-current', 'page');
      else a.removeAttribute('aria-current');
    }
    if (!tab) {
      put(body, h('p', {class: 'empty'}, 'There is no such settings page.'));
      return;
    }
    put(body, h('p', {class: 'soft'}, 'Loading…'));
    const inside = h('div', {class: 'stack'});
    try {
      const f = await tab.show(inside, r.parts.slice(1), app);
      if (mine !== turn || over) {
        f?.();
        return;
      }
      end = f ?? null;
      put(body, inside);
    } catch (e) {
      if (mine === turn) put(body, h('p', {class: 'empty', role: 'alert'}, sentence(e)));
    }
  };
  app.onmove((r) => {
    go(r);
    return true;
  });
  const step = (n) => () => {
    const i = tabs.findIndex((t) => nav.querySelector('[aria-current]')?.dataset.tab === t.name);
    app.go(`settings/${tabs[(i + n + tabs.length) % tabs.length].name}`);
  };
  const off = app.keys({']': ['Next settings page', step(1)], '[': ['Previous settings page', step(-1)]});
  go(route);
  return () => {
    over = true;
    end?.();
    off();
  };
}

// from says where a value comes from.
function from(s) {
  return s.layer === 'default' ? h('span', {class: 'soft'}, 'default') : h('span', null, s.layer === 'file' ? '' : `${s.layer} `, place(s.from ?? ''));
}

function value(s) {
  return [h('code', {class: 'value'}, s.value === '' ? '""' : exact(s.value)), s.note && h('span', {class: 'soft'}, ` (${s.note})`)];
}

// rows shows settings as a table.
function rows(list, {prefix = '', caption} = {}) {
  return table([
    {title: 'Key', cell: (s) => h('code', {title: s.about}, s.path.slice(prefix.length))}, {title: 'Value', cell: value}, {title: 'From', cell: from},
  ], list, {caption, empty: 'No value is set.'});
}

async function models(root, [name], app) {
  const [settings, list] = await Promise.all([app.api.get('/settings'), app.api.get('/models')]);
  const below = (n) => settings.items.filter((s) => s.path.startsWith(`models.${n}.`));
  const of = (n, key) => settings.items.find((s) => s.path === `models.${n}.${key}`);
  put(root, h('p', {class: 'soft'}, settings.file ? ['Configured in ', h('code', null, exact(settings.file)), '. wield reads it again when it changes.'] : 'No configuration file was read: these are the models of the demo.',
    settings.version && ` wield ${settings.version}.`),
  (settings.warnings ?? []).map((w) => h('p', {class: 'caution'}, exact(w))));
  if (name !== undefined) {
    const set = below(name);
    if (set.length === 0) throw new Error(`There is no model ${name}`);
    const backend = of(name, 'backend')?.value;
    const its = settings.items.filter((s) => s.path.startsWith(`backends.${backend}.`));
    root.append(h('h2', null, exact(name)), h('p', null, h('a', {href: '#/settings/models'}, 'All models')),
      rows(set, {prefix: `models.${name}.`, caption: `Values of ${name}`}), h('h3', null, 'Its backend ', h('code', null, exact(backend ?? ''))), rows(its, {prefix: `backends.${backend}.`, caption: 'Backend settings'}));
    return;
  }
  root.append(table([
    {title: 'Model', cell: (m) => h('a', {href: `#/settings/models/${encodeURIComponent(m.name)}`}, exact(m.name))},
    {title: '', cell: (m) => m.agent && badge('agent', 'info')},
    {title: 'Backend', cell: (m) => h('code', null, of(m.name, 'backend')?.value ?? '')},
    {title: 'Mode', cell: (m) => of(m.name, 'mode')?.value ?? ''},
    {title: 'Tools', cell: (m) => (m.tools ?? []).map((t, i) => [i > 0 && ', ', h('a', {href: `#/settings/tools/${encodeURIComponent(t)}`}, t)])},
    {title: 'Where', cell: (m) => { const s = below(m.name).find((v) => v.layer !== 'default'); return s ? from(s) : h('span', {class: 'soft'}, 'built in'); }},
  ], list.items, {caption: 'Models'}));
}

async function tools(root, [name], app) {
  const [{items}, agents] = await Promise.all([app.api.get('/tools'), agentsOf(app)]);
  if (name !== undefined) {
    const one = items.find((t) => t.name === name);
    if (!one) throw new Error(`There is no tool ${name}`);
    return tryTool(root, one, agents, app);
  }
  const filter = h('input', {type: 'search', placeholder: 'Filter', 'aria-label': 'Filter', oninput: () => paint()});
  const list = h('div');
  const paint = () => put(list, table([
    {title: 'Tool', cell: (t) => h('a', {href: `#/settings/tools/${encodeURIComponent(t.name)}`}, exact(t.name))},
    {title: 'State', cell: (t) => badge(t.state, t.state === 'disabled' ? '' : 'ok')},
    {title: 'What it does', cell: (t) => h('span', {class: 'clip'}, exact(t.description ?? ''))},
    {title: '', cell: facts},
    {title: 'From', cell: (t) => h('code', null, exact(t.source ?? ''))},
  ], items.filter((t) => `${t.name} ${t.description}`.toLowerCase().includes(filter.value.toLowerCase())), {caption: 'Tools', empty: items.length ? 'No tool matches.' : 'This service runs no tools: no model has an agent section with tools.'}));
  put(root, h('div', {class: 'row'}, filter, h('span', {class: 'soft'}, 'Disabled: not offered by default. A model that lists the tool in its configuration can still use it.')), list);
  paint();
}

function facts(t) {
  return [t.read_only && badge('changes nothing', 'ok'), t.network && badge('network', 'warn'), t.dangerous && badge('cannot be taken back', 'bad')];
}

async function agentsOf(app) {
  return (await app.api.get('/models')).items.filter((m) => m.agent);
}

// tryTool lets somebody run a tool, by the rules of an agent.
function tryTool(root, t, agents, app) {
  const having = agents.filter((a) => (a.tools ?? []).includes(t.name));
  const agent = h('select', {id: 'try-agent', onchange: () => changed()}, (having.length ? having : agents).map((a) => h('option', null, a.name)));
  const args = form(t.parameters, {}, {oninput: () => changed()});
  const approve = h('div');
  const out = h('div', {class: 'stack', 'aria-live': 'polite'});
  const run = button('Run', () => send(false), {kind: 'primary'});
  let sent = 0, changes = 0;
  // changed takes the offer to run it away: what would run now has not been looked at.
  function changed() {
    changes++;
    put(approve);
  }
  async function send(approved) {
    let written;
    try {
      written = args.value();
    } catch (e) {
      args.show([{field: e.field ?? '', message: e.message}]);
      return;
    }
    const mine = ++sent, before = changes;
    run.disabled = true;
    put(approve);
    put(out, h('p', {class: 'soft'}, 'It runs…'));
    try {
      const got = await app.api.post(`/tools/${encodeURIComponent(t.name)}/run`, {agent: agent.value, arguments: written, ...(approved && {approved})});
      if (mine !== sent) return;
      const {review} = got;
      args.show(review.problems ?? []);
      if (review.problems?.length) {
        put(out, h('p', {class: 'bad-words'}, 'The arguments do not fit.'));
        return;
      }
      const shown = effect(review);
      put(out, got.ran ? null : shown.elements, verdict(review, shown.light, got.ran ? 'What the rules say' : review.decision === 'ask' ? 'The rules ask' : 'The rules refuse it'));
      if (!got.ran && review.decision === 'ask' && before === changes) put(approve, button('Run it anyway', () => send(true), {kind: 'primary', icon: 'check'}));
      if (got.result) {
        out.prepend(h('section', null, h('h3', null, got.result.is_error ? 'It failed' : 'Result', got.ran && h('span', {class: 'soft'}, ` after ${got.seconds < 1 ? `${Math.round(got.seconds * 1000)} ms` : `${got.seconds.toFixed(1)} s`}`)),
          h('pre', {class: ['exact', 'result', got.result.is_error && 'bad-words'], tabindex: '0', role: 'region', 'aria-label': 'Result'}, exact(got.result.text))));
      }
    } catch (e) {
      put(out, h('p', {class: 'bad-words', role: 'alert'}, sentence(e)));
    } finally {
      if (mine === sent) run.disabled = false;
    }
  }
  put(root, h('p', null, h('a', {href: '#/settings/tools'}, 'All tools')), h('div', {class: 'row'}, h('h2', {class: 'mono'}, exact(t.name)), badge(t.state, t.state === 'disabled' ? '' : 'ok'), facts(t)),
    t.description && h('p', null, exact(t.description)), t.source && h('p', {class: 'soft'}, 'From ', h('code', null, exact(t.source))),
    agents.length === 0 ? h('p', {class: 'empty'}, 'No model has tools that wield runs.') : h('section', {class: 'panel'}, h('header', null, h('h3', {class: 'grow'}, 'Run it'), h('label', {for: 'try-agent'}, 'with the tools and rules of'), agent),
      h('div', {class: 'panel-body stack'}, args.element, h('div', {class: 'row'}, run, approve), out)));
}

// servers shows the MCP servers, what is wrong with them, and which of their tools are withheld.
async function servers(root, _, app) {
  const turn = app.api.inOrder();
  async function paint() {
    const news = turn(), {items} = await app.api.get('/mcp');
    if (!news()) return;
    sameFocus(root, () => put(root, items.length === 0 && h('p', {class: 'empty'}, 'No MCP servers. Add one: ', h('code', null, 'wield mcp add NAME -- COMMAND'), ' or ', h('code', null, 'wield mcp add NAME URL'), '.'),
      items.map((s) => server(s, app, paint))));
  }
  return repeated(paint, 5000);
}

// repeated paints at once and then every few milliseconds, until the function that it returns is called.
async function repeated(paint, ms) {
  await paint();
  const timer = setInterval(() => paint().catch(() => {}), ms);
  return () => clearInterval(timer);
}

// server shows one MCP server; paint shows all of them again.
function server(s, app, paint) {
  const state = s.connected ? badge('connected', 'ok') : badge('not connected', 'bad');
  return h('section', {class: 'panel'}, h('header', null, h('h2', {class: 'mono grow'}, exact(s.name)), state),
    h('div', {class: 'panel-body stack'},
      h('p', {class: 'soft'}, h('code', null, exact(s.place)), s.connected && [' · ', exact(s.version ?? ''), s.protocol && ` · revision ${s.protocol}`]),
      s.problems.map((p) => h('p', {class: 'caution'}, exact(p))),
      s.changed.map((t) => changedTool(s, t, app, paint)),
      table([
        {title: 'Tool', cell: (t) => h('a', {href: `#/settings/tools/${encodeURIComponent(t.name)}`}, exact(t.name))},
        {title: 'What it does', cell: (t) => h('span', {class: 'clip'}, exact(t.description ?? ''))},
      ], s.tools, {caption: `Tools of ${s.name}`, empty: 'This server has no tools.'}),
      h('p', null, h('a', {href: `#/settings/log/${encodeURIComponent(s.name)}`}, 'Log lines about this server'))));
}

// changedTool shows how the definition of a tool has changed, and accepts the one that is shown.
function changedTool(s, t, app, paint) {
  const accept = button('Accept', async () => {
    accept.disabled = true;
    try {
      await app.api.post(`/mcp/${encodeURIComponent(s.name)}/accept`, {name: t.name, hash: t.hash});
      toast(`${t.name} is offered again.`);
    } catch (e) {
      toast(e, {kind: 'bad'});
    }
    paint().catch((e) => toast(e, {kind: 'bad'}));
  }, {kind: 'primary', icon: 'check'});
  return h('div', {class: 'stack'}, h('div', {class: 'row'}, h('h3', {class: 'mono grow'}, exact(t.name)), accept),
    h('p', {class: 'soft'}, 'Withheld: its definition has changed since it was accepted.'), diff(t.was, t.now, {label: `Changes of ${t.name}`}));
}

// The kinds of things that a policy can be tried with.
const cases = [
  {name: 'shell', title: 'Command line', example: 'git status && rm -rf build'}, {name: 'read', title: 'Read a file', example: 'docs/plan.md'}, {name: 'write', title: 'Write a file', example: 'docs/plan.md'},
  {name: 'delete', title: 'Delete a file', example: 'docs/plan.md'}, {name: 'url', title: 'Address', example: 'https://example.com/'},
];

async function policies(root, _, app) {
  const agents = await agentsOf(app);
  const kept = h('div');
  const agent = h('select', {id: 'policy-agent', onchange: () => ask()}, agents.map((a) => h('option', null, a.name)));
  const kind = h('select', {'aria-label': 'What', onchange: () => { what.placeholder = cases.find((c) => c.name === kind.value).example; ask(); }}, cases.map((c) => h('option', {value: c.name}, c.title)));
  const what = h('textarea', {class: 'mono', rows: '3', spellcheck: 'false', 'aria-label': 'Command, path or URL to test', placeholder: cases[0].example, oninput: () => soon()});
  const out = h('div', {class: 'stack', 'aria-live': 'polite'});
  let pause, sent = 0;
  const turn = app.api.inOrder();
  const soon = () => { clearTimeout(pause); pause = setTimeout(ask, 200); };
  async function ask() {
    const mine = ++sent;
    const text = kind.value === 'shell' ? what.value : what.value.trim();
    if (text === '') {
      put(out);
      return;
    }
    const body = {agent: agent.value, ...(kind.value === 'shell' ? {shell: text} : kind.value === 'url' ? {tool: 'fetch_webpage', url: text} : {tool: 'file', path: text, op: kind.value})};
    try {
      const review = await app.api.post('/policy/test', body);
      if (mine !== sent) return;
      const shown = effect(review);
      put(out, shown.elements, verdict(review, shown.light, 'Decision'));
    } catch (e) {
      if (mine === sent) put(out, h('p', {class: 'bad-words', role: 'alert'}, sentence(e)));
    }
  }
  async function paintKept() {
    const news = turn(), {items} = await app.api.get('/rules');
    if (!news()) return;
    put(kept, table([
      {title: 'Rule', cell: (r) => h('code', {class: 'value'}, exact(r.text))}, {title: 'Agent', cell: (r) => r.agent}, {title: 'Kept by', cell: (r) => h('a', {href: `#/approvals/${r.approval}`}, r.by || 'somebody')}, {title: 'When', cell: (r) => when(r.at)},
      {title: '', cell: (r) => button('Take back', async ({currentTarget: taken}) => {
        taken.disabled = true; // until it is shown what is left
        try {
          await app.api.del(`/rules/${r.id}`);
          toast('Rule removed.');
        } catch (e) {
          toast(e, {kind: 'bad'});
        }
        paintKept().catch(() => { taken.disabled = false; });
      }, {icon: 'trash'})},
    ], items, {caption: 'Kept rules', empty: 'No rules yet. Mark “Remember” when you approve a call, and its rule is listed here.'}));
  }
  if (agents.length === 0) {
    put(root, h('p', {class: 'empty'}, 'No model has tools that wield runs, so there is no policy to test.'));
    return undefined;
  }
  const off = app.feed((e) => { if (e.kind === 'answer') paintKept().catch(() => {}); });
  try {
    await paintKept();
  } catch (e) {
    off();
    throw e;
  }
  put(root, h('section', {class: 'panel'}, h('header', null, h('h2', {class: 'grow'}, 'Try the rules'), h('label', {for: 'policy-agent'}, 'of'), agent),
    h('div', {class: 'panel-body stack'}, h('p', {class: 'soft'}, 'Type a command, path or URL to see what the rules decide. Nothing runs.'), h('div', {class: 'row'}, kind), what, out)),
  h('section', {class: 'panel'}, h('header', null, h('h2', null, 'Remembered rules')), h('div', {class: 'panel-body'}, kept)));
  return () => { clearTimeout(pause); off(); sent = -1; };
}

async function keys(root, _, app) {
  const {keys: list} = await app.api.get('/settings');
  put(root, table([
    {title: 'Name', cell: (k) => h('strong', null, exact(k.name))}, {title: 'Role', cell: (k) => badge(k.role, k.role === 'admin' ? 'warn' : k.role === 'approver' ? 'wait' : 'info')},
    {title: 'Models', cell: (k) => (k.models?.length ? k.models.map((m, i) => [i > 0 && ', ', h('code', null, exact(m))]) : 'all')}, {title: 'Secret', cell: (k) => h('code', null, exact(k.from ?? ''))},
  ], list, {caption: 'Keys'}), h('p', {class: 'soft'}, 'Keys are part of the configuration. Secrets are never shown, only where they come from, or a hash.'));
}

// cluster shows services and workers as wield cluster status does.
async function cluster(root, _, app) {
  const turn = app.api.inOrder();
  const none = ['No workers are connected. Start one: ', h('code', null, 'wield worker --connect URL'), '.'];
  return repeated(async () => {
    const news = turn(), status = await app.api.get('/cluster');
    if (!news()) return;
    sameFocus(root, () => put(root,
      h('h2', null, 'Services'), table(serviceColumns, status.services, {caption: 'Services'}),
      h('h2', null, 'Workers'), table(workerColumns, status.workers, {caption: 'Workers', empty: none}),
      status.waiting > 0 && h('p', {class: 'caution'}, `Calls waiting for a worker: ${count(status.waiting)}.`)));
  }, 2000);
}

const named = (name, id) => [h('strong', null, exact(name)), ' ', h('code', {class: 'soft'}, id)];

const serviceColumns = [
  {title: 'Service', cell: (s) => [named(s.name, s.id), s.self && [' ', badge('answers you', 'info')]]},
  {title: 'State', cell: (s) => s.draining ? badge('draining', 'wait') : badge('ready', 'ok')},
  {title: 'Version', cell: (s) => exact(s.version)}, {title: 'Since', cell: (s) => when(s.started)},
  {title: 'Workers', cell: (s) => count(s.workers)}, {title: 'Requests', cell: (s) => count(s.requests)},
  {title: 'Run leases', cell: (s) => count(s.runs)}, {title: 'Waiting calls', cell: (s) => count(s.waiting)},
  {title: 'Journal lag', cell: (s) => lasts(s.lag_ns / 1e6)},
  {title: 'Configuration', cell: (s) => h('code', null, s.config)},
];

const silentAfter = 4000; // milliseconds: two heartbeats

function workerState(w) {
  if (w.leaving) return badge('leaving', 'wait');
  return w.silent_ms > silentAfter ? badge(`silent for ${lasts(w.silent_ms)}`, 'bad') : badge('ready', 'ok');
}

const workerColumns = [
  {title: 'Worker', cell: (w) => named(`${w.key}/${w.name}`, w.id)}, {title: 'State', cell: workerState},
  {title: 'Version', cell: (w) => exact(w.version)}, {title: 'Since', cell: (w) => when(w.started)},
  {title: 'Calls', cell: (w) => `${count(w.busy)} of ${count(w.concurrent)}`},
  {title: 'Labels', cell: (w) => Object.entries(w.labels).sort().map(([k, v]) => [h('code', null, exact(`${k}=${v}`)), ' '])},
  {title: 'Tools', cell: (w) => h('span', {class: 'clip'}, exact(w.tools.join(', ')))},
];

async function values(root, _, app) {
  const {items} = await app.api.get('/settings');
  const filter = h('input', {type: 'search', placeholder: 'Filter by key, value or description', 'aria-label': 'Filter', oninput: () => paint()});
  const all = h('input', {type: 'checkbox', id: 'with-defaults', onchange: () => paint()});
  const list = h('div');
  const paint = () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    put(list, rows(items.filter((s) => (all.checked || s.layer !== 'default') && words.every((w) => `${s.path} ${s.value} ${s.about ?? ''}`.toLowerCase().includes(w))), {caption: 'Values'}));
  };
  put(root, h('div', {class: 'row'}, filter, all, h('label', {for: 'with-defaults'}, 'with those that have their default')), list);
  paint();
}

const levels = {debug: '', info: 'info', warn: 'warn', error: 'bad'};
const mostLines = 1000;

async function log(root, [about = ''], app) {
  const level = h('select', {'aria-label': 'Level', onchange: () => follow()}, Object.keys(levels).map((l) => h('option', {value: l, selected: l === 'info'}, l === 'error' ? 'error' : `${l} and above`)));
  const category = h('select', {'aria-label': 'Category', onchange: () => follow()}, h('option', {value: ''}, 'all parts'));
  const words = h('input', {type: 'search', placeholder: 'Words', 'aria-label': 'Words', value: about, oninput: () => paintAll()});
  const list = h('ol', {class: 'log', tabindex: '0', 'aria-label': 'Log'});
  const state = h('span', {class: 'soft', role: 'status'});
  let kept = [], known = new Set(), paused = false, end = null;
  const pause = button('Pause', () => {
    paused = !paused;
    pause.querySelector('span').textContent = paused ? 'Go on' : 'Pause';
    if (!paused) paintAll();
  });
  const fits = (l) => words.value === '' || `${l.message} ${(l.facts ?? []).map((f) => `${f.name}=${f.value}`).join(' ')}`.toLowerCase().includes(words.value.toLowerCase());
  const line = (l) => h('li', {class: `log-${l.level}`}, h('time', {datetime: l.at, title: when(l.at)}, l.at.slice(11, 23)), badge(l.level, levels[l.level]), h('span', {class: 'log-part'}, l.category),
    h('span', {class: 'log-text'}, exact(l.message), (l.facts ?? []).map((f) => [' ', h('span', {class: 'soft'}, exact(f.name), '='), h('span', {class: 'mono'}, exact(f.value))])));
  const atEnd = () => list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  function paintAll() {
    put(list, kept.filter(fits).map(line));
    list.scrollTop = list.scrollHeight;
  }
  function take(batch) {
    for (const {data} of batch) {
      kept.push(data);
      if (!known.has(data.category)) {
        known.add(data.category);
        category.append(h('option', {value: data.category}, data.category || 'other'));
      }
    }
    if (kept.length > mostLines) kept = kept.slice(-mostLines);
    if (paused) return;
    const stick = atEnd();
    for (const {data} of batch) if (fits(data)) list.append(line(data));
    while (list.children.length > mostLines) list.firstChild.remove();
    if (stick) list.scrollTop = list.scrollHeight;
  }
  function follow() {
    end?.abort();
    end = new AbortController();
    kept = [];
    put(list);
    const q = new URLSearchParams({level: level.value, ...(category.value && {category: category.value})});
    app.api.stream(`/log/events?${q}`, {after: '0', signal: end.signal, onBatch: take,
      onState: (s, e) => put(state, s === 'open' ? 'live' : s === 'lost' ? 'Connection lost. Reconnecting…' : s === 'failed' ? sentence(e) : '')});
  }
  put(root, h('div', {class: 'row'}, level, category, words, pause, state), list);
  follow();
  return () => end.abort();
}
