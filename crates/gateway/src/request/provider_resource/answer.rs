//! The members of an answer that name a resource which the provider created for it.
//!
//! The places are exact. All other members may contain text of the caller or the model, and an id there would make
//! its author the owner.

use std::collections::BTreeSet;
use thinkthrough_core::wire::resource::Step::{self, Each, Member as M, Typed};
use thinkthrough_core::wire::resource::{Kind, Place, Resource};
use thinkthrough_json::Val;

/// Places in an answer of the Responses API. In a stream they are inside `response`.
const RESPONSE: &[Place] = &[
    Place::id(Kind::Response, &[], "id"),
    Place::id(Kind::Conversation, &[], "conversation"),
    Place::id(Kind::Item, &[M("output"), Each], "id"),
    Place::id(
        Kind::Container,
        &[M("output"), Each, Typed("code_interpreter_call")],
        "container_id",
    ),
    Place::id(Kind::Container, CITATION, "container_id"),
    Place::id(Kind::File, CITATION, "file_id"),
];

const CITATION: &[Step] = &[
    M("output"),
    Each,
    Typed("message"),
    M("content"),
    Each,
    M("annotations"),
    Each,
    Typed("container_file_citation"),
];

/// Places in a finished item of a stream of the same API.
const ITEM: &[Place] = &[
    Place::id(Kind::Item, &[M("item")], "id"),
    Place::id(Kind::Container, &[M("item"), Typed("code_interpreter_call")], "container_id"),
];

/// Places in an answer of the Messages API. In a stream they are inside `message`.
const MESSAGE: &[Place] = &[
    Place::id(Kind::Container, &[M("container")], "id"),
    Place::id(
        Kind::File,
        &[
            M("content"),
            Each,
            Typed("code_execution_tool_result"),
            M("content"),
            M("content"),
            Each,
        ],
        "file_id",
    ),
];

/// Places in the events of the same API.
const MESSAGE_EVENT: &[Place] = &[
    Place::id(Kind::Container, &[M("delta"), M("container")], "id"),
    Place::id(
        Kind::File,
        &[
            M("content_block"),
            Typed("code_execution_tool_result"),
            M("content"),
            M("content"),
            Each,
        ],
        "file_id",
    ),
];

/// Places in an answer of Chat Completions, and in its chunks.
const CHAT: &[Place] = &[
    Place::id(Kind::Audio, &[M("choices"), Each, M("message"), M("audio")], "id"),
    Place::id(Kind::Audio, &[M("choices"), Each, M("delta"), M("audio")], "id"),
];

/// Places in an interaction. In a stream they are inside `interaction`.
const INTERACTION: &[Place] = &[Place::id(Kind::Interaction, &[], "id")];

/// Places in an answer about a batch or an upload of the tenant, next to its own id.
const BESIDE: &[Place] = &[
    Place::id(Kind::File, &[], "output_file_id"),
    Place::id(Kind::File, &[], "error_file_id"),
    Place::id(Kind::File, &[], "output_file"),
    Place::id(Kind::File, &[], "error_file"),
    Place::id(Kind::File, &[M("file")], "id"),
    Place::id(Kind::File, &[M("response")], "responsesFile"),
    Place::id(Kind::File, &[M("metadata"), M("output")], "responsesFile"),
];

/// The resources that an answer of this wire created: a whole answer, or one event of a stream.
pub(super) fn in_answer(wire: &str, root: Val<'_>) -> BTreeSet<Resource> {
    let mut found = BTreeSet::new();
    match wire {
        "responses" => match root.get("response").filter(|it| it.is_object()) {
            Some(response) => read_all(RESPONSE, response, &mut found),
            None if root.get("item").is_some() => read_all(ITEM, root, &mut found),
            None if root.get("output").is_some()
                || root.text("object").as_deref() == Some("response") =>
            {
                read_all(RESPONSE, root, &mut found);
            }
            None => {}
        },
        "messages" => {
            read_all(MESSAGE, root.get("message").unwrap_or(root), &mut found);
            read_all(MESSAGE_EVENT, root, &mut found);
        }
        "interactions" => {
            let interaction = root.get("interaction").unwrap_or(root);
            read_all(INTERACTION, interaction, &mut found);
        }
        _ => read_all(CHAT, root, &mut found),
    }
    found
}

/// The resources that an answer of a provider's own API created in a collection of this kind.
pub(super) fn in_collection(kind: Kind, root: Val<'_>) -> BTreeSet<Resource> {
    let mut found = BTreeSet::new();
    // An answer about additions to a resource contains a list.
    read_all(
        &[Place::id(kind, &[], "id"), Place::id(kind, &[M("data"), Each], "id")],
        root,
        &mut found,
    );
    // A name is an id only if the answer has no other id; otherwise the caller chose the name.
    if root.get("id").is_none() && root.get("data").is_none() {
        read_all(
            &[Place::id(kind, &[], "name"), Place::id(kind, &[M("file")], "name")],
            root,
            &mut found,
        );
    }
    found
}

