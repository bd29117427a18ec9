//! The data is well formed.

use std::collections::{BTreeSet, HashSet};
use thinkthrough_core::provider::{ALL, Auth, Endpoint, ModelRule, Provider, find};
use thinkthrough_core::tags;
use thinkthrough_core::wire::WireId;
use thinkthrough_json::Doc;

/// The public ids, in the order in which a default provider is chosen.
const IDS: [&str; 29] = [
    "openai",
    "azure",
    "anthropic",
    "google",
    "vertexai",
    "bedrock",
    "deepseek",
    "moonshotai",
    "minimax",
    "zai",
    "alibaba",
    "xai",
    "mistral",
    "groq",
    "cerebras",
    "together",
    "fireworks",
    "openrouter",
    "perplexity",
    "cohere",
    "huggingface",
    "venice",
    "ollama",
    "vllm",
    "sglang",
    "llamacpp",
    "lmstudio",
    "openai-compatible",
    "anthropic-compatible",
];

/// Every endpoint there is.
pub(crate) fn endpoints() -> impl Iterator<Item = (&'static Provider, &'static Endpoint)> {
    ALL.iter().flat_map(|provider| provider.endpoints.iter().map(|endpoint| (*provider, endpoint)))
}

fn rules() -> impl Iterator<Item = (String, &'static ModelRule)> {
    endpoints().flat_map(|(provider, endpoint)| {
        endpoint
            .models
            .iter()
            .map(move |rule| (format!("{} {} {}", provider.id, endpoint.wire, rule.pattern), rule))
    })
}

#[test]
fn the_public_ids_in_their_order() {
    let ids: Vec<_> = ALL.iter().map(|provider| provider.id).collect();
    assert_eq!(ids, IDS);
    assert_eq!(find("moonshotai").map(|provider| provider.id), Some("moonshotai"));
    assert!(find("nobody").is_none());
}

#[test]
fn every_key_belongs_to_one_provider() {
    let mut seen = HashSet::new();
    for provider in ALL {
        for key in provider.keys {
            assert!(seen.insert(*key), "{}: {key} is another's, too", provider.id);
            let is_name =
                key.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
            assert!(is_name && !key.is_empty(), "{}: {key}", provider.id);
        }
        assert!(!provider.keys.is_empty(), "{} has no key", provider.id);
    }
}

#[test]
fn every_wire_exists_and_is_spoken() {
    let mut spoken = BTreeSet::new();
    for (provider, endpoint) in endpoints() {
        assert_eq!(WireId::parse(endpoint.wire.as_str()), Ok(endpoint.wire), "{}", provider.id);
        spoken.insert(endpoint.wire);
    }
    let all: BTreeSet<_> = WireId::ALL.iter().copied().collect();
    assert_eq!(spoken, all);
    for provider in ALL {
        let wires: HashSet<_> = provider.endpoints.iter().map(|endpoint| endpoint.wire).collect();
        assert_eq!(wires.len(), provider.endpoints.len(), "{} has a wire twice", provider.id);
        assert!(!wires.is_empty(), "{}", provider.id);
    }
}

#[test]
fn addresses_are_where_they_are_known() {
    for (provider, endpoint) in endpoints() {
        let base = endpoint.base_url;
        let name = format!("{} {}", provider.id, endpoint.wire);
        assert!(!base.ends_with('/'), "{name}: {base}");
        let is_local = base.starts_with("http://127.0.0.1:");
        assert!(is_local || base.starts_with("https://") || base.is_empty(), "{name}: {base}");
        assert_eq!(is_local, provider.local_port.is_some(), "{name}");
        assert_eq!(is_local, endpoint.auth == Auth::None, "{name}");
        if let Some(port) = provider.local_port {
            let rest = base.strip_prefix(&format!("http://127.0.0.1:{port}"));
            assert!(rest.is_some_and(|rest| rest.is_empty() || rest == "/v1"), "{name}: {base}");
        }
        for (header, value) in endpoint.headers {
            assert_eq!(*header, header.to_ascii_lowercase(), "{name}");
            assert!(!value.is_empty(), "{name}");
        }
    }
}

