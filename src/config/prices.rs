//! `[prices."PROVIDER/MODEL"]` and `[models.NAME] price`: prices of models, in place of the built-in ones.

use super::Config;
use super::table::Section;
use thinkthrough_core::price::{Day, Price, Rates, micro};
use thinkthrough_core::provider::glob;
use toml::Value;

/// `[prices."PROVIDER/MODEL"]`; a `*` in the name matches any run of letters.
#[derive(Clone, Debug)]
pub(crate) struct PriceEntry {
    pub(crate) name: String,
    pub(crate) price: Price,
}

impl Config {
    /// Returns the price of a model in `[prices]`. Entries with the provider's own name come first, then entries with
    /// the name of the built-in provider whose rules it has. The matching entry with the most letters wins, and the
    /// first of equal ones.
    pub(crate) fn price_for(
        &self,
        provider: &str,
        extends: Option<&str>,
        model: &str,
    ) -> Option<Price> {
        let letters = |entry: &PriceEntry| entry.name.bytes().filter(|it| *it != b'*').count();
        let best = |provider: &str| {
            let name = format!("{provider}/{model}");
            let matching = self.prices.iter().filter(|entry| glob(&entry.name, &name));
            // `max_by_key` returns the last of equal elements.
            matching.rev().max_by_key(|entry| letters(entry)).map(|entry| entry.price)
        };
        best(provider).or_else(|| best(extends?))
    }
}

pub(super) fn entry(section: Section<'_>) -> Result<PriceEntry, String> {
    let name = section.own_name();
    if !name.contains('/') {
        return Err(format!(
            "`{}` must be called `provider/model`, with `*` for any run of letters",
            section.name
        ));
    }
    Ok(PriceEntry { name, price: price(section)? })
}

/// `price = { ... }` of a model.
pub(super) fn of_model(section: Section<'_>) -> Result<Option<Price>, String> {
    let Some(table) = section.table("price")? else { return Ok(None) };
    let name = section.at("price");
    price(Section { name: &name, table }).map(Some)
}

/// Dollars for a million tokens, and the day on which that was so.
fn price(section: Section<'_>) -> Result<Price, String> {
    section.only(&["input", "output", "cache_read", "cache_write", "reasoning", "as_of"])?;
    let name = section.name;
    let (Some(input), Some(output)) = (amount(section, "input")?, amount(section, "output")?)
    else {
        return Err(format!("`{name}` needs `input` and `output`: dollars for a million tokens"));
    };
    let (cache_read, cache_write) =
        (amount(section, "cache_read")?, amount(section, "cache_write")?);
    let reasoning = amount(section, "reasoning")?;
    let rates = Rates { input, output, cache_read, cache_write, reasoning };
    Ok(Price { rates, as_of: day(section)?, ..Price::default() })
}

fn day(section: Section<'_>) -> Result<Option<Day>, String> {
    let Some(value) = section.table.get("as_of") else { return Ok(None) };
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Datetime(date) => date.to_string(),
        _ => String::new(),
    };
    let day = Day::parse(&text);
    day.map(Some).ok_or_else(|| section.wrong("as_of", "a day as 2026-11-23"))
}

/// Converts dollars to micro-dollars. Reads a number by its digits to avoid rounding.
pub(super) fn amount(section: Section<'_>, key: &str) -> Result<Option<u64>, String> {
    let text = match section.table.get(key) {
        None => return Ok(None),
        Some(Value::Integer(number)) => number.to_string(),
        Some(Value::Float(number)) => number.to_string(),
        Some(_) => String::new(),
    };
    let allowed = "0 or more dollars, with at most six digits behind the point";
    let wrong = || section.wrong(key, allowed);
    micro(&text).map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use crate::config::of_text;
    use std::path::Path;
    use thinkthrough_core::price::{Day, Price, Rates};

    #[test]
    fn the_entry_that_says_most_counts_and_the_own_name_before_the_built_in_one() {
        let text = "[providers.mine]\nextends = \"groq\"\n\
            [prices.\"*/a*\"]\ninput = 1\noutput = 1\n\
            [prices.\"groq/*\"]\ninput = 2\noutput = 2\nas_of = 2026-11-01\n\
            [prices.\"mine/b\"]\ninput = 0.6\noutput = 3\ncache_read = 0.15\nreasoning = 4\n";
        let config = of_text(text, &|_| None, Path::new("/")).unwrap();
        let of = |provider: &str, model: &str| config.price_for(provider, Some("groq"), model);
        let input = |price: Option<Price>| price.map(|price| price.rates.input);
        assert_eq!(input(of("mine", "another")), Some(1_000_000));
        assert_eq!(input(of("mine", "other")), Some(2_000_000));
        assert_eq!(of("mine", "other").unwrap().as_of, Day::parse("2026-11-01"));
        let rates = Rates {
            input: 600_000,
            output: 3_000_000,
            cache_read: Some(150_000),
            cache_write: None,
            reasoning: Some(4_000_000),
        };
        assert_eq!(of("mine", "b").unwrap().rates, rates);
        assert_eq!(config.price_for("own", None, "b"), None);
    }

    #[test]
    fn a_price_that_makes_no_sense_is_named() {
        for (text, said) in [
            ("[prices.x]\ninput = 1\noutput = 1", "`prices.x` must be called `provider/model`"),
            ("[prices.\"sim/x\"]\ninput = 1", "needs `input` and `output`"),
            ("[prices.\"sim/x\"]\ninput = -1\noutput = 1", "must be 0 or more dollars"),
            ("[prices.\"sim/x\"]\ninput = 0.0000001\noutput = 1", "at most six digits"),
            ("[prices.\"sim/x\"]\ninput = \"1\"\noutput = 1", "must be 0 or more dollars"),
            ("[prices.\"sim/x\"]\ninput = 1\noutput = 1\nas_of = \"soon\"", "must be a day"),
            ("[prices.\"sim/x\"]\ninput = 1\noutput = 1\ncashed = 1", "cache"),
        ] {
            let refused = of_text(text, &|_| None, Path::new("/")).unwrap_err();
            assert!(refused.contains(said), "{text}: {refused}");
        }
    }
}
