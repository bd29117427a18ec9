//! `think ask` reports an empty or incomplete answer, also by its exit code.

use crate::place::Place;
use crate::scripted::{Scripted, call};
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};

/// An answer that ends for this reason.
fn ended(thought: &str, text: &str, why: &str) -> String {
    chat(thought, text, None)
        .replace("\"finish_reason\":\"stop\"", &format!("\"finish_reason\":\"{why}\""))
}

#[test]
fn an_end_without_an_answer_is_one_sentence_and_exit_code_1_and_half_an_answer_is_a_note() {
    for (answer, code, out, said) in [
        (ended("", "", "stop"), 1, "", "error: `own/m`: "),
        (ended("hm", "", "stop"), 1, "", "error: `own/m`: "),
        (
            ended("hm", "", "length"),
            1,
            "",
            "error: `own/m`: the limit of output tokens was reached",
        ),
        (ended("", "", "content_filter"), 1, "", "error: `own/m`: "),
        (
            ended("hm", "half an ans", "length"),
            0,
            "half an ans\n",
            "note: the answer was cut off at the limit",
        ),
        (ended("hm", "all of it", "stop"), 0, "all of it\n", ""),
    ] {
        let place = Place::new("endings");
        let upstream = Upstream::start(vec![answer.clone()]);
        let config = format!(
            "[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
            upstream.url
        );
        let config = place.write("config.toml", &config);
        for json in [false, true] {
            let args = ["--config", &config, "-m", "own/m", "--tools", "off", "hi", "--json"];
            let ran = place.ask(&args[..if json { 8 } else { 7 }]);
            assert_eq!(ran.code, Some(code), "{answer}: {}", ran.err);
            if json {
                let read: Value = serde_json::from_str(&ran.out).unwrap();
                assert_eq!(read["text"], out.trim_end(), "{}", ran.out);
            } else {
                assert_eq!(ran.out, out, "{answer}");
            }
            let last = ran.err.lines().last().unwrap();
            assert!(last.starts_with(said), "{answer}: {}", ran.err);
            let about = ran
                .err
                .lines()
                .filter(|line| line.starts_with("error:") || line.starts_with("note:"));
            assert_eq!(about.count(), usize::from(!said.is_empty()), "{}", ran.err);
        }
    }
}

#[test]
fn silence_behind_a_tool_that_was_not_allowed_says_so() {
    let calls = json!([call("c1", "shell", &json!({"command": "true"}))]);
    let script = Scripted::new("refused", vec![calls, json!("")], "");
    let ran = script.ask();
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
    let last = ran.err.lines().last().unwrap();
    assert!(last.starts_with("error: ") && last.contains("`shell`"), "{last}");
}

#[test]
fn the_shown_answer_begins_at_its_first_line_and_the_kept_one_has_the_blank_lines() {
    let place = Place::new("blank-lines");
    let answer = chat("", "<think>\nhm\n</think>\n\n\nYes.\n\nNo.", None);
    let upstream = Upstream::start(vec![answer; 2]);
    let config = format!(
        "[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
        upstream.url
    );
    let config = place.write("config.toml", &config);
    let history = place.file("h.jsonl");
    let args = ["--config", &config, "-m", "own/qwen3-8b", "--tools", "off"];
    let ran = place.ask(&[&args[..], &["--history", &history, "hi"]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Yes.\n\nNo.\n"), "{}", ran.err);
    let kept = std::fs::read_to_string(&history).unwrap();
    assert!(kept.contains(r#""text":"\n\n\nYes.\n\nNo.""#), "{kept}");
    let json = place.ask(&[&args[..], &["--json", "hi"]].concat()).json();
    assert_eq!(json["text"], "\n\n\nYes.\n\nNo.", "programs read what came");
}

#[test]
fn an_answer_that_looks_like_tags_is_said_once_with_the_setting_that_cures_it() {
    let place = Place::new("unread-tags");
    let answer = chat("", "<think>hm</think>Yes.", None);
    let upstream = Upstream::start(vec![answer; 3]);
    let own = format!(
        "[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
        upstream.url
    );
    let config = place.write("config.toml", &own);
    let history = place.file("h.jsonl");
    let tools = ["--tools", "off"];
    let args = ["--config", &config, "-m", "own/thinker-32b", "--history", &history, "hi"];
    let [first, second] = [0; 2].map(|_| place.ask(&[&args[..], &tools].concat()));
    let said = "note: the answer looks as if `thinker-32b` thinks between tags in its text; if so, \
        set `tags = \"think\"` in its entry of `[models]`, and they become thoughts";
    assert_eq!(first.err.lines().filter(|line| *line == said).count(), 1, "{}", first.err);
    assert_eq!(first.out, "<think>hm</think>Yes.\n");
    assert!(!second.err.contains("note:"), "once in a conversation: {}", second.err);
    let entry = "[models.t]\nprovider = \"own\"\nmodel = \"thinker-32b\"\ntags = \"think\"\n";
    let cured = place.write("cured.toml", &(own + entry));
    let cured = place.ask(&["--config", &cured, "-m", "t", "--tools", "off", "hi"]);
    assert_eq!(cured.out, "Yes.\n");
    assert!(!cured.err.contains("note:"), "{}", cured.err);
}
