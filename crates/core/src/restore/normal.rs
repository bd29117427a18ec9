//! The normal form of visible content: clients re-encode the messages that they keep, without changing their meaning.
//!
//! - Text: the white space at the ends of lines and of the whole text, and the kind of line ends, do not count.
//!   Copies of the thought that a client shows at the head of an answer (`<think>`, `<thinking>`, `<details>`) do not
//!   count. Absent, `null` and empty content are one.
//! - Arguments of calls and other JSON: white space, the order of members, repeated members before the last, and the
//!   spelling of strings and numbers do not count.
//! - Results: a string and a list of texts are equal if their text is equal.
//! - Cache markers, names, ids, roles and all members without a neutral form do not count.
//!
//! The digest reads the parts in place; only data that must be sorted is copied.

use super::clock::without_clock;
use super::key::{Digest, Key, Of, Secret, Version};
use crate::content::{
    Block, Content, Media, MediaSource, Parameters, ToolCall, ToolResponse, ToolResult,
};
use crate::json::{Kind, Val};
use crate::request::Tool;

/// The digests of one tenant in one version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Normal<'s> {
    pub(super) secret: &'s Secret,
    pub(super) version: Version,
}

impl Normal<'_> {
    pub(super) fn digest(&self, of: Of) -> Digest {
        Digest::new(self.secret, self.version, of)
    }

    /// The digest of a message of a person, a program or the system.
    pub(super) fn said(&self, content: &Content) -> Key {
        let mut digest = self.digest(Of::Piece);
        digest.tag(content.speaker as u8);
        self.blocks(&mut digest, &content.blocks);
        digest.finish()
    }

    fn blocks(&self, digest: &mut Digest, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Text(text) => {
                    digest.tag(b't');
                    lines(digest, &text.text);
                }
                Block::Media(media) => self.media(digest, media),
                Block::Other(other) => {
                    digest.tag(b'o').part(other.kind.as_bytes());
                    let doc = other.raw.doc();
                    json(digest, doc.root(), true);
                }
                Block::ToolResponse(response) => {
                    digest.tag(b'r').key(&self.result(response));
                }
                Block::ToolCall(call) => {
                    digest.tag(b'c').key(&self.call(call));
                }
                Block::Thinking(_) => {}
            }
        }
    }

    /// The visible text of an answer without a copy of its thought; `None` if it is empty.
    pub(super) fn answer(&self, text: &str) -> Option<Key> {
        let text = display_copy(text).map_or(text, |(_, rest)| rest);
        if text.trim().is_empty() {
            return None;
        }
        let mut digest = self.digest(Of::Piece);
        digest.tag(b'a');
        lines(&mut digest, text);
        Some(digest.finish())
    }

    /// The words of a thought, for comparison with a copy that a client shows; `None` if it has none.
    pub(super) fn words(&self, thought: &str) -> Option<Key> {
        let words = copied_words(thought);
        (!words.is_empty()).then(|| self.digest(Of::Words).part(words.as_bytes()).finish())
    }

    /// The words of the copy at the head of a text.
    pub(super) fn copy(&self, text: &str) -> Option<Key> {
        display_copy(text).and_then(|(copy, _)| self.words(copy))
    }

    /// The digest of a system message: its words, including words about the time only with `says_when`.
    pub(super) fn instructed(&self, system: &Content, says_when: bool) -> Key {
        let mut digest = self.digest(Of::System);
        for block in &system.blocks {
            match block {
                Block::Text(text) if says_when => {
                    for word in text.text.split_whitespace() {
                        digest.part(word.as_bytes());
                    }
                }
                Block::Text(text) => {
                    for word in without_clock(&text.text) {
                        digest.part(word.as_bytes());
                    }
                }
                Block::Media(_)
                | Block::Other(_)
                | Block::Thinking(_)
                | Block::ToolCall(_)
                | Block::ToolResponse(_) => {
                    digest.key(&self.said(system));
                }
            }
        }
        digest.finish()
    }

    /// Name and arguments of a call; ids are for [`super::ids`].
    pub(super) fn call(&self, call: &ToolCall) -> Key {
        let mut digest = self.digest(Of::Piece);
        digest.tag(b'c').part(call.name.as_bytes());
        match &call.parameters {
            Parameters::Json(raw) => {
                let doc = raw.doc();
                json(&mut digest, doc.root(), false);
            }
            Parameters::Free(text) => {
                digest.tag(b'f').part(text.as_bytes());
            }
            Parameters::Invalid(text) => {
                digest.tag(b'i').part(text.trim().as_bytes());
            }
        }
        digest.finish()
    }

    /// The digest of a tool's result.
    pub(super) fn result(&self, response: &ToolResponse) -> Key {
        let mut digest = self.digest(Of::Piece);
        digest.tag(b'r');
        match &response.result {
            ToolResult::Blocks(blocks) => match texts_of(blocks) {
                Some(text) => lines(digest.tag(b't'), &text),
                None => self.blocks(digest.tag(b'b'), blocks),
            },
            ToolResult::Value(value) => {
                let doc = value.doc();
                match texts(doc.root()) {
                    Some(text) => lines(digest.tag(b't'), &text),
                    None => json(&mut digest, doc.root(), true),
                }
            }
        }
        digest.finish()
    }

    pub(super) fn tools(&self, tools: &[Tool]) -> Key {
        let mut digest = self.digest(Of::Tools);
        for tool in tools {
            match tool {
                Tool::Function { name, description, parameters, extra: _ } => {
                    digest.tag(b'f').part(name.as_bytes());
                    lines(&mut digest, description.as_deref().unwrap_or_default());
                    if let Some(parameters) = parameters {
                        let doc = parameters.doc();
                        json(&mut digest, doc.root(), true);
                    }
                }
                Tool::Other { wire, raw } => {
                    digest.tag(b'o').part(wire.as_bytes());
                    let doc = raw.doc();
                    json(&mut digest, doc.root(), true);
                }
            }
        }
        digest.finish()
    }

    fn media(&self, digest: &mut Digest, media: &Media) {
        match &media.source {
            MediaSource::Data(data) => digest.tag(b'd').part(data.as_bytes()),
            MediaSource::Url(url) => digest.tag(b'u').part(url.as_bytes()),
        };
    }
}

