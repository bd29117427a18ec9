// What was asked and done: the question, tool calls with their results, and a refusal in the provider's own words.

import { harmless } from '../message.js';
import { h, number } from './elements.js';

/** @typedef {Record<string, any>} Item */

/** A longer question is folded. */
const LONG = 1_200;
const ASKED = ['question', 'result'];

/** The first words on one line. @param {string} text */
function line(text) {
  const words = text.trim().replace(/\s+/gu, ' ');
  return words.length > 140 ? `${words.slice(0, 140)}\u2026` : words;
}

/** @param {Item} it */
function cut(it) {
  return it.is_cut && h('p', { class: 'note' }, 'Only the first 16 KiB are kept.');
}

/** @param {string} label @param {Item} it */
function folded(label, it) {
  return h('details', { class: 'item', 'data-type': it.type, 'data-failed': Boolean(it.is_error) },
    h('summary', {}, h('strong', {}, label), it.name && [' ', h('code', {}, harmless(it.name))], it.is_error && h('span', { class: 'problem' }, ' failed'),
      h('span', { class: 'first' }, harmless(line(it.text)))),
    h('pre', { tabindex: 0 }, harmless(it.text)), cut(it));
}

/** @param {Item} it */
function item(it) {
  switch (it.type) {
    case 'question': return it.text.length > LONG ? folded('Question', it) : h('div', { class: 'item question' }, h('strong', {}, 'Question'), h('p', {}, harmless(it.text)));
    case 'result': return folded('Result of', it);
    case 'call': return folded('Calls', it);
    case 'refusal': return h('div', { class: 'item refusal' }, h('strong', {}, 'Refused by the provider'), h('p', {}, harmless(it.text)), cut(it));
    case 'left_out': return h('p', { class: 'note' }, `${number(it.count)} more questions, calls or results are not kept.`);
    default: return null;
  }
}

/** What stands before the thought of a trace: its question and the results. @param {Item} trace */
export function asked(trace) {
  return (trace.items ?? []).filter((/** @type {Item} */ it) => ASKED.includes(it.type)).map(item);
}

/** What follows the answer of a trace: its calls, or a refusal. @param {Item} trace */
export function done(trace) {
  return (trace.items ?? []).filter((/** @type {Item} */ it) => !ASKED.includes(it.type)).map(item);
}

/** The visible answer, unless there are only calls or a refusal. @param {Item} trace @param {(text: string) => Node} show @param {string} none */
export function answer(trace, show, none) {
  if (trace.response_text !== '') return show(trace.response_text);
  return done(trace).length > 0 ? null : h('p', { class: 'none' }, none);
}
