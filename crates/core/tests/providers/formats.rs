//! `reasoning.format`: which of two forms thoughts go back in, where an endpoint has two.

use thinkthrough_core::content::{Block, Content, Speaker, Text, Thinking};
use thinkthrough_core::exchange::Turn;
use thinkthrough_core::exchange::build;
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::{Format, Layer, Partial, Source, resolve};
use thinkthrough_json::Doc;

fn target(provider: &str, model: &str) -> Target {
    Target::built_in(provider, None, model).unwrap()
}

/// A finished answer with a thought that came in `field`, and a further question.
fn conversation(target: &Target, field: &str) -> Request {
    let thinking = Thinking {
        thought: "2 + 2\nis 4".to_owned(),
        source_field: field.to_owned(),
        ..Thinking::default()
    };
    let blocks = vec![Block::Thinking(thinking), Block::Text(Text::new("4"))];
    let answer = Content { origin: Some(target.origin(None)), ..Content::new(Speaker::Ai, blocks) };
    let question = |text: &str| Content::text(Speaker::Human, text.to_owned());
    let contents = vec![question("2 + 2?"), answer, question("sure?")];
    Request { contents, stream: true, ..Request::default() }
}

fn settings(target: &Target, format: Option<Format>) -> thinkthrough_core::settings::Resolved {
    let said = Partial { format, ..Partial::default() };
    resolve(&[
        Layer { source: Source::ModelRule, values: target.rule.settings() },
        Layer { source: Source::Session, values: said },
    ])
}

/// The answer as it goes back, and the request's `reasoning_split`.
fn sent(provider: &str, model: &str, field: &str, format: Option<Format>) -> (String, bool) {
    let target = target(provider, model);
    let settings = settings(&target, format);
    let body = build(&conversation(&target, field), &target, &settings).body;
    let doc = Doc::parse_str(&body).unwrap();
    let answer = doc.root().get("messages").unwrap().items().nth(1).unwrap();
    (answer.raw().to_owned(), body.contains(r#""reasoning_split":true"#))
}

const DETAILS: &str = r#"{"role":"assistant","content":"4","reasoning_details":[{"type":"reasoning.text","text":"2 + 2\nis 4"}]}"#;

#[test]
fn br_007_native_and_field_differ_where_the_endpoint_takes_entries_and_a_string() {
    let string = r#"{"role":"assistant","content":"4","reasoning":"2 + 2\nis 4"}"#;
    for model in ["z-ai/glm-5.3", "deepseek/deepseek-r1", "openai/gpt-oss-120b"] {
        for came_in in ["reasoning_details", "reasoning", "reasoning_content"] {
            let sent = |format| sent("openrouter", model, came_in, format).0;
            assert_eq!(sent(None), DETAILS, "the rule says native: {model} {came_in}");
            assert_eq!(sent(Some(Format::Native)), DETAILS, "{model} {came_in}");
            assert_eq!(sent(Some(Format::Field)), string, "{model} {came_in}");
        }
    }
}

#[test]
fn br_007_native_and_field_differ_where_the_endpoint_takes_tags_and_entries() {
    for model in ["MiniMax-M2.5", "MiniMax-M3"] {
        let tagged = r#"{"role":"assistant","content":"<think>\n2 + 2\nis 4\n</think>\n\n4"}"#;
        let sent = |field, format| sent("minimax", model, field, format);
        let details = (DETAILS.to_owned(), true);
        assert_eq!(sent("reasoning_details", None), details, "{model}");
        assert_eq!(sent("reasoning_details", Some(Format::Field)), details, "{model}");
        assert_eq!(sent("reasoning_details", Some(Format::Native)), (tagged.to_owned(), false));
        let as_it_came = r#"{"role":"assistant","content":"<think>2 + 2\nis 4</think>4"}"#;
        assert_eq!(sent("think_tags", Some(Format::Native)), (as_it_came.to_owned(), false));
    }
}

#[test]
fn br_007_native_equals_field_where_an_endpoint_has_one_form() {
    for (provider, model) in [
        ("moonshotai", "kimi-k2-thinking"),
        ("deepseek", "deepseek-v4-flash"),
        ("zai", "glm-4.7"),
        ("groq", "openai/gpt-oss-120b"),
        ("vllm", "some-model"),
        ("anthropic", "claude-sonnet-5"),
        ("google", "gemini-3-pro"),
        // Payloads have room in the entries only.
        ("openrouter", "anthropic/claude-sonnet-5"),
    ] {
        let target = target(provider, model);
        let request = conversation(&target, "reasoning_content");
        let body = |format| build(&request, &target, &settings(&target, format)).body;
        let usual = body(None);
        assert_eq!(body(Some(Format::Field)), usual, "{provider} {model}");
        assert_eq!(body(Some(Format::Native)), usual, "{provider} {model}");
    }
}

#[test]
fn answers_to_a_request_in_tags_are_read_in_tags() {
    let target = target("minimax", "MiniMax-M2.5");
    let request = conversation(&target, "think_tags");
    let chunk = |text: &str| {
        format!(r#"data: {{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#) + "\n\n"
    };
    let stream = chunk("Well. <think>so</think>yes") + "data: [DONE]\n\n";
    let thoughts = |format| {
        let mut turn = Turn::begin(&request, &target, &settings(&target, Some(format)));
        turn.head(200);
        let mut sink = |_: thinkthrough_core::event::Event<'_>| {};
        turn.push(stream.as_bytes(), &mut sink);
        let blocks = turn.finish(None, &mut sink).answer.blocks;
        blocks.iter().filter(|block| matches!(block, Block::Thinking(_))).count()
    };
    assert_eq!((thoughts(Format::Native), thoughts(Format::Field)), (1, 0));
}
