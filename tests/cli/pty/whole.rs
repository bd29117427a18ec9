//! A whole session in one go: start, tools, thoughts toggled before, during and after the stream,
//! other sizes, an interrupt, the end, going on later.

use super::paced::Paced;
use super::session::{DARK, is_thought};
use super::{CTRL_D, CTRL_T, ESC, Pty, find};
use crate::place::Place;
use serde_json::json;

/// The box of the composer reaches both edges, and the status line is the last row.
#[track_caller]
fn fits(pty: &Pty, size: (u16, u16)) {
    pty.wait(&format!("{size:?}"), |screen| {
        let (rows, columns) = screen.size();
        let row = |at: u16| screen.rows(0, columns.get()).nth(usize::from(at)).unwrap();
        (columns.get(), rows.get()) == size
            && row(rows.get() - 2).trim_end().ends_with('╯')
            && row(rows.get() - 1).contains("paced/m")
    });
}

#[test]
fn a_whole_session_from_its_start_to_going_on_later() {
    let place = Place::new("whole");
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.see("Hello.");
    fits(&pty, (80, 24));
    toggled_and_resized_in_a_tool_loop(&pty, &paced);
    asked_before_a_change(&pty, &paced);
    assert_eq!(std::fs::read_to_string(place.folder().join("made.txt")).unwrap(), "blue\n");
    interrupted_and_steered(&pty, &paced);
    pty.press(CTRL_T);
    pty.see("Thinking blocks: hidden");
    pty.line("/thinking save");
    pty.see("is off in");
    pty.leave();
    // Later, on a larger screen.
    let mut pty = Pty::chat(&place, &["--config", &config, "--continue"]);
    pty.resize((100, 60));
    fits(&pty, (100, 60));
    everything_is_there_and_goes_on(&pty, &paced);
    pty.press(CTRL_D);
    assert!(pty.end().success());
    pty.is_given_back();
    let list = place.think(&["sessions", "list", "--json", "--config", &config]).json();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list[0]["title"], "What does needle.txt say?");
}

fn toggled_and_resized_in_a_tool_loop(pty: &Pty, paced: &Paced) {
    // Thoughts are hidden before the first one comes, and shown while it does.
    pty.line("/thinking");
    pty.see("Thinking blocks: hidden");
    pty.line("What does needle.txt say?");
    paced.asked(1);
    paced.think("first I look");
    pty.see("Thinking for");
    assert!(!pty.text().contains("first I look"), "{}", pty.text());
    pty.press(CTRL_T);
    pty.see("first I look");
    pty.resize((100, 30));
    fits(pty, (100, 30));
    paced.think(" into the file");
    pty.see("first I look into the file");
    is_thought(&pty.cell("first I look"), DARK);

    // The tool runs, its result and the thought before it go back, and the next thought comes.
    paced.call("read_file", &json!({"path": "needle.txt"}));
    let body = paced.asked(2).to_string();
    assert!(body.contains("the needle is blue\\\\n") || body.contains("the needle is blue\\n"));
    assert!(body.contains("first I look into the file"), "{body}");
    pty.see("✓ read_file");
    paced.think("now I know it");
    pty.see("now I know it");
    pty.press(CTRL_T);
    pty.see_no("now I know it");
    pty.see_no("first I look");
    pty.resize((80, 24));
    fits(pty, (80, 24));
    paced.say("It says that it is blue.");
    paced.end();
    pty.see("It says that it is blue.");
    pty.see_no("esc stops");

    // After the stream the past follows.
    pty.press(CTRL_T);
    pty.see("now I know it");
    is_thought(&pty.cell("now I know it"), DARK);
    assert!(!pty.cell("It says that").italic());
}

fn asked_before_a_change(pty: &Pty, paced: &Paced) {
    pty.line("Write it down.");
    paced.asked(3);
    paced.call("shell", &json!({"command": "echo blue > made.txt"}));
    pty.answer("y");
    pty.see("✓ shell");
    let body = paced.asked(4).to_string();
    assert!(body.contains("now I know it"), "{body}");
    paced.say("It is written down.");
    paced.end();
    pty.see("It is written down.");
    pty.see_no("esc stops");
}

/// In the middle of a thought.
fn interrupted_and_steered(pty: &Pty, paced: &Paced) {
    pty.line("And what is deeper?");
    paced.asked(5);
    paced.think("on the wrong track");
    pty.see("on the wrong track");
    pty.press(ESC);
    pty.see("(broken off)");
    pty.see("interrupted");
    paced.left(1);
    pty.see_no("esc stops");
    pty.line("Think of the sea.");
    paced.asked(6);
    paced.think("the sea, then");
    pty.see("the sea, then");
    paced.say("Salt.");
    paced.end();
    pty.see("Salt.");
    pty.see_no("esc stops");
}

/// Hidden as it was left, and shown when asked.
fn everything_is_there_and_goes_on(pty: &Pty, paced: &Paced) {
    pty.see("What does needle.txt say?");
    let thoughts = ["first I look into the file", "now I know it", "on the wrong track", "the sea"];
    for thought in &thoughts[..3] {
        assert!(!pty.text().contains(thought), "{thought}:\n{}", pty.text());
    }
    pty.line(":toggle thinking");
    for text in thoughts.into_iter().chain(["✓ read_file", "✓ shell", "(broken off)", "Salt."])
    {
        pty.see(text);
    }
    let order = |text: &str| pty.look(|screen| find(screen, text)).unwrap().0;
    let rows: Vec<u16> = ["What does", "first I look", "✓ read_file", "now I know", "It says"]
        .into_iter()
        .map(order)
        .collect();
    assert!(rows.is_sorted(), "everything stands where it was said: {rows:?}\n{}", pty.text());
    pty.line("And then?");
    let body = paced.asked(7).to_string();
    for thought in ["first I look into the file", "now I know it", "the sea, then"] {
        assert!(body.contains(thought), "{thought}: {body}");
    }
    paced.say("Foam.");
    paced.end();
    pty.see("Foam.");
    pty.see_no("esc stops");
}
