//! Models that think, as a public price list names them at built-in providers: nearly all have a rule that knows them.

use thinkthrough_core::provider::{Target, find};

/// Provider and model a line: what supports reasoning in the price list inside the `litellm` wheel 1.109.1 of November
/// 2026, without prefixes that only that list has.
const NAMED: &str = include_str!("../../../../fixtures/reasoning-models.tsv");

/// Whether a rule at any of the provider's endpoints knows the model; an assumed one does not.
fn is_known(line: &str) -> bool {
    let (provider, model) = line.split_once('\t').unwrap();
    let provider = find(provider).unwrap();
    let mut endpoints = provider.endpoints.iter();
    endpoints.any(|endpoint| Target::of(provider, endpoint, model).doubt().is_none())
}

#[test]
fn nearly_every_model_of_a_public_price_list_has_a_rule_of_its_own() {
    let all = NAMED.lines().count();
    let unknown: Vec<&str> = NAMED.lines().filter(|line| !is_known(line)).collect();
    let known = all - unknown.len();
    // As many as 840 of 872.
    assert!(all > 700 && known * 872 >= all * 840, "{known} of {all}:\n{}", unknown.join("\n"));
}
