// Sums over time, drawn by hand: bars on a grid, with the same numbers as a table for whoever does not see them.

import { empty, figure, h, lasted, number, short, svg } from './elements.js';
import { ask } from './server.js';

const HOUR = 3_600_000;
const RANGES = /** @type {[string, string, number, number][]} */ ([
  ['hour', 'Hour', HOUR, 2 * 60_000], ['day', 'Day', 24 * HOUR, HOUR], ['week', 'Week', 7 * 24 * HOUR, 6 * HOUR], ['month', 'Month', 30 * 24 * HOUR, 24 * HOUR],
]);
const WIDTH = 640;
const HEIGHT = 200;
const LEFT = 46;
const BOTTOM = 22;
const SERIES = 6;

/** @typedef {Record<string, any>} Sum @typedef {{name: string, values: number[]}} Series */

/** @param {HTMLElement} main @param {URLSearchParams} query */
export async function charts(main, query) {
  const [range, , span, bucket] = RANGES.find(([name]) => name === query.get('range')) ?? RANGES[1];
  const by = ['model', 'provider', 'tenant', 'client'].includes(query.get('by') ?? '') ? String(query.get('by')) : 'model';
  const until = Math.ceil(Date.now() / bucket) * bucket;
  const since = until - span;
  const tab = (/** @type {string} */ name, /** @type {string} */ text, /** @type {string} */ value, /** @type {string} */ now) => {
    const next = new URLSearchParams({ range, by, [name]: value });
    return h('a', { href: `#/charts?${next}`, 'aria-current': value === now && 'true' }, text);
  };
  main.append(h('div', { class: 'title' }, h('h1', {}, 'Charts'),
    h('nav', { class: 'tabs', 'aria-label': 'Range' }, RANGES.map(([name, text]) => tab('range', text, name, range))),
    h('nav', { class: 'tabs', 'aria-label': 'By' }, [['model', 'Model'], ['provider', 'Provider'], ['client', 'Client'], ['tenant', 'Key']].map(([value, text]) => tab('by', text, value, by)))));
  const { sums } = await ask('sums', { since, bucket });
  if (sums.length === 0) {
    main.append(empty('Nothing in this time', 'Each request counts here as soon as its trace is written.'));
    return;
  }
  const times = Array.from({ length: Math.round(span / bucket) }, (_, at) => since + at * bucket);
  const total = (/** @type {string} */ name) => sums.reduce((/** @type {number} */ all, /** @type {Sum} */ it) => all + it[name], 0);
  const requests = total('requests');
  main.append(h('dl', { class: 'figures' },
    figure('Requests', number(requests)), figure('Cut or failed', number(total('failed'))), figure('Thought tokens', short(total('reasoning'))),
    figure('Tokens in all', short(total('total'))),
    figure('Cost', total('costed') > 0 ? dollars(total('cost')) : 'unknown', `Of ${number(total('costed'))} of these requests the price and the tokens are known.`),
    figure('From cache', short(total('cached')), 'Input tokens that providers had at hand.'),
    figure('Saved by restoring', short(total('cached_restored')), 'Of the tokens from the cache those of requests into which thoughts were put back. Without them a provider sees another beginning from the first lost thought on; so much is saved at most.'),
    figure('On average', lasted(total('duration') / Math.max(1, requests)))),
  h('div', { class: 'charts' },
    chart('Tokens of thoughts', times, bucket, grouped(sums, times, by, 'reasoning')),
    chart('Cost in dollars', times, bucket, grouped(sums, times, by, 'cost', 1e-6)),
    chart('Requests', times, bucket, grouped(sums, times, by, 'requests')),
    chart('What became of lost thoughts', times, bucket, ['restored', 'missed', 'ambiguous', 'dropped'].map((name) => series(name, sums, times, (it) => it[name]))),
    chart('Input tokens', times, bucket, [series('from cache, with thoughts put back', sums, times, (it) => it.cached_restored), series('from cache', sums, times, (it) => it.cached - it.cached_restored), series('anew', sums, times, (it) => Math.max(0, it.input - it.cached))]),
    chart('Tokens in all', times, bucket, grouped(sums, times, by, 'total')),
    chart('Seconds per request', times, bucket, averages(sums, times, by), false)));
}

/** @param {number} micros */
function dollars(micros) {
  return `$${(micros / 1e6).toFixed(micros < 1e6 ? 4 : 2)}`;
}

/** @param {string} name @param {Sum[]} sums @param {number[]} times @param {(sum: Sum) => number} of @returns {Series} */
function series(name, sums, times, of) {
  const at = new Map(times.map((time, index) => [time, index]));
  const values = times.map(() => 0);
  for (const sum of sums) {
    const index = at.get(sum.at);
    if (index !== undefined) values[index] += of(sum);
  }
  return { name, values };
}

