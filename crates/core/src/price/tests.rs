use super::*;
use crate::provider;

const PRICE: Price = Price {
    rates: Rates {
        input: 2_000_000,
        output: 10_000_000,
        cache_read: Some(500_000),
        cache_write: None,
        reasoning: None,
    },
    above: [None; 3],
    as_of: None,
};

fn usage(input: u64, output: u64, cached: Option<u64>) -> Usage {
    Usage {
        input_tokens: Some(input),
        output_tokens: Some(output),
        cache_read_tokens: cached,
        ..Usage::default()
    }
}

#[test]
fn each_kind_of_token_has_its_price() {
    assert_eq!(PRICE.of(&usage(1_000_000, 100_000, Some(400_000))), Some(2_400_000));
    assert_eq!(PRICE.of(&Usage { input_tokens: Some(1), ..Usage::default() }), None);
    // A part of a micro-dollar counts as a whole one, so that the spent amount is never less than the cost.
    assert_eq!(PRICE.of(&usage(0, 0, None)), Some(0));
    let cheap = Price { rates: Rates { input: 1, output: 1, ..Rates::default() }, ..PRICE };
    assert_eq!(cheap.of(&usage(1, 1, None)), Some(1));
}

#[test]
fn thoughts_may_have_a_price_of_their_own_wherever_the_wire_counts_them() {
    let rates = Rates { reasoning: Some(40_000_000), ..PRICE.rates };
    let price = Price { rates, ..PRICE };
    let inside = Usage { reasoning_tokens: Some(60), ..usage(0, 100, None) };
    let beside = Usage { is_reasoning_apart: true, output_tokens: Some(40), ..inside.clone() };
    for usage in [inside, beside] {
        assert_eq!(price.of(&usage), Some(400 + 2_400), "{usage:?}");
    }
    assert_eq!(price.of_answer(0, 100), 4_000);
    assert_eq!(price.answer_for(0, 4_000), 100);
}

#[test]
fn a_long_request_is_dearer_as_a_whole_cached_tokens_counted() {
    let long = Rates { input: 4_000_000, output: 15_000_000, ..PRICE.rates };
    let price = Price { above: [Some((1_000, long)), None, None], ..PRICE };
    assert_eq!(price.of(&usage(1_000, 100, None)), Some(3_000));
    assert_eq!(price.of(&usage(1_001, 100, None)), Some(5_504));
    let apart = Usage { is_cached_apart: true, ..usage(1, 0, Some(1_000)) };
    assert_eq!(price.of(&apart), Some(504));
    assert_eq!((price.of_request(1_000), price.of_request(1_001)), (2_000, 4_004));
    assert!(!price.is_free() && Price::FREE.is_free());
    assert_eq!(Price::FREE.answer_for(0, 0), u64::MAX);
}

#[test]
fn dollars_are_read_and_printed_without_a_fraction_of_a_micro_dollar() {
    for (text, amount) in [
        ("0", Some(0)),
        ("2.5", Some(2_500_000)),
        ("0.028", Some(28_000)),
        ("12.000001", Some(12_000_001)),
        ("0.0000001", None),
        ("-1", None),
        ("1.", None),
        ("1e3", None),
        ("", None),
    ] {
        assert_eq!(micro(text), amount, "{text}");
    }
    for (amount, text) in
        [(0, "0.00"), (420_000, "0.42"), (21, "0.000021"), (3_500_000, "3.50"), (500, "0.0005")]
    {
        assert_eq!(Dollars(amount).to_string(), text);
    }
}

#[test]
fn a_day_is_one_of_the_calendar() {
    assert_eq!(Day::parse("2026-11-23").map(|day| day.to_string()).as_deref(), Some("2026-11-23"));
    for text in ["2026-13-01", "2026-1-01", "2026-11", "soon", "2026-11-23-1"] {
        assert_eq!(Day::parse(text), None, "{text}");
    }
}

#[test]
fn each_line_of_the_table_is_a_price_of_a_provider_that_there_is() {
    let mut names = std::collections::HashSet::new();
    for (section, line) in table::lines() {
        assert!(provider::find(section.provider).is_some(), "{section:?}");
        assert!(section.as_of.is_some() && section.source.starts_with("https://"), "{section:?}");
        let (name, rest) = line.split_once('\t').unwrap();
        let price = table::price(rest, section).unwrap_or_else(|| panic!("{line}"));
        assert!(
            names.insert((section.provider, name)),
            "{} {name} stands there twice",
            section.provider
        );
        assert_eq!(Price::built_in(section.provider, name), Some(price), "{name}");
        // Cached tokens cost no more than uncached ones, in all existing price lists.
        assert!(price.rates.cache_read.is_none_or(|read| read <= price.rates.input), "{line}");
    }
    assert!(names.len() > 1_200, "{}", names.len());
}

#[test]
fn a_model_is_found_by_its_name_with_and_without_a_date() {
    let of = |provider, model| Price::built_in(provider, model).map(|price| price.rates.output);
    assert_eq!(of("openai", "gpt-5"), Some(10_000_000));
    assert_eq!(of("openai", "GPT-5-2025-08-07"), Some(10_000_000));
    assert_eq!(of("openai", "gpt-5-pro"), Some(120_000_000));
    assert_eq!(of("anthropic", "claude-opus-4-5-20251101"), Some(25_000_000));
    assert_eq!(of("anthropic", "gpt-5"), None);
    // The price of one model does not apply to another whose name begins alike.
    assert_eq!(of("openai", "gpt-5-unheard-of"), None);
    let priced: Vec<&str> = provider::ALL.iter().map(|provider| provider.id).collect();
    assert!(priced.iter().all(|id| of(id, "").is_none()));
}

/// Models that think, as they are named at built-in providers, nearly all have a price.
#[test]
fn nearly_every_model_that_thinks_has_a_price() {
    let all = include_str!("../../../../fixtures/reasoning-models.tsv");
    let is_priced = |line: &&str| {
        let (provider, model) = line.split_once('\t').unwrap();
        Price::built_in(provider, model).is_some()
    };
    let (count, priced) = (all.lines().count(), all.lines().filter(is_priced).count());
    assert!(priced * 100 >= count * 90, "{priced} of {count}");
}
