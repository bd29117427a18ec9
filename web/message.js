// <ai-message>: a message as a model wrote it, its reasoning apart from its answer.
//
//   <ai-message data-msg-id="m1">&lt;REASONING&gt;…&lt;/REASONING&gt; The answer.</ai-message>
//
// `message.text = …` shows a whole message; `message.push(delta)` and `message.finish()` one that comes. A block is
// a thought once its end was seen, so that nothing is shown as one thing and then taken back as another.

import { AiReasoning, harmless } from './reasoning.js';
import { split, stages, tokensEst } from './split.js';

export { AiReasoning, harmless, split, stages, tokensEst };

export class AiMessage extends HTMLElement {
  #text = '';
  #frame = 0;
  /** @type {AiReasoning | null} */
  #reasoning = null;
  #visible = document.createElement('div');

  connectedCallback() {
    if (this.#visible.isConnected) return;
    if (this.#text === '') this.#text = this.textContent ?? '';
    this.#visible.dataset.aiVisible = '';
    this.replaceChildren(this.#visible);
    this.#draw();
  }

  get text() {
    return this.#text;
  }

  set text(text) {
    this.#text = text;
    this.#draw();
  }

  /** @param {string} delta */
  push(delta) {
    this.#text += delta;
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  finish() {
    this.#draw();
  }

  #draw() {
    if (!this.#visible.isConnected) return;
    const { visible, reasoning } = split(this.#text, { compat: this.hasAttribute('compat') });
    if (reasoning) {
      const element = this.#reasoning ?? new AiReasoning();
      element.dataset.msgId = this.dataset.msgId ?? '';
      element.toggleAttribute('legacy-events', this.hasAttribute('legacy-events'));
      const display = this.getAttribute('display');
      if (display !== null) element.setAttribute('display', display);
      if (element.thought !== reasoning.text) element.thought = reasoning.text;
      element.tokens = reasoning.tokensEst;
      if (this.#reasoning === null) this.prepend(element);
      this.#reasoning = element;
    } else {
      this.#reasoning?.remove();
      this.#reasoning = null;
    }
    this.#visible.replaceChildren(harmless(visible));
  }
}

if (!customElements.get('ai-message')) customElements.define('ai-message', AiMessage);
