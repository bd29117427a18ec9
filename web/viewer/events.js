// What happens at this moment: the names of events stand here, and nowhere else.

import { SignedOut, ask } from './server.js';

/**
 * @typedef {{id: string, ts: number, stream: string, type: string, session: string | null, run: string | null, data: any}} Event
 * @typedef {'waiting' | 'thinking' | 'answering' | 'tools' | 'whole' | 'cut' | 'failed'} Phase
 * @typedef {{
 *   started(trace: string, event: Event): void,
 *   routed(trace: string, event: Event): void,
 *   phase(trace: string, phase: Phase, event: Event): void,
 *   thought(trace: string, delta: string, event: Event): void,
 *   sealed(trace: string, bytes: number, event: Event): void,
 *   answer(trace: string, delta: string, event: Event): void,
 *   decided(trace: string, event: Event): void,
 *   note(trace: string, note: string, event: Event): void,
 *   ended(trace: string, phase: Phase, event: Event): void,
 *   lost(count: number | null): void,
 *   connected(is: boolean): void,
 * }} Ears
 */

const ENDS = /** @type {Record<string, Phase>} */ ({ request_finished: 'whole', request_cut: 'cut', request_failed: 'failed' });
const NOTES = /** @type {Record<string, string>} */ ({
  request_repaired: 'refused for its thoughts, mended and sent again',
  request_fell_back: 'another model is asked in its place',
  thought_unsaved: 'the answer ended before its thought was saved',
  reasoning_budget_warning: 'the budget is nearly spent',
  reasoning_budget_exceeded: 'the budget is spent',
});

/**
 * Listens until the function that is given back is called.
 * @param {Ears} ears
 */
export function listen(ears) {
  const source = new EventSource('/ui/api/events');
  source.addEventListener('open', () => ears.connected(true));
  source.addEventListener('error', () => {
    ears.connected(false);
    // The browser tries again unless the gateway refused: perhaps because the session ended.
    if (source.readyState !== EventSource.CLOSED) return;
    ask('me').catch((error) => { if (error instanceof SignedOut) location.reload(); });
  });
  source.addEventListener('message', ({ data }) => hear(ears, JSON.parse(data)));
  return () => source.close();
}

/** @param {Ears} ears @param {Event} event */
function hear(ears, event) {
  const { type, data } = event;
  const trace = data?.trace ?? '';
  if (type === 'events_lost') ears.lost(data.count);
  else if (trace === '') return;
  else if (type === 'request_started') ears.started(trace, event);
  else if (type === 'request_routed') ears.routed(trace, event);
  else if (type === 'phase') ears.phase(trace, data.phase, event);
  else if (type === 'thinking_delta') ears.thought(trace, data.delta, event);
  else if (type === 'thinking_end') ears.sealed(trace, data.sealed_bytes ?? 0, event);
  else if (type === 'text_delta') ears.answer(trace, data.delta, event);
  else if (type === 'thoughts_decided') ears.decided(trace, event);
  else if (type === 'upstream_failed') ears.note(trace, `${data.provider}: ${data.reason}`, event);
  else if (type in ENDS) ears.ended(trace, ENDS[type], event);
  else if (type in NOTES) ears.note(trace, NOTES[type], event);
}
