//! The kinds of things that providers keep, and which members of a request name them.

use crate::admission::decoded_name;
use std::collections::BTreeSet;
use thinkthrough_core::json::Val;

/// What a provider keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Agent,
    Assistant,
    Audio,
    Batch,
    Cache,
    Completion,
    Container,
    Conversation,
    /// Data of the operator's account that is not made through this gateway: search engines, corpora, buckets.
    Data,
    Document,
    File,
    Interaction,
    Item,
    Job,
    Library,
    Operation,
    Prompt,
    Response,
    Run,
    Session,
    Skill,
    Store,
    Thread,
    Upload,
    Video,
    Voice,
}

impl Kind {
    /// What it is called in an error, and in what is kept about it.
    pub(super) fn label(self) -> &'static str {
        match self {
            Kind::Agent => "Agent",
            Kind::Assistant => "Assistant",
            Kind::Audio => "Audio",
            Kind::Batch => "Batch",
            Kind::Cache => "Cached content",
            Kind::Completion => "Completion",
            Kind::Container => "Container",
            Kind::Conversation => "Conversation",
            Kind::Data => "Data",
            Kind::Document => "Document",
            Kind::File => "File",
            Kind::Interaction => "Interaction",
            Kind::Item => "Item",
            Kind::Job => "Job",
            Kind::Library => "Library",
            Kind::Operation => "Operation",
            Kind::Prompt => "Prompt",
            Kind::Response => "Response",
            Kind::Run => "Run",
            Kind::Session => "Session",
            Kind::Skill => "Skill",
            Kind::Store => "Store",
            Kind::Thread => "Thread",
            Kind::Upload => "Upload",
            Kind::Video => "Video",
            Kind::Voice => "Voice",
        }
    }

    /// It is made where the gateway does not see it, so that nobody can say whose it is.
    pub(super) fn is_untracked(self) -> bool {
        matches!(self, Kind::Data | Kind::Prompt | Kind::Voice)
    }
}

/// A thing that is named by its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Named {
    pub(super) kind: Kind,
    pub(super) id: String,
}

impl Named {
    pub(super) fn new(kind: Kind, id: impl Into<String>) -> Self {
        let id = id.into();
        Named { kind, id: plain(kind, id) }
    }

    /// A response.
    pub(crate) fn response(id: &str) -> Self {
        Named::new(Kind::Response, id)
    }

    /// Of which kind it is.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }
}

/// Google names a file by its address, by `files/ID` and by its id alone; caches and batches likewise. What has anything
/// else around it stays as it is, and so is nobody's.
fn plain(kind: Kind, id: String) -> String {
    let place = match kind {
        Kind::File => "files",
        Kind::Cache => "cachedContents",
        Kind::Batch => "batches",
        Kind::Store => "fileSearchStores",
        Kind::Operation => "operations",
        _ => return id,
    };
    let is_id = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    let path = path_of(&id).unwrap_or(&id);
    let Some((before, tail)) = path.rsplit_once('/').filter(|(_, tail)| is_id(tail)) else {
        return id;
    };
    let is_place = match kind {
        Kind::Operation => before.rsplit('/').next() == Some(place) && before.split('/').all(is_id),
        _ => before == place,
    };
    if is_place { tail.to_owned() } else { id }
}

/// What stands behind host and version in an address of the API of files: `files/ID`.
fn path_of(address: &str) -> Option<&str> {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
    let (_, path) = rest.split_once('/')?;
    let (version, path) = path.split_once('/')?;
    let digits = version.strip_prefix('v')?;
    let is_version = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_version.then_some(path)
}

/// How the value of a member names things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// A string, a list of strings, or an object with an `id`.
    Id,
    /// A string that is the full name of a resource.
    Resource,
    /// Only an object with an `id`; a string is something else.
    Object,
    /// An address, which is a thing of the provider's only at some hosts.
    Address,
    /// A string that begins with the name of Google's store of files.
    FileName,
}

