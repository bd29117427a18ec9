// What is thought at this moment: a card for each request, from its arrival on.

import { AiReasoning, harmless } from '../message.js';
import { badge, empty, h, lasted, number, say, short } from './elements.js';
import { listen } from './events.js';
import { markdown } from './markdown.js';
import { latest, withheld } from './traces.js';

/** @typedef {import('./events.js').Phase} Phase @typedef {import('./events.js').Event} Event */

/** So many cards stay; the oldest that are over go first. */
const CARDS = 48;
const WORDS = { waiting: 'waiting', thinking: 'thinking', answering: 'answering', tools: 'calling tools', whole: 'done', cut: 'broke off', failed: 'failed' };

/** One request. */
class Card {
  /** @param {string} trace @param {number} at */
  constructor(trace, at) {
    this.trace = trace;
    this.at = at;
    /** @type {Phase} */
    this.phase = 'waiting';
    this.isOver = false;
    this.letters = 0;
    this.first = 0;
    this.said = '';
    /** What is known of the request. @type {Record<string, string>} */
    this.known = {};
    this.model = h('h2', {}, 'a request');
    this.about = h('p', { class: 'about' });
    this.badge = badge('waiting', WORDS.waiting);
    this.numbers = h('p', { class: 'numbers' });
    this.notes = h('ul', { class: 'notes' });
    this.reasoning = new AiReasoning();
    this.reasoning.dataset.msgId = trace;
    this.reasoning.setAttribute('display', 'show');
    this.reasoning.hidden = true;
    this.answer = h('div', { class: 'answer', tabindex: 0, role: 'group', 'aria-label': 'Answer' });
    this.size = h('button', { type: 'button', class: 'quiet', 'aria-expanded': 'false', onclick: () => this.grow() }, 'Full size');
    this.link = h('a', { class: 'quiet', href: `#/trace/${trace}`, hidden: true }, 'Open the trace');
    this.element = h('article', { class: 'card', 'data-phase': 'waiting', 'aria-label': 'Request' },
      h('header', {}, this.badge, this.model, this.size), this.about, this.reasoning, this.answer, this.notes,
      h('footer', {}, this.numbers, this.link));
    this.frame = 0;
  }

  grow() {
    const isFull = this.element.classList.toggle('full');
    document.body.classList.toggle('holds', isFull);
    this.size.textContent = isFull ? 'Small again' : 'Full size';
    this.size.setAttribute('aria-expanded', String(isFull));
    if (isFull) this.size.focus();
  }

  /** @param {Event} event */
  describe({ data }) {
    Object.assign(this.known, data);
    const { model, provider, client, key, route } = this.known;
    if (model) this.model.replaceChildren(harmless(model));
    const parts = [provider && `at ${provider}`, client && `from ${client}`, key && `key ${key}`, route];
    this.about.replaceChildren(harmless(parts.filter(Boolean).join(' · ')));
    this.element.setAttribute('aria-label', `Request for ${this.model.textContent}`);
  }

  /** @param {Phase} phase */
  turn(phase) {
    if (this.isOver || phase === this.phase) return;
    if (this.phase === 'thinking') this.reasoning.finish();
    this.phase = phase;
    this.element.dataset.phase = phase;
    this.badge.dataset.state = phase;
    this.badge.textContent = WORDS[phase] ?? phase;
  }

  /** @param {string} delta @param {number} at */
  think(delta, at) {
    this.reasoning.hidden = false;
    this.turn('thinking');
    this.reasoning.push(delta);
    this.count(delta, at);
  }

