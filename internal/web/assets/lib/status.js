// The words for where things stand. Each state has one, in the chat, the lists, the inspector and the approvals; the command line prints the same.

import {badge} from './ui.js';

// The statuses of runs and conversations, with the colours of their badges.
const kinds = {running: 'info', needs_approval: 'wait', waiting_for_client: 'wait', failed: 'bad', interrupted: 'warn', done: 'ok', limit_reached: 'warn', no_answer: 'warn', cancelled: ''};

// statusWord returns the word for a status.
export function statusWord(s) {
  return s.replaceAll('_', ' ');
}

export function statusBadge(s) {
  return badge(statusWord(s), kinds[s] ?? '');
}

const failures = {rate_limit: 'The model is busy', overloaded: 'The model is busy', timeout: 'The model did not answer in time', auth: "The model's server refuses the key",
  unavailable: "The model's server failed", not_found: 'There is no such model'};

// failureWords says why a model failed: {kind, message, status, retry_after}.
export function failureWords(e) {
  const words = `${failures[e.kind] ?? 'The model failed'}${e.status ? ` (status ${e.status})` : ''}: ${e.message.replace(/[.\s]+$/, '')}.`;
  return e.retry_after ? `${words} It asks to wait ${Math.ceil(e.retry_after)} s.` : words;
}
