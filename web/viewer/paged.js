// A list that grows as it is read. Of a million rows only those near to what is seen are in the page.

import { h, say } from './elements.js';

/** So many pixels ahead of what is seen the next page is asked for, and one that was given up is asked for again. */
const AHEAD = 2000;

/**
 * Each page of rows is a list of its own. One that is far away is given up, and leaves its height behind; it is asked
 * for again when somebody comes back to it. The first one stays: by then others are the newest.
 * @param {HTMLElement} main @param {(after: string | null) => Promise<{rows: Node[], next: string | null}>} load @param {() => Node} none
 */
export async function paged(main, load, none) {
  const rows = h('div', { class: 'rows' });
  const more = h('button', { type: 'button', class: 'more', hidden: true }, 'Older ones');
  main.append(rows, more);
  /** Where each page begins. @type {Map<Element, string | null>} */
  const begins = new Map();
  /** @type {Set<Element>} */
  const near = new Set();
  /** @type {string | null} */
  let next = null;
  let isAsking = false;

  /** @param {HTMLElement} list */
  const giveUp = (list) => {
    if (!list.isConnected || list.childElementCount === 0 || list.contains(document.activeElement)) return;
    list.style.height = `${list.offsetHeight}px`;
    list.replaceChildren();
  };
  /** @param {HTMLElement} list */
  const fill = async (list) => {
    if (list.childElementCount > 0) return;
    const page = await load(begins.get(list) ?? null);
    if (!near.has(list) || list.childElementCount > 0) return;
    list.append(...page.rows);
    list.style.height = '';
  };
  const sight = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!(target instanceof HTMLElement)) continue;
      if (isIntersecting) near.add(target);
      else near.delete(target);
      if (isIntersecting) fill(target).catch((error) => say(String(error)));
      else giveUp(target);
    }
  }, { rootMargin: `${AHEAD}px 0px` });

  const grow = async () => {
    if (isAsking) return;
    isAsking = true;
    const after = next;
    const page = await load(after).finally(() => { isAsking = false; });
    const list = h('ul', {}, page.rows);
    if (page.rows.length > 0) rows.append(list);
    if (begins.size > 0) sight.observe(list);
    begins.set(list, after);
    next = page.next;
    more.hidden = next === null;
    if (rows.childElementCount === 0) rows.replaceWith(none());
    // Seen anew, so that a page that does not fill the room is followed by another one.
    end.unobserve(more);
    end.observe(more);
  };
  const failed = (/** @type {Error} */ error) => { more.textContent = `Older ones (${error.message})`; };
  const end = new IntersectionObserver((seen) => {
    if (next !== null && seen.at(-1)?.isIntersecting) grow().catch(failed);
  }, { rootMargin: `${AHEAD}px 0px` });
  more.addEventListener('click', () => { grow().catch(failed); });
  await grow();
  return () => {
    end.disconnect();
    sight.disconnect();
  };
}
