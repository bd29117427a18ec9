// The viewer: which page is shown, and who looks.

import '../message.js';
import { empty, h, say } from './elements.js';
import { live } from './live.js';
import { SignedOut, ask, order } from './server.js';
import { trace, traces } from './traces.js';

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const nav = /** @type {HTMLElement} */ (document.querySelector('.bar nav'));
const who = /** @type {HTMLElement} */ (document.querySelector('.who'));
/** @type {{tenant: string | null, admin: boolean, version: string} | null} */
let me = null;
/** What has to end before the next page. @type {(() => void) | void | null} */
let leave = null;
let turn = 0;
/** @typedef {{hash: string, at: HTMLElement, y: number, focus: Element | null, end: (() => void) | void}} List */
/** The list that was shown last, for whoever goes back to it. @type {List | null} */
let list = null;

/** @param {string} path @param {URLSearchParams} query */
function page(path, query) {
  const [name, ...rest] = path.split('/');
  const id = decodeURIComponent(rest.join('/'));
  switch (name) {
    case 'traces': return { title: 'Traces', show: (/** @type {HTMLElement} */ at) => traces(at, query) };
    case 'trace': return { title: 'Trace', show: (/** @type {HTMLElement} */ at) => trace(at, id) };
    // What is not looked at is not loaded.
    case 'sessions': return { title: 'Sessions', show: async (/** @type {HTMLElement} */ at) => (await import('./sessions.js')).sessions(at) };
    case 'session': return { title: 'Session', show: async (/** @type {HTMLElement} */ at) => (await import('./sessions.js')).session(at, id, query) };
    case 'charts': return { title: 'Charts', show: async (/** @type {HTMLElement} */ at) => (await import('./charts.js')).charts(at, query) };
    case 'house': return { title: 'Status', show: async (/** @type {HTMLElement} */ at) => (await import('./house.js')).house(at, me ?? { admin: false }) };
    default: return { title: 'Live', show: live };
  }
}

async function show() {
  const mine = ++turn;
  leave?.();
  leave = null;
  // What the browser comes back to was marked when it was new.
  const isBack = history.state !== null;
  history.replaceState('shown', '');
  const [path, search = ''] = location.hash.replace(/^#\/?/u, '').split('?', 2);
  const link = /^sign-in\/([0-9a-f]+)$/u.exec(path)?.[1];
  if (link) return enter({ link });
  try {
    me ??= await ask('me');
  } catch (error) {
    return signIn(error instanceof SignedOut ? '' : String(error));
  }
  if (me === null || mine !== turn) return;
  const { title, show: fill } = page(path, new URLSearchParams(search));
  document.title = `${title} · Thinkthrough`;
  frame(title);
  if (isBack && list?.hash === location.hash) return again(list, title);
  const at = h('div', { class: 'page' });
  main.replaceChildren(at);
  window.scrollTo(0, 0);
  try {
    const end = await fill(at);
    const isList = /^(traces|sessions)\b/u.test(path);
    if (mine !== turn) end?.();
    else if (isList) keep({ hash: location.hash, at, y: 0, focus: null, end });
    else leave = end;
  } catch (error) {
    if (error instanceof SignedOut) {
      me = null;
      return signIn('You were signed out.');
    }
    at.append(empty('This cannot be shown', error instanceof Error ? error.message : String(error)));
  }
  if (mine === turn) say(title);
}

/** Takes note of a list. What it watches goes on: of a list that is not shown nothing is near. @param {List} it */
function keep(it) {
  list?.end?.();
  list = it;
  leave = () => left(it);
}

/** Takes note of where one was in a list. @param {List} it */
function left(it) {
  it.y = window.scrollY;
  it.focus = it.at.contains(document.activeElement) ? document.activeElement : null;
}

/** Shows a list as it was left. @param {List} it @param {string} title */
function again(it, title) {
  main.replaceChildren(it.at);
  window.scrollTo(0, it.y);
  if (it.focus instanceof HTMLElement) it.focus.focus({ preventScroll: true });
  leave = () => left(it);
  say(title);
}

/** @param {string} title */
function frame(title) {
  nav.hidden = false;
  for (const link of nav.querySelectorAll('a')) {
    const isHere = link.textContent === title || (link.textContent === 'Traces' && title === 'Trace') || (link.textContent === 'Sessions' && title === 'Session');
    if (isHere) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  who.replaceChildren(me?.tenant ?? 'all keys', h('button', { type: 'button', class: 'quiet', onclick: leaveHouse }, 'Sign out'));
}

async function leaveHouse() {
  await order('sign-out').catch(() => null);
  me = null;
  show();
}

/** @param {{link?: string, key?: string}} token */
async function enter(token) {
  try {
    me = await order('sign-in', token);
    // The link is used; nothing of it stays in the address.
    if (token.link) history.replaceState(null, '', '#/live');
    show();
  } catch (error) {
    if (token.link) history.replaceState(null, '', '#/');
    signIn(error instanceof Error ? error.message : String(error));
  }
}

/** @param {string} problem */
function signIn(problem) {
  list?.end?.();
  list = null;
  nav.hidden = true;
  who.replaceChildren();
  document.title = 'Sign in · Thinkthrough';
  const key = h('input', { type: 'password', name: 'key', autocomplete: 'current-password', required: true });
  main.replaceChildren(h('div', { class: 'page sign-in' }, h('h1', {}, 'See what your models think'),
    h('p', {}, 'Open the link that ', h('code', {}, 'think ui'), ' prints: it lets one browser in. Or sign in with a key of this gateway; an admin\u2019s key shows everybody\u2019s requests, any other its own.'),
    h('form', { onsubmit: (/** @type {SubmitEvent} */ event) => { event.preventDefault(); enter({ key: key.value }); } },
      h('label', {}, h('span', {}, 'Key'), key), h('button', {}, 'Sign in')),
    h('p', { class: 'problem', role: 'alert' }, problem)));
}

// Where one was in a list is known here, and to the browser no more than that there was another page.
history.scrollRestoration = 'manual';
window.addEventListener('hashchange', show);
// A page that the browser keeps for a way back must not hold its connection: there are six to a host.
window.addEventListener('pagehide', () => { leave?.(); leave = null; });
window.addEventListener('pageshow', (event) => { if (event.persisted) show(); });
show();
