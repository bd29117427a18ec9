//! The recorded traffic, and the exceptions from it.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One recorded exchange, or one text of a tag table.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) provider: String,
    pub(crate) api: String,
    /// Oddities of the recording, in its own words.
    pub(crate) quirks: Vec<String>,
    pub(crate) meta: Value,
    pub(crate) body: Vec<u8>,
    pub(crate) expected: Value,
}

impl Case {
    /// Our name of the wire. `None` for plain text with tags.
    pub(crate) fn wire(&self) -> Option<&'static str> {
        Some(match self.api.as_str() {
            "anthropic-messages" => "messages",
            "bedrock-converse" => "converse",
            "cohere-v2" => "cohere-chat",
            "gemini" => "generate-content",
            "gemini-interactions" => "interactions",
            "mistral-chat" => "mistral-chat",
            "ollama" => "ollama-chat",
            "openai-chat" => "chat-completions",
            "openai-responses" => "responses",
            "tags" => return None,
            api => panic!("{}: an API that is not known here: {api}", self.id),
        })
    }

    /// A property of the case's tags.
    pub(crate) fn tag(&self, key: &str) -> &Value {
        &self.meta["tags"][key]
    }
}

/// Every recorded case. Empty if the recordings are absent.
pub(crate) fn cases() -> Vec<Case> {
    let root = std::env::var_os("THINKTHROUGH_CORPUS")
        .map_or_else(|| repository().join("../shared/corpus"), PathBuf::from);
    let Ok(manifest) = std::fs::read_to_string(root.join("manifest.json")) else {
        println!("the corpus of recorded traffic is absent: {}", root.display());
        return Vec::new();
    };
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let list = manifest.get("cases").unwrap_or(&manifest).as_array().unwrap();
    list.iter().map(|entry| read(entry, &root.join(text(&entry["dir"])))).collect()
}

/// Answers whose expectation contradicts another one, with the reason: `id`, a tab, the reason.
pub(crate) fn exceptions() -> BTreeMap<String, String> {
    let rows = std::fs::read_to_string(repository().join("fixtures/exceptions/tags.tsv")).unwrap();
    let mut exceptions = BTreeMap::new();
    for row in rows.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let (id, reason) = row.split_once('\t').expect("an id, a tab, a reason");
        assert!(reason.len() > 10, "an exception has a reason: {row}");
        exceptions.insert(id.to_owned(), reason.to_owned());
    }
    exceptions
}

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(entry: &Value, dir: &Path) -> Case {
    let json = |file: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(dir.join(file)).unwrap()).unwrap()
    };
    Case {
        id: text(&entry["id"]).to_owned(),
        provider: text(&entry["provider"]).to_owned(),
        api: text(&entry["api"]).to_owned(),
        quirks: entry["quirks"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|it| text(it).to_owned())
            .collect(),
        meta: json("meta.json"),
        body: std::fs::read(dir.join("response.bin")).unwrap(),
        expected: json("expected.json"),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
