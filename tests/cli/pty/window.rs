//! The context window of an unknown model is learned from its server, after the first answer.

use super::Pty;
use crate::place::Place;
use crate::upstream::chat;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// A server that answers every question and describes itself at one path. Also returns the request
/// lines.
fn server(place: &'static str, about: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
            reader.read_line(&mut first).unwrap();
            while line.trim() != "" || line.is_empty() {
                line.clear();
                reader.read_line(&mut line).unwrap();
                let head = line.to_ascii_lowercase();
                let said = head.strip_prefix("content-length:");
                length = said.map_or(length, |it| it.trim().parse().unwrap());
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let (status, answer) = if first.starts_with("POST") {
                ("200 OK", chat("", "an answer", None))
            } else if first.split(' ').nth(1) == Some(place) {
                ("200 OK", about.to_owned())
            } else {
                ("404 No", String::new())
            };
            kept.lock().unwrap().push(first.trim_end().to_owned());
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                answer.len()
            );
            // The client may have left.
            drop(reader.into_inner().write_all((head + &answer).as_bytes()));
        }
    });
    (url, asked)
}

#[test]
fn each_kind_of_server_is_asked_once_and_only_after_it_answered() {
    for (at, about) in [
        (
            "/v1/models",
            r#"{"data":[{"id":"other","max_model_len":1},{"id":"m","max_model_len":40000}]}"#,
        ),
        ("/props", r#"{"default_generation_settings":{"n_ctx":40000}}"#),
        (
            "/api/v0/models",
            r#"{"data":[{"id":"m","max_context_length":80000,"loaded_context_length":40000}]}"#,
        ),
        ("/api/ps", r#"{"models":[{"name":"m","model":"m","context_length":40000}]}"#),
    ] {
        let place = Place::new("window");
        let (url, asked) = server(at, about);
        let config =
            format!("[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\n");
        let config = place.write("own.toml", &config);
        let mut pty = Pty::chat(&place, &["--config", &config, "-m", "own/m"]);
        assert!(asked.lock().unwrap().is_empty(), "nothing is called at start");
        pty.line("hello");
        pty.see("an answer");
        pty.see("/40000");
        let lines = asked.lock().unwrap().clone();
        assert!(lines[0].starts_with("POST "), "{lines:?}");
        pty.line("again");
        pty.wait("the second answer", |screen| screen.contents().matches("an answer").count() == 2);
        pty.leave();
        let after = asked.lock().unwrap().clone();
        let looks = |lines: &[String]| lines.iter().filter(|line| line.starts_with("GET")).count();
        assert_eq!(looks(&after), looks(&lines), "{after:?}");
    }
}

#[test]
fn what_is_configured_is_not_asked_for() {
    let place = Place::new("window-known");
    let (url, asked) = server("/v1/models", r#"{"data":[{"id":"m","max_model_len":40000}]}"#);
    let config = format!(
        "[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\n\
         [models.m]\nprovider = \"own\"\ncontext_window = 70000\n"
    );
    let config = place.write("own.toml", &config);
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.line("hello");
    pty.see("an answer");
    pty.see("/70000");
    pty.leave();
    assert!(asked.lock().unwrap().iter().all(|line| line.starts_with("POST")));
}
