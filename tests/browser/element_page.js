// What the checks of the element ask of their page.
import * as all from '/web/message.js';

Object.assign(window, all);
window.heard = [];
window.addEventListener('svmai:event', (event) => {
  window.heard.push({ detail: event.detail, at: event.target.tagName, bubbles: event.bubbles, composed: event.composed });
});
window.shown = (text, attributes = {}) => {
  const message = document.createElement('ai-message');
  for (const [name, value] of Object.entries(attributes)) message.setAttribute(name, value);
  message.text = text;
  document.querySelector('main').replaceChildren(message);
  window.heard.length = 0;
  return message;
};
