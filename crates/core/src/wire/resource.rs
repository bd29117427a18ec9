//! Provider resources: responses, files, conversations and other data that a provider stores under an id.
//!
//! Each wire lists the exact places of a request whose values its API resolves as ids ([`Resources`]). A member of
//! the same name anywhere else belongs to the client.

use crate::json::Val;
use std::collections::BTreeSet;

/// A kind of provider resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A configured agent.
    Agent,
    /// A configured assistant.
    Assistant,
    /// Audio that a model produced.
    Audio,
    /// A batch of requests.
    Batch,
    /// A cached prefix of prompts.
    Cache,
    /// A stored chat completion.
    Completion,
    /// A container in which code runs.
    Container,
    /// A stored conversation.
    Conversation,
    /// Data of the operator's account that no request creates: search engines, corpora, buckets.
    Data,
    /// A document of a library or store.
    Document,
    /// An uploaded or generated file.
    File,
    /// A stored interaction.
    Interaction,
    /// An item of a response or conversation.
    Item,
    /// A training or other background job.
    Job,
    /// A library of documents.
    Library,
    /// A long-running operation.
    Operation,
    /// A stored prompt.
    Prompt,
    /// A stored response.
    Response,
    /// A run of an assistant.
    Run,
    /// A chat session.
    Session,
    /// An uploaded skill.
    Skill,
    /// A vector store or file search store.
    Store,
    /// A thread of an assistant.
    Thread,
    /// An upload in parts.
    Upload,
    /// A generated video.
    Video,
    /// A cloned voice.
    Voice,
}

impl Kind {
    /// The name that errors show.
    #[must_use]
    pub fn label(self) -> &'static str {
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

    /// Whether the resource is created outside the gateway, so that its tenant is never known.
    #[must_use]
    pub fn is_untracked(self) -> bool {
        matches!(self, Kind::Data | Kind::Prompt | Kind::Voice)
    }

    /// The collection in Google's names of such a resource: `files/ID`.
    fn collection(self) -> Option<&'static str> {
        COLLECTIONS.iter().find_map(|(kind, name)| (*kind == self).then_some(*name))
    }
}

/// Google's collections whose names begin with them.
const COLLECTIONS: [(Kind, &str); 5] = [
    (Kind::Batch, "batches"),
    (Kind::Cache, "cachedContents"),
    (Kind::File, "files"),
    (Kind::Operation, "operations"),
    (Kind::Store, "fileSearchStores"),
];

/// A provider resource by its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// Its kind.
    pub kind: Kind,
    /// Its id, or Google's name of it (`files/ID`).
    pub id: String,
}

impl Resource {
    /// A resource by its id. Google's addresses become names (`files/ID`); everything else stays as it is.
    #[must_use]
    pub fn new(kind: Kind, id: impl Into<String>) -> Self {
        let id = id.into();
        let name = kind.collection().and_then(|collection| google_name(collection, &id));
        Resource { kind, id: name.unwrap_or(id) }
    }

    /// The same id within its collection, if Google has one for it: `ID` as `files/ID`.
    #[must_use]
    pub fn in_collection(&self) -> Self {
        let Resource { kind, id } = self;
        let name = kind.collection().filter(|_| is_plain(id));
        Resource { kind: *kind, id: name.map_or_else(|| id.clone(), |it| format!("{it}/{id}")) }
    }
}

/// `files/ID` of an address or a name in this collection; `None` if other text surrounds the id.
fn google_name(collection: &str, text: &str) -> Option<String> {
    let path = path_of(text).unwrap_or(text);
    let (before, id) = path.rsplit_once('/').filter(|(_, id)| is_plain(id))?;
    let is_operation = collection == "operations"
        && before.rsplit('/').next() == Some(collection)
        && before.split('/').all(is_plain);
    (before == collection || is_operation).then(|| format!("{collection}/{id}"))
}

fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(is_letter)
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// The path behind host and version of an address: `files/ID`.
fn path_of(address: &str) -> Option<&str> {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
    let (_, path) = rest.split_once('/')?;
    let (version, path) = path.split_once('/')?;
    let digits = version.strip_prefix('v')?;
    let is_version = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_version.then_some(path)
}