/// The lines of a text without the white space at their ends, and without blank lines at its own.
fn lines(digest: &mut Digest, text: &str) {
    let text = text.trim();
    let ends = || memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    let count = if text.is_empty() { 0 } else { ends().count() };
    // The number of lines comes first, so that later parts are never taken for a line.
    digest.part(&(count as u64).to_le_bytes());
    let mut start = 0;
    for end in ends().take(count) {
        let line = text.get(start..end).unwrap_or_default();
        digest.part(line.trim_end().as_bytes());
        start = end + 1;
    }
}

/// The copy of a thought that a client shows at the head of a text, and the text behind it. The copy is in tags, in
/// tags with escaped brackets, or in quoted lines.
pub(super) fn display_copy(text: &str) -> Option<(&str, &str)> {
    const TAGS: [(&str, &str); 4] = [
        ("<think>", "</think>"),
        ("<thinking>", "</thinking>"),
        ("<details", "</details>"),
        ("&lt;think&gt;", "&lt;/think&gt;"),
    ];
    let trimmed = text.trim_start();
    let inside = |(open, close): &(&str, &str)| {
        trimmed.strip_prefix(open).and_then(|inside| inside.split_once(close))
    };
    TAGS.iter().find_map(inside).or_else(|| quoted(trimmed))
}