#[test]
fn patterns_are_names_with_stars() {
    for (provider, endpoint) in endpoints() {
        let mut seen: Vec<&ModelRule> = Vec::new();
        for rule in endpoint.models {
            let name = format!("{} {} {}", provider.id, endpoint.wire, rule.pattern);
            let is_plain = rule
                .pattern
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"*-./_:".contains(&b));
            assert!(is_plain && !rule.pattern.is_empty() && !rule.pattern.contains("**"), "{name}");
            // A rule that an earlier one hides never counts; a star in a name stands for itself.
            let hidden = seen.iter().find(|earlier| earlier.matches(rule.pattern));
            assert!(hidden.is_none(), "{name} is hidden by {}", hidden.unwrap().pattern);
            seen.push(rule);
        }
    }
}

#[test]
fn every_fragment_is_an_object() {
    for (name, rule) in rules() {
        let thinking = rule.thinking;
        let with = thinking.budget.and_then(|budget| budget.with);
        let fragments = [thinking.on, thinking.off, thinking.show, with, rule.contract.flags];
        for fragment in fragments.into_iter().flatten() {
            let doc = Doc::parse_str(fragment);
            let is_object = doc.is_ok_and(|doc| doc.root().entries().count() > 0);
            assert!(is_object, "{name}: {fragment}");
        }
    }
}

#[test]
fn every_path_is_members_joined_by_dots() {
    for (name, rule) in rules() {
        let effort = rule.thinking.effort.map(|effort| effort.path);
        let budget = rule.thinking.budget.map(|budget| budget.path);
        for path in [effort, budget].into_iter().flatten() {
            let is_member = |part: &str| {
                !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            };
            assert!(path.split('.').all(is_member), "{name}: {path}");
        }
        if let Some(effort) = rule.thinking.effort {
            let steps: Vec<_> = effort.words.iter().map(|(step, _)| *step).collect();
            assert!(steps.is_sorted_by(|a, b| a < b) && !steps.is_empty(), "{name}: {steps:?}");
            assert!(effort.words.iter().all(|(_, word)| !word.is_empty()), "{name}");
        }
        if let Some(budget) = rule.thinking.budget {
            assert!(0 < budget.min && budget.min < budget.max, "{name}");
        }
    }
}

#[test]
fn what_is_on_by_itself_needs_no_switch() {
    for (name, rule) in rules() {
        assert!(!rule.thinking.default_on || rule.thinking.on.is_none(), "{name}");
    }
}

#[test]
fn every_tag_family_exists() {
    for (name, rule) in rules() {
        if let Some(family) = rule.tags {
            assert!(tags::TagSpec::named(family).is_some(), "{name}: {family}");
        }
    }
}

#[test]
fn a_demand_has_a_source() {
    for (name, rule) in rules() {
        let contract = rule.contract;
        let is_stated = contract.source.starts_with("https://");
        assert!(is_stated || contract == thinkthrough_core::contract::Contract::NONE, "{name}");
        assert!(!contract.bound || contract.signed, "{name}: bound, but not signed");
        assert!(!contract.signed || contract.empty.is_none(), "{name}: a seal is never empty");
        // A block or an item is a place of its own.
        let has_place = name.contains(" messages ") || name.contains(" responses ");
        assert!(
            contract.empty.is_none() || contract.field.is_some() || has_place,
            "{name}: empty without field"
        );
    }
}

#[test]
fn no_field_is_both_used_and_refused() {
    for (provider, endpoint) in endpoints() {
        for rule in endpoint.models {
            let Some(field) = rule.contract.field else { continue };
            let name = format!("{} {} {}", provider.id, endpoint.wire, rule.pattern);
            assert!(!endpoint.dialect.refuses.contains(&field), "{name}: {field}");
            assert_eq!(
                endpoint.wire,
                WireId::ChatCompletions,
                "{name}: this wire has its own place"
            );
        }
    }
}