/// One step on the way to a member.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Into the member of this name.
    Member(&'static str),
    /// Into each element of a list, or into the value itself if it is no list.
    Each,
    /// Into the value of each member.
    All,
    /// Only if `type` ends like this.
    Typed(&'static str),
    /// Only if the item refers to a stored one, because its own content is missing or does not count.
    Reference,
    /// Only if the skill belongs to the account. The provider offers other skills to everybody.
    Uploaded,
}

/// How the value of a member names resources.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// A string, a list of strings, or an object with an `id`.
    Id,
    /// Only an object with an `id`.
    Object,
    /// Like `Id`, but in Google's names; an id alone is within its collection.
    Name,
    /// Only a string with a slash: the full name of a resource.
    Path,
    /// An address, which is a resource at some hosts and in some schemes.
    Address,
}

/// A place in a body whose value names resources.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    kind: Kind,
    steps: &'static [Step],
    member: &'static str,
    form: Form,
}

impl Place {
    /// A member whose value is an id, a list of ids, or an object with an `id`.
    #[must_use]
    pub const fn id(kind: Kind, steps: &'static [Step], member: &'static str) -> Self {
        Place { kind, steps, member, form: Form::Id }
    }

    pub(in crate::wire) const fn object(self) -> Self {
        Place { form: Form::Object, ..self }
    }

    pub(in crate::wire) const fn name(self) -> Self {
        Place { form: Form::Name, ..self }
    }

    pub(in crate::wire) const fn path(self) -> Self {
        Place { form: Form::Path, ..self }
    }

    pub(in crate::wire) const fn address(steps: &'static [Step], member: &'static str) -> Self {
        Place { kind: Kind::File, steps, member, form: Form::Address }
    }

    /// The kind of resource that a parameter or form field of this name is an id of, if the place is at the top of a body.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<Kind> {
        let is_one = self.steps.is_empty()
            && matches!(self.form, Form::Id)
            && is_same(name.trim_end_matches("[]"), self.member);
        is_one.then_some(self.kind)
    }

    /// Adds the resources that are named here.
    pub fn read(&self, body: Val<'_>, found: &mut BTreeSet<Resource>) {
        self.follow(self.steps, body, found);
    }

    fn follow(&self, steps: &[Step], value: Val<'_>, found: &mut BTreeSet<Resource>) {
        let Some((step, rest)) = steps.split_first() else {
            return members(value, self.member).for_each(|it| self.take(it, found));
        };
        match step {
            Step::Member(name) => {
                members(value, name).for_each(|it| self.follow(rest, it, found));
            }
            Step::Each if value.is_array() => {
                value.items().for_each(|it| self.follow(rest, it, found));
            }
            Step::All => value.entries().for_each(|(_, it)| self.follow(rest, it, found)),
            Step::Typed(end) if !value.text("type").is_some_and(|it| it.ends_with(end)) => {}
            Step::Reference if !is_reference(value) => {}
            Step::Uploaded if is_public_skill(value) => {}
            Step::Each | Step::Typed(_) | Step::Reference | Step::Uploaded => {
                self.follow(rest, value, found);
            }
        }
    }

    fn take(&self, value: Val<'_>, found: &mut BTreeSet<Resource>) {
        match self.form {
            Form::Id => ids(value, &mut |id| self.add(id, found)),
            Form::Object if value.is_object() => ids(value, &mut |id| self.add(id, found)),
            Form::Object => {}
            Form::Name => ids(value, &mut |id| {
                found.insert(Resource::new(self.kind, id).in_collection());
            }),
            Form::Path => ids(value, &mut |id| {
                if id.contains('/') {
                    self.add(id, found);
                }
            }),
            Form::Address => addresses(value, found),
        }
    }

    fn add(&self, id: &str, found: &mut BTreeSet<Resource>) {
        found.insert(Resource::new(self.kind, id));
    }
}

/// Calls `take` with the ids in a value: a string, those of a list, or the `id` of an object.
fn ids(value: Val<'_>, take: &mut dyn FnMut(&str)) {
    if let Some(id) = value.as_str().filter(|id| !id.is_empty()) {
        take(&id);
    }
    value.items().for_each(|item| ids(item, take));
    for id in members(value, "id").filter_map(Val::as_str).filter(|id| !id.is_empty()) {
        take(&id);
    }
}

