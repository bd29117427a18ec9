//! The program restores the terminal at every kind of end.

use super::paced::Paced;
use super::{Begin, CTRL_C, CTRL_D, Pty};
use crate::place::Place;
use crate::scripted::Scripted;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn a_signal_ends_it_with_the_terminal_as_it_was() {
    for name in ["-INT", "-TERM", "-HUP", "-QUIT"] {
        let place = Place::new(&format!("signal{name}"));
        let paced = Paced::start();
        let config = place.write("own.toml", &paced.config());
        let mut pty = Pty::chat(&place, &["--config", &config]);
        pty.line("why?");
        paced.asked(1);
        paced.think("half a thou");
        pty.see("half a thou");
        pty.signal(name);
        pty.end();
        pty.is_given_back();
        // The part that arrived is stored.
        let mut pty = Pty::chat(&place, &["--config", &config, "--continue"]);
        pty.see("half a thou");
        pty.leave();
    }
}

#[test]
fn ctrl_c_twice_leaves() {
    let place = Place::new("twice");
    let mut pty = Pty::chat(&place, &["-m", "sim/default"]);
    pty.press(CTRL_C);
    pty.see("press Ctrl-C again");
    pty.press(CTRL_C);
    assert!(pty.end().success());
    pty.is_given_back();
}

#[test]
fn b_11_two_quick_presses_of_ctrl_c_stop_the_answer_and_do_not_leave() {
    let place = Place::new("twice-streaming");
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.line("why?");
    paced.asked(1);
    paced.think("half a thou");
    pty.see("half a thou");
    pty.press(CTRL_C);
    pty.press(CTRL_C);
    pty.see("interrupted");
    pty.line("go on");
    paced.asked(2);
    paced.say("it goes on");
    paced.end();
    pty.see("it goes on");
    pty.leave();
}

/// A configuration that leads to a simulator at this address.
fn own(url: &str) -> String {
    format!(
        "default_model = \"own/m\"\n[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\n\
         api_key = {{ env = \"OWN_KEY\" }}\n"
    )
}

/// A provider that answers every request with this status, its address, and how many it had.
fn failing(status: u16) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut length = 0;
            for line in reader.by_ref().lines().map_while(Result::ok) {
                let line = line.to_ascii_lowercase();
                if let Some(value) = line.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.is_empty() {
                    break;
                }
            }
            drop(reader.read_exact(&mut vec![0; length]));
            counts.fetch_add(1, Ordering::SeqCst);
            let head = format!("HTTP/1.1 {status} Odd\r\ncontent-length: 0\r\nconnection: close");
            drop(write!(reader.into_inner(), "{head}\r\n\r\n"));
        }
    });
    (url, count)
}

/// Waits until the screen has this text, with any line breaks.
#[track_caller]
fn says(pty: &Pty, text: &str) {
    pty.wait(text, |screen| {
        let words = screen.contents();
        let words: Vec<&str> = words.split_whitespace().collect();
        words.join(" ").contains(text)
    });
}

#[test]
fn b_9_each_failure_says_what_it_is_and_retry_asks_again() {
    for (status, what, advice) in [
        (500, "own/m: the provider failed (status 500)", "then /retry"),
        (503, "own/m: the provider is busy (status 503)", "then /retry"),
        (401, "own/m: the key is not accepted (status 401)", "correct OWN_KEY"),
        (404, "knows no such model or address (status 404)", "check base_url"),
    ] {
        let place = Place::new(&format!("fails{status}"));
        let (url, count) = failing(status);
        let config = place.write("own.toml", &own(&url));
        let begin = Begin { size: (100, 40), env: &[("OWN_KEY", "k")], ..Begin::default() };
        let mut pty = Pty::begin(&place, &["--config", &config], &begin);
        pty.see("ask, or type");
        pty.line("why?");
        says(&pty, what);
        says(&pty, advice);
        pty.see_no("esc stops");
        assert_eq!(pty.text().contains("busy"), status == 503, "{}", pty.text());
        let before = count.load(Ordering::SeqCst);
        pty.line("/retry");
        pty.wait("another request", |_| count.load(Ordering::SeqCst) > before);
        pty.see_no("esc stops");
        pty.leave();
    }
    // No server listens, so that the chat counts the wait down.
    let place = Place::new("fails-refused");
    let config = place.write("own.toml", &own("http://127.0.0.1:9/v1"));
    let begin = Begin { size: (100, 40), env: &[("OWN_KEY", "k")], ..Begin::default() };
    let mut pty = Pty::begin(&place, &["--config", &config], &begin);
    pty.see("ask, or type");
    pty.line("why?");
    pty.see("trying again in 1 s");
    says(&pty, "cannot connect to http://127.0.0.1:9");
    says(&pty, "check the base URL and that the server runs, then /retry");
    assert!(!pty.text().contains("busy"), "{}", pty.text());
    pty.leave();
}

#[test]
fn b_6_an_answer_without_a_word_says_so() {
    let place = Place::new("no-word");
    let answers =
        vec![json!(""), json!({"role": "assistant", "content": "", "reasoning_content": "hm"})];
    let script = Scripted::new("no-word", answers, "");
    let mut pty = Pty::scripted(&place, &script);
    pty.line("one");
    pty.see("the model ended its answer without a word");
    pty.line("two");
    pty.see("the model ended its answer with a thought and no word");
    pty.leave();
}

#[test]
fn a_closed_terminal_leaves_no_process() {
    let place = Place::new("closed");
    let mut pty = Pty::chat(&place, &["-m", "sim/default"]);
    pty.close();
    pty.end();
}

#[test]
fn what_cannot_begin_says_so_on_the_terminal_as_it_is() {
    let place = Place::new("begins-not");
    let mut pty = Pty::begin(&place, &["-m", "nobody/knows"], &Begin::default());
    assert_eq!(pty.end().exit_code(), 1);
    assert!(pty.text().contains("no provider is known"), "{}", pty.text());
}

#[test]
fn a_conversation_that_is_not_kept_is_printed_without_a_way_to_continue() {
    let place = Place::new("unkept");
    let config = place.write("own.toml", "[store]\nurl = \"sqlite:/dev/null/no.db\"\n");
    let mut pty = Pty::chat(&place, &["-m", "sim/default", "--config", &config]);
    pty.see("conversations are not kept");
    pty.line("What is a needle?");
    pty.see("I know nothing");
    pty.see_no("esc stops");
    pty.press(CTRL_D);
    assert!(pty.end().success());
    let left = pty.text();
    assert!(left.contains("What is a needle?") && left.contains("I know nothing"), "{left}");
    assert!(!left.contains("continue with"), "{left}");
}
