//! Rust source in which only code is left: comments, insides of strings, and code for tests are
//! blanked.

/// A source text, split into compiled code and the rest.
pub(crate) struct Code {
    /// The text with comments and the insides of strings blanked. Line numbers are unchanged.
    pub(crate) text: String,
    /// String literals outside tests with their line numbers.
    pub(crate) strings: Vec<(usize, String)>,
    /// Modules that are declared for tests only, so that their files are for tests.
    pub(crate) test_modules: Vec<String>,
}

#[derive(Clone, Copy)]
enum Kind {
    Code,
    Comment,
    Quoted,
}

impl Code {
    /// Reads a source text and blanks the items under `#[cfg(test)]` too.
    pub(crate) fn without_tests(source: &str) -> Self {
        let mut code = Self::with_tests(source);
        let mut strings = std::mem::take(&mut code.strings);
        while let Some(start) = code.text.find("#[cfg(test)]") {
            let end = item_end(&code.text, start);
            let item = code.text.get(start..end).unwrap_or_default();
            if let Some((head, _)) = item.split_once(';')
                && !head.contains('{')
            {
                code.test_modules
                    .extend(head.split_once("mod ").map(|(_, name)| name.trim().to_owned()));
            }
            let lines = line_of(&code.text, start)..=line_of(&code.text, end);
            strings.retain(|(line, _)| !lines.contains(line));
            blank(&mut code.text, start, end);
        }
        code.strings = strings;
        code
    }

    /// Reads a source text and keeps its tests.
    pub(crate) fn with_tests(source: &str) -> Self {
        let bytes = source.as_bytes();
        let mut text = String::with_capacity(source.len());
        let mut strings = Vec::new();
        let (mut at, mut line) = (0, 1);
        while at < bytes.len() {
            let (kind, end) = next(bytes, at);
            let part = source.get(at..end).unwrap_or_default();
            match kind {
                Kind::Code => text.push_str(part),
                Kind::Comment => text.extend(part.chars().map(blanked)),
                Kind::Quoted => {
                    let open = part.find('"').map_or(part.len(), |quote| quote + 1);
                    let close = part.rfind('"').unwrap_or(part.len()).max(open);
                    let inside = part.get(open..close).unwrap_or_default();
                    strings.push((line, inside.to_owned()));
                    text.extend(part.chars().map(|c| if c == '"' { c } else { blanked(c) }));
                }
            }
            line += part.matches('\n').count();
            at = end;
        }
        Self { text, strings, test_modules: Vec::new() }
    }

    /// Words of the code with their line numbers: identifiers, and each other sign alone.
    pub(crate) fn words(&self) -> Vec<(usize, &str)> {
        let mut words = Vec::new();
        for (line, text) in (1..).zip(self.text.lines()) {
            let mut rest = text.trim_start();
            while let Some(first) = rest.chars().next() {
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                let len = if is_word(first) {
                    rest.find(|c| !is_word(c)).unwrap_or(rest.len())
                } else {
                    first.len_utf8()
                };
                let (word, after) = rest.split_at(len);
                words.push((line, word));
                rest = after.trim_start();
            }
        }
        words
    }

    /// All paths that begin with the name of a crate or with `crate` and `super`, groups in braces
    /// spelled out.
    pub(crate) fn paths_from(&self, root: &str) -> Vec<(usize, Vec<&str>)> {
        let words = self.words();
        let mut paths = Vec::new();
        for (at, (line, word)) in words.iter().enumerate() {
            let is_word =
                |at: usize| words[at].1.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            let inner =
                at >= 3 && (words[at - 1].1, words[at - 2].1) == (":", ":") && is_word(at - 3);
            if *word == root && !inner {
                let mut rest = &words[at + 1..];
                spell_out(&mut rest, &mut vec![], &mut |path| paths.push((*line, path)));
            }
        }
        paths
    }
}

