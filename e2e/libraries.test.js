// Python's libraries, unmodified, where Python and its registry are at hand.

import { dirname, join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { takeLibraries } from './libraries.js';
import { pythonWith } from './python.js';

const here = dirname(fileURLToPath(import.meta.url));

// The versions, which are those that go together, and the protocols that libraries.py speaks with each.
const libraries = {
  anthropic: ['2.14.0', 'Messages', 'tool_runner'],
  'google-genai': ['3.6.1', 'generateContent'],
  instructor: ['1.17.0', 'chat completions'],
  'langchain-anthropic': ['1.7.10', 'Messages'],
  'langchain-openai': ['1.7.4', 'chat completions', 'responses'],
  litellm: ['1.110.2', 'chat completions', 'Messages', 'Ollama'],
  ollama: ['0.6.3', 'Ollama'],
  'openai-agents': ['0.24.0', 'chat completions', 'responses'],
  'pydantic-ai-slim': ['2.38.0', 'chat completions', 'responses'],
  smolagents: ['1.26.0', 'chat completions'],
};
const openai = '3.3.0';

/** A Python that has them, or the reason why there is none. WIELD_LIBRARIES names one that is there. */
async function python() {
  if (process.env.WIELD_LIBRARIES) return { path: process.env.WIELD_LIBRARIES };
  const extras = { smolagents: '[openai]', 'pydantic-ai-slim': '[openai]' };
  return pythonWith(`openai==${openai}`, ...Object.entries(libraries).map(([name, [version]]) => `${name}${extras[name] ?? ''}==${version}`));
}

test('Python’s libraries', { timeout: 900_000 }, async (t) => {
  await takeLibraries(t, 'Python', libraries, await python(), ['-W', 'ignore', join(here, 'libraries.py')],
    { limit: 400_000, env: { PYTHONDONTWRITEBYTECODE: '1' } });
});
