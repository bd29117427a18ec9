//! `[chat] runaway`: a thought that repeats itself.

use crate::place::Place;
use crate::upstream::Upstream;
use serde_json::{Value, json};

/// A model that goes round in circles, and answers all the same.
fn stream() -> String {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"model": "m", "choices": [choice]}))
    };
    let thought = chunk(json!({"reasoning_content": "Wait, let me see it again. "}), Value::Null);
    let answer = chunk(json!({"content": "It is a zebra."}), Value::Null);
    thought.repeat(400) + &answer + &chunk(json!({}), json!("stop")) + "data: [DONE]\n\n"
}

#[test]
fn a_thought_that_goes_round_in_circles_is_told_of_cut_or_left() {
    let upstream = Upstream::start(vec![stream()]);
    for (setting, is_told, is_cut) in [
        ("", true, false),
        ("[chat]\nrunaway = \"warn\"\n", true, false),
        ("[chat]\nrunaway = \"off\"\n", false, false),
        ("[chat]\nrunaway = \"cut\"\n", true, true),
    ] {
        let place = Place::new("runaway");
        let config = format!(
            "default_model = \"own/m\"\n[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n{setting}",
            upstream.url
        );
        let config = place.write("config.toml", &config);
        let asked = ["--config", &config, "--tools", "off", "--continue", "What is it?"];
        let ran = place.ask(&asked);
        assert_eq!(ran.err.contains("the same 27 bytes again and again"), is_told, "{}", ran.err);
        assert_eq!(ran.code, Some(i32::from(is_cut)), "{setting}: {}", ran.err);
        assert_eq!(ran.out.contains("It is a zebra."), !is_cut, "{setting}: {}", ran.out);
        // The trace has the received part, and its state says whether the answer was cut.
        let list = place.think(&["traces", "list", "--json", "--config", &config]).json();
        let id = list[0]["id"].as_str().unwrap();
        let trace = place.think(&["traces", "show", id, "--json", "--config", &config]).json();
        let state = if is_cut { "cut" } else { "whole" };
        assert_eq!(trace["state"], state, "{trace}");
        let thought = trace["reasoning_text"].as_str().unwrap();
        assert_eq!(thought.len() < 400 * 27, is_cut, "{} bytes", thought.len());
        assert!(thought.starts_with("Wait, let me see it again. Wait"), "{thought}");
        if is_cut {
            let error = trace["metadata"]["error"].as_str().unwrap();
            assert!(error.contains("again and again"), "{trace}");
        }
    }
}
