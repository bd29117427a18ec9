//! Masks a text as it comes.

use super::block::{self, Step};
use super::find::{self, Begins, Found, Open};
use super::lead::Places;
use super::rule::REGISTERED;
use super::tag::Tag;
use super::text::{More, Runs, Text};
use super::{BROKEN, Masker};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The size of the pieces that are searched at once, so that they are still in the cache when they are copied.
const PIECE: usize = 16 * 1024;
/// The number of bytes that stay after they were written, because rules look at the text before a secret.
const BEHIND: usize = 96;
/// Written bytes are dropped from the buffer when there are this many.
const DROPPED: usize = 4 * 1024;

/// Masks a text as it comes, with bounded memory. Use one stream for each text, also for texts that come at the same
/// time.
///
/// The output is the same for every way to cut a text, and written output is never retracted. If masking breaks, the
/// output is [`BROKEN`] in place of the rest of the text, until the text ends.
pub struct MaskStream {
    masker: Masker,
    buffer: Vec<u8>,
    /// How much of the buffer was written.
    said: usize,
    /// The start of the part that was not searched yet.
    seen: usize,
    /// The end of the last placeholder that the text contained.
    glue: Option<usize>,
    /// The secrets that were found and not written yet, in the order of the output.
    spans: Vec<Span>,
    /// How many of these spans are still open. A text may hold many secrets, of which hardly any is open.
    open: usize,
    /// For each rule the end of its last secret: no other secret of that rule begins inside of it.
    until: Vec<usize>,
    counts: Vec<u64>,
    /// Whether masking broke within this text.
    is_broken: bool,
}

struct Span {
    rule: usize,
    tier: u8,
    from: usize,
    to: usize,
    open: Open,
    sum: Sum,
}

enum Sum {
    Done(Tag),
    Going(Box<blake3::Hasher>),
}

impl MaskStream {
    pub(super) fn new(masker: Masker) -> Self {
        let rules = masker.rules.rules.len();
        MaskStream {
            masker,
            buffer: Vec::new(),
            said: 0,
            seen: 0,
            glue: None,
            spans: Vec::new(),
            open: 0,
            until: vec![0; rules],
            counts: vec![0; rules],
            is_broken: false,
        }
    }

