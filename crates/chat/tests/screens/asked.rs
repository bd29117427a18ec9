//! States in which tools run, and in which one waits for the user.

use crate::desk::Desk;
use crate::states::openable;
use crossterm::event::KeyCode;
use thinkthrough_chat::screen::model::View;
use thinkthrough_chat::session::{Message, Permission, Progress};
use thinkthrough_core::settings::Display;

/// A turn with a call in every state but the one that waits.
fn working() -> Desk {
    let mut desk = Desk::new(Display::Show);
    desk.ask("Look around and fix the typo.");
    desk.think(0, "I list the files first.", 12);
    desk.call(1, "list_directory", "{}");
    desk.call(2, "read_file", r#"{"path":"src/mian.rs"}"#);
    desk.call(3, "edit_file", r##"{"path":"README.md","old":"# Teh title","new":"# The title"}"##);
    desk.call(4, "shell", r#"{"command":"rm -rf build"}"#);
    desk.call(5, "shell", r#"{"command":"cargo test"}"#);
    desk.told(Progress::Asks(question("call4", "shell", "run `rm -rf build`", "")));
    desk.wait(1_000);
    desk.press(KeyCode::Char('n'));
    desk.wait(500);
    desk.gave(0, "Cargo.toml\nREADME.md\nsrc/\n", false);
    desk.gave(1, "there is no `src/mian.rs`", true);
    let diff = "edited `README.md`\n@@ -1,2 +1,2 @@\n-# Teh title\n+# The title\n unchanged";
    desk.gave(2, diff, false);
    desk.gave(3, "the user did not allow this call", true);
    desk.told(Progress::Runs { call: 4 });
    desk
}

fn question(id: &str, tool: &str, title: &str, detail: &str) -> Permission {
    Permission {
        call_id: Some(id.to_owned()),
        tool: tool.to_owned(),
        title: format!("{title}?"),
        detail: detail.to_owned(),
        language: if detail.is_empty() { String::new() } else { "diff".to_owned() },
        grant: if tool == "shell" {
            title.to_owned()
        } else {
            "edit files in the folder".to_owned()
        },
        reads_only: tool == "read_file",
    }
}

pub(crate) fn tools() -> View {
    let mut desk = working();
    desk.wait(400);
    let edit = openable(&desk.view())[3];
    desk.tell(Message::Click(edit));
    desk.view()
}

pub(crate) fn permission() -> Desk {
    let mut desk = working();
    desk.call(6, "edit_file", r#"{"path":"src/main.rs"}"#);
    let diff = "@@ line 3 @@\n-    println!(\"helo\");\n+    println!(\"hello\");";
    desk.told(Progress::Asks(question("call6", "edit_file", "edit `src/main.rs`", diff)));
    desk.wait(1_000);
    desk
}

/// A letter that will answer if nothing follows it.
pub(crate) fn letter() -> View {
    let mut desk = permission();
    desk.press(KeyCode::Char('y'));
    desk.wait(200);
    desk.view()
}

/// A text that was begun when the question could be read, typed by hand.
pub(crate) fn replying(text: &str) -> View {
    let mut desk = permission();
    for char in text.chars() {
        desk.wait(90);
        desk.press(KeyCode::Char(char));
    }
    desk.view()
}

pub(crate) fn typed_ahead() -> View {
    let mut desk = working();
    desk.write("and what is in");
    desk.call(6, "shell", r#"{"command":"make"}"#);
    desk.told(Progress::Asks(question("call6", "shell", "run `make`", "")));
    desk.wait(1_000);
    desk.view()
}

pub(crate) fn refused() -> View {
    let mut desk = permission();
    for char in "no, tell me why".chars() {
        desk.wait(90);
        desk.press(KeyCode::Char(char));
    }
    desk.wait(90);
    desk.press(KeyCode::Enter);
    desk.gave(5, "this call was not allowed: the user said: no, tell me why", true);
    desk.view()
}

pub(crate) fn writing() -> View {
    let mut desk = permission();
    desk.tell(Message::Paste("wait, what is in".into()));
    desk.view()
}