/// Members that name things, in lower case and without underscores, on whichever wire and however deep. Those of one
/// provider mean nothing to another.
const MEMBERS: &[(&str, Kind, How)] = &[
    ("agentid", Kind::Agent, How::Id),
    ("assistantid", Kind::Assistant, How::Id),
    ("audio", Kind::Audio, How::Object),
    ("batchid", Kind::Batch, How::Id),
    ("cachedcontent", Kind::Cache, How::Id),
    ("completionid", Kind::Completion, How::Id),
    ("container", Kind::Container, How::Id),
    ("containerid", Kind::Container, How::Id),
    ("conversation", Kind::Conversation, How::Id),
    ("conversationid", Kind::Conversation, How::Id),
    ("corpus", Kind::Data, How::Resource),
    ("datasetid", Kind::Data, How::Id),
    ("datastore", Kind::Data, How::Resource),
    ("datastoreid", Kind::Data, How::Id),
    ("documentids", Kind::Document, How::Id),
    ("engine", Kind::Data, How::Resource),
    ("fileid", Kind::File, How::Id),
    ("fileids", Kind::File, How::Id),
    ("filename", Kind::File, How::FileName),
    ("filesearchstorenames", Kind::Store, How::Id),
    ("fileuri", Kind::File, How::Address),
    ("gcsuri", Kind::File, How::Address),
    ("imageurl", Kind::File, How::Address),
    ("inputfileid", Kind::File, How::Id),
    ("inputfiles", Kind::File, How::Id),
    ("knowledgebaseid", Kind::Data, How::Id),
    ("libraryid", Kind::Library, How::Id),
    ("libraryids", Kind::Library, How::Id),
    ("previousinteractionid", Kind::Interaction, How::Id),
    ("previousresponseid", Kind::Response, How::Id),
    ("prompt", Kind::Prompt, How::Object),
    ("promptid", Kind::Prompt, How::Id),
    ("ragcorpora", Kind::Data, How::Id),
    ("ragcorpus", Kind::Data, How::Id),
    ("responseid", Kind::Response, How::Id),
    ("s3uri", Kind::File, How::Address),
    ("skillid", Kind::Skill, How::Id),
    ("threadid", Kind::Thread, How::Id),
    ("trainingfile", Kind::File, How::Id),
    ("uploadid", Kind::Upload, How::Id),
    ("uri", Kind::File, How::Address),
    ("url", Kind::File, How::Address),
    ("validationfile", Kind::File, How::Id),
    ("vectorstoreid", Kind::Store, How::Id),
    ("vectorstoreids", Kind::Store, How::Id),
    ("video", Kind::Video, How::Object),
    ("videoid", Kind::Video, How::Id),
    ("voice", Kind::Voice, How::Object),
];

/// Members whose values are the caller's own data, or a schema of it: no provider looks for things in there.
const OWN: &[&str] = &[
    "args",
    "arguments",
    "inputschema",
    "jsonschema",
    "metadata",
    "parameters",
    "parametersjsonschema",
    "responsejsonschema",
    "responseschema",
    "schema",
];

/// What a request names that its provider keeps.
pub(crate) fn in_request(root: Val<'_>) -> BTreeSet<Named> {
    let mut found = BTreeSet::new();
    walk(root, &mut found);
    // The Responses API has a list of items, each of which may stand for a kept one.
    let inputs = root.entries().filter(|(key, _)| same(key, "input") || same(key, "items"));
    let items = inputs.flat_map(|(_, list)| list.items()).filter(|item| by_reference(*item));
    let ids = items.flat_map(Val::entries).filter(|(key, _)| same(key, "id"));
    ids.for_each(|(_, id)| add(Kind::Item, id, &mut found));
    found
}

/// What the parameters of an address name.
pub(crate) fn in_parameters(query: Option<&str>) -> BTreeSet<Named> {
    let pairs = query.unwrap_or_default().split('&');
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let named = pairs.filter_map(|(name, value)| {
        let name = decoded_name(name);
        let (_, kind, _) = MEMBERS.iter().find(|(known, _, how)| {
            matches!(how, How::Id) && same(name.trim_end_matches("[]"), known)
        })?;
        Some(Named::new(*kind, value)).filter(|_| !value.is_empty())
    });
    named.collect()
}

