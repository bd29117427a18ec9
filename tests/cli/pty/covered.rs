//! Secrets that a tool reads and a model says, looked for in every byte that the chat sends to its
//! terminal.

use super::{Begin, CTRL_D, ENTER, Pty};
use crate::place::Place;
use crate::scripted::{Scripted, call};
use serde_json::json;

/// A key in a known format that belongs to no account.
fn key() -> String {
    format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3))
}

fn script(config: &str) -> Scripted {
    let key = key();
    let calls = json!([call("a", "read_file", &json!({"path": "notes.md"}))]);
    let answer = json!({"role": "assistant", "content": format!("Said: {key}"),
        "reasoning_content": format!("Thought: {key}")});
    Scripted::new("chat-covered", vec![calls, answer, json!("and so on")], config)
}

const CTRL_END: &str = "\u{1b}[1;5F";

/// Whether the terminal received the key, as bytes or cell by cell.
fn sees(pty: &Pty) -> bool {
    let rows = pty.text().contains("a1B2c3D4e5F6");
    rows || String::from_utf8_lossy(&pty.sent()).contains("a1B2c3D4e5F6")
}

#[test]
fn adr_boundaries_no_secret_reaches_the_terminal_and_the_model_is_sent_what_it_was() {
    for (config, is_covered) in [("", true), ("[masking]\noutput = false\n", false)] {
        let config = format!("{config}[reasoning]\ndisplay = \"show\"\n");
        let (place, script) = (Place::new("chat-covered"), script(&config));
        std::fs::write(place.folder().join("notes.md"), format!("Read: {}\n", key())).unwrap();
        let mut pty = Pty::scripted(&place, &script);
        pty.line("Read the notes.");
        let mark = if is_covered { "[masked:github-token:" } else { "a1B2c3D4e5F6" };
        for said in ["Thought: ", "Said: "] {
            pty.see(&format!("{said}{}", if is_covered { mark } else { "ghp_a1B2c3D4e5F6" }));
        }
        pty.click("read_file");
        pty.see(&format!("Read: {}", if is_covered { mark } else { "ghp_a1B2c3D4e5F6" }));
        assert_eq!(sees(&pty), !is_covered, "{}", pty.text());
        assert_eq!(script.results(), [format!("Read: {}\n", key())]);
        // An export with `--mask` is masked whatever the screen shows. Other exports are not.
        for (line, is_whole) in [("/export all.md", true), ("/export shared.md --mask", false)] {
            pty.line(line);
            // The opened result keeps the screen where it is.
            pty.press(CTRL_END);
            let name = line.split(' ').nth(1).unwrap_or_default();
            pty.see(&format!("written to {name}"));
            let written = std::fs::read_to_string(place.folder().join(name)).unwrap();
            let has = ["Read: ", "Thought: ", "Said: "]
                .map(|of| written.contains(&format!("{of}{}", key())));
            assert_eq!(has, [is_whole; 3], "{written}");
            assert_eq!(written.contains("[masked:github-token:"), !is_whole, "{written}");
        }
        pty.press(CTRL_D);
        assert!(pty.end().success());
        // The conversation is stored without a mask. Its display is masked again, and its requests
        // are not.
        let config = script.path("config.toml").display().to_string();
        let begin = Begin { env: &[("ODD_NAME", "a-key")], ..Begin::default() };
        let mut pty = Pty::begin(&place, &["--continue", "--config", &config], &begin);
        pty.see(&format!("Said: {}", if is_covered { mark } else { "ghp_a1B2c3D4e5F6" }));
        pty.line("Go on.");
        pty.see("and so on");
        assert_eq!(sees(&pty), !is_covered, "{}", pty.text());
        let sent = script.last()["messages"].to_string();
        assert!(sent.contains(&format!("Said: {}", key())), "{sent}");
        assert!(!sent.contains("[masked:"), "{sent}");
        pty.press(CTRL_D);
        assert!(pty.end().success());
        titles(&place, &config, mark, is_covered);
    }
}

/// Checks a title with a secret, in the list and above the opened conversation.
fn titles(place: &Place, config: &str, mark: &str, is_covered: bool) {
    let (file, title) = (place.folder().join("all.md"), format!("About {}", key()));
    let file = file.display().to_string();
    let ran = place.think(&["sessions", "import", &file, "--title", &title, "--config", config]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let begin = Begin { env: &[("ODD_NAME", "a-key")], ..Begin::default() };
    let mut pty = Pty::begin(place, &["--config", config], &begin);
    pty.line("/sessions");
    pty.see("Conversations");
    pty.press("About");
    let shown = if is_covered { mark } else { "ghp_a1B2c3D4e5F6" };
    pty.see(&format!("About {shown}"));
    pty.press(ENTER);
    pty.see(&format!("opened: About {shown}"));
    assert_eq!(sees(&pty), !is_covered, "{}", pty.text());
    pty.press(CTRL_D);
    assert!(pty.end().success());
}