  /** @param {string} delta @param {number} at */
  tell(delta, at) {
    this.turn('answering');
    this.said += delta;
    this.count(delta, at);
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      // A growing text is drawn plainly; its forms come with its end.
      this.answer.replaceChildren(harmless(this.said.slice(-20_000)));
    });
  }

  /** @param {string} delta @param {number} at */
  count(delta, at) {
    this.first ||= at;
    this.letters += delta.length;
  }

  /** @param {Phase} phase @param {Event} event */
  end(phase, { data, ts }) {
    this.turn(phase);
    this.reasoning.finish();
    this.isOver = true;
    this.last = ts;
    cancelAnimationFrame(this.frame);
    this.answer.replaceChildren(this.said === '' ? '' : markdown(this.said));
    if (data.error) this.note(`error: ${data.error}`);
    this.usage = data.usage;
    const thought = data.usage?.reasoning_tokens;
    if (thought > 0) {
      if (this.reasoning.hidden) this.reasoning.before(withheld(thought));
      else this.reasoning.tokens = thought;
    }
    this.duration = data.duration_ms;
    // Its trace is written right behind it.
    setTimeout(() => { this.link.hidden = false; }, 400);
    this.tick(ts);
  }

  /** @param {string} text */
  note(text) {
    this.notes.append(h('li', {}, harmless(text)));
  }

  /** @param {number} now */
  tick(now) {
    const end = this.last ?? now;
    const span = (end - (this.first || end)) / 1000;
    const tokens = this.usage?.output_tokens ?? Math.ceil(this.letters / 4);
    const rate = span > 0.2 && tokens > 0 ? `${number(Math.round(tokens / span))} tokens/s` : '';
    const thought = this.usage?.reasoning_tokens;
    const parts = [lasted(this.duration ?? end - this.at), tokens > 0 && `${short(tokens)} tokens`, thought && `${short(thought)} thought`, rate];
    this.numbers.textContent = parts.filter(Boolean).join(' · ');
  }
}

/** @param {HTMLElement} main */
export function live(main) {
  /** @type {Map<string, Card>} */
  const cards = new Map();
  const grid = h('div', { class: 'cards', 'aria-live': 'off' });
  const state = h('span', { class: 'badge', 'data-state': 'waiting' }, 'connecting');
  const none = h('div', {}, empty('Nothing is running', 'Send a request through the gateway, and it is here from the moment it arrives.'));
  const before = h('section', { class: 'latest', 'aria-label': 'Latest traces' });
  main.append(h('div', { class: 'title' }, h('h1', {}, 'Live'), state), none, grid, before);
  latest(before);

  const card = (/** @type {string} */ trace, /** @type {number} */ at) => {
    const known = cards.get(trace);
    if (known) return known;
    const made = new Card(trace, at);
    cards.set(trace, made);
    none.hidden = true;
    grid.prepend(made.element);
    if (cards.size > CARDS) {
      const gone = [...cards.values()].find((it) => it.isOver && !it.element.classList.contains('full'));
      if (gone) {
        cards.delete(gone.trace);
        gone.element.remove();
      }
    }
    return made;
  };
  let silence = 0;
  const stop = listen({
    connected(is) {
      clearTimeout(silence);
      // A connection that is there again at once is not worth a word.
      const tell = () => {
        state.dataset.state = is ? 'whole' : 'failed';
        state.textContent = is ? 'listening' : 'cut off, trying again';
      };
      if (is) tell();
      else silence = setTimeout(tell, 4000);
    },
    started(trace, event) { card(trace, event.ts).describe(event); },
    routed(trace, event) { card(trace, event.ts).describe({ ...event, data: { provider: event.data.provider } }); },
    phase(trace, phase, event) { card(trace, event.ts).turn(phase); },
    thought(trace, delta, event) { card(trace, event.ts).think(delta, event.ts); },
    sealed(trace, bytes, event) {
      const { reasoning } = card(trace, event.ts);
      if (bytes > 0 && reasoning.thought === '') {
        reasoning.dataset.sealedBytes = String(bytes);
        reasoning.hidden = false;
        reasoning.finish();
      }
    },
    answer(trace, delta, event) { card(trace, event.ts).tell(delta, event.ts); },
    decided(trace, { data, ts }) {
      const counts = ['restored', 'missed', 'ambiguous', 'dropped'].filter((name) => data[name] > 0).map((name) => `${data[name]} ${name}`);
      if (counts.length > 0) card(trace, ts).note(`thoughts of earlier answers: ${counts.join(', ')}`);
    },
    note(trace, text, event) { card(trace, event.ts).note(text); },
    ended(trace, phase, event) {
      const it = card(trace, event.ts);
      it.end(phase, event);
      say(`${it.model.textContent}: ${WORDS[phase]}`);
    },
    lost(count) { say(`${count ?? 'some'} events were lost`); state.textContent = `listening, ${count ?? 'some'} events lost`; },
  });
  const timer = setInterval(() => {
    for (const it of cards.values()) if (!it.isOver) it.tick(Date.now());
  }, 250);
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Escape') [...cards.values()].find((it) => it.element.classList.contains('full'))?.grow();
  };
  document.addEventListener('keydown', key);
  return () => {
    stop();
    clearInterval(timer);
    clearTimeout(silence);
    document.removeEventListener('keydown', key);
    document.body.classList.remove('holds');
  };
}
