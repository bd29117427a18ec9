//! Recorded traffic. Without the recordings these tests say so and pass.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::sse_standard::as_the_standard_says;
use super::{Framing, Seen, SeenEvent};
use crate::frame::event_stream::{EventStreamDecoder, encode_message};
use crate::frame::ndjson;

/// The recorded bodies of one framing, each with its directory.
fn recorded(framing: Framing) -> Vec<(PathBuf, Vec<u8>)> {
    let root = std::env::var_os("THINKTHROUGH_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    );
    let Ok(manifest) = fs::read(root.join("manifest.json")) else {
        println!("the recorded traffic is absent: set THINKTHROUGH_CORPUS to run this test");
        return Vec::new();
    };
    let cases: Vec<Value> = serde_json::from_slice(&manifest).unwrap();
    let mut bodies = Vec::new();
    for case in cases.iter().filter(|case| case["streaming"] == true) {
        let dir = root.join(case["dir"].as_str().unwrap());
        let meta: Value =
            serde_json::from_slice(&fs::read(dir.join("meta.json")).unwrap()).unwrap();
        let content_type = meta["content_type"].as_str().unwrap_or_default();
        if Framing::from_content_type(content_type) == Some(framing) {
            let body = fs::read(dir.join("response.bin")).unwrap();
            bodies.push((dir, body));
        }
    }
    assert!(!bodies.is_empty(), "the recorded traffic has bodies of every framing");
    println!("{} recorded bodies", bodies.len());
    bodies
}

/// The events of a recorded body, which has to be free of problems.
fn events(dir: &Path, frames: Vec<Seen>) -> Vec<SeenEvent> {
    let mut events = Vec::new();
    for seen in frames {
        match seen {
            Seen::Event(event) => events.push(event),
            Seen::Comment => {}
            Seen::Problem(problem) => panic!("{}: {problem}", dir.display()),
        }
    }
    assert!(!events.is_empty(), "{}", dir.display());
    events
}

/// Data is JSON but for the mark at the end of a stream.
fn assert_json(dir: &Path, events: &[SeenEvent]) {
    for SeenEvent { data, .. } in events {
        let whole = data == "[DONE]" || serde_json::from_str::<Value>(data).is_ok();
        assert!(whole, "{}: {data}", dir.display());
    }
}

#[test]
fn recorded_server_sent_events_obey_the_law_and_the_standard() {
    for (dir, body) in recorded(Framing::Sse) {
        let seen = super::frames(Framing::Sse, &body);
        assert_eq!(seen, as_the_standard_says(&body), "{}", dir.display());
        assert_json(&dir, &events(&dir, seen));
    }
}

#[test]
fn recorded_json_lines_obey_the_law_and_are_written_back() {
    for (dir, body) in recorded(Framing::Ndjson) {
        let events = events(&dir, super::frames(Framing::Ndjson, &body));
        assert_json(&dir, &events);
        let mut written = Vec::new();
        for event in &events {
            ndjson::encode_line(&event.data, &mut written);
        }
        assert_eq!(written, body, "{}", dir.display());
    }
}

#[test]
fn recorded_aws_messages_obey_the_law_and_are_written_back() {
    for (dir, body) in recorded(Framing::EventStream) {
        let events = events(&dir, super::frames(Framing::EventStream, &body));
        assert_json(&dir, &events);
        assert!(events.iter().all(|event| event.event.is_some()), "{}", dir.display());
        let mut written = Vec::new();
        EventStreamDecoder::default().push_messages(&body, &mut |message| {
            let message = message.unwrap();
            let headers: Vec<_> = message.headers.iter().collect();
            encode_message(&headers, message.payload, &mut written).unwrap();
        });
        assert_eq!(written, body, "{}", dir.display());
    }
}
