// <ai-reasoning>: what a model thought, folded, in the page's own DOM.
//
//   <ai-reasoning data-ai-reasoning data-collapsed="true" data-token-est="15" data-msg-id="m1">
//     <button data-ai-reasoning-toggle aria-expanded="false" aria-controls="…">Thought · 15 tokens</button>
//     <div data-ai-reasoning-content id="…">…</div>
//   </ai-reasoning>
//
// A click on the toggle sends the event `svmai:event` from the toggle up to the window, with the detail
// `{type: 'reasoning_toggle', payload: {msgId, expanded, tokens}}`. With the attribute `legacy-events` the names that
// were shipped before the convention are sent as well. Text is only ever put in as text.
//
// This file stands by itself: pages that somebody exports hold it as it is.

/** So much text is one block of the page; what is out of sight is not laid out. */
const BLOCK = 8192;
/** Whoever is this near to the end, in pixels, reads along. */
const NEAR = 24;
/** Letters that nobody sees, or that change the order of others: the list of `crates/core/src/invisible.rs`. */
const INVISIBLE = String.raw`\u00ad\u034f\u061c\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u200b\u200e-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}`;
/** What is named in the page, and not copied: controls, those letters, what joins letters, and marks beyond the thirtieth
 * on one letter (the limit of Unicode's stream-safe text), which no writing has and which take a browser minutes to draw. */
const UNSEEN = new RegExp(String.raw`[\u0000-\u0008\u000b-\u001f\u007f-\u009f${INVISIBLE}\u200c\u200d\ufe0e\ufe0f]|(?<=\p{M}{30})\p{M}+`, 'gu');
/** So many signs in a row are named each by itself. */
const NAMED = 16;
const numbers = new Intl.NumberFormat('en');
let last = 0;

/** @typedef {'collapsed' | 'show' | 'stream_only' | 'off'} Display */

export class AiReasoning extends HTMLElement {
  static observedAttributes = ['data-collapsed', 'data-token-est'];
  /** What has to be looked at for the next picture of the screen. @type {Set<AiReasoning>} */
  static #due = new Set();
  static #frame = 0;

  #text = '';
  /** @type {number | null} */
  #tokens = null;
  #isLive = false;
  #sticks = true;
  #isBuilt = false;
  #shown = 0;
  /** More of it came than is drawn. */
  #isBehind = false;
  /** @type {HTMLButtonElement} */
  #toggle = document.createElement('button');
  #content = document.createElement('div');

