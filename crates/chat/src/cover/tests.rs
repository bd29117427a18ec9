//! Events and messages with secrets in them.

use super::Cover;
use thinkthrough_core::content::{Block, Content, Speaker, Text, Thinking, ToolCall};
use thinkthrough_core::content::{Parameters, ToolResponse};
use thinkthrough_core::event::{Event, Fact};
use thinkthrough_core::problem::{Problem, ProblemCode};
use thinkthrough_json::{Extra, Raw};
use thinkthrough_mask::{Masker, Tiers};

fn masker() -> Masker {
    let mut masker = Masker::new(Tiers::CERTAIN, &[7; 32]);
    assert!(masker.register("registered s3cret/value"));
    masker
}

fn cover() -> Cover {
    Cover::new(Some(masker()))
}

/// A made-up key of a well-known form.
fn key() -> String {
    format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3))
}

/// The text of all events, joined.
fn said(events: &[Event<'_>]) -> String {
    let (mut covered, mut said) = (cover().events(), String::new());
    let mut hear = |event: Event<'_>| match event {
        Event::ThinkingDelta { delta, .. }
        | Event::TextDelta { delta, .. }
        | Event::ToolCallDelta { delta, .. }
        | Event::Fact(Fact::Refusal(delta) | Fact::ToolPlan(delta)) => said.push_str(delta),
        other => said.push_str(&format!("<{other:?}>")),
    };
    events.iter().for_each(|event| covered.event(*event, &mut hear));
    said
}

#[test]
fn a_text_that_comes_in_pieces_is_covered_as_the_whole_and_ends_with_its_block() {
    let text = format!("It is {} or registered%20s3cret%2Fvalue, gh", key());
    let whole = masker().mask_text(&text);
    let (thinking, end) = (Thinking::new("", "thinking"), Text::new(""));
    for cut in 1..text.len() {
        let (one, two) = text.split_at(cut);
        let thought = said(&[
            Event::ThinkingStart { block: 0, source_field: "thinking" },
            Event::ThinkingDelta { block: 0, delta: one },
            Event::ThinkingDelta { block: 0, delta: two },
            Event::ThinkingEnd { block: 0, thinking: &thinking, thought: None },
        ]);
        assert!(thought.contains(&format!("{whole}<ThinkingEnd")), "{cut}: {thought}");
        // Two texts at once do not mix.
        let both = said(&[
            Event::TextDelta { block: 1, delta: one },
            Event::ToolCallDelta { block: 2, delta: "plain" },
            Event::TextDelta { block: 1, delta: two },
            Event::TextEnd { block: 1, text: &end, whole: Some(&text) },
        ]);
        assert_eq!(both.replace("plain", "").matches(whole.as_str()).count(), 2, "{cut}: {both}");
        let choice = [one, two].map(|delta| Event::TextDelta { block: 0, delta });
        let mut covered = cover().events();
        let mut out = String::new();
        let last = Event::TextEnd { block: 0, text: &end, whole: None };
        for event in choice.iter().chain([&last]) {
            covered.event(Event::Choice { index: 1, event }, &mut |event| {
                if let Event::Choice { index: 1, event: Event::TextDelta { delta, .. } } = event {
                    out.push_str(delta);
                }
            });
        }
        assert_eq!(out, whole, "{cut}");
        let refused = said(&[
            Event::Fact(Fact::Refusal(one)),
            Event::Fact(Fact::Refusal(two)),
            Event::Finish { finish_reason: None, model: None },
        ]);
        assert!(refused.starts_with(&format!("{whole}<Finish")), "{cut}: {refused}");
    }
}

#[test]
fn what_comes_whole_is_covered_in_every_place_and_what_is_sealed_stays() {
    let (key, cover) = (key(), cover());
    let mut thinking = Thinking::new(key.clone(), "summary");
    thinking.summary = Some(vec![key.clone()]);
    thinking.content = Some(vec![key.clone()]);
    thinking.signature = Some(format!("sealed-{key}"));
    let arguments = Raw::parse(&format!("{{\"id\":\"{key}\",\"n\":1}}")).unwrap();
    let call = ToolCall { parameters: Parameters::Json(arguments), ..ToolCall::new(None, "f") };
    let free = ToolCall { parameters: Parameters::Free(key.clone()), ..call.clone() };
    let response = ToolResponse {
        call_id: None,
        name: None,
        result: Raw::string(&format!("API={key}\n")).into(),
        is_error: false,
        extra: Extra::default(),
    };
    let blocks = vec![
        Block::Thinking(thinking.clone()),
        Block::Text(Text::new(key.clone())),
        Block::ToolCall(call.clone()),
        Block::ToolCall(free),
        Block::ToolResponse(response),
    ];
    let content = Content::new(Speaker::Ai, blocks);
    let shown = format!("{:?}", cover.content(&content));
    assert_eq!(shown.matches(&key).count(), 1, "the signature alone: {shown}");
    assert_eq!(shown.matches("[masked:github-token:").count(), 7, "{shown}");
    assert!(shown.contains("\"n\":1"), "{shown}");
    assert_eq!(Cover::default().content(&content), content);
    let problem = Problem::new(ProblemCode::UpstreamError, format!("no, {key}"));
    for event in [
        Event::Whole { block: 0, value: &Block::Text(Text::new(key.clone())) },
        Event::ToolCallEnd { block: 0, call: &call },
        Event::Problem(&problem),
        Event::Fact(Fact::Field { wire: "w", key: "k", value: &Raw::string(&key) }),
    ] {
        let said = said(&[event]);
        assert!(!said.contains(&key) && said.contains("[masked:"), "{said}");
    }
}

#[test]
fn req_delimiter_redacted_spans_are_shown_to_nobody() {
    let (one, two) = ("a <REDACTED>PIIalp", "ha77</REDACTED> b <REDACTED>PIIbeta88");
    let thinking = Thinking::new(format!("{one}{two}"), "thinking");
    let arguments = Raw::parse("{\"to\":\"<REDACTED>PIIalpha77\",\"n\":1}").unwrap();
    let call = ToolCall { parameters: Parameters::Json(arguments), ..ToolCall::new(None, "f") };
    let told = said(&[
        Event::ThinkingDelta { block: 0, delta: one },
        Event::ThinkingDelta { block: 0, delta: two },
        Event::ThinkingEnd { block: 0, thinking: &thinking, thought: None },
        Event::ToolCallEnd { block: 1, call: &call },
    ]);
    assert!(told.starts_with("a [redacted] b [redacted]<ThinkingEnd"), "{told}");
    let content =
        Content::new(Speaker::Ai, vec![Block::Thinking(thinking), Block::ToolCall(call.clone())]);
    let shown = format!("{:?}", cover().content(&content));
    for told in [told, shown] {
        assert!(!told.contains("PII") && told.contains("[redacted]"), "{told}");
    }
    let covered = cover().call(&call);
    assert_eq!(covered.parameters.as_text(), "{\"to\":\"[redacted]\",\"n\":1}");
    assert_eq!(Cover::default().content(&content), content, "what is not covered keeps each byte");
}