fn quoted(trimmed: &str) -> Option<(&str, &str)> {
    let lines = trimmed.split_inclusive('\n').take_while(|line| line.starts_with('>'));
    let end: usize = lines.map(str::len).sum();
    if end == 0 { None } else { trimmed.split_at_checked(end) }
}

/// The words of a thought or of a copy of one, without the marks of a copy.
pub(super) fn copied_words(copy: &str) -> String {
    // Removes the rest of the tag `<details open>`, and its summary.
    let inside = match copy.split_once('>') {
        Some((attributes, rest)) if attributes.is_empty() || attributes.starts_with(' ') => {
            if attributes.contains('\n') {
                copy
            } else {
                rest
            }
        }
        _ => copy,
    };
    let inside = inside.trim_start();
    let summary = inside.strip_prefix("<summary>").and_then(|rest| rest.split_once("</summary>"));
    let inside = summary.map_or(inside, |(_, rest)| rest);
    let mut words = String::with_capacity(inside.len());
    for line in inside.lines() {
        let line = line.trim_start_matches(['>', ' ', '\t']);
        for word in line.split_whitespace() {
            words.push_str(word);
            words.push(' ');
        }
    }
    for (escaped, plain) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
    {
        if words.contains(escaped) {
            words = words.replace(escaped, plain);
        }
    }
    words
}

/// The text of blocks that are all texts.
fn texts_of(blocks: &[Block]) -> Option<String> {
    let text = |block: &Block| match block {
        Block::Text(text) => Some(text.text.clone()),
        _ => None,
    };
    blocks.iter().map(text).collect()
}

/// The text of a string, or of a list of text parts only.
fn texts(value: Val<'_>) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.into_owned());
    }
    if value.is_null() {
        return Some(String::new());
    }
    let is_text = |kind: &str| matches!(kind, "text" | "input_text" | "output_text");
    let parts = value.is_array().then(|| value.items())?;
    parts
        .map(|part| {
            part.text("text").filter(|_| part.text("type").is_some_and(|kind| is_text(&kind)))
        })
        .collect()
}

/// JSON, independent of its spelling. `is_marked`: cache markers do not count either.
fn json(digest: &mut Digest, value: Val<'_>, is_marked: bool) {
    match value.kind() {
        Kind::Null => {
            digest.tag(b'0');
        }
        Kind::Bool => {
            digest.tag(if value.as_bool() == Some(true) { b'1' } else { b'2' });
        }
        Kind::Number => {
            digest.tag(b'n').part(number(value).as_bytes());
        }
        Kind::String => {
            digest.tag(b's').part(value.as_str().unwrap_or_default().as_bytes());
        }
        Kind::Array => {
            digest.tag(b'[');
            value.items().for_each(|item| json(digest, item, is_marked));
            digest.tag(b']');
        }
        Kind::Object => {
            let mut members: Vec<_> =
                value.entries().filter(|(key, _)| !(is_marked && key == "cache_control")).collect();
            // The sort is stable, so that the last of repeated members stays last.
            members.sort_by(|(one, _), (two, _)| one.cmp(two));
            digest.tag(b'{');
            for (index, (key, value)) in members.iter().enumerate() {
                let is_repeated = members.get(index + 1).is_some_and(|(next, _)| next == key);
                if !is_repeated {
                    digest.tag(b'k').part(key.as_bytes());
                    json(digest, *value, is_marked);
                }
            }
            digest.tag(b'}');
        }
    }
}

