// What was thought: the list, the search, and one trace.

import { AiReasoning, harmless } from '../message.js';
import { badge, empty, figure, h, lasted, number, short, when } from './elements.js';
import { answer, asked, done } from './items.js';
import { markdown } from './markdown.js';
import { paged } from './paged.js';
import { ask } from './server.js';

/** @typedef {Record<string, any>} Trace */

const HOUR = 3_600_000;
const AGES = /** @type {[string, string][]} */ ([['', 'any time'], [String(HOUR), 'last hour'], [String(24 * HOUR), 'last day'], [String(7 * 24 * HOUR), 'last week']]);

/** Stands for a thought that only its tokens tell of. @param {number} tokens */
export function withheld(tokens) {
  return h('p', { class: 'none' }, `Thought, text withheld · ${number(tokens)} tokens`);
}

/** The thought as the element of the page. @param {Trace} trace @param {string} [display] */
export function thought(trace, display = 'collapsed') {
  if (trace.reasoning_text === undefined) return h('p', { class: 'none' }, `Thought, not shown · ${number(trace.reasoning_tokens)} tokens`);
  if (trace.reasoning_text.trim() === '' && trace.sealed_bytes === 0) return trace.reasoning_tokens > 0 ? withheld(trace.reasoning_tokens) : null;
  const element = new AiReasoning();
  element.dataset.msgId = trace.id;
  element.dataset.provider = trace.provider;
  if (trace.sealed_bytes > 0) element.dataset.sealedBytes = String(trace.sealed_bytes);
  element.setAttribute('display', display);
  element.toggleAttribute('preview', true);
  element.tokens = trace.reasoning_tokens;
  element.thought = trace.reasoning_text;
  return element;
}

/** What stands for the thought on a line. @param {Trace} trace */
function line(trace) {
  const text = trace.reasoning_text?.trim() ?? '';
  if (trace.reasoning_text === undefined) return h('span', { class: 'none' }, 'thoughts are not shown');
  if (text !== '') return h('span', { class: 'thought' }, harmless(text.replace(/\s+/gu, ' ')));
  if (trace.sealed_bytes > 0) return h('span', { class: 'sealed' }, `sealed, ${number(trace.sealed_bytes)} bytes, by ${trace.provider}`);
  return h('span', { class: 'none' }, trace.reasoning_tokens > 0 ? 'thought, text withheld' : 'no thought');
}

