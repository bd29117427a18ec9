// Splits a message that thinks between <REASONING> tags into what is visible and what was thought.
//
// The rules are those of `think split`; `fixtures/delimiter.tsv` holds both to the same cases.

const OPEN = '<REASONING>';
const CLOSE = '</REASONING>';
/** White space around tags: Unicode's, and the byte order mark. */
const SPACE = /[\s\u0085]/u;
/** A longer run of backticks is no code. */
const LONGEST_RUN = 64;
/** The longest run that opens a span of code. */
const LONGEST_SPAN = 16;
/** Something else stands before on this line. */
const INLINE = 255;

/**
 * @typedef {{text: string, tokensEst: number}} Thought
 * @typedef {{visible: string, reasoning?: Thought}} Split
 * @typedef {{startsOpen?: boolean, thinkingOff?: boolean, compat?: boolean}} Options
 * @typedef {{kind: 'span', run: number, sure: boolean} | {kind: 'fence', mark: string, run: number, first: boolean, at: number}} Code
 */

/**
 * What is visible, and what was thought in the first block.
 * @param {string} text
 * @param {Options} [options]
 * @returns {Split}
 */
export function split(text, options = {}) {
  const { visible, thoughts } = halves(text, { ...options, staged: false });
  /** @type {Split} */
  const result = { visible: redacted(visible) };
  if (thoughts.length > 0) result.reasoning = thought(thoughts[0]);
  return result;
}

/**
 * What is visible, and every block that was thought.
 * @param {string} text
 * @param {Options} [options]
 * @returns {{visible: string, reasoning: Thought[]}}
 */
export function stages(text, options = {}) {
  const { visible, thoughts } = halves(text, { ...options, staged: true });
  return { visible: redacted(visible), reasoning: thoughts.map(thought) };
}

/**
 * A quarter of the UTF-16 units, rounded up; white space around the text does not count.
 * @param {string} text
 */
export function tokensEst(text) {
  return Math.ceil(text.trim().length / 4);
}

/** @param {string} text @returns {Thought} */
function thought(text) {
  const shown = redacted(text);
  return { text: shown, tokensEst: tokensEst(shown) };
}

/**
 * Redacted spans never come out. One without an end goes on to the end of the text: better too little than a secret.
 * @param {string} text
 */
export function redacted(text) {
  return text.replace(/<REDACTED>[^]*?(?:<\/REDACTED>|$)/gu, '[redacted]');
}

/** @param {string} text @param {Options & {staged: boolean}} options */
function halves(text, options) {
  if (options.thinkingOff) return { visible: text, thoughts: [] };
  return options.compat ? shipped(text, options) : new Scan(text, options).run();
}

/**
 * As the first parser of the convention did: the first closing tag wins.
 * @param {string} text @param {Options} options
 */
function shipped(text, options) {
  const open = options.startsOpen ? 0 : text.indexOf(OPEN);
  const begin = options.startsOpen ? 0 : open + OPEN.length;
  const close = text.indexOf(CLOSE);
  if (open < 0 || close < begin) return { visible: text, thoughts: [] };
  const sides = [text.slice(0, open).trim(), text.slice(close + CLOSE.length).trim()];
  return { visible: sides.filter((side) => side !== '').join('\n\n'), thoughts: [text.slice(begin, close).trim()] };
}

/** One way through a text. */
class Scan {
  /** @param {string} text @param {Options & {staged: boolean}} options */
  constructor(text, options) {
    this.text = text;
    this.staged = options.staged;
    this.at = 0;
    this.visible = new Visible();
    /** @type {string[]} */
    this.thoughts = [];
    this.inThought = options.startsOpen === true;
    this.implicit = this.inThought;
    this.opener = '';
    this.thoughtAt = 0;
    this.depth = 1;
    this.over = false;
    this.fenceLimit = Infinity;
    /** @type {Code | null} */
    this.code = null;
    this.indent = 0;
    /** Where the text began that was not given away yet. */
    this.from = 0;
  }

  restart() {
    this.code = null;
    this.indent = 0;
  }

  run() {
    do {
      while (this.at < this.text.length && !this.over) this.step();
    } while (this.again());
    if (this.inThought) this.visible.put(this.opener + this.text.slice(this.thoughtAt));
    else this.visible.put(this.text.slice(this.from));
    return { visible: this.visible.end(), thoughts: this.thoughts };
  }

  step() {
    const sign = this.text[this.at];
    if (sign === '<') {
      for (const tag of [OPEN, CLOSE]) {
        if (this.text.startsWith(tag, this.at) && this.counts(tag)) return this.take(tag);
      }
    }
    if (sign === '`' || sign === '~') return this.mark(sign);
    this.at += 1;
    if (sign === '\n') {
      this.indent = 0;
      if (this.code?.kind === 'span') this.code = null;
      else if (this.code) this.code.first = false;
    } else if (sign === ' ' && this.indent < 3) this.indent += 1;
    else this.indent = INLINE;
  }

