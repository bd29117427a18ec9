//! Edits of JSON text, with or without comments, that leave every other byte as it is.

use std::ops::Range;
use thinkthrough_json::{Doc, JsonError, Val, Writer};

/// The text of a member's value.
pub(super) fn raw(text: &str, path: &[String]) -> Result<Option<String>, String> {
    let read = Reading::of(text);
    let doc = read.doc()?;
    let found = find(doc.root(), path);
    Ok(found.and_then(|value| text.get(value.span())).map(str::to_owned))
}

/// A member's value without white space and comments.
pub(super) fn value(text: &str, path: &[String]) -> Result<Option<String>, String> {
    let read = Reading::of(text);
    let doc = read.doc()?;
    Ok(find(doc.root(), path).map(|value| {
        let mut writer = Writer::new();
        compact(value, &mut writer);
        writer.finish()
    }))
}

/// Whether the value at this path is an object without members.
pub(super) fn is_empty(text: &str, path: &[String]) -> Result<bool, String> {
    let read = Reading::of(text);
    let doc = read.doc()?;
    let found = find(doc.root(), path);
    Ok(found.is_some_and(|it| it.is_object() && it.members().next().is_none()))
}

/// Gives a member this value. A new one becomes the first of its object, so that nothing moves.
pub(super) fn put(text: &str, path: &[String], raw: &str) -> Result<String, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let read = Reading::of(text);
    let doc = read.doc()?;
    let mut object = doc.root();
    let mut rest = path;
    while let Some((key, deeper)) = rest.split_first() {
        let around = path.len() - rest.len();
        if !object.is_object() {
            let name = path.get(..around).unwrap_or_default().join(".");
            return Err(match name.as_str() {
                "" => "it holds no object; make it one".to_owned(),
                name => format!("`{name}` is no object; make it one, or take it out"),
            });
        }
        match object.get(key) {
            Some(value) if deeper.is_empty() => return Ok(replaced(text, value.span(), raw)),
            Some(value) => (object, rest) = (value, deeper),
            None => return Ok(inserted(text, object, around, &nested(rest, raw, around + 1))),
        }
    }
    Err("there is nothing to set".to_owned())
}

/// Takes a member out, with its comma and the white space before it.
pub(super) fn remove(text: &str, path: &[String]) -> Result<String, String> {
    let read = Reading::of(text);
    let doc = read.doc()?;
    let Some((last, around)) = path.split_last() else { return Ok(text.to_owned()) };
    let is_it = |(key, _): &(Val<'_>, Val<'_>)| key.as_str().as_deref() == Some(last.as_str());
    let found = find(doc.root(), around).and_then(|object| object.members().find(is_it));
    let Some((key, value)) = found else { return Ok(text.to_owned()) };
    let (before, _) = text.split_at(key.span().start);
    let start = before.trim_end().len();
    let end = value.span().end;
    let (code_before, _) = read.code.split_at(start);
    let (_, code_after) = read.code.split_at(end);
    let behind = code_after.len() - code_after.trim_start().len();
    if code_after.trim_start().starts_with(',') {
        let text = replaced(text, end + behind..end + behind + 1, "");
        return Ok(replaced(&text, start..end, ""));
    }
    let text = replaced(text, start..end, "");
    Ok(match code_before.trim_end().strip_suffix(',') {
        Some(kept) => replaced(&text, kept.len()..kept.len() + 1, ""),
        None => text,
    })
}

fn replaced(text: &str, range: Range<usize>, with: &str) -> String {
    let (before, _) = text.split_at(range.start);
    let (_, after) = text.split_at(range.end);
    format!("{before}{with}{after}")
}

/// Returns the text with another first member in this object, which is nested `depth` levels deep.
fn inserted(text: &str, object: Val<'_>, depth: usize, member: &str) -> String {
    let (before, after) = text.split_at(object.span().start + 1);
    let indent = "  ".repeat(depth + 1);
    let has_members = object.members().next().is_some();
    let is_open = after.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    let behind = match (has_members, is_open) {
        (true, _) => ",".to_owned(),
        (false, true) => String::new(),
        (false, false) => format!("\n{}", "  ".repeat(depth)),
    };
    let added = format!("\n{indent}{member}{behind}");
    let is_windows = text.contains("\r\n");
    let added = if is_windows { added.replace('\n', "\r\n") } else { added };
    format!("{before}{added}{after}")
}

/// A member with the objects around its value, from this depth on.
fn nested(path: &[String], raw: &str, depth: usize) -> String {
    let Some((key, rest)) = path.split_first() else { return raw.to_owned() };
    if rest.is_empty() {
        return format!("\"{key}\": {raw}");
    }
    let (outer, inner) = ("  ".repeat(depth), "  ".repeat(depth + 1));
    format!("\"{key}\": {{\n{inner}{}\n{outer}}}", nested(rest, raw, depth + 1))
}

fn find<'d>(root: Val<'d>, path: &[String]) -> Option<Val<'d>> {
    path.iter().try_fold(root, |value, key| value.get(key))
}

