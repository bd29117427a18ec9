//! Answers that are whole, in forms that nobody asked for.

use crate::naive::{Naive, read};
use crate::upstreams::{CALLERS, Close, ENDS, Scripted, client};
use serde_json::{Value, json};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";

/// A stream of a thought and a text on `chat-completions`, packed as gzip does it.
const PACKED: &str = "1f8b0800000000000203b58ec10ac2300c86ef7d8a92b3885e7756d08b3ec018a3ac992b7689b41908d27737c5cb0e1ef5968f7c7ffe7827aeb12f081e1a0b7bd85898d963ac34571a260e0366e5562df2f8d471a70b95c441cd26749929d0ad1f9804496af86c23f3dd8e2165d942d1c01828e4a9ffd8aad01263e98a31fe073fac9a4f98f0ff8ddfee43167ec0aaa13d5c2fc7ce98374ac120bc66010000";

/// One value with the same, packed likewise.
const PACKED_VALUE: &str = "1f8b08000000000002033d8cc10ac23010447f45e65c8a5ef305fa0d2225246bbb98ee4a360721e4dfbb22789a6166de747046c0051376cd54dcefeed3a69cc810ee1d2c993e08675f90595c09a1a36a714534636b519a3395a2a9b0ac4b5269e459c0ed54545ff3f7f19f5da9d28c31e1c9c2b62d3fce0b6bfac6788c033104d8dd94000000";

pub(crate) fn packed() -> Vec<u8> {
    bytes(PACKED)
}

pub(crate) fn packed_value() -> Vec<u8> {
    bytes(PACKED_VALUE)
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[tokio::test]
async fn u_17_what_is_packed_though_nobody_asked_is_unpacked_for_every_caller() {
    let head = format!("{HEAD}content-encoding: gzip\r\n\r\n");
    let whole = [head.as_bytes(), &packed()].concat();
    let upstream = Scripted::start(vec![whole.clone()], Close::Fin).await;
    let town = upstream.town().await;
    for api in CALLERS {
        let said = client(api).ask(&town, &town.gateway, &[]).await;
        assert!(!said.headers.contains_key("content-encoding"), "{api}");
        assert!(said.text().contains("I look first."), "{api}: {}", said.text());
        assert!(read(api, &said, true).is_complete(), "{api}: {}", said.text());
    }
    assert_eq!(town.memory.records(), CALLERS.len());
    // The last bytes of it are missing, and a form that nobody here can unpack.
    let short = whole[..whole.len() - 6].to_vec();
    let brotli = format!("{HEAD}content-encoding: br\r\n\r\nxxxx").into_bytes();
    for (answer, what) in [(short, "cut"), (brotli, "brotli")] {
        let upstream = Scripted::start(vec![answer], Close::Fin).await;
        let town = upstream.town().await;
        for api in CALLERS {
            let said = client(api).ask(&town, &town.gateway, &[]).await;
            let is_told = said.status == 502 || read(api, &said, true).upstream_error().is_some();
            // What came before the cut may be all that the wire has to say.
            let is_whole = what == "cut" && ENDS.iter().any(|end| said.text().contains(end));
            assert!(is_told || is_whole, "{what} {api}: {}", said.text());
        }
    }
}

#[tokio::test]
async fn u_15_what_follows_the_end_on_messages_is_no_second_answer() {
    let part =
        |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let start = part(json!({"type": "message_start", "message": {"id": "m", "type": "message",
        "role": "assistant", "model": "m", "content": [],
        "usage": {"input_tokens": 1, "output_tokens": 1}}}));
    let block = |at: u32, text: &str| {
        part(json!({"type": "content_block_start", "index": at,
            "content_block": {"type": "text", "text": ""}}))
            + &part(json!({"type": "content_block_delta", "index": at,
                "delta": {"type": "text_delta", "text": text}}))
            + &part(json!({"type": "content_block_stop", "index": at}))
    };
    let end = part(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 2}}));
    let stop = part(json!({"type": "message_stop"}));
    let body =
        format!("{HEAD}\r\n{start}{}{end}{stop}{}{stop}", block(0, "Here."), block(1, "There."));
    let upstream = Scripted::start(vec![body.into_bytes()], Close::Fin).await;
    let town = upstream.town().await;
    for (api, end) in CALLERS.into_iter().zip(ENDS) {
        let mut client = Naive::new(api, "anthropic-manual", true);
        client.user("Where?");
        let said = client.ask(&town, &town.gateway, &[]).await;
        let answer = read(api, &said, true);
        assert!(answer.is_complete(), "{api}: {}", said.text());
        // On its own wire the caller sees what came; no other one does.
        if api != "messages" {
            assert_eq!(answer.text(), "Here.", "{api}: {}", said.text());
            assert_eq!(said.text().matches(end).count(), 1, "{api}: {}", said.text());
        }
    }
}
