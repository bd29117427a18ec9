//! The recorded traffic: every exchange of every wire, for several tests, each of which looks at a part of it.

#![allow(dead_code, reason = "no test looks at everything")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use thinkthrough_core::wire::{self, Wire};

/// One recorded exchange.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) provider: String,
    pub(crate) model: String,
    /// What the exchanges of one conversation have in common; its own id where there is only one.
    pub(crate) conversation: String,
    pub(crate) wire: &'static dyn Wire,
    pub(crate) status: u16,
    pub(crate) is_stream: bool,
    /// The answer, byte for byte.
    pub(crate) body: Vec<u8>,
    /// The request, where the recording has one.
    pub(crate) request: Option<String>,
    pub(crate) replay: Option<Value>,
}

/// Every recorded exchange; none, with a word about it, where the recordings are absent.
pub(crate) fn cases() -> Vec<Case> {
    let root = std::env::var_os("THINKTHROUGH_CORPUS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus")),
        PathBuf::from,
    );
    let Ok(manifest) = std::fs::read_to_string(root.join("manifest.json")) else {
        println!("skipped: the corpus of recorded traffic is absent: {}", root.display());
        return Vec::new();
    };
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let entries = manifest.as_array().unwrap().iter();
    entries.filter_map(|entry| case(entry, &root.join(entry["dir"].as_str().unwrap()))).collect()
}

/// `None` for plain text, which no wire carries.
fn case(entry: &Value, dir: &Path) -> Option<Case> {
    let word = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let wire = match entry["api"].as_str().unwrap() {
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
        api => panic!("{}: an API that is not known here: {api}", word("id")),
    };
    let text = |file: &str| std::fs::read_to_string(dir.join(file)).ok();
    let json = |text: String| -> Value { serde_json::from_str(&text).unwrap() };
    let meta = json(text("meta.json").unwrap());
    Some(Case {
        id: word("id"),
        provider: word("provider"),
        model: word("model"),
        conversation: meta["conversation"].as_str().map_or_else(|| word("id"), str::to_owned),
        wire: wire::find(wire).unwrap(),
        is_stream: entry["streaming"] == true,
        status: meta["status"].as_u64().and_then(|it| it.try_into().ok()).unwrap_or(200),
        body: std::fs::read(dir.join("response.bin")).unwrap(),
        request: text("request.json"),
        replay: text("replay.json").map(json),
    })
}