fn compact(value: Val<'_>, writer: &mut Writer) {
    if value.is_object() {
        writer.object(|writer| {
            for (key, value) in value.entries() {
                compact(value, writer.key(&key));
            }
        });
    } else if value.is_array() {
        writer.array(|writer| value.items().for_each(|item| compact(item, writer)));
    } else if let Some(text) = value.as_str() {
        writer.str(&text);
    } else {
        writer.raw_str(value.raw());
    }
}

/// A text in two copies of the same length.
struct Reading {
    /// Blanks in place of comments.
    code: String,
    /// Blanks in place of commas before the end of an object or array, too.
    plain: String,
}

impl Reading {
    fn of(text: &str) -> Self {
        let code = without_comments(text);
        let plain = without_last_commas(&code);
        Reading { code, plain }
    }

    fn doc(&self) -> Result<Doc<'_>, String> {
        let text = if self.plain.trim().is_empty() { "{}" } else { &self.plain };
        Doc::parse_str(text).map_err(|error| broken(&self.plain, &error))
    }
}

fn broken(text: &str, error: &JsonError) -> String {
    let before = text.get(..error.at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    format!("line {line} of it is no JSON; mend it, or move the file away")
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (taken, is_comment) = match first {
            '"' => (string_end(rest), false),
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), true),
            '/' if rest.starts_with("/*") => {
                (rest.find("*/").map_or(rest.len(), |at| at + 2), true)
            }
            other => (other.len_utf8(), false),
        };
        let (piece, after) = rest.split_at(taken);
        match is_comment {
            true => out.extend(piece.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' })),
            false => out.push_str(piece),
        }
        rest = after;
    }
    out
}

fn without_last_commas(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let taken = if first == '"' { string_end(rest) } else { first.len_utf8() };
        let (piece, after) = rest.split_at(taken);
        let is_last = first == ',' && after.trim_start().starts_with(['}', ']']);
        out.push_str(if is_last { " " } else { piece });
        rest = after;
    }
    out
}

/// The length of the string that the text begins with.
fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{put, raw, remove, value};

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn a_new_member_is_the_first_and_goes_without_a_trace() {
        for before in [
            "{\"a\": 1}",
            "{\n  // mine, \"quoted\" /*\n  \"a\": [1, 2,], /* \u{e4} */\n  \"b\": {\"c\": \"//\"},\n}\n",
            "{\r\n\t\"env\": {\r\n\t\t\"A\": \"1\"\r\n\t}\r\n}\r\n",
        ] {
            let after = put(before, &path("env.X"), "\"1\"").unwrap();
            assert_eq!(raw(&after, &path("env.X")).unwrap().as_deref(), Some("\"1\""), "{after}");
            assert_eq!(
                after.contains("\r\n"),
                !after.replace("\r\n", "").contains('\n'),
                "{after}"
            );
            let mut gone = remove(&after, &path("env.X")).unwrap();
            if raw(before, &path("env")).unwrap().is_none() {
                gone = remove(&gone, &path("env")).unwrap();
            }
            assert_eq!(gone, before);
        }
    }

    #[test]
    fn an_empty_file_becomes_an_object() {
        let text = put("", &path("a.b"), "true").unwrap();
        assert_eq!(text, "{\n  \"a\": {\n    \"b\": true\n  }\n}\n");
        assert_eq!(put("{\n}\n", &path("a"), "1").unwrap(), "{\n  \"a\": 1\n}\n");
    }

    #[test]
    fn a_member_in_the_middle_and_at_the_end_takes_its_comma_along() {
        for (before, after) in [
            ("{\"a\": 1, \"x\": 2, \"b\": 3}", "{\"a\": 1, \"b\": 3}"),
            ("{\"a\": 1, \"x\": 2}", "{\"a\": 1}"),
            ("{\"a\": 1, // one\n \"x\": 2 // two\n}", "{\"a\": 1 // one // two\n}"),
            ("{\"x\": 2,}", "{}"),
            ("{\"a\": 1, \"x\": 2,}", "{\"a\": 1,}"),
        ] {
            assert_eq!(remove(before, &path("x")).unwrap(), after);
        }
    }

    #[test]
    fn values_are_the_same_in_every_spelling() {
        let one = value("{\"a\": {\"b\" : [1, \"\\u0041\"], /* c */ \"d\": true}}", &path("a"));
        assert_eq!(one, value("{\"a\":{\"b\":[1,\"A\"],\"d\":true}}", &path("a")));
        assert_eq!(one.unwrap().unwrap(), "{\"b\":[1,\"A\"],\"d\":true}");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for (text, why) in [
            ("[]", "it holds no object"),
            ("{\"a\": 1}", "`a` is no object"),
            ("{\n\"a\" 1}", "line 2 of it is no JSON"),
            ("{\"a\": {}", "is no JSON"),
        ] {
            let error = put(text, &path("a.b"), "1").unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
