//! Addresses anywhere in a request, in any spelling. The gateway sends no request to them.

use crate::place::Place;
use crate::serve_config::serve;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

/// Spellings of this machine's own address.
const HOSTS: [&str; 16] = [
    "127.0.0.1",
    "localhost",
    "LOCALHOST.",
    "127.0.0.1.",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "0.0.0.0",
    "api.example@127.0.0.1",
    "api.example%40127.0.0.1",
    "127\u{3002}0\u{3002}0\u{3002}1",
    "\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}",
];
/// Ways of beginning an address.
const STARTS: [&str; 4] = ["http://", "//", "http:\\\\", "/\\"];

/// Answers one request with a refusal, whatever it is. All of these requests fit into one read.
fn refuse(mut stream: TcpStream) {
    let _ = stream.read(&mut [0; 64 * 1024]);
    let _ = stream
        .write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
}

#[test]
fn t_2_no_address_that_a_caller_writes_is_asked() {
    let trap = TcpListener::bind("0.0.0.0:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let port = trap.local_addr().unwrap().port();
    let place = Place::new("addresses");
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!(
        "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"http://{}\"\napi_key = \"canary\"\n",
        upstream.local_addr().unwrap()
    );
    // The upstream refuses everything, so that the gateway does not retry.
    std::thread::spawn(move || upstream.incoming().flatten().for_each(refuse));
    let gateway = serve(&place, &config);
    let json_body = "content-type: application/json\r\n";
    for host in HOSTS {
        for start in STARTS {
            let address = format!("{start}{host}:{port}/x");
            let in_path: String = address.chars().filter(char::is_ascii).collect();
            for path in [
                format!("/p/there/{in_path}"),
                format!("/p/there/@{host}:{port}/x"),
                format!("/p/{in_path}"),
                in_path.clone(),
            ] {
                let path: String = path.chars().filter(char::is_ascii).collect();
                let answer = gateway.request("GET", &path, "", "");
                assert!(!answer.starts_with("HTTP/1.1 2"), "{path}: {answer}");
            }
            // Pictures are for the provider to fetch, or are sent along by the caller.
            let part = json!({"type": "image_url", "image_url": {"url": address}});
            for model in ["sim/anthropic-manual", "sim/gemini-3", "sim/ollama", "there/m"] {
                let body =
                    json!({"model": model, "messages": [{"role": "user", "content": [part]}]});
                let headers = format!("{json_body}x-base-url: http://127.0.0.1:{port}\r\n");
                drop(gateway.request("POST", "/v1/chat/completions", &headers, &body.to_string()));
            }
            let named = json!({"model": address, "messages": [{"role": "user", "content": "x"}]});
            drop(gateway.ask("/v1/chat/completions", &named.to_string()));
        }
    }
    assert!(trap.accept().is_err(), "somebody was led there");
}

#[test]
fn t_2_no_path_leads_out_of_a_providers_own() {
    let place = Place::new("upwards");
    let config = "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"http://127.0.0.1:9/v1/mine\"\napi_key = \"k\"\n";
    let gateway = serve(&place, config);
    for path in
        ["..", "%2e%2e", "%2E.", ".%2e", "a/../..", "a/.%2E/b", "..%2fx", "%2e%2e%5cx", "..;/x"]
    {
        let answer = gateway.request("GET", &format!("/p/there/{path}"), "", "");
        assert!(answer.starts_with("HTTP/1.1 400"), "{path}: {answer}");
        assert!(answer.contains("leads upwards"), "{path}: {answer}");
    }
    let answer = gateway.request("GET", "/p/there/a..b/.hidden/...", "", "");
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
}
