//! A conversation is continued with its own model and settings, on every face, and one line reports
//! it.

use crate::acp::Editor;
use crate::place::Place;
use crate::pty::Pty;
use crate::upstream::{Upstream, chat};
use serde_json::Value;
use std::fs;

/// 20 tokens of an answer cost 2 cents.
fn provider(name: &str, url: &str) -> String {
    format!(
        "default_model = \"{name}/deepseek-v4-flash\"\n\
         [providers.{name}]\nextends = \"deepseek\"\nbase_url = \"{url}\"\napi_key = \"k\"\n\
         [prices.\"{name}/*\"]\ninput = 1000\noutput = 1000\n"
    )
}

fn asked(upstream: &Upstream) -> (Value, Value) {
    let body = upstream.last();
    (body["model"].clone(), body["reasoning_effort"].clone())
}

#[test]
fn model_effort_display_and_cost_are_taken_up_by_ask_acp_and_chat() {
    let place = Place::new("resuming");
    let upstream = Upstream::start(vec![chat("Hm.", "fine", Some(5))]);
    let config = place.write("own.toml", &provider("own", &upstream.url));
    let ask = |more: &[&str]| {
        let args = [&["--config", &config, "--tools", "off", "-c"], more, &["Why?"]].concat();
        let ran = place.ask(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        (ran.err, asked(&upstream))
    };
    let pro = "own/deepseek-v4-pro";
    let held =
        ["-m", pro, "--set", "reasoning.effort=high", "--set", "reasoning.display=collapsed"];
    let (err, _) = ask(&held);
    assert!(!err.contains("taken up"), "nothing was there to take up: {err}");
    let (err, went) = ask(&[]);
    let line = format!("taken up: {pro}, effort high, display collapsed, $0.02 so far\n");
    assert!(err.contains(&line), "{err}");
    assert_eq!(went, ("deepseek-v4-pro".into(), "high".into()));
    let (err, went) = ask(&["--set", "reasoning.effort=max"]);
    assert!(err.contains(&format!("taken up: {pro}, display collapsed, $0.04 so far\n")), "{err}");
    assert_eq!(went.1, "max", "the command line wins");

    let list = place.think(&["sessions", "list", "--json", "--config", &config]).json();
    let id = list[0]["id"].as_str().unwrap();
    let mut editor = Editor::connect(place.command(&["acp", "--config", &config]));
    let reply = editor.load(id, &place.folder());
    assert_eq!(reply["result"]["configOptions"][0]["currentValue"], "max", "{reply}");
    let line = format!("taken up: {pro}, effort max, display collapsed, $0.06 so far");
    assert!(editor.told("agent_message_chunk").contains(&line));
    let option =
        serde_json::json!({"sessionId": id, "configId": "reasoning.effort", "value": "low"});
    editor.plain("session/set_config_option", &option);
    editor.end();

    let mut pty = Pty::chat(&place, &["--config", &config, "--continue"]);
    pty.see(&format!("taken up: {pro}, effort low, display collapsed, $0.06 so far"));
    pty.line("/effort high");
    pty.see("low -> high");
    pty.leave();
    let (err, went) = ask(&[]);
    assert!(err.contains(&format!("taken up: {pro}, effort high,")), "{err}");
    assert_eq!(went, ("deepseek-v4-pro".into(), "high".into()));
}

#[test]
fn a_model_that_is_gone_is_named_and_the_default_answers() {
    let place = Place::new("resuming-gone");
    let upstream = Upstream::start(vec![chat("Hm.", "fine", Some(5))]);
    let keyless = "[providers.own]\nextends = \"deepseek\"\napi_key = { env = \"NO_SUCH_KEY\" }\n";
    let own = place.write("own.toml", &provider("own", &upstream.url));
    let other = provider("other", &upstream.url);
    let begin = || {
        let model = ["--tools", "off", "-m", "own/deepseek-v4-pro"];
        let ran = place.ask(&[&["--config", &own, "-c"], &model[..], &["Why?"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    };
    let go_on = |config: &str| {
        begin();
        let config = place.write("then.toml", config);
        place.ask(&["--config", &config, "-c", "--tools", "off", "And?"])
    };
    for (config, why) in [
        (other.clone(), "there is no provider `own` any more"),
        (format!("{other}{keyless}"), "`own` needs a key; set `NO_SUCH_KEY`"),
    ] {
        let ran = go_on(&config);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let sentence = format!(
            "the model of this conversation, `own/deepseek-v4-pro`, cannot be reached ({why}); \
             `other/deepseek-v4-flash` answers\n"
        );
        assert!(ran.err.contains(&sentence), "{}", ran.err);
        assert_eq!(upstream.last()["model"], "deepseek-v4-flash");
    }
    // Only a simulated model is left, which must not answer in its place.
    let ran = go_on(keyless);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.err.contains("`own` needs a key; set `NO_SUCH_KEY`"), "{}", ran.err);
}

#[test]
fn a_conversation_belongs_to_its_folder_and_all_takes_any() {
    let place = Place::new("folders");
    let upstream = Upstream::start(vec![chat("Hm.", "fine", Some(5))]);
    let config = place.write("own.toml", &provider("own", &upstream.url));
    fs::create_dir(place.home().join("there")).unwrap();
    let ask = |folder: &str, words: &[&str]| {
        let args = [&["ask", "--config", &config, "--tools", "off", "-c"], words].concat();
        let output = place.command(&args).current_dir(place.home().join(folder)).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        upstream.last()["messages"].as_array().unwrap().len()
    };
    assert_eq!(ask("here", &["one"]), 1);
    assert_eq!(ask("there", &["two"]), 1, "another folder begins its own");
    assert_eq!(ask("here", &["three"]), 3);
    assert_eq!(ask("here", &["--all", "four"]), 5);
    assert_eq!(ask("there", &["five"]), 3);
    assert_eq!(ask("here", &["--all", "six"]), 5, "the latest is of another folder");
    let list = place.think(&["sessions", "list", "--config", &config]);
    let there = place.home().join("there").display().to_string();
    let lines: Vec<&str> = list.out.lines().collect();
    assert!(lines[0].ends_with("two  in ~/there"), "{}", list.out);
    assert!(lines[1].ends_with("  one"), "{}", list.out);
    let list = place.think(&["sessions", "list", "--json", "--config", &config]).json();
    assert_eq!(list[0]["folder"], there);
    let alone = place.ask(&["--config", &config, "--all", "seven"]);
    assert_eq!(alone.code, Some(2), "{}", alone.err);
    // The list on the screen shows the folder, too.
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.line("/resume");
    pty.see("in ~/there");
    pty.press("\u{1b}");
    pty.see_no("Conversations");
    pty.leave();
}
