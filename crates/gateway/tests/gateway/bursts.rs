//! Chunks that come at once, and bytes that come one by one.

use crate::naive::{Naive, read};
use crate::upstreams::{Close, HEAD as PLAIN, Scripted, begun, finish};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const BODY: &str =
    r#"{"model":"deepseek-v4","stream":true,"messages":[{"role":"user","content":"hello"}]}"#;

/// The chunks of a body, as HTTP/1.1 has them.
fn chunks(mut body: &str) -> Vec<&str> {
    let mut chunks = Vec::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let (chunk, rest) = rest.split_at(usize::from_str_radix(size, 16).unwrap());
        chunks.push(chunk);
        body = rest.strip_prefix("\r\n").unwrap();
    }
    chunks
}

/// An answer with the name of the model that was asked for.
pub(crate) fn named(answer: &[u8], model: &str) -> String {
    let answer = std::str::from_utf8(answer).unwrap();
    answer.replace("\"model\":\"m\"", &format!("\"model\":\"{model}\""))
}

#[tokio::test]
async fn what_comes_together_goes_on_together_and_keeps_its_bytes() {
    let thought = begun().split_once("\n\n").unwrap().0.to_owned() + "\n\n";
    let mut events = vec![thought; 100];
    events.push(finish());
    events.push("data: [DONE]\n\n".to_owned());
    let chunked: String = events.iter().map(|it| format!("{:x}\r\n{it}\r\n", it.len())).collect();
    let answer = [HEAD, &chunked, "0\r\n\r\n"].concat().into_bytes();
    let upstream = Scripted::start(vec![answer], Close::Fin).await;
    let town = upstream.town().await;
    let address = town.gateway.strip_prefix("http://").unwrap();
    let mut caller = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    caller.write_all(request.as_bytes()).await.unwrap();
    let mut said = String::new();
    caller.read_to_string(&mut said).await.unwrap();
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{said}");
    let chunks = chunks(body);
    assert_eq!(chunks.concat(), named(events.concat().as_bytes(), "deepseek-v4"));
    assert!(chunks.len() < events.len() / 4, "{} writes for {} chunks", chunks.len(), events.len());
}

#[tokio::test]
async fn u_4_what_drips_arrives_byte_for_byte() {
    let body = begun() + &finish() + "data: [DONE]\n\n";
    let mut pieces = vec![PLAIN.as_bytes().to_vec()];
    pieces.extend(body.bytes().map(|byte| vec![byte]));
    let upstream = Scripted::start(pieces, Close::Fin).await;
    let town = upstream.town().await;
    for api in ["chat-completions", "messages"] {
        let mut client = Naive::new(api, "deepseek-v4", true);
        client.user("What is in this folder?");
        let said = client.ask(&town, &town.gateway, &[]).await;
        assert!(read(api, &said, true).is_complete(), "{api}: {}", said.text());
        if api == "chat-completions" {
            assert_eq!(said.text(), named(body.as_bytes(), "deepseek-v4"));
        }
    }
    assert_eq!(town.memory.records(), 2);
}
