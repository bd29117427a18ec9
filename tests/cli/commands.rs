//! Output and exit codes of the commands.

use crate::completions::candidates;
use crate::place::Place;
use crate::program::{command, think};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use thinkthrough_core::provider;

const ANSWER: &[u8] = br#"{"type":"message","id":"m1","role":"assistant","model":"x","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}"#;

const STREAM: &[u8] = b"data: {\"id\":\"1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n\
data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n\
data: [DONE]\n\n";

#[test]
fn parse_prints_one_line_of_the_public_shape() {
    let ran = think(&["parse", "--wire", "messages"], ANSWER);
    assert_eq!(ran.out.lines().count(), 1);
    assert_eq!(ran.err, "");
    assert_eq!(
        ran.json(),
        json!({
            "blocks": [
                {"type": "thinking", "thought": "hm", "sourceField": "thinking", "signature": "s"},
                {"type": "text", "text": "Hi"},
            ],
            "text": "Hi",
            "usage": {
                "inputTokens": 1, "outputTokens": 2, "reasoningTokens": null, "cacheReadTokens": null,
                "cacheWriteTokens": null, "totalTokens": null, "raw": {"input_tokens": 1, "output_tokens": 2},
            },
            "finishReason": "end_turn", "model": "x", "responseId": "m1", "problems": [],
        })
    );
}

#[test]
fn raw_values_over_several_lines_come_out_on_one() {
    let body = json!({"choices": [{"index": 0, "message": {"content": "a\nb"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 2}}});
    let body = serde_json::to_string_pretty(&body).unwrap().replace('\n', "\r\n");
    let ran = think(&["parse", "--wire", "chat-completions"], body.as_bytes());
    assert_eq!(ran.out.matches(['\n', '\r']).count(), 1, "{}", ran.out);
    assert_eq!(ran.json()["usage"]["raw"]["completion_tokens_details"]["reasoning_tokens"], 2);
    assert_eq!(ran.json()["text"], "a\nb");
    let events = ["parse", "--wire", "chat-completions", "--events"];
    assert!(think(&events, body.as_bytes()).lines().len() > 1);
}

#[test]
fn parse_reads_a_file() {
    let path = std::env::temp_dir().join(format!("think-parse-{}.json", std::process::id()));
    std::fs::write(&path, ANSWER).unwrap();
    let ran = think(&["parse", "--wire", "messages", path.to_str().unwrap()], b"");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(ran.json()["text"], "Hi");
    let gone = think(&["parse", "--wire", "messages", path.to_str().unwrap()], b"");
    assert_eq!(gone.code, Some(1));
    assert!(gone.err.contains("cannot be read"), "{}", gone.err);
}

#[test]
fn parse_ends_with_one_only_when_nothing_could_be_read() {
    let error = br#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    let ran = think(&["parse", "--wire", "messages"], error).json();
    assert_eq!(ran["problems"][0]["code"], "upstream_error");
    assert_eq!(ran["problems"][0]["message"], "busy");
    let cut = &STREAM[..STREAM.len() - 60];
    let ran = think(&["parse", "--wire", "chat-completions"], cut).json();
    assert_eq!(ran["problems"].as_array().unwrap().len(), 1, "{ran}");
    assert_eq!(ran["problems"][0]["code"], "truncated");
    assert_eq!(ran["blocks"][0]["thought"], "hm");
    for nothing in [&b""[..], b"<html>502</html>", b"no JSON"] {
        let ran = think(&["parse", "--wire", "messages"], nothing);
        assert_eq!(ran.code, Some(1), "{nothing:?}");
        assert!(ran.err.starts_with("error: ") && ran.err.lines().count() == 1, "{}", ran.err);
    }
}

#[test]
fn usage_errors_end_with_two_and_name_what_is_known() {
    for (args, named) in [
        (&["parse"][..], "--wire"),
        (&["parse", "--wire", "smoke"], "chat-completions"),
        (&["parse", "--provider", "nobody"], "openai"),
        (&["parse", "--tags", "none"], "qwen3"),
        (&["convert", "--from", "messages", "--to", "smoke"], "responses"),
        (&["convert", "--from", "messages"], "--to"),
        (&["split", "--open", "["], "--close"),
        (&["split", "--open", "", "--close", ""], "--open"),
        (&["sim", "--fault", "sometimes"], "cut=N"),
        (&["modles"], "models"),
    ] {
        let ran = think(args, b"{}");
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args:?}");
        assert!(ran.err.contains(named), "{args:?}: {}", ran.err);
        assert!(!ran.err.contains('\u{1b}'), "colour when piped: {args:?}");
    }
}