/// Files that an answer lists next to a resource of the tenant, at places that never contain text of the caller.
pub(super) fn beside(root: Val<'_>) -> BTreeSet<Resource> {
    let mut found = BTreeSet::new();
    read_all(BESIDE, root, &mut found);
    found
}

fn read_all(places: &[Place], root: Val<'_>, found: &mut BTreeSet<Resource>) {
    places.iter().for_each(|place| place.read(root, found));
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_json::Doc;

    fn created(wire: &str, body: &str) -> Vec<String> {
        let doc = Doc::parse_str(body).unwrap();
        let found = in_answer(wire, doc.root());
        found.into_iter().map(|it| format!("{:?} {}", it.kind, it.id)).collect()
    }

    #[test]
    fn t_10_an_answer_creates_resources_at_exact_places() {
        let response = r#"{"id":"r","object":"response","conversation":{"id":"c"},"output":[
            {"type":"reasoning","id":"rs"},
            {"type":"code_interpreter_call","id":"ci","container_id":"k"},
            {"type":"message","id":"m","content":[{"annotations":[
                {"type":"container_file_citation","container_id":"k2","file_id":"f"},
                {"type":"file_citation","file_id":"not"}]}]}]}"#;
        let expected = [
            "Container k",
            "Container k2",
            "Conversation c",
            "File f",
            "Item ci",
            "Item m",
            "Item rs",
            "Response r",
        ];
        assert_eq!(created("responses", response), expected);
        let event = format!(r#"{{"type":"response.completed","response":{response}}}"#);
        assert_eq!(created("responses", &event), expected);
        for (wire, body, expected) in [
            ("responses", r#"{"type":"response.output_item.done","item":{"id":"m"}}"#, "Item m"),
            ("messages", r#"{"type":"message","container":{"id":"k"}}"#, "Container k"),
            (
                "messages",
                r#"{"type":"message_delta","delta":{"container":{"id":"k"}}}"#,
                "Container k",
            ),
            (
                "messages",
                r#"{"content":[{"type":"bash_code_execution_tool_result","content":{"content":[{"file_id":"f"}]}}]}"#,
                "File f",
            ),
            (
                "messages",
                r#"{"content_block":{"type":"code_execution_tool_result","content":{"content":[{"file_id":"f"}]}}}"#,
                "File f",
            ),
            ("chat-completions", r#"{"choices":[{"message":{"audio":{"id":"a"}}}]}"#, "Audio a"),
        ] {
            assert_eq!(created(wire, body), [expected], "{body}");
        }
    }

    #[test]
    fn t_10_a_collection_creates_a_resource_by_its_id() {
        for (kind, body, expected) in [
            (Kind::File, r#"{"id":"f","filename":"x"}"#, &["f"][..]),
            (Kind::File, r#"{"file":{"name":"files/f","displayName":"files/g"}}"#, &["files/f"]),
            (Kind::Cache, r#"{"name":"cachedContents/c"}"#, &["cachedContents/c"]),
            (Kind::Operation, r#"{"name":"models/m/operations/o"}"#, &["operations/o"]),
            (Kind::Item, r#"{"object":"list","data":[{"id":"a"},{"id":"b"}]}"#, &["a", "b"]),
            (Kind::Store, r#"{"id":"mine","name":"fileSearchStores/others"}"#, &["mine"]),
            (
                Kind::Assistant,
                r#"{"id":"mine","name":"others","file":{"name":"others"}}"#,
                &["mine"],
            ),
        ] {
            let doc = Doc::parse_str(body).unwrap();
            let found: Vec<_> =
                in_collection(kind, doc.root()).into_iter().map(|it| it.id).collect();
            assert_eq!(found, expected, "{body}");
        }
    }

    #[test]
    fn t_10_nobody_gets_an_id_by_having_it_said() {
        for (wire, body) in [
            (
                "messages",
                r#"{"content":[{"type":"tool_use","input":{"file_id":"f","container":{"id":"k"}}}]}"#,
            ),
            (
                "messages",
                r#"{"content":[{"type":"mcp_tool_result","content":{"content":[{"file_id":"f"}]}}]}"#,
            ),
            (
                "messages",
                r#"{"content":[{"type":"text","text":"{\"container\":{\"id\":\"k\"}}"}]}"#,
            ),
            (
                "responses",
                r#"{"output":[{"type":"mcp_call","container_id":"k"}],"metadata":{"id":"r"},"tools":[{"vector_store_ids":["v"],"container":"k"}]}"#,
            ),
            ("responses", r#"{"error":{"id":"r"},"id":"r"}"#),
            ("chat-completions", r#"{"id":"x","choices":[{"message":{"content":"x"}}]}"#),
        ] {
            assert_eq!(created(wire, body), [""; 0], "{body}");
        }
    }
}
