// Why a request went out as it did: what became of the thoughts of earlier answers and by what evidence, the ways that
// were tried, and what differs from what the client sent.

import { harmless } from '../message.js';
import { badge, h, number } from './elements.js';

/** @typedef {Record<string, any>} Told */

const OUTCOMES = /** @type {[string, string, string][]} */ ([
  ['restored', 'restored', 'The client had lost these thoughts; they were found in the vault and put back.'],
  ['missed', 'missed', 'The model wants these thoughts, and nobody has them: they were thought before this gateway saw the conversation, or were deleted.'],
  ['ambiguous', 'ambiguous', 'These answers fit more than one thought. A wrong thought is worse than none, so none went back.'],
  ['dropped', 'dropped', 'These thoughts were known and left out: the contract, a setting or a limit says so.'],
]);
const FACTS = /** @type {[string, string][]} */ ([
  ['route', 'Asked at'], ['asked', 'Model as it was asked'], ['effort', 'Effort'], ['outcome', 'Outcome'], ['status', 'Status'], ['finish_reason', 'Finish reason'],
  ['error', 'Error'], ['hops', 'Fallbacks and repeats'], ['reasoning_tokens_source', 'Tokens of the thought'], ['total_tokens_source', 'Tokens in all'],
  ['text_is_cut', 'Texts are cut'],
]);
const LEFT_OUT = ['drop', 'strip', 'withhold'];
const WORDS = /** @type {Record<string, string>} */ ({ goes_on: 'goes on', not_wanted: 'not wanted' });
const LEVELS = /** @type {Record<string, string>} */ ({
  ticket: 'anchor: an id that no other answer has', chain: 'same history, and the same answer to it', tail: 'neighbours: the answer behind it names it',
});
const REPAIRS = /** @type {Record<string, string>} */ ({
  forbid: 'the provider takes no thoughts in requests, so that none goes', omit: 'all thoughts in the history are left out',
  replace: 'the vault\u2019s thoughts take the place of the client\u2019s', off: 'it goes without thinking',
  return: 'the provider demands thoughts back', sign: 'calls must carry their signatures',
});

