//! Every command in the built program, by its effect on the store, a file, the wire or the
//! terminal.

mod modes;

use super::paced::Paced;
use super::{ENTER, ESC, Pty};
use crate::place::Place;
use serde_json::Value;
use std::time::{Duration, Instant};

/// A command, and the test of its effect.
type Case = (&'static str, fn(Desk));

/// A command of `/help` without a line here fails.
const CASES: &[Case] = &[
    ("thinking", thinking),
    ("toggle", toggle),
    ("set", set),
    ("unset", unset),
    ("effort", effort),
    ("cap", cap),
    ("budget", budget),
    ("cost", cost),
    ("status", status),
    ("tools", tools),
    ("mcp", mcp),
    ("profile", profile),
    ("model", model),
    ("system", system),
    ("explain", explain),
    ("compress", compress),
    ("retry", retry),
    ("undo", modes::undo),
    ("plan", modes::plan),
    ("init", modes::init),
    ("new", new),
    ("sessions", sessions),
    ("fork", fork),
    ("delete", delete),
    ("search", search),
    ("copy", copy),
    ("mouse", mouse),
    ("theme", modes::theme),
    ("export", export),
    ("import", import),
    ("help", help),
    ("quit", quit),
];

#[test]
fn every_command_works_in_the_built_program() {
    let help = thinkthrough_chat::session::help();
    let listed = help.lines().filter_map(|line| line.strip_prefix("- `/"));
    let listed: Vec<&str> = listed.map(|line| line.split([' ', '`']).next().unwrap()).collect();
    let covered: Vec<&str> = CASES.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, covered, "each command has a case, in the order of the help");
    for (name, case) in CASES {
        println!("/{name}");
        case(Desk::new(name, ""));
    }
}

/// A chat with a provider whose answers the test writes.
struct Desk {
    place: Place,
    paced: Paced,
    config: String,
    pty: Pty,
    asked: usize,
}

impl Desk {
    /// `extends` is `provider/model` of a known provider. Without a slash, the provider is an
    /// unknown one and wants every thought back.
    fn new(name: &str, extends: &str) -> Self {
        let place = Place::new(&format!("command-{name}"));
        let paced = Paced::start();
        let config = match extends.split_once('/') {
            None => paced.config(),
            Some((provider, model)) => format!(
                "default_model = \"own/{model}\"\n[providers.own]\nextends = \"{provider}\"\nbase_url = \"{}\"\n\
                 api_key = \"k\"\n",
                paced.url()
            ),
        };
        // The cases count messages.
        let config = place.write("own.toml", &(config + "[chat]\nsurroundings = \"none\"\n"));
        let pty = Pty::chat(&place, &["--config", &config]);
        Desk { place, paced, config, pty, asked: 0 }
    }

    /// Ends the chat and begins another one.
    fn restart(&mut self, args: &[&str]) {
        self.pty.leave();
        self.pty = Pty::chat(&self.place, &[&["--config", &self.config], args].concat());
    }

    fn line(&self, line: &str, seen: &str) {
        self.pty.line(line);
        self.pty.see(seen);
    }

    /// Asks a question and answers it. Returns the request body without the tools.
    fn turn(&mut self, question: &str) -> String {
        self.pty.line(question);
        self.answer(question)
    }

    fn answer(&mut self, question: &str) -> String {
        self.asked += 1;
        let mut body = self.paced.asked(self.asked);
        // They say many words.
        body.as_object_mut().unwrap().remove("tools");
        self.paced.think(&format!("thought on {question}"));
        self.paced.say(&format!("answer to {question}"));
        self.paced.end();
        self.pty.see(&format!("answer to {question}"));
        self.pty.see_no("esc stops");
        body.to_string()
    }

    fn think(&self, args: &[&str]) -> Value {
        self.place.think(&[args, &["--json", "--config", &self.config]].concat()).json()
    }

