//! What holds for every recorded exchange.

use crate::fixtures::{WIRES, stream_file};
use crate::reading::{
    as_stream, cases, decode, framer, message_end, relay, rewritten, stream, whole,
};
use serde_json::Value;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::Block;
use thinkthrough_core::event::{Event, Fold};
use thinkthrough_core::frame::Frame;
use thinkthrough_core::wire::Dialect;
use thinkthrough_json::{Extra, Raw};

#[test]
fn answers_survive_being_written_again() {
    for case in cases() {
        let answer = case.answer();
        if answer.upstream_error().is_some() {
            continue;
        }
        let body = case.wire.write_response(&answer);
        let mut inside = answer.clone();
        if case.is_stream && case.wire.id() == "responses" {
            // A whole answer has no event around it: what stood beside it in the last event stands in it.
            inside.extra = flat(inside.extra);
        }
        assert_eq!(whole(case.wire, body.as_bytes()), inside, "{} whole\n{body}", case.id);
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

/// The fields, with what stood beside the answer among them.
fn flat(extra: Extra) -> Extra {
    let Extra { wire, mut fields, notes } = extra;
    let (beside, notes): (Vec<_>, _) = notes.into_iter().partition(|(name, _)| name == "choice");
    for (_, value) in beside {
        let beside = value.doc();
        let members = beside.root().entries();
        fields.extend(members.map(|(key, value)| (key.into_owned(), Raw::from(value))));
    }
    Extra { wire, fields, notes }
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
        let events: Vec<&str> = text.split_inclusive(message_end(case.wire)).collect();
        let step = (events.len() / 60).max(1);
        for cut in (0..events.len()).step_by(step) {
            let head: String = events[..cut].concat();
            let answer = stream(case.wire, head.as_bytes());
            let has_end = ENDS.iter().any(|end| head.contains(end));
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

/// The bytes of a stream one at a time give what they give at once.
#[test]
fn the_way_a_stream_is_cut_makes_no_difference() {
    for case in cases().iter().filter(|case| case.is_stream) {
        let mut decoder = case.wire.decoder(&Dialect::default());
        let mut fold = Fold::new();
        let mut framer = framer(case.wire);
        let mut take = |frame: Frame<'_>| {
            if let Frame::Event(event) = frame {
                decoder.message(event.event, event.data, &mut fold);
            }
        };
        case.body.chunks(1).for_each(|byte| framer.push(byte, &mut take));
        framer.end(&mut take);
        decoder.end(&mut fold);
        assert_eq!(fold.finish(), case.answer(), "{}", case.id);
    }
}

/// What ends a stream, or says that it has failed.
const ENDS: [&str; 6] = [
    "response.completed",
    "interaction.completed",
    "message-end",
    "\"done\":true",
    "\"error\":{",
    "\"finishReason\"",
];

fn fixture(wire: &str) -> Vec<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/wires");
    let text = std::fs::read_to_string(format!("{root}/{wire}/{}", stream_file(wire))).unwrap();
    let end = message_end(thinkthrough_core::wire::find(wire).unwrap());
    text.split_inclusive(end).map(str::to_owned).collect()
}

proptest::proptest! {
    /// Events that are missing, doubled or out of order: nothing panics, blocks are numbered without holes, no
    /// block is begun twice at once, and nothing looks complete without the wire's end.
    #[test]
    fn events_in_any_order_are_survived(picks in proptest::collection::vec(0_usize..200, 0..40)) {
        for name in WIRES {
            let wire = thinkthrough_core::wire::find(name).unwrap();
            let events = fixture(name);
            let body: String = picks.iter().map(|pick| events[pick % events.len()].as_str()).collect();
            let mut announced = 0;
            let mut holes = 0;
            decode(wire, body.as_bytes(), &mut |event: Event<'_>| {
                if let Event::ThinkingStart { block, .. }
                | Event::TextStart { block }
                | Event::ToolCallStart { block, .. }
                | Event::Whole { block, .. } = event
                {
                    holes += usize::from(block > announced);
                    announced = announced.max(block + 1);
                }
            });
            proptest::prop_assert_eq!(holes, 0, "{}", &body);
            let answer = stream(wire, body.as_bytes());
            let has_end = ENDS.iter().any(|end| body.contains(end));
            proptest::prop_assert!(has_end || !answer.is_complete());
            let relayed = stream(wire, &relay(wire, body.as_bytes()));
            proptest::prop_assert!(answer.is_complete() || !relayed.is_complete());
            let again = whole(wire, wire.write_response(&answer).as_bytes());
            proptest::prop_assert_eq!(again.text(), answer.text());
        }
    }
}
