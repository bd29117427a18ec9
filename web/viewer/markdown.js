// Markdown as elements. There is no way from text to markup here: what is no known form stays text, nothing is loaded,
// and a link shows where it leads.

import { harmless } from '../reasoning.js';
import { h } from './elements.js';

/** A text beyond this is shown as it is. */
const MOST = 200_000;
/** A paragraph beyond this has no inline forms. */
const LONGEST = 20_000;
const INLINE = /(`{1,3})([^`]+)\1|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|(!?)\[([^\]\n]*)\]\(([^()\s]+)\)/gu;

/** @param {string} text */
export function markdown(text) {
  const out = h('div', { class: 'prose' });
  if (text.length > MOST) {
    out.append(h('pre', {}, harmless(text)));
    return out;
  }
  const lines = text.split('\n');
  let at = 0;
  while (at < lines.length) at = block(lines, at, out);
  return out;
}

/** Puts the block in that begins here; gives the line behind it. @param {string[]} lines @param {number} at @param {Element} out */
function block(lines, at, out) {
  const line = lines[at];
  if (line.trim() === '') return at + 1;
  const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+-]*)/u.exec(line);
  if (fence) return code(lines, at + 1, fence[1], fence[2], out);
  const heading = /^(#{1,6})\s+(.*)$/u.exec(line);
  if (heading) {
    out.append(h('p', { class: 'heading', role: 'heading', 'aria-level': heading[1].length + 2 }, inline(heading[2])));
    return at + 1;
  }
  if (/^ {0,3}([-*_])(\s*\1){2,}\s*$/u.test(line)) {
    out.append(h('hr'));
    return at + 1;
  }
  if (item(line)) return list(lines, at, out);
  if (/^ {0,3}>/u.test(line)) return quote(lines, at, out);
  if (/^\s*\|.*\|\s*$/u.test(line) && /^\s*\|[\s|:-]+\|\s*$/u.test(lines[at + 1] ?? '')) return table(lines, at, out);
  const begin = at;
  while (at < lines.length && lines[at].trim() !== '' && (at === begin || !starts(lines[at]))) at += 1;
  out.append(h('p', {}, inline(lines.slice(begin, at).join('\n'))));
  return at;
}

/** @param {string} line */
function starts(line) {
  return /^ {0,3}(`{3,}|~{3,}|#{1,6}\s|>)/u.test(line) || item(line) !== null;
}

/** @param {string} line */
function item(line) {
  return /^(\s{0,8})([-*+]|\d{1,9}[.)])\s+(.*)$/u.exec(line);
}

/** @param {string[]} lines @param {number} at @param {string} fence @param {string} language @param {Element} out */
function code(lines, at, fence, language, out) {
  const begin = at;
  const isEnd = (/** @type {string} */ line) => line.trim().startsWith(fence) && line.trim().replaceAll(fence[0], '') === '';
  while (at < lines.length && !isEnd(lines[at])) at += 1;
  out.append(h('pre', { 'data-language': language || null, tabindex: 0 }, h('code', {}, harmless(lines.slice(begin, at).join('\n')))));
  return at + 1;
}

/** @param {string[]} lines @param {number} at @param {Element} out */
function list(lines, at, out) {
  const first = item(lines[at]);
  const isNumbered = /\d/u.test(first?.[2] ?? '');
  const items = h(isNumbered ? 'ol' : 'ul', isNumbered ? { start: Number.parseInt(first?.[2] ?? '1', 10) } : {});
  for (let found = first; found; found = at < lines.length ? item(lines[at]) : null) {
    const text = [found[3]];
    at += 1;
    while (at < lines.length && lines[at].trim() !== '' && !starts(lines[at])) text.push(lines[at++].trim());
    const level = Math.min(3, Math.floor(found[1].length / 2));
    items.append(h('li', level > 0 ? { class: `level-${level}` } : {}, inline(text.join('\n'))));
    if (at < lines.length && lines[at].trim() === '' && item(lines[at + 1] ?? '')) at += 1;
  }
  out.append(items);
  return at;
}

/** @param {string[]} lines @param {number} at @param {Element} out */
function quote(lines, at, out) {
  const text = [];
  while (at < lines.length && /^ {0,3}>/u.test(lines[at])) text.push(lines[at++].replace(/^ {0,3}> ?/u, ''));
  out.append(h('blockquote', {}, inline(text.join('\n'))));
  return at;
}

/** @param {string[]} lines @param {number} at @param {Element} out */
function table(lines, at, out) {
  const cells = (/** @type {string} */ line) => line.trim().slice(1, -1).split('|').map((cell) => inline(cell.trim()));
  const head = h('tr', {}, cells(lines[at]).map((cell) => h('th', { scope: 'col' }, cell)));
  const body = h('tbody');
  for (at += 2; at < lines.length && /^\s*\|.*\|\s*$/u.test(lines[at]); at += 1) {
    body.append(h('tr', {}, cells(lines[at]).map((cell) => h('td', {}, cell))));
  }
  out.append(h('div', { class: 'scrolls', tabindex: 0, role: 'group', 'aria-label': 'Table' }, h('table', {}, h('thead', {}, head), body)));
  return at;
}

/** @param {string} text @returns {Node} */
function inline(text) {
  const out = document.createDocumentFragment();
  if (text.length > LONGEST) return harmless(text);
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    const [whole, , codeText, bold, slanted, isImage, label, target] = found;
    out.append(harmless(text.slice(from, found.index)));
    if (codeText !== undefined) out.append(h('code', {}, harmless(codeText)));
    else if (bold !== undefined) out.append(h('strong', {}, harmless(bold)));
    else if (slanted !== undefined) out.append(h('em', {}, harmless(slanted)));
    else out.append(link(whole, isImage !== '', label, target));
    from = found.index + whole.length;
  }
  out.append(harmless(text.slice(from)));
  return out;
}

/** A link to the web with its whole host; a picture is named and not loaded. @param {string} whole @param {boolean} isImage @param {string} label @param {string} target */
function link(whole, isImage, label, target) {
  const url = /^https?:\/\//iu.test(target) && URL.canParse(target) ? new URL(target) : null;
  if (!url) return harmless(whole);
  const host = h('span', { class: 'host' }, harmless(` (${url.host})`));
  if (isImage) return h('span', { class: 'picture' }, harmless(`picture: ${label}`), host);
  return h('span', {}, h('a', { href: url.href, rel: 'noopener noreferrer', target: '_blank' }, harmless(label || url.href)), host);
}