    /// The stored conversations, latest first, as soon as there are `count`.
    fn kept(&self, count: usize) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let list = self.think(&["sessions", "list"]).as_array().unwrap().clone();
            if list.len() == count {
                return list;
            }
            assert!(began.elapsed() < super::PATIENCE, "{count} conversations: {list:?}");
        }
    }

    fn shown(&self, kept: &Value) -> String {
        self.think(&["sessions", "show", kept["id"].as_str().unwrap()]).to_string()
    }

    /// The stored conversations, latest first, as soon as the latest one contains this text. The
    /// store may be a moment behind the screen.
    fn kept_with(&self, count: usize, latest: &str) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let list = self.kept(count);
            let shown = self.shown(&list[0]);
            if shown.contains(latest) {
                return list;
            }
            assert!(began.elapsed() < super::PATIENCE, "{latest} in {shown}");
        }
    }

    /// Waits until a text is in the configuration file, or until it is not.
    fn file(&self, text: &str, is_there: bool) {
        let began = Instant::now();
        loop {
            let file = std::fs::read_to_string(&self.config).unwrap();
            if file.contains(text) == is_there {
                return;
            }
            assert!(began.elapsed() < super::PATIENCE, "{text} in {file}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn leave(mut self) {
        self.pty.leave();
    }
}

fn thinking(mut desk: Desk) {
    desk.turn("a");
    desk.line("/thinking off", "Thinking blocks: hidden");
    desk.pty.see_no("thought on a");
    desk.file("display = \"off\"", false);
    desk.line("/thinking save", "reasoning.display is off");
    desk.file("display = \"off\"", true);
    desk.leave();
}

fn toggle(mut desk: Desk) {
    desk.turn("a");
    desk.line("/toggle thinking", "Thinking blocks: hidden");
    desk.pty.see_no("thought on a");
    desk.line(":toggle thinking", "thought on a");
    desk.leave();
}

fn set(mut desk: Desk) {
    desk.turn("a");
    assert!(desk.turn("b").contains("thought on a"));
    desk.line("/set reasoning.includeInContext false", "auto -> false (session)");
    assert!(!desk.turn("c").contains("thought on"));
    // The same for a whole run, from the command line.
    desk.restart(&["--continue", "--set", "reasoning.includeInContext=false"]);
    desk.pty.see("answer to c");
    assert!(!desk.turn("d").contains("thought on"));
    desk.leave();
}

fn unset(mut desk: Desk) {
    desk.turn("a");
    desk.line("/set reasoning.includeInContext false", "auto -> false (session)");
    desk.line("/unset reasoning.includeInContext", "false -> auto");
    assert!(desk.turn("b").contains("thought on a"));
    desk.leave();
}

fn effort(desk: Desk) {
    desk.leave();
    let mut desk = Desk::new("effort-deepseek", "deepseek/deepseek-v4-pro");
    desk.line("/effort high", "reasoning_effort");
    assert!(desk.turn("a").contains("\"reasoning_effort\":\"high\""));
    desk.line("/effort unset", "high -> ");
    assert!(!desk.turn("b").contains("reasoning_effort"));
    desk.leave();
}

fn cap(desk: Desk) {
    desk.leave();
    let mut desk = Desk::new("cap-alibaba", "alibaba/qwen3-max");
    desk.line("/cap 2048", "thinking_budget");
    assert!(desk.turn("a").contains("\"thinking_budget\":2048"));
    desk.line("/cap", "reasoning.maxTokens: 2048 (session)");
    desk.line("/budget 1024", "thinking_budget");
    assert!(desk.turn("b").contains("\"thinking_budget\":1024"), "its older name");
    desk.leave();
}

fn budget(desk: Desk) {
    desk.line("/budget", "reasoning tokens used in this session");
    desk.leave();
}

fn cost(mut desk: Desk) {
    desk.turn("a");
    desk.line("/cost", "no price is known for this conversation");
    desk.leave();
}

fn status(mut desk: Desk) {
    desk.turn("a");
    desk.line("/status", "thought cap");
    desk.pty.press(ESC);
    desk.pty.see_no("thought cap");
    desk.leave();
}

fn tools(desk: Desk) {
    desk.line("/tools", "shell (ask): Run a command");
    desk.pty.press(ESC);
    desk.pty.see_no("shell (ask)");
    desk.leave();
}

fn mcp(desk: Desk) {
    desk.line("/mcp", "No server is configured");
    desk.pty.press(ESC);
    desk.pty.see_no("No server is configured");
    desk.leave();
}

fn mouse(desk: Desk) {
    desk.line("/mouse off", "the terminal selects text");
    desk.line("/mouse on", "the wheel scrolls");
    desk.leave();
}

fn system(mut desk: Desk) {
    desk.line("/system Answer in French.", "goes out with these instructions");
    assert!(desk.turn("a").contains("Answer in French."));
    desk.leave();
}

fn profile(mut desk: Desk) {
    desk.line("/set reasoning.includeInContext false", "auto -> false");
    desk.line("/profile save quiet", "is saved in");
    desk.file("[profiles.quiet", true);
    desk.restart(&[]);
    desk.turn("a");
    assert!(desk.turn("b").contains("thought on a"));
    desk.line("/profile load quiet", "profile quiet is in use");
    assert!(!desk.turn("c").contains("thought on"));
    desk.line("/profile list", "(in use)");
    desk.pty.press(ESC);
    desk.pty.see_no("(in use)");
    // From the command line.
    desk.restart(&["--continue", "--profile", "quiet"]);
    desk.pty.see("answer to c");
    assert!(!desk.turn("d").contains("thought on"));
    desk.line("/profile delete quiet", "is deleted");
    desk.file("quiet", false);
    desk.leave();
}

fn model(mut desk: Desk) {
    desk.turn("a");
    desk.line("/model sim/default", "now sim/default");
    desk.line("What is in this folder?", "This is the simulated model default");
    desk.pty.see_no("esc stops");
    assert_eq!(desk.kept_with(1, "This is the simulated")[0]["model"], "sim/default");
    desk.leave();
}

fn explain(mut desk: Desk) {
    desk.turn("a");
    desk.line("/explain", "What would be sent");
    desk.pty.see("/v1/chat/completions");
    desk.pty.see("message 1, block 0: keep");
    desk.pty.press(ESC);
    desk.pty.see_no("What would be sent");
    desk.leave();
}

fn retry(mut desk: Desk) {
    let first = desk.turn("first");
    desk.pty.line("/retry");
    assert_eq!(desk.answer("second"), first, "the same question, without the answer to it");
    desk.pty.see_no("answer to first");
    // Earlier answers stay in the other conversation.
    let kept = desk.kept_with(2, "answer to second");
    assert!(!desk.shown(&kept[0]).contains("answer to first"));
    assert!(desk.shown(&kept[1]).contains("answer to first"));
    desk.leave();
}

fn compress(mut desk: Desk) {
    desk.turn("first");
    desk.turn("second");
    desk.line("/compress", "become a summary");
    desk.asked += 1;
    let body = desk.paced.asked(desk.asked).to_string();
    assert!(body.contains("answer to first") && !body.contains("thought on"), "{body}");
    desk.paced.say("They spoke of one thing.");
    desk.paced.end();
    desk.pty.see("They spoke of one thing.");
    let is_compressed = |body: &str| {
        assert!(body.contains("They spoke of one thing."), "{body}");
        assert!(!body.contains("answer to first"), "it goes out in place of that: {body}");
        assert!(body.contains("answer to second"), "{body}");
    };
    is_compressed(&desk.turn("third"));
    let kept = desk.shown(&desk.kept_with(1, "answer to third")[0]);
    assert!(kept.contains("thought on first") && kept.contains("answer to first"), "{kept}");
    desk.restart(&["--continue"]);
    desk.pty.see("answer to third");
    is_compressed(&desk.turn("fourth"));
    desk.line("/compress undo", "everything is sent again");
    let body = desk.turn("fifth");
    assert!(body.contains("answer to first") && !body.contains("They spoke"), "{body}");
    desk.restart(&["--continue"]);
    desk.pty.see("answer to fifth");
    assert!(!desk.turn("sixth").contains("They spoke"), "it is taken back for good");
    desk.leave();
}

fn new(mut desk: Desk) {
    desk.turn("first");
    desk.line("/new", "a new conversation");
    desk.pty.see_no("answer to first");
    assert!(!desk.turn("second").contains("first"));
    let kept = desk.kept_with(2, "answer to second");
    assert!(desk.shown(&kept[1]).contains("answer to first"));
    assert!(!desk.shown(&kept[0]).contains("answer to first"));
    desk.leave();
}

fn sessions(mut desk: Desk) {
    desk.turn("first");
    desk.line("/new", "a new conversation");
    desk.turn("second");
    desk.line("/sessions", "Conversations");
    desk.pty.press("first");
    desk.pty.see("enter use");
    desk.pty.press(ENTER);
    desk.pty.see("answer to first");
    desk.pty.see_no("answer to second");
    let body = desk.turn("third");
    assert!(body.contains("answer to first") && !body.contains("second"), "{body}");
    // By its id, from the command line; the beginning of it is enough.
    let id = desk.kept_with(2, "answer to third")[1]["id"].as_str().unwrap().to_owned();
    desk.restart(&["--session", id.get(..12).unwrap()]);
    desk.pty.see("answer to second");
    let body = desk.turn("fourth");
    assert!(body.contains("answer to second") && !body.contains("third"), "{body}");
    desk.leave();
}

fn fork(mut desk: Desk) {
    desk.turn("first");
    desk.turn("second");
    desk.line("/fork 1", "this is a copy now");
    desk.pty.see_no("answer to second");
    let body = desk.turn("third");
    assert!(body.contains("answer to first") && !body.contains("second"), "{body}");
    let kept = desk.kept_with(2, "answer to third");
    let kept: Vec<String> = kept.iter().map(|it| desk.shown(it)).collect();
    assert!(!kept[0].contains("second"), "{}", kept[0]);
    assert!(kept[1].contains("answer to second") && !kept[1].contains("third"), "{}", kept[1]);
    desk.leave();
}

fn delete(mut desk: Desk) {
    desk.turn("first");
    desk.kept(1);
    desk.line("/delete", "/delete yes deletes this conversation");
    desk.line("/delete yes", "the conversation is deleted");
    desk.pty.see_no("answer to first");
    desk.kept(0);
    desk.leave();
}

fn search(mut desk: Desk) {
    desk.turn("amber");
    desk.line("/new", "a new conversation");
    desk.turn("basalt");
    desk.line("/search ANSWER TO amb", "answer: answer to amber");
    desk.pty.press(ENTER);
    desk.pty.see("opened: amber");
    desk.pty.see("thought on amber");
    assert!(desk.turn("more").contains("answer to amber"));
    desk.leave();
}

fn copy(mut desk: Desk) {
    desk.turn("a");
    desk.line("/copy", "copied 11 characters");
    assert_eq!(desk.pty.copied(), "YW5zd2VyIHRvIGE=", "the answer");
    desk.line("/copy thought", "copied 12 characters");
    assert_eq!(desk.pty.copied(), "dGhvdWdodCBvbiBh", "the thought");
    desk.leave();
}

fn export(mut desk: Desk) {
    desk.turn("a");
    let file = |name: &str| std::fs::read_to_string(desk.place.folder().join(name)).unwrap();
    desk.line("/export talk.md", "written to talk.md");
    assert!(file("talk.md").contains("> thought on a"), "{}", file("talk.md"));
    desk.line("/export plain.html --thoughts off", "written to plain.html");
    let page = file("plain.html");
    assert!(page.contains("answer to a") && !page.contains("thought on a"), "{page}");
    desk.line("/export talk.md", "cannot be written");
    desk.leave();
}

fn import(mut desk: Desk) {
    desk.turn("a");
    desk.line("/export talk.md", "written to talk.md");
    desk.line("/new", "a new conversation");
    desk.pty.see_no("answer to a");
    desk.line("/import talk.md", "answer to a");
    desk.pty.see("thought on a");
    let body = desk.turn("b");
    assert!(body.contains("answer to a"), "{body}");
    let kept = desk.kept_with(2, "answer to b");
    assert!(!desk.shown(&kept[1]).contains("answer to b"), "the other one stays as it was");
    desk.leave();
}

fn help(desk: Desk) {
    desk.line("/help", "Show or hide all thoughts");
    desk.pty.press(&"\u{1b}[6~".repeat(9));
    desk.pty.see("draw everything afresh");
    desk.pty.press("q");
    desk.pty.see_no("draw everything afresh");
    desk.leave();
}

fn quit(mut desk: Desk) {
    desk.turn("a");
    desk.pty.line("/quit");
    assert!(desk.pty.end().success());
    desk.pty.is_given_back();
    assert!(desk.shown(&desk.kept(1)[0]).contains("answer to a"));
}
