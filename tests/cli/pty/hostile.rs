//! No control byte of a model reaches the terminal: every sequence of `fixtures/hostile` goes
//! through the built program in thoughts, text, names and arguments of tools, titles and errors.
//!
//! The test compares the bytes at the terminal with a session whose model sends the pictures of its
//! control characters from the start.

use super::{Begin, Pty};
use crate::hostile::{chunk, sequences};
use crate::place::Place;
use crate::upstream::Upstream;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use thinkthrough_chat::harmless::{harmless, harmless_char, is_harmless};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{KeySource, Location, Meta, Store};

/// Wide enough for a sequence a row, high enough for a list of all of them.
const SIZE: (u16, u16) = (150, 450);
/// Rows at the bottom that are no part of the transcript.
const CHROME: usize = 4;
/// The end of a frame.
const WHOLE: &[u8] = b"\x1b[?2026l";

/// Each sequence behind a mark of its own, to find it again: `t7=` for the seventh thought.
fn marked(kind: char, said: &[String]) -> Vec<String> {
    said.iter().enumerate().map(|(at, said)| format!("{kind}{at}={said}")).collect()
}

fn call(index: usize, name: &str, arguments: &str) -> String {
    let function = json!({"name": name, "arguments": arguments});
    let call = json!({"index": index, "id": format!("c{index}"), "type": "function", "function": function});
    chunk(&json!({"tool_calls": [call]}), &Value::Null)
}

fn end(why: &str) -> String {
    chunk(&json!({}), &json!(why)) + "data: [DONE]\n\n"
}

/// All of it as thoughts, text, names of tools, an argument of a tool, and arguments that are no
/// JSON.
fn everything(said: &[String]) -> String {
    let mut stream = String::new();
    for said in marked('t', said) {
        let thought = format!("{said}\n");
        stream += &chunk(&json!({"reasoning_content": thought}), &Value::Null);
    }
    for said in marked('x', said) {
        stream += &chunk(&json!({"content": format!("{said}\n\n")}), &Value::Null);
    }
    let names = marked('n', said).into_iter().map(|name| (name, "{}".to_owned()));
    let paths = marked('p', said).into_iter().map(|path| json!({"path": path}).to_string());
    let broken = marked('i', said).into_iter();
    let listing = paths.chain(broken).map(|arguments| ("list_directory".to_owned(), arguments));
    for (index, (name, arguments)) in names.chain(listing).enumerate() {
        stream += &call(index, &name, &arguments);
    }
    stream + &end("tool_calls")
}

fn text(text: &str) -> String {
    chunk(&json!({"content": text}), &Value::Null) + &end("stop")
}

/// The bytes at the terminal, and every row of a transcript or a list that it showed.
fn session(name: &str, said: &[String]) -> (Vec<u8>, BTreeSet<String>) {
    let place = Place::new(name);
    let all = said.join("\n");
    let message = format!("{all}\n\nthe third end");
    let error = json!({"error": {"message": message, "type": all, "code": all}});
    let main = Upstream::start(vec![
        everything(said),
        text("the first end"),
        call(0, "shell", &json!({"command": all}).to_string()) + &end("tool_calls"),
        text("the second end"),
        format!("data: {error}\n\n"),
    ]);
    let second = Upstream::start(vec![text(&format!("u={}", said.concat()))]);
    let provider = |name: &str, url: &str| {
        format!(
            "[providers.{name}]\nextends = \"openai-compatible\"\nbase_url = \"{url}\"\napi_key = \"k\"\n"
        )
    };
    let config = format!(
        "default_model = \"own/m\"\n[roles]\nutility = \"second/m\"\n{}{}",
        provider("own", &main.url),
        provider("second", &second.url)
    );
    let config = place.write("config.toml", &config);
    titled(&place, &marked('s', said));
    let begin = Begin { size: SIZE, ..Begin::default() };
    let mut pty = Pty::begin(&place, &["--config", &config], &begin);
    pty.see("ask, or type");
    pty.line("one");
    pty.see("the first end");
    pty.see_no("esc stops");
    let mut seen = pages(&pty);
    pty.line("two");
    pty.answer("n");
    pty.see("the second end");
    pty.see_no("esc stops");
    pty.line("three");
    pty.see("the third end");
    pty.see_no("esc stops");
    pty.line("/sessions");
    pty.see("Conversations");
    pty.see("u=");
    seen.extend(shown(&pty));
    pty.press("\u{1b}");
    pty.see_no("Conversations");
    pty.leave();
    assert_eq!(pty.copied(), "", "nothing was put on the clipboard");
    (pty.sent(), seen)
}

/// Conversations of these titles.
fn titled(place: &Place, titles: &[String]) {
    let file = place.home().join("thinkthrough/thinkthrough.db");
    let key = KeySource::File(file.with_extension("key"));
    crate::mcp::runtime().block_on(async {
        let store = Store::open(&Location::Sqlite(file), &key).await.unwrap();
        let conversations = store.conversations(&Tenant::local());
        for title in titles {
            let meta = Meta { title: Some(title.clone()), ..Meta::default() };
            conversations.create(&meta).await.unwrap();
        }
    });
}

/// Goes through the whole transcript from its beginning. Returns every row.
fn pages(pty: &Pty) -> BTreeSet<String> {
    let mut before = shown(pty);
    let mut seen: BTreeSet<String> = before.iter().cloned().collect();
    let mut key = "\u{1b}[1;5H";
    loop {
        pty.press(key);
        key = "\u{1b}[6~";
        pty.wait("another page", |screen| rows(screen) != before && is_whole(pty));
        before = shown(pty);
        seen.extend(before.iter().cloned());
        if before.iter().any(|row| row.contains("the first end")) {
            return seen;
        }
    }
}