  connectedCallback() {
    if (this.#isBuilt) return this.#soon();
    this.#isBuilt = true;
    this.#adopt();
    this.dataset.aiReasoning ??= '';
    this.dataset.collapsed ??= String(this.display !== 'show');
    last += 1;
    this.#content.id ||= `ai-reasoning-${last}`;
    this.#toggle.id ||= `${this.#content.id}-toggle`;
    this.#toggle.type = 'button';
    this.#toggle.dataset.aiReasoningToggle = '';
    this.#toggle.setAttribute('aria-controls', this.#content.id);
    this.#toggle.addEventListener('click', () => this.#clicked());
    this.#content.dataset.aiReasoningContent = '';
    this.#content.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    // The browser's search opens what it finds.
    this.#content.addEventListener('beforematch', () => { this.expanded = true; });
    this.append(this.#toggle, this.#content);
    this.#fold();
    this.#draw();
  }

  disconnectedCallback() {
    AiReasoning.#due.delete(this);
  }

  /** @param {string} name */
  attributeChangedCallback(name) {
    if (!this.#isBuilt) return;
    if (name === 'data-collapsed') this.#fold();
    else this.#label();
  }

  /** What was thought. */
  get thought() {
    return this.#text;
  }

  set thought(text) {
    this.#text = text;
    this.#shown = 0;
    this.#content.replaceChildren();
    this.#draw();
  }

  /** How many tokens it has: as somebody counted them, else a quarter of its letters. */
  get tokens() {
    return this.#tokens ?? Math.ceil(this.#text.trim().length / 4);
  }

  set tokens(count) {
    this.#tokens = count;
    this.#draw();
  }

  get expanded() {
    return this.dataset.collapsed === 'false';
  }

  set expanded(value) {
    this.dataset.collapsed = String(!value);
  }

  /** How it is shown: folded, open, open only while it grows, or not at all. @returns {Display} */
  get display() {
    const word = this.getAttribute('display');
    return word === 'show' || word === 'stream_only' || word === 'off' ? word : 'collapsed';
  }

  /**
   * More of a thought that is still being thought.
   * @param {string} delta
   */
  push(delta) {
    if (!this.#isLive) {
      this.#isLive = true;
      if (this.display === 'stream_only') this.expanded = true;
    }
    this.#text += delta;
    this.#isBehind = true;
    this.#soon();
  }

  /** The thought is over. */
  finish() {
    this.#isLive = false;
    if (this.display === 'stream_only') {
      this.expanded = false;
    }
    this.#draw();
  }

  /** What comes between two pictures of the screen is drawn once. */
  #soon() {
    if (!this.#isBuilt) return;
    AiReasoning.#due.add(this);
    AiReasoning.#frame ||= requestAnimationFrame(() => {
      AiReasoning.#frame = 0;
      const all = [...AiReasoning.#due];
      // All are drawn before one is measured: to measure is to lay out the whole page, if anything in it is new.
      for (const it of all) if (it.#isBehind) it.#write();
      AiReasoning.#due.clear();
      for (const it of all) it.#follow();
      for (const it of all) it.#reach();
    });
  }

  /** Takes over what a server wrote into the page. */
  #adopt() {
    const button = this.querySelector('[data-ai-reasoning-toggle]');
    const content = this.querySelector('[data-ai-reasoning-content]');
    if (button instanceof HTMLButtonElement) this.#toggle = button;
    if (!(content instanceof HTMLDivElement)) return;
    this.#content = content;
    if (this.#text !== '') return;
    this.#text = content.textContent ?? '';
    content.replaceChildren();
    const counted = Number.parseInt(this.dataset.tokenEst ?? '', 10);
    if (Number.isSafeInteger(counted) && counted >= 0) this.#tokens = counted;
  }

  #clicked() {
    const expanded = !this.expanded;
    this.expanded = expanded;
    const msgId = this.dataset.msgId ?? '';
    const { tokens } = this;
    this.#tell({ type: 'reasoning_toggle', payload: { msgId, expanded, tokens } });
    if (this.hasAttribute('legacy-events')) {
      const type = expanded ? 'reasoning_expand' : 'reasoning_collapse';
      this.#tell({ type, payload: { msgId, tokens }, ts: Date.now() });
    }
  }

  /** @param {object} detail */
  #tell(detail) {
    this.#toggle.dispatchEvent(new CustomEvent('svmai:event', { detail, bubbles: true, composed: true }));
  }

  #fold() {
    const isOpen = this.expanded;
    this.#toggle.setAttribute('aria-expanded', String(isOpen));
    // Folded text stays in the page, where the browser's own search finds it.
    if (isOpen) {
      this.#content.removeAttribute('hidden');
      this.#content.setAttribute('role', 'region');
      this.#content.setAttribute('aria-labelledby', this.#toggle.id);
      this.#soon();
    } else {
      this.#content.setAttribute('hidden', 'until-found');
      this.#content.removeAttribute('role');
      this.#content.removeAttribute('aria-labelledby');
    }
  }

  /** Whoever has no mouse scrolls with the keyboard. */
  #reach() {
    const it = this.#content;
    if (this.#isLive || (this.expanded && it.scrollHeight > it.clientHeight)) it.tabIndex = 0;
    else it.removeAttribute('tabindex');
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.#content;
    this.#sticks = scrollHeight - scrollTop - clientHeight <= NEAR;
  }

  #follow() {
    if (this.#isLive && this.#sticks) this.#content.scrollTop = this.#content.scrollHeight;
  }

  #draw() {
    if (!this.#isBuilt) return;
    this.#write();
    this.#soon();
  }