/// A number as every client would write it: whole numbers unchanged, `1.0` as `1`, and numbers that no float can hold
/// as they were written.
fn number(value: Val<'_>) -> String {
    let raw = value.raw();
    if raw.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        return if raw == "-0" { "0".to_owned() } else { raw.to_owned() };
    }
    match value.as_f64() {
        Some(0.0) => "0".to_owned(),
        Some(float) if float.is_finite() => float.to_string(),
        _ => raw.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{Speaker, Text};
    use crate::json::{Extra, Raw};

    const SECRET: [u8; 32] = [7; 32];

    fn with<T>(run: impl FnOnce(&Normal<'_>) -> T) -> T {
        run(&Normal { secret: &Secret::new(SECRET), version: Version::CURRENT })
    }

    fn arguments(json: &str) -> Key {
        let call = ToolCall {
            id: None,
            name: "t".into(),
            parameters: Parameters::from_text(json),
            signature: None,
            extra: Extra::default(),
        };
        with(|normal| normal.call(&call))
    }

    fn result(json: &str) -> Key {
        let response = ToolResponse {
            call_id: None,
            name: None,
            result: Raw::parse(json).unwrap().into(),
            is_error: false,
            extra: Extra::default(),
        };
        with(|normal| normal.result(&response))
    }

    fn answer(text: &str) -> Option<Key> {
        with(|normal| normal.answer(text))
    }

    #[test]
    fn what_clients_do_to_text_says_nothing() {
        for (one, two) in [
            ("a\nb", "a  \r\nb\n"),
            ("\n\nHello", "Hello"),
            ("Hello", "<think>\nhm\n</think>\n\nHello"),
            ("Hello", "<details open><summary>Thought</summary>hm</details>\nHello"),
        ] {
            assert_eq!(answer(one), answer(two), "{one:?} {two:?}");
        }
        assert_eq!(answer(" \n"), None);
        assert_eq!(answer("<think>only a copy</think>"), None);
        for (one, two) in [("a\nb", "ab"), ("a\nb", "a\n\nb"), ("a b", "a  b"), ("a", "A")] {
            assert_ne!(answer(one), answer(two), "{one:?} {two:?}");
        }
    }

    #[test]
    fn what_clients_do_to_arguments_says_nothing() {
        for (one, two) in [
            (r#"{"a":1,"b":[true,null]}"#, "{ \"b\" : [ true , null ], \"a\" : 1.0 }"),
            (r#"{"a":"\u00e4\/"}"#, r#"{"a":"ä/"}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            ("", "{}"),
            ("1e2", "100.0"),
            ("0.0", "-0"),
        ] {
            assert_eq!(arguments(one), arguments(two), "{one} {two}");
        }
        for (one, two) in [
            (r#"{"a":1}"#, r#"{"a":"1"}"#),
            (r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#),
            (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#),
            (r#"{"a":[[1],2]}"#, r#"{"a":[1,[2]]}"#),
            (r#"{"a":null}"#, "{}"),
            (r#"{"a":1,"extra":2}"#, r#"{"a":1}"#),
            ("{broken", "{}"),
        ] {
            assert_ne!(arguments(one), arguments(two), "{one} {two}");
        }
    }

    #[test]
    fn results_are_what_they_say() {
        for (one, two) in [
            (r#""a\n""#, r#"[{"type":"text","text":"a"}]"#),
            (
                r#""ab""#,
                r#"[{"type":"text","text":"a","cache_control":{}},{"type":"text","text":"b"}]"#,
            ),
            ("null", r#""""#),
            (r#"{"a":1,"cache_control":{"type":"ephemeral"}}"#, r#"{"a":1.0}"#),
        ] {
            assert_eq!(result(one), result(two), "{one} {two}");
        }
        assert_ne!(result(r#""1""#), result("1"));
    }

    #[test]
    fn speakers_and_blocks_do_not_mix() {
        let said = |speaker, texts: &[&str]| {
            let blocks = texts.iter().map(|text| Block::Text(Text::new(*text))).collect();
            with(|normal| normal.said(&Content::new(speaker, blocks)))
        };
        assert_ne!(said(Speaker::Human, &["a"]), said(Speaker::System, &["a"]));
        assert_ne!(said(Speaker::Human, &["a", "b"]), said(Speaker::Human, &["a\nb"]));
        assert_eq!(said(Speaker::Human, &["a "]), said(Speaker::Human, &["a"]));
    }
}
