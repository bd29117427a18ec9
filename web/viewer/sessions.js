// Sessions: the list, and one of them as a conversation with its thoughts folded in place.

import { harmless } from '../message.js';
import { badge, empty, figure, h, lasted, number, short, when } from './elements.js';
import { markdown } from './markdown.js';
import { paged } from './paged.js';
import { ask } from './server.js';
import { thought } from './traces.js';

/** @typedef {import('./traces.js').Trace} Trace @typedef {Record<string, any>} Session */

/** So many requests of a conversation are shown at once. */
const AT_ONCE = 20;

/** @param {Session} it */
function address(it) {
  return `#/session/${encodeURIComponent(it.session)}?tenant=${encodeURIComponent(it.tenant)}`;
}

/** @param {Session} it */
function row(it) {
  const models = it.models.length > 3 ? `${it.models.slice(0, 3).join(', ')} and ${it.models.length - 3} more` : it.models.join(', ');
  return h('li', {}, h('a', { class: 'row', href: address(it) },
    h('span', { class: 'line' }, h('strong', {}, harmless(it.session)), when(it.last)),
    h('span', { class: 'text' }, harmless(models)),
    h('span', { class: 'numbers' }, `${number(it.requests)} request${it.requests === 1 ? '' : 's'} · ${short(it.reasoning)} of ${short(it.total)} tokens are thought · ${lasted(it.duration)} · key ${it.tenant}`)));
}

/** @param {HTMLElement} main */
export async function sessions(main) {
  main.append(h('div', { class: 'title' }, h('h1', {}, 'Sessions')));
  return paged(main, async (after) => {
    const page = await ask('sessions', { after });
    return { rows: page.sessions.map(row), next: page.next };
  }, () => empty('No sessions yet', 'Requests that a client counts to one session, or that grow from the same first message, stand together here.'));
}

/** @param {Trace} it @param {Trace | undefined} before */
function message(it, before) {
  return h('section', { class: 'message', 'aria-label': `Request ${it.id.slice(0, 8)} of ${new Date(it.created_at).toISOString()}` },
    h('p', { class: 'about' }, badge(it.state), ' ', h('a', { href: `#/trace/${it.id}` }, harmless(it.model)), ` at ${it.provider} · `, when(it.created_at),
      ` · ${lasted(it.duration_ms)} · ${number(it.reasoning_tokens)} of ${number(it.total_tokens)} tokens are thought`, it.run_id === before?.run_id && ' · same turn'),
    thought(it), it.response_text === '' ? h('p', { class: 'none' }, 'No visible answer.') : markdown(it.response_text));
}

/** A session from its first request on. @param {HTMLElement} main @param {string} key @param {URLSearchParams} query */
export async function session(main, key, query) {
  const whose = { session: key, tenant: query.get('tenant'), limit: AT_ONCE };
  const load = async (/** @type {string | null} */ after) => {
    const page = await ask('traces', { ...whose, after });
    const full = await Promise.all(page.traces.map((/** @type {Trace} */ it) => ask(`traces/${it.id}`)));
    return { all: full.reverse(), next: page.next };
  };
  const [{ sessions: [sum] }, first] = await Promise.all([ask('sessions', { ...whose, limit: 1 }), load(null)]);
  if (!sum || first.all.length === 0) throw new Error('there is no trace of this session; it was pruned, or is of somebody else');
  const conversation = h('div', {}, first.all.map((it, at) => message(it, first.all[at - 1])));
  const earlier = h('button', { type: 'button', class: 'more', hidden: first.next === null, onclick: async () => {
    earlier.disabled = true;
    const page = await load(first.next);
    first.next = page.next;
    conversation.prepend(...page.all.map((it, at) => message(it, page.all[at - 1])));
    earlier.hidden = first.next === null;
    earlier.disabled = false;
  } }, 'Earlier requests');
  main.append(
    h('div', { class: 'title' }, h('h1', {}, 'Session'), when(sum.last)),
    h('p', { class: 'about' }, harmless(key), ` · key ${sum.tenant}`),
    h('dl', { class: 'figures' }, figure('Requests', number(sum.requests)), figure('Thought tokens', number(sum.reasoning)),
      figure('Tokens in all', number(sum.total)), figure('Took', lasted(sum.duration)), figure('Models', harmless(sum.models.join(', ')))),
    earlier, conversation);
}