    /// Takes the next bytes and writes the certain part.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.carefully(out, |stream, out| {
            for piece in bytes.chunks(PIECE) {
                stream.buffer.extend_from_slice(piece);
                stream.work(false, out);
            }
        });
    }

    /// Ends the text: writes the held bytes. Bytes that are pushed later belong to another text.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        self.carefully(out, |stream, out| stream.work(true, out));
        self.forget();
        self.is_broken = false;
    }

    /// Clears the state of the current text.
    fn forget(&mut self) {
        self.buffer.clear();
        self.spans.clear();
        self.until.fill(0);
        (self.said, self.seen, self.glue, self.open) = (0, 0, None, 0);
    }

    /// Catches a panic of the masker: it must neither end the calling thread nor let text out, so the output of this
    /// call is replaced by [`BROKEN`].
    fn carefully(&mut self, out: &mut Vec<u8>, work: impl FnOnce(&mut Self, &mut Vec<u8>)) {
        if self.is_broken {
            return;
        }
        let before = out.len();
        if catch_unwind(AssertUnwindSafe(|| work(&mut *self, &mut *out))).is_err() {
            self.is_broken = true;
            self.forget();
            out.truncate(before);
            out.extend_from_slice(BROKEN.as_bytes());
        }
    }

    /// Writes the held bytes that cannot be part of a secret, whatever follows: for a caller that shows a text while
    /// it comes and has waited long enough. The output of a flushed text may depend on its cuts: if a secret follows,
    /// its public beginning, such as `ghp_`, is out. The secret itself is covered all the same.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        if self.spans.is_empty() && self.held() > 0 && self.is_public() {
            out.extend_from_slice(self.buffer.get(self.said..).unwrap_or_default());
            self.said = self.buffer.len();
        }
    }

    /// How many bytes are held back.
    #[must_use]
    pub fn held(&self) -> usize {
        self.buffer.len().saturating_sub(self.said)
    }

    /// How often each rule covered something, by the rule's id; rules that never did are left out.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        let rules = self.masker.rules.rules.iter().map(|rule| rule.id.as_str());
        rules.zip(self.counts.iter().copied()).filter(|(_, count)| *count > 0)
    }

    /// Whether all held bytes are the beginning of some rule's fixed text. The beginning of a registered value is not
    /// public.
    fn is_public(&self) -> bool {
        // Any word may become an address.
        if !self.masker.rules.personal.is_empty() {
            return false;
        }
        // A lead is secret as a whole.
        let text = Text::begun(&self.buffer);
        let mut places = Places::default();
        let mut at = places.next(&self.masker, text, self.seen);
        while at < text.len() {
            if places.is_lead(at) && self.masker.rules.leads.earliest(text, at) < text.len() {
                return false;
            }
            at = places.next(&self.masker, text, at + 1);
        }
        let held = self.buffer.get(self.seen..).unwrap_or_default();
        let all = self.masker.rules.filter.at(held);
        let mut fitting = all.filter(|anchor| {
            let both = anchor.literal.iter().zip(held);
            both.clone().all(|(one, other)| *one == other.to_ascii_lowercase() || one == other)
        });
        fitting.all(|anchor| anchor.rule != REGISTERED && anchor.literal.len() > held.len())
    }

    fn work(&mut self, is_whole: bool, out: &mut Vec<u8>) {
        if let Some(text) = self.masker.breaks {
            let is_there = memchr::memmem::find(&self.buffer, text.as_bytes()).is_some();
            assert!(!is_there, "a test wants the masker to break here");
        }
        let buffer = std::mem::take(&mut self.buffer);
        let runs = Runs::new();
        let text = if is_whole { Text::whole(&buffer) } else { Text::begun(&buffer) };
        let text = text.remembering(&runs);
        self.grow(text);
        self.look(text);
        let free = self.free(text);
        self.buffer = buffer;
        self.say(free, out);
        self.drop_said();
    }

    /// Searches the new positions, up to the first position whose result depends on coming text.
    fn look(&mut self, text: Text<'_>) {
        let masker = self.masker.clone();
        let mut begins = Vec::new();
        let mut places = Places::default();
        while self.seen < text.len() {
            let at = places.next(&masker, text, self.seen);
            self.seen = at;
            // Whether it is inside of a secret that goes on may not be known yet.
            let is_open = |span: &Span| span.open != Open::Closed && span.to <= at;
            if at >= text.len() || (self.open > 0 && self.spans.iter().any(is_open)) {
                break;
            }
            begins.clear();
            let until = &self.until;
            let glued = self.glue == Some(at);
            let is_done = |rule: usize| {
                until.get(rule).is_some_and(|until| rule != REGISTERED && at < *until)
                    || (glued && rule != find::PLACEHOLDER && rule != REGISTERED)
            };
            let mut found = find::at(&masker, text, at, &is_done, &mut begins);
            if found.is_ok() && places.is_lead(at) {
                found = find::leads(&masker, text, at, &is_done, &mut begins);
            }
            if found == Err(More) {
                break;
            }
            self.seen = at + 1;
            for begin in begins.drain(..) {
                match begin {
                    Begins::Placeholder(end) => (self.seen, self.glue) = (end, Some(end)),
                    Begins::Secret(found) => self.add(&found, text),
                }
            }
        }
    }

    /// Returns the position before which no secret begins, although some of that text was not searched yet.
    fn free(&self, text: Text<'_>) -> usize {
        let (mut at, mut free) = (self.seen, text.len());
        if text.is_whole() || self.open > 0 {
            return at;
        }
        let mut places = Places::default();
        at = places.next(&self.masker, text, at);
        while at < free {
            free = free.min(find::earliest(&self.masker, text, at));
            if places.is_lead(at) {
                free = free.min(self.masker.rules.leads.earliest(text, at));
            }
            at = places.next(&self.masker, text, at + 1);
        }
        free
    }

    fn add(&mut self, found: &Found, text: Text<'_>) {
        let Found { rule, from, to, open, tag } = *found;
        if let Some(until) = self.until.get_mut(rule) {
            *until = if open == Open::Closed { to } else { usize::MAX };
        }
        let secret = text.part(from, to);
        let sum = match (tag, open) {
            (Some(tag), _) => Sum::Done(tag),
            (None, Open::Closed) => Sum::Done(self.masker.key.tag(secret)),
            (None, _) => {
                let mut digest = Box::new(self.masker.key.digest());
                digest.update(secret);
                Sum::Going(digest)
            }
        };
        let tier = self.masker.rules.rules.get(rule).map_or(0, |rule| rule.tier);
        let order = |span: &Span| (span.from, span.tier, usize::MAX - span.to, span.rule);
        let span = Span { rule, tier, from, to, open, sum };
        let place = self.spans.partition_point(|known| order(known) <= order(&span));
        self.spans.insert(place, span);
        self.open += usize::from(open != Open::Closed);
        self.grow(text);
    }

    /// Extends open secrets over the bytes that belong to them.
    fn grow(&mut self, text: Text<'_>) {
        if self.open == 0 {
            return;
        }
        for span in self.spans.iter_mut().filter(|span| span.open != Open::Closed) {
            let start = span.to;
            match span.open {
                Open::Closed => {}
                Open::Set(set) => {
                    let rest = text.part(span.to, text.len());
                    let length = rest.iter().take_while(|byte| set.has(**byte)).count();
                    span.to += length;
                    if length < rest.len() || text.is_whole() {
                        span.open = Open::Closed;
                    }
                }
                Open::Block(lead) => loop {
                    match block::step(text, span.to, lead) {
                        Ok(Step::On(to)) if to > span.to => span.to = to,
                        Ok(Step::On(to) | Step::Done(to)) => {
                            span.to = to;
                            span.open = Open::Closed;
                            break;
                        }
                        Err(More) => break,
                    }
                },
            }
            if let Sum::Going(digest) = &mut span.sum {
                digest.update(text.part(start, span.to));
            }
            if span.open == Open::Closed {
                self.open -= 1;
                if let Some(until) = self.until.get_mut(span.rule) {
                    *until = span.to;
                }
            }
        }
    }

    /// Writes the certain part: placeholders, and text up to the first uncertain position, which is not before
    /// `free`.
    fn say(&mut self, free: usize, out: &mut Vec<u8>) {
        let mut done = 0;
        for span in &self.spans {
            if span.from >= self.seen || span.open != Open::Closed {
                break;
            }
            done += 1;
            if span.to <= self.said {
                continue;
            }
            if span.from > self.said {
                out.extend_from_slice(self.buffer.get(self.said..span.from).unwrap_or_default());
            }
            let tag = match &span.sum {
                Sum::Done(tag) => *tag,
                Sum::Going(digest) => Tag::of(&digest.finalize()),
            };
            if let Some(rule) = self.masker.rules.rules.get(span.rule) {
                tag.write(&rule.id, out);
            }
            if let Some(count) = self.counts.get_mut(span.rule) {
                *count += 1;
            }
            self.said = span.to;
        }
        self.spans.drain(..done);
        let end = self.spans.first().map_or(free, |span| span.from.min(free));
        if end > self.said {
            out.extend_from_slice(self.buffer.get(self.said..end).unwrap_or_default());
            self.said = end;
        }
        // Secrets inside of an open secret are dropped, because its placeholder covers them.
        if let Some(Span { to, open: Open::Set(_) | Open::Block(_), from, .. }) = self.spans.first()
        {
            let (from, to) = (*from, *to);
            self.spans.retain(|span| span.open != Open::Closed || span.to > to || span.from < from);
        }
    }

    /// Drops bytes of the buffer that are not needed any more.
    fn drop_said(&mut self) {
        let mut keep = self.seen.min(self.buffer.len());
        let open = self.spans.first().is_some_and(|span| span.open != Open::Closed);
        if !open {
            keep = keep.min(self.said);
        }
        for span in self.spans.iter().filter(|span| span.open != Open::Closed) {
            keep = keep.min(span.to);
        }
        let keep = keep.saturating_sub(BEHIND);
        if keep < DROPPED {
            return;
        }
        self.buffer.drain(..keep);
        self.said = self.said.saturating_sub(keep);
        self.seen -= keep;
        self.glue = self.glue.and_then(|glue| glue.checked_sub(keep));
        for until in &mut self.until {
            *until = if *until == usize::MAX { usize::MAX } else { until.saturating_sub(keep) };
        }
        for span in &mut self.spans {
            span.from = span.from.saturating_sub(keep);
            span.to = span.to.saturating_sub(keep);
        }
    }
}

/// Leaves the text out.
impl std::fmt::Debug for MaskStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MaskStream({} bytes held back)", self.held())
    }
}
