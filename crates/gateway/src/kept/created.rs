//! Which members of an answer name a thing that the provider made for it.
//!
//! These are exact places: elsewhere in an answer stands what the caller said or a model made up, and whoever could put
//! an id there would have it.

use super::name::{Kind, Named};
use thinkthrough_core::json::Val;

/// One step of the way to a member.
#[derive(Clone, Copy, Debug)]
enum Step {
    Member(&'static str),
    /// Each element of a list.
    Each,
    /// Goes on only where `type` ends like this.
    Typed(&'static str),
}

use Step::{Each, Member as M, Typed};

/// The way to an id: to the object that has it, and the member's name there.
type Way = (Kind, &'static [Step], &'static str);

/// In an answer of the Responses API; in a stream behind `response`.
const RESPONSE: &[Way] = &[
    (Kind::Response, &[], "id"),
    (Kind::Conversation, &[M("conversation")], "id"),
    (Kind::Conversation, &[], "conversation"),
    (Kind::Item, &[M("output"), Each], "id"),
    (Kind::Container, &[M("output"), Each, Typed("code_interpreter_call")], "container_id"),
    (Kind::Container, CITATION, "container_id"),
    (Kind::File, CITATION, "file_id"),
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

/// In an item that is done, within a stream of the same API.
const ITEM: &[Way] = &[
    (Kind::Item, &[M("item")], "id"),
    (Kind::Container, &[M("item"), Typed("code_interpreter_call")], "container_id"),
];

/// In an answer of the Messages API; in a stream behind `message`.
const MESSAGE: &[Way] = &[
    (Kind::Container, &[M("container")], "id"),
    (
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

/// In the events of the same API.
const MESSAGE_EVENT: &[Way] = &[
    (Kind::Container, &[M("delta"), M("container")], "id"),
    (
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

/// In an answer of Chat Completions, and in its chunks.
const CHAT: &[Way] = &[
    (Kind::Audio, &[M("choices"), Each, M("message"), M("audio")], "id"),
    (Kind::Audio, &[M("choices"), Each, M("delta"), M("audio")], "id"),
];

/// In an interaction; in a stream behind `interaction`.
const INTERACTION: &[Way] = &[(Kind::Interaction, &[], "id")];

/// Beside its own id, in what a provider says about a batch or an upload of this tenant's.
const BESIDE: &[Way] = &[
    (Kind::File, &[], "output_file_id"),
    (Kind::File, &[], "error_file_id"),
    (Kind::File, &[], "output_file"),
    (Kind::File, &[], "error_file"),
    (Kind::File, &[M("file")], "id"),
    (Kind::File, &[M("response")], "responsesFile"),
    (Kind::File, &[M("metadata"), M("output")], "responsesFile"),
];

/// What an answer of this wire says was made: a whole one, or one event of a stream.
pub(super) fn in_answer(wire: &str, root: Val<'_>) -> Vec<Named> {
    let mut found = Vec::new();
    match wire {
        "responses" => match root.get("response").filter(|it| it.is_object()) {
            Some(response) => follow_all(RESPONSE, response, &mut found),
            None if root.get("item").is_some() => follow_all(ITEM, root, &mut found),
            None if root.get("output").is_some()
                || root.text("object").as_deref() == Some("response") =>
            {
                follow_all(RESPONSE, root, &mut found);
            }
            None => {}
        },
        "messages" => {
            follow_all(MESSAGE, root.get("message").unwrap_or(root), &mut found);
            follow_all(MESSAGE_EVENT, root, &mut found);
        }
        "interactions" => {
            let interaction = root.get("interaction").unwrap_or(root);
            follow_all(INTERACTION, interaction, &mut found);
        }
        _ => follow_all(CHAT, root, &mut found),
    }
    found
}

/// What an answer of a provider's own API says was made in a collection of this kind.
pub(super) fn in_collection(kind: Kind, root: Val<'_>) -> Vec<Named> {
    let mut found = Vec::new();
    // What was added to something that the tenant has comes as a list.
    follow_all(&[(kind, &[], "id"), (kind, &[M("data"), Each], "id")], root, &mut found);
    // A name is an id only where nothing else is: elsewhere the caller chooses it.
    if root.get("id").is_none() && root.get("data").is_none() {
        follow_all(&[(kind, &[], "name"), (kind, &[M("file")], "name")], root, &mut found);
    }
    found
}

/// What an answer about something of this tenant's names beside it, where no content of the caller's can stand.
pub(super) fn beside(root: Val<'_>) -> Vec<Named> {
    let mut found = Vec::new();
    follow_all(BESIDE, root, &mut found);
    found
}

fn follow_all(ways: &[Way], root: Val<'_>, found: &mut Vec<Named>) {
    for (kind, steps, name) in ways {
        follow(steps, root, &mut |object| {
            let id = object.string(name).filter(|id| !id.is_empty());
            found.extend(id.map(|id| Named::new(*kind, id)));
        });
    }
}

/// Tells every value that the steps lead to.
fn follow(steps: &[Step], value: Val<'_>, tell: &mut dyn FnMut(Val<'_>)) {
    let Some((step, rest)) = steps.split_first() else { return tell(value) };
    match step {
        M(name) => value.get(name).into_iter().for_each(|it| follow(rest, it, tell)),
        Each => value.items().for_each(|it| follow(rest, it, tell)),
        Typed(end) => {
            if value.text("type").is_some_and(|it| it.ends_with(end)) {
                follow(rest, value, tell);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_core::json::Doc;

    fn made(wire: &str, body: &str) -> Vec<String> {
        let doc = Doc::parse_str(body).unwrap();
        let found = in_answer(wire, doc.root());
        found.into_iter().map(|it| format!("{:?} {}", it.kind, it.id)).collect()
    }

    #[test]
    fn t_10_what_an_answer_made_is_known_from_its_place() {
        let response = r#"{"id":"r","object":"response","conversation":{"id":"c"},"output":[
            {"type":"reasoning","id":"rs"},
            {"type":"code_interpreter_call","id":"ci","container_id":"k"},
            {"type":"message","id":"m","content":[{"annotations":[
                {"type":"container_file_citation","container_id":"k2","file_id":"f"},
                {"type":"file_citation","file_id":"not"}]}]}]}"#;
        let all = ["Response r", "Conversation c", "Item rs", "Item ci", "Item m"];
        let expected = [&all[..], &["Container k", "Container k2", "File f"]].concat();
        assert_eq!(made("responses", response), expected);
        let event = format!(r#"{{"type":"response.completed","response":{response}}}"#);
        assert_eq!(made("responses", &event), expected);
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
            assert_eq!(made(wire, body), [expected], "{body}");
        }
    }

    #[test]
    fn t_10_what_was_made_in_a_collection_is_known_by_its_id() {
        for (kind, body, expected) in [
            (Kind::File, r#"{"id":"f","filename":"x"}"#, &["f"][..]),
            (Kind::File, r#"{"file":{"name":"files/f","displayName":"files/g"}}"#, &["f"]),
            (Kind::Cache, r#"{"name":"cachedContents/c"}"#, &["c"]),
            (Kind::Operation, r#"{"name":"models/m/operations/o"}"#, &["o"]),
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
            assert_eq!(made(wire, body), [""; 0], "{body}");
        }
    }
}