fn walk(value: Val<'_>, found: &mut BTreeSet<Named>) {
    for item in value.items() {
        walk(item, found);
    }
    let is_call = || value.text("type").is_some_and(|it| it.ends_with("tool_use"));
    for (key, inner) in value.entries() {
        // A call's arguments, and what a call gave: `toolUse.input`, `functionResponse.response`, `toolResult` as JSON.
        let is_own = OWN.iter().any(|own| same(&key, own))
            || (key == "input"
                && inner.is_object()
                && (is_call() || value.get("toolUseId").is_some()))
            || (key == "response" && value.get("name").is_some() && inner.is_object())
            || key == "json";
        if is_own {
            continue;
        }
        if let Some((_, kind, how)) = MEMBERS.iter().find(|(known, _, _)| same(&key, known)) {
            let is_public = *kind == Kind::Skill && is_everybodys(value, inner);
            match how {
                _ if is_public => {}
                How::Id => add(*kind, inner, found),
                How::Object if inner.is_object() => add(*kind, inner, found),
                How::Object => {}
                How::Resource => {
                    let name = inner.as_str().filter(|name| name.contains('/'));
                    found.extend(name.map(|name| Named::new(*kind, name)));
                }
                How::Address => address(inner, found),
                How::FileName => {
                    let name = inner.as_str().filter(|name| name.starts_with("files/"));
                    found.extend(name.map(|name| Named::new(*kind, name)));
                }
            }
        }
        walk(inner, found);
    }
}

/// Skills that a provider has for everybody say so, and have a name for an id.
fn is_everybodys(skill: Val<'_>, id: Val<'_>) -> bool {
    let is_own = |kind: &str| matches!(kind, "custom" | "skill_reference");
    skill.text("type").is_some_and(|kind| !is_own(&kind))
        && id.as_str().is_some_and(|id| !id.starts_with("skill"))
}

/// The ids in a value, whatever form it has.
fn add(kind: Kind, value: Val<'_>, found: &mut BTreeSet<Named>) {
    if let Some(id) = value.as_str() {
        found.extend(Some(Named::new(kind, id)).filter(|it| !it.id.is_empty()));
    }
    value.items().for_each(|item| add(kind, item, found));
    let ids = value.entries().filter(|(key, _)| same(key, "id"));
    ids.filter(|(_, id)| id.as_str().is_some()).for_each(|(_, id)| add(kind, id, found));
}

/// Addresses at which an account keeps things; all others can be read by everybody, or by nobody.
fn address(value: Val<'_>, found: &mut BTreeSet<Named>) {
    value.items().for_each(|item| address(item, found));
    let Some(text) = value.as_str() else { return };
    let text = text.trim();
    let Some((scheme, rest)) = text.split_once(':') else {
        // A bare name is one of the provider's.
        let is_name = text.contains("files/") || text.starts_with("file-");
        found.extend(is_name.then(|| Named::new(Kind::File, text)));
        return;
    };
    let host = rest.trim_start_matches('/').split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default().split(':').next().unwrap_or_default();
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let has_files = host == "generativelanguage.googleapis.com"
        || path_of(text).is_some_and(|path| path.starts_with("files/"));
    let is_account =
        host == "storage.cloud.google.com" || host.ends_with("aiplatform.googleapis.com");
    let kind = match scheme.to_ascii_lowercase().as_str() {
        "data" => return,
        "http" | "https" if has_files => Kind::File,
        "http" | "https" if !is_account => return,
        _ => Kind::Data,
    };
    found.insert(Named::new(kind, text));
}

/// Whether a request of the Responses API chooses under which id its answer is kept, as some servers let it.
pub(crate) fn chooses_id(root: Val<'_>) -> bool {
    root.entries().any(|(key, value)| same(&key, "requestid") && !value.is_null())
}

/// Whether the provider reads an item by its id, because its content is not there or does not count.
fn by_reference(item: Val<'_>) -> bool {
    let has = |key: &str| {
        item.some(key).is_some_and(|value| {
            value.as_str().is_none_or(|text| !text.trim().is_empty())
                && (!value.is_array() || value.items().next().is_some())
        })
    };
    match item.text("type").as_deref() {
        Some("item_reference" | "image_generation_call") => true,
        Some("reasoning" | "compaction" | "compaction_summary") => !has("encrypted_content"),
        _ => !["content", "arguments", "output", "input", "call_id", "action", "code", "tools"]
            .into_iter()
            .any(has),
    }
}