/// Reads `::a::{b, c::d}` from the words and reports `a b` and `a c d`.
fn spell_out<'w>(
    words: &mut &[(usize, &'w str)],
    path: &mut Vec<&'w str>,
    report: &mut dyn FnMut(Vec<&'w str>),
) {
    let depth = path.len();
    while let [(_, ":"), (_, ":"), (_, next), rest @ ..] = words {
        *words = rest;
        if *next != "{" {
            path.push(next);
            continue;
        }
        while let [(_, word), rest @ ..] = words {
            *words = rest;
            match *word {
                "}" => break,
                "," => {}
                name => {
                    path.push(name);
                    spell_out(words, path, report);
                    path.pop();
                }
            }
        }
        path.truncate(depth);
        return;
    }
    report(path.clone());
    path.truncate(depth);
}

/// The kind of text at `at`, and its end.
fn next(bytes: &[u8], at: usize) -> (Kind, usize) {
    let rest = &bytes[at..];
    let before = at.checked_sub(1).map(|before| bytes[before]);
    let in_word = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match rest {
        [b'/', b'/', ..] => {
            (Kind::Comment, at + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len()))
        }
        [b'/', b'*', ..] => (Kind::Comment, at + block_comment(rest)),
        [b'"', ..] => (Kind::Quoted, at + quoted(rest)),
        [b'b' | b'c', b'"', ..] if !in_word => (Kind::Quoted, at + 1 + quoted(&rest[1..])),
        [b'r', b'"' | b'#', ..] if !in_word => raw(rest, at, 1),
        [b'b' | b'c', b'r', b'"' | b'#', ..] if !in_word => raw(rest, at, 2),
        [b'\'', b'\\', ..] => {
            let close = rest.iter().skip(3).position(|byte| *byte == b'\'');
            (Kind::Comment, at + close.map_or(rest.len(), |close| close + 4))
        }
        [b'\'', ..] => {
            // A character of up to four bytes; without a closing quote it is a lifetime.
            let close = rest.iter().skip(2).take(4).position(|byte| *byte == b'\'');
            let is_char = |close: usize| {
                std::str::from_utf8(&rest[1..close + 2])
                    .is_ok_and(|inner| inner.chars().count() == 1)
            };
            match close.filter(|close| is_char(*close)) {
                Some(close) => (Kind::Comment, at + close + 3),
                None => (Kind::Code, at + 1),
            }
        }
        _ => (Kind::Code, at + 1 + rest[1..].iter().take_while(|b| **b & 0xC0 == 0x80).count()),
    }
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a string with its quotes.
fn quoted(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A raw string, or a raw identifier, whose mark is `mark` bytes long.
fn raw(rest: &[u8], at: usize, mark: usize) -> (Kind, usize) {
    let hashes = rest[mark..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(mark + hashes) != Some(&b'"') {
        return (Kind::Code, at + 1);
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let inside = &rest[mark + hashes + 1..];
    let len = inside.windows(close.len()).position(|window| window == close);
    (Kind::Quoted, at + mark + hashes + 1 + len.map_or(inside.len(), |len| len + close.len()))
}

/// The end of the item after an attribute: its semicolon, or its closing brace.
fn item_end(text: &str, start: usize) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text[start..].char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && c == '}' {
                    return start + at + 1;
                }
            }
            ';' if depth == 0 => return start + at + 1,
            _ => {}
        }
    }
    text.len()
}

fn blank(text: &mut String, start: usize, end: usize) {
    let blanks: String = text[start..end].chars().map(blanked).collect();
    text.replace_range(start..end, &blanks);
}

fn blanked(c: char) -> char {
    if c == '\n' { c } else { ' ' }
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

#[test]
fn comments_and_strings_are_blanked_and_lines_stay() {
    let source = "let a = \"std::fs\"; // std::net\n/* std::env /* x */ */ let b = 'x';\nfn f<'a>() { r#\"std::io\"#; b\"q\\\"\"; '\\''; }\n";
    let code = Code::with_tests(source);
    assert_eq!(code.text.lines().count(), 3);
    for gone in ["fs", "net", "env", "io", "'x'", "q"] {
        assert!(!code.text.contains(gone), "{gone} in {:?}", code.text);
    }
    assert!(code.text.contains("fn f<'a>()"));
    let strings = [(1, "std::fs"), (3, "std::io"), (3, "q\\\"")];
    assert_eq!(code.strings, strings.map(|(line, text)| (line, text.to_owned())));
}

#[test]
fn test_items_are_blanked_and_test_modules_named() {
    let source = "fn a() {}\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more { fn b() { c(\"in a test\"); } }\nfn d() { e(\"kept\"); }\n";
    let code = Code::without_tests(source);
    assert_eq!(code.test_modules, ["tests"]);
    assert!(
        code.text.contains("fn a") && code.text.contains("fn d") && !code.text.contains("fn b")
    );
    assert_eq!(code.strings, [(6, "kept".to_owned())]);
}

#[test]
fn groups_in_braces_are_spelled_out() {
    let code = Code::with_tests(
        "use std::{fmt, io::{self, Write}, fs as f};\nx(std::env::var(1)); a::std::no;",
    );
    let paths: Vec<(usize, String)> =
        code.paths_from("std").into_iter().map(|(line, path)| (line, path.join("::"))).collect();
    let expected = [
        (1, "fmt"),
        (1, "io::self"),
        (1, "io::Write"),
        (1, "fs"),
        (1, "as"),
        (1, "f"),
        (2, "env::var"),
    ];
    assert_eq!(paths, expected.map(|(line, path)| (line, path.to_owned())));
}
