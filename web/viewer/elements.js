// Elements of the page, and how numbers and times read. Text is only ever put in as text.

const SVG = 'http://www.w3.org/2000/svg';
const numbers = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Props
 */

/**
 * @template {Element} E @param {E} element @param {Props} props @param {(Child | Child[])[]} children @returns {E}
 */
function filled(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/**
 * @template {keyof HTMLElementTagNameMap} T @param {T} tag @param {Props} [props] @param {...(Child | Child[])} children
 */
export function h(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** @param {string} tag @param {Props} [props] @param {...(Child | Child[])} children */
export function svg(tag, props = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

/** @param {number | null | undefined} value */
export function number(value) {
  return value === null || value === undefined ? '–' : numbers.format(value);
}

/** @param {number} value */
export function short(value) {
  return compact.format(value);
}

/** @param {number} ms */
export function lasted(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** @param {number} at */
export function when(at) {
  const date = new Date(at);
  const ago = (Date.now() - at) / 1000;
  const text = ago < 60 ? 'just now' : ago < 3600 ? `${Math.floor(ago / 60)} min ago`
    : ago < 86_400 ? `${Math.floor(ago / 3600)} h ago` : date.toISOString().slice(0, 16).replace('T', ' ');
  return h('time', { datetime: date.toISOString(), title: date.toISOString().slice(0, 19).replace('T', ' ') + ' UTC' }, text);
}

/** How a request ended, or is: a colour with its word. @param {string} state @param {string} [word] */
export function badge(state, word = state) {
  return h('span', { class: 'badge', 'data-state': state }, word);
}

/** @param {string} name @param {Child} value @param {string} [hint] */
export function figure(name, value, hint) {
  return h('div', { class: 'figure', title: hint }, h('dt', {}, name), h('dd', {}, value));
}

/** @param {string} title @param {string} text @param {Child[]} [more] */
export function empty(title, text, more = []) {
  return h('div', { class: 'empty' }, h('h2', {}, title), h('p', {}, text), ...more);
}

/** Says something to whoever does not look. @param {string} text */
export function say(text) {
  const status = document.getElementById('said');
  if (status) status.textContent = text;
}

/**
 * Asks before something is done that cannot be undone.
 * @param {string} title @param {string} text @param {string} word @returns {Promise<boolean>}
 */
export function confirmed(title, text, word) {
  return new Promise((resolve) => {
    const dialog = h('dialog', { 'aria-labelledby': 'question' },
      h('form', { method: 'dialog' }, h('h2', { id: 'question' }, title), h('p', {}, text),
        h('div', { class: 'buttons' }, h('button', { value: '', autofocus: true }, 'Cancel'), h('button', { value: 'yes', class: 'danger' }, word))));
    dialog.addEventListener('close', () => { dialog.remove(); resolve(dialog.returnValue === 'yes'); });
    document.body.append(dialog);
    dialog.showModal();
  });
}
