//! `[models.X] max_restore_tokens` limits the restored thoughts.

use crate::place::Place;
use crate::pty::paced::Paced;
use crate::serve_config::serve;
use serde_json::{Value, json};

/// The thoughts in the third request of a conversation whose client drops them.
fn third(setting: &str) -> Vec<String> {
    let (place, paced) = (Place::new("limit"), Paced::start());
    let model = format!("[models.limited]\nprovider = \"paced\"\nmodel = \"m\"\n{setting}");
    let gateway = serve(&place, &(paced.config() + &model));
    let mut messages = Vec::new();
    let mut asked = Value::Null;
    for number in 1..=3 {
        messages.push(json!({"role": "user", "content": format!("Question {number}?")}));
        // Forty tokens as they are estimated.
        paced.think(&format!("{number}{}", "a".repeat(119)));
        paced.say(&format!("Answer {number}."));
        paced.end();
        let body = json!({"model": "limited", "stream": true, "messages": messages}).to_string();
        let answer = gateway.ask("/v1/chat/completions", &body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        asked = paced.asked(number);
        messages.push(json!({"role": "assistant", "content": format!("Answer {number}.")}));
    }
    let sent = asked.get("messages").and_then(Value::as_array).into_iter().flatten();
    let thoughts = sent.filter_map(|it| it.get("reasoning_content")?.as_str());
    thoughts.map(|it| it.trim_end_matches('a').to_owned()).collect()
}

#[test]
fn restored_thoughts_beyond_the_limit_of_a_model_stay_out() {
    assert_eq!(third(""), ["1", "2"]);
    assert_eq!(third("max_restore_tokens = \"unlimited\"\n"), ["1", "2"]);
    assert_eq!(third("max_restore_tokens = 80\n"), ["1", "2"]);
    assert_eq!(third("max_restore_tokens = 79\n"), ["2"]);
    assert_eq!(third("max_restore_tokens = 39\n"), Vec::<String>::new());
}
