//! A refused request of a conversation of one's own goes out once more with a repair, and the conversation remembers it.

use std::mem::take;
use thinkthrough_core::content::{Block, Content, Speaker, Thinking, ToolCall, ToolResponse};
use thinkthrough_core::event::Event;
use thinkthrough_core::exchange::{Ended, Finished, Own, Repair, Turn, build};
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::{Resolved, Setting, Source};
use thinkthrough_json::{Doc, Extra, Raw};

const ANSWER: &str =
    r#"{"type":"message","content":[{"type":"text","text":"Fine."}],"stop_reason":"end_turn"}"#;
const CHAT_ANSWER: &str = r#"{"choices":[{"message":{"content":"Fine."},"finish_reason":"stop"}]}"#;

/// What the provider says to each request, until there is an answer; gives the bodies that went out.
fn asked(mut turn: Turn<'_>, says: &[(u16, &str)]) -> (Vec<String>, Finished) {
    let mut bodies = Vec::new();
    let mut says = says.iter();
    loop {
        // It is sent as often as the provider has something to say to it.
        let (status, body) = says.next().unwrap();
        bodies.push(turn.outgoing().body.clone());
        turn.head(*status);
        // The events of a refusal that is repaired reach nobody.
        let mut heard = 0;
        turn.push(body.as_bytes(), &mut |_: Event<'_>| heard += 1);
        match turn.end(None, &mut |_: Event<'_>| heard += 1) {
            Ended::Again(next) => {
                assert_eq!(heard, 0);
                turn = *next;
            }
            Ended::Done(finished) => {
                assert_eq!(says.next(), None, "{finished:?}");
                return (bodies, *finished);
            }
        }
    }
}

fn sealed(seal: &str) -> Block {
    Block::Thinking(Thinking { signature: Some(seal.into()), ..Thinking::new("hm", "thinking") })
}

fn answer(target: &Target, blocks: Vec<Block>) -> Content {
    Content { origin: Some(target.origin(None)), ..Content::new(Speaker::Ai, blocks) }
}

fn conversation(contents: Vec<Content>) -> Request {
    Request { contents, ..Request::default() }
}

fn human(text: &str) -> Content {
    Content::text(Speaker::Human, text)
}

fn begin<'d>(request: &'d Request, target: &Target) -> Turn<'d> {
    Turn::begin(request, target, &Resolved::default())
}

fn claude() -> (Target, Request) {
    let target = Target::built_in("anthropic", None, "claude-opus-4-6").unwrap();
    let contents = vec![
        human("Hi"),
        answer(&target, vec![sealed("seal-number-one"), Block::text("Hello.")]),
        human("And?"),
        answer(&target, vec![sealed("seal-number-two"), Block::text("Well.")]),
        human("So?"),
    ];
    (target, conversation(contents))
}

#[test]
fn only_the_thought_that_is_named_goes_and_stays_out() {
    let (target, mut request) = claude();
    let refusal = r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#;
    let (bodies, finished) = asked(begin(&request, &target), &[(400, refusal), (200, ANSWER)]);
    assert!(bodies[0].contains("seal-number-one") && bodies[0].contains("seal-number-two"));
    assert!(!bodies[1].contains("seal-number-one") && bodies[1].contains("seal-number-two"));
    assert_eq!(finished.fact, None, "it says nothing about the model");
    let content = finished.content.unwrap();
    assert_eq!(content.refused.len(), 1);
    // The conversation remembers it for this model, also when it was written down and read.
    request.contents.extend([content, human("Then?")]);
    for content in &mut request.contents {
        use thinkthrough_core::shape::{read_content, write_content};
        let line = Raw::build(|w| write_content(w, content));
        *content = read_content(Doc::parse_str(line.as_str()).unwrap().root()).unwrap();
    }
    let next = begin(&request, &target);
    assert!(!next.outgoing().body.contains("seal-number-one"), "{}", next.outgoing().body);
    assert!(next.outgoing().body.contains("seal-number-two"));
    let other = Target::built_in("anthropic", None, "claude-opus-4-7").unwrap();
    assert!(begin(&request, &other).outgoing().body.contains("seal-number-one"));
}

#[test]
fn a_refusal_that_names_no_thought_costs_all_and_one_that_goes_on_ends() {
    let (target, request) = claude();
    let refusal = r#"{"error":{"message":"The block is bound to a different conversation."}}"#;
    let turn = begin(&request, &target);
    let (bodies, finished) = asked(turn, &[(400, refusal), (400, refusal)]);
    assert!(!bodies[1].contains("seal-number"), "{}", bodies[1]);
    let failure = finished.failure.unwrap();
    assert!(failure.message.contains("bound to a different"), "{}", failure.message);
    assert_eq!(finished.fact, None);
}

