//! Files, commands, pastes and the editor in a message; leaving and coming back.

use super::paced::Paced;
use super::{Begin, CTRL_D, ENTER, Pty};
use crate::place::Place;

const CTRL_G: &str = "\u{7}";
const CTRL_O: &str = "\u{f}";
const CTRL_R: &str = "\u{12}";
const CTRL_Z: &str = "\u{1a}";

/// A chat with a provider whose answers the test writes.
fn chat(name: &str, env: &[(&str, &str)]) -> (Place, Paced, Pty) {
    let (place, paced) = (Place::new(name), Paced::start());
    let config = place.write("own.toml", &paced.config());
    let pty = Pty::begin(&place, &["--config", &config], &Begin { env, ..Begin::default() });
    pty.see("ask, or type");
    (place, paced, pty)
}

/// The last message of a request: its text, or its parts.
fn last(body: &serde_json::Value) -> serde_json::Value {
    body["messages"].as_array().unwrap().last().unwrap()["content"].clone()
}

fn end(paced: &Paced, pty: &mut Pty) {
    paced.say("done");
    paced.end();
    pty.see_no("esc stops");
    pty.leave();
}

#[test]
fn an_at_sign_completes_a_path_and_sends_the_file_as_ask_does() {
    let (place, paced, mut pty) = chat("mention", &[]);
    std::fs::create_dir_all(place.folder().join("target")).unwrap();
    std::fs::write(place.folder().join("target/needle.o"), "built").unwrap();
    std::fs::write(place.folder().join("dot.png"), b"\x89PNG\r\n\x1a\nrest").unwrap();
    pty.press("what is in @need");
    pty.see("@needle.txt");
    assert!(!pty.text().contains("needle.o"), "build output is left out:\n{}", pty.text());
    pty.press("\t");
    pty.see("what is in @needle.txt");
    pty.press("and @dot.png");
    pty.see("and @dot.png");
    pty.press(ENTER);
    let sent = last(&paced.asked(1));
    let words = "what is in @needle.txt and @dot.png";
    let text = format!("{words}\n\n`needle.txt`:\n```txt\nthe needle is blue\n```");
    assert_eq!(sent[0]["text"], text);
    assert!(sent[1].to_string().contains("data:image/png;base64,"), "{sent}");
    end(&paced, &mut pty);
}

#[test]
fn a_command_of_the_user_runs_and_goes_before_the_next_question() {
    let (_place, paced, mut pty) = chat("own-command", &[("SOME_TOKEN", "hidden")]);
    pty.press("!echo $((40 + 2)) $SOME_TOKEN.");
    pty.see("enter runs it in your shell");
    pty.press(ENTER);
    pty.see("42 .");
    pty.line("!sleep 600");
    pty.see("esc stops");
    pty.press("\u{1b}");
    pty.see("[stopped by the user]");
    pty.line("why?");
    let text = "`$ echo $((40 + 2)) $SOME_TOKEN.`:\n```\n42 .\n```\n\n\
                `$ sleep 600`:\n```\n[stopped by the user]\n```\n\nwhy?";
    assert_eq!(last(&paced.asked(1)), text);
    end(&paced, &mut pty);
}

#[test]
fn a_long_paste_is_one_line_that_opens_and_goes_out_in_full() {
    let (_place, paced, mut pty) = chat("long-paste", &[]);
    let long: String = (1..=42).map(|number| format!("row {number}\n")).collect();
    pty.press(&format!("see \u{1b}[200~{long}\u{1b}[201~"));
    pty.see("see [pasted 42 lines]");
    assert!(!pty.text().contains("row 42"), "{}", pty.text());
    pty.press(CTRL_O);
    pty.see("row 42");
    pty.press(ENTER);
    assert_eq!(last(&paced.asked(1)), format!("see {long}"));
    end(&paced, &mut pty);
}

