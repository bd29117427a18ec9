//! Instructions for a model: the user's own text, files, the folder and the date.

use crate::acp::Editor;
use crate::place::Place;
use crate::program::command;
use crate::pty::paced::Paced;
use crate::pty::{Begin, Pty};
use serde_json::{Value, json};
use std::fs;

/// A folder with a file of the project and one of the user, and a configuration that leads to the model.
fn place(name: &str, paced: &Paced, more: &str) -> (Place, String) {
    let place = Place::new(name);
    place.write("AGENTS.md", "Be kind.\n");
    fs::create_dir(place.home().join(".git")).unwrap();
    fs::create_dir(place.home().join("etc")).unwrap();
    fs::write(place.home().join("etc/AGENTS.md"), "Be exact.\n").unwrap();
    let config = place.write("etc/config.toml", &format!("{}{more}", paced.config()));
    (place, config)
}

/// The first message with these parts. The date is taken from the message itself.
fn first(place: &Place, own: &str, sent: &Value) -> Value {
    let home = place.home().display();
    let text = sent["content"].as_str().unwrap_or_default();
    let date = text.rsplit_once("Today's date: ").map_or("", |it| it.1);
    assert!(date.len() == "2026-11-29 (UTC)".len() && date.starts_with("20"), "{text}");
    let own = if own.is_empty() { String::new() } else { format!("{own}\n\n") };
    let text = format!(
        "{own}Instructions from 2 files:\n\n`{home}/etc/AGENTS.md`:\n```md\nBe exact.\n```\n\n\
         `{home}/AGENTS.md`:\n```md\nBe kind.\n```\n\nWorking folder: {}\n\nToday's date: {date}",
        place.folder().display()
    );
    json!({"role": "system", "content": text})
}

#[test]
fn a_chat_begins_with_them_and_tells_a_change_in_the_next_question() {
    let paced = Paced::start();
    let (place, config) = place("instructions-chat", &paced, "[chat]\nsystem = \"Be brief.\"\n");
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.line("one");
    let sent = paced.asked(1)["messages"].clone();
    assert_eq!(sent[0], first(&place, "Be brief.", &sent[0]));
    assert_eq!(sent[1]["content"], "one");
    paced.say("un");
    paced.end();
    pty.see("un");
    pty.see_no("esc stops");
    pty.line("/system");
    pty.see("Be exact.");
    pty.leave();
    place.write("AGENTS.md", "Be patient.\n");
    let mut pty = Pty::chat(&place, &["--config", &config, "--continue"]);
    pty.see("un");
    pty.line("two");
    let again = paced.asked(2)["messages"].clone();
    assert_eq!(again[0], sent[0], "what went out before stays");
    let told = again[3]["content"].as_str().unwrap();
    assert!(told.starts_with("Instructions from 2 files:\n\n"), "{told}");
    assert!(told.contains("Be patient.") && told.ends_with("\n\ntwo"), "{told}");
    paced.say("deux");
    paced.end();
    pty.see("deux");
    pty.see_no("esc stops");
    pty.line("three");
    let last = paced.asked(3)["messages"].clone();
    assert_eq!(last[5]["content"], "three");
    paced.end();
    pty.leave();
}

#[test]
fn an_editor_begins_with_those_of_its_folder() {
    let paced = Paced::start();
    let (place, config) = place("instructions-acp", &paced, "");
    let mut command = command(&["acp", "--config", &config]);
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env(name, place.home());
    }
    let mut editor = Editor::connect(command);
    let begun = json!({"cwd": place.folder(), "mcpServers": []});
    let begun = editor.plain("session/new", &begun);
    editor.session = begun["result"]["sessionId"].as_str().unwrap().to_owned();
    for (number, words) in [(1, "one"), (2, "two")] {
        editor.begin("session/prompt", json!({"prompt": [{"type": "text", "text": words}]}));
        let sent = paced.asked(number)["messages"].clone();
        assert_eq!(sent[0], first(&place, "", &sent[0]));
        assert_eq!(sent.as_array().unwrap().last().unwrap()["content"], words);
        paced.say("fine");
        paced.end();
        editor.until(|line| line["result"]["stopReason"] == "end_turn");
    }
    editor.end();
}