  #write() {
    this.#isBehind = false;
    const isGone = this.display === 'off' || (this.display === 'stream_only' && !this.#isLive);
    const sealed = this.getAttribute('data-sealed-bytes');
    this.toggleAttribute('data-live', this.#isLive);
    this.#content.setAttribute('aria-busy', String(this.#isLive));
    // A provider's sealed thought is no empty one: there is nothing to open, and that is said.
    this.#toggle.disabled = isGone || (this.#text === '' && sealed !== null && !this.#isLive);
    if (isGone) {
      this.#content.replaceChildren();
      this.#shown = 0;
    } else {
      this.#grow();
    }
    this.dataset.tokenEst = String(this.tokens);
    this.#label();
  }

  /** Puts the text in that is not there yet. */
  #grow() {
    while (this.#shown < this.#text.length) {
      let block = this.#content.lastElementChild;
      const size = Number(block?.getAttribute('data-size') ?? BLOCK);
      if (block === null || size >= BLOCK) {
        block = document.createElement('div');
        this.#content.append(block);
      }
      const had = Number(block.getAttribute('data-size') ?? 0);
      const end = this.#end(this.#shown, BLOCK - had);
      block.append(harmless(this.#text.slice(this.#shown, end)));
      // Two lines that belong together are not torn apart: a block ends with its line, if one ends nearby.
      const isFull = had + end - this.#shown >= BLOCK || this.#text[end - 1] === '\n';
      block.setAttribute('data-size', String(isFull && had + end - this.#shown > BLOCK / 2 ? BLOCK : had + end - this.#shown));
      this.#shown = end;
    }
  }

  /**
   * Where a piece ends that begins here: behind a line, and never within a character.
   * @param {number} from @param {number} most
   */
  #end(from, most) {
    const limit = Math.min(this.#text.length, from + most);
    if (limit === this.#text.length) return limit;
    const line = this.#text.lastIndexOf('\n', limit - 1);
    if (line >= from) return line + 1;
    const code = this.#text.charCodeAt(limit - 1);
    return code >= 0xd800 && code <= 0xdbff ? limit + 1 : limit;
  }

  #label() {
    const count = Number(this.dataset.tokenEst ?? 0);
    const tokens = `${numbers.format(count)} token${count === 1 ? '' : 's'}`;
    const sealed = this.getAttribute('data-sealed-bytes');
    const by = this.dataset.provider ? `, by ${this.dataset.provider}` : '';
    let label = `${this.dataset.label ?? 'Thought'} · ${tokens}`;
    if (this.#isLive) label = `Thinking · ${tokens}`;
    else if (sealed !== null && this.#text === '') label = `Sealed, ${numbers.format(Number(sealed))} bytes${by} · ${tokens}`;
    else if (this.display === 'off' || this.display === 'stream_only') label = `Thought, not shown · ${tokens}`;
    if (this.#toggle.textContent !== label) this.#toggle.textContent = label;
    const preview = this.#isLive ? '' : this.#text.trimStart().slice(0, 160).split('\n', 1)[0];
    if (preview && this.hasAttribute('preview')) {
      const line = document.createElement('span');
      line.dataset.aiReasoningPreview = '';
      line.setAttribute('aria-hidden', 'true');
      line.append(harmless(preview));
      this.#toggle.append(line);
    }
  }
}

/**
 * A text as nodes, with everything that cannot be seen named in place of itself.
 * @param {string} text
 */
export function harmless(text) {
  const nodes = document.createDocumentFragment();
  let from = 0, row = 0, rest = 0;
  for (const found of text.matchAll(UNSEEN)) {
    const sign = found[0];
    if (joins(text, found.index, sign)) continue;
    if (found.index > from) {
      nodes.append(...many(rest), text.slice(from, found.index));
      row = rest = 0;
    }
    from = found.index + sign.length;
    const count = sign.length === 1 ? 1 : [...sign].length;
    row += 1;
    if (count === 1 && row <= NAMED) nodes.append(named(code(sign)));
    else rest += count;
  }
  nodes.append(...many(rest));
  if (from < text.length) nodes.append(text.slice(from));
  return nodes;
}

/** What stands for a sign that is not shown. @param {string} name */
function named(name) {
  const mark = document.createElement('span');
  mark.dataset.unseen = name;
  mark.title = 'a character that cannot be seen';
  return mark;
}

/** @param {number} count */
function many(count) {
  return count === 0 ? [] : [named(`${numbers.format(count)} signs`)];
}

/** @param {string} sign */
function code(sign) {
  return `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/**
 * Whether a joiner or selector does its work: between pictures or behind one, or between letters of a script that needs it.
 * @param {string} text @param {number} at @param {string} sign
 */
function joins(text, at, sign) {
  const before = text.slice(Math.max(0, at - 4), at);
  if (sign === '\ufe0e' || sign === '\ufe0f') return /\p{Emoji}$/u.test(before);
  if (sign !== '\u200d' && sign !== '\u200c') return false;
  const after = text.slice(at + 1, at + 3);
  if (sign === '\u200d' && /\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?$/u.test(before)) {
    return /^\p{Extended_Pictographic}/u.test(after);
  }
  return /[\p{L}\p{M}]$/u.test(before) && !/[\p{sc=Latn}\p{sc=Zyyy}]$/u.test(before) && /^\p{L}/u.test(after);
}

if (!customElements.get('ai-reasoning')) customElements.define('ai-reasoning', AiReasoning);