/// Whether the API reads an item of the Responses API by its id.
fn is_reference(item: Val<'_>) -> bool {
    let has = |key: &str| {
        item.some(key).is_some_and(|value| {
            value.as_str().is_none_or(|text| !text.trim().is_empty())
                && (!value.is_array() || value.items().next().is_some())
        })
    };
    match item.text("type").as_deref() {
        Some("item_reference" | "image_generation_call") => true,
        Some("reasoning") => !has("encrypted_content") && !has_words(item),
        Some("compaction" | "compaction_summary") => !has("encrypted_content"),
        _ => !["content", "arguments", "output", "input", "call_id", "action", "code", "tools"]
            .into_iter()
            .any(has),
    }
}

/// Whether a reasoning item holds the text of its thought. Servers of open models read that, and OpenAI, which looks up a
/// thought by its id, refuses it.
fn has_words(reasoning: Val<'_>) -> bool {
    let parts = reasoning.get("content").into_iter().flat_map(Val::items);
    parts.filter_map(|part| part.text("text")).any(|text| !text.trim().is_empty())
}

/// Providers mark skills that they offer to everybody, and those have names for ids.
fn is_public_skill(skill: Val<'_>) -> bool {
    let is_uploaded = |kind: &str| matches!(kind, "custom" | "skill_reference");
    skill.text("type").is_some_and(|kind| !is_uploaded(&kind))
        && skill.text("skill_id").is_some_and(|id| !id.starts_with("skill"))
}

/// Adds addresses at which an account stores data. All other addresses are public.
fn addresses(value: Val<'_>, found: &mut BTreeSet<Resource>) {
    value.items().for_each(|item| addresses(item, found));
    members(value, "url").for_each(|url| addresses(url, found));
    let Some(text) = value.as_str() else { return };
    let text = text.trim();
    let Some((scheme, rest)) = text.split_once(':') else {
        let is_name = text.contains("files/") || text.starts_with("file-");
        found.extend(is_name.then(|| Resource::new(Kind::File, text)));
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
    found.insert(Resource::new(kind, text));
}

fn members<'v>(value: Val<'v>, name: &str) -> impl Iterator<Item = Val<'v>> {
    value.entries().filter(move |(key, _)| is_same(key, name)).map(|(_, it)| it)
}

/// Whether two names are equal apart from letter case, underscores and hyphens: some servers read all spellings.
fn is_same(key: &str, name: &str) -> bool {
    let letters = |text: &str| {
        let plain = text.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
        plain.map(|byte| byte.to_ascii_lowercase()).collect::<Vec<u8>>()
    };
    key == name || (key.len() <= 3 * name.len() + 2 && letters(key) == letters(name))
}

/// The places of one wire's API that name resources.
#[derive(Clone, Copy, Debug)]
pub struct Resources {
    /// The places in a request to a model.
    pub request: &'static [Place],
    /// The places in other requests of the same API, such as the creation of a batch or a vector store.
    pub management: &'static [Place],
    /// Collections in paths: their parts in lower case, and the kind of their resources.
    pub collections: &'static [(&'static [&'static str], Kind)],
}

impl Resources {
    /// An API without stored resources.
    pub const NONE: Resources = Resources { request: &[], management: &[], collections: &[] };
}

/// A longer value is no id.
pub const LONGEST: usize = 1_024;
/// The shortest and the longest id that [`candidates`] looks for.
const DRAWN: std::ops::RangeInclusive<usize> = 12..=256;

/// Adds the possible ids in a value: the value or parts of an address that look drawn at random, and Google's names with
/// their collection. Callers may choose Google's names (`files/user`), and such an id alone is an ordinary word; otherwise
/// one tenant could block a word in the requests of all others.
pub fn candidates(text: &str, found: &mut BTreeSet<String>) {
    let text = text.trim();
    if text.len() > LONGEST || text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return;
    }
    let mut before = "";
    for part in text.split(['/', '?', '#', '&', '=', ':', ',']) {
        if is_drawn(part) {
            found.insert(part.to_owned());
        }
        if is_plain(part) && COLLECTIONS.iter().any(|(_, name)| *name == before) {
            found.insert(format!("{before}/{part}"));
        }
        before = part;
    }
}

fn is_drawn(id: &str) -> bool {
    DRAWN.contains(&id.len()) && is_plain(id) && id.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