#[test]
fn an_editor_tells_a_new_date_in_the_next_question() {
    let paced = Paced::start();
    let (place, config) = place("instructions-day", &paced, "");
    let connect = || {
        let mut command = command(&["acp", "--config", &config]);
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(name, place.home());
        }
        Editor::connect(command)
    };
    let mut editor = connect();
    let begun = json!({"cwd": place.folder(), "mcpServers": []});
    let begun = editor.plain("session/new", &begun);
    editor.session = begun["result"]["sessionId"].as_str().unwrap().to_owned();
    editor.begin("session/prompt", json!({"prompt": [{"type": "text", "text": "one"}]}));
    let sent = paced.asked(1)["messages"][0].clone();
    paced.say("fine");
    paced.end();
    editor.until(|line| line["result"]["stopReason"] == "end_turn");
    let kept = editor.session.clone();
    editor.end();
    // The same conversation, as if it were of another day.
    let today = sent["content"].as_str().unwrap().rsplit_once("Today's date: ").unwrap().1;
    let exported = place.think(&["sessions", "export", &kept, "--config", &config]).out;
    assert!(exported.contains(today), "{exported}");
    let old = place.write("old.jsonl", &exported.replace(today, "2020-02-29 (UTC)"));
    let old = place.think(&["sessions", "import", &old, "--config", &config]).out;
    let mut editor = connect();
    editor.load(old.trim(), &place.folder());
    editor.session = old.trim().to_owned();
    editor.begin("session/prompt", json!({"prompt": [{"type": "text", "text": "two"}]}));
    let sent = paced.asked(2)["messages"].clone();
    assert!(sent[0]["content"].as_str().unwrap().ends_with("2020-02-29 (UTC)"), "{sent}");
    let told = sent.as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    assert!(told.starts_with(&format!("Today's date: {today}\n")), "{told}");
    assert!(told.ends_with("\n\ntwo"), "{told}");
    paced.end();
    editor.end();
}

#[test]
fn a_script_sends_the_own_text_alone_unless_it_asks_for_more() {
    let paced = Paced::start();
    let more = "[chat]\nsystem = \"Be brief.\"\n[profiles.p]\nsystem = \"Rhyme.\"\n";
    let (place, config) = place("instructions-ask", &paced, more);
    let own = |text: &str| json!({"role": "system", "content": text});
    let all = ["--surroundings", "all"];
    for (number, words, expected) in [
        (1, &[][..], Some("Be brief.")),
        (2, &["--profile", "p"], Some("Rhyme.")),
        (3, &["--profile", "p", "-s", "Sing."], Some("Sing.")),
        (4, &["-s", ""], None),
    ] {
        paced.say("fine");
        paced.end();
        let ran = place.ask(&[&["--config", &config], words, &["one"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let sent = paced.asked(number)["messages"].clone();
        let question = json!({"role": "user", "content": "one"});
        let expected: Vec<Value> = expected.map(own).into_iter().chain([question]).collect();
        assert_eq!(sent, json!(expected), "{words:?}");
    }
    paced.say("fine");
    paced.end();
    let ran = place.ask(&[&["--config", &config, "-s", ""], &all[..], &["one"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let sent = paced.asked(5)["messages"].clone();
    assert_eq!(sent[0], first(&place, "", &sent[0]));
    let wrong = place.ask(&["--config", &config, "--surroundings", "files", "one"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("`user`, `project`, `folder`, `date`"), "{}", wrong.err);
}

#[test]
fn a_question_on_a_terminal_sends_everything() {
    let paced = Paced::start();
    let (place, config) = place("instructions-terminal", &paced, "");
    let words = ["ask", "--config", &config, "one"];
    let mut pty = Pty::run(&place, &words, &Begin::default());
    let sent = paced.asked(1)["messages"].clone();
    assert_eq!(sent[0], first(&place, "", &sent[0]));
    paced.say("fine");
    paced.end();
    assert!(pty.end().success());
    let words = ["ask", "--config", &config, "--tools", "off", "one"];
    let mut pty = Pty::run(&place, &words, &Begin::default());
    let sent = paced.asked(2)["messages"].clone();
    assert_eq!(sent, json!([{"role": "user", "content": "one"}]), "nothing without tools");
    paced.say("fine");
    paced.end();
    assert!(pty.end().success());
}