/// Whether a member has this name, in any letter case, with or without underscores. `known` has neither.
fn same(key: &str, known: &str) -> bool {
    let plain = |c: &char| !matches!(c, '_' | '-');
    key.len() >= known.len()
        && key.len() <= 3 * known.len() + 2
        && key.chars().filter(plain).map(|c| c.to_ascii_lowercase()).eq(known.chars())
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_core::json::Doc;

    fn named(body: &str) -> Vec<String> {
        let doc = Doc::parse_str(body).unwrap();
        let found = in_request(doc.root());
        found.into_iter().map(|it| format!("{:?} {}", it.kind, it.id)).collect()
    }

    #[test]
    fn t_10_every_member_that_names_a_kept_thing_is_seen() {
        for (body, expected) in [
            (r#"{"previous_response_id":"r"}"#, "Response r"),
            (r#"{"previousResponseId":"r"}"#, "Response r"),
            (r#"{"previous_response_id":["r"]}"#, "Response r"),
            (r#"{"\u0070revious_response_id":"r"}"#, "Response r"),
            (r#"{"previous_interaction_id":"i"}"#, "Interaction i"),
            (r#"{"conversation":"c"}"#, "Conversation c"),
            (r#"{"conversation":{"id":"c"}}"#, "Conversation c"),
            (r#"{"input":[{"type":"item_reference","id":"m"}]}"#, "Item m"),
            (r#"{"input":[{"id":"m","type":null}]}"#, "Item m"),
            (r#"{"input":[{"type":"message","id":"m","content":[]}]}"#, "Item m"),
            (r#"{"input":[{"type":"reasoning","id":"m","summary":[]}]}"#, "Item m"),
            (r#"{"input":[{"type":"reasoning","id":"m","encrypted_content":" "}]}"#, "Item m"),
            (r#"{"input":[{"type":"image_generation_call","id":"m","result":"x"}]}"#, "Item m"),
            (r#"{"input":[{"content":[{"type":"input_file","file_id":"f"}]}]}"#, "File f"),
            (
                r#"{"input":[{"type":"function_call_output","call_id":"c","output":[{"file_id":"f"}]}]}"#,
                "File f",
            ),
            (r#"{"messages":[{"content":[{"type":"file","file":{"file_id":"f"}}]}]}"#, "File f"),
            (r#"{"messages":[{"content":[{"source":{"type":"file","file_id":"f"}}]}]}"#, "File f"),
            (r#"{"messages":[{"role":"assistant","audio":{"id":"a"}}]}"#, "Audio a"),
            (
                r#"{"contents":[{"parts":[{"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/files/f"}}]}]}"#,
                "File f",
            ),
            (r#"{"contents":[{"parts":[{"file_data":{"file_uri":"files/f"}}]}]}"#, "File f"),
            (
                r#"{"contents":[{"parts":[{"fileData":{"fileUri":"http://127.0.0.1:9/v1beta/files/f"}}]}]}"#,
                "File f",
            ),
            (r#"{"contents":[{"parts":[{"fileData":{"fileUri":"gs://b/f"}}]}]}"#, "Data gs://b/f"),
            (
                r#"{"tools":[{"retrieval":{"vertexAiSearch":{"datastore":"projects/p/d"}}}]}"#,
                "Data projects/p/d",
            ),
            (
                r#"{"messages":[{"content":[{"image":{"source":{"s3Location":{"uri":"s3://b/f"}}}}]}]}"#,
                "Data s3://b/f",
            ),
            (r#"{"cachedContent":"cachedContents/c"}"#, "Cache c"),
            (r#"{"cached_content":"c"}"#, "Cache c"),
            (r#"{"batch_id":"b"}"#, "Batch b"),
            (r#"{"container":"c"}"#, "Container c"),
            (r#"{"container":{"id":"c"}}"#, "Container c"),
            (
                r#"{"tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["f"]}}]}"#,
                "File f",
            ),
            (r#"{"tools":[{"type":"file_search","vector_store_ids":["v"]}]}"#, "Store v"),
            (r#"{"container":{"skills":[{"type":"custom","skill_id":"s"}]}}"#, "Skill s"),
            (r#"{"prompt":{"id":"p"}}"#, "Prompt p"),
            (r#"{"input_file_id":"f"}"#, "File f"),
            (r#"{"batch":{"input_config":{"file_name":"files/f"}}}"#, "File f"),
            (
                r#"{"requests":[{"params":{"messages":[{"content":[{"source":{"file_id":"f"}}]}]}}]}"#,
                "File f",
            ),
        ] {
            assert_eq!(named(body), [expected], "{body}");
        }
        // Whichever of two a reader takes, both were looked at.
        assert_eq!(named(r#"{"file_id":"a","File_Id":"b"}"#), ["File a", "File b"]);
    }

    #[test]
    fn what_is_nobodys_thing_is_left_alone() {
        for body in [
            r#"{"previous_response_id":null,"conversation":null,"container":null}"#,
            r#"{"prompt":"say hello","audio":{"voice":"x","format":"wav"},"voice":"alloy"}"#,
            r#"{"container":{"type":"auto"},"plugins":[{"id":"web","engine":"exa"}]}"#,
            r#"{"messages":[{"content":[{"image_url":{"url":"https://storage.googleapis.com/b/x.png"}}]}]}"#,
            r#"{"container":{"skills":[{"type":"anthropic","skill_id":"pptx"}]}}"#,
            r#"{"metadata":{"file_id":"f","conversation":"c"}}"#,
            r#"{"tools":[{"name":"t","input_schema":{"properties":{"file_id":{"type":"string","default":"f"}}}}]}"#,
            r#"{"tools":[{"function":{"parameters":{"properties":{"file_id":{"enum":["f"]}}}}}]}"#,
            r#"{"messages":[{"content":[{"type":"tool_use","id":"t","name":"n","input":{"file_id":"f"}}]}]}"#,
            r#"{"contents":[{"parts":[{"functionCall":{"name":"n","args":{"file_id":"f"}}}]}]}"#,
            r#"{"contents":[{"parts":[{"functionResponse":{"name":"n","response":{"file_id":"f"}}}]}]}"#,
            r#"{"messages":[{"content":[{"toolUse":{"toolUseId":"t","input":{"file_id":"f"}}}]}]}"#,
            r#"{"messages":[{"content":[{"toolResult":{"content":[{"json":{"file_id":"f"}}]}}]}]}"#,
            r#"{"messages":[{"content":"file_id: file-abc, gs://bucket"}]}"#,
            r#"{"messages":[{"content":[{"image_url":{"url":"https://example.com/files/x"}}]}]}"#,
            r#"{"messages":[{"content":[{"image_url":{"url":"data:image/png;base64,AA=="}}]}]}"#,
            r#"{"contents":[{"parts":[{"fileData":{"fileUri":"https://www.youtube.com/watch?v=x"}}]}]}"#,
            r#"{"input":[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"x"}]}]}"#,
            r#"{"input":[{"type":"function_call","id":"m","call_id":"c","name":"n","arguments":"{}"}]}"#,
            r#"{"input":[{"type":"reasoning","id":"m","encrypted_content":"gAAAAA","summary":[]}]}"#,
            r#"{"input":[{"filename":"report.pdf","file_data":"data:application/pdf;base64,AA=="}]}"#,
        ] {
            assert_eq!(named(body), [""; 0], "{body}");
        }
    }

    #[test]
    fn t_10_an_id_with_something_around_it_is_another_id() {
        for (id, expected) in [
            ("files/f", "f"),
            ("f", "f"),
            ("https://generativelanguage.googleapis.com/v1beta/files/f", "f"),
            ("https://generativelanguage.googleapis.com/v1beta/files/f?x=/files/g", ""),
            ("https://generativelanguage.googleapis.com/v1beta/files/f#/files/g", ""),
            ("x/files/f", ""),
            ("files/f/files/g", ""),
            ("files/../files/f", ""),
            ("files/f%2e", ""),
            ("files/", ""),
            (" f", ""),
        ] {
            let whole = if expected.is_empty() { id } else { expected };
            assert_eq!(Named::new(Kind::File, id).id, whole, "{id}");
        }
    }

    #[test]
    fn t_10_parameters_of_an_address_name_things_as_well() {
        for (query, expected) in [
            ("conversation=c", Some("c")),
            ("file%5Fid=f", Some("f")),
            ("vector_store_ids[]=v", Some("v")),
            ("limit=1&order=asc", None),
            ("", None),
        ] {
            let found = in_parameters(Some(query)).into_iter().next();
            assert_eq!(found.map(|it| it.id).as_deref(), expected, "{query}");
        }
    }
}
