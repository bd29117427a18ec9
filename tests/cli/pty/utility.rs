//! The model for titles and summaries.

use super::Pty;
use super::paced::Paced;
use crate::place::Place;
use serde_json::Value;

/// Checks that this model gets the request for this purpose, with thinking off.
#[track_caller]
fn is_aside(body: &Value, what: &str) {
    assert_eq!(body["model"], "deepseek-v4-pro");
    assert_eq!(body["thinking"]["type"], "disabled", "{body}");
    assert!(body.get("tools").is_none(), "{body}");
    assert!(body.to_string().contains(what), "{body}");
}

#[test]
fn the_utility_model_gives_titles_and_summaries_without_thinking() {
    let place = Place::new("utility");
    let (main, second) = (Paced::start(), Paced::start());
    let config = format!(
        "{}[providers.second]\nextends = \"deepseek\"\nbase_url = \"{}\"\napi_key = \"k\"\n\
         [roles]\nutility = \"second/deepseek-v4-pro\"\n",
        main.config(),
        second.url()
    );
    let config = place.write("own.toml", &config);
    let mut pty = Pty::chat(&place, &["--config", &config]);
    for turn in 1..=2 {
        pty.line(&format!("question {turn}"));
        main.asked(turn);
        main.think("a thought");
        main.say(&format!("answer {turn}"));
        main.end();
        pty.see(&format!("answer {turn}"));
        if turn == 1 {
            is_aside(&second.asked(1), "title");
            second.say("Two small questions");
            second.end();
        }
        pty.see_no("esc stops");
    }
    let titled = || place.think(&["sessions", "list", "--json", "--config", &config]).json();
    let began = std::time::Instant::now();
    while titled()[0]["title"] != "Two small questions" {
        assert!(began.elapsed() < super::PATIENCE, "{}", titled());
    }
    pty.line("/compress");
    let body = second.asked(2);
    is_aside(&body, "question 1");
    assert!(!body.to_string().contains("a thought"), "{body}");
    second.say("They asked one thing.");
    second.end();
    pty.see("They asked one thing.");
    pty.line("question 3");
    let body = main.asked(3);
    let sent = body["messages"].to_string();
    assert!(sent.contains("They asked one thing.") && !sent.contains("question 1"), "{body}");
    main.say("answer 3");
    main.end();
    pty.see("answer 3");
    pty.leave();
}
