//! No byte of a model or a provider can steer the terminal: `fixtures/hostile` through the built
//! program.

use crate::place::Place;
use crate::program::{Ran, think};
use crate::upstream::Upstream;
use serde_json::{Value, json};
use thinkthrough_chat::harmless::harmless_char;

/// The sequences of the fixture. Bytes that are not UTF-8 become U+FFFD, as in the strings of a
/// stream.
pub(crate) fn sequences() -> Vec<String> {
    let text = include_str!("../../fixtures/hostile/sequences.txt");
    let lines = text.lines().filter(|line| !line.starts_with("# "));
    lines.map(|line| String::from_utf8_lossy(&bytes(line)).into_owned()).collect()
}

fn bytes(line: &str) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), line.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        if *first == b'\\' {
            out.push(u8::from_str_radix(std::str::from_utf8(&after[1..3]).unwrap(), 16).unwrap());
            rest = &after[3..];
        } else {
            out.push(*first);
            rest = after;
        }
    }
    out
}

pub(crate) fn chunk(delta: &Value, finish: &Value) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    format!("data: {}\n\n", json!({"model": "m", "choices": [choice]}))
}

/// An answer with every sequence as thought, text, name of a tool, argument of a tool, and as
/// arguments.
fn calling(sequences: &[String]) -> String {
    let mut stream = String::new();
    for sequence in sequences {
        stream.push_str(&chunk(&json!({"reasoning_content": sequence}), &Value::Null));
    }
    for sequence in sequences {
        stream.push_str(&chunk(&json!({"content": sequence}), &Value::Null));
    }
    let mut index = 0;
    for sequence in sequences {
        let path = json!({"path": sequence}).to_string();
        for (name, arguments) in
            [(sequence.as_str(), "{}"), ("read_file", &path), ("list_directory", sequence)]
        {
            let function = json!({"name": name, "arguments": arguments});
            let call = json!({"index": index, "id": format!("c{index}"), "type": "function", "function": function});
            stream.push_str(&chunk(&json!({"tool_calls": [call]}), &Value::Null));
            index += 1;
        }
    }
    stream + &chunk(&json!({}), &json!("tool_calls")) + "data: [DONE]\n\n"
}

fn saying(sequences: &[String]) -> String {
    let mut stream = String::new();
    for sequence in sequences {
        stream.push_str(&chunk(&json!({"content": sequence}), &Value::Null));
    }
    stream + &chunk(&json!({}), &json!("stop")) + "data: [DONE]\n\n"
}

#[track_caller]
fn check(text: &str, of: &str) {
    for (at, line) in text.lines().enumerate() {
        let bad = line.chars().find(|char| harmless_char(*char) != *char);
        assert_eq!(bad, None, "{of}, line {}: {line:?}", at + 1);
    }
    assert!(!text.contains('\r'), "{of}");
}

/// Asks a provider with these answers.
fn asked(name: &str, answers: Vec<String>, args: &[&str]) -> Ran {
    let place = Place::new(name);
    let upstream = Upstream::start(answers);
    let own = format!(
        "[providers.own]\nextends = \"openai-compatible\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
        upstream.url
    );
    let config = place.write("config.toml", &own);
    let mut all = vec!["--config", &config, "-m", "own/m"];
    all.extend_from_slice(args);
    all.push("what?");
    place.ask(&all)
}

#[test]
fn t_21_ask_lets_no_hostile_sequence_through() {
    let sequences = sequences();
    assert!(sequences.len() >= 300, "{}", sequences.len());
    for (mode, args) in [
        ("plain", &[][..]),
        ("collapsed", &["--set", "reasoning.display=collapsed"]),
        ("json", &["--json"]),
        ("events", &["--stream-json"]),
    ] {
        let answers = vec![calling(&sequences), saying(&sequences)];
        let ran = asked(&format!("hostile-{mode}"), answers, args);
        assert_eq!(ran.code, Some(0), "{mode}: {}", ran.err);
        check(&ran.out, &format!("standard output, {mode}"));
        check(&ran.err, &format!("standard error, {mode}"));
        if mode == "json" {
            // Output for programs has the original text.
            let said = ran.json();
            let all = sequences.concat();
            assert_eq!(said["rounds"][0]["blocks"][0]["thought"], all);
            assert_eq!(said["rounds"][0]["blocks"][1]["text"], all);
            assert_eq!(said["rounds"][0]["blocks"][2]["name"], sequences[0]);
            assert_eq!(said["rounds"][1]["blocks"][0]["text"], all);
        } else {
            assert!(ran.out.contains("owned"), "{mode}: {}", ran.out);
        }
    }
}

#[test]
fn t_21_no_error_of_a_provider_steers_the_terminal() {
    let all = sequences().concat();
    let error = json!({"error": {"message": all, "type": all, "code": all}}).to_string();
    let begun = chunk(&json!({"content": "begun"}), &Value::Null);
    for (at, answer) in [
        error.clone(),
        format!("{begun}data: {error}\n\n"),
        // Bytes that are no JSON, as a body and in a stream.
        all.clone(),
        format!("{begun}data: {}\n\n", all.replace(['\n', '\r'], " ")),
    ]
    .into_iter()
    .enumerate()
    {
        for args in [&[][..], &["--json"], &["--stream-json"]] {
            let ran = asked(&format!("hostile-error-{at}"), vec![answer.clone()], args);
            assert!(at > 1 || ran.code == Some(1), "{at} {args:?}: {} {}", ran.out, ran.err);
            check(&ran.out, &format!("standard output, {at} {args:?}"));
            check(&ran.err, &format!("standard error, {at} {args:?}"));
        }
    }
}

#[test]
fn t_21_what_other_commands_print_as_json_is_harmless_and_says_the_same() {
    let sequences = sequences();
    let all = sequences.concat();
    let stream = calling(&sequences);
    let parse = ["parse", "--wire", "chat-completions"];
    let whole = think(&parse, stream.as_bytes());
    check(&whole.out, "parse");
    assert_eq!(whole.json()["blocks"][0]["thought"], all);
    let events = think(&["parse", "--wire", "chat-completions", "--events"], stream.as_bytes());
    check(&events.out, "parse --events");
    assert!(events.lines().len() > sequences.len());
    let split = think(&["split", "--tags", "qwen3"], format!("<think>{all}</think>").as_bytes());
    check(&split.out, "split");
    assert!(split.json()["reasoning"].to_string().len() > all.len() / 2);
    let message = json!({"role": "user", "content": all});
    let request = json!({"model": "m", "messages": [message]}).to_string();
    for json in [true, false] {
        let mut args = vec!["explain", "-m", "deepseek/deepseek-v4"];
        args.extend(json.then_some("--json"));
        let explained = think(&args, request.as_bytes());
        assert_eq!(explained.code, Some(0), "{}", explained.err);
        check(&explained.out, "explain");
        if json {
            assert_eq!(explained.json()["body"]["messages"][0]["content"], all);
        }
    }
}