/** @param {string} caption @param {string[]} columns @param {(Node | string | null)[][]} rows */
function table(caption, columns, rows) {
  return h('div', { class: 'scrolls', tabindex: 0, role: 'region', 'aria-label': caption }, h('table', {},
    h('caption', {}, caption), h('thead', {}, h('tr', {}, columns.map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', {}, rows.map((cells) => h('tr', {}, cells.map((cell) => h('td', {}, cell)))))));
}

/** @param {number} more @param {string} what */
function rest(more, what) {
  return more > 0 && h('p', { class: 'note' }, `${number(more)} ${what}.`);
}

/** What says which answer it is. @param {Told[]} evidence */
function proof(evidence) {
  if (evidence.length === 0) return h('span', { class: 'none' }, 'nothing');
  return h('ul', { class: 'plain' }, evidence.map((it) => h('li', {}, LEVELS[it.level] ?? it.level,
    it.calls > 0 && ` \u00b7 ${it.calls} call${it.calls === 1 ? '' : 's'}`, it.foreign && ' \u00b7 this model cannot read it',
    !it.usable && !it.foreign && ' \u00b7 it cannot go back', h('small', {}, ` record ${it.record}`))));
}

/** @param {Told} told */
function answers(told) {
  if (told.answers.length === 0) return null;
  return h('div', {}, table('Answers in the request', ['Message', 'Turn', 'Thought', 'Because', 'Known by'], told.answers.map((/** @type {Told} */ it) => [
    number(it.message), number(it.turn), badge(it.outcome, WORDS[it.outcome] ?? it.outcome),
    h('span', {}, harmless(it.reason), it.setting !== 'contract' && h('small', {}, ` ${it.setting}`)), proof(it.evidence)])),
  rest(told.answers_more, 'answers before them are not listed'));
}

/** @param {Told} told */
function ways(told) {
  const steps = told.ways.map((/** @type {Told} */ it) => [
    it.learned && `refusals taught: ${REPAIRS[it.learned] ?? it.learned}`, it.repaired && `repaired: ${REPAIRS[it.repaired] ?? it.repaired}`,
    it.bypassed && `${it.bypassed} thoughts that nobody has: the value that the provider documents stands in their place`,
    it.flattened && `${it.flattened} answers are told in words, because nobody has their thoughts`,
    it.thinking === 'off' && 'it goes without thinking, because nobody has a thought that is demanded', it.failed && `no answer: ${it.failed}`,
  ].filter(Boolean));
  if (told.ways.length < 2 && steps.every((/** @type {string[]} */ it) => it.length === 0)) return null;
  return h('div', {}, h('h3', {}, 'Steps'), h('ol', { class: 'steps' }, told.ways.map((/** @type {Told} */ it, /** @type {number} */ at) =>
    h('li', {}, h('strong', {}, harmless(`${it.provider}/${it.model}`)), ...steps[at].map((/** @type {string} */ step) => ` \u00b7 ${step}`)))));
}

/** @param {Told} change @param {string[] | undefined} words */
function change(change, words) {
  const size = ([came, goes] = [0, 0]) => (change.what === 'replaced' ? `${number(came)} \u2192 ${number(goes)}` : number(came || goes));
  const [came, goes] = words ?? [];
  const has = change.sealed[0] + change.sealed[1] > 0;
  return h('li', { 'data-what': change.what }, h('p', { class: 'line' }, badge(change.what), h('strong', {}, change.kind.replace('_', ' ')),
    h('small', {}, `message ${change.message}, block ${change.block} \u00b7 ${size(change.bytes)} bytes`, has && ` \u00b7 sealed: ${size(change.sealed)} bytes`)),
  came && h('p', { class: 'came' }, h('span', { class: 'visually-hidden' }, 'Came: '), harmless(came)),
  goes && h('p', { class: 'goes' }, h('span', { class: 'visually-hidden' }, 'Went: '), harmless(goes)));
}

/** What differs from what the client sent. @param {Told} told */
function changes(told) {
  const [from, to] = told.wires;
  const members = Object.entries(told.members);
  const is = told.changes.length + members.length > 0;
  return h('div', { class: 'changes' }, h('h3', {}, 'What the client sent, and what went out'),
    from !== to && h('p', {}, 'Written anew: it came as ', h('code', {}, from), ' and went out as ', h('code', {}, to), '.'),
    !is && h('p', {}, from === to ? 'It went out as it came.' : 'Its messages went out as they came.'),
    told.changes.length > 0 && h('ul', { class: 'diff' }, told.changes.map((/** @type {Told} */ it, /** @type {number} */ at) => change(it, told.words?.[at]))),
    rest(told.changes_more, 'more changes are not listed'),
    members.length > 0 && h('ul', { class: 'plain' }, members.map(([name, value]) => h('li', {}, 'set ', h('code', {}, harmless(name)), ' to ', h('code', {}, harmless(String(value)))))),
    told.untranslated.length > 0 && h('p', {}, `What the other wire cannot say: ${told.untranslated.join(', ')}.`),
    told.changes.length > 0 && told.words === undefined && h('p', { class: 'note' }, 'Words are not shown, because thoughts are hidden.'));
}

/** @param {Told} told */
function blocks(told) {
  if (told.blocks.length === 0) return null;
  return h('details', {}, h('summary', {}, `Each thought and payload in the request: ${number(told.blocks.length + told.blocks_more)}`),
    table('Thoughts and payloads', ['Message', 'Block', 'Done', 'Because', 'By'], told.blocks.map((/** @type {Told} */ it) => [
      number(it.message), number(it.block), it.action, h('span', {}, harmless(it.reason)), it.setting])),
    rest(told.blocks_more, 'before them are not listed'));
}

/** What there is to say where no lost thought was looked for. @param {Told | null} told */
function nothing(told) {
  const count = told?.blocks.filter((/** @type {Told} */ it) => LEFT_OUT.includes(it.action)).length ?? 0;
  return h('p', {}, count > 0 ? `Nothing was put back, and ${number(count)} of the request\u2019s thoughts and payloads went no further; below is why.`
    : 'No thought of an earlier answer had to be put back or left out for this request.');
}

/** What became of the thoughts in the request, and why. @param {Told} trace */
export function why(trace) {
  const metadata = trace.metadata ?? {};
  const found = OUTCOMES.filter(([name]) => metadata[name] > 0);
  const told = trace.why;
  return h('section', { class: 'why', 'aria-labelledby': 'why' }, h('h2', { id: 'why' }, 'Why'),
    found.length === 0 ? nothing(told)
      : h('ul', { class: 'outcomes' }, found.map(([name, word, text]) => h('li', {}, badge(name, `${metadata[name]} ${word}`), ` ${text}`))),
    told && [answers(told), ways(told), changes(told), blocks(told)].filter(Boolean),
    h('details', {}, h('summary', {}, 'What is known besides'), h('dl', { class: 'known' },
      FACTS.filter(([name]) => metadata[name] !== undefined && metadata[name] !== null).flatMap(([name, label]) => [h('dt', {}, label), h('dd', {}, harmless(String(metadata[name])))]),
      h('dt', {}, 'Tenant'), h('dd', {}, trace.tenant), h('dt', {}, 'Turn'), h('dd', {}, trace.run_id), h('dt', {}, 'Session'), h('dd', {}, harmless(trace.session_key)))));
}
