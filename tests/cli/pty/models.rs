//! The list of models that can be chosen, and servers that are found by it.

use super::{Begin, ENTER, ESC, Pty};
use crate::place::Place;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A server of the user's own that only lists its models. It keeps the head of each request.
struct Listing {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Listing {
    fn start(names: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let list: Vec<_> = names.iter().map(|name| serde_json::json!({"id": name})).collect();
        let body = serde_json::json!({"object": "list", "data": list}).to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let head = head(&stream);
                let is_known = head.starts_with("get /v1/models ");
                kept.lock().unwrap().push(head);
                let (status, body) =
                    if is_known { ("200 OK", body.as_str()) } else { ("404 Not Found", "") };
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}");
                // A client that is gone needs no answer.
                drop((&stream).write_all(format!("{head}\r\n\r\n{body}").as_bytes()));
            }
        });
        Listing { url, asked }
    }
}

fn head(stream: &TcpStream) -> String {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    lines.join("\n").to_lowercase()
}

#[test]
fn the_picker_lists_a_provider_of_the_users_own() {
    let place = Place::new("own-models");
    let listing = Listing::start(&["small", "large"]);
    // A server that accepts a connection and sends no answer delays the list only for a short time.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!(
        "default_model = \"sim/default\"\n\
         [providers.my-vllm]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"own-secret\"\n\
         [providers.silent]\nwire = \"chat-completions\"\nbase_url = \"http://{}/v1\"\n\
         [providers.beside]\nextends = \"moonshotai\"\napi_key = {{ env = \"BESIDE_KEY\" }}\n\
         [providers.zai]\nbase_url = \"http://127.0.0.1:9/v1\"\n",
        listing.url,
        silent.local_addr().unwrap(),
    );
    let config = place.write("own.toml", &config);
    let begin = Begin { size: (110, 40), ..Begin::default() };
    let mut pty = Pty::begin(&place, &["--config", &config], &begin);
    pty.see("ask, or type");
    pty.line("/model");
    for (name, detail) in [
        ("my-vllm/small", "its key is set"),
        ("my-vllm/large", "its key is set"),
        // The entry has the rules of the provider that it extends, and reports the missing key.
        ("beside/kimi-k3", "needs a key; set `BESIDE_KEY`"),
        // Configured is not the same as having a key.
        ("zai/glm-5.3", "configured, without a key"),
    ] {
        let is_it = |line: &str| line.contains(name) && line.contains(detail);
        pty.wait(name, |screen| screen.contents().lines().any(is_it));
    }
    assert!(!pty.text().contains("own-secret"), "{}", pty.text());
    let asked = listing.asked.lock().unwrap().clone();
    assert!(asked[0].contains("authorization: bearer own-secret"), "{asked:?}");
    pty.press("large");
    pty.see_no("my-vllm/small");
    pty.press(ENTER);
    pty.see("now my-vllm/large");
    pty.press(ESC);
    pty.leave();
}
