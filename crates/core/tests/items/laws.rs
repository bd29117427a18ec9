//! What holds for every recorded exchange.

use crate::reading::{as_stream, cases, relay, rewritten, stream, whole};
use serde_json::Value;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::Block;

#[test]
fn answers_survive_being_written_again() {
    for case in cases() {
        let answer = case.answer();
        if answer.upstream_error().is_some() {
            continue;
        }
        let body = case.wire.write_response(&answer);
        assert_eq!(whole(case.wire, body.as_bytes()), answer, "{} whole\n{body}", case.id);
        let body = as_stream(case.wire, &answer);
        let text = String::from_utf8_lossy(&body);
        assert_eq!(stream(case.wire, &body), answer, "{} as a stream\n{text}", case.id);
        if case.is_stream {
            let body = relay(case.wire, &case.body);
            let text = String::from_utf8_lossy(&body);
            assert_eq!(stream(case.wire, &body), answer, "{} relayed\n{text}", case.id);
        }
    }
}

#[test]
fn requests_survive_being_written_again() {
    let mut count = 0;
    for case in cases() {
        let Some(text) = &case.request else { continue };
        count += 1;
        let body: Value = serde_json::from_str(text).unwrap();
        assert_eq!(rewritten(case.wire, text), body, "{}", case.id);
    }
    println!("{count} recorded requests");
}

#[test]
fn a_cut_stream_keeps_what_came_and_never_looks_complete() {
    for case in cases().iter().filter(|case| case.is_stream) {
        let full = case.answer();
        let text = String::from_utf8(case.body.clone()).unwrap();
        // A recording of several responses in one stream: the later ones stand in the earlier ones' place.
        let is_one = text.matches("\"type\":\"response.created\"").count() <= 1;
        let events: Vec<&str> = text.split_inclusive("\n\n").collect();
        let step = (events.len() / 60).max(1);
        for cut in (0..events.len()).step_by(step) {
            let head: String = events[..cut].concat();
            let answer = stream(case.wire, head.as_bytes());
            let has_end = ["response.completed", "interaction.completed", "\"error\":{"]
                .iter()
                .any(|end| head.contains(end));
            assert!(has_end || !answer.is_complete(), "{} at {cut}", case.id);
            if is_one {
                assert!(full.text().starts_with(&answer.text()), "{} at {cut}", case.id);
                assert!(thoughts(&full).starts_with(&thoughts(&answer)), "{} at {cut}", case.id);
            }
        }
    }
}

fn thoughts(answer: &Answer) -> String {
    answer
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Thinking(thinking) => Some(thinking.thought.as_str()),
            _ => None,
        })
        .collect()
}
