// Sessions: the list, and one of them as a conversation with its thoughts folded in place.

import { harmless } from '../message.js';
import { badge, empty, figure, h, lasted, number, short, when } from './elements.js';
import { answer, asked, done } from './items.js';
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

/** The name that a client gave it; made-up names say nothing. @param {Session} it */
function named(it) {
  return /^[0-9a-f]{32}$/u.test(it.session) ? '' : it.session;
}

/** What stands above it: its first question, else its name or client. @param {Session} it */
function title(it) {
  return it.title ?? (named(it) || (it.client ? `A session of ${it.client}` : 'A session without a stored question'));
}

/** @param {Session} it */
function about(it) {
  return [it.client, it.title && named(it), `key ${it.tenant}`].filter(Boolean).join(' \u00b7 ');
}

/** @param {Session} it */
function row(it) {
  const models = it.models.length > 3 ? `${it.models.slice(0, 3).join(', ')} and ${it.models.length - 3} more` : it.models.join(', ');
  return h('li', {}, h('a', { class: 'row', href: address(it) },
    h('span', { class: 'line' }, h('strong', {}, harmless(title(it))), when(it.last)),
    h('span', { class: 'text' }, harmless(models)),
    h('span', { class: 'numbers' }, `${number(it.requests)} request${it.requests === 1 ? '' : 's'} · ${short(it.reasoning)} of ${short(it.total)} tokens are thought · ${lasted(it.duration)} · `, harmless(about(it)))));
}

/** @param {HTMLElement} main */
export async function sessions(main) {
  main.append(h('div', { class: 'title' }, h('h1', {}, 'Sessions')));
  return paged(main, async (after) => {
    const page = await ask('sessions', { after });
    return { rows: page.sessions.map(row), next: page.next };
  }, () => empty('No sessions yet', 'Requests that a client counts to one session, or that grow from the same first message, stand together here.'));
}

/** Conversations that begin alike are one session, unless their client names it: shows where another one begins. @param {Trace} it @param {Trace | undefined} before */
function beginning(it, before) {
  return before !== undefined && it.metadata?.begins === true && h('h2', { class: 'begins' }, 'Another conversation begins');
}

/** @param {Trace} it @param {Trace | undefined} before */
function message(it, before) {
  return h('section', { class: 'message', 'aria-label': `Request ${it.id.slice(0, 8)} of ${new Date(it.created_at).toISOString()}` },
    h('p', { class: 'about' }, badge(it.state), ' ', h('a', { href: `#/trace/${it.id}` }, harmless(it.model)), ` at ${it.provider} · `, when(it.created_at),
      ` · ${lasted(it.duration_ms)} · ${number(it.reasoning_tokens)} of ${number(it.total_tokens)} tokens are thought`, it.metadata?.effort && ` · effort ${it.metadata.effort}`, it.run_id === before?.run_id && ' · same turn'),
    asked(it), thought(it), answer(it, markdown, 'No visible answer.'), done(it));
}

/** @param {Trace} it @param {Trace | undefined} before */
function shown(it, before) {
  const begins = beginning(it, before);
  return begins ? [begins, message(it, before)] : [message(it, before)];
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
  const conversation = h('div', {}, first.all.flatMap((it, at) => shown(it, first.all[at - 1])));
  const earlier = h('button', { type: 'button', class: 'more', hidden: first.next === null, onclick: async () => {
    earlier.disabled = true;
    const page = await load(first.next);
    first.next = page.next;
    conversation.prepend(...page.all.flatMap((it, at) => shown(it, page.all[at - 1])));
    earlier.hidden = first.next === null;
    earlier.disabled = false;
  } }, 'Earlier requests');
  main.append(
    h('div', { class: 'title' }, h('h1', {}, harmless(title(sum))), when(sum.last)),
    h('p', { class: 'about' }, harmless([sum.client, `session ${key}`, `key ${sum.tenant}`].filter(Boolean).join(' \u00b7 '))),
    h('dl', { class: 'figures' }, figure('Requests', number(sum.requests)), figure('Thought tokens', number(sum.reasoning)),
      figure('Tokens in all', number(sum.total)), figure('Took', lasted(sum.duration)), figure('Models', harmless(sum.models.join(', ')))),
    earlier, conversation);
}
