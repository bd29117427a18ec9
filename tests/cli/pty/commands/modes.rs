//! `/undo`, `/plan`, `/init` and `/theme`.

use super::Desk;
use crate::pty::find;
use serde_json::json;
use vt100::Screen;

pub(super) fn undo(mut desk: Desk) {
    desk.turn("a");
    desk.turn("b");
    desk.line("/undo", "this is a copy now");
    desk.pty.see("› b");
    desk.pty.press("\u{15}");
    let body = desk.turn("c");
    assert!(body.contains("answer to a") && !body.contains("answer to b"), "{body}");
}

pub(super) fn plan(mut desk: Desk) {
    desk.line("/plan", "plan mode: only tools that read run");
    desk.pty.line("go");
    desk.asked += 1;
    desk.paced.asked(desk.asked);
    desk.paced.call("shell", &json!({"command": "touch made"}));
    let body = desk.answer("go");
    assert!(body.contains("plan mode is on"), "{body}");
    assert!(!desk.place.folder().join("made").exists());
    desk.line("/plan off", "plan mode is off");
}

pub(super) fn init(mut desk: Desk) {
    desk.pty.line("/init");
    let body = desk.answer("init");
    assert!(body.contains("write `AGENTS.md`"), "{body}");
}

pub(super) fn theme(mut desk: Desk) {
    desk.turn("a");
    let ground = |screen: &Screen| {
        let (row, column) = find(screen, "Thought for")?;
        screen.cell(row, column).map(vt100::Cell::bgcolor)
    };
    let dark = desk.pty.look(ground);
    assert!(dark.is_some());
    desk.pty.line("/theme light");
    desk.pty.wait("a light ground", |screen| ground(screen).is_some_and(|it| Some(it) != dark));
    desk.pty.line("/theme auto");
    desk.pty.wait("the ground of before", |screen| ground(screen) == dark);
}