#[test]
fn events_come_while_the_stream_is_read() {
    let mut child = command(&["parse", "--wire", "chat-completions", "--events"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = || -> Value {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    let first = STREAM.windows(2).position(|two| two == b"\n\n").unwrap() + 2;
    stdin.write_all(&STREAM[..first]).unwrap();
    stdin.flush().unwrap();
    // The two events arrive although the input is still open.
    assert_eq!(
        line(),
        json!({"type": "thinking_start", "block": 0, "sourceField": "reasoning_content"})
    );
    assert_eq!(line(), json!({"type": "thinking_delta", "block": 0, "delta": "hm"}));
    stdin.write_all(&STREAM[first..]).unwrap();
    drop(stdin);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let kinds: Vec<Value> = rest
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone())
        .collect();
    assert_eq!(kinds, ["thinking_end", "text_delta", "finish"]);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_provider_alone_picks_its_wire_by_the_bodys_shape() {
    let chat = br#"{"object":"chat.completion","choices":[{"index":0,"message":{"content":"chat"},"finish_reason":"stop"}]}"#;
    let responses = br#"{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"responses"}]}]}"#;
    for (body, text) in [(&chat[..], "chat"), (responses, "responses")] {
        assert_eq!(think(&["parse", "--provider", "openai"], body).json()["text"], text);
    }
    let events = think(&["parse", "--provider", "openai", "--events"], STREAM).lines();
    assert_eq!(events[0]["type"], "thinking_start");
}

#[test]
fn tags_alone_read_plain_text_and_beside_a_wire_its_text() {
    let text = "<think>2 + 2</think>4";
    let blocks = json!([
        {"type": "thinking", "thought": "2 + 2", "sourceField": "think_tags"},
        {"type": "text", "text": "4"},
    ]);
    let plain = think(&["parse", "--tags", "qwen3"], text.as_bytes()).json();
    assert_eq!((&plain["blocks"], &plain["text"]), (&blocks, &json!("4")));
    assert_eq!(plain["usage"], Value::Null);
    let body =
        json!({"choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]});
    let body = body.to_string();
    let args = ["parse", "--wire", "chat-completions", "--tags", "qwen3"];
    assert_eq!(think(&args, body.as_bytes()).json()["blocks"], blocks);
    let untold = think(&args[..3], body.as_bytes()).json();
    assert_eq!(untold["text"], text);
}

#[test]
fn split_has_every_flag() {
    let split = |args: &[&str], text: &str| {
        let all: Vec<&str> = ["split"].iter().chain(args).copied().collect();
        think(&all, text.as_bytes()).json()
    };
    let two = "<REASONING>a</REASONING>x<REASONING>b</REASONING>y";
    assert_eq!(
        split(&[], "<REASONING> two steps </REASONING>\nDone."),
        json!({"visible": "Done.", "reasoning": {"text": "two steps", "tokensEst": 3}})
    );
    assert_eq!(split(&[], "nothing here"), json!({"visible": "nothing here"}));
    assert_eq!(
        split(&["--staged"], two)["reasoning"],
        json!([{"text": "a", "tokensEst": 1}, {"text": "b", "tokensEst": 1}])
    );
    assert_eq!(
        split(&["--compat"], "a <REASONING>t</REASONING> b"),
        json!({"visible": "a\n\nb", "reasoning": {"text": "t", "tokensEst": 1}})
    );
    assert_eq!(
        split(&["--open", "[[", "--close", "]]"], "[[t]]x"),
        json!({"visible": "x", "reasoning": {"text": "t", "tokensEst": 1}})
    );
    assert_eq!(
        split(&["--tags", "think", "--thinking-off"], "<think>a</think>b")["visible"],
        "<think>a</think>b"
    );
    assert_eq!(
        split(&["--open", "<t>", "--close", "</t>", "--starts-open"], "a</t>b"),
        json!({"visible": "b", "reasoning": {"text": "a", "tokensEst": 1}})
    );
}

#[test]
fn convert_tells_requests_responses_and_streams_apart() {
    let convert =
        |from: &str, to: &str, body: &[u8]| think(&["convert", "--from", from, "--to", to], body);
    let request = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}"#;
    let responses = convert("messages", "responses", request).json();
    assert_eq!(responses["max_output_tokens"], 9);
    assert!(responses["input"].is_array() || responses["input"].is_string());
    let mistral = convert("messages", "mistral-chat", ANSWER);
    assert_eq!(mistral.err, "");
    let mistral = think(&["parse", "--wire", "mistral-chat"], mistral.out.as_bytes()).json();
    assert_eq!((&mistral["text"], &mistral["blocks"][0]["thought"]), (&json!("Hi"), &json!("hm")));
    let lossy = convert("messages", "ollama-chat", ANSWER);
    assert_eq!(lossy.err, "untranslated: `ollama-chat` cannot say thinking.signature\n");
    let stream = convert("chat-completions", "messages", STREAM);
    assert!(stream.out.contains("event: message_start"), "{}", stream.out);
    let stream = think(&["parse", "--wire", "messages"], stream.out.as_bytes()).json();
    assert_eq!((&stream["text"], &stream["blocks"][0]["thought"]), (&json!("Hi"), &json!("hm")));
    let error = br#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#;
    let error = convert("chat-completions", "messages", error).json();
    assert_eq!(error["error"], json!({"type": "rate_limit_error", "message": "slow down"}));
    let nothing = convert("messages", "responses", b"<html>");
    assert_eq!(nothing.code, Some(1), "{}", nothing.out);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut body = Vec::new();
    for _ in 0..200_000 {
        body.extend_from_slice(b"data: {\"choices\":[{\"delta\":{\"content\":\"text\"}}]}\n\n");
    }
    let mut child = command(&["parse", "--wire", "chat-completions", "--events"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let writer = std::thread::spawn(move || drop(stdin.write_all(&body)));
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stderr, b"");
}

#[test]
fn models_lists_the_rules_of_every_provider() {
    let rows = think(&["models", "--rules", "--json"], b"").json();
    let rows = rows.as_array().unwrap();
    for row in rows {
        for key in ["name", "provider", "model", "wire", "contract", "source", "rule"] {
            assert!(row[key].is_string(), "{row}");
        }
    }
    for provider in provider::ALL {
        let has_rules = provider.endpoints.iter().any(|endpoint| !endpoint.models.is_empty());
        assert_eq!(rows.iter().any(|row| row["provider"] == provider.id), has_rules);
    }
    assert!(rows.iter().any(|row| row["name"] == "sim/default"));
    let source = |name: &str| &rows.iter().find(|row| row["name"] == name).unwrap()["source"];
    assert_eq!(source("openai/gpt-6*"), "built-in");
    assert_eq!(source("openai/*"), "assumed");
    let table = think(&["models", "--rules"], b"").out;
    assert_eq!(table.lines().count(), rows.len());
    let line = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("openai/* ").ends_with("(assumed)"), "{}", line("openai/* "));
    assert!(!line("openai/gpt-6* ").contains("assumed"), "{}", line("openai/gpt-6* "));
}

#[test]
fn explain_says_where_no_rule_knows_the_model() {
    let body = br#"{"model":"m","messages":[{"role":"user","content":"go"}]}"#;
    let run = |model: &str, json: bool| {
        let mut words = vec!["explain", "-m", model];
        words.extend(json.then_some("--json"));
        think(&words, body)
    };
    for (model, rule, warning) in [
        ("openai/gpt-6.1-sol", "openai gpt-6*", None),
        ("openai/gpt-7-terra", "openai gpt-*, assumed", Some("taken for the provider's newest")),
        ("groq/someones-model", "none", Some("its thoughts do not go back")),
    ] {
        let json = run(model, true).json();
        assert_eq!(json["rule"], rule, "{json}");
        let warnings = json["warnings"].to_string();
        assert_eq!(warnings.contains("no rule knows"), warning.is_some(), "{warnings}");
        let text = run(model, false).out;
        assert!(text.contains(&format!("rule {rule}\n")), "{text}");
        assert_eq!(text.contains("no rule knows"), warning.is_some(), "{text}");
        assert!(warning.is_none_or(|warning| text.contains(warning)), "{text}");
    }
}

#[test]
fn completions_and_manual_name_every_command_and_every_option_there_is() {
    let place = Place::new("every-command");
    let manual = think(&["man"], b"").out.replace('\\', "");
    let mut commands = below(&[]);
    assert!(commands.len() > 10, "{commands:?}");
    commands.extend(below(&["sessions"]).into_iter().map(|name| format!("sessions {name}")));
    for command in &commands {
        let words: Vec<&str> = command.split(' ').collect();
        let completed = |last: &[&str]| candidates(&place, last).join("\n");
        assert!(completed(&words).contains(words[words.len() - 1]), "{command}");
        let options = completed(&[&words[..], &["--"]].concat());
        let title = format!("think-{}", words.join("-"));
        assert!(manual.contains(&title), "{title}");
        let help = think(&[&words[..], &["--help"]].concat(), b"").out;
        for word in help.split([' ', ',', '\n']).filter(|word| word.starts_with("--")) {
            let option = word.trim_end_matches(|c: char| !c.is_alphanumeric());
            assert!(manual.contains(option), "{option} of {command}");
        }
        // Examples name options of further commands.
        let own = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
        for option in own.filter_map(|line| line.split([' ', '=']).next()) {
            assert!(options.contains(option), "{option} of {command}: {options}");
        }
    }
}

/// The commands in the help of a command.
fn below(command: &[&str]) -> Vec<String> {
    let help = think(&[command, &["--help"]].concat(), b"").out;
    let list = help.split("Commands:\n").nth(1).expect("it lists commands");
    let lines = list.lines().take_while(|line| line.starts_with("  "));
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_help_of_chat_says_how_it_is_used() {
    let help = think(&["chat", "--help"], b"").out;
    for part in
        ["/thinking", "Ctrl-T", "Ctrl-O", "/help", "--continue", "--session", "--set", "--profile"]
    {
        assert!(help.contains(part), "{part} in {help}");
    }
}