/** What one request took on average, by name. @param {Sum[]} sums @param {number[]} times @param {string} by @returns {Series[]} */
function averages(sums, times, by) {
  const counts = new Map(grouped(sums, times, by, 'requests').map((it) => [it.name, it.values]));
  const all = grouped(sums, times, by, 'duration', 1e-3, [...counts.keys()]);
  return all.map(({ name, values }) => ({ name, values: values.map((value, at) => value / Math.max(1, counts.get(name)?.[at] ?? 1)) }));
}

/**
 * The greatest by name, and all others as one.
 * @param {Sum[]} sums @param {number[]} times @param {string} by @param {string} of @param {number} [unit] @param {string[]} [known]
 */
function grouped(sums, times, by, of, unit = 1, known) {
  /** @type {Map<string, number>} */
  const sizes = new Map();
  for (const sum of sums) sizes.set(sum[by], (sizes.get(sum[by]) ?? 0) + sum[of]);
  const names = [...sizes].sort((one, other) => other[1] - one[1]).map(([name]) => name);
  const first = known ? names.filter((name) => known.includes(name || 'not known')) : names.slice(0, names.length > SERIES ? SERIES - 1 : SERIES);
  const list = first.map((name) => series(name || 'not known', sums.filter((it) => it[by] === name), times, (it) => it[of] * unit));
  const rest = sums.filter((it) => !first.includes(it[by]));
  return rest.length > 0 ? [...list, series('others', rest, times, (it) => it[of] * unit)] : list;
}

/**
 * Bars, one on top of the other where they add up, else side by side.
 * @param {string} title @param {number[]} times @param {number} bucket @param {Series[]} list
 */
function chart(title, times, bucket, list, isSum = true) {
  const sums = times.map((_, at) => list.reduce((all, it) => (isSum ? all + it.values[at] : Math.max(all, it.values[at])), 0));
  const top = nice(Math.max(...sums, 0));
  const y = (/** @type {number} */ value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - 12);
  const step = (WIDTH - LEFT) / times.length;
  const lines = [0, top / 2, top].flatMap((value) => [
    svg('line', { x1: LEFT, x2: WIDTH, y1: y(value), y2: y(value), class: 'grid' }),
    svg('text', { x: LEFT - 7, y: y(value) + 4, 'text-anchor': 'end' }, short(value))]);
  const bars = times.map((_, at) => {
    let from = 0;
    return svg('g', {}, list.map((it, index) => {
      const value = it.values[at];
      if (value <= 0) return null;
      const width = (step * 0.76) / (isSum ? 1 : list.length);
      const x = LEFT + at * step + step * 0.12 + (isSum ? 0 : index * width);
      const bar = svg('rect', { x, width, y: y(from + value), height: y(from) - y(from + value), rx: Math.min(2, width / 4), class: `series-${index}` });
      if (isSum) from += value;
      return bar;
    }), svg('title', {}, `${label(times[at], bucket)}: ${list.filter((it) => it.values[at] > 0).map((it) => `${it.name} ${number(round(it.values[at]))}`).join(', ') || 'nothing'}`),
    svg('rect', { x: LEFT + at * step, width: step, y: 0, height: HEIGHT - BOTTOM, class: 'hit' }));
  });
  const marks = [0, Math.floor(times.length / 2), times.length - 1].map((at, index) =>
    svg('text', { x: LEFT + (at + 0.5) * step, y: HEIGHT - 5, 'text-anchor': ['start', 'middle', 'end'][index] }, label(times[at], bucket)));
  const isEmpty = sums.every((value) => value === 0);
  return h('figure', { class: 'chart' }, h('figcaption', {}, title),
    isEmpty ? h('p', { class: 'none' }, 'None in this time.')
      : svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${title}, over time; the table below has the numbers` }, lines, bars, marks),
    !isEmpty && h('ul', { class: 'legend' }, list.filter((it) => it.values.some((value) => value > 0)).map((it) => h('li', { 'data-series': list.indexOf(it) }, it.name))),
    !isEmpty && h('details', {}, h('summary', {}, 'As a table'), h('div', { class: 'scrolls', tabindex: 0, role: 'region', 'aria-label': title }, h('table', {},
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'From'), list.map((it) => h('th', { scope: 'col' }, it.name)))),
      h('tbody', {}, times.flatMap((time, at) => (sums[at] === 0 ? [] : [h('tr', {}, h('th', { scope: 'row' }, label(time, bucket)), list.map((it) => h('td', {}, number(round(it.values[at])))))])))))));
}

/** @param {number} value */
function round(value) {
  return value < 0.1 ? Number(value.toPrecision(2)) : value < 10 ? Math.round(value * 100) / 100 : Math.round(value);
}

/** The next round number. @param {number} value */
function nice(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 8, 10].map((it) => it * power).find((it) => it >= value) ?? value;
}

/** @param {number} time @param {number} bucket */
function label(time, bucket) {
  const text = new Date(time).toLocaleString('sv');
  return bucket >= 24 * HOUR ? text.slice(5, 10) : bucket >= 6 * HOUR ? text.slice(5, 16) : text.slice(11, 16);
}