/** The beginning of an answer on one line, without the most frequent signs of Markdown. @param {string} text */
function plain(text) {
  return text.replace(/```\w*|\*\*|`|^#+ /gmu, '').replace(/\s+/gu, ' ').trim();
}

/** @param {Trace} trace */
function row(trace) {
  const restored = trace.metadata?.restored ?? 0;
  const missed = trace.metadata?.missed ?? 0;
  return h('li', {}, h('a', { class: 'row', href: `#/trace/${trace.id}` },
    h('span', { class: 'line' }, badge(trace.state), h('strong', {}, harmless(trace.model)),
      restored > 0 && badge('restored', `${restored} restored`), missed > 0 && badge('missed', `${missed} missed`), when(trace.created_at)),
    h('span', { class: 'text' }, line(trace)),
    h('span', { class: 'text answer-line' }, harmless(plain(trace.response_text) || 'no answer')),
    h('span', { class: 'numbers' }, `${trace.total_tokens > 0 ? `${short(trace.reasoning_tokens)} of ${short(trace.total_tokens)} tokens are thought` : 'no tokens'} · ${lasted(trace.duration_ms)}`)));
}

/** @param {HTMLElement} section */
export async function latest(section) {
  const { traces } = await ask('traces', { limit: 5 }).catch(() => ({ traces: [] }));
  if (traces.length > 0) section.append(h('h2', {}, 'Latest'), h('div', { class: 'rows' }, h('ul', {}, traces.map(row))));
}

/** @param {HTMLElement} main @param {URLSearchParams} query */
export async function traces(main, query) {
  const field = (/** @type {string} */ name) => query.get(name) ?? '';
  const choice = (/** @type {string} */ name, /** @type {string} */ label, /** @type {[string, string][]} */ options) =>
    h('label', {}, h('span', {}, label), h('select', { name, onchange: () => form.requestSubmit() },
      options.map(([value, text]) => h('option', { value, selected: field(name) === value }, text))));
  const input = (/** @type {string} */ name, /** @type {string} */ label, type = 'text') =>
    h('label', {}, h('span', {}, label), h('input', { name, type, value: field(name), autocomplete: 'off', spellcheck: 'false' }));
  const form = h('form', { class: 'filters', role: 'search', onsubmit: (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const next = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (typeof value === 'string' && value.trim() !== '') next.set(name, value.trim());
    location.hash = `#/traces?${next}`;
  } }, input('q', 'Search', 'search'), choice('in', 'Search in', [['', 'both'], ['thoughts', 'thoughts'], ['answers', 'answers']]),
  input('model', 'Model'), input('provider', 'Provider'), input('session', 'Session'), choice('age', 'Since', AGES), input('until', 'Up to day', 'date'), h('button', {}, 'Find'));
  const note = h('p', { class: 'note', role: 'status' });
  main.append(h('div', { class: 'title' }, h('h1', {}, 'Traces')), form, note);
  const age = Number(field('age'));
  // All of the day, as the clock of whoever looks has it.
  const day = new Date(`${field('until')}T00:00`);
  const until = Number.isNaN(day.getTime()) ? null : day.setDate(day.getDate() + 1);
  const asked = { q: field('q'), in: field('in'), model: field('model'), provider: field('provider'), session: field('session'), since: age > 0 ? Date.now() - age : null, until };
  return paged(main, async (after) => {
    const page = await ask('traces', { ...asked, after });
    if (page.indexedTo) note.textContent = 'The newest traces are still being indexed; search finds them in a moment.';
    return { rows: page.traces.map(row), next: page.next };
  }, () => (Object.values(asked).some(Boolean) ? empty('Nothing found', 'No trace is like that. Search finds whole words.')
    : empty('No traces yet', 'Each request through the gateway leaves one: what the model thought, what it answered, and what it cost.')));
}

/** @param {HTMLElement} main @param {string} id */
export async function trace(main, id) {
  const [it, { why }] = await Promise.all([ask(`traces/${encodeURIComponent(id)}`), import('./why.js')]);
  const cached = it.cached_tokens !== null && it.input_tokens ? ` (${Math.round((100 * it.cached_tokens) / it.input_tokens)}\u00a0%)` : '';
  main.append(
    h('div', { class: 'title' }, h('h1', {}, harmless(it.model)), badge(it.state), when(it.created_at)),
    h('p', { class: 'about' }, `at ${it.provider} · `, it.metadata?.asked && it.metadata.asked !== it.model && harmless(`asked for as ${it.metadata.asked} · `), h('a', { href: `#/session/${encodeURIComponent(it.session_key)}?tenant=${encodeURIComponent(it.tenant)}` }, 'the whole session'), ` · trace ${it.id}`),
    h('dl', { class: 'figures' },
      figure('Thought tokens', number(it.reasoning_tokens)), figure('Tokens in all', number(it.total_tokens)),
      figure('Input', number(it.input_tokens)), figure('From cache', `${number(it.cached_tokens)}${cached}`),
      figure('Output', number(it.output_tokens)), figure('Cost', it.cost_micro_usd === null || it.cost_micro_usd === undefined ? 'unknown' : `$${(it.cost_micro_usd / 1e6).toFixed(6)}`), figure('Took', lasted(it.duration_ms)),
      it.metadata?.effort && figure('Effort', it.metadata.effort)),
    h('section', { class: 'message', 'aria-label': 'Message' },
      asked(it), thought(it) ?? (it.state !== 'failed' && h('p', { class: 'none' }, 'The model gave no thought for this answer.')),
      answer(it, markdown, 'There is no visible answer.'), done(it)),
    why(it),
    h('p', { class: 'buttons' }, h('button', { type: 'button', onclick: () => save(it) }, 'Save as JSON')));
}

/** @param {Trace} trace */
function save(trace) {
  const url = URL.createObjectURL(new Blob([`${JSON.stringify(trace, null, 2)}\n`], { type: 'application/json' }));
  h('a', { href: url, download: `trace-${trace.id}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