  /**
   * Whether a tag here is one, and not code that speaks of it.
   * @param {string} tag
   */
  counts(tag) {
    if (this.code === null) return true;
    if (this.code.kind === 'fence' || this.code.sure) return false;
    // A span of code ends on its own line, or is none.
    const begin = this.at + tag.length;
    const end = this.text.indexOf('\n', begin);
    const line = this.text.slice(begin, end < 0 ? this.text.length : end);
    const { run } = this.code;
    if ([...line.matchAll(/`{1,64}/gu)].some((ticks) => ticks[0].length === run)) {
      this.code.sure = true;
      return false;
    }
    this.code = null;
    return true;
  }

  /** @param {string} tag */
  take(tag) {
    const before = this.at;
    this.at += tag.length;
    if (!this.inThought) {
      if (tag === CLOSE) return this.pass();
      this.visible.put(this.text.slice(this.from, before));
      [this.inThought, this.implicit, this.opener, this.depth] = [true, false, tag, 1];
      this.thoughtAt = this.at;
      return this.restart();
    }
    if (tag === OPEN) {
      if (this.implicit && blank(this.text.slice(this.thoughtAt, before))) {
        this.implicit = false;
        this.thoughtAt = this.at;
        return this.pass();
      }
      this.depth += 1;
      return this.pass();
    }
    this.depth -= 1;
    if (this.depth > 0) return this.pass();
    const inside = trimmed(this.text.slice(this.thoughtAt, before));
    if (inside !== '') this.thoughts.push(inside);
    this.visible.cut();
    this.inThought = false;
    this.from = this.at;
    this.over = !this.staged;
    return this.restart();
  }

  pass() {
    this.indent = INLINE;
  }

  /** @param {string} sign */
  mark(sign) {
    let run = 1;
    while (run < LONGEST_RUN && this.text[this.at + run] === sign) run += 1;
    const at = this.at;
    this.at += run;
    const next = this.text[this.at];
    const isTagged = next === '<';
    const isFree = next === undefined || /[ \t\n\f\r]/u.test(next);
    const startsLine = this.indent <= 3;
    this.indent = INLINE;
    const { code } = this;
    if (code === null) {
      if (startsLine && run >= 3 && !isTagged && at < this.fenceLimit) {
        this.code = { kind: 'fence', mark: sign, run, first: true, at };
      } else if (sign === '`' && run <= LONGEST_SPAN) this.code = { kind: 'span', run, sure: false };
    } else if (code.kind === 'span') {
      if (sign === '`' && run === code.run) this.code = null;
    } else if (code.first) {
      // A backtick in the line that opens a fence of backticks means that it was inline code after all.
      if (sign === '`' && code.mark === '`') {
        this.code = run === code.run ? null : { kind: 'span', run: code.run, sure: false };
      }
    } else if (sign === code.mark && startsLine && run >= code.run && (isFree || isTagged)) this.code = null;
  }

  /** A fence that opened inside the thought and never closed hid its end: the thought is read once more without it. */
  again() {
    if (!this.inThought || this.code?.kind !== 'fence') return false;
    this.fenceLimit = this.code.at;
    this.at = this.thoughtAt;
    this.depth = 1;
    this.restart();
    return true;
  }
}

/** The visible text: white space goes only where it touched tags, and two sides are joined by one line feed. */
class Visible {
  text = '';
  space = '';
  gap = false;

  /** @param {string} more */
  put(more) {
    const text = this.gap ? withoutLeading(more) : more;
    const body = withoutTrailing(text);
    if (body !== '') {
      if (this.gap && this.text !== '') this.text += '\n';
      this.gap = false;
      this.text += this.space + body;
      this.space = '';
    }
    this.space += text.slice(body.length);
  }

  /** A thought was taken out here. */
  cut() {
    this.space = '';
    this.gap = true;
  }

  end() {
    return this.text + this.space;
  }
}

/** @param {string} text */
function trimmed(text) {
  return withoutTrailing(withoutLeading(text));
}

/** @param {string} text */
function withoutLeading(text) {
  let begin = 0;
  while (begin < text.length && SPACE.test(text[begin])) begin += 1;
  return text.slice(begin);
}

/** @param {string} text */
function withoutTrailing(text) {
  let end = text.length;
  while (end > 0 && SPACE.test(text[end - 1])) end -= 1;
  return text.slice(0, end);
}

/** @param {string} text */
function blank(text) {
  return trimmed(text) === '';
}