#[test]
fn what_is_learned_about_a_model_holds_for_further_requests() {
    let target = Target::built_in("openai-compatible", None, "house-model").unwrap();
    let call = Block::ToolCall(ToolCall::new(Some("call_1"), "f"));
    let thought = Block::Thinking(Thinking::new("T", "reasoning_content"));
    let request = conversation(vec![human("Hi"), answer(&target, vec![thought, call])]);
    assert!(!begin(&request, &target).outgoing().body.contains("\"T\""));
    let refusal = r#"{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 1"}}"#;
    let (bodies, finished) = asked(begin(&request, &target), &[(400, refusal), (200, CHAT_ANSWER)]);
    assert!(bodies[1].contains(r#""reasoning_content":"T""#), "{}", bodies[1]);
    let fact = finished.fact.unwrap();
    assert_eq!(fact, Repair::Return(Some(("reasoning_content", " "))));
    let taught = fact.taught_to(&target).unwrap();
    assert_eq!(begin(&request, &taught).outgoing().body, bodies[1], "at once");
}

#[test]
fn what_no_repair_changes_is_not_sent_again() {
    let target = Target::built_in("openai-compatible", None, "house-model").unwrap();
    let request = conversation(vec![human("Hi")]);
    for (status, refusal) in [
        (400, r#"{"error":{"message":"The `reasoning_content` must be passed back to the API."}}"#),
        (400, r#"{"error":{"message":"the prompt is too long"}}"#),
        (401, r#"{"error":{"message":"no key"}}"#),
        (500, r#"{"error":{"message":"down"}}"#),
    ] {
        let (_, finished) = asked(begin(&request, &target), &[(status, refusal)]);
        assert_eq!(finished.failure.unwrap().status, status);
    }
}

#[test]
fn claudes_seals_go_to_every_host_of_claude_until_one_refuses() {
    let (_, mut request) = claude();
    let other = Target::built_in("bedrock", None, "anthropic.claude-opus-4-6-v1").unwrap();
    let before = build(&request, &other, &Resolved::default()).body;
    assert!(before.contains("seal-number-one"), "{before}");
    let refusal = r#"{"message":"Invalid `signature` in `thinking` block"}"#;
    let said = r#"{"output":{"message":{"role":"assistant","content":[{"text":"Fine."}]}},"stopReason":"end_turn"}"#;
    let (bodies, finished) = asked(begin(&request, &other), &[(400, refusal), (200, said)]);
    assert!(!bodies[1].contains("seal-number"), "{}", bodies[1]);
    let at = request.contents.len();
    request.contents.extend([finished.content.unwrap(), human("Then?")]);
    let kept = take(&mut request.contents[at].refused);
    assert!(begin(&request, &other).outgoing().body.contains("seal-number-one"));
    request.contents[at].refused = kept;
    assert!(!begin(&request, &other).outgoing().body.contains("seal-number"));
}

#[test]
fn secrets_are_covered_before_a_request_is_made_and_in_its_repair() {
    use thinkthrough_mask::{Masker, Tiers};
    let masker = Masker::new(Tiers::ALL, &[7; 32]);
    let (target, mut request) = claude();
    request.contents[0] = human("password=hunter2xyzzy");
    let own = Own { masker: Some(&masker), ..Own::new(&request, &target, &Resolved::default()) };
    let refusal =
        r#"{"error":{"message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#;
    let (bodies, _) = asked(Turn::of(own), &[(400, refusal), (200, ANSWER)]);
    assert!(bodies.iter().all(|body| !body.contains("hunter2xyzzy")));
}

#[test]
fn a_stopped_loop_goes_on_without_the_thought_that_is_refused() {
    let target = Target::built_in("anthropic", None, "claude-sonnet-4-5").unwrap();
    let call = Block::ToolCall(ToolCall::new(Some("toolu_1"), "ls"));
    let result = ToolResponse {
        call_id: Some("toolu_1".into()),
        name: Some("ls".into()),
        result: Raw::string("a").into(),
        is_error: false,
        extra: Extra::default(),
    };
    let contents = vec![
        human("List it."),
        answer(&target, vec![sealed("seal-number-one"), call]),
        Content::new(Speaker::Tool, vec![Block::ToolResponse(result)]),
        human("Go on."),
    ];
    let (mut settings, request) = (Resolved::default(), conversation(contents));
    settings.enabled = Setting { value: true, source: Source::Request };
    let refusal = r#"{"error":{"message":"Invalid `signature` in `thinking` block"}}"#;
    let turn = Turn::begin(&request, &target, &settings);
    let (bodies, _) = asked(turn, &[(400, refusal), (200, ANSWER)]);
    assert!(bodies[0].contains("seal-number-one"));
    // Result and question are one message there, so that the loop still runs: no call stands without its thought.
    assert!(
        !bodies[1].contains("tool_use") && bodies[1].contains("You used the tool"),
        "{}",
        bodies[1]
    );
}

#[test]
fn a_stream_that_begins_with_a_refusal_is_repaired_and_one_that_has_begun_is_not() {
    let (target, mut request) = claude();
    request.stream = true;
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}\n\n";
    let begun = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[]}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Fine.\"}}\n\n";
    let whole = format!("{begun}event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n");
    let (bodies, finished) = asked(begin(&request, &target), &[(200, error), (200, &whole)]);
    assert!(!bodies[1].contains("seal-number-one") && bodies[1].contains("seal-number-two"));
    assert_eq!(finished.failure, None);
    let mut turn = begin(&request, &target);
    turn.head(200);
    let mut told = 0;
    for bytes in [begun, error] {
        turn.push(bytes.as_bytes(), &mut |event: Event<'_>| {
            told += usize::from(matches!(event, Event::Problem(_)));
        });
    }
    assert!(matches!(turn.end(None, &mut |_: Event<'_>| {}), Ended::Done(_)));
    assert_eq!(told, 1);
}

#[test]
fn thoughts_that_are_named_one_after_the_other_cost_no_others() {
    let (target, request) = claude();
    let first =
        r#"{"error":{"message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#;
    let mut contents = request.contents.clone();
    contents.extend([
        answer(&target, vec![sealed("seal-number-three"), Block::text("So.")]),
        human("Then?"),
    ]);
    let request = conversation(contents);
    let second =
        r#"{"error":{"message":"messages.3.content.0: Invalid `signature` in `thinking` block"}}"#;
    let says = [(400, first), (400, second), (200, ANSWER)];
    let (bodies, finished) = asked(begin(&request, &target), &says);
    assert!(bodies[2].contains("seal-number-three") && !bodies[2].contains("seal-number-two"));
    assert_eq!(finished.content.unwrap().refused.len(), 2);
}
