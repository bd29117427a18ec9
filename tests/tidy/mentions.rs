//! A provider is one file: its id is in that file and in the registry only.
//!
//! Names of wires and tag families that contain a provider's id do not count. `mentions.txt` lists
//! the exceptions, each with its reason.

use std::collections::BTreeSet;

use crate::code::Code;
use crate::exceptions::Exceptions;
use crate::{assert_none, tree};

const PROVIDERS: &str = "crates/core/src/provider/";

/// The places of provider ids: the providers' files and the registry, the tables of tag families,
/// and the simulators, which are named after the providers.
const AT_HOME: [&str; 3] = [PROVIDERS, "crates/core/src/tags/", "crates/conformance/"];

/// Wires and a crate that are named after a provider, as one word of code.
const NAMES_OF_THEIR_OWN: [&str; 3] = ["cohere_chat", "mistral_chat", "ollama_chat"];

#[test]
fn a_providers_id_stands_in_its_file_and_nowhere_else() {
    let ids = ids();
    let mut exceptions = Exceptions::read("mentions.txt", include_str!("mentions.txt"));
    let mut findings = Vec::new();
    for src in tree::src_folders() {
        for (path, code) in tree::shipped(&src) {
            if AT_HOME.iter().any(|home| path.starts_with(home)) {
                continue;
            }
            let mentioned = mentioned(&code, &ids).into_iter();
            let refused = mentioned.filter(|(_, id)| !exceptions.allow(&path, id));
            findings.extend(refused.map(|(line, id)| format!("{path}:{line}: `{id}`")));
        }
    }
    findings.extend(exceptions.stale());
    assert_none("what a provider needs is a field of its file", &findings);
}

/// The ids that have a file, as they are written in strings.
fn ids() -> BTreeSet<String> {
    let shipped = tree::shipped("crates/core/src").into_iter();
    let names = shipped.filter_map(|(path, _)| {
        let name =
            path.strip_prefix(PROVIDERS)?.split('/').next()?.trim_end_matches(".rs").to_owned();
        let text = std::fs::read_to_string(tree::root().join(&path)).ok()?;
        // A file of the folder that holds no id of its own name is shared by several.
        let id = name.replace('_', "-");
        text.contains(&format!("\"{id}\"")).then_some(id)
    });
    names.filter(|name| name != "mod").collect()
}

fn mentioned<'i>(code: &Code, ids: &'i BTreeSet<String>) -> Vec<(usize, &'i str)> {
    let quoted =
        code.strings.iter().filter_map(|(line, text)| Some((*line, ids.get(text)?.as_str())));
    let mut found: Vec<(usize, &str)> = quoted.collect();
    for (line, word) in code.words() {
        let word = snake_case(word);
        let is_own = NAMES_OF_THEIR_OWN.iter().any(|name| word.contains(name));
        let named = ids.iter().filter(|id| !is_own && is_part(&word, &id.replace('-', "_")));
        found.extend(named.map(|id| (line, id.as_str())));
    }
    found
}

/// Whether the words of an identifier contain those of an id; an id that is also an ordinary word
/// must be all of it.
fn is_part(word: &str, id: &str) -> bool {
    const ORDINARY: [&str; 3] = ["fireworks", "google", "together"];
    word == id || (!ORDINARY.contains(&id) && format!("_{word}_").contains(&format!("_{id}_")))
}

fn snake_case(word: &str) -> String {
    let mut snake = String::with_capacity(word.len() + 4);
    let mut after_small = false;
    for c in word.chars() {
        if c.is_uppercase() && after_small {
            snake.push('_');
        }
        after_small = c.is_lowercase() || c.is_ascii_digit();
        snake.extend(c.to_lowercase());
    }
    snake
}

#[test]
fn mentions_are_found_in_strings_and_names() {
    let ids = BTreeSet::from(
        ["anthropic", "mistral", "together", "openai-compatible"].map(str::to_owned),
    );
    let found = |source: &str| -> Vec<String> {
        let found = mentioned(&Code::without_tests(source), &ids);
        found.into_iter().map(|(line, id)| format!("{line} {id}")).collect()
    };
    assert_eq!(found("if id == \"mistral\" {}"), ["1 mistral"]);
    assert_eq!(found("fn fix_anthropic_order() {}"), ["1 anthropic"]);
    assert_eq!(found("Kind::Anthropic =>"), ["1 anthropic"]);
    assert_eq!(found("enum K { OpenaiCompatible }"), ["1 openai-compatible"]);
    assert_eq!(found("\nuse crate::provider::together::PROVIDER;"), ["2 together"]);
    let fine = "// anthropic\nmod mistral_chat; struct MistralChat; \"mistral-chat\"; fn put_together() {}";
    assert_eq!(found(fine), [""; 0]);
}
