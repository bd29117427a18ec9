// The state of the house: what works, the models, what refusals taught, the keys; and two orders, each behind a question.

import { harmless } from '../reasoning.js';
import { badge, confirmed, figure, h, number, say, when } from './elements.js';
import { ask, order } from './server.js';

const DAY = 86_400_000;
const SCOPES = /** @type {Record<string, string>} */ ({ session: 'a session', turn: 'a turn', task: 'a task', day: 'today (UTC)', key: 'all its requests' });
/** Of these there are many. */
const PER = ['session', 'turn', 'task'];
const ENDS = /** @type {Record<string, string>} */ ({ warn: 'a warning', lower_effort: 'less effort', disable_reasoning: 'no thinking', block: 'requests are refused' });

/** @param {{unit: string}} budget @param {number} count */
function amount({ unit }, count) {
  return unit === 'micro_usd' ? `$${(count / 1e6).toFixed(2)}` : number(count);
}

/** How much is spent of how much. @param {{unit: string, spent: number, max: number}} budget */
function share(budget) {
  const part = Math.min(1, budget.spent / Math.max(1, budget.max));
  return h('span', { class: 'share' }, h('progress', { value: part, max: 1, 'aria-label': 'spent' }), ` ${amount(budget, budget.spent)} (${Math.round(100 * part)} %)`);
}

/** @param {string} caption @param {string[]} columns @param {(Node | string)[][]} rows @param {string} none */
function table(caption, columns, rows, none) {
  return h('section', {}, h('h2', {}, caption), rows.length === 0 ? h('p', { class: 'none' }, none)
    : h('div', { class: 'scrolls', tabindex: 0, role: 'region', 'aria-label': caption }, h('table', {},
      h('thead', {}, h('tr', {}, columns.map((name) => h('th', { scope: 'col' }, name)))),
      h('tbody', {}, rows.map((cells) => h('tr', {}, cells.map((cell) => h('td', {}, cell))))))));
}

/** @param {HTMLElement} main @param {{admin: boolean}} me */
export async function house(main, me) {
  const { health, models, facts, keys, budgets } = await ask('house');
  const works = (/** @type {boolean} */ is, /** @type {string} */ word) => badge(is ? 'whole' : 'failed', is ? word : 'away');
  main.append(h('div', { class: 'title' }, h('h1', {}, 'Status')),
    h('dl', { class: 'figures' },
      figure('Store', works(health.store, 'answers')), figure('Keys', works(health.keys, 'known')), figure('Traces', works(health.traces, 'kept')),
      figure('Traces waiting', number(health.tracesWaiting)), figure('Traces lost', number(health.tracesLost))),
    table('Models', ['Name', 'Provider', 'Model', 'Wire', 'What the model wants back', 'Known from'],
      models.map((/** @type {any} */ it) => [h('strong', {}, harmless(it.name)), it.provider, harmless(it.model), it.wire, it.contract === 'never' ? 'nothing' : it.contract, it.source === 'none' ? 'no rule' : it.source]), 'No model is configured; `provider/model` may be asked for.'),
    table('Learned from refusals', ['Model', 'At', 'Fact', 'Key', 'Since'],
      facts.map((/** @type {any} */ it) => [harmless(it.model), it.endpoint, it.fact, it.tenant, when(it.since)]), 'No provider refused a request for its thoughts in the last day.'));
  if (budgets.length > 0) main.append(table('Budgets', ['Key', 'Of', 'In', 'Spent', 'Budget', 'Then'], budgets.map((/** @type {any} */ it) => [
    it.tenant, SCOPES[it.of] ?? it.of, it.unit === 'micro_usd' ? 'dollars' : 'reasoning tokens', it.spent === null ? h('span', { class: 'none' }, PER.includes(it.of) ? 'each has its own' : 'not known') : share(it), amount(it, it.max), ENDS[it.then] ?? it.then]), ''));
  if (!me.admin) return;
  main.append(table('Keys', ['Name'], keys.map((/** @type {string} */ name) => [name]), 'There are no keys: callers on this machine need none. `think keys create NAME` makes one.'), orders());
}

function orders() {
  const done = h('p', { class: 'note', role: 'status' });
  const tell = (/** @type {string} */ text) => { done.textContent = text; say(text); };
  const days = h('input', { type: 'number', min: 0, max: 3650, value: 30, name: 'days', required: true });
  const tenant = h('input', { name: 'tenant', autocomplete: 'off', required: true, spellcheck: 'false' });
  const act = (/** @type {() => Promise<void>} */ what) => (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    what().catch((error) => tell(error.message));
  };
  return h('section', { class: 'orders' }, h('h2', {}, 'Delete'),
    h('form', { onsubmit: act(async () => {
      const count = Number(days.value);
      if (!await confirmed('Prune traces?', `All traces older than ${count} days are deleted. Nothing brings them back. Thoughts that go back to models stay.`, 'Prune')) return;
      const { gone } = await order('prune', { before: Date.now() - count * DAY });
      tell(`${number(gone)} traces are deleted.`);
    }) }, h('label', {}, h('span', {}, 'Traces older than, in days'), days), h('button', {}, 'Prune …')),
    h('form', { onsubmit: act(async () => {
      const name = tenant.value.trim();
      if (!await confirmed(`Erase everything of “${name}”?`, 'Its keys are destroyed: sessions, thoughts in the vault and traces. Nothing brings them back.', 'Erase')) return;
      const { gone } = await order('erase', { tenant: name });
      tell(`${name} is erased, with ${number(gone)} sessions.`);
    }) }, h('label', {}, h('span', {}, 'Everything of a tenant'), tenant), h('button', {}, 'Erase …')), done);
}
