//! A budget in the chat, and what a closed chat leaves behind.

use super::{Begin, Pty};
use crate::place::Place;
use crate::scripted::{Scripted, call};
use crate::upstream::{Upstream, chat};
use serde_json::json;
use std::time::Instant;

#[test]
fn adr_budget_in_the_chat_warns_at_80_and_acts_at_100() {
    let place = Place::new("chat-budget");
    let upstream = Upstream::start(vec![
        chat("one", "first", Some(700)),
        chat("two", "second", Some(110)),
        chat("three", "third", Some(200)),
    ]);
    let config = format!(
        "default_model = \"own/deepseek-v4-pro\"\n[providers.own]\nextends = \"deepseek\"\nbase_url = \"{}\"\n\
         api_key = \"k\"\n[budget]\nreasoning_tokens_per_session = 1000\non_exceed = \"block\"\n",
        upstream.url
    );
    let config = place.write("own.toml", &config);
    let begin = Begin { size: (110, 30), ..Begin::default() };
    let mut pty = Pty::begin(&place, &["--config", &config], &begin);
    pty.see("ask, or type");
    let ask = |pty: &Pty, question: &str, answer: &str| {
        pty.line(question);
        pty.see(answer);
        pty.see_no("esc stops");
    };
    ask(&pty, "a?", "first");
    assert!(!pty.text().contains("reasoning tokens are spent"), "70 % is no warning");
    ask(&pty, "b?", "second");
    pty.see("810 of the session's 1000 reasoning tokens are spent (81 %");
    ask(&pty, "c?", "third");
    pty.see("1010 of the session's 1000 reasoning tokens");
    // Now the budget blocks: no request goes out, and the text is back in the composer.
    pty.line("d?");
    pty.see("this session has spent 1010 of its 1000 reasoning tokens");
    pty.see("› d?");
    assert_eq!(upstream.bodies().len(), 3);
    pty.press("\u{15}");
    // Without thinking it goes on.
    pty.line("/set reasoning.enabled false");
    pty.see("reasoning.enabled: true -> false");
    pty.line("e?");
    pty.see_no("esc stops");
    let began = Instant::now();
    while upstream.bodies().len() < 4 {
        assert!(began.elapsed() < super::PATIENCE, "{}", pty.text());
    }
    assert_eq!(upstream.last()["thinking"]["type"], "disabled");
    pty.see_no("esc stops");
    pty.leave();
}

/// Whether the process runs. A zombie does not.
#[cfg(target_os = "linux")]
fn runs(id: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| !state.trim().starts_with(['Z', 'X']))
}

#[cfg(target_os = "linux")]
#[test]
fn c_6_a_closed_chat_leaves_no_tool_behind() {
    for end in ["its terminal closes", "-TERM", "-KILL"] {
        let place = Place::new(&format!("left{}", end.len()));
        // The shell itself, and what it started.
        let command = json!({"command": "sleep 300 & echo $$ $! > ids.txt; wait"});
        let permission = "[tools.shell]\npermission = \"allow\"\n";
        let name = format!("left{}", end.len());
        let asks = json!([call("a", "shell", &command)]);
        let script = Scripted::new(&name, vec![asks], permission);
        let mut pty = Pty::scripted(&place, &script);
        pty.line("Run it.");
        let file = place.folder().join("ids.txt");
        let began = Instant::now();
        let ids = loop {
            let ids = std::fs::read_to_string(&file).unwrap_or_default();
            if ids.ends_with('\n') {
                break ids;
            }
            assert!(began.elapsed() < super::PATIENCE, "{}", pty.text());
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        assert!(ids.split_whitespace().all(runs), "{ids}");
        match end {
            "its terminal closes" => pty.close(),
            signal => pty.signal(signal),
        }
        pty.end();
        let began = Instant::now();
        while ids.split_whitespace().any(runs) {
            assert!(began.elapsed() < super::PATIENCE, "{end}: {ids} are left behind");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
