//! The first minute of a user without a key and a configuration, with and without a local server.
//!
//! The tests look at the usual ports of the machine, so that they run in a network namespace of
//! their own. The tests are skipped if the system has no namespaces.
#![cfg(target_os = "linux")]

use super::{Begin, Pty};
use crate::place::Place;
use std::process::Command;

/// `think chat` without arguments, after these commands, in an empty network namespace. `None` if
/// the system gives none.
fn bare(place: &Place, before: &str) -> Option<Pty> {
    let up = "ip link set lo up";
    let path = "/usr/sbin:/usr/bin:/sbin:/bin";
    let can = Command::new("unshare").args(["-rn", "sh", "-c", up]).env("PATH", path).output();
    if !can.is_ok_and(|output| output.status.success()) {
        println!("skipped: `unshare -rn` gives no network of its own here");
        return None;
    }
    let script = format!("{up} && {before} exec '{}' chat", env!("CARGO_BIN_EXE_think"));
    let begin = Begin { size: (100, 40), env: &[("PATH", path)], ..Begin::default() };
    Some(Pty::start(place, "unshare", &["-rn", "sh", "-c", &script], &begin))
}

/// A server that would outlive the chat. It is killed when this value is dropped.
struct Served(String);

impl Drop for Served {
    fn drop(&mut self) {
        drop(Command::new("kill").args(["-KILL", self.0.trim()]).status());
    }
}

/// The lines of the greeting.
fn greeting(pty: &Pty) -> Vec<String> {
    pty.see("/help says more");
    let text = pty.text();
    let first = text.lines().position(|line| line.contains("Hello.")).unwrap();
    let lines = text.lines().skip(first).map(|line| line.trim_matches(['│', '·', ' ']).to_owned());
    lines.take_while(|line| !line.is_empty()).collect()
}

#[test]
fn bare_think_chat_greets_in_three_lines_and_a_tool_loop_works() {
    let place = Place::new("bare");
    let Some(mut pty) = bare(&place, "") else { return };
    pty.see("ask, or type");
    let greeting = greeting(&pty);
    assert_eq!(greeting.len(), 3, "{}", pty.text());
    assert!(
        greeting[0].contains("sim/default") && greeting[0].contains("simulated"),
        "{greeting:?}"
    );
    assert!(
        greeting[1].contains("_API_KEY") && greeting[1].contains("local server"),
        "{greeting:?}"
    );
    assert!(greeting[2].contains("asks before it changes anything"), "{greeting:?}");
    pty.line("What is in this folder?");
    pty.see("✓ list_directory");
    pty.see("list_directory gave");
    pty.see("Thought for");
    pty.line("Read needle.txt.");
    pty.see("✓ read_file");
    pty.see("the needle is blue");
    pty.see_no("esc stops");
    pty.leave();
}

#[test]
fn a_local_server_is_found_and_answers() {
    let place = Place::new("bare-local");
    // An OpenAI-compatible server on the usual port of a known one: our own gateway.
    let think = env!("CARGO_BIN_EXE_think");
    let serve = format!(
        "XDG_DATA_HOME=\"$HOME/served\" '{think}' serve --listen 127.0.0.1:8000 >\"$HOME/log\" 2>&1 & \
         echo $! > \"$HOME/id\"; until grep -qs listening \"$HOME/log\"; do sleep 0.05; done;"
    );
    let Some(mut pty) = bare(&place, &serve) else { return };
    pty.see("ask, or type");
    let _served = Served(std::fs::read_to_string(place.file("id")).unwrap());
    let greeting = greeting(&pty);
    assert!(greeting[0].contains("vllm/sim/default (a local server answers)"), "{greeting:?}");
    assert_eq!(greeting.len(), 3, "{greeting:?}");
    pty.line("What is in this folder?");
    pty.see("✓ list_directory");
    pty.see("Thought for");
    pty.see("needle.txt");
    pty.see_no("esc stops");
    // The log collects lines for a moment before it writes them.
    let log = || std::fs::read_to_string(place.file("log")).unwrap();
    let is_logged = |_: &u32| log().contains("/v1/chat/completions completed model=sim/default");
    let wait = |_: &u32| std::thread::sleep(std::time::Duration::from_millis(50));
    assert!((0..600).inspect(wait).any(|at| is_logged(&at)), "{}", log());
    // It is in the list too.
    pty.line("/model");
    pty.see("Models");
    pty.press("local server kimi-k2");
    pty.see("vllm/sim/kimi-k2");
    pty.press("\r");
    pty.see("now vllm/sim/kimi-k2");
    pty.line("Read needle.txt.");
    pty.see("the needle is blue");
    pty.see_no("esc stops");
    pty.leave();
}