#[test]
fn the_editor_has_the_terminal_and_its_keys() {
    // It gets the text in its file, and reads a line from the terminal itself.
    let editor = "sh -c 'echo ready; read -r line; echo \"$line\" >> \"$1\"' sh";
    let (_place, paced, mut pty) = chat("editor", &[("EDITOR", editor)]);
    pty.press("begun here,");
    pty.see("begun here,");
    pty.press(CTRL_G);
    pty.see("ready");
    assert!(!pty.look(vt100::Screen::alternate_screen), "{}", pty.text());
    pty.line("ended there");
    pty.see("› begun here,");
    pty.see("ended there");
    pty.press(ENTER);
    assert_eq!(last(&paced.asked(1)), "begun here,ended there");
    end(&paced, &mut pty);
}

#[test]
fn a_shell_suspends_the_chat_and_continues_it_with_its_screen() {
    let place = Place::new("suspend");
    let mut pty = Pty::start(&place, "/bin/sh", &["-i"], &Begin::default());
    pty.line(&format!("{} chat -m sim/default", env!("CARGO_BIN_EXE_think")));
    pty.see("ask, or type");
    pty.line("What is in this folder?");
    pty.see("list_directory gave");
    pty.see_no("esc stops");
    pty.press("a draft");
    pty.see("› a draft");
    pty.press(CTRL_Z);
    pty.see("Stopped");
    assert!(!pty.look(vt100::Screen::alternate_screen), "{}", pty.text());
    pty.line("echo in the $((1 + 1))nd shell");
    pty.see("in the 2nd shell");
    pty.line("fg");
    pty.see("› a draft");
    pty.see("list_directory gave");
    assert!(pty.look(vt100::Screen::alternate_screen), "{}", pty.text());
    pty.press("\u{15}");
    pty.see("ask, or type");
    pty.press(CTRL_D);
    pty.see("continue with: think chat --session");
    pty.wait("a prompt", |screen| screen.contents().trim_end().ends_with(['#', '$']));
    pty.line("exit");
    pty.end();
}

#[test]
fn without_a_shell_that_could_continue_it_the_chat_stays() {
    let (_place, _paced, mut pty) = chat("suspend-alone", &[]);
    pty.press(CTRL_Z);
    pty.see("no shell could continue this program");
    pty.press("still here");
    pty.see("› still here");
    pty.press("\u{15}");
    pty.see("ask, or type");
    pty.leave();
}

#[test]
fn what_was_sent_before_is_searched_without_its_files() {
    let (place, paced, mut pty) = chat("search-sent", &[]);
    pty.line("look at @needle.txt ");
    paced.asked(1);
    paced.say("done");
    paced.end();
    pty.see_no("esc stops");
    pty.leave();
    let config = place.file("own.toml");
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.press(CTRL_R);
    pty.see("What you sent");
    pty.press("need");
    pty.see("look at @needle.txt");
    pty.press(ENTER);
    pty.see("› look at @needle.txt");
    pty.press("\u{15}");
    pty.see("ask, or type");
    pty.leave();
}

#[test]
fn leaving_says_how_to_continue() {
    let (place, paced, mut pty) = chat("leaving", &[]);
    pty.line("why so?");
    paced.asked(1);
    paced.say("because");
    paced.end();
    pty.see_no("esc stops");
    pty.line("exit");
    assert!(pty.end().success());
    pty.is_given_back();
    let text = pty.text();
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    assert!(lines.contains(&"› why so?") && lines.contains(&"because"), "{text}");
    let (before, line) = text.trim().rsplit_once("\ncontinue with:").unwrap();
    assert!(before.ends_with("\n\nwhy so?"), "{text}");
    let line = &format!("continue with:{line}");
    let command = line.strip_prefix("continue with: think ").unwrap().replace('\n', "");
    let args: Vec<&str> = command.split(' ').map(|word| word.trim_matches('\'')).collect();
    let mut pty = Pty::run(&place, &args, &Begin::default());
    pty.see("because");
    pty.leave();
    // Without a message the chat names no conversation to continue.
    let config = place.file("own.toml");
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.leave();
    assert_eq!(pty.text().trim(), "");
}
