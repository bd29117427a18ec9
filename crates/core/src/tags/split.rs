//! Splits a finished text into visible text and thoughts.

use super::family::Role;
use super::parts::{Part, Parts};
use super::piece::End;
use super::redacted::redacted;
use super::scanner::{Options, Start, TagScanner};
use super::spec::TagSpec;
use crate::json::Writer;

/// How to split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitOptions {
    /// The tags to look for.
    pub tags: TagSpec,
    /// The state at the beginning of the message.
    pub start: Start,
    /// The request had thinking switched off.
    pub thinking_off: bool,
    /// Give every top-level block by itself.
    pub staged: bool,
    /// Do as the parser did that the `<REASONING>` convention was shipped with: the first closing tag wins, the text
    /// on both sides is trimmed and joined with a blank line, and an empty block is a thought.
    pub compat: bool,
}

impl SplitOptions {
    /// The plain rules for these tags.
    #[must_use]
    pub fn new(tags: TagSpec) -> Self {
        Self { tags, start: Start::Family, thinking_off: false, staged: false, compat: false }
    }
}

/// Both halves of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The visible text.
    pub visible: String,
    /// The thoughts.
    pub reasoning: Reasoning,
}

/// The thoughts of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reasoning {
    /// One thought, if there was any.
    One(Option<Thought>),
    /// Block by block.
    Staged(Vec<Thought>),
}

/// A thought and its estimated cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thought {
    /// The text of the thought.
    pub text: String,
    /// A quarter of its length in UTF-16 units, rounded up. White space around it does not count.
    pub tokens_est: usize,
}

/// Splits `text`. Spans in `<REDACTED>` come out as `[redacted]` on both sides.
///
/// ```
/// use thinkthrough_core::tags::{SplitOptions, TagSpec, split};
/// let options = SplitOptions::new(TagSpec::named("reasoning").expect("a known family"));
/// let halves = split("<REASONING>\nTwo steps.\n</REASONING>\nDone.", &options);
/// assert_eq!(halves.to_json(), r#"{"visible":"Done.","reasoning":{"text":"Two steps.","tokensEst":3}}"#);
/// ```
#[must_use]
pub fn split(text: &str, options: &SplitOptions) -> Split {
    let (visible, thoughts) = if options.compat && !options.thinking_off {
        compat(text, options)
    } else {
        scan(text, options)
    };
    let mut thoughts = thoughts.iter().map(|thought| redacted(thought).into_owned());
    let reasoning = if options.staged {
        Reasoning::Staged(thoughts.map(Thought::new).collect())
    } else {
        // Separate thoughts that go into one field are joined with one line feed.
        let joined = thoughts.next().map(|first| {
            thoughts.fold(first, |mut all, next| {
                all.push('\n');
                all.push_str(&next);
                all
            })
        });
        Reasoning::One(joined.map(Thought::new))
    };
    Split { visible: redacted(&visible).into_owned(), reasoning }
}

impl Split {
    /// `{"visible","reasoning"?:{"text","tokensEst"}}`, with an array of such objects if the split is staged.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut writer = Writer::new();
        writer.object(|w| {
            w.field_str("visible", &self.visible);
            match &self.reasoning {
                Reasoning::One(None) => {}
                Reasoning::One(Some(thought)) => {
                    w.key("reasoning");
                    thought.write(w);
                }
                Reasoning::Staged(thoughts) => w.key("reasoning").array(|w| {
                    for thought in thoughts {
                        thought.write(w);
                    }
                }),
            }
        });
        writer.finish()
    }
}

impl Thought {
    fn new(text: String) -> Self {
        let units = trim(&text).encode_utf16().count();
        Self { text, tokens_est: units.div_ceil(4) }
    }

    fn write(&self, writer: &mut Writer) {
        writer.object(|w| {
            w.field_str("text", &self.text);
            w.field_u64("tokensEst", u64::try_from(self.tokens_est).unwrap_or(u64::MAX));
        });
    }
}

fn scan(text: &str, options: &SplitOptions) -> (String, Vec<String>) {
    let scan = Options {
        start: options.start,
        thinking_off: options.thinking_off,
        every_block: options.staged,
    };
    let mut scanner = TagScanner::new(&options.tags, scan);
    let mut parts = Parts::new(options.tags.joined());
    scanner.push(text, &mut |piece| parts.push(piece));
    scanner.end(End::Clean, &mut |piece| parts.push(piece));
    let mut visible = String::new();
    let mut thoughts = Vec::new();
    for part in parts.finish() {
        match part {
            Part::Text(text) => visible.push_str(&text),
            Part::Thinking { thought, .. } => thoughts.push(thought),
        }
    }
    (visible, thoughts)
}

fn compat(text: &str, options: &SplitOptions) -> (String, Vec<String>) {
    let all_visible = || (text.to_owned(), Vec::new());
    let (Some(open), Some(close)) =
        (options.tags.first(Role::Open), options.tags.first(Role::Close))
    else {
        return all_visible();
    };
    let begun =
        if options.start == Start::Thought { Some(("", text)) } else { text.split_once(open) };
    let (Some((before, after_open)), Some((until_close, after))) = (begun, text.split_once(close))
    else {
        return all_visible();
    };
    // The block is whole only if the first closing tag follows the opening one.
    let begin = text.len() - after_open.len();
    let Some(thought) = until_close.get(begin..) else { return all_visible() };
    let sides = [trim(before), trim(after)];
    let visible: Vec<&str> = sides.into_iter().filter(|side| !side.is_empty()).collect();
    (visible.join("\n\n"), vec![trim(thought).to_owned()])
}

/// Trims as JavaScript does: all of Unicode's white space and the byte order mark, but not U+0085.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}')
}