/// Whether the terminal has just received a whole frame. Called while the screen is locked.
fn is_whole(pty: &Pty) -> bool {
    pty.sent().ends_with(WHOLE)
}

fn shown(pty: &Pty) -> Vec<String> {
    pty.wait("a whole frame", |_| is_whole(pty));
    pty.look(rows)
}

fn rows(screen: &vt100::Screen) -> Vec<String> {
    let all = screen.rows(0, SIZE.0);
    all.take(usize::from(SIZE.1) - CHROME).map(|row| row.trim().to_owned()).collect()
}

/// The escape sequences at the terminal, without positions: styles as a set, all others in their
/// order. Panics at any other control character.
fn steering(sent: &[u8]) -> (BTreeSet<String>, Vec<String>) {
    let text = std::str::from_utf8(sent).expect("only whole characters are written");
    let (mut styles, mut others) = (BTreeSet::new(), Vec::new());
    let mut rest = text;
    while let Some(at) = rest.find(|char: char| harmless_char(char) != char || char == '\n') {
        let (_, found) = rest.split_at(at);
        let escape = found.strip_prefix('\u{1b}');
        let escape = escape.unwrap_or_else(|| panic!("{:?}", found.chars().next()));
        let is_end = |char: char| !char.is_ascii_digit() && !"[;?<>=".contains(char);
        let end = match escape.strip_prefix(']') {
            Some(command) => 1 + command.find(['\u{7}', '\u{1b}']).unwrap(),
            None => escape.find(is_end).unwrap(),
        };
        let (whole, after) = escape.split_at(end + 1);
        match whole.chars().last() {
            Some('m') => drop(styles.insert(whole.to_owned())),
            Some('H') => assert!(is_on_the_screen(whole), "{whole:?}"),
            _ if ["[?25l", "[?25h", "[?2026h", "[?2026l"].contains(&whole) => {}
            _ => others.push(whole.to_owned()),
        }
        rest = if whole.ends_with('\u{1b}') { after.strip_prefix('\\').unwrap() } else { after };
    }
    (styles, others)
}

/// The bytes without the line ends of the words on the normal screen, after the chat.
fn without_farewell(sent: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(sent).expect("only whole characters are written");
    let (screen, farewell) = text.rsplit_once("\u{1b}[?1049l").expect("the screen was left");
    assert!(farewell.contains("continue with: think chat"), "{farewell:?}");
    format!("{screen}\u{1b}[?1049l{}", farewell.replace("\r\n", "")).into_bytes()
}

fn is_on_the_screen(position: &str) -> bool {
    let numbers = position.trim_start_matches('[').trim_end_matches('H').split_once(';');
    numbers.and_then(|(row, column)| Some((row.parse().ok()?, column.parse().ok()?))).is_some_and(
        |(row, column): (u16, u16)| (1..=SIZE.1).contains(&row) && (1..=SIZE.0).contains(&column),
    )
}

#[test]
fn t_21_chat_puts_no_control_byte_of_the_model_on_the_terminal() {
    let hostile = sequences();
    let tame: Vec<String> = hostile.iter().map(|said| harmless(said)).collect();
    let (sent, seen) = session("hostile", &hostile);
    let (sent_by_tame, _) = session("tame", &tame);
    // All of them were on the screen.
    for kind in ['t', 'x', 'n', 'p', 'i', 's'] {
        for at in 0..hostile.len() {
            let mark = format!("{kind}{at}=");
            assert!(seen.iter().any(|row| row.contains(&mark)), "{mark} was not seen");
        }
    }
    let (styles, others) = steering(&without_farewell(&sent));
    let (tame_styles, tame_others) = steering(&without_farewell(&sent_by_tame));
    assert!(styles.is_subset(&tame_styles), "{styles:?} but {tame_styles:?}");
    assert_eq!(others, tame_others);
    // A position or a style could be either's, but not within what a model said.
    let text = String::from_utf8(sent).unwrap();
    for said in hostile.iter().filter(|said| !is_harmless(whole(said))) {
        assert!(!text.contains(said.as_str()), "{said:?}");
    }
}

/// The text without an escape at its end that could be the beginning of one of ours.
fn whole(said: &str) -> &str {
    match said.rsplit_once('\u{1b}') {
        Some((before, "" | "[" | "[31")) => whole(before),
        Some(_) | None => said,
    }
}

#[test]
fn what_is_not_ours_is_found_in_what_a_terminal_was_sent() {
    let ours = "\u{1b}[?1049h\u{1b}]11;?\u{1b}\\\u{1b}[1;1H\u{1b}[3mx\u{1b}[?25l";
    let (styles, others) = steering(ours.as_bytes());
    assert_eq!(styles, BTreeSet::from(["[3m".to_owned()]));
    assert_eq!(others, ["[?1049h", "]11;?\u{1b}"]);
    for (theirs, found) in
        [("\u{1b}]0;t\u{7}", "]0;t\u{7}"), ("\u{1b}[2J", "[2J"), ("\u{1b}c", "c")]
    {
        assert_eq!(steering(theirs.as_bytes()).1, [found]);
    }
    for theirs in ["a\u{7}b", "a\nb", "a\u{9b}2Jb", "a\u{202e}b", "\u{1b}[9999;1H"] {
        let found = std::panic::catch_unwind(|| steering(theirs.as_bytes()));
        assert!(found.is_err(), "{theirs:?}");
    }
}
