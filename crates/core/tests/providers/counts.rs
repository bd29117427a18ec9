//! Counts that one provider reports and another fills in.

use thinkthrough_core::event::Fold;
use thinkthrough_core::provider::Target;
use thinkthrough_json::Doc;

/// The cached tokens that an answer of this provider reports, whole and streamed.
fn cached(provider: &str, usage: &str) -> [Option<u64>; 2] {
    let target = Target::built_in(provider, Some("chat-completions"), "m").unwrap();
    let choice = r#"{"index":0,"message":{"content":"Yes."},"finish_reason":"stop"}"#;
    let body = format!(r#"{{"choices":[{choice}],"usage":{usage}}}"#);
    let mut whole = Fold::new();
    let doc = Doc::parse_str(&body).unwrap();
    target.wire.read_response(doc.root(), &target.dialect, &mut whole);
    let mut stream = Fold::new();
    let mut decoder = target.wire.decoder(&target.dialect);
    decoder.message(None, &body.replace("message", "delta"), &mut stream);
    decoder.end(&mut stream);
    [whole, stream].map(|fold| fold.finish().usage.unwrap().cache_read_tokens)
}

#[test]
fn a_reported_0_of_cached_tokens_is_0_and_one_that_is_filled_in_is_unknown() {
    let beside = r#"{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,"cached_tokens":0}"#;
    let standard = r#"{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,
        "prompt_tokens_details":{"cached_tokens":0}}"#;
    for (provider, usage, expected) in [
        ("moonshotai", beside, Some(0)),
        ("openai-compatible", beside, Some(0)),
        // Recorded: its router says 0 of hosts without a cache.
        ("huggingface", beside, None),
        ("moonshotai", standard, Some(0)),
        ("huggingface", standard, Some(0)),
        ("openai", standard, Some(0)),
    ] {
        assert_eq!(cached(provider, usage), [expected; 2], "{provider}: {usage}");
    }
}
