// Connecting the first model: a form whose server is tried as it is typed in, and kept in the configuration when it answers.

import {h, put, button, sentence} from './ui.js';

// connectForm makes the form. connected is called with the name of the model when the service has it.
export function connectForm(app, connected) {
  const url = h('input', {type: 'url', name: 'url', placeholder: 'http://127.0.0.1:11434/v1', spellcheck: 'false', autocomplete: 'off', required: true});
  const model = h('input', {type: 'text', name: 'model', placeholder: 'empty: choose from a list', spellcheck: 'false', autocomplete: 'off'});
  const how = h('select', {'aria-label': 'Key'}, h('option', {value: ''}, 'No key'), h('option', {value: 'key'}, 'Type the key'), h('option', {value: 'variable'}, 'Environment variable'));
  const key = h('input', {type: 'text', class: 'grow', spellcheck: 'false', autocomplete: 'off', hidden: true});
  const choices = h('div', {class: 'row choices'}), said = h('div', {class: 'said', role: 'status'});
  const go = h('button', {class: 'button primary'}, 'Try it');
  const fields = {url, model, key, variable: key};
  let tried = false; // what is typed in answers

  const typed = () => ({url: url.value.trim(), model: model.value.trim(), ...(how.value && {[how.value]: key.value.trim()})});
  const changed = () => {
    tried = false;
    put(go, 'Try it');
    for (const f of [url, model, key]) f.removeAttribute('aria-invalid');
  };
  how.onchange = () => {
    key.hidden = how.value === '';
    key.value = '';
    key.type = how.value === 'key' ? 'password' : 'text'; // who stands behind one does not read it
    key.placeholder = how.value === 'variable' ? 'LLM_KEY' : '';
    key.setAttribute('aria-label', how.value === 'variable' ? 'Name of the variable' : 'Key');
    changed();
    if (!key.hidden) key.focus();
  };

  // offer shows names of models to choose from.
  const offer = (names) => put(choices, (names ?? []).map((name) => h('button', {type: 'button', class: 'link', onclick: () => { model.value = name; changed(); send(); }}, name)));

  // show says what came of a try, and where to change something.
  const show = (got) => {
    if (got.url) url.value = got.url;
    if (got.model) model.value = got.model;
    offer(got.ok ? [] : got.models);
    if (got.ok) {
      tried = true;
      put(said, h('p', {class: 'good-words'}, `${got.model} answers.`));
      put(go, 'Use this model');
      go.focus();
      return;
    }
    const field = fields[got.field] ?? url;
    if (got.field === 'key' && how.value === '') {
      how.value = 'key';
      how.onchange();
    }
    put(said, h('p', {class: got.models && !got.model ? '' : 'bad-words'}, got.problem), got.fix && h('p', null, got.fix.endsWith('?') ? got.fix : `${got.fix}.`));
    field.setAttribute('aria-invalid', 'true');
    field.focus();
  };

  const send = async () => {
    const keep = tried, body = {...typed(), keep};
    go.disabled = true;
    put(said, h('p', {class: 'soft'}, keep ? 'Connecting…' : 'Asking the server. Loading the model can take a while…'));
    try {
      const got = await app.api.post('/connect', body);
      if (got.file) connected(got);
      else show(got);
    } catch (e) {
      put(said, h('p', {class: 'bad-words'}, sentence(e)));
    } finally {
      go.disabled = false;
    }
  };

  const find = async () => {
    put(said, h('p', {class: 'soft'}, 'Looking…'));
    try {
      const {items} = await app.api.get('/connect');
      if (items.length === 0) put(said, h('p', null, 'No model server found on this machine. Start one, such as Ollama, or enter the address of another.'));
      else put(said, h('p', null, 'Found on this machine:'), h('div', {class: 'row'}, items.map((s) => button(`${s.name}, ${s.models.length} ${s.models.length === 1 ? 'model' : 'models'}`, () => {
        url.value = s.url;
        model.value = '';
        changed();
        send();
      }))));
    } catch (e) {
      put(said, h('p', {class: 'bad-words'}, sentence(e)));
    }
  };

  return h('form', {class: 'panel connect', 'aria-label': 'Connect a model', novalidate: true, oninput: changed, onsubmit: (e) => { e.preventDefault(); send(); }},
    h('h2', null, 'Connect a model'),
    h('p', {class: 'soft'}, 'No model is configured yet. Connect any OpenAI-compatible server: Ollama, llama.cpp, LM Studio, vLLM, or a provider whose key you have.'),
    h('label', null, 'Base URL', url),
    h('label', null, 'Key', h('span', {class: 'row nowrap'}, how, key)),
    h('label', null, 'Model', model), choices, said,
    h('div', {class: 'row'}, go, button('Look on this machine', find)));
}
