//! Detection without options: the API of a body, the tags of a text, the format of a conversation.

use crate::place::Place;
use crate::program::think;
use serde_json::json;

#[test]
fn parse_sees_the_api_from_the_body() {
    let bodies = [
        (
            "messages",
            r#"{"type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}"#,
        ),
        (
            "chat",
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ),
        (
            "responses",
            r#"{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}]}"#,
        ),
        (
            "generate-content",
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}"#,
        ),
    ];
    for (api, body) in bodies {
        assert_eq!(think(&["parse"], body.as_bytes()).json()["text"], "Hi", "{api}");
    }
    let events = think(&["parse", "--events"], bodies[1].1.as_bytes()).lines();
    assert_eq!(events[0], json!({"type": "text_delta", "block": 0, "delta": "Hi"}));
    for body in ["{}", "<html>", "", "no JSON"] {
        let ran = think(&["parse"], body.as_bytes());
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{body}: {}", ran.err);
        assert!(ran.err.contains("--wire") && ran.err.contains("messages"), "{}", ran.err);
    }
}

#[test]
fn split_names_the_tags_that_a_text_has() {
    let ran = think(&["split"], b"<think>2 + 2</think>4");
    assert_eq!(ran.json(), json!({"visible": "<think>2 + 2</think>4"}));
    assert!(ran.err.contains("`--tags think` splits by them"), "{}", ran.err);
    for text in ["plain", "<REASONING>a</REASONING>b", "a < b and b > c"] {
        assert_eq!(think(&["split"], text.as_bytes()).err, "", "{text}");
    }
    assert_eq!(think(&["split", "--tags", "harmony"], b"<think>a</think>b").err, "");
}

#[test]
fn explain_takes_the_model_of_the_request() {
    let body = |model: &str| format!(r#"{{{model}"messages":[{{"role":"user","content":"go"}}]}}"#);
    let named = body(r#""model":"deepseek/deepseek-v4-pro","#);
    let explained = think(&["explain", "--json"], named.as_bytes()).json();
    assert_eq!(explained["provider"], "deepseek");
    assert_eq!(explained["body"]["model"], "deepseek-v4-pro");
    let other = think(&["explain", "--json", "-m", "sim/default"], named.as_bytes()).json();
    assert_eq!(other["provider"], "sim", "the command line wins");
    let none = think(&["explain"], body("").as_bytes());
    assert_eq!(none.code, Some(2), "{}", none.err);
    assert!(none.err.contains("the request names no model"), "{}", none.err);
}

#[test]
fn messages_of_an_api_become_a_conversation_and_a_page_names_the_forms_that_can() {
    let place = Place::new("import-messages");
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is 2 + 2?"},
        {"role": "assistant", "reasoning_content": "Easy.", "content": "4"},
    ]);
    let request = json!({"model": "m", "messages": messages}).to_string();
    for (file, text) in [("a.json", messages.to_string()), ("b.json", request)] {
        let file = place.write(file, &text);
        let id = place.think(&["sessions", "import", &file]);
        assert_eq!(id.code, Some(0), "{}", id.err);
        let shown = place.think(&["sessions", "show", id.out.trim()]).out;
        assert!(shown.contains("What is 2 + 2?") && shown.contains("~ Easy."), "{shown}");
        let exported = place.think(&["sessions", "export", id.out.trim(), "--format", "html"]).out;
        let page = place.write("page.html", &exported);
        let refused = place.think(&["sessions", "import", &page]);
        assert_eq!(refused.code, Some(1));
        assert!(refused.err.contains("`--format jsonl` or `--format md`"), "{}", refused.err);
    }
}

#[test]
fn a_variable_that_is_not_set_is_warned_of_once() {
    let place = Place::new("one-warning");
    let config = "[providers.one]\nextends = \"moonshotai\"\napi_key = { env = \"NO_SUCH_KEY\" }\n\
        [providers.two]\nextends = \"moonshotai\"\napi_key = { env = \"NO_SUCH_KEY\" }\n\
        [models.a]\nprovider = \"one\"\nmodel = \"kimi-k3\"\n";
    let config = place.write("config.toml", config);
    let ran = place.think(&["config", "check", &config]);
    let said = ran.out + &ran.err;
    assert_eq!(said.matches("NO_SUCH_KEY").count(), 1, "{said}");
}
