//! Token counts of an answer that goes to a caller of another API: in that API's own words, and the same numbers.
//!
//! The same 100 tokens of a request, 40 of them from a cache, and 30 of an answer, 20 of them thought. APIs differ in what
//! they count into what: Messages and Converse count cached tokens apart, Gemini counts thoughts apart.

use serde_json::{Value, json};
use thinkthrough_core::event::Fold;
use thinkthrough_core::wire::{Dialect, find};
use thinkthrough_json::Doc;

/// An answer on its wire, and whether it says how much came from a cache and how much was thought.
fn answers() -> Vec<(&'static str, Value, bool, bool)> {
    let chat = |usage: Value| json!({"id": "r", "model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}], "usage": usage});
    vec![
        (
            "chat-completions",
            chat(json!({"prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130,
                "prompt_tokens_details": {"cached_tokens": 40}, "completion_tokens_details": {"reasoning_tokens": 20}})),
            true,
            true,
        ),
        (
            "mistral-chat",
            chat(json!({"prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130})),
            false,
            false,
        ),
        (
            "responses",
            json!({"id": "r", "model": "m", "status": "completed", "output": [{"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "a", "annotations": []}]}],
                "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 130}}),
            true,
            true,
        ),
        (
            "messages",
            json!({"id": "r", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 30}}),
            true,
            false,
        ),
        (
            "generate-content",
            json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "a"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 40, "candidatesTokenCount": 10, "thoughtsTokenCount": 20, "totalTokenCount": 130}}),
            true,
            true,
        ),
        (
            "ollama-chat",
            json!({"model": "m", "message": {"role": "assistant", "content": "a"}, "done": true, "done_reason": "stop", "prompt_eval_count": 100, "eval_count": 30}),
            false,
            false,
        ),
        (
            "converse",
            json!({"output": {"message": {"role": "assistant", "content": [{"text": "a"}]}}, "stopReason": "end_turn",
                "usage": {"inputTokens": 60, "outputTokens": 30, "totalTokens": 130, "cacheReadInputTokens": 40}}),
            true,
            false,
        ),
        (
            "interactions",
            json!({"id": "r", "model": "m", "status": "completed", "steps": [{"type": "model_output", "content": [{"type": "text", "text": "a"}]}],
                "usage": {"total_tokens": 130, "total_input_tokens": 100, "total_cached_tokens": 40, "total_output_tokens": 10, "total_thought_tokens": 20}}),
            true,
            true,
        ),
    ]
}

/// What a client of a wire reads: of the request, from a cache, of the answer with what was thought, and thought.
fn read(wire: &str, body: &Value) -> [Option<u64>; 4] {
    let at = |path: &str| body.pointer(path).and_then(Value::as_u64);
    let sum = |one: Option<u64>, other: Option<u64>| one.map(|one| one + other.unwrap_or_default());
    match wire {
        "chat-completions" => [
            at("/usage/prompt_tokens"),
            at("/usage/prompt_tokens_details/cached_tokens"),
            at("/usage/completion_tokens"),
            at("/usage/completion_tokens_details/reasoning_tokens"),
        ],
        "responses" => [
            at("/usage/input_tokens"),
            at("/usage/input_tokens_details/cached_tokens"),
            at("/usage/output_tokens"),
            at("/usage/output_tokens_details/reasoning_tokens"),
        ],
        "messages" => {
            let cached = at("/usage/cache_read_input_tokens");
            let output = at("/usage/output_tokens");
            [sum(at("/usage/input_tokens"), cached), cached, output, None]
        }
        "generate-content" => {
            let thought = at("/usageMetadata/thoughtsTokenCount");
            let output = sum(at("/usageMetadata/candidatesTokenCount"), thought);
            let cached = at("/usageMetadata/cachedContentTokenCount");
            [at("/usageMetadata/promptTokenCount"), cached, output, thought]
        }
        _ => [at("/prompt_eval_count"), None, at("/eval_count"), None],
    }
}

#[test]
fn every_caller_reads_the_same_counts_whoever_answered() {
    for (from, body, has_cached, has_thought) in answers() {
        let body = body.to_string();
        let doc = Doc::parse_str(&body).unwrap();
        let mut fold = Fold::new();
        find(from).unwrap().read_response(doc.root(), &Dialect::PLAIN, &mut fold);
        let answer = fold.finish();
        for to in ["chat-completions", "responses", "messages", "generate-content", "ollama-chat"] {
            let written = find(to).unwrap().write_response(&answer);
            let [input, cached, output, thought] =
                read(to, &serde_json::from_str(&written).unwrap());
            assert_eq!((input, output), (Some(100), Some(30)), "{from} to {to}: {written}");
            // What nobody said is told as nothing, or as 0 where the API demands a number.
            let expected = |has: bool, count: u64| if has { Some(count) } else { None };
            if to != "ollama-chat" {
                let cached = cached.filter(|count| has_cached || *count > 0);
                assert_eq!(cached, expected(has_cached, 40), "{from} to {to}: {written}");
            }
            if !["messages", "ollama-chat"].contains(&to) {
                let thought = thought.filter(|count| has_thought || *count > 0);
                assert_eq!(thought, expected(has_thought, 20), "{from} to {to}: {written}");
            }
        }
    }
}
