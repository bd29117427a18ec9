use super::*;
use crate::json::Doc;
use crate::wire::find;

fn resolved(wire: &str, body: &str) -> Vec<String> {
    let doc = Doc::parse_str(body).unwrap();
    let mut found = BTreeSet::new();
    for place in find(wire).unwrap().resources().request {
        place.read(doc.root(), &mut found);
    }
    found.into_iter().map(|it| format!("{:?} {}", it.kind, it.id)).collect()
}

const RESPONSES: &str = "responses";
const CHAT: &str = "chat-completions";
const MESSAGES: &str = "messages";
const GEMINI: &str = "generate-content";
const INTERACTIONS: &str = "interactions";
const CONVERSE: &str = "converse";

/// A wire, a body, and the resource that its API resolves.
const PLACES: &[(&str, &str, &str)] = &[
    (RESPONSES, r#"{"previous_response_id":"r"}"#, "Response r"),
    (RESPONSES, r#"{"previousResponseId":"r"}"#, "Response r"),
    (RESPONSES, r#"{"previous_response_id":["r"]}"#, "Response r"),
    (RESPONSES, r#"{"\u0070revious_response_id":"r"}"#, "Response r"),
    (RESPONSES, r#"{"conversation":"c"}"#, "Conversation c"),
    (RESPONSES, r#"{"conversation":{"id":"c"}}"#, "Conversation c"),
    (RESPONSES, r#"{"input":[{"type":"item_reference","id":"m"}]}"#, "Item m"),
    (RESPONSES, r#"{"input":[{"id":"m","type":null}]}"#, "Item m"),
    (RESPONSES, r#"{"input":[{"type":"message","id":"m","content":[]}]}"#, "Item m"),
    (RESPONSES, r#"{"input":[{"type":"reasoning","id":"m","summary":[]}]}"#, "Item m"),
    (RESPONSES, r#"{"input":[{"type":"reasoning","id":"m","encrypted_content":" "}]}"#, "Item m"),
    (
        RESPONSES,
        r#"{"input":[{"type":"reasoning","id":"m","content":[{"type":"reasoning_text","text":" "}]}]}"#,
        "Item m",
    ),
    (RESPONSES, r#"{"input":[{"type":"image_generation_call","id":"m","result":"x"}]}"#, "Item m"),
    (RESPONSES, r#"{"input":[{"content":[{"type":"input_file","file_id":"f"}]}]}"#, "File f"),
    (
        RESPONSES,
        r#"{"input":[{"type":"function_call_output","call_id":"c","output":[{"file_id":"f"}]}]}"#,
        "File f",
    ),
    (RESPONSES, r#"{"tools":[{"type":"code_interpreter","container":"c"}]}"#, "Container c"),
    (
        RESPONSES,
        r#"{"tools":[{"type":"shell","environment":{"type":"container_reference","container_id":"c"}}]}"#,
        "Container c",
    ),
    (RESPONSES, r#"{"tools":[{"container":{"type":"auto","file_ids":["f"]}}]}"#, "File f"),
    (RESPONSES, r#"{"tools":[{"type":"file_search","vector_store_ids":["v"]}]}"#, "Store v"),
    (RESPONSES, r#"{"prompt":{"id":"p"}}"#, "Prompt p"),
    (RESPONSES, r#"{"prompt":{"variables":{"x":{"type":"input_file","file_id":"f"}}}}"#, "File f"),
    (CHAT, r#"{"messages":[{"content":[{"type":"file","file":{"file_id":"f"}}]}]}"#, "File f"),
    (CHAT, r#"{"messages":[{"role":"assistant","audio":{"id":"a"}}]}"#, "Audio a"),
    (CHAT, r#"{"messages":[{"content":[{"image_url":{"url":"ms://f"}}]}]}"#, "Data ms://f"),
    ("mistral-chat", r#"{"tools":[{"library_ids":["l"]}]}"#, "Library l"),
    (
        MESSAGES,
        r#"{"messages":[{"content":[{"source":{"type":"file","file_id":"f"}}]}]}"#,
        "File f",
    ),
    (MESSAGES, r#"{"container":"c"}"#, "Container c"),
    (MESSAGES, r#"{"container":{"id":"c"}}"#, "Container c"),
    (MESSAGES, r#"{"container":{"skills":[{"type":"custom","skill_id":"s"}]}}"#, "Skill s"),
    (
        GEMINI,
        r#"{"contents":[{"parts":[{"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/files/f"}}]}]}"#,
        "File files/f",
    ),
    (
        GEMINI,
        r#"{"contents":{"parts":[{"file_data":{"file_uri":"http://127.0.0.1:9/v1beta/files/f"}}]}}"#,
        "File files/f",
    ),
    (GEMINI, r#"{"contents":[{"parts":[{"fileData":{"fileUri":"gs://b/f"}}]}]}"#, "Data gs://b/f"),
    (
        GEMINI,
        r#"{"tools":[{"retrieval":{"vertexAiSearch":{"datastore":"projects/p/d"}}}]}"#,
        "Data projects/p/d",
    ),
    (GEMINI, r#"{"cachedContent":"cachedContents/c"}"#, "Cache cachedContents/c"),
    (GEMINI, r#"{"cached_content":"c"}"#, "Cache cachedContents/c"),
    (INTERACTIONS, r#"{"previous_interaction_id":"i"}"#, "Interaction i"),
    (INTERACTIONS, r#"{"input":[{"type":"image","uri":"files/f"}]}"#, "File files/f"),
    (
        CONVERSE,
        r#"{"messages":[{"content":[{"image":{"source":{"s3Location":{"uri":"s3://b/f"}}}}]}]}"#,
        "Data s3://b/f",
    ),
];

#[test]
fn t_10_each_wire_knows_the_places_where_its_api_resolves_ids() {
    for (wire, body, expected) in PLACES {
        assert_eq!(resolved(wire, body), [*expected], "{body}");
    }
    // A reader may take either of two spellings.
    let both = r#"{"previous_response_id":"a","Previous_Response_Id":"b"}"#;
    assert_eq!(resolved(RESPONSES, both), ["Response a", "Response b"]);
}

#[test]
fn every_other_member_belongs_to_the_client() {
    for (wire, body) in [
        (RESPONSES, r#"{"client_metadata":{"thread_id":"t","conversation_id":"c","file_id":"f"}}"#),
        (RESPONSES, r#"{"metadata":{"thread_id":"t"},"prompt_cache_key":"t","thread_id":"t"}"#),
        (RESPONSES, r#"{"previous_response_id":null,"conversation":null,"prompt":"say hello"}"#),
        (
            RESPONSES,
            r#"{"input":[{"type":"message","id":"m","content":[{"type":"output_text"}]}]}"#,
        ),
        (
            RESPONSES,
            r#"{"input":[{"type":"function_call","id":"m","call_id":"c","arguments":"{}"}]}"#,
        ),
        (RESPONSES, r#"{"input":[{"type":"reasoning","id":"m","encrypted_content":"gAAAAA"}]}"#),
        (
            RESPONSES,
            r#"{"input":[{"type":"reasoning","id":"m","content":[{"type":"reasoning_text","text":"t"}]}]}"#,
        ),
        (RESPONSES, r#"{"tools":[{"parameters":{"properties":{"file_id":{"default":"f"}}}}]}"#),
        (CHAT, r#"{"audio":{"voice":"x"},"voice":"alloy","conversation_id":"c","container":"c"}"#),
        (
            CHAT,
            r#"{"messages":[{"content":[{"image_url":{"url":"https://example.com/files/x"}}]}]}"#,
        ),
        (
            CHAT,
            r#"{"messages":[{"content":[{"image_url":{"url":"data:image/png;base64,AA=="}}]}]}"#,
        ),
        (CHAT, r#"{"messages":[{"content":"file_id: file-abc, gs://bucket"}]}"#),
        (MESSAGES, r#"{"container":{"skills":[{"type":"anthropic","skill_id":"pptx"}]}}"#),
        (MESSAGES, r#"{"messages":[{"content":[{"type":"tool_use","input":{"file_id":"f"}}]}]}"#),
        (MESSAGES, r#"{"metadata":{"user_id":"u","thread_id":"t"}}"#),
        (GEMINI, r#"{"contents":[{"parts":[{"functionCall":{"args":{"file_id":"f"}}}]}]}"#),
        (
            GEMINI,
            r#"{"contents":[{"parts":[{"fileData":{"fileUri":"https://www.youtube.com/watch?v=x"}}]}]}"#,
        ),
        (CONVERSE, r#"{"messages":[{"content":[{"toolUse":{"input":{"file_id":"f"}}}]}]}"#),
    ] {
        assert_eq!(resolved(wire, body), [""; 0], "{body}");
    }
}

#[test]
fn t_10_an_id_with_something_around_it_is_another_id() {
    for (id, expected) in [
        ("files/f", "files/f"),
        ("https://generativelanguage.googleapis.com/v1beta/files/f", "files/f"),
        ("https://generativelanguage.googleapis.com/v1beta/files/f?x=/files/g", ""),
        ("https://generativelanguage.googleapis.com/v1beta/files/f#/files/g", ""),
        ("f", ""),
        ("x/files/f", ""),
        ("files/f/files/g", ""),
        ("files/../files/f", ""),
        ("files/f%2e", ""),
        ("files/", ""),
        (" f", ""),
    ] {
        let whole = if expected.is_empty() { id } else { expected };
        assert_eq!(Resource::new(Kind::File, id).id, whole, "{id}");
    }
    let operation = Resource::new(Kind::Operation, "models/m/operations/o");
    assert_eq!(operation.id, "operations/o");
    assert_eq!(Resource::new(Kind::File, "f").in_collection().id, "files/f");
    assert_eq!(Resource::new(Kind::Response, "r").in_collection().id, "r");
}

#[test]
fn t_10_a_value_is_looked_up_if_it_may_be_an_id() {
    for (text, expected) in [
        ("resp_0123456789ab", &["resp_0123456789ab"][..]),
        (" resp_0123456789ab ", &["resp_0123456789ab"]),
        ("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", &["0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"]),
        ("https://h/v1/responses/resp_0123456789ab?x=1", &["resp_0123456789ab"]),
        ("files/user", &["files/user"]),
        ("https://h/v1beta/files/abc0123456789", &["abc0123456789", "files/abc0123456789"]),
        ("user", &[]),
        ("the id is resp_0123456789ab", &[]),
        ("assistant-message", &[]),
    ] {
        let mut found = BTreeSet::new();
        candidates(text, &mut found);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected, "{text}");
    }
}
